//! A flow's sources: the one that is transformed, and those that steps and rules name.

use super::Source;
use super::blocks::SOURCE;
use super::connection::Connections;
use super::node::Entry;
use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::places::Folder;
use super::report::Report;
use super::scope::SourceNames;
use super::source;
use crate::name::FlowName;
use crate::problem::Code;

/// The name of the source that is transformed, where the flow gives none.
const MAIN: &str = "main";
/// What `sql` steps call the chain's rows.
const INPUT: &str = "input";

/// The sources that can be read, and the names of all.
#[derive(Debug)]
pub(super) struct Sources {
    pub(super) main: Option<Source>,
    pub(super) others: Vec<Source>,
    /// `None` where it cannot be said which there are.
    pub(super) names: Option<SourceNames>,
}

/// The flow's sources.
pub(super) fn sources<'a>(
    report: &'a Report,
    flow: &Fields<'a>,
    connections: &Connections<'a>,
    folder: &Folder,
) -> Sources {
    let Some(found) = flow.get("source") else {
        return Sources { main: None, others: Vec::new(), names: None };
    };
    let Some(entries) = named(found.node) else {
        let name = MAIN.to_owned();
        let spot = flow.key_of("source");
        let main = source::read(report, name.clone(), found.node, &spot, connections, folder);
        let names = SourceNames { main: name, others: Vec::new() };
        return Sources { main, others: Vec::new(), names: Some(names) };
    };
    let main_at = entries.iter().position(|entry| entry.key == MAIN).unwrap_or(0);
    let mut sources = Sources { main: None, others: Vec::new(), names: None };
    let mut names = SourceNames { main: entries[main_at].key.clone(), others: Vec::new() };
    for (index, entry) in entries.iter().enumerate() {
        let spot = found.spot.key(&entry.key, entry.at);
        if let Err(what) = FlowName::new(entry.key.as_str()) {
            report.add(Code::WrongValue, &spot, what);
        }
        let read =
            source::read(report, entry.key.clone(), &entry.value, &spot, connections, folder);
        if index == main_at {
            sources.main = read;
            continue;
        }
        if entry.key.eq_ignore_ascii_case(INPUT) {
            let what =
                format!("`{}` is what `sql` steps call the rows that are transformed", entry.key);
            report.add_hint(Code::WrongValue, &spot, what, "give this source another name");
        }
        names.others.push(entry.key.clone());
        sources.others.extend(read);
    }
    Sources { names: Some(names), ..sources }
}

/// The named sources, where the map holds names and not a source's own fields.
fn named(node: &Node) -> Option<&[Entry]> {
    let Shape::Map(entries) = &node.shape else { return None };
    let is_name = |key: &str| SOURCE.find(key).is_none() && key != "configure";
    let all = entries
        .iter()
        .all(|entry| is_name(&entry.key) && matches!(entry.value.shape, Shape::Map(_)));
    (all && !entries.is_empty()).then_some(entries)
}
