//! The configuration's JSON: what is no configuration, and what its schema says.

use crate::support::{batch, config, entry, refusal};
use arrow_array::{ArrayRef, Int64Array};
use serde_json::{Value, json};
use std::sync::Arc;
use std_rules::Config;

#[track_caller]
fn refused(config: &str, expected: &str) {
    let batch = batch([("x", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]);
    let said = refusal(config, &[("input", &batch)]);
    // The place in the text is the parser's affair.
    let said = said.split_once(" at line ").map_or(said.as_str(), |(said, _)| said);
    assert_eq!(said, expected);
}

/// A configuration of one check.
#[track_caller]
fn check(check: &str, expected: &str) {
    let expected = format!("bad-config /checks/0/check [config] {expected}");
    refused(&config([entry(Some("x"), "fail", check)]), &expected);
}

#[test]
fn no_checks_are_refused() {
    refused(r#"{"checks": []}"#, "bad-config /checks [checks] give at least one check");
    refused("{}", "bad-config  [config] missing field `checks`");
}

#[test]
fn settings_are_those_of_the_check() {
    check("{}", "missing field `type`");
    check(r#"{"type": 1}"#, "type: expected a text, not 1");
    check(
        r#"{"type": "nul"}"#,
        "type: unknown variant `nul`, expected one of `not_null`, `accepted_values`, `range`, `pattern`, `length`, `true`, `freshness`, `reference`",
    );
    check(
        r#"{"type": "not_null", "min": 1}"#,
        "not_null.min: unknown field `min`, there are no fields",
    );
    check(
        r#"{"type": "range", "min": 1, "exclusive": "yes"}"#,
        "range.exclusive: invalid type: string \"yes\", expected a boolean",
    );
    check(
        r#"{"type": "accepted_values", "values": [1, null]}"#,
        "accepted_values.values[1]: null is no value; `on_null` says what becomes of NULL",
    );
    check(
        r#"{"type": "accepted_values", "values": [[1]]}"#,
        "accepted_values.values[0]: expected a text, a number, true or false",
    );
    check(
        r#"{"type": "length", "min": -1}"#,
        "length.min: invalid value: integer `-1`, expected u64",
    );
}

#[test]
fn the_order_of_keys_does_not_matter() {
    let config = r#"{"checks": [{"check": {"min": 1, "type": "range"}, "on_null": "skip", "message": "", "column": "x", "code": "c"}]}"#;
    let batch = batch([("x", Arc::new(Int64Array::from(vec![0, 1])) as ArrayRef)]);
    let judged = wasmhost_guest::harness::rule::<std_rules::Rules>(config, &batch.schema())
        .unwrap()
        .run(&[batch]);
    assert_eq!(judged.unwrap().rows("c"), [0]);
}

/// Reading is written by hand, so the schema could say something else.
#[test]
fn the_schema_tags_checks_by_type() {
    let schema: Value = schemars::schema_for!(Config).into();
    let checks = &schema["$defs"]["Check"]["oneOf"];
    let names: Vec<&Value> = checks
        .as_array()
        .unwrap()
        .iter()
        .map(|check| &check["properties"]["type"]["const"])
        .collect();
    assert_eq!(
        json!(names),
        json!([
            "not_null",
            "accepted_values",
            "range",
            "pattern",
            "length",
            "true",
            "freshness",
            "reference"
        ])
    );
    for check in checks.as_array().unwrap() {
        assert_eq!(check["additionalProperties"], false, "{check}");
        assert!(check["required"].as_array().unwrap().contains(&json!("type")), "{check}");
    }
}
