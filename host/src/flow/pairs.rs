//! Columns with something to each: another column, a value.

use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::report::Located;
use super::report::Spot;
use super::scalars::text;
use crate::name::ColumnName;
use crate::problem::Code;

impl<'a> Fields<'a> {
    /// Columns and a column to each, in the file's order; not empty.
    pub(super) fn pairs(
        &self,
        name: &'static str,
    ) -> Option<Located<Vec<(ColumnName, ColumnName)>>> {
        self.column_map(name, "column", "write `{ a: b }`", |node, spot| {
            self.column_at(text(self.report, node, spot)?, spot)
        })
    }

    /// The same, or column names, each paired with itself.
    pub(super) fn pairs_or_names(
        &self,
        name: &'static str,
    ) -> Option<Located<Vec<(ColumnName, ColumnName)>>> {
        if matches!(self.get(name)?.node.shape, Shape::Map(_)) {
            return self.pairs(name);
        }
        let names = self.names(name)?;
        Some(names.map(|names| names.into_iter().map(|name| (name.clone(), name)).collect()))
    }

    /// Columns and what `item` reads beside each, in the file's order; not empty. Null is as good as leaving a column out.
    pub(super) fn column_map<T>(
        &self,
        name: &'static str,
        to: &str,
        hint: &str,
        item: impl Fn(&'a Node, &Spot) -> Option<T>,
    ) -> Option<Located<Vec<(ColumnName, T)>>> {
        self.located(name, |found| {
            let Shape::Map(entries) = &found.node.shape else {
                let what =
                    format!("`{name}` is a map from column to {to}; this is {}", found.node.kind());
                self.report.add_hint(Code::WrongType, &found.spot, what, hint);
                return None;
            };
            let set: Vec<_> = entries.iter().filter(|entry| !entry.value.is_null()).collect();
            if set.is_empty() {
                self.report.add(Code::WrongValue, &found.spot, format!("`{name}` is empty"));
            }
            let pairs: Vec<_> = set
                .into_iter()
                .filter_map(|entry| {
                    let column = self.column_at(&entry.key, &found.spot.key(&entry.key, entry.at));
                    let beside = item(&entry.value, &found.spot.key(&entry.key, entry.value.at));
                    column.zip(beside)
                })
                .collect();
            (!pairs.is_empty()).then_some(pairs)
        })
    }

    fn column_at(&self, text: &str, spot: &Spot) -> Option<ColumnName> {
        ColumnName::new(text).map_err(|what| self.report.add(Code::WrongValue, spot, what)).ok()
    }
}
