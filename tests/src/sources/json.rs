//! JSON: what is none, and what keys and digits become.

use std::fs;

use arrow::datatypes::DataType;
use wasmhost::flow::JsonRead;
use wasmhost::flow::ReadFormat;
use wasmhost::flow::Source;

use super::check;
use super::column;
use super::shown;
use super::source;

#[test]
fn json_lines_that_are_none_are_refused_with_their_line() {
    let shape = "JSON lines have one whole object a line, and no list around them; a list is `format: json`";
    check_jsonl(
        &[("a.jsonl", "{\"a\": 1}\n[{\"a\": 1}]\n")],
        &format!(
            "DIR/a.jsonl:2: invalid type: sequence, expected a JSON object (at character 0) [data]\n  hint: {shape}"
        ),
    );
    check_jsonl(
        &[("a.jsonl", "{\"a\": 1}\n{\"a\": \n")],
        &format!(
            "DIR/a.jsonl:2: EOF while parsing a value (at character 0) [data]\n  hint: {shape}"
        ),
    );
    check_jsonl(
        &[
            ("a.jsonl", "{\"a\": {\"b\": 1}}\n"),
            ("b.jsonl", "{\"a\": {\"b\": 1}}\n{\"a\": {\"b\": {}}}\n"),
        ],
        "DIR/b.jsonl:2: a.b: it is an object here and a number before [data]\n  hint: one key has one shape in all objects; mend the data, or transform it before",
    );
    let sampled = ReadFormat::Jsonl(JsonRead { infer_schema_rows: Some(1) });
    let hint = "  hint: without `infer_schema_rows` all objects are looked at; `schema_hints` declares types";
    check(
        &[("a.jsonl", "{\"a\": 1}\n{\"a\": 1}\n{\"a\": 1}\n{\"b\": 1}\n")],
        sampled.clone(),
        |_| {},
        &format!(
            "a Int64\nDIR/a.jsonl#1: 1  1\nDIR/a.jsonl:4: b: row 4: the objects that were looked at have no such key [data]\n{hint}"
        ),
    );
    check(
        &[("a.jsonl", "{\"a\": 1}\n{\"a\": [2]}\n")],
        sampled,
        |_| {},
        &format!(
            "a Int64\nDIR/a.jsonl:2: a: row 2: `[2]` is not int64, as in the objects that were looked at [data]\n{hint}"
        ),
    );
}

#[test]
fn declared_types_of_json_take_values_of_their_kind_alone() {
    for (value, to, right) in [
        ("1.5", DataType::Int64, "error"),
        ("\"x\"", DataType::Int64, "error"),
        ("true", DataType::Int64, "error"),
        ("9223372036854775808", DataType::Int64, "error"),
        ("300", DataType::Int8, "error"),
        ("1e400", DataType::Float64, "error"),
        ("\"2024-02-30\"", DataType::Date32, "error"),
        ("1.005", DataType::Decimal128(5, 2), "error"),
        ("[1]", DataType::Int64, "error"),
        ("12345678901234567890123.25", DataType::Decimal128(38, 2), "12345678901234567890123.25"),
        ("18446744073709551615", DataType::UInt64, "18446744073709551615"),
        ("00501", DataType::Utf8, "error"),
        ("\"00501\"", DataType::Utf8, "00501"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        fs::write(&path, format!("{{\"a\":{value}}}\n")).unwrap();
        let mut source = source(&path, ReadFormat::Jsonl(JsonRead { infer_schema_rows: None }));
        source.schema_hints = [(column("a"), to.clone())].into();
        let shown = shown(&source, 1, folder.path());
        match right {
            "error" => assert!(
                shown.contains("[data]") && shown.contains("a.jsonl:1"),
                "{value} as {to}: {shown}"
            ),
            right => assert!(shown.ends_with(&format!("#1: {right}")), "{value} as {to}: {shown}"),
        }
    }
}

#[test]
fn json_files_have_the_keys_of_all_of_them_whatever_is_said_of_merging() {
    for merge_schema in [false, true] {
        check(
            &[("a.jsonl", "{\"a\":1}\n"), ("b.jsonl", "{\"b\":\"x\"}\n")],
            ReadFormat::Jsonl(JsonRead { infer_schema_rows: None }),
            |source| source.merge_schema = merge_schema,
            "a Int64, b Utf8\nDIR/a.jsonl#1: 1|-\nDIR/b.jsonl#1: -|x",
        );
    }
}

#[test]
fn json_lines_keep_late_keys_digits_and_shapes() {
    check_jsonl(
        &[
            ("a.jsonl", "{\"a\": 1}\n\n{\"a\": 2.5, \"o\": {\"x\": [1]}}\n"),
            ("b.jsonl", "{\"late\": \"z\"}\n{\"o\": {\"y\": null}}"),
        ],
        "a Float64, o Struct(\"x\": List(Int64), \"y\": Utf8), late Utf8\n\
         DIR/a.jsonl#1: 1.0|-|-  2.5|{x: [1], y: }|-\n\
         DIR/b.jsonl#1: -|-|z  -|{x: , y: }|-",
    );
    check_jsonl(
        &[(
            "a.jsonl",
            "{\"n\": 12345678901234567890123, \"m\": 1}\n{\"n\": 1, \"m\": \"x\"}\n{\"n\": null, \"m\": true}\n",
        )],
        "n Utf8, m Utf8\nDIR/a.jsonl#1: 12345678901234567890123|1  1|x\nDIR/a.jsonl#3: -|true",
    );
    let hinted = |source: &mut Source| {
        source.columns = Some(vec![column("p"), column("d")]);
        source.schema_hints =
            [(column("p"), DataType::Decimal128(30, 2)), (column("d"), DataType::Date32)].into();
    };
    check(
        &[("a.jsonl", "{\"d\": \"2024-02-29\", \"p\": 1234567890123456789012.5, \"x\": 1}\n")],
        ReadFormat::Jsonl(JsonRead { infer_schema_rows: None }),
        hinted,
        "p Decimal128(30, 2), d Date32\nDIR/a.jsonl#1: 1234567890123456789012.50|2024-02-29",
    );
}

fn check_jsonl(files: &[(&str, &str)], right: &str) {
    check(files, ReadFormat::Jsonl(JsonRead { infer_schema_rows: None }), |_| {}, right);
}
