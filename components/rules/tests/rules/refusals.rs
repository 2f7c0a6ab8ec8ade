//! What is refused, and in which words.

use crate::support::{batch, config, entry, refusal};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int64Array, RecordBatch, StringArray, TimestampMillisecondArray, UInt8Array,
};
use std::sync::Arc;

/// One check on one column.
#[track_caller]
fn check(column: impl arrow_array::Array + 'static, check: &str, expected: &str) {
    let batch = batch([("x", Arc::new(column) as ArrayRef)]);
    assert_eq!(refusal(&config([entry(Some("x"), "skip", check)]), &[("input", &batch)]), expected);
}

#[track_caller]
fn values(column: impl arrow_array::Array + 'static, listed: &str, expected: &str) {
    check(column, &format!(r#"{{"type": "accepted_values", "values": [{listed}]}}"#), expected);
}

fn ints() -> Int64Array {
    Int64Array::from(vec![1])
}

fn texts() -> StringArray {
    StringArray::from(vec!["a"])
}

#[test]
fn types_that_a_check_does_not_take() {
    check(
        ints(),
        r#"{"type": "pattern", "pattern": "a"}"#,
        "bad-config /checks/0/column [wrong-type] `pattern` cannot judge column `x` of type Int64; it takes text",
    );
    check(
        BooleanArray::from(vec![true]),
        r#"{"type": "range", "min": 1}"#,
        "bad-config /checks/0/column [wrong-type] `range` cannot judge column `x` of type Boolean; it takes numbers, dates, timestamps and text",
    );
}

#[test]
fn values_that_the_type_does_not_have() {
    values(
        ints(),
        r#"1, 1.5, "2", 9223372036854775808, true"#,
        "bad-config /checks/0/check/values/1 [value] 1.5 is no value of column `x` of type Int64: expected a whole number that the type can hold\n\
         bad-config /checks/0/check/values/2 [value] \"2\" is no value of column `x` of type Int64: expected a number\n\
         bad-config /checks/0/check/values/3 [value] 9223372036854775808 is no value of column `x` of type Int64: expected a whole number that the type can hold\n\
         bad-config /checks/0/check/values/4 [value] true is no value of column `x` of type Int64: expected a number",
    );
    values(
        UInt8Array::from(vec![1]),
        "-1, 255, 256",
        "bad-config /checks/0/check/values/0 [value] -1 is no value of column `x` of type UInt8: expected a whole number that the type can hold\n\
         bad-config /checks/0/check/values/2 [value] 256 is no value of column `x` of type UInt8: expected a whole number that the type can hold",
    );
    values(
        Decimal128Array::from(vec![1]).with_precision_and_scale(4, 2).unwrap(),
        "99.99, 0.005, 100",
        "bad-config /checks/0/check/values/1 [value] 0.005 is no value of column `x` of type Decimal128(4, 2): expected a number of at most its digits\n\
         bad-config /checks/0/check/values/2 [value] 100 is no value of column `x` of type Decimal128(4, 2): expected a number of at most its digits",
    );
    values(
        Float64Array::from(vec![1.0]),
        "9007199254740993, 1e400",
        "bad-config /checks/0/check/values/0 [value] 9007199254740993 is no value of column `x` of type Float64: expected a number that the type holds exactly\n\
         bad-config /checks/0/check/values/1 [value] 1e400 is no value of column `x` of type Float64: expected a number that the type holds exactly",
    );
    values(
        Float32Array::from(vec![1.0]),
        "0.1, 16777217",
        "bad-config /checks/0/check/values/1 [value] 16777217 is no value of column `x` of type Float32: expected a number that the type holds exactly",
    );
    values(
        texts(),
        r#"1, "say \"é\"""#,
        "bad-config /checks/0/check/values/0 [value] 1 is no value of column `x` of type Utf8: expected a text",
    );
    values(
        BooleanArray::from(vec![true]),
        r#""true", 1"#,
        "bad-config /checks/0/check/values/0 [value] \"true\" is no value of column `x` of type Boolean: expected true or false\n\
         bad-config /checks/0/check/values/1 [value] 1 is no value of column `x` of type Boolean: expected true or false",
    );
}

#[test]
fn times_that_are_none() {
    values(
        Date32Array::from(vec![1]),
        r#""2024-02-30", "2024-01-31T00:00", 20240131"#,
        "bad-config /checks/0/check/values/0 [value] \"2024-02-30\" is no value of column `x` of type Date32: expected a date such as \"2024-01-31\"\n\
         bad-config /checks/0/check/values/1 [value] \"2024-01-31T00:00\" is no value of column `x` of type Date32: expected a date such as \"2024-01-31\"\n\
         bad-config /checks/0/check/values/2 [value] 20240131 is no value of column `x` of type Date32: expected a date such as \"2024-01-31\"",
    );
    values(
        TimestampMillisecondArray::from(vec![1]),
        r#""2024-01-31T10:30:00Z", "2024-01-31T10:30:00.0001", "noon""#,
        "bad-config /checks/0/check/values/0 [value] \"2024-01-31T10:30:00Z\" is no value of column `x` of type Timestamp(ms): expected a timestamp without a zone, as the column has none\n\
         bad-config /checks/0/check/values/1 [value] \"2024-01-31T10:30:00.0001\" is no value of column `x` of type Timestamp(ms): expected a timestamp that the type can hold\n\
         bad-config /checks/0/check/values/2 [value] \"noon\" is no value of column `x` of type Timestamp(ms): expected a timestamp such as \"2024-01-31T10:30:00\"",
    );
}

#[test]
fn bounds_that_leave_nothing() {
    check(
        ints(),
        r#"{"type": "range"}"#,
        "bad-config /checks/0/check [bounds] give `min`, `max` or both",
    );
    check(
        ints(),
        r#"{"type": "range", "min": "a", "max": false}"#,
        "bad-config /checks/0/check/min [value] \"a\" is no value of column `x` of type Int64: expected a number\n\
         bad-config /checks/0/check/max [value] false is no value of column `x` of type Int64: expected a number",
    );
    let nothing = |is: &str| {
        format!("bad-config /checks/0/check [bounds] no value of column `x` of type {is}")
    };
    check(
        ints(),
        r#"{"type": "range", "min": 2, "max": 1}"#,
        &nothing("Int64 is at least 2 and at most 1"),
    );
    check(
        ints(),
        r#"{"type": "range", "min": 1.2, "max": 1.8}"#,
        &nothing("Int64 is at least 1.2 and at most 1.8"),
    );
    check(
        ints(),
        r#"{"type": "range", "min": 1, "max": 2, "exclusive": true}"#,
        &nothing("Int64 is above 1 and below 2"),
    );
    check(
        Int8Array::from(vec![1]),
        r#"{"type": "range", "min": 128}"#,
        &nothing("Int8 is at least 128"),
    );
    check(
        UInt8Array::from(vec![1]),
        r#"{"type": "range", "max": -0.5}"#,
        &nothing("UInt8 is at most -0.5"),
    );
    check(
        Float64Array::from(vec![1.0]),
        r#"{"type": "range", "min": 0, "max": 0, "exclusive": true}"#,
        &nothing("Float64 is above 0 and below 0"),
    );
    check(
        texts(),
        r#"{"type": "range", "min": "b", "max": "a"}"#,
        &nothing("Utf8 is at least \"b\" and at most \"a\""),
    );
    check(
        Date32Array::from(vec![1]),
        r#"{"type": "range", "min": "2024-01-02", "max": "2024-01-01"}"#,
        &nothing("Date32 is at least \"2024-01-02\" and at most \"2024-01-01\""),
    );
    check(
        texts(),
        r#"{"type": "length"}"#,
        "bad-config /checks/0/check [bounds] give `min`, `max` or both",
    );
    check(
        texts(),
        r#"{"type": "length", "min": 2, "max": 1}"#,
        "bad-config /checks/0/check [bounds] no length is at least 2 and at most 1",
    );
}

#[test]
fn patterns_that_are_none_or_too_large() {
    let pattern = |pattern: &str| {
        let batch = batch([("x", Arc::new(texts()) as ArrayRef)]);
        let check = format!(r#"{{"type": "pattern", "pattern": {pattern:?}}}"#);
        refusal(&config([entry(Some("x"), "skip", &check)]), &[("input", &batch)])
    };
    let too_large = "bad-config /checks/0/check/pattern [pattern] the pattern compiles to more than 4194304 bytes: it repeats too much, or nests repetitions";
    for bomb in [
        "(a{1000}){1000}",
        "(((((a{100}){100}){100}){100}){100}){100}",
        r"\pL{100000}",
        r"\w{2000}",
    ] {
        assert_eq!(pattern(bomb), too_large, "{bomb}");
    }
    for (none, why) in [
        ("(", "unclosed group"),
        ("(?=a)", "look-around"),
        (r"(a)\1", "backreferences are not supported"),
    ] {
        let said = pattern(none);
        assert!(
            said.starts_with("bad-config /checks/0/check/pattern [pattern] no pattern: ")
                && said.contains(why),
            "{said}"
        );
    }
    let deep = format!("{}{}", "(".repeat(10_000), ")".repeat(10_000));
    let said = pattern(&deep);
    assert!(said.contains("exceed the maximum number of nested parentheses"), "{said}");
}

#[test]
fn references_that_lead_nowhere() {
    let here = batch([("a", Arc::new(ints()) as ArrayRef), ("t", Arc::new(texts()) as ArrayRef)]);
    let there = batch([
        ("k", Arc::new(ints()) as ArrayRef),
        ("d", Arc::new(Float64Array::from(vec![1.0])) as ArrayRef),
    ]);
    let said = |column: Option<&str>,
                columns: &str,
                source: &str,
                source_columns: &str,
                others: &[(&str, &RecordBatch)]| {
        let check = format!(
            r#"{{"type": "reference", "columns": {columns}, "source": "{source}", "source_columns": {source_columns}}}"#
        );
        let inputs = [&[("input", &here)], others].concat();
        refusal(&config([entry(column, "skip", &check)]), &inputs)
    };
    let other = [("other", &there)];
    assert_eq!(
        said(Some("a"), r#"["a", "t"]"#, "input", r#"["k"]"#, &other),
        "bad-config /checks/0/column [column] `reference` names its `columns` itself; leave `column` out\n\
         bad-config /checks/0/check/columns [columns] name as many `columns` as `source_columns`, at least one: 2 and 1 are given\n\
         bad-config /checks/0/check/source [source] no other input is called `input`; there are: other",
    );
    assert_eq!(
        said(None, "[]", "other", "[]", &[]),
        "bad-config /checks/0/check/columns [columns] name as many `columns` as `source_columns`, at least one: 0 and 0 are given\n\
         bad-config /checks/0/check/source [source] no other input is called `other`; there are: none",
    );
    assert_eq!(
        said(None, r#"["a", "gone", "t"]"#, "other", r#"["d", "lost", "k"]"#, &other),
        "bad-schema /checks/0/check/columns/0 [wrong-type] column `a` of type Int64 cannot be looked up in column `d` of type Float64 of input `other`: only widths of whole numbers may differ\n\
         bad-schema /checks/0/check/columns/1 [missing-column] input `input` has no column `gone`; it has a, t\n\
         bad-schema /checks/0/check/source_columns/1 [missing-column] input `other` has no column `lost`; it has k, d\n\
         bad-schema /checks/0/check/columns/2 [wrong-type] column `t` of type Utf8 cannot be looked up in column `k` of type Int64 of input `other`: only widths of whole numbers may differ",
    );
}

#[test]
fn all_mistakes_are_said_at_once() {
    let batch = batch([("n", Arc::new(ints()) as ArrayRef), ("t", Arc::new(texts()))]);
    let not_null = r#"{"type": "not_null"}"#;
    let config = config([
        entry(Some("gone"), "fail", not_null),
        entry(None, "fail", not_null),
        entry(Some("n"), "fail", r#"{"type": "accepted_values", "values": []}"#),
        entry(Some("n"), "fail", r#"{"type": "pattern", "pattern": "("}"#)
            .replace("\"c\"", "\"d\""),
    ]);
    assert_eq!(
        refusal(&config, &[("input", &batch)]).replace("\n    (\n    ^\n", " "),
        "bad-config /checks/0/column [missing-column] input `input` has no column `gone`; it has n, t\n\
         bad-config /checks/1/code [code] the code `c` is already that of check 0\n\
         bad-config /checks/1 [column] name the `column` that is judged\n\
         bad-config /checks/2/code [code] the code `c` is already that of check 0\n\
         bad-config /checks/2/check/values [values] give at least one value\n\
         bad-config /checks/3/column [wrong-type] `pattern` cannot judge column `n` of type Int64; it takes text\n\
         bad-config /checks/3/check/pattern [pattern] no pattern: regex parse error: error: unclosed group",
    );
}
