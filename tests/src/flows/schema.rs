//! The JSON Schema agrees with reading: what is read is valid, and what editors flag is refused.

use std::fs;

use serde_json::Value;
use serde_json::json;
use wasmhost::flow::json_schema;

use super::files;

fn value(file: &std::path::Path) -> Option<Value> {
    let text = fs::read_to_string(file).unwrap();
    match file.extension().unwrap() == "json" {
        true => serde_json::from_str(&text).ok(),
        false => serde_saphyr::from_str_with_options(
            &text,
            serde_saphyr::options! { strict_booleans: true },
        )
        .ok(),
    }
}

#[test]
fn every_good_flow_is_valid() {
    let schema = json_schema();
    for file in files("good") {
        let flow = value(&file).unwrap();
        assert_eq!(validate(&schema, &schema, &flow, "$"), Ok(()), "{}", file.display());
    }
}

#[test]
fn misspelt_and_not_offered_keys_are_not_valid() {
    let schema = json_schema();
    let good = json!({"name": "x", "source": {"format": "csv", "path": "a.csv"}, "destination": {"format": "csv", "path": "out"}});
    assert_eq!(validate(&schema, &schema, &good, "$"), Ok(()));
    for (pointer, key, bad) in [
        ("", "nmae", json!("x")),
        ("/source", "filter", json!(1)),
        ("/source", "watermark_columns", json!(["at"])),
        ("/source", "format", json!("iceberg")),
        ("/destination", "load_type", json!("teleport")),
        ("/destination", "cluster_columns", json!(["a"])),
        ("/destination", "on_duplicate_key", json!("quarantine")),
        ("/destination", "max_removed_fraction", json!(1.5)),
        ("/destination", "scd2_columns", json!({"valid_form": "a"})),
        ("/destination", "columns", json!([])),
        ("", "limits", json!({"memory_bytes": 0})),
        ("", "transforms", json!([{"type": "sort", "columns": "a"}])),
        ("", "transforms", json!([{"type": "filter", "columns": ["a"]}])),
        ("", "transforms", json!([{"type": "debug"}])),
        ("", "transforms", json!([{"cast": {"columns": {"a": "int64"}, "on_error": null}}])),
        ("", "rules", json!([{"min_rows": -1}])),
        ("", "rules", json!({"not_null": {"column": "a"}})),
        ("", "rules", json!([{"type": "not_null", "columns": ["a"], "on_null": "pass"}])),
        ("", "max_quarantine_fraction", json!(2)),
        ("", "name", json!(7)),
    ] {
        let mut flow = good.clone();
        flow.pointer_mut(pointer).unwrap()[key] = bad;
        assert!(validate(&schema, &schema, &flow, "$").is_err(), "{pointer}/{key}");
    }
    for absent in ["name", "source", "destination"] {
        let mut flow = good.clone();
        flow.as_object_mut().unwrap().remove(absent);
        assert!(validate(&schema, &schema, &flow, "$").is_err(), "{absent}");
    }
}

/// The keywords that our schema uses, but `pattern`: judging that needs a library.
fn validate(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Some(keywords) = schema.as_object() else {
        return if *schema == json!(true) {
            Ok(())
        } else {
            Err(format!("{at}: nothing is valid here"))
        };
    };
    let check = |ok: bool, what: &Value| {
        if ok { Ok(()) } else { Err(format!("{at}: {value} breaks {what}")) }
    };
    let all = |schemas: &Value| -> Vec<_> {
        let schemas = schemas.as_array().unwrap();
        assert!(!schemas.is_empty(), "{at}: JSON Schema has no empty lists of schemas");
        schemas.iter().map(|schema| validate(root, schema, value, at)).collect()
    };
    for (keyword, wanted) in keywords {
        match keyword.as_str() {
            "$ref" => validate(
                root,
                root.pointer(wanted.as_str().unwrap().trim_start_matches('#')).unwrap(),
                value,
                at,
            )?,
            "type" => {
                let types = wanted.as_array().cloned().unwrap_or_else(|| vec![wanted.clone()]);
                check(types.iter().any(|name| is(value, name.as_str().unwrap())), wanted)?;
            }
            "const" => check(value == wanted, wanted)?,
            "anyOf" => check(all(wanted).iter().any(Result::is_ok), &json!(all(wanted)))?,
            "oneOf" => {
                check(all(wanted).iter().filter(|result| result.is_ok()).count() == 1, wanted)?
            }
            "allOf" => all(wanted).into_iter().collect::<Result<(), _>>()?,
            "required" => {
                for key in wanted.as_array().unwrap() {
                    check(value.get(key.as_str().unwrap()).is_some(), key)?;
                }
            }
            "properties" => {
                for (key, inner) in value.as_object().into_iter().flatten() {
                    match wanted.get(key) {
                        Some(schema) => validate(root, schema, inner, &format!("{at}.{key}"))?,
                        None => check(schema["additionalProperties"] != json!(false), &json!(key))?,
                    }
                }
            }
            "additionalProperties" if wanted.is_object() => {
                for (key, inner) in value.as_object().into_iter().flatten() {
                    validate(root, wanted, inner, &format!("{at}.{key}"))?;
                }
            }
            "items" => {
                for inner in value.as_array().into_iter().flatten() {
                    validate(root, wanted, inner, &format!("{at}[]"))?;
                }
            }
            "minItems" => check(
                value.as_array().is_none_or(|items| items.len() as u64 >= wanted.as_u64().unwrap()),
                wanted,
            )?,
            "minProperties" => check(
                value.as_object().is_none_or(|map| map.len() as u64 >= wanted.as_u64().unwrap()),
                wanted,
            )?,
            "minLength" => check(value.as_str().is_none_or(|text| !text.is_empty()), wanted)?,
            "minimum" => check(
                value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
                wanted,
            )?,
            "maximum" => check(
                value.as_f64().is_none_or(|number| number <= wanted.as_f64().unwrap()),
                wanted,
            )?,
            // A pattern tells templates from other text; without a library only that one is judged.
            "pattern" if wanted == "\\{\\{" => {
                check(value.as_str().is_none_or(|text| text.contains("{{")), wanted)?
            }
            "pattern" if wanted.as_str().unwrap().starts_with("^\\s*([") => {
                check(
                    value.as_str().is_none_or(|text| is_word(wanted.as_str().unwrap(), text)),
                    wanted,
                )?;
            }
            "pattern" | "additionalProperties" | "description" | "title" | "$schema" | "$defs" => {}
            other => panic!("the schema uses `{other}`, which this test does not judge"),
        }
    }
    Ok(())
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{other} is no JSON type"),
    }
}

/// Whether `text` is one of the words of a pattern such as `^\s*([Aa][Bb]|[Cc])\s*$`.
fn is_word(pattern: &str, text: &str) -> bool {
    let words = pattern.trim_start_matches("^\\s*(").trim_end_matches(")\\s*$");
    let lower = |word: &str| word.replace(|c: char| c.is_ascii_uppercase() || "[]".contains(c), "");
    words.split('|').any(|word| lower(word) == text.trim().to_lowercase())
}
