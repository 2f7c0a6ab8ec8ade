//! How the rules of a chain are judged: what is computed beside the rows first, which rules share a pass of the standard
//! library, and what the host counts by itself.

use arrow::datatypes::Schema;
use serde_json::Value;
use serde_json::json;

use crate::component::Reason;
use crate::flow::Judge;
use crate::flow::Keep;
use crate::flow::OnNull;
use crate::flow::Rule;
use crate::name::ColumnName;
use crate::name::ComponentName;
use crate::problem::Code;
use crate::problem::Problem;
use crate::problem::known_names;

/// Checks of one pass: a component may declare so many reasons, and more.
const CHECKS_MAX: usize = 200;

/// The rules of a chain, arranged.
#[derive(Debug, Clone, Default)]
pub struct Judging<'a> {
    /// What the names of columns beside the rows begin with, and no other name does.
    prefix: String,
    /// Conditions that are computed beside the rows, and the rule of each.
    pub conditions: Vec<Condition<'a>>,
    /// Passes of a component over the rows.
    pub benches: Vec<Bench<'a>>,
    /// Keys that may stand once.
    pub unique: Vec<Unique<'a>>,
    /// What is judged on the whole: the rule, what it asks, and the condition, by position, of the rows that count.
    pub totals: Vec<(usize, Total, Option<usize>)>,
    /// The reasons of each rule; empty where its component declares them.
    pub reasons: Vec<Vec<Reason>>,
}

/// SQL that is true, false or NULL for each row.
#[derive(Debug, Clone)]
pub struct Condition<'a> {
    /// The rule.
    pub rule: usize,
    /// The SQL.
    pub expression: &'a str,
    /// It is computed only where this is true; NULL elsewhere.
    pub when: Option<&'a str>,
    /// The field of the rule that says it.
    pub field: &'static str,
}

/// One component's pass over the rows.
#[derive(Debug, Clone)]
pub struct Bench<'a> {
    /// A component of the flow; the standard rules where `None`.
    pub component: Option<&'a ComponentName>,
    /// Its configuration.
    pub config: Value,
    /// The condition, by position, that rows must meet to be judged.
    pub mask: Option<usize>,
    /// Whose reason each declared reason is: rule, and place among its reasons. Empty for a component's: all are its rule's.
    pub seats: Vec<(usize, usize)>,
    /// The rule, where there is just one.
    pub rule: usize,
    /// The other sources that it needs.
    pub others: Vec<&'a str>,
}

/// Columns in which no two rows may be the same.
#[derive(Debug, Clone)]
pub struct Unique<'a> {
    /// The rule.
    pub rule: usize,
    /// The columns.
    pub columns: &'a [ColumnName],
    /// Which row of several is good.
    pub keep: &'a Keep,
    /// What NULL in a column leads to.
    pub on_null: OnNull,
    /// The condition, by position, that rows must meet to be judged.
    pub mask: Option<usize>,
}

/// A judgement on all rows together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Total {
    /// So many columns are missing.
    Missing(usize),
    /// At least so many rows.
    Min(u64),
    /// At most so many rows.
    Max(u64),
    /// At most this share more or less than the last run's.
    Change(f64),
}

impl Judging<'_> {
    /// The column that holds a condition beside the rows; no column of theirs has that name.
    #[must_use]
    pub fn condition_column(&self, at: usize) -> String {
        format!("{}{at}", self.prefix)
    }
}

/// Arranges the rules of a chain whose rows have these columns.
///
/// # Errors
/// Every column that a rule names and the rows lack.
pub fn judging<'a>(rules: &'a [Rule], rows: &Schema) -> Result<Judging<'a>, Vec<Problem>> {
    let mut prefix = "__rule:".to_owned();
    while rows.fields().iter().any(|field| field.name().starts_with(&prefix)) {
        prefix.insert(0, '_');
    }
    let mut all = Judging { prefix, ..Judging::default() };
    let mut problems = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let reasons = all.rule(at, rule, rows);
        all.reasons.push(reasons);
        if matches!(rule.judge, Judge::RequiredColumns { .. }) {
            continue;
        }
        for column in columns(&rule.judge) {
            if rows.index_of(column.as_str()).is_err() {
                let known = rows.fields().iter().map(|field| field.name().as_str());
                let what = format!(
                    "rule `{}` names column `{column}`, which the rows do not have",
                    rule.name
                );
                problems.push(
                    Problem::new(Code::UnknownName, rule.at.clone(), what)
                        .hint(known_names(column.as_str(), known)),
                );
            }
        }
    }
    if problems.is_empty() { Ok(all) } else { Err(problems) }
}

