//! Values as data has them, and texts of SQL, from a block's fields.

use std::time::Duration;

use serde_json::Value;

use super::age::age;
use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::report::Located;
use super::report::Spot;
use super::scalars::not_here;
use super::scalars::shown;
use super::scalars::text;
use crate::name::ColumnName;
use crate::problem::Code;

/// How long a text of SQL may be. People write shorter ones; parsers recurse.
const SQL_BYTES_MAX: usize = 16 << 10;

impl<'a> Fields<'a> {
    /// SQL, not parsed.
    pub(super) fn sql(&self, name: &'static str) -> Option<Located<String>> {
        self.located(name, |found| self.sql_at(name, found.node, &found.spot))
    }

    /// SQL of a step, which may have names of collected values in it.
    pub(super) fn step_sql(&self, name: &'static str) -> Option<Located<String>> {
        self.located(name, |found| self.step_sql_at(name, found.node, &found.spot))
    }

    /// Texts of such SQL, from a list or one text; not empty.
    pub(super) fn step_sqls(&self, name: &'static str) -> Option<Located<Vec<String>>> {
        self.located(name, |found| {
            let Shape::List(items) = &found.node.shape else {
                return Some(vec![self.step_sql_at(name, found.node, &found.spot)?]);
            };
            if items.is_empty() {
                self.report.add(Code::WrongValue, &found.spot, format!("`{name}` is empty"));
            }
            let items = items.iter().enumerate();
            let texts: Vec<_> = items
                .filter_map(|(index, item)| {
                    self.step_sql_at(name, item, &found.spot.item(index, item.at))
                })
                .collect();
            (!texts.is_empty()).then_some(texts)
        })
    }

    pub(super) fn sql_at(&self, name: &str, node: &Node, spot: &Spot) -> Option<String> {
        self.judged_sql(name, text(self.report, node, spot)?, spot)
    }

    fn step_sql_at(&self, name: &str, node: &Node, spot: &Spot) -> Option<String> {
        match &node.shape {
            Shape::Collected(text) => self.judged_sql(name, text, spot),
            _ => self.sql_at(name, node, spot),
        }
    }

    fn judged_sql(&self, name: &str, text: &str, spot: &Spot) -> Option<String> {
        let what = if text.trim().is_empty() {
            format!("`{name}` is empty")
        } else if text.len() > SQL_BYTES_MAX {
            format!("`{name}` has {} bytes; at most {SQL_BYTES_MAX} are allowed", text.len())
        } else {
            return Some(text.to_owned());
        };
        self.report.add(Code::WrongValue, spot, what);
        None
    }

    /// How long.
    pub(super) fn age(&self, name: &'static str) -> Option<Located<Duration>> {
        self.located(name, |found| {
            let text = text(self.report, found.node, &found.spot)?;
            let told = |what| {
                let hint = "write `36 hours`, `2 days` or `P1DT12H`";
                self.report.add_hint(Code::WrongValue, &found.spot, what, hint);
            };
            age(text).map_err(told).ok()
        })
    }

    /// Text, a number, true or false.
    pub(super) fn value(&self, name: &'static str) -> Option<Located<Value>> {
        self.located(name, |found| self.value_at(name, found.node, &found.spot))
    }

    /// A list of such values, none twice; one value is a list of one.
    pub(super) fn values(&self, name: &'static str) -> Option<Located<Vec<Value>>> {
        self.located(name, |found| {
            let Shape::List(items) = &found.node.shape else {
                return Some(vec![self.value_at(name, found.node, &found.spot)?]);
            };
            if items.is_empty() {
                self.report.add(Code::WrongValue, &found.spot, format!("`{name}` is empty"));
            }
            let mut values = Vec::new();
            for (index, item) in items.iter().enumerate() {
                let spot = found.spot.item(index, item.at);
                let Some(value) = self.value_at(name, item, &spot) else { continue };
                if values.contains(&value) {
                    let what = format!("`{name}` has {} twice", shown(item));
                    self.report.add(Code::WrongValue, &spot, what);
                } else {
                    values.push(value);
                }
            }
            (!values.is_empty()).then_some(values)
        })
    }

    /// Columns and such values, in the file's order; not empty.
    pub(super) fn value_map(
        &self,
        name: &'static str,
    ) -> Option<Located<Vec<(ColumnName, Value)>>> {
        self.column_map(name, "value", "write `{ carrier: unknown, delay: 0 }`", |node, spot| {
            self.value_at(name, node, spot)
        })
    }

    fn value_at(&self, name: &str, node: &Node, spot: &Spot) -> Option<Value> {
        let code = match &node.shape {
            Shape::Text(_) | Shape::Number(_) | Shape::Bool(_) => return Some(node.to_json()),
            Shape::Refused => return None,
            Shape::Secret(_) | Shape::Collected(_) => {
                not_here(self.report, node, spot);
                return None;
            }
            Shape::Null => Code::WrongValue,
            Shape::List(_) | Shape::Map(_) => Code::WrongType,
        };
        let what =
            format!("`{name}`: text, a number, true or false is due here; this is {}", shown(node));
        self.report.add(code, spot, what);
        None
    }
}
