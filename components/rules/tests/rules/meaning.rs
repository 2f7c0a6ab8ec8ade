//! What each check makes of the values that people disagree about. [`check`] adds what becomes of NULLs.

use crate::support::check;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Float64Array, Int64Array, NullArray,
    StringArray,
};
use std::sync::Arc;

fn floats() -> ArrayRef {
    let values = [
        Some(f64::NAN),
        Some(-0.0),
        None,
        Some(0.0),
        Some(f64::INFINITY),
        Some(-f64::NAN),
        Some(1.5),
    ];
    Arc::new(Float64Array::from(values.to_vec()))
}

fn texts() -> ArrayRef {
    Arc::new(StringArray::from(vec![Some(""), Some("a"), None, Some("é"), Some("ab\n"), Some("A")]))
}

fn booleans() -> ArrayRef {
    Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))
}

#[test]
fn not_null_passes_every_value() {
    let not_null = r#"{"type": "not_null"}"#;
    for column in [floats(), texts(), booleans(), Arc::new(NullArray::new(3))] {
        check(column, not_null, &[]);
    }
}

#[test]
fn accepted_values_know_one_zero_and_no_nan() {
    let accepted = |values: &str| format!(r#"{{"type": "accepted_values", "values": {values}}}"#);
    check(floats(), &accepted("[0]"), &[0, 4, 5, 6]);
    check(floats(), &accepted("[-0.0, 1.5]"), &[0, 4, 5]);
    check(floats(), &accepted("[-0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1.5]"), &[0, 4, 5]);
    check(texts(), &accepted(r#"["", "\u00e9"]"#), &[1, 4, 5]);
    check(texts(), &accepted(r#"["a"]"#), &[0, 3, 4, 5]);
    check(booleans(), &accepted("[true]"), &[2]);
    check(booleans(), &accepted("[false]"), &[0]);
    check(booleans(), &accepted("[false, true, true]"), &[]);
}

#[test]
fn range_fails_nan_and_compares_texts_by_bytes() {
    let range = |bounds: &str| format!(r#"{{"type": "range", {bounds}}}"#);
    check(floats(), &range(r#""min": 0"#), &[0, 5]);
    check(floats(), &range(r#""max": -0.0"#), &[0, 4, 5, 6]);
    check(floats(), &range(r#""min": 0, "exclusive": true"#), &[0, 1, 3, 5]);
    check(floats(), &range(r#""min": 0, "max": 1.5, "exclusive": false"#), &[0, 4, 5]);
    check(floats(), &range(r#""max": 1.5, "exclusive": true"#), &[0, 4, 5, 6]);
    check(texts(), &range(r#""min": """#), &[]);
    check(texts(), &range(r#""min": "", "exclusive": true"#), &[0]);
    check(texts(), &range(r#""min": "a", "max": "b""#), &[0, 3, 5]);
    check(texts(), &range(r#""max": "a", "exclusive": true, "min": null"#), &[1, 3, 4]);
}

#[test]
fn pattern_is_searched_for() {
    let pattern = |pattern: &str| format!(r#"{{"type": "pattern", "pattern": {pattern:?}}}"#);
    check(texts(), &pattern("a"), &[0, 3, 5]);
    check(texts(), &pattern("(?i)^A"), &[0, 3]);
    check(texts(), &pattern("^$"), &[1, 3, 4, 5]);
    check(texts(), &pattern(""), &[]);
    check(texts(), &pattern(r"^\w$"), &[0, 4]);
    check(texts(), &pattern(r"^\p{Lu}$"), &[0, 1, 3, 4]);
    check(texts(), &pattern("(?i)^É$"), &[0, 1, 4, 5]);
    check(texts(), &pattern(r"(?-u:\b)ab$"), &[0, 1, 3, 4, 5]);
    check(texts(), &pattern(r"\bab\b"), &[0, 1, 3, 5]);
}

#[test]
fn length_counts_characters_and_bytes() {
    let length = |bounds: &str| format!(r#"{{"type": "length", {bounds}}}"#);
    check(texts(), &length(r#""min": 1"#), &[0]);
    check(texts(), &length(r#""max": 0"#), &[1, 3, 4, 5]);
    check(texts(), &length(r#""min": 1, "max": 1"#), &[0, 4]);
    check(texts(), &length(r#""min": 0"#), &[]);
    let ascii = StringArray::from(vec![Some(""), None, Some("abc")]);
    check(Arc::new(ascii), &length(r#""max": 2"#), &[2]);
    let bytes = BinaryArray::from(vec![Some(&b""[..]), Some("é".as_bytes()), None]);
    check(Arc::new(bytes), &length(r#""min": 2"#), &[0]);
}

#[test]
fn true_is_the_one_good_value() {
    check(booleans(), r#"{"type": "true"}"#, &[2]);
}

#[test]
fn freshness_passes_every_row() {
    let days = Date32Array::from(vec![Some(0), None, Some(19_675)]);
    check(Arc::new(days), r#"{"type": "freshness", "max_age_ms": 0}"#, &[]);
}

#[test]
fn no_rows_are_no_hits() {
    let empty = |column: &ArrayRef| column.slice(0, 0);
    check(empty(&floats()), r#"{"type": "not_null"}"#, &[]);
    check(empty(&floats()), r#"{"type": "accepted_values", "values": [1]}"#, &[]);
    check(empty(&floats()), r#"{"type": "range", "min": 1}"#, &[]);
    check(empty(&texts()), r#"{"type": "pattern", "pattern": "."}"#, &[]);
    check(empty(&texts()), r#"{"type": "length", "min": 1}"#, &[]);
    check(empty(&booleans()), r#"{"type": "true"}"#, &[]);
    let days: ArrayRef = Arc::new(Date32Array::from(vec![1]));
    check(empty(&days), r#"{"type": "freshness", "max_age_ms": 0}"#, &[]);
}

#[test]
fn many_rows_fill_whole_words_of_bits() {
    let rows = 1000_i64;
    let column: Int64Array = (0..rows).map(|row| (row % 7 != 0).then_some(row)).collect();
    let hits: Vec<usize> =
        (0..1000).filter(|row| row % 7 != 0 && !(64..=640).contains(row)).collect();
    let config = crate::support::config([crate::support::entry(
        Some("x"),
        "skip",
        r#"{"type": "range", "min": 64, "max": 640}"#,
    )]);
    let batch = crate::support::batch([("x", Arc::new(column) as ArrayRef)]);
    let judged = wasmhost_guest::harness::rule::<std_rules::Rules>(config, &batch.schema())
        .unwrap()
        .run(&[batch])
        .unwrap();
    assert_eq!(judged.rows("c"), hits);
}
