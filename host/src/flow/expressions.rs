//! The expressions of an expression rule.

use super::NamedExpression;
use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::report::Located;
use super::report::Spot;
use super::rule_blocks::EXPRESSION_ITEM;
use super::rules::severity;
use crate::problem::Code;
use crate::table::Severity;

/// An expression, and its own severity where it has one.
pub(super) type Judged = (NamedExpression, Option<Severity>);

impl<'a> Fields<'a> {
    /// Expressions, from one or from a list; names unique, not empty.
    pub(super) fn expressions(&self, name: &'static str) -> Option<Located<Vec<Judged>>> {
        self.located(name, |found| {
            let items: Vec<_> = match &found.node.shape {
                Shape::List(items) => {
                    let items = items.iter().enumerate();
                    items.map(|(index, item)| (item, found.spot.item(index, item.at))).collect()
                }
                Shape::Text(_) | Shape::Collected(_) | Shape::Map(_) => {
                    vec![(found.node, found.spot.clone())]
                }
                _ => {
                    let what = format!(
                        "`{name}` is an expression or a list of expressions; this is {}",
                        found.node.kind()
                    );
                    self.report.add_hint(Code::WrongType, &found.spot, what, "write `\"a > 0\"`");
                    return None;
                }
            };
            if items.is_empty() {
                self.report.add(Code::WrongValue, &found.spot, format!("`{name}` is empty"));
            }
            let mut all: Vec<Judged> = Vec::new();
            for (item, spot) in items {
                let Some((one, severity)) = self.expression(name, item, &spot) else { continue };
                if one.name.is_some() && all.iter().any(|(other, _)| other.name == one.name) {
                    let what = format!(
                        "two expressions are named `{}`",
                        one.name.as_deref().unwrap_or_default()
                    );
                    self.report.add(Code::WrongValue, &spot, what);
                } else {
                    all.push((one, severity));
                }
            }
            (!all.is_empty()).then_some(all)
        })
    }

    fn expression(&self, name: &str, node: &'a Node, spot: &Spot) -> Option<Judged> {
        let Shape::Map(_) = node.shape else {
            let expression = self.sql_at(name, node, spot)?;
            return Some((NamedExpression { name: None, expression, message: None }, None));
        };
        let fields = Fields::open(self.report, &EXPRESSION_ITEM, node, spot)?;
        fields.verify();
        let text = |name| fields.text(name).map(|text| text.value);
        let expression = fields.sql("expression")?.value;
        let named = NamedExpression { name: text("name"), expression, message: text("message") };
        Some((named, severity(&fields)))
    }
}
