//! The rules of a chain, from their blocks.

use super::Judge;
use super::OnNull;
use super::Rule;
use super::expressions::Judged;
use super::family::Typed;
use super::judges::judge;
use super::node::Entry;
use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::report::Spot;
use super::rule_blocks::ACCEPTED_VALUES;
use super::rule_blocks::RULES;
use super::scope::Scope;
use crate::problem::Code;
use crate::table::Severity;

/// How much of an expression its rule's default name has, in characters.
const NAME_PART_MAX: usize = 60;

/// The `rules` of a flow or destination, as far as they can be read.
pub(super) fn rules(scope: &Scope<'_>, of: &Fields<'_>) -> Vec<Rule> {
    let Some(found) = of.get("rules") else {
        if of.is_attempted("rules") {
            scope.has_unread.set(true);
        }
        return Vec::new();
    };
    let mut rules = Vec::new();
    let mut take = |node: &Node, spot: &Spot| {
        rules.extend(scope.read(rule(scope, node, spot)).into_iter().flatten());
    };
    match &found.node.shape {
        Shape::List(items) => {
            for (index, item) in items.iter().enumerate() {
                take(item, &found.spot.item(index, item.at));
            }
        }
        Shape::Map(entries) if entries.iter().any(|entry| entry.key == "type") => {
            scope.has_unread.set(true);
            let what = "a rule stands in a list, also where it is the only one";
            scope.report.add_hint(Code::WrongType, &found.spot, what, "write `- type: …`");
        }
        // `not_null: [a, b]` and the like.
        Shape::Map(entries) => {
            for entry in entries.iter().filter(|entry| !entry.value.is_null()) {
                let one = Node { at: entry.at, shape: Shape::Map(vec![entry.clone()]) };
                take(&one, &found.spot);
            }
        }
        _ => {
            scope.has_unread.set(true);
            let what = format!("`rules` is a list of rules; this is {}", found.node.kind());
            let hint = "write `[{ type: component, component: … }]`";
            scope.report.add_hint(Code::WrongType, &found.spot, what, hint);
        }
    }
    rules
}

/// The rules of one block: several where expressions lead to different things, or where values of several columns are
/// listed.
fn rule(scope: &Scope<'_>, node: &Node, spot: &Spot) -> Option<Vec<Rule>> {
    if let Some(columns) = values_by_column(node) {
        return Some(accepted_values(scope, columns, spot));
    }
    let typed = RULES.open(scope.report, node, spot)?;
    if typed.name == "expression" {
        return expressions(scope, &typed);
    }
    let judge = judge(scope, &typed)?;
    Some(vec![with(scope, &typed, judge, severity(&typed.fields).unwrap_or_default(), "")])
}

/// A rule of what its block says beside how it judges.
fn with(
    scope: &Scope<'_>,
    typed: &Typed<'_>,
    judge: Judge,
    severity: Severity,
    name_end: &str,
) -> Rule {
    let Typed { fields, spot, .. } = typed;
    if severity.removes_rows() && !judge.points_at_rows() {
        let what = format!(
            "`{}` judges all rows at once: it has none to point at, so its `severity` is `fail` or `warn`",
            judge.type_name()
        );
        scope.report.add(Code::Contradiction, &fields.key_of("severity"), what);
    }
    let name = match fields.text("name") {
        Some(name) => format!("{}{name_end}", name.value),
        None => default_name(&judge),
    };
    let on_null = match judge {
        // These have no such field.
        Judge::Component { .. }
        | Judge::RequiredColumns { .. }
        | Judge::NotNull { .. }
        | Judge::MinRows { .. }
        | Judge::MaxRows { .. }
        | Judge::RowCountChange { .. }
        | Judge::Freshness { .. } => None,
        Judge::UniqueKey { .. }
        | Judge::AcceptedValues { .. }
        | Judge::Range { .. }
        | Judge::Pattern { .. }
        | Judge::Length { .. }
        | Judge::Expression { .. }
        | Judge::Reference { .. } => on_null(fields),
    };
    let filter = match judge {
        Judge::RequiredColumns { .. } => None,
        _ => fields.sql("where").map(|filter| filter.value),
    };
    let on_null = on_null.unwrap_or_else(|| judge.on_null());
    Rule { name, judge, filter, on_null, severity, at: scope.report.place(spot) }
}

fn on_null(fields: &Fields<'_>) -> Option<OnNull> {
    match fields.word("on_null")?.value.name {
        "fail" => Some(OnNull::Fail),
        "pass" => Some(OnNull::Pass),
        _ => Some(OnNull::Skip),
    }
}

