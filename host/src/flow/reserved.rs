//! Characters that stand for something while a flow is read: Unicode keeps them for such use within a program, so no text has them.

use super::node::Mark;
use super::node::Node;
use super::node::Shape;
use super::node::join;
use super::report::Report;
use super::report::Spot;
use crate::problem::Code;

/// Encloses the place of a secret among those that a text names, while the text is rendered.
pub(super) const SECRET: char = '\u{fdd0}';
/// Encloses the name of collected values in a text of SQL, until the values are there.
pub(super) const COLLECTED: char = '\u{fdd1}';

/// Whether a text has one of them.
pub(super) fn is_in(text: &str) -> bool {
    text.contains([SECRET, COLLECTED])
}

/// Why such a text is refused.
pub(super) const WHY: &str =
    "has a character that Unicode keeps for use within programs (U+FDD0 or U+FDD1)";

/// Tells of each text and key of the file that has one.
pub(super) fn judge(report: &Report, node: &Node, path: &str) {
    let tell = |what: &str, at: Mark, path: &str| {
        let spot = Spot { at, path: path.replace([SECRET, COLLECTED], "?") };
        report.add_hint(Code::WrongValue, &spot, format!("this {what} {WHY}"), "leave it out");
    };
    match &node.shape {
        Shape::Text(text) if is_in(text) => tell("text", node.at, path),
        Shape::List(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| judge(report, item, &format!("{path}[{index}]")));
        }
        Shape::Map(entries) => {
            for entry in entries {
                let path = join(path, &entry.key);
                if is_in(&entry.key) {
                    tell("key", entry.at, &path);
                }
                judge(report, &entry.value, &path);
            }
        }
        _ => {}
    }
}