/// The columns of the rows that a rule names.
fn columns(judge: &Judge) -> Vec<&ColumnName> {
    match judge {
        Judge::RequiredColumns { columns }
        | Judge::NotNull { columns }
        | Judge::UniqueKey { columns, .. }
        | Judge::Reference { columns, .. } => columns.iter().collect(),
        Judge::AcceptedValues { column, .. }
        | Judge::Range { column, .. }
        | Judge::Pattern { column, .. }
        | Judge::Length { column, .. }
        | Judge::Freshness { column, .. } => vec![column],
        Judge::Component { .. }
        | Judge::Expression { .. }
        | Judge::MinRows { .. }
        | Judge::MaxRows { .. }
        | Judge::RowCountChange { .. } => Vec::new(),
    }
}

impl<'a> Judging<'a> {
    /// Takes a rule in; its reasons, where the host knows them.
    fn rule(&mut self, at: usize, rule: &'a Rule, rows: &Schema) -> Vec<Reason> {
        let mask = rule.filter.as_deref().map(|filter| self.condition(at, filter, None, "where"));
        let reason =
            |code: String, columns: Vec<String>, message: String| Reason { code, columns, message };
        let one = |code: &str, column: &ColumnName, message: String| {
            vec![reason(code.to_owned(), vec![column.to_string()], message)]
        };
        let names =
            |columns: &[ColumnName]| columns.iter().map(ToString::to_string).collect::<Vec<_>>();
        match &rule.judge {
            Judge::Component { component, config } => {
                self.benches.push(Bench {
                    component: Some(component),
                    config: config.clone(),
                    mask,
                    seats: Vec::new(),
                    rule: at,
                    others: Vec::new(),
                });
                Vec::new()
            }
            Judge::NotNull { columns } => columns
                .iter()
                .enumerate()
                .map(|(seat, column)| {
                    self.check(
                        at,
                        seat,
                        mask,
                        rule,
                        json!({ "column": column, "check": { "type": "not_null" } }),
                        None,
                    );
                    let code = if columns.len() == 1 {
                        "not_null".to_owned()
                    } else {
                        format!("not_null({column})")
                    };
                    reason(code, vec![column.to_string()], format!("{column} is NULL"))
                })
                .collect(),
            Judge::AcceptedValues { column, values } => {
                let check = json!({ "column": column, "check": { "type": "accepted_values", "values": values } });
                self.check(at, 0, mask, rule, check, None);
                one(
                    "accepted_values",
                    column,
                    format!("{column} is {{{column}}}, which is not accepted"),
                )
            }
            Judge::Range { column, min, max, exclusive } => {
                let mut check = json!({ "type": "range", "exclusive": exclusive });
                for (name, bound) in [("min", min), ("max", max)] {
                    if let Some(bound) = bound {
                        check[name] = bound.clone();
                    }
                }
                self.check(at, 0, mask, rule, json!({ "column": column, "check": check }), None);
                let bound = |bound: &Option<Value>| bound.as_ref().map_or("…".to_owned(), plain);
                let message =
                    format!("{column} is {{{column}}}, not in {} to {}", bound(min), bound(max));
                one("range", column, message)
            }
            Judge::Pattern { column, pattern } => {
                let check =
                    json!({ "column": column, "check": { "type": "pattern", "pattern": pattern } });
                self.check(at, 0, mask, rule, check, None);
                one("pattern", column, format!("{column} is {{{column}}}, which does not match"))
            }
            Judge::Length { column, min, max } => {
                let mut check = json!({ "type": "length" });
                for (name, bound) in [("min", min), ("max", max)] {
                    if let Some(bound) = bound {
                        check[name] = (*bound).into();
                    }
                }
                self.check(at, 0, mask, rule, json!({ "column": column, "check": check }), None);
                one(
                    "length",
                    column,
                    format!("{column} is {{{column}}}, which is too short or too long"),
                )
            }
            Judge::Expression { expressions } => {
                let named = expressions.iter().enumerate().map(|(seat, named)| {
                    let hidden =
                        self.condition(at, &named.expression, rule.filter.as_deref(), "expression");
                    let check =
                        json!({ "column": self.condition_column(hidden), "check": { "type": "true" } });
                    self.check(at, seat, mask, rule, check, None);
                    let code = named.name.clone().unwrap_or_else(|| match expressions.len() {
                        1 => "expression".to_owned(),
                        _ => format!("expression({seat})"),
                    });
                    let message = named.message.clone();
                    reason(
                        code,
                        Vec::new(),
                        message.unwrap_or_else(|| format!("not true: {}", named.expression)),
                    )
                });
                named.collect()
            }
            Judge::Freshness { column, max_age } => {
                let max_age = u64::try_from(max_age.as_millis()).unwrap_or(u64::MAX);
                let check = json!({ "column": column, "check": { "type": "freshness", "max_age_ms": max_age } });
                self.check(at, 0, mask, rule, check, None);
                one("freshness", column, format!("the latest {column} is too old"))
            }
            Judge::Reference { columns, source, source_columns } => {
                let check = json!({
                    "check": { "type": "reference", "columns": columns, "source": source, "source_columns": source_columns },
                });
                self.check(at, 0, mask, rule, check, Some(source));
                let values: Vec<_> = columns.iter().map(|column| format!("{{{column}}}")).collect();
                let message = format!("{} is not in source `{source}`", values.join(", "));
                vec![reason("reference".to_owned(), names(columns), message)]
            }
            Judge::UniqueKey { columns, keep } => {
                self.unique.push(Unique { rule: at, columns, keep, on_null: rule.on_null, mask });
                let values: Vec<_> = columns.iter().map(|column| format!("{{{column}}}")).collect();
                vec![reason(
                    "unique_key".to_owned(),
                    names(columns),
                    format!("{} is there more than once", values.join(", ")),
                )]
            }
            Judge::RequiredColumns { columns } => {
                let missing: Vec<_> = columns
                    .iter()
                    .filter(|column| rows.index_of(column.as_str()).is_err())
                    .map(ToString::to_string)
                    .collect();
                self.totals.push((at, Total::Missing(missing.len()), mask));
                let message = if missing.is_empty() {
                    "all are there".to_owned()
                } else {
                    format!("missing: {}", missing.join(", "))
                };
                vec![reason("required_columns".to_owned(), names(columns), message)]
            }
            Judge::MinRows { count } => {
                self.totals.push((at, Total::Min(*count), mask));
                vec![reason("min_rows".to_owned(), Vec::new(), format!("fewer than {count} rows"))]
            }
            Judge::MaxRows { count } => {
                self.totals.push((at, Total::Max(*count), mask));
                vec![reason("max_rows".to_owned(), Vec::new(), format!("more than {count} rows"))]
            }
            Judge::RowCountChange { max_fraction } => {
                self.totals.push((at, Total::Change(*max_fraction), mask));
                let message = format!(
                    "the number of rows changed by more than {max_fraction} of the last run's"
                );
                vec![reason("row_count_change".to_owned(), Vec::new(), message)]
            }
        }
    }

