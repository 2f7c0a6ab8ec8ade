//! The SDK as authors use it: small components, run by the harness.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use arrow_array::{
    Array, ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, Field, Schema};
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;
use wasmhost_guest::harness::{self, Transformed};
use wasmhost_guest::{
    About, Accept, Checks, Conclusion, Context, Failure, Findings, Inputs, Judge, Layout, NoConfig,
    Output, Reason, Rule, Transform, Verdict, about, column,
};

fn batch() -> RecordBatch {
    let columns: [(&str, ArrayRef); 3] = [
        ("amount", Arc::new(Float64Array::from(vec![Some(1.0), Some(-1.0), None, Some(0.5)]))),
        ("code", Arc::new(StringArray::from(vec![Some("a"), None, Some("c"), Some("d")]))),
        ("n", Arc::new(Int64Array::from(vec![1, 2, 3, 4]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .unwrap()
}

mod one_function {
    //! A rule that is one function and one macro line.
    fn positive(amount: f64) -> bool {
        amount > 0.0
    }

    wasmhost_guest::rule_fn!(pub(super) Positive = positive(amount: f64), "amount {amount} is not above zero");
}

#[test]
fn a_function_is_a_rule() {
    let judged = harness::rule::<one_function::Positive>("", &batch().schema())
        .unwrap()
        .run(&[batch()])
        .unwrap();
    assert_eq!(judged.rows("positive"), [1]);
    assert_eq!((judged.hits[0].evaluated, judged.hits[0].nulls), (3, 0));
    let opened =
        harness::rule::<one_function::Positive>("{}", &batch().schema()).unwrap().opened().clone();
    assert_eq!(
        opened.reasons,
        [Reason::new("positive", ["amount"], "amount {amount} is not above zero")]
    );
    assert!(
        harness::rule::<one_function::Positive>(json!({"least": 1}), &batch().schema()).is_err()
    );
}

mod function_with_config {
    //! A rule that is one function, of two columns, with settings.
    use super::Verdict;

    #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
    pub(super) struct Config {
        least: f64,
    }

    fn known(config: &Config, amount: Option<f64>, code: Option<&str>) -> Verdict {
        match (amount, code) {
            (_, None) => Verdict::Hit,
            (Some(amount), Some(_)) => (amount >= config.least).into(),
            (None, Some("x")) => Verdict::Skip,
            (None, Some(_)) => Verdict::Pass,
        }
    }

    wasmhost_guest::rule_fn!(pub(super) Known = known(&Config, amount: Option<f64>, code: Option<&str>), "{code}: {amount}");
}

#[test]
fn a_function_may_take_nulls_and_settings() {
    let rule =
        harness::rule::<function_with_config::Known>(json!({"least": 0.7}), &batch().schema())
            .unwrap();
    let judged = rule.run(&[batch().slice(0, 2), batch().slice(2, 2)]).unwrap();
    assert_eq!(judged.rows("known"), [1, 3]);
    assert_eq!((judged.hits[0].evaluated, judged.hits[0].nulls), (4, 2));
}

mod function_transform {
    //! A transform that is one function.
    fn label(code: &str, n: i64) -> Option<String> {
        (n < 4).then(|| format!("{code}{n}"))
    }

    wasmhost_guest::transform_fn!(pub(super) Label = label(code: &str, n: i64) -> String);
}

mod replacing_transform {
    //! A transform that replaces the column it reads.
    #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
    pub(super) struct Config {
        by: i64,
    }

    fn n(config: &Config, n: i64) -> i64 {
        n * config.by
    }

    wasmhost_guest::transform_fn!(pub(super) Times = n(&Config, n: i64) -> i64);
}

#[test]
fn a_function_is_a_transform() {
    let transform = harness::transform::<function_transform::Label>("", &batch().schema()).unwrap();
    assert_eq!(transform.opened().projections, [[1, 2]]);
    let output = transform.run(&[batch()]).unwrap().output;
    assert_eq!(output.project(&[0, 1, 2]).unwrap(), batch(), "all columns are carried");
    assert_eq!(
        output["label"].as_ref(),
        &StringArray::from(vec![Some("a1"), None, Some("c3"), None]) as &dyn Array
    );

    let transform =
        harness::transform::<replacing_transform::Times>(json!({"by": 3}), &batch().schema())
            .unwrap();
    let output = transform.run(&[batch()]).unwrap().output;
    assert_eq!(output.num_columns(), 3);
    assert_eq!(output["n"].as_ref(), &Int64Array::from(vec![3, 6, 9, 12]) as &dyn Array);
}

/// A filter that also rejects, and adds a column.
struct Picky;

impl Transform for Picky {
    type Config = NoConfig;

    const ABOUT: About = about!();

    fn open(_: NoConfig, _: &Inputs, _: &Context) -> Result<(Self, Layout), Failure> {
        let layout = Layout::filter()
            .want("n", DataType::Int64)
            .compute(Field::new("half", DataType::Int32, false))
            .keep_all_except(["n"])
            .keep_as("n", "number")
            .reason(Reason::new("three", ["n"], "{n}"));
        Ok((Self, layout))
    }

    fn process(&mut self, batch: &RecordBatch) -> Result<Output, Failure> {
        wasmhost_guest::log::info("working");
        let n: &Int64Array = column(batch, "n")?;
        let mut three = Judge::new(batch.num_rows());
        n.values().iter().enumerate().for_each(|(row, n)| three.judge(row, *n != 3));
        let halves: Int32Array = n.values().iter().map(|n| Some((n / 2) as i32)).collect();
        let keep = BooleanBuffer::collect_bool(batch.num_rows(), |row| row != 0);
        Ok(Output::columns([Arc::new(halves) as ArrayRef]).keep(keep).reject("three", three))
    }
}

#[test]
fn rows_are_filtered_and_rejected() {
    let transform = harness::transform::<Picky>("", &batch().schema()).unwrap();
    let Transformed { output, rejects } = transform.run(&[batch()]).unwrap();
    let names: Vec<_> = output.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["half", "amount", "code", "number"]);
    assert_eq!(output["number"].as_ref(), &Int64Array::from(vec![2, 4]) as &dyn Array);
    assert_eq!(output["half"].as_ref(), &Int32Array::from(vec![1, 2]) as &dyn Array);
    assert_eq!((&rejects[0].rows, rejects[0].evaluated), (&vec![2], 4));
    assert_eq!(harness::logs(), [(wasmhost_guest::log::Level::Info, "working".to_owned())]);
}

/// A rule with a reference input and a verdict on the table.
struct Listed {
    known: HashSet<String>,
    unknown: usize,
    is_done: bool,
}

impl Rule for Listed {
    type Config = NoConfig;

    const ABOUT: About = about!();

    fn open(_: NoConfig, _: &Inputs, _: &Context) -> Result<(Self, Checks), Failure> {
        let checks = Checks::new()
            .whole_input()
            .want("code", DataType::Utf8)
            .want_from(1, "name", Accept::Any)
            .reason(Reason::new("unknown", ["code"], "{code} is not on the list"))
            .reason(Reason::new("many_unknown", [""; 0], "too many"));
        Ok((Self { known: HashSet::new(), unknown: 0, is_done: false }, checks))
    }

    fn reference(&mut self, _: usize, batch: &RecordBatch) -> Result<(), Failure> {
        let names: &StringArray = column(batch, "name")?;
        self.known.extend(names.iter().flatten().map(str::to_owned));
        Ok(())
    }

    fn check(&mut self, batch: &RecordBatch) -> Result<Findings, Failure> {
        let codes: &StringArray = column(batch, "code")?;
        let mut judge = Judge::new(batch.num_rows());
        for (row, code) in codes.iter().enumerate() {
            match code {
                Some(code) => judge.judge(row, self.known.contains(code)),
                None => judge.judge_on_null(row, Verdict::Pass),
            }
        }
        self.unknown += judge.hits() as usize;
        Ok(Findings::new().with("unknown", judge))
    }

    fn conclude(&mut self) -> Result<Option<Conclusion>, Failure> {
        let is_first = !std::mem::replace(&mut self.is_done, true);
        Ok(is_first.then(|| {
            Conclusion::new().table("many_unknown", self.unknown as f64, 1.0).row("unknown", 1)
        }))
    }
}

#[test]
fn other_inputs_come_first_and_verdicts_last() {
    let list = RecordBatch::try_from_iter([(
        "name",
        Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef,
    )]);
    let list = list.unwrap();
    let inputs: [(&str, &Schema); 2] = [("input", &batch().schema()), ("list", &list.schema())];
    let mut rule = harness::rule_with::<Listed>("", &inputs).unwrap();
    rule.reference(1, &[list]).unwrap();
    let judged = rule.run(&[batch()]).unwrap();
    assert_eq!(judged.rows("unknown"), [2, 3, 1], "the late one last");
    assert_eq!((judged.hits[0].evaluated, judged.hits[0].nulls), (4, 1));
    assert_eq!(judged.hits[1].evaluated, 0, "a reason that was not judged");
    assert_eq!(judged.tables, [("many_unknown".to_owned(), 2.0, 1.0)]);
}

/// Says one thing in `open` and does another.
struct Forgetful;

impl Transform for Forgetful {
    type Config = NoConfig;

    const ABOUT: About = about!();

    fn open(_: NoConfig, _: &Inputs, _: &Context) -> Result<(Self, Layout), Failure> {
        Ok((
            Self,
            Layout::one_to_one().want("n", DataType::Int64).compute(Field::new(
                "x",
                DataType::Utf8,
                true,
            )),
        ))
    }

    fn process(&mut self, batch: &RecordBatch) -> Result<Output, Failure> {
        let n: &Int64Array = column(batch, "n")?;
        Ok(match n.value(0) {
            1 => Output::nothing(),
            2 => Output::columns([batch.column(0).clone()]),
            3 => Output::columns([Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef]),
            _ => Output::columns([Arc::new(StringArray::from(vec!["a"])) as ArrayRef])
                .keep(BooleanBuffer::new_set(1)),
        })
    }
}

#[test]
fn outputs_that_break_the_layout_are_the_component_s_failure() {
    for (row, code) in ["output", "output", "rows", "keep"].into_iter().enumerate() {
        let transform = harness::transform::<Forgetful>("", &batch().schema()).unwrap();
        match transform.run(&[batch().slice(row, 1)]) {
            Err(Failure::Internal(problem)) => assert_eq!(problem.code, code, "{problem:?}"),
            other => panic!("{other:?}"),
        }
    }
}
