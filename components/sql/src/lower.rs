//! A row-wise step as the engine's expressions over the columns before it.

use arrow::datatypes::DataType;
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{Expr, lit, when};
use serde_json::Value;
use wasmhost_guest::{Context, Diagnostic, Reason};

use crate::config::{OnError, Step};
use crate::fit::{self, Misfit};
use crate::session;

/// What a step does to the rows.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Leaves rows out.
    Filter(Expr),
    /// All columns afterwards, in order.
    Project(Vec<(String, Expr)>),
}

/// A step over known columns.
#[derive(Debug)]
pub(crate) struct Lowered {
    /// Rows that are rejected first, each with the reason.
    pub(crate) rejects: Vec<(Reason, Expr)>,
    /// Where columns are computed; they are NULL elsewhere.
    pub(crate) only_where: Option<Expr>,
    pub(crate) shape: Shape,
}

/// Everything that is wrong with a step, told with its place in the configuration.
pub(crate) struct Problems {
    at: String,
    found: Vec<Diagnostic>,
}

impl Problems {
    pub(crate) fn of_step(index: usize) -> Self {
        Self { at: format!("/steps/{index}"), found: Vec::new() }
    }

    pub(crate) fn add(&mut self, code: &str, field: &str, what: impl Into<String>) {
        self.found.push(Diagnostic::new(code, what).at_path(format!("{}/{field}", self.at)));
    }

    /// The value, or a problem in its place.
    pub(crate) fn take<T>(
        &mut self,
        field: &str,
        result: datafusion::common::Result<T>,
    ) -> Option<T> {
        result.map_err(|error| self.add("sql", field, session::message(&error))).ok()
    }

    /// Tells of a column that is not there.
    pub(crate) fn known(&mut self, field: &str, name: &str, schema: &DFSchema) -> bool {
        let is_known = schema.fields().iter().any(|column| column.name() == name);
        if !is_known {
            let names: Vec<_> =
                schema.fields().iter().map(|column| format!("`{}`", column.name())).collect();
            let what = format!("there is no column `{name}`; the rows have {}", names.join(", "));
            self.add("missing-column", field, what);
        }
        is_known
    }

    pub(crate) fn finish<T>(self, value: Option<T>) -> Result<T, Vec<Diagnostic>> {
        match value {
            Some(value) if self.found.is_empty() => Ok(value),
            _ => Err(self.found),
        }
    }
}

