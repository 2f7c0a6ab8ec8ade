//! A transform for tests: gives back what it gets, in every way that the contract knows.

pub mod kernel;

use arrow_array::{Array, ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, Field};
use std::hint::black_box;
use std::sync::Arc;
use wasmhost_guest::{
    About, Accept, Context, Failure, Inputs, Judge, Layout, Output, Reason, Transform, about,
    column,
};

/// What to do with the input.
#[derive(Clone, Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(tag = "mode", rename_all = "snake_case", deny_unknown_fields)]
pub enum Config {
    /// All columns go in and come back as computed ones.
    Echo {},
    /// All columns are carried; nothing goes in and nothing is computed.
    Carry {},
    /// All columns go in, and are carried; nothing is computed.
    Swallow {},
    /// These columns go in and come back as computed ones; the rest is carried.
    Project {
        /// Names of columns.
        columns: Vec<String>,
    },
    /// A column `kernel` is computed from the Float64 columns `a` and `b`; all is carried.
    Kernel {
        /// How often it is computed; at least 1.
        #[serde(default = "once")]
        repeats: u32,
    },
    /// Rows 0, 2, 4… of each batch are kept.
    KeepEven {},
    /// Rows `every - 1`, `2 every - 1`… of each batch are rejected, with the reason `nth`.
    Reject {
        /// At least 1.
        every: usize,
    },
    /// Each row comes twice, the copy behind the original; a column `copy` says which it is.
    Twice {},
    /// One row at the end, with the number of rows in a column `count`; needs the whole input.
    Count {},
}

/// The transform.
#[derive(Debug)]
pub struct Echo {
    config: Config,
    rows: usize,
    is_counted: bool,
}

impl Transform for Echo {
    type Config = Config;

    const ABOUT: About = about!();

    fn open(config: Config, inputs: &Inputs, _: &Context) -> Result<(Self, Layout), Failure> {
        let fields = inputs.schema().fields().iter();
        let layout = match &config {
            Config::Echo {} => fields.fold(Layout::one_to_one().want_all(), |layout, field| {
                layout.compute(field.clone())
            }),
            Config::Carry {} => Layout::one_to_one().keep_all(),
            Config::Swallow {} => Layout::one_to_one().want_all().keep_all(),
            Config::Project { columns } => {
                let layout = columns
                    .iter()
                    .fold(Layout::one_to_one(), |layout, name| layout.want(name, Accept::Any));
                let wanted = fields.filter(|field| columns.contains(field.name()));
                // Computed columns come in the order wanted, whatever their order in the input.
                let wanted: Vec<_> = wanted.collect();
                let in_order = columns
                    .iter()
                    .filter_map(|name| wanted.iter().find(|field| field.name() == name));
                in_order.fold(layout.keep_all(), |layout, field| layout.compute((*field).clone()))
            }
            Config::Kernel { .. } => Layout::one_to_one()
                .want("a", DataType::Float64)
                .want("b", DataType::Float64)
                .keep_all()
                .compute(Field::new("kernel", DataType::Float64, true)),
            Config::KeepEven {} => Layout::filter().keep_all(),
            Config::Reject { every: 0 } => {
                return Err(Failure::bad_config("/every", "range", "every must be at least 1"));
            }
            Config::Reject { every } => {
                let message = format!("row is one of each {every}");
                Layout::one_to_one().keep_all().reason(Reason::new("nth", [""; 0], message))
            }
            Config::Twice {} => {
                Layout::many().keep_all().compute(Field::new("copy", DataType::Int32, false))
            }
            Config::Count {} => {
                Layout::many().whole_input().compute(Field::new("count", DataType::Int64, false))
            }
        };
        Ok((Self { config, rows: 0, is_counted: false }, layout))
    }

    fn process(&mut self, batch: &RecordBatch) -> Result<Output, Failure> {
        let rows = batch.num_rows();
        self.rows += rows;
        Ok(match self.config {
            Config::Echo {} | Config::Project { .. } => {
                Output::columns(batch.columns().iter().cloned())
            }
            Config::Carry {} | Config::Swallow {} | Config::Count {} => Output::nothing(),
            Config::Kernel { repeats } => {
                Output::columns([run_kernel(column(batch, "a")?, column(batch, "b")?, repeats)])
            }
            Config::KeepEven {} => {
                Output::nothing().keep(BooleanBuffer::collect_bool(rows, |row| row % 2 == 0))
            }
            Config::Reject { every } => {
                let mut judge = Judge::new(rows);
                (0..rows).for_each(|row| judge.judge(row, (row + 1) % every != 0));
                Output::nothing().reject("nth", judge)
            }
            Config::Twice {} => {
                let copies: Int32Array = (0..rows).flat_map(|_| [Some(0), Some(1)]).collect();
                Output::rows(
                    [Arc::new(copies) as ArrayRef],
                    (0..rows as u32).flat_map(|row| [row; 2]).collect(),
                )
            }
        })
    }

