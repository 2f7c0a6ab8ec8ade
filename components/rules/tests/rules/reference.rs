//! Rows that must exist in another input.

use crate::support::{batch, close, config, entry};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array,
    FixedSizeBinaryArray, Float64Array, Int16Array, Int64Array, LargeStringArray, RecordBatch,
    StringArray, TimestampMicrosecondArray, UInt8Array, UInt64Array,
};
use arrow_buffer::i256;
use std::sync::Arc;
use std_rules::Rules;
use wasmhost_guest::harness::rule_with;

/// Looks `x` up in `y` of the input `other`, with the source in one batch and row by row.
#[track_caller]
fn check(here: impl Array + 'static, there: impl Array + 'static, hits: &[usize]) {
    let (here, there) =
        (batch([("x", Arc::new(here) as ArrayRef)]), batch([("y", Arc::new(there) as ArrayRef)]));
    judge(&["x"], &here, &["y"], &there, "skip", hits);
}

#[track_caller]
fn judge(
    columns: &[&str],
    here: &RecordBatch,
    source: &[&str],
    there: &RecordBatch,
    on_null: &str,
    hits: &[usize],
) {
    let check = format!(
        r#"{{"type": "reference", "columns": {columns:?}, "source": "other", "source_columns": {source:?}}}"#
    );
    let config = config([entry(None, on_null, &check)]);
    let rows: Vec<RecordBatch> = (0..there.num_rows()).map(|row| there.slice(row, 1)).collect();
    for parts in [vec![there.clone()], rows] {
        let inputs = [("input", here.schema()), ("other", there.schema())];
        let inputs = inputs.each_ref().map(|(name, schema)| (*name, schema.as_ref()));
        let mut judging = rule_with::<Rules>(&config, &inputs).unwrap();
        assert_eq!(judging.opened().reasons[0].columns, columns);
        judging.reference(1, &parts).unwrap();
        let judged = judging.run(&[here.slice(0, 1), here.slice(1, here.num_rows() - 1)]).unwrap();
        assert_eq!(judged.rows("c"), hits, "{columns:?} on NULL {on_null}");
        close(&judged, here.num_rows());
    }
}

#[test]
fn a_null_in_any_column_goes_where_it_is_told() {
    let here = batch([
        ("a", Arc::new(Int64Array::from(vec![Some(1), None, Some(1), None, Some(2)])) as ArrayRef),
        ("b", Arc::new(StringArray::from(vec![Some("x"), Some("x"), None, None, Some("x")]))),
    ]);
    let there = batch([
        ("b", Arc::new(StringArray::from(vec![Some("x"), Some("x"), None])) as ArrayRef),
        ("a", Arc::new(Int64Array::from(vec![Some(1), None, Some(2)]))),
    ]);
    for (on_null, hits) in [("fail", vec![1, 2, 3, 4]), ("pass", vec![4]), ("skip", vec![4])] {
        judge(&["a", "b"], &here, &["a", "b"], &there, on_null, &hits);
    }
}

#[test]
fn an_empty_source_has_nothing() {
    check(Int64Array::from(vec![Some(1), None]), Int64Array::from(Vec::<i64>::new()), &[0]);
    check(Int64Array::from(vec![Some(1), None]), Int64Array::from(vec![None, None]), &[0]);
}

#[test]
fn one_zero_and_one_nan() {
    let payload = f64::from_bits(f64::NAN.to_bits() | 1);
    check(
        Float64Array::from(vec![-0.0, 0.0, payload, -f64::NAN, 1.0]),
        Float64Array::from(vec![0.0, f64::NAN]),
        &[4],
    );
    check(Float64Array::from(vec![0.0, 1.0]), Float64Array::from(vec![-0.0, payload]), &[1]);
}

#[test]
fn whole_numbers_are_widened() {
    check(Int16Array::from(vec![-1, 200, 7]), UInt8Array::from(vec![200, 255]), &[0, 2]);
    check(Int64Array::from(vec![-1, 1]), UInt64Array::from(vec![u64::MAX, 1]), &[0]);
    check(UInt64Array::from(vec![u64::MAX, 1]), Int64Array::from(vec![-1, 1]), &[0]);
    check(UInt64Array::from(vec![u64::MAX, 1]), UInt64Array::from(vec![u64::MAX]), &[1]);
}

#[test]
fn texts_are_not_run_together() {
    let pairs = |a: Vec<&str>, b: Vec<&str>| {
        batch([
            ("a", Arc::new(StringArray::from(a)) as ArrayRef),
            ("b", Arc::new(StringArray::from(b))),
        ])
    };
    let (here, there) =
        (pairs(vec!["ab", "a", ""], vec!["c", "bc", "abc"]), pairs(vec!["ab"], vec!["c"]));
    judge(&["a", "b"], &here, &["a", "b"], &there, "fail", &[1, 2]);
    check(StringArray::from(vec!["", "a", "ab"]), LargeStringArray::from(vec!["ab", ""]), &[1]);
}

#[test]
fn other_types_have_keys_too() {
    check(BooleanArray::from(vec![true, false]), BooleanArray::from(vec![true]), &[1]);
    check(Date32Array::from(vec![1, 2]), Date32Array::from(vec![2]), &[0]);
    check(BinaryArray::from(vec![&b"a"[..], b"b"]), BinaryArray::from(vec![&b"b"[..]]), &[0]);
    let fixed =
        |values: Vec<&[u8]>| FixedSizeBinaryArray::try_from_iter(values.into_iter()).unwrap();
    check(fixed(vec![b"ab", b"cd"]), fixed(vec![b"cd"]), &[0]);
    let zoned = TimestampMicrosecondArray::from(vec![1, 2]).with_timezone("UTC");
    check(zoned, TimestampMicrosecondArray::from(vec![1]).with_timezone("+01:00"), &[1]);
    let decimal =
        |value| Decimal128Array::from(vec![value]).with_precision_and_scale(9, 2).unwrap();
    check(decimal(150), decimal(150), &[]);
    let wide =
        Decimal256Array::from(vec![i256::from_i128(-150)]).with_precision_and_scale(40, 2).unwrap();
    check(decimal(-150), wide.clone(), &[]);
    check(wide, decimal(150), &[0]);
}

#[test]
fn checks_of_several_sources_keep_apart() {
    let here = batch([
        ("a", Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef),
        ("b", Arc::new(Int64Array::from(vec![3, 2, 1]))),
    ]);
    let first = batch([("k", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef)]);
    let second = batch([("k", Arc::new(Int64Array::from(vec![3])) as ArrayRef)]);
    let entry = |code: &str, column: &str, source: &str| {
        let check = format!(
            r#"{{"type": "reference", "columns": [{column:?}], "source": {source:?}, "source_columns": ["k"]}}"#
        );
        entry(None, "fail", &check).replace(r#""code": "c""#, &format!(r#""code": {code:?}"#))
    };
    let config = config([
        entry("one", "a", "first"),
        entry("two", "a", "second"),
        entry("three", "b", "first"),
    ]);
    let schemas =
        [("input", here.schema()), ("first", first.schema()), ("second", second.schema())];
    let inputs = schemas.each_ref().map(|(name, schema)| (*name, schema.as_ref()));
    let mut judging = rule_with::<Rules>(config, &inputs).unwrap();
    judging.reference(1, &[first]).unwrap();
    judging.reference(2, &[second]).unwrap();
    let judged = judging.run(&[here]).unwrap();
    assert_eq!(
        (judged.rows("one"), judged.rows("two"), judged.rows("three")),
        (&[2][..], &[0, 1][..], &[0][..])
    );
}
