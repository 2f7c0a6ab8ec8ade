//! Columns as fields name them: one, several, partition columns, orders.

use std::collections::BTreeSet;

use super::PartitionColumn;
use super::destinations::PARTITION;
use super::fields::Kind;
use super::fields::Unsaid;
use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::order;
use super::report::Located;
use super::report::Spot;
use super::scalars::text;
use super::step_blocks::ORDER;
use crate::name::ColumnName;
use crate::problem::Code;
use crate::table::OrderBy;

impl<'a> Fields<'a> {
    /// One column's name.
    pub(super) fn column(&self, name: &'static str) -> Option<Located<ColumnName>> {
        let Located { value, spot } = self.text(name)?;
        let column = ColumnName::new(value);
        let value = column.map_err(|what| self.report.add(Code::WrongValue, &spot, what)).ok()?;
        Some(Located { value, spot })
    }

    /// Column names without repeats, from a list or from text with commas; not empty.
    pub(super) fn names(&self, name: &'static str) -> Option<Located<Vec<ColumnName>>> {
        let item = |node: &'a Node, spot: &Spot| {
            if let Shape::Map(_) = node.shape {
                let what = "plain column names are due here; this is a map";
                self.report.add(Code::WrongType, spot, what);
                return None;
            }
            Some((text(self.report, node, spot)?.to_owned(), ()))
        };
        let names = self.listed(name, item)?;
        Some(names.map(|names| names.into_iter().map(|(column, ())| column).collect()))
    }

    /// The same, where an item may have an expression.
    pub(super) fn partitions(&self, name: &'static str) -> Option<Located<Vec<PartitionColumn>>> {
        let item = |node: &'a Node, spot: &Spot| match node.shape {
            Shape::Map(_) => {
                let fields = Fields::open(self.report, &PARTITION, node, spot)?;
                // One that cannot be read is there all the same, so that nobody asks for the column among the rows'.
                let expression = fields
                    .get("expression")
                    .map(|_| fields.text("expression").map(|text| text.value).unwrap_or_default());
                fields.text("column").map(|column| (column.value, expression))
            }
            _ => Some((text(self.report, node, spot)?.to_owned(), None)),
        };
        let columns = self.listed(name, item)?;
        Some(columns.map(|columns| {
            let columns = columns.into_iter();
            columns.map(|(column, expression)| PartitionColumn { column, expression }).collect()
        }))
    }

    /// An order of rows, from a list or from text with commas; no column twice.
    pub(super) fn order(&self, name: &'static str) -> Option<Located<Vec<OrderBy>>> {
        self.located(name, |found| {
            let Kind::Order(unsaid) = found.field.kind else { return None };
            let parts = match &found.node.shape {
                Shape::Text(text) => {
                    vec![(self.order_text(text, &found.spot, unsaid), found.spot.clone())]
                }
                Shape::List(items) if !items.is_empty() => items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| {
                        let spot = found.spot.item(index, item.at);
                        let order = match item.shape {
                            Shape::Map(_) => self.order_block(item, &spot, unsaid),
                            _ => text(self.report, item, &spot)
                                .map(|text| self.order_text(text, &spot, unsaid))
                                .unwrap_or_default(),
                        };
                        (order, spot)
                    })
                    .collect(),
                Shape::List(_) => {
                    self.report.add(Code::WrongValue, &found.spot, format!("`{name}` is empty"));
                    return None;
                }
                _ => {
                    let what =
                        format!("`{name}` is a list of columns; this is {}", found.node.kind());
                    let hint = "write `[a DESC, b]` or `\"a DESC, b\"`";
                    self.report.add_hint(Code::WrongType, &found.spot, what, hint);
                    return None;
                }
            };
            let mut all: Vec<OrderBy> = Vec::new();
            for (order, spot) in parts {
                for by in order {
                    if all.iter().any(|other| other.column == by.column) {
                        let what = format!("`{name}` names `{}` twice", by.column);
                        self.report.add(Code::WrongValue, &spot, what);
                    } else {
                        all.push(by);
                    }
                }
            }
            (!all.is_empty()).then_some(all)
        })
    }

    fn order_text(&self, text: &str, spot: &Spot, unsaid: Unsaid) -> Vec<OrderBy> {
        order::order(text, unsaid).unwrap_or_else(|what| {
            let hint = "a name with other characters is in double quotes";
            self.report.add_hint(Code::WrongValue, spot, what, hint);
            Vec::new()
        })
    }

    /// `{column: …, direction: …, nulls: …}`.
    fn order_block(&self, node: &'a Node, spot: &Spot, unsaid: Unsaid) -> Vec<OrderBy> {
        let Some(fields) = Fields::open(self.report, &ORDER, node, spot) else { return Vec::new() };
        fields.verify();
        let is = |name, word: &str| fields.word(name).map(|found| found.value.name == word);
        let Some(column) = fields.column("column") else { return Vec::new() };
        vec![OrderBy {
            column: column.value,
            descending: is("direction", "desc").unwrap_or(unsaid == Unsaid::Descending),
            nulls_first: is("nulls", "first").unwrap_or(false),
        }]
    }

    /// Columns without repeats and what `item` reads beside each name; text with commas is names alone.
    fn listed<T: Default>(
        &self,
        name: &'static str,
        item: impl Fn(&'a Node, &Spot) -> Option<(String, T)>,
    ) -> Option<Located<Vec<(ColumnName, T)>>> {
        self.located(name, |found| {
            let names: Vec<_> = match &found.node.shape {
                Shape::Text(text) => text
                    .split(',')
                    .map(|part| ((part.trim().to_owned(), T::default()), found.spot.clone()))
                    .collect(),
                Shape::List(items) => {
                    let items = items.iter().enumerate();
                    let listed = items.map(|(at, item)| (item, found.spot.item(at, item.at)));
                    listed.filter_map(|(node, spot)| Some((item(node, &spot)?, spot))).collect()
                }
                _ => {
                    let what = format!(
                        "`{name}` is a list of column names; this is {}",
                        found.node.kind()
                    );
                    let hint = "write `[a, b]` or `\"a, b\"`";
                    self.report.add_hint(Code::WrongType, &found.spot, what, hint);
                    return None;
                }
            };
            let mut columns = Vec::new();
            let mut seen = BTreeSet::new();
            for ((text, beside), spot) in names {
                match ColumnName::new(text) {
                    Ok(column) if !seen.insert(column.clone()) => {
                        let what = format!("`{name}` names `{column}` twice");
                        self.report.add(Code::WrongValue, &spot, what);
                    }
                    Ok(column) => columns.push((column, beside)),
                    Err(what) => self.report.add(Code::WrongValue, &spot, what),
                }
            }
            if matches!(&found.node.shape, Shape::List(items) if items.is_empty()) {
                let what = format!("`{name}` is empty");
                self.report.add_hint(
                    Code::WrongValue,
                    &found.spot,
                    what,
                    "name a column, or leave it out",
                );
            }
            (!columns.is_empty()).then_some(columns)
        })
    }
}
