//! The steps of a chain, from their blocks.

use super::JoinKind;
use super::OnCastError;
use super::Step;
use super::Work;
use super::family::Typed;
use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::report::Spot;
use super::scope::Scope;
use super::step_blocks::STEPS;
use crate::name::ColumnName;
use crate::problem::Code;
use crate::table::OrderBy;

/// How many different values a `collect` step takes where it does not say so.
const COLLECTED_MAX: u64 = 10_000;

/// The `transforms` of a flow or destination, as far as they can be read.
pub(super) fn steps(scope: &Scope<'_>, of: &Fields<'_>) -> Vec<Step> {
    let Some(found) = of.get("transforms") else {
        if of.is_attempted("transforms") {
            scope.has_unread.set(true);
        }
        return Vec::new();
    };
    let Shape::List(items) = &found.node.shape else {
        scope.has_unread.set(true);
        let what = format!("`transforms` is a list of steps; this is {}", found.node.kind());
        let hint = "write `[{ type: component, component: … }]`";
        scope.report.add_hint(Code::WrongType, &found.spot, what, hint);
        return Vec::new();
    };
    let items = items.iter().enumerate();
    items
        .filter_map(|(index, item)| scope.read(step(scope, item, &found.spot.item(index, item.at))))
        .collect()
}

fn step(scope: &Scope<'_>, node: &Node, spot: &Spot) -> Option<Step> {
    let typed = STEPS.open(scope.report, node, spot)?;
    Some(Step { work: work(scope, &typed)?, at: scope.report.place(&typed.spot) })
}

/// The work of a step. Plain values were judged, so leaving early hides nothing.
fn work(scope: &Scope<'_>, typed: &Typed<'_>) -> Option<Work> {
    let Typed { name, fields, .. } = typed;
    Some(match *name {
        "component" => {
            let (component, config) = scope.component(fields)?;
            Work::Component { component, config }
        }
        "select" => Work::Select { columns: fields.names("columns")?.value },
        "drop" => Work::Drop { columns: fields.names("columns")?.value },
        "rename" => Work::Rename { columns: renames(fields)? },
        "with_column" => {
            let expression = scope.sql(fields, "expression");
            Work::WithColumn { column: fields.column("column")?.value, expression: expression? }
        }
        "filter" => Work::Filter { expression: scope.sql(fields, "expression")? },
        "cast" => cast(fields)?,
        "struct" => Work::Struct {
            column: fields.column("column")?.value,
            fields: fields.pairs("fields")?.value,
        },
        "deduplicate" => {
            let order_by = first_of_key(fields);
            Work::Deduplicate { keys: fields.names("keys")?.value, order_by }
        }
        "distinct" => Work::Deduplicate { keys: Vec::new(), order_by: Vec::new() },
        "drop_duplicates" => {
            let keys = match fields.get("columns") {
                Some(_) => fields.names("columns")?.value,
                None => Vec::new(),
            };
            Work::Deduplicate { keys, order_by: Vec::new() }
        }
        "group_by" => {
            let by = fields.names("by").map(|by| by.value);
            Work::GroupBy { by: by.unwrap_or_default(), agg: scope.sqls(fields, "agg")? }
        }
        "join" => {
            let with = scope.source(fields, "with");
            let on = fields.pairs_or_names("on")?.value;
            Work::Join { with: with?, on, how: join_kind(fields) }
        }
        "sql" => Work::Sql { query: scope.sql(fields, "query")? },
        "union" => Work::Union { with: scope.source(fields, "with")? },
        "fill_na" => Work::FillNa { columns: fields.value_map("columns")?.value },
        "sort" => Work::Sort { by: fields.order("by")?.value },
        "system_columns" => Work::SystemColumns {},
        "checkpoint" => Work::Checkpoint {},
        "collect" => {
            let column = fields.column("column").map(|column| column.value);
            let max_values = fields.count("max_values").map_or(COLLECTED_MAX, |max| max.value);
            Work::Collect { name: scope.collects(fields)?, column: column?, max_values }
        }
        other => {
            debug_assert!(false, "the step `{other}` has a block and no reading");
            return None;
        }
    })
}

/// No two columns may get one name.
fn renames(fields: &Fields<'_>) -> Option<Vec<(ColumnName, ColumnName)>> {
    let columns = fields.pairs("columns")?;
    for (index, (from, to)) in columns.value.iter().enumerate() {
        if let Some((other, _)) = columns.value[..index].iter().find(|(_, other)| other == to) {
            let what = format!("`{other}` and `{from}` would both become `{to}`");
            fields.report.add(Code::Contradiction, &columns.spot, what);
        }
    }
    Some(columns.value)
}

fn cast(fields: &Fields<'_>) -> Option<Work> {
    let columns = fields.types("columns")?;
    if columns.value.is_empty() {
        fields.report.add(Code::WrongValue, &columns.spot, "`columns` is empty");
    }
    let columns = columns.value.into_iter().map(|(column, to)| (column.value, to)).collect();
    let on_error = match fields.word("on_error").map(|word| word.value.name) {
        Some("null") => OnCastError::Null,
        Some("quarantine") => OnCastError::Quarantine,
        _ => OnCastError::Fail,
    };
    Some(Work::Cast { columns, on_error })
}

/// `order_by`, or `latest_data_columns` as one.
fn first_of_key(fields: &Fields<'_>) -> Vec<OrderBy> {
    if fields.get("order_by").is_some() && fields.get("latest_data_columns").is_some() {
        let what = "`order_by` and `latest_data_columns` both say which row is the first";
        let spot = fields.key_of("latest_data_columns");
        fields.report.add_hint(Code::Contradiction, &spot, what, "keep one of them");
    }
    if let Some(order) = fields.order("order_by") {
        return order.value;
    }
    let latest = fields.names("latest_data_columns").map(|columns| columns.value);
    let latest = latest.unwrap_or_default().into_iter();
    latest.map(|column| OrderBy { column, descending: true, nulls_first: false }).collect()
}

fn join_kind(fields: &Fields<'_>) -> JoinKind {
    match fields.word("how").map(|word| word.value.name) {
        Some("left") => JoinKind::Left,
        Some("right") => JoinKind::Right,
        Some("full") => JoinKind::Full,
        Some("semi") => JoinKind::Semi,
        Some("anti") => JoinKind::Anti,
        _ => JoinKind::Inner,
    }
}
