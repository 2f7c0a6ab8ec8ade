//! Typed values of a block's fields. A value of another type is told here and counts as not set.

use std::collections::BTreeSet;

use serde_json::Value;

use super::fields::Kind;
use super::fields::Word;
use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::open::Found;
use super::report::Located;
use super::report::Spot;
use super::scalars::number;
use super::scalars::shown;
use super::scalars::text;
use super::scalars::word;
use super::types::ColumnTypes;
use super::types::column_type;
use crate::name::ColumnName;
use crate::problem::Code;

impl<'a> Fields<'a> {
    fn located<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&Found<'a>) -> Option<T>,
    ) -> Option<Located<T>> {
        let found = self.get(name).filter(|found| !matches!(found.node.shape, Shape::Refused))?;
        read(found).map(|value| Located { value, spot: found.spot.clone() })
    }

    /// Text; not empty but for fields that say so.
    pub(super) fn text(&self, name: &'static str) -> Option<Located<String>> {
        self.located(name, |found| {
            let text = text(self.report, found.node, &found.spot)?;
            if text.trim().is_empty() && !matches!(found.field.kind, Kind::AnyText) {
                self.report.add(Code::WrongValue, &found.spot, format!("`{name}` is empty"));
                return None;
            }
            Some(text.to_owned())
        })
    }

    /// A word of the field's table that this version offers.
    pub(super) fn word(&self, name: &'static str) -> Option<Located<&'static Word>> {
        self.located(name, |found| {
            let Kind::Word(words) = found.field.kind else { return None };
            let text = text(self.report, found.node, &found.spot)?;
            word(self.report, &found.spot, name, text, words)
        })
    }

    /// True or false, also as text: templates and options of other tools are text.
    pub(super) fn flag(&self, name: &'static str) -> Option<Located<bool>> {
        self.located(name, |found| {
            match &found.node.shape {
                Shape::Bool(value) => return Some(*value),
                Shape::Text(text) => match text.trim().to_lowercase().as_str() {
                    "true" => return Some(true),
                    "false" => return Some(false),
                    _ => {}
                },
                _ => {}
            }
            let what = format!("`{name}` is true or false; this is {}", shown(found.node));
            self.report.add(Code::WrongType, &found.spot, what);
            None
        })
    }

    /// A whole number from 1.
    pub(super) fn count(&self, name: &'static str) -> Option<Located<u64>> {
        self.located(name, |found| number(self.report, found.node, &found.spot, name, false))
    }

    /// A number of bytes from 1.
    pub(super) fn bytes(&self, name: &'static str) -> Option<Located<u64>> {
        self.located(name, |found| number(self.report, found.node, &found.spot, name, true))
    }

    /// One ASCII character.
    pub(super) fn character(&self, name: &'static str) -> Option<Located<u8>> {
        self.located(name, |found| match text(self.report, found.node, &found.spot)? {
            "\\t" => Some(b'\t'),
            one if one.len() == 1 && !matches!(one.as_bytes()[0], b'\n' | b'\r' | 0) => {
                Some(one.as_bytes()[0])
            }
            other => {
                let what = format!("`{name}` is one ASCII character; this is {other:?}");
                self.report.add(Code::WrongValue, &found.spot, what);
                None
            }
        })
    }

    /// A list of texts; one text is a list of one.
    pub(super) fn texts(&self, name: &'static str) -> Option<Located<Vec<String>>> {
        self.located(name, |found| match &found.node.shape {
            Shape::List(items) => Some(
                items
                    .iter()
                    .enumerate()
                    .filter_map(|(index, item)| {
                        text(self.report, item, &found.spot.item(index, item.at))
                    })
                    .map(str::to_owned)
                    .collect(),
            ),
            Shape::Text(text) => Some(vec![text.clone()]),
            _ => {
                let what = format!("`{name}` is a list of texts; this is {}", found.node.kind());
                self.report.add(Code::WrongType, &found.spot, what);
                None
            }
        })
    }

    /// Column names without repeats, from a list or from text with commas; not empty.
    pub(super) fn names(&self, name: &'static str) -> Option<Located<Vec<ColumnName>>> {
        self.located(name, |found| {
            let names = match &found.node.shape {
                Shape::Text(text) => text
                    .split(',')
                    .map(|part| (part.trim().to_owned(), found.spot.clone()))
                    .collect(),
                Shape::List(items) => {
                    let listed = items
                        .iter()
                        .enumerate()
                        .map(|(index, item)| (item, found.spot.item(index, item.at)));
                    listed
                        .filter_map(|(item, spot)| Some((self.column(found, item, &spot)?, spot)))
                        .collect::<Vec<_>>()
                }
                _ => {
                    let what = format!(
                        "`{name}` is a list of column names; this is {}",
                        found.node.kind()
                    );
                    self.report.add_hint(
                        Code::WrongType,
                        &found.spot,
                        what,
                        "write `[a, b]` or `\"a, b\"`",
                    );
                    return None;
                }
            };
            let mut columns: Vec<ColumnName> = Vec::new();
            let mut seen = BTreeSet::new();
            for (text, spot) in names {
                match ColumnName::new(text) {
                    Ok(column) if !seen.insert(column.clone()) => {
                        self.report.add(
                            Code::WrongValue,
                            &spot,
                            format!("`{name}` names `{column}` twice"),
                        );
                    }
                    Ok(column) => columns.push(column),
                    Err(what) => self.report.add(Code::WrongValue, &spot, what),
                }
            }
            if columns.is_empty() {
                if matches!(&found.node.shape, Shape::List(items) if items.is_empty()) {
                    self.report.add_hint(
                        Code::WrongValue,
                        &found.spot,
                        format!("`{name}` is empty"),
                        "leave it out",
                    );
                }
                return None;
            }
            Some(columns)
        })
    }

    /// One item of a list of columns.
    fn column(&self, found: &Found<'a>, item: &'a Node, spot: &Spot) -> Option<String> {
        let Shape::Map(_) = item.shape else {
            return text(self.report, item, spot).map(str::to_owned);
        };
        if !matches!(found.field.kind, Kind::Partitions) {
            self.report.add(
                Code::WrongType,
                spot,
                "plain column names are due here; this is a map",
            );
            return None;
        }
        let fields = Self::open(self.report, &super::destinations::PARTITION, item, spot)?;
        fields.text("column").map(|column| column.value)
    }

    /// Column types by name, in the file's order.
    pub(super) fn types(&self, name: &'static str) -> Option<Located<ColumnTypes>> {
        self.located(name, |found| {
            let Shape::Map(entries) = &found.node.shape else {
                let what =
                    format!("`{name}` is a map from column to type; this is {}", found.node.kind());
                self.report.add_hint(
                    Code::WrongType,
                    &found.spot,
                    what,
                    "write `{ id: int64, day: date }`",
                );
                return None;
            };
            let mut types = Vec::new();
            for entry in entries.iter().filter(|entry| !entry.value.is_null()) {
                let spot = found.spot.key(&entry.key, entry.value.at);
                let column = ColumnName::new(entry.key.as_str())
                    .map_err(|what| self.report.add(Code::WrongValue, &spot, what));
                let Some(text) = text(self.report, &entry.value, &spot) else { continue };
                match (column, column_type(text)) {
                    (Ok(value), Ok(data_type)) => types.push((Located { value, spot }, data_type)),
                    (_, Err((what, hint))) => {
                        self.report.add_hint(Code::WrongValue, &spot, what, hint)
                    }
                    (Err(()), Ok(_)) => {}
                }
            }
            Some(types)
        })
    }

    /// Whatever stands there, as JSON.
    pub(super) fn json(&self, name: &'static str) -> Option<Value> {
        self.get(name).map(|found| found.node.to_json())
    }

    /// Tells of values that do not fit their options, for blocks that nothing may use.
    pub(super) fn verify_options(&self) {
        for found in self.all() {
            let name = found.field.name;
            match found.field.kind {
                Kind::Text | Kind::AnyText => drop(self.text(name)),
                Kind::Word(_) => drop(self.word(name)),
                Kind::Bool => drop(self.flag(name)),
                Kind::Count => drop(self.count(name)),
                Kind::Bytes => drop(self.bytes(name)),
                Kind::Char => drop(self.character(name)),
                Kind::Texts => drop(self.texts(name)),
                Kind::Names | Kind::Partitions => drop(self.names(name)),
                Kind::Types => drop(self.types(name)),
                Kind::Block(_)
                | Kind::NameOr(_)
                | Kind::Named(_)
                | Kind::OneOrNamed(_)
                | Kind::OneOrMany(_)
                | Kind::Chain(_)
                | Kind::ChainOrMap(_)
                | Kind::Vars
                | Kind::Limits
                | Kind::Any => {}
            }
        }
    }
}
