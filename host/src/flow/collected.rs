//! Values of the data in later texts: a `collect` step gathers them under a name while rows go by, and the SQL of later steps has
//! `{{ name }}` where the list of them stands.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use serde_json::Value;

use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::report::Report;
use super::report::Spot;
use super::scope::Scope;
use super::vars::refused_name;
use crate::problem::Code;
use crate::problem::known_names;

/// What stands for the values in a text of SQL: their name, between two of these. Unicode reserves the character for such use
/// within a program.
const MARK: char = '\u{fdd1}';

/// What a template with the name renders to.
pub(super) fn mark(name: &str) -> String {
    format!("{MARK}{name}{MARK}")
}

/// A configuration with `values` in the place of names, wherever it has texts.
#[must_use]
pub fn with_collected(config: &Value, values: &impl Fn(&str) -> Option<String>) -> Value {
    match config {
        Value::String(text) if text.contains(MARK) => {
            let parts = text.split(MARK).enumerate().map(|(at, part)| match at % 2 {
                0 => part.to_owned(),
                _ => values(part).unwrap_or_else(|| mark(part)),
            });
            Value::String(parts.collect())
        }
        Value::Array(items) => items.iter().map(|item| with_collected(item, values)).collect(),
        Value::Object(fields) => {
            let filled = |(key, value): (&String, _)| (key.clone(), with_collected(value, values));
            Value::Object(fields.iter().map(filled).collect())
        }
        other => other.clone(),
    }
}

/// Whether a configuration has names of collected values in it.
#[must_use]
pub fn names_collected(config: &Value) -> bool {
    match config {
        Value::String(text) => text.contains(MARK),
        Value::Array(items) => items.iter().any(names_collected),
        Value::Object(fields) => fields.values().any(names_collected),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// All names that `collect` steps of the file give, before anything else of it is read: texts are rendered first. What is no name
/// is told where the step is read.
pub(super) fn declared(tree: &Node) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    gather(tree, &mut names);
    names.retain(|name| refused_name(name).is_none());
    names
}

fn gather(node: &Node, names: &mut BTreeSet<String>) {
    match &node.shape {
        Shape::List(items) => items.iter().for_each(|item| gather(item, names)),
        Shape::Map(entries) => {
            let text = |node: &Node, key: &str| match &node.shape {
                Shape::Map(entries) => entries.iter().find_map(|entry| match &entry.value.shape {
                    Shape::Text(text) if entry.key == key => Some(text.clone()),
                    _ => None,
                }),
                _ => None,
            };
            if text(node, "type").is_some_and(|word| is_collect(&word)) {
                names.extend(text(node, "as"));
            }
            for entry in entries {
                if is_collect(&entry.key) {
                    names.extend(text(&entry.value, "as"));
                }
                gather(&entry.value, names);
            }
        }
        _ => {}
    }
}

fn is_collect(word: &str) -> bool {
    word.trim().eq_ignore_ascii_case("collect")
}

/// Tells of names that variables have as well: what `{{ name }}` means would depend on who reads it.
pub(super) fn judge_names(
    report: &Report,
    tree: &Node,
    names: &BTreeSet<String>,
    vars: &BTreeMap<String, String>,
) {
    for name in names.iter().filter(|name| vars.contains_key(*name)) {
        let what = format!("`{name}` is a variable, and the name of collected values as well");
        let spot = Spot { at: tree.at, path: format!("vars.{name}") };
        report.add_hint(Code::Contradiction, &spot, what, "give one of them another name");
    }
}

impl Scope<'_> {
    /// Reads a chain of its own: what its steps collect is known in it alone.
    pub(super) fn apart<T>(&self, read: impl FnOnce() -> T) -> T {
        let known = self.collected.borrow().len();
        let chain = read();
        self.collected.borrow_mut().truncate(known);
        chain
    }

    /// The name that a `collect` step gives its values; later steps may use it.
    pub(super) fn collects(&self, fields: &Fields<'_>) -> Option<String> {
        let name = fields.text("as")?;
        if let Some(why) = refused_name(&name.value) {
            self.report.add(Code::WrongValue, &name.spot, why);
            return None;
        }
        let mut collected = self.collected.borrow_mut();
        if collected.contains(&name.value) {
            let what = format!("a step before this one collects `{}`", name.value);
            let hint = "give each its own name";
            self.report.add_hint(Code::Contradiction, &name.spot, what, hint);
            return None;
        }
        collected.push(name.value.clone());
        Some(name.value)
    }

    /// The SQL of a step.
    pub(super) fn sql(&self, fields: &Fields<'_>, name: &'static str) -> Option<String> {
        let sql = fields.step_sql(name)?;
        self.knows(&sql.value, &sql.spot).then_some(sql.value)
    }

    /// Several texts of it.
    pub(super) fn sqls(&self, fields: &Fields<'_>, name: &'static str) -> Option<Vec<String>> {
        let sqls = fields.step_sqls(name)?;
        sqls.value.iter().all(|sql| self.knows(sql, &sqls.spot)).then_some(sqls.value)
    }

    /// Whether steps before collect what the text names; that they do not is told.
    fn knows(&self, text: &str, spot: &Spot) -> bool {
        let collected = self.collected.borrow();
        let mut names = text.split(MARK).skip(1).step_by(2);
        let Some(missing) = names.find(|name| !collected.iter().any(|known| known == name)) else {
            return true;
        };
        let what = format!("no step before this one collects `{missing}`");
        let hint = match collected.is_empty() {
            true => "put the `collect` step first, in this chain or the main one".to_owned(),
            false => known_names("", collected.iter().map(String::as_str)),
        };
        self.report.add_hint(Code::UnknownName, spot, what, hint);
        false
    }
}
