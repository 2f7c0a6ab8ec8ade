//! Numbers that a float would round: each comparison is exact.

use crate::support::check;
use arrow_array::{
    ArrayRef, Decimal128Array, Decimal256Array, Float32Array, Float64Array, Int8Array, Int64Array,
    StringArray, UInt64Array,
};
use arrow_buffer::i256;
use std::sync::Arc;

/// The first integer that no float of 64 bits is.
const ODD: i64 = (1 << 53) + 1;

fn range(bounds: &str) -> String {
    format!(r#"{{"type": "range", {bounds}}}"#)
}

fn accepted(values: &str) -> String {
    format!(r#"{{"type": "accepted_values", "values": [{values}]}}"#)
}

#[test]
fn integers_beyond_floats_are_told_apart() {
    let column: ArrayRef =
        Arc::new(Int64Array::from(vec![ODD - 1, ODD, ODD + 1, i64::MAX, i64::MIN]));
    check(column.clone(), &range(r#""min": 9007199254740993"#), &[0, 4]);
    check(column.clone(), &range(r#""max": 9007199254740993, "exclusive": true"#), &[1, 2, 3]);
    check(column.clone(), &range(r#""max": 9223372036854775806"#), &[3]);
    check(column.clone(), &accepted("9007199254740993"), &[0, 2, 3, 4]);
    check(column, &accepted("9223372036854775807, -9223372036854775808"), &[0, 1, 2]);
    let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![0, u64::MAX - 1, u64::MAX]));
    check(unsigned.clone(), &range(r#""min": 18446744073709551615"#), &[0, 1]);
    check(unsigned, &accepted("1.8446744073709551615e19"), &[0, 1]);
}

#[test]
fn bounds_may_lie_between_values_and_beyond_the_type() {
    let column: ArrayRef = Arc::new(Int8Array::from(vec![-128, -2, -1, 0, 1, 2, 127]));
    check(column.clone(), &range(r#""min": -1.5, "max": 1.5"#), &[0, 1, 5, 6]);
    check(column.clone(), &range(r#""min": -1.5, "max": 1.5, "exclusive": true"#), &[0, 1, 5, 6]);
    check(column.clone(), &range(r#""min": -1000, "max": 1e3"#), &[]);
    check(column, &range(r#""min": -1e99, "max": 1, "exclusive": true"#), &[4, 5, 6]);
    let unsigned = Arc::new(UInt64Array::from(vec![0, 1]));
    check(unsigned, &range(r#""min": -1, "max": 0.5"#), &[1]);
}

#[test]
fn decimals_never_pass_through_a_float() {
    let cents = |values: Vec<i128>| -> ArrayRef {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(38, 2).unwrap())
    };
    let column =
        cents(vec![10, 11, 12_345_678_901_234_567_890_123, 12_345_678_901_234_567_890_124]);
    check(column.clone(), &accepted("0.1, 123456789012345678901.23"), &[1, 3]);
    check(column.clone(), &range(r#""max": 123456789012345678901.23"#), &[3]);
    check(column.clone(), &range(r#""min": 0.105"#), &[0]);
    check(column.clone(), &range(r#""max": 0.1099, "min": 0.1"#), &[1, 2, 3]);
    check(column, &accepted("1e-1, 11.00E-2"), &[2, 3]);
    let hundreds: ArrayRef =
        Arc::new(Decimal128Array::from(vec![-1, 0, 1]).with_precision_and_scale(5, -2).unwrap());
    check(hundreds, &range(r#""min": -99, "max": 100"#), &[0]);
    let huge = i256::from_string(&"9".repeat(76)).unwrap();
    let largest: ArrayRef = Arc::new(
        Decimal256Array::from(vec![huge, huge.wrapping_neg()])
            .with_precision_and_scale(76, 0)
            .unwrap(),
    );
    check(largest.clone(), &range(r#""max": 1e76, "exclusive": true"#), &[]);
    check(largest.clone(), &range(r#""max": 1e100, "min": 0"#), &[1]);
    check(largest, &accepted(&"9".repeat(76)), &[1]);
}

#[test]
fn floats_meet_whole_bounds_exactly_and_fractions_as_floats() {
    let even = (ODD - 1) as f64;
    let column: ArrayRef = Arc::new(Float64Array::from(vec![even, even + 2.0, 0.1, f64::INFINITY]));
    check(column.clone(), &range(r#""min": 9007199254740993"#), &[0, 2]);
    check(column.clone(), &range(r#""max": 9007199254740993"#), &[1, 3]);
    check(column.clone(), &range(r#""max": 9007199254740994, "exclusive": true"#), &[1, 3]);
    check(column.clone(), &range(r#""max": 0.1"#), &[0, 1, 3]);
    check(column.clone(), &range(r#""min": 0.1, "exclusive": true"#), &[2]);
    check(column.clone(), &range(r#""max": 1e400"#), &[3]);
    check(column.clone(), &range(r#""min": 1e400"#), &[0, 1, 2]);
    check(column, &accepted("0.1, 9007199254740992"), &[1, 3]);
    let small: ArrayRef = Arc::new(Float32Array::from(vec![0.1, 16_777_216.0, 16_777_218.0]));
    check(small.clone(), &range(r#""max": 0.1"#), &[1, 2]);
    check(small.clone(), &range(r#""min": 16777217"#), &[0, 1]);
    check(small, &accepted("0.1, 16777218"), &[1]);
}

#[test]
fn long_lists_find_what_short_ones_find() {
    let column: ArrayRef = Arc::new(Int64Array::from(vec![ODD, 1, 50, 51, -3]));
    let many: Vec<String> = (0..100).filter(|n| n % 2 == 1).map(|n| n.to_string()).collect();
    check(column, &accepted(&format!("{}, 9007199254740993, -3", many.join(", "))), &[2]);
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["7", "", "8", "07", "é"]));
    let many: Vec<String> = many.iter().map(|n| format!("\"{n}\"")).collect();
    check(texts, &accepted(&format!("{}, \"\", \"\\u00e9\"", many.join(", "))), &[2, 3]);
}