    fn finish(&mut self) -> Result<Option<Vec<ArrayRef>>, Failure> {
        if !matches!(self.config, Config::Count {}) || std::mem::replace(&mut self.is_counted, true)
        {
            return Ok(None);
        }
        Ok(Some(vec![Arc::new(Int64Array::from(vec![self.rows as i64]))]))
    }
}

fn once() -> u32 {
    1
}

fn run_kernel(a: &Float64Array, b: &Float64Array, repeats: u32) -> ArrayRef {
    let mut out = vec![0.0; a.len()];
    for _ in 0..repeats {
        kernel::kernel(black_box(a.values()), black_box(b.values()), &mut out);
        black_box(&mut out);
    }
    Arc::new(Float64Array::new(out.into(), NullBuffer::union(a.nulls(), b.nulls())))
}

wasmhost_guest::transform!(Echo);

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;
    use arrow_array::StringArray;
    use serde_json::{Value, json};
    use wasmhost_guest::harness::{Transformed, Transforming, transform};

    fn input() -> RecordBatch {
        let columns: [(&str, ArrayRef); 3] = [
            (
                "a",
                Arc::new(Float64Array::from(vec![
                    Some(0.0),
                    Some(1.0),
                    None,
                    Some(3.0),
                    Some(4.0),
                ])),
            ),
            ("b", Arc::new(Float64Array::from(vec![2.0; 5]))),
            (
                "text",
                Arc::new(StringArray::from(vec![
                    Some("x"),
                    None,
                    Some(""),
                    Some("four"),
                    Some("five"),
                ])),
            ),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
            .unwrap()
    }

    fn open(config: Value) -> Transforming<Echo> {
        transform(config, &input().schema()).unwrap()
    }

    fn run(config: Value) -> Transformed {
        open(config).run(&[input().slice(0, 2), input().slice(2, 3)]).unwrap()
    }

    #[test]
    fn three_modes_change_nothing() {
        let project = json!({"mode": "project", "columns": ["text", "a"]});
        for config in
            [json!({"mode": "echo"}), json!({"mode": "carry"}), json!({"mode": "swallow"}), project]
        {
            assert_eq!(run(config.clone()).output, input(), "{config}");
        }
        let opened = open(json!({"mode": "project", "columns": ["text", "a"]}));
        assert_eq!(opened.opened().projections, [[2, 0]]);
    }

    #[test]
    fn the_kernel_runs_on_values_and_keeps_nulls() {
        let output = run(json!({"mode": "kernel"})).output;
        let kernel: &Float64Array = column(&output, "kernel").unwrap();
        assert_eq!(kernel.null_count(), 1);
        assert_eq!(kernel.value(0), 5.0_f64.sqrt() + 8.0 / 1024.0);
    }

    #[test]
    fn rows_are_left_out_rejected_and_doubled() {
        let kept = run(json!({"mode": "keep_even"})).output;
        assert_eq!(
            kept["text"].as_ref(),
            &StringArray::from(vec![Some("x"), Some(""), Some("five")]) as &dyn Array
        );
        let Transformed { output, rejects } = run(json!({"mode": "reject", "every": 2}));
        assert_eq!(rejects[0].rows, [1, 3]);
        assert_eq!((output.num_rows(), rejects[0].evaluated), (3, 5));
        let doubled = run(json!({"mode": "twice"})).output;
        assert_eq!(doubled.num_rows(), 10);
        assert_eq!(
            doubled.slice(6, 1).project(&[0, 1, 2]).unwrap(),
            doubled.slice(7, 1).project(&[0, 1, 2]).unwrap()
        );
    }

    #[test]
    fn rows_are_counted_at_the_end() {
        let output = run(json!({"mode": "count"})).output;
        assert_eq!(output["count"].as_ref(), &Int64Array::from(vec![5]) as &dyn Array);
    }
}
