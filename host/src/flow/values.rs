//! Typed values of a block's fields. A value of another type is told here and counts as not set.

use serde_json::Value;

use super::fields::Kind;
use super::fields::Word;
use super::node::Shape;
use super::open::Fields;
use super::open::Found;
use super::report::Located;
use super::report::Spot;
use super::scalars::Number;
use super::scalars::not_here;
use super::scalars::number;
use super::scalars::scalar;
use super::scalars::shown;
use super::scalars::text;
use super::scalars::word;
use super::sensitive::Sensitive;
use super::types::ColumnTypes;
use super::types::ColumnsOfSchema;
use super::types::column_type;
use crate::name::ColumnName;
use crate::problem::Code;

impl<'a> Fields<'a> {
    pub(super) fn located<T>(
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

    /// Text that may hold secrets; in plain words it is one itself, so no message shows it.
    pub(super) fn sensitive(&self, name: &'static str) -> Option<Located<Sensitive>> {
        self.located(name, |found| {
            let is_url = matches!(found.field.kind, Kind::SensitiveUrl);
            match &found.node.shape {
                Shape::Secret(secret) if is_url => Some(secret.as_url()),
                Shape::Secret(secret) => Some(secret.clone()),
                Shape::Text(text) if text.trim().is_empty() => {
                    self.report.add(Code::WrongValue, &found.spot, format!("`{name}` is empty"));
                    None
                }
                Shape::Text(text) if is_url => Some(Sensitive::url(text)),
                Shape::Text(text) => Some(Sensitive::plain(text)),
                _ => {
                    let what = format!("`{name}` is text; this is {}", found.node.kind());
                    self.report.add_hint(Code::WrongType, &found.spot, what, "put it in quotes");
                    None
                }
            }
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
        self.located(name, |found| {
            number(self.report, found.node, &found.spot, name, Number::Count)
        })
    }

    /// A whole number from 0.
    pub(super) fn whole(&self, name: &'static str) -> Option<Located<u64>> {
        self.located(name, |found| {
            number(self.report, found.node, &found.spot, name, Number::Whole)
        })
    }

    /// A number of bytes from 1.
    pub(super) fn bytes(&self, name: &'static str) -> Option<Located<u64>> {
        self.located(name, |found| {
            number(self.report, found.node, &found.spot, name, Number::Bytes)
        })
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

    /// A number from 0 to 1, also as text.
    pub(super) fn fraction(&self, name: &'static str) -> Option<Located<f64>> {
        self.real(name, 1.0, "from 0 to 1")
    }

    /// A number from 0, also as text.
    pub(super) fn share(&self, name: &'static str) -> Option<Located<f64>> {
        self.real(name, f64::MAX, "from 0")
    }

    fn real(&self, name: &'static str, max: f64, due: &str) -> Option<Located<f64>> {
        self.located(name, |found| {
            let (parsed, code) = match &found.node.shape {
                Shape::Number(number) => (number.as_f64(), Code::WrongValue),
                Shape::Text(text) => (text.trim().parse().ok(), Code::WrongValue),
                _ => (None, Code::WrongType),
            };
            let real = parsed.filter(|real| (0.0..=max).contains(real));
            if real.is_none() {
                let what = format!("`{name}` is a number {due}; this is {}", shown(found.node));
                self.report.add(code, &found.spot, what);
            }
            real
        })
    }

    /// Text, or a whole number, true or false as text.
    pub(super) fn scalar(&self, name: &'static str) -> Option<Located<String>> {
        self.located(name, |found| scalar(self.report, found.node, &found.spot, name))
    }

    /// Column types by name, in the file's order.
    pub(super) fn types(&self, name: &'static str) -> Option<Located<ColumnTypes>> {
        let typed = |(column, data_type): (_, Option<_>)| Some((column, data_type?));
        let all = self.typed_columns(name)?;
        Some(all.map(|columns| columns.into_iter().filter_map(typed).collect()))
    }

    /// The same, or a list of names; a column without a type is there as well.
    pub(super) fn types_or_names(&self, name: &'static str) -> Option<Located<ColumnsOfSchema>> {
        if let Shape::Map(_) = self.get(name)?.node.shape {
            return self.typed_columns(name);
        }
        let Located { value, spot } = self.names(name)?;
        let column = |value| (Located { value, spot: spot.clone() }, None);
        Some(Located { value: value.into_iter().map(column).collect(), spot })
    }

    fn typed_columns(&self, name: &'static str) -> Option<Located<ColumnsOfSchema>> {
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
            for entry in entries {
                let spot = found.spot.key(&entry.key, entry.value.at);
                let column = ColumnName::new(entry.key.as_str())
                    .map_err(|what| self.report.add(Code::WrongValue, &spot, what));
                if entry.value.is_null() {
                    types.extend(column.ok().map(|value| (Located { value, spot }, None)));
                    continue;
                }
                let Some(text) = text(self.report, &entry.value, &spot) else { continue };
                match (column, column_type(text)) {
                    (Ok(value), Ok(data_type)) => {
                        types.push((Located { value, spot }, Some(data_type)));
                    }
                    (_, Err((what, hint))) => {
                        self.report.add_hint(Code::WrongValue, &spot, what, hint)
                    }
                    (Err(()), Ok(_)) => {}
                }
            }
            // Where none can be read, what is wrong with them was told.
            (!types.is_empty() || entries.is_empty()).then_some(types)
        })
    }

    /// Whatever stands there, as JSON.
    pub(super) fn json(&self, name: &'static str) -> Option<Value> {
        self.get(name).map(|found| {
            if let Some(node) = found.node.special() {
                let spot = Spot { at: node.at, path: found.spot.path.clone() };
                not_here(self.report, node, &spot);
            }
            found.node.to_json()
        })
    }
}