    /// A condition to compute; where it stands among the others.
    fn condition(
        &mut self,
        rule: usize,
        expression: &'a str,
        when: Option<&'a str>,
        field: &'static str,
    ) -> usize {
        self.conditions.push(Condition { rule, expression, when, field });
        self.conditions.len() - 1
    }

    /// Adds a check to the pass that judges the same rows. Rules without `where` share one.
    fn check(
        &mut self,
        rule: usize,
        seat: usize,
        mask: Option<usize>,
        of: &Rule,
        mut check: Value,
        other: Option<&'a str>,
    ) {
        check["on_null"] = json!(of.on_null);
        check["code"] = format!("{rule}.{seat}").into();
        check["message"] = "".into();
        let has_room = |bench: &Bench<'_>| {
            bench.component.is_none() && bench.mask == mask && bench.seats.len() < CHECKS_MAX
        };
        let shared = self.benches.iter().position(has_room);
        let at = shared.unwrap_or_else(|| {
            self.benches.push(Bench {
                component: None,
                config: json!({ "checks": [] }),
                mask,
                seats: Vec::new(),
                rule,
                others: Vec::new(),
            });
            self.benches.len() - 1
        });
        let bench = &mut self.benches[at];
        if let Some(checks) = bench.config["checks"].as_array_mut() {
            checks.push(check);
        }
        bench.seats.push((rule, seat));
        if let Some(other) = other.filter(|other| !bench.others.contains(other)) {
            bench.others.push(other);
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
