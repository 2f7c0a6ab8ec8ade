//! Expressions from text to values: the rows of all cases, and what a case is checked by.

mod limits;
mod literals;
mod names;
mod refused;
mod values;

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::BinaryArray;
use arrow::array::BooleanArray;
use arrow::array::Date32Array;
use arrow::array::Decimal128Array;
use arrow::array::Float64Array;
use arrow::array::Int8Array;
use arrow::array::Int64Array;
use arrow::array::RecordBatch;
use arrow::array::StringArray;
use arrow::array::StringDictionaryBuilder;
use arrow::array::TimestampMicrosecondArray;
use arrow::array::UInt64Array;
use arrow::datatypes::Int32Type;
use arrow::util::display::array_value_to_string;

use super::*;

/// 2024-01-31 and 2024-02-29, in days; 2024-01-31T10:20:30.5, in microseconds.
const DAYS: [i32; 2] = [19_753, 19_782];
const MICROS: i64 = 1_706_696_430_500_000;

/// Two rows and a third that is all NULL.
fn rows() -> RecordBatch {
    let mut codes = StringDictionaryBuilder::<Int32Type>::new();
    codes.extend([Some("x"), Some("y"), None]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("UserId", Arc::new(Int64Array::from(vec![Some(1), Some(2), None]))),
        ("order", Arc::new(Int64Array::from(vec![Some(7), Some(i64::MAX), None]))),
        ("a.b", Arc::new(Int64Array::from(vec![Some(10), Some(0), None]))),
        ("K v", Arc::new(StringArray::from(vec![Some("07"), Some("7"), None]))),
        ("ключ", Arc::new(StringArray::from(vec![Some("да"), Some("straße"), None]))),
        ("id", Arc::new(Int64Array::from(vec![Some(100), Some(200), None]))),
        ("ID", Arc::new(Int64Array::from(vec![Some(-100), Some(-200), None]))),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("small", Arc::new(Int8Array::from(vec![Some(127), Some(-128), None]))),
        ("big", Arc::new(UInt64Array::from(vec![Some(u64::MAX), Some(0), None]))),
        ("f", Arc::new(Float64Array::from(vec![Some(0.5), Some(-0.0), None]))),
        (
            "price",
            Arc::new(
                Decimal128Array::from(vec![Some(110), Some(99_999), None])
                    .with_precision_and_scale(5, 2)
                    .unwrap(),
            ),
        ),
        (
            "huge",
            Arc::new(
                Decimal128Array::from(vec![Some(10_i128.pow(38) - 1), Some(1), None])
                    .with_precision_and_scale(38, 0)
                    .unwrap(),
            ),
        ),
        ("day", Arc::new(Date32Array::from(vec![Some(DAYS[0]), Some(DAYS[1]), None]))),
        ("at", Arc::new(TimestampMicrosecondArray::from(vec![Some(MICROS), Some(0), None]))),
        (
            "utc",
            Arc::new(
                TimestampMicrosecondArray::from(vec![Some(MICROS), Some(0), None])
                    .with_timezone("UTC"),
            ),
        ),
        ("code", Arc::new(codes.finish())),
        ("raw", Arc::new(BinaryArray::from(vec![Some(&b"ab"[..]), Some(b"c"), None]))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn scope() -> Scope {
    Scope::table(rows().schema())
}

fn pairs() -> Scope {
    Scope::aliased([("T", rows().schema()), ("S", rows().schema())])
}

fn evaluated(expression: &Expression, rows: &RecordBatch) -> Result<String, Failure> {
    let values = expression.evaluate(&rows.project(expression.columns()).unwrap())?;
    assert_eq!(values.data_type(), expression.data_type());
    assert_eq!(values.len(), rows.num_rows());
    let shown = |i| match values.is_null(i) {
        true => "NULL".to_owned(),
        false => array_value_to_string(&values, i).unwrap(),
    };
    Ok((0..values.len()).map(shown).collect::<Vec<_>>().join(" | "))
}

/// Runs the cases and shows all that are wrong.
fn all(cases: &[(&str, &str)], wrong: impl Fn(&str, &str) -> Option<String>) {
    let found: Vec<_> = cases
        .iter()
        .filter_map(|(sql, right)| {
            wrong(sql, right).map(|was| format!("{sql}: {was}, not {right}"))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// What it gives for all rows, or why it does not.
fn outcome(sql: &str) -> Result<String, String> {
    let expression =
        Expression::compile(sql, &scope()).map_err(|mistake| format!("mistake: {mistake}"))?;
    evaluated(&expression, &rows()).map_err(|failure| format!("failure: {failure}"))
}

fn gives(sql: &str, right: &str) -> Option<String> {
    let was = outcome(sql).unwrap_or_else(|why| why);
    (was != right).then_some(was)
}

fn refuses(sql: &str, right: &str) -> Option<String> {
    let was = outcome(sql).unwrap_or_else(|why| why);
    (!was.starts_with(&format!("mistake: {right}"))).then_some(was)
}

fn fails(sql: &str, right: &str) -> Option<String> {
    let was = outcome(sql).unwrap_or_else(|why| why);
    (!was.starts_with(&format!("failure: {right}"))).then_some(was)
}