/// The `severity` of a block.
pub(super) fn severity(fields: &Fields<'_>) -> Option<Severity> {
    match fields.word("severity")?.value.name {
        "warn" => Some(Severity::Warn),
        "drop" => Some(Severity::Drop),
        "quarantine" => Some(Severity::Quarantine),
        _ => Some(Severity::Fail),
    }
}

/// One rule a severity, in the order in which severities first come.
fn expressions(scope: &Scope<'_>, typed: &Typed<'_>) -> Option<Vec<Rule>> {
    let all = typed.fields.expressions("expression")?.value;
    let own = severity(&typed.fields).unwrap_or_default();
    let mut by_severity: Vec<(Severity, Vec<Judged>)> = Vec::new();
    for (expression, severity) in all {
        let severity = severity.unwrap_or(own);
        match by_severity.iter_mut().find(|(other, _)| *other == severity) {
            Some((_, group)) => group.push((expression, None)),
            None => by_severity.push((severity, vec![(expression, None)])),
        }
    }
    let is_split = by_severity.len() > 1;
    let rules = by_severity.into_iter().map(|(severity, group)| {
        let expressions = group.into_iter().map(|(expression, _)| expression).collect();
        let end = match (is_split, severity) {
            (false, _) => "",
            (true, Severity::Fail) => " (fail)",
            (true, Severity::Warn) => " (warn)",
            (true, Severity::Drop) => " (drop)",
            (true, Severity::Quarantine) => " (quarantine)",
        };
        with(scope, typed, Judge::Expression { expressions }, severity, end)
    });
    Some(rules.collect())
}

/// The columns of `accepted_values: {origin: [EWR, JFK], …}`, which no field of the block can be mistaken for.
fn values_by_column(node: &Node) -> Option<(&Entry, &[Entry])> {
    let Shape::Map(entries) = &node.shape else { return None };
    let [entry] = entries.as_slice() else { return None };
    let is_values = RULES.words().any(|word| word.name == "accepted_values" && word.is(&entry.key));
    let Shape::Map(columns) = &entry.value.shape else { return None };
    let is_column = |column: &Entry| {
        ACCEPTED_VALUES.find(&column.key).is_none() && matches!(column.value.shape, Shape::List(_))
    };
    (is_values && !columns.is_empty() && columns.iter().all(is_column)).then_some((entry, columns))
}

fn accepted_values(
    scope: &Scope<'_>,
    (entry, columns): (&Entry, &[Entry]),
    spot: &Spot,
) -> Vec<Rule> {
    let at = spot.key(&entry.key, entry.at);
    let rules = columns.iter().filter_map(|column| {
        let key = Node { at: column.at, shape: Shape::Text(column.key.clone()) };
        let spot = at.key(&column.key, column.at);
        let values = at.key(&column.key, column.value.at);
        let given = [("column", &key, spot.clone()), ("values", &column.value, values)];
        let fields = Fields::given(scope.report, &ACCEPTED_VALUES, &spot, given);
        fields.verify();
        let typed = Typed { name: "accepted_values", fields, spot };
        let judge = scope.read(judge(scope, &typed))?;
        Some(with(scope, &typed, judge, Severity::default(), ""))
    });
    rules.collect()
}

/// The component's name, or the type and what it looks at.
fn default_name(judge: &Judge) -> String {
    let of = |parts: Vec<String>| match parts.is_empty() {
        true => judge.type_name().to_owned(),
        false => format!("{}({})", judge.type_name(), parts.join(", ")),
    };
    match judge {
        Judge::Component { component, .. } => component.to_string(),
        Judge::RequiredColumns { columns }
        | Judge::NotNull { columns }
        | Judge::UniqueKey { columns, .. }
        | Judge::Reference { columns, .. } => of(columns.iter().map(ToString::to_string).collect()),
        Judge::AcceptedValues { column, .. }
        | Judge::Range { column, .. }
        | Judge::Pattern { column, .. }
        | Judge::Length { column, .. }
        | Judge::Freshness { column, .. } => of(vec![column.to_string()]),
        Judge::Expression { expressions } => of(expressions
            .iter()
            .map(|one| {
                one.name
                    .clone()
                    .unwrap_or_else(|| one.expression.chars().take(NAME_PART_MAX).collect())
            })
            .collect()),
        Judge::MinRows { .. } | Judge::MaxRows { .. } | Judge::RowCountChange { .. } => {
            of(Vec::new())
        }
    }
}
