//! The flow file as a tree in which every key and every value knows its place; one shape for JSON and YAML.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Number;
use serde_json::Value;

use super::json;
use super::sensitive::Sensitive;
use super::yaml;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;

/// How deep lists and maps may nest. Nothing in a flow comes near; hostile files must not overflow the stack.
pub(super) const DEPTH_MAX: usize = 64;

/// How long a flow file may be, in bytes.
pub(super) const FILE_BYTES_MAX: usize = 4 << 20;

/// A position in the file, both from 1; columns count characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) line: u64,
    pub(super) column: u64,
}

/// A value and where it begins.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) at: Mark,
    pub(super) shape: Shape,
}

/// What a value is.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
    /// A text with a secret in it, which few fields take.
    Secret(Sensitive),
    /// A text with names of collected values in it, which only the SQL of steps takes.
    Collected(String),
    /// A text whose template was refused. That was told; nothing more is said about it.
    Refused,
}

/// A key of a map and its value.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) at: Mark,
    pub(super) value: Node,
}

impl Node {
    pub(super) fn is_null(&self) -> bool {
        matches!(self.shape, Shape::Null)
    }

    /// What the value is, in words, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match &self.shape {
            Shape::Null => "null",
            Shape::Bool(_) => "true or false",
            Shape::Number(_) => "a number",
            Shape::Text(_) => "text",
            Shape::List(_) => "a list",
            Shape::Map(_) => "a map",
            Shape::Secret(_) => "a secret",
            Shape::Collected(_) => "a text with collected values",
            Shape::Refused => "text",
        }
    }

    /// The entries of a map; none of anything else.
    pub(super) fn entries(&self) -> &[Entry] {
        if let Shape::Map(entries) = &self.shape { entries } else { &[] }
    }

    /// The value as JSON, as a component gets its configuration.
    pub(super) fn to_json(&self) -> Value {
        match &self.shape {
            // Whoever takes JSON tells of secrets and collected values in it before.
            Shape::Null | Shape::Secret(_) | Shape::Collected(_) | Shape::Refused => Value::Null,
            Shape::Bool(value) => Value::Bool(*value),
            Shape::Number(value) => Value::Number(value.clone()),
            Shape::Text(value) => Value::String(value.clone()),
            Shape::List(items) => items.iter().map(Self::to_json).collect(),
            Shape::Map(entries) => Value::Object(
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect(),
            ),
        }
    }

    /// Replaces every text of the tree by what `change` makes of it; it also gets the path of the field.
    pub(super) fn each_text(
        &mut self,
        path: &str,
        change: &mut impl FnMut(&str, Mark, &str) -> Option<Shape>,
    ) {
        match &mut self.shape {
            Shape::Text(text) => {
                if let Some(shape) = change(text, self.at, path) {
                    self.shape = shape;
                }
            }
            Shape::List(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    item.each_text(&format!("{path}[{index}]"), change);
                }
            }
            Shape::Map(entries) => {
                for entry in entries {
                    entry.value.each_text(&join(path, &entry.key), change);
                }
            }
            Shape::Null
            | Shape::Bool(_)
            | Shape::Number(_)
            | Shape::Secret(_)
            | Shape::Collected(_)
            | Shape::Refused => {}
        }
    }

    /// The first text of the tree that plain fields do not take.
    pub(super) fn special(&self) -> Option<&Self> {
        match &self.shape {
            Shape::Secret(_) | Shape::Collected(_) => Some(self),
            Shape::List(items) => items.iter().find_map(Self::special),
            Shape::Map(entries) => entries.iter().find_map(|entry| entry.value.special()),
            Shape::Null | Shape::Bool(_) | Shape::Number(_) | Shape::Text(_) | Shape::Refused => {
                None
            }
        }
    }

    /// Removes keys that occur a second time in their map, and tells of each.
    fn drop_repeated(&mut self, file: &str, path: &str, problems: &mut Vec<Problem>) {
        match &mut self.shape {
            Shape::List(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    item.drop_repeated(file, &format!("{path}[{index}]"), problems);
                }
            }
            Shape::Map(entries) => {
                let mut seen = BTreeSet::new();
                entries.retain(|entry| {
                    let first = seen.insert(entry.key.clone());
                    if !first {
                        let at = place(file, entry.at, &join(path, &entry.key));
                        let what = format!("`{}` is there twice", entry.key);
                        problems.push(
                            Problem::new(Code::DuplicateKey, at, what).hint("keep one of them"),
                        );
                    }
                    first
                });
                for entry in entries {
                    entry.value.drop_repeated(file, &join(path, &entry.key), problems);
                }
            }
            Shape::Null
            | Shape::Bool(_)
            | Shape::Number(_)
            | Shape::Text(_)
            | Shape::Secret(_)
            | Shape::Collected(_)
            | Shape::Refused => {}
        }
    }
}

/// Where a value or key is, in words of problems.
pub(super) fn place(file: &str, at: Mark, field: &str) -> Place {
    let known = |number: u64| (number > 0).then_some(number);
    Place {
        file: file.to_owned(),
        line: known(at.line),
        column: known(at.column),
        field: field.to_owned(),
    }
}

/// A field's path below `path`. A key that would read as a path itself is quoted.
pub(super) fn join(path: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-:".contains(c));
    match (path.is_empty(), plain) {
        (true, true) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        (_, false) => format!("{path}[{key:?}]"),
    }
}

/// The tree of a file; the extension decides between JSON and YAML.
///
/// # Errors
/// The one problem that keeps the text from being a tree. Repeated keys go to `problems` instead.
pub(super) fn parse(
    path: &Path,
    text: &str,
    problems: &mut Vec<Problem>,
) -> Result<Node, Box<Problem>> {
    let file = path.display().to_string();
    let extension =
        path.extension().and_then(|extension| extension.to_str()).map(str::to_lowercase);
    let parsed = match extension.as_deref() {
        Some("json") => json::parse(text),
        Some("yaml" | "yml") => yaml::parse(text),
        _ => {
            let at = Place { file, ..Place::default() };
            let what = "a flow file ends in `.yaml`, `.yml` or `.json`; this name says neither";
            return Err(Box::new(
                Problem::new(Code::WrongValue, at, what)
                    .hint("rename the file after what it holds"),
            ));
        }
    };
    let mut tree = parsed
        .map_err(|(at, what)| Box::new(Problem::new(Code::Syntax, place(&file, at, ""), what)))?;
    tree.drop_repeated(&file, "", problems);
    Ok(tree)
}
