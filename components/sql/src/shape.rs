//! A step as a node of the query's plan.

use std::sync::Arc;

use datafusion::catalog::view::ViewTable;
use datafusion::common::TableReference;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, JoinType, NullEquality, Result, plan_err};
use datafusion::logical_expr::utils::find_aggregate_exprs;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use wasmhost_guest::Diagnostic;

use crate::config::{How, Step};
use crate::engine::Engine;
use crate::lower::{Problems, column};
use crate::query::Tables;
use crate::session;

/// The name of the rows between steps.
const HERE: &str = "input";

/// The plan after a step.
///
/// # Errors
/// All that does not fit the columns before it.
pub(crate) fn apply(
    plan: LogicalPlan,
    step: &Step,
    index: usize,
    engine: &Engine,
    tables: &Tables<'_>,
) -> Result<LogicalPlan, Vec<Diagnostic>> {
    let mut problems = Problems::of_step(index);
    let done = match step {
        Step::GroupBy { by, agg } => {
            let known =
                by.iter().fold(true, |all, name| problems.known("by", name, plan.schema()) && all);
            let grouped = known.then(|| group(plan, by, agg, engine, &mut problems));
            grouped.flatten()
        }
        Step::Join { with, on, how } => {
            let joined = tables.other(with).and_then(|other| join(plan, other, on, *how));
            problems.take("on", joined)
        }
        Step::Union { with } => {
            let united = tables.other(with).and_then(|other| union(plan, other));
            problems.take("with", united)
        }
        Step::Sql { query } => {
            let answered = sql(plan, query, engine, tables);
            problems.take("query", answered)
        }
        _ => {
            problems.add("internal", "type", "a step of single rows is no part of a query");
            None
        }
    };
    let done = done.and_then(|plan| problems.take("", named(plan)));
    problems.finish(done)
}

/// The rows as a table of that name: between steps, every column belongs to it. (Columns of no table confuse the
/// engine's optimizer where it takes structs apart.)
pub(crate) fn named(plan: LogicalPlan) -> Result<LogicalPlan> {
    LogicalPlanBuilder::from(plan).alias(HERE)?.build()
}

fn group(
    plan: LogicalPlan,
    by: &[String],
    agg: &[String],
    engine: &Engine,
    problems: &mut Problems,
) -> Option<LogicalPlan> {
    let state = engine.state();
    let mut named: Vec<(String, Expr)> = Vec::new();
    for (at, text) in agg.iter().enumerate() {
        let field = format!("agg/{at}");
        let Some(expr) = problems.take(&field, session::any(&state, text, plan.schema())) else {
            continue;
        };
        let name = match &expr {
            Expr::Alias(alias) => alias.name.clone(),
            _ => {
                let what = format!("`{text}` needs a name: `{text} AS …`");
                problems.add("name", &field, what);
                continue;
            }
        };
        if find_aggregate_exprs([&expr]).is_empty() {
            let what = format!(
                "`{text}` is no aggregate: a column that all rows of a group share belongs to `by`"
            );
            problems.add("aggregate", &field, what);
        }
        named.push((name, expr.unalias()));
    }
    if named.len() < agg.len() {
        return None;
    }
    let grouped = || {
        let aggregates = find_aggregate_exprs(named.iter().map(|(_, expr)| expr));
        let keys = by.iter().map(|name| column(name));
        let builder = LogicalPlanBuilder::from(plan).aggregate(keys, aggregates.clone())?;
        // What an aggregate is part of, computed from its result.
        let computed = named.into_iter().map(|(name, expr)| {
            let over = expr.transform_down(|part| {
                Ok(if aggregates.contains(&part) {
                    let result =
                        Expr::Column(Column::new_unqualified(part.schema_name().to_string()));
                    Transformed::new(result, true, TreeNodeRecursion::Jump)
                } else {
                    Transformed::no(part)
                })
            })?;
            Ok(over.data.alias(name))
        });
        let computed = computed.collect::<Result<Vec<_>>>()?;
        builder.project(by.iter().map(|name| column(name)).chain(computed))?.build()
    };
    problems.take("agg", grouped())
}

