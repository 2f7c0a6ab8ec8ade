//! A rule for tests: bounds a column row by row, or judges the whole input.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_schema::DataType;
use std::collections::HashMap;
use wasmhost_guest::{
    About, Checks, Conclusion, Context, Failure, Findings, Inputs, Judge, Nulls, Reason, Rule,
    Verdict, about,
};

/// How to judge.
#[derive(Clone, Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(tag = "mode", rename_all = "snake_case", deny_unknown_fields)]
pub enum Config {
    /// Values of a Float64 or Int64 column above `max` are hit, with the reason `above_max`.
    Max {
        /// The column's name.
        column: String,
        /// The greatest value that is not hit.
        max: f64,
        /// What becomes of NULLs.
        #[serde(default)]
        on_null: OnNull,
    },
    /// Rows with equal values in an Int64 or Utf8 column are hit, with the reason `duplicate`: all but the first at
    /// once, the first at the end. Too few rows are a verdict on the table, with the reason `too_few`.
    WholeInput {
        /// The column's name.
        key: String,
        /// The least number of rows that is enough.
        #[serde(default)]
        min_rows: u64,
    },
}

/// What becomes of NULLs.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnNull {
    /// Not judged.
    #[default]
    Skip,
    /// Judged, and pass.
    Pass,
    /// Judged, and hit.
    Hit,
}

/// The rule.
#[derive(Debug)]
pub enum Verdicts {
    /// See [`Config::Max`].
    Max {
        /// The greatest value that is not hit.
        max: f64,
        /// What becomes of NULLs.
        on_null: Nulls,
    },
    /// See [`Config::WholeInput`].
    WholeInput(Seen),
}

/// What the whole input has shown so far.
#[derive(Debug, Default)]
pub struct Seen {
    min_rows: u64,
    rows: u64,
    /// For each key the first row that has it, until that row is known to be a duplicate.
    first: HashMap<String, Option<u64>>,
    late: Vec<u64>,
    is_concluded: bool,
}

impl Rule for Verdicts {
    type Config = Config;

    const ABOUT: About = about!();

    fn open(config: Config, _: &Inputs, _: &Context) -> Result<(Self, Checks), Failure> {
        Ok(match config {
            Config::Max { column, max, on_null } => {
                let message = format!("{{{column}}} is above {max}");
                let checks = Checks::new()
                    .want(&column, [DataType::Float64, DataType::Int64])
                    .reason(Reason::new("above_max", [column], message));
                let on_null = match on_null {
                    OnNull::Skip => Nulls::Skip,
                    OnNull::Pass => Nulls::Pass,
                    OnNull::Hit => Nulls::Hit,
                };
                (Self::Max { max, on_null }, checks)
            }
            Config::WholeInput { key, min_rows } => {
                let message = format!("{{{key}}} comes more than once");
                let checks = Checks::new()
                    .whole_input()
                    .want(&key, [DataType::Int64, DataType::Utf8])
                    .reason(Reason::new("duplicate", [key], message))
                    .reason(Reason::new("too_few", [""; 0], format!("fewer than {min_rows} rows")));
                (Self::WholeInput(Seen { min_rows, ..Seen::default() }), checks)
            }
        })
    }

    fn check(&mut self, batch: &RecordBatch) -> Result<Findings, Failure> {
        let column = batch.column(0);
        Ok(match self {
            Self::Max { max, on_null } => {
                let above = match column.data_type() {
                    DataType::Float64 => {
                        BooleanArray::from_unary(column.as_primitive::<Float64Type>(), |value| {
                            value > *max
                        })
                    }
                    _ => BooleanArray::from_unary(column.as_primitive::<Int64Type>(), |value| {
                        value as f64 > *max
                    }),
                };
                Findings::new().with("above_max", Judge::of_mask(&above, *on_null))
            }
            Self::WholeInput(seen) => Findings::new().with("duplicate", seen.check(column)),
        })
    }

    fn conclude(&mut self) -> Result<Option<Conclusion>, Failure> {
        let Self::WholeInput(seen) = self else { return Ok(None) };
        if std::mem::replace(&mut seen.is_concluded, true) {
            return Ok(None);
        }
        let late = std::mem::take(&mut seen.late);
        let conclusion =
            late.into_iter().fold(Conclusion::new(), |found, row| found.row("duplicate", row));
        Ok(Some(match seen.rows < seen.min_rows {
            true => conclusion.table("too_few", seen.rows as f64, seen.min_rows as f64),
            false => conclusion,
        }))
    }
}

impl Seen {
    fn check(&mut self, column: &dyn Array) -> Judge {
        let mut judge = Judge::new(column.len());
        for row in (0..column.len()).filter(|row| column.is_valid(*row)) {
            let key = match column.data_type() {
                DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
                _ => column.as_string::<i32>().value(row).to_owned(),
            };
            let here = self.rows + row as u64;
            let verdict = match self.first.get_mut(&key) {
                Some(first) => {
                    self.late.extend(first.take());
                    Verdict::Hit
                }
                None => {
                    self.first.insert(key, Some(here));
                    Verdict::Pass
                }
            };
            judge.judge(row, verdict);
        }
        self.rows += column.len() as u64;
        judge
    }
}

wasmhost_guest::rule!(Verdicts);

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Float64Array, StringArray};
    use serde_json::json;
    use std::sync::Arc;
    use wasmhost_guest::harness::{Judged, rule};

    fn run(config: serde_json::Value) -> Judged {
        let columns: [(&str, ArrayRef); 2] = [
            (
                "x",
                Arc::new(Float64Array::from(vec![
                    Some(1.0),
                    None,
                    Some(11.0),
                    Some(10.0),
                    Some(f64::NAN),
                    None,
                ])),
            ),
            (
                "k",
                Arc::new(StringArray::from(vec![
                    Some("a"),
                    Some("b"),
                    Some("a"),
                    None,
                    Some("a"),
                    None,
                ])),
            ),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.map(|(name, column)| (name, column, true)),
        )
        .unwrap();
        rule::<Verdicts>(config, &batch.schema())
            .unwrap()
            .run(&[batch.slice(0, 4), batch.slice(4, 2)])
            .unwrap()
    }

    #[test]
    fn rows_are_bounded() {
        for (on_null, rows, evaluated, nulls) in
            [("skip", vec![2], 4, 0), ("pass", vec![2], 6, 2), ("hit", vec![1, 2, 5], 6, 2)]
        {
            let judged = run(json!({"mode": "max", "column": "x", "max": 10, "on_null": on_null}));
            assert_eq!(judged.rows("above_max"), rows, "{on_null}");
            assert_eq!(
                (judged.hits[0].evaluated, judged.hits[0].nulls),
                (evaluated, nulls),
                "{on_null}"
            );
        }
    }

    #[test]
    fn the_whole_input_is_judged_at_its_end() {
        let judged = run(json!({"mode": "whole_input", "key": "k", "min_rows": 7}));
        assert_eq!(judged.rows("duplicate"), [2, 4, 0], "the first one last");
        assert_eq!(judged.tables, [("too_few".to_owned(), 6.0, 7.0)]);
        assert!(run(json!({"mode": "whole_input", "key": "k"})).tables.is_empty());
    }
}
