//! How a rule judges, from its block.

use serde_json::Value;

use super::Judge;
use super::Keep;
use super::family::Typed;
use super::open::Fields;
use super::report::Located;
use super::scope::Scope;
use crate::problem::Code;

/// The judge of a rule. Plain values were judged, so leaving early hides nothing.
pub(super) fn judge(scope: &Scope<'_>, typed: &Typed<'_>) -> Option<Judge> {
    let Typed { name, fields, .. } = typed;
    Some(match *name {
        "component" => {
            let (component, config) = scope.component(fields)?;
            Judge::Component { component, config }
        }
        "required_columns" => Judge::RequiredColumns { columns: fields.names("columns")?.value },
        "not_null" => Judge::NotNull { columns: fields.names("columns")?.value },
        "unique_key" => {
            let keep = keep(fields);
            Judge::UniqueKey { columns: fields.names("columns")?.value, keep: keep? }
        }
        "accepted_values" => Judge::AcceptedValues {
            column: fields.column("column")?.value,
            values: fields.values("values")?.value,
        },
        "range" => range(fields)?,
        "pattern" => Judge::Pattern {
            column: fields.column("column")?.value,
            pattern: fields.sql("pattern")?.value,
        },
        "length" => length(fields)?,
        "expression" => {
            let all = fields.expressions("expression")?.value;
            Judge::Expression { expressions: all.into_iter().map(|(one, _)| one).collect() }
        }
        "min_rows" => Judge::MinRows { count: fields.count("count")?.value },
        "max_rows" => Judge::MaxRows { count: fields.whole("count")?.value },
        "row_count_change" => {
            Judge::RowCountChange { max_fraction: fields.share("max_fraction")?.value }
        }
        "freshness" => Judge::Freshness {
            column: fields.column("column")?.value,
            max_age: fields.age("max_age")?.value,
        },
        "reference" => reference(scope, fields)?,
        other => {
            debug_assert!(false, "the rule `{other}` has a block and no reading");
            return None;
        }
    })
}

fn keep(fields: &Fields<'_>) -> Option<Keep> {
    let report = fields.report;
    if fields.get("keep").is_none() {
        if fields.get("order_by").is_some() && !fields.is_attempted("keep") {
            let what =
                "`order_by` says nothing without `keep`: all rows of a duplicated key are hit";
            let hint = "add `keep: first` or `keep: last`, or leave it out";
            report.add_hint(Code::Contradiction, &fields.key_of("order_by"), what, hint);
        }
        return Some(Keep::None);
    }
    if !fields.is_attempted("order_by") {
        let what = "`keep` needs `order_by`: without an order no row is the first";
        report.add(Code::MissingKey, &fields.key_of("keep"), what);
    }
    let word = fields.word("keep")?.value.name;
    let order = fields.order("order_by")?.value;
    Some(if word == "first" { Keep::First(order) } else { Keep::Last(order) })
}

fn range(fields: &Fields<'_>) -> Option<Judge> {
    let bound = |name: &'static str| {
        let bound = fields.value(name)?;
        if bound.value.is_boolean() {
            let what = format!("`{name}` is a number or text; this is `{}`", bound.value);
            fields.report.add(Code::WrongType, &bound.spot, what);
            return None;
        }
        Some(bound)
    };
    let (min, max) = (bound("min"), bound("max"));
    some_bound(fields);
    let exclusive = fields.flag("exclusive").is_some_and(|flag| flag.value);
    if let (Some(min), Some(max)) = (&min, &max)
        && let (Some(low), Some(high)) = (min.value.as_f64(), max.value.as_f64())
        && (low > high || exclusive && low == high)
    {
        no_value_between(fields, &min.value, max);
    }
    Some(Judge::Range {
        column: fields.column("column")?.value,
        min: min.map(|min| min.value),
        max: max.map(|max| max.value),
        exclusive,
    })
}

fn length(fields: &Fields<'_>) -> Option<Judge> {
    let (min, max) = (fields.whole("min"), fields.whole("max"));
    some_bound(fields);
    if let (Some(min), Some(max)) = (&min, &max)
        && min.value > max.value
    {
        no_value_between(fields, &min.value.into(), &max.clone().map(Value::from));
    }
    Some(Judge::Length {
        column: fields.column("column")?.value,
        min: min.map(|min| min.value),
        max: max.map(|max| max.value),
    })
}

fn some_bound(fields: &Fields<'_>) {
    if !fields.is_attempted("min") && !fields.is_attempted("max") {
        let what = format!("{} needs `min` or `max`", fields.block.name);
        fields.report.add(Code::MissingKey, &fields.spot, what);
    }
}

fn no_value_between(fields: &Fields<'_>, min: &Value, max: &Located<Value>) {
    let what = format!("no value lies between `min`, {min}, and `max`, {}", max.value);
    fields.report.add(Code::Contradiction, &max.spot, what);
}

fn reference(scope: &Scope<'_>, fields: &Fields<'_>) -> Option<Judge> {
    let source = scope.source(fields, "source");
    let theirs = fields.names("source_columns");
    let columns = fields.names("columns")?.value;
    if let Some(theirs) = &theirs
        && theirs.value.len() != columns.len()
    {
        let (count, own) = (theirs.value.len(), columns.len());
        let what = format!("`columns` and `source_columns` are paired, and are {own} and {count}");
        let hint = "name as many, in the order of `columns`";
        fields.report.add_hint(Code::Contradiction, &theirs.spot, what, hint);
    }
    let source_columns = theirs.map_or_else(|| columns.clone(), |theirs| theirs.value);
    Some(Judge::Reference { columns, source: source?, source_columns })
}