fn join(
    plan: LogicalPlan,
    other: LogicalPlan,
    on: &[(String, String)],
    how: How,
) -> Result<LogicalPlan> {
    let there = TableReference::bare("__there");
    let here_names: Vec<String> =
        plan.schema().fields().iter().map(|field| field.name().clone()).collect();
    let there_names: Vec<String> =
        other.schema().fields().iter().map(|field| field.name().clone()).collect();
    for (side, names, wanted) in [
        ("the rows", &here_names, on.iter().map(|(here, _)| here).collect::<Vec<_>>()),
        ("the other source", &there_names, on.iter().map(|(_, there)| there).collect()),
    ] {
        if let Some(missing) = wanted.into_iter().find(|name| !names.contains(name)) {
            return plan_err!("{side} has no column `{missing}`; it has {}", names.join(", "));
        }
    }
    let (here_keys, there_keys): (Vec<_>, Vec<_>) = on
        .iter()
        .map(|(here, other)| {
            (Column::new(Some(HERE), here), Column::new(Some(there.clone()), other))
        })
        .unzip();
    let left = LogicalPlanBuilder::from(plan);
    let right = LogicalPlanBuilder::from(other).alias(there.clone())?;
    let how = match how {
        How::Inner => JoinType::Inner,
        How::Left => JoinType::Left,
        How::Right => JoinType::Right,
        How::Full => JoinType::Full,
        How::Semi => JoinType::LeftSemi,
        How::Anti => JoinType::LeftAnti,
    };
    // The engine holds the first side in memory and streams the second: the input is the one that may be long.
    let joined = right
        .join_detailed(
            left.build()?,
            how.swap(),
            (there_keys, here_keys),
            None,
            NullEquality::NullEqualsNothing,
        )?
        .build()?;
    let here = |name: &String| Expr::Column(Column::new(Some(HERE), name));
    let other = |name: &String| Expr::Column(Column::new(Some(there.clone()), name));
    let mut columns: Vec<Expr> = Vec::new();
    for name in &here_names {
        // A key is one column: where a row has no partner here, its value is the other side's.
        let key = on.iter().find(|(key, _)| key == name).map(|(_, key)| key);
        columns.push(match (how, key) {
            (JoinType::Right, Some(key)) => other(key).alias(name),
            (JoinType::Full, Some(key)) => datafusion::functions::core::coalesce()
                .call(vec![here(name), other(key)])
                .alias(name),
            _ => here(name).alias(name),
        });
    }
    if !matches!(how, JoinType::LeftSemi | JoinType::LeftAnti) {
        for name in &there_names {
            if on.iter().any(|(_, key)| key == name) {
                continue;
            }
            if here_names.contains(name) {
                return plan_err!(
                    "both sides have a column `{name}`: rename or drop it before the join, or use a step `sql`"
                );
            }
            columns.push(other(name).alias(name));
        }
    }
    LogicalPlanBuilder::from(joined).project(columns)?.build()
}

/// All rows of both, columns found by name: each side must have the same ones, whose types agree or widen.
fn union(plan: LogicalPlan, other: LogicalPlan) -> Result<LogicalPlan> {
    let names = |plan: &LogicalPlan| -> Vec<String> {
        plan.schema().fields().iter().map(|field| field.name().clone()).collect()
    };
    let (here, there) = (names(&plan), names(&other));
    for field in plan.schema().fields() {
        let of = field.data_type();
        let Ok(other) = other.schema().field_with_unqualified_name(field.name()) else { continue };
        let is_kind = of == other.data_type()
            || of.is_numeric() && other.data_type().is_numeric()
            || of.is_null()
            || other.data_type().is_null();
        if !is_kind {
            return plan_err!(
                "column `{}` is {of} here and {} in the other source: cast one of them",
                field.name(),
                other.data_type()
            );
        }
    }
    let lacking = |of: &[String], from: &[String]| -> Vec<String> {
        of.iter().filter(|name| !from.contains(name)).map(|name| format!("`{name}`")).collect()
    };
    let (missing, extra) = (lacking(&here, &there), lacking(&there, &here));
    if !missing.is_empty() || !extra.is_empty() {
        let list =
            |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return plan_err!(
            "a union needs the same columns on both sides: the other source lacks {}, and has beyond them {}",
            list(&missing),
            list(&extra)
        );
    }
    let other = named(other)?;
    let other =
        LogicalPlanBuilder::from(other).project(here.iter().map(|name| column(name)))?.build()?;
    LogicalPlanBuilder::from(plan).union(other)?.build()
}

fn sql(
    plan: LogicalPlan,
    query: &str,
    engine: &Engine,
    tables: &Tables<'_>,
) -> Result<LogicalPlan> {
    let register = |name: &str, plan: LogicalPlan| -> Result<()> {
        let table = TableReference::bare(name);
        engine.context.deregister_table(table.clone())?;
        engine.context.register_table(table, Arc::new(ViewTable::new(plan, None)))?;
        Ok(())
    };
    register(HERE, plan)?;
    for name in tables.names() {
        register(name, tables.other(name)?)?;
    }
    let answered = session::select(&engine.state(), query)?;
    let names: Vec<&String> = answered.schema().fields().iter().map(|field| field.name()).collect();
    if let Some((at, name)) =
        names.iter().enumerate().find(|(at, name)| names[..*at].contains(name))
    {
        return plan_err!(
            "column {} of the query's result is called `{name}` like one before it: give it a name with AS",
            at + 1
        );
    }
    Ok(answered)
}
