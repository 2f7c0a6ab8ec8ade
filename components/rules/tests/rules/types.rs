//! Which types a check takes, and that it judges each of them.

use crate::support::{batch, check, config, entry, refusal};
use arrow_array::types::{Float16Type, Int32Type};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, Date32Array, Date64Array,
    Decimal32Array, Decimal64Array, Decimal128Array, Decimal256Array, FixedSizeBinaryArray,
    FixedSizeListArray, Float16Array, Float32Array, Float64Array, Int8Array, Int16Array,
    Int32Array, Int64Array, LargeBinaryArray, LargeListArray, LargeStringArray, ListArray,
    NullArray, StringArray, StructArray, Time32SecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt8Array,
    UInt16Array, UInt32Array, UInt64Array,
};
use arrow_buffer::i256;
use std::sync::Arc;

/// A value that is listed, a NULL, and one that is not; the listed one as JSON.
fn columns() -> Vec<(ArrayRef, &'static str)> {
    macro_rules! numbers {
        ($($array:ty),+) => {
            vec![$((Arc::new(<$array>::from(vec![Some(2 as _), None, Some(3 as _)])) as ArrayRef, "2")),+]
        };
    }
    let half = |number: f32| Some(<Float16Type as ArrowPrimitiveType>::Native::from_f32(number));
    let mut columns = numbers!(
        Int8Array,
        Int16Array,
        Int32Array,
        Int64Array,
        UInt8Array,
        UInt16Array,
        UInt32Array,
        UInt64Array,
        Float32Array,
        Float64Array
    );
    let decimals: [ArrayRef; 4] = [
        Arc::new(
            Decimal32Array::from(vec![Some(25), None, Some(30)])
                .with_precision_and_scale(4, 1)
                .unwrap(),
        ),
        Arc::new(
            Decimal64Array::from(vec![Some(25), None, Some(30)])
                .with_precision_and_scale(4, 1)
                .unwrap(),
        ),
        Arc::new(
            Decimal128Array::from(vec![Some(25), None, Some(30)])
                .with_precision_and_scale(4, 1)
                .unwrap(),
        ),
        Arc::new(
            Decimal256Array::from(vec![Some(i256::from_i128(25)), None, Some(i256::from_i128(30))])
                .with_precision_and_scale(4, 1)
                .unwrap(),
        ),
    ];
    columns.extend(decimals.map(|column| (column, "2.50")));
    let timestamps: [ArrayRef; 5] = [
        Arc::new(TimestampSecondArray::from(vec![Some(90_000), None, Some(90_001)])),
        Arc::new(TimestampMillisecondArray::from(vec![Some(90_000_000), None, Some(90_000_001)])),
        Arc::new(TimestampMicrosecondArray::from(vec![
            Some(90_000_000_000),
            None,
            Some(90_000_000_001),
        ])),
        Arc::new(TimestampNanosecondArray::from(vec![
            Some(90_000_000_000_000),
            None,
            Some(90_000_000_000_001),
        ])),
        Arc::new(
            TimestampSecondArray::from(vec![Some(90_000), None, Some(90_001)])
                .with_timezone("Europe/Berlin"),
        ),
    ];
    columns.extend(timestamps.map(|column| (column, r#""1970-01-02T01:00:00""#)));
    let others: [(ArrayRef, &str); 6] = [
        (Arc::new(Float16Array::from(vec![half(0.1), None, half(0.2)])), "0.1"),
        (Arc::new(Date32Array::from(vec![Some(1), None, Some(2)])), r#""1970-01-02""#),
        (
            Arc::new(Date64Array::from(vec![Some(86_400_000), None, Some(172_800_000)])),
            r#""1970-01-02""#,
        ),
        (Arc::new(StringArray::from(vec![Some("a"), None, Some("b")])), r#""a""#),
        (Arc::new(LargeStringArray::from(vec![Some("a"), None, Some("b")])), r#""a""#),
        (Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])), "true"),
    ];
    columns.extend(others);
    columns
}

fn lists() -> [ArrayRef; 3] {
    let lists = || vec![Some(vec![Some(1), None]), None, Some(vec![])];
    let fixed = vec![Some(vec![Some(1), None]), None, Some(vec![None, None])];
    [
        Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists())),
        Arc::new(LargeListArray::from_iter_primitive::<Int32Type, _, _>(lists())),
        Arc::new(FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(fixed, 2)),
    ]
}

#[test]
fn accepted_values_of_every_type() {
    for (column, value) in columns() {
        check(column, &format!(r#"{{"type": "accepted_values", "values": [{value}]}}"#), &[2]);
    }
}

#[test]
fn ranges_of_every_type_with_an_order() {
    for (column, value) in columns().into_iter().filter(|(_, value)| *value != "true") {
        check(column.clone(), &format!(r#"{{"type": "range", "max": {value}}}"#), &[2]);
        check(column, &format!(r#"{{"type": "range", "min": {value}, "exclusive": true}}"#), &[0]);
    }
}

#[test]
fn a_zone_of_the_value_is_heeded() {
    let zoned: ArrayRef =
        Arc::new(TimestampSecondArray::from(vec![90_000, 90_001]).with_timezone("Asia/Tokyo"));
    for value in ["1970-01-02T01:00:00Z", "1970-01-02T02:00:00+01:00", "1970-01-02 01:00"] {
        check(
            zoned.clone(),
            &format!(r#"{{"type": "accepted_values", "values": ["{value}"]}}"#),
            &[1],
        );
    }
    let fraction = r#"{"type": "range", "min": "1970-01-02T01:00:00.5"}"#;
    check(zoned.clone(), fraction, &[0]);
    check(
        zoned,
        r#"{"type": "range", "min": "1969-01-01", "max": "1970-01-02T01:00:00.999"}"#,
        &[1],
    );
}

#[test]
fn lengths_of_every_type_that_has_one() {
    let [list, large, fixed] = lists();
    let min = |min: u64| format!(r#"{{"type": "length", "min": {min}}}"#);
    check(list, &min(1), &[2]);
    check(large, &min(1), &[2]);
    check(fixed.clone(), &min(2), &[]);
    check(fixed, &min(3), &[0, 2]);
    check(Arc::new(LargeStringArray::from(vec![Some("é"), None, Some("aé")])), &min(2), &[0]);
    check(
        Arc::new(LargeBinaryArray::from(vec![Some(&b"a"[..]), None, Some(b"ab")])),
        &min(2),
        &[0],
    );
    let bytes =
        FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some(b"ab"), None].into_iter(), 2)
            .unwrap();
    check(Arc::new(bytes), &min(3), &[0]);
}

#[test]
fn patterns_of_large_texts() {
    let large = LargeStringArray::from(vec![Some("a"), None, Some("b")]);
    check(Arc::new(large), r#"{"type": "pattern", "pattern": "[a]"}"#, &[2]);
}

#[test]
fn not_null_takes_what_no_other_check_takes() {
    let [list, ..] = lists();
    let structs = StructArray::new_empty_fields(3, Some(vec![true, false, true].into()));
    let columns: [ArrayRef; 4] = [
        list,
        Arc::new(structs),
        Arc::new(Time32SecondArray::from(vec![Some(1), None])),
        Arc::new(NullArray::new(2)),
    ];
    for column in columns {
        check(column, r#"{"type": "not_null"}"#, &[]);
    }
}

/// Each check, and a word for the columns of the matrix that it takes.
#[test]
fn what_a_check_does_not_take_is_refused_by_name() {
    let all: Vec<(&str, ArrayRef)> = vec![
        ("bool", Arc::new(BooleanArray::from(vec![true]))),
        ("int", Arc::new(Int64Array::from(vec![1]))),
        ("float", Arc::new(Float64Array::from(vec![1.0]))),
        ("text", Arc::new(StringArray::from(vec!["a"]))),
        ("binary", Arc::new(BinaryArray::from(vec![&b"a"[..]]))),
        ("date", Arc::new(Date32Array::from(vec![1]))),
        ("time", Arc::new(Time32SecondArray::from(vec![1]))),
        ("list", lists()[0].clone()),
        ("null", Arc::new(NullArray::new(1))),
    ];
    for (check, takes) in [
        (r#"{"type": "accepted_values", "values": []}"#, "bool int float text date"),
        (r#"{"type": "range"}"#, "int float text date"),
        (r#"{"type": "pattern", "pattern": "("}"#, "text"),
        (r#"{"type": "length"}"#, "text binary list"),
        (r#"{"type": "true"}"#, "bool"),
        (r#"{"type": "freshness", "max_age_ms": 1}"#, "date"),
        (
            r#"{"type": "reference", "columns": ["x"], "source": "input2", "source_columns": ["x"]}"#,
            "bool int float text binary date",
        ),
    ] {
        for (word, column) in &all {
            // Two checks, of which the second has a mistake anyway.
            let name = (!check.contains("reference")).then_some("x");
            let broken =
                entry(Some("gone"), "skip", r#"{"type": "not_null"}"#).replace(r#""c""#, r#""d""#);
            let batch = batch([("x", column.clone())]);
            let said = refusal(
                &config([entry(name, "skip", check), broken]),
                &[("input", &batch), ("input2", &batch)],
            );
            let is_taken = takes.split(' ').any(|taken| taken == *word);
            assert_eq!(!said.contains("[wrong-type]"), is_taken, "{check} on {word}: {said}");
        }
    }
}