/// A column by its name, whatever is in the name.
pub(crate) fn column(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// Lowers a row-wise step.
///
/// # Errors
/// All that does not fit the columns.
pub(crate) fn lower(
    step: &Step,
    index: usize,
    state: &SessionState,
    schema: &DFSchema,
    context: &Context,
) -> Result<Lowered, Vec<Diagnostic>> {
    let mut problems = Problems::of_step(index);
    let mut rejects = Vec::new();
    let mut only_where = None;
    let now: Vec<(String, Expr)> =
        schema.fields().iter().map(|field| (field.name().clone(), column(field.name()))).collect();
    let shape = match step {
        Step::Filter { expression } => {
            let expr = session::predicate(state, expression, schema);
            problems.take("expression", expr).map(Shape::Filter)
        }
        Step::Select { columns } => {
            let known = columns
                .iter()
                .fold(true, |all, name| problems.known("columns", name, schema) && all);
            known
                .then(|| columns.iter().map(|name| (name.clone(), column(name))).collect())
                .map(Shape::Project)
        }
        Step::Drop { columns } => {
            let known = columns
                .iter()
                .fold(true, |all, name| problems.known("columns", name, schema) && all);
            known.then(|| {
                Shape::Project(
                    now.into_iter().filter(|(name, _)| !columns.contains(name)).collect(),
                )
            })
        }
        Step::Rename { columns } => {
            let known = columns
                .iter()
                .fold(true, |all, (name, _)| problems.known("columns", name, schema) && all);
            let renamed = |name: String| {
                columns.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| to.clone())
            };
            known.then(|| {
                Shape::Project(now.into_iter().map(|(name, expr)| (renamed(name), expr)).collect())
            })
        }
        Step::WithColumn { column: name, expression, when } => {
            let expr = session::scalar(state, expression, schema).map(Expr::unalias);
            let expr = problems.take("expression", expr);
            if let Some(sql) = when {
                only_where = problems.take("when", session::predicate(state, sql, schema));
            }
            expr.map(|expr| Shape::Project(put(now, name, expr)))
        }
        Step::Struct { column: name, fields } => {
            let known = fields
                .iter()
                .fold(true, |all, (_, name)| problems.known("fields", name, schema) && all);
            let args = fields.iter().flat_map(|(field, from)| [lit(field.as_str()), column(from)]);
            known
                .then(|| datafusion::functions::core::named_struct().call(args.collect()))
                .map(|expr| Shape::Project(put(now, name, expr)))
        }
        Step::Cast { columns, on_error } => {
            let mut after = Some(now);
            for (name, to) in columns {
                let known = problems.known("columns", name, schema);
                let to = to.parse::<DataType>().map_err(|error| {
                    problems.add("type", "columns", format!("`{to}` is no type: {error}"));
                });
                let (true, Ok(to)) = (known, to) else {
                    after = None;
                    continue;
                };
                let misfit = match on_error {
                    OnError::Fail => Misfit::Error,
                    OnError::Null => Misfit::Counted,
                    OnError::Quarantine => Misfit::Null,
                };
                let fitted = fit::function(name, to.clone(), misfit).call(vec![column(name)]);
                if *on_error == OnError::Quarantine {
                    let message = format!("column `{name}` is no {to}");
                    // Codes are short and unique, whatever columns are called.
                    let code = format!("cast:{index}.{}", rejects.len());
                    let reason = Reason::new(code, [name.as_str()], message);
                    rejects
                        .push((reason, column(name).is_not_null().and(fitted.clone().is_null())));
                }
                after = after.map(|after| put(after, name, fitted));
            }
            after.map(Shape::Project)
        }
        Step::FillNa { columns } => {
            let mut after = Some(now);
            for (name, value) in columns {
                let filled =
                    problems.known("columns", name, schema).then(|| fill(name, value, schema));
                match filled {
                    Some(Ok(expr)) => after = after.map(|after| put(after, name, expr)),
                    Some(Err(what)) => {
                        problems.add("value", "columns", what);
                        after = None;
                    }
                    None => after = None,
                }
            }
            after.map(Shape::Project)
        }
        Step::SystemColumns {} => Some(Shape::Project(system(now, context))),
        Step::GroupBy { .. } | Step::Join { .. } | Step::Union { .. } | Step::Sql { .. } => {
            problems.add("internal", "type", "this step looks at more than one row");
            None
        }
    };
    if let Some(Shape::Project(columns)) = &shape {
        if columns.is_empty() {
            problems.add("no-column", "columns", "the rows would have no column");
        }
        for (at, (name, _)) in columns.iter().enumerate() {
            if columns[..at].iter().any(|(earlier, _)| earlier == name) {
                problems.add(
                    "duplicate-column",
                    "",
                    format!("the rows would have two columns `{name}`"),
                );
            }
        }
    }
    problems.finish(shape.map(|shape| Lowered { rejects, only_where, shape }))
}

/// In the place of the column of that name, or behind the others.
fn put(mut columns: Vec<(String, Expr)>, name: &str, expr: Expr) -> Vec<(String, Expr)> {
    match columns.iter_mut().find(|(known, _)| known == name) {
        Some(place) => place.1 = expr,
        None => columns.push((name.to_owned(), expr)),
    }
    columns
}

/// The column, with `value` where it is NULL.
fn fill(name: &str, value: &Value, schema: &DFSchema) -> Result<Expr, String> {
    let of = schema
        .field_with_unqualified_name(name)
        .map_err(|error| session::message(&error))?
        .data_type();
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => return Err(format!("`{value}` is no value for a column")),
    };
    let misfit = || format!("`{text}` is no {of}, which column `{name}` is");
    let is_text = matches!(of, DataType::Utf8 | DataType::LargeUtf8);
    // The number 1 is no text, and the text "1" no number: a column of the other type is most likely the wrong one.
    if value.is_string() && (of.is_numeric() || *of == DataType::Boolean)
        || (value.is_number() || value.is_boolean()) && is_text
    {
        return Err(misfit());
    }
    let value = ScalarValue::try_from_string(text.clone(), of).map_err(|_| misfit())?;
    let is_null = column(name).is_null();
    when(is_null, lit(value)).otherwise(column(name)).map_err(|error| session::message(&error))
}

/// Without what earlier runs left under these names, and with this run's.
fn system(mut columns: Vec<(String, Expr)>, context: &Context) -> Vec<(String, Expr)> {
    let started = i64::try_from(context.logical_time_ns / 1_000).ok();
    let started = ScalarValue::TimestampMicrosecond(started, Some("UTC".into()));
    let ours = [
        ("__created_at", lit(started.clone())),
        ("__updated_at", lit(started)),
        ("__run_id", lit(context.run_id.clone())),
    ];
    columns.retain(|(name, _)| ours.iter().all(|(own, _)| name != own));
    columns.extend(ours.map(|(name, expr)| (name.to_owned(), expr)));
    columns
}
