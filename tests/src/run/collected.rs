//! Values of the data in later SQL: every value of every type that SQL can write is in its list, and no other.

use super::Stage;
use super::books::count;

/// Collects `v`, three values and NULL, and keeps the rows for which `keep` is true; tells how many are left, or what was said.
fn check(values: &str, keep: &str) -> Result<u64, String> {
    let stage = Stage::new(&[("in.csv", "id\n1\n2\n3\n4\n")]);
    let flow = format!(
        "name: f\nsource: {{ format: csv, path: in.csv }}\n\
         transforms:\n  - {{ type: sql, query: {} }}\n  - {{ type: collect, column: v, as: vs }}\n\
         \x20 - {{ type: filter, expression: {keep:?} }}\n\
         destination: {{ name: d, format: parquet, path: out }}\n",
        serde_json::json!(format!("SELECT id, {values} AS v FROM input"))
    );
    stage.put("f.yaml", &flow);
    let checked = stage.command(&["check", "f.yaml"]);
    if checked.code != 0 {
        return Err(checked.stderr);
    }
    let (code, evidence, said) = stage.run("f.yaml", &[]);
    match code {
        0 => Ok(count(&evidence, "/destinations/0/rows_written")),
        _ => Err(said),
    }
}

#[test]
fn types_that_sql_does_not_write_are_refused_by_name() {
    for values in [
        "arrow_cast('a', 'Binary')",
        "make_array(id)",
        "named_struct('a', id)",
        "arrow_cast(id, 'Duration(Second)')",
        "INTERVAL '1 day'",
    ] {
        let said = check(values, "true").unwrap_err();
        assert!(said.contains("f.yaml:5:5: transforms[1]: values of `v` are "), "{values}: {said}");
        assert!(said.contains("`cast` others before"), "{values}: {said}");
    }
    let said = check("id", "vs IN ({{ vs }})").unwrap_err();
    assert!(said.contains("transforms[2].expression: No field named vs"), "{said}");
}

#[test]
fn values_stay_values_wherever_they_stand() {
    // The list is a list, not a piece of text: it neither ends what it stands in nor joins what stands beside it.
    let evil = "'x'' OR true --', '*/ OR true /*', '$$ OR true OR v = $$', '\" OR true --'";
    let values = format!("make_array({evil})[id]");
    assert_eq!(check(&values, "v IN ({{ vs }})"), Ok(4));
    for (keep, code) in [
        ("id = 1\n-- was: AND v IN ({{ vs }})", "comment"),
        ("id = 1 /* AND v IN ({{ vs }}) */", "comment"),
        ("v = '{{ vs }}'", "literal"),
        ("v = $$ {{ vs }} $$", "literal"),
        ("v = E'{{ vs }}'", "literal"),
        ("\"{{ vs }}\" = 1", "name"),
        ("a{{ vs }} = 1", "name"),
        ("v = 'open {{ vs }}", "this is no SQL"),
    ] {
        let said = check(&values, keep).unwrap_err();
        assert!(
            said.contains("transforms[2].expression: ") && said.contains(code),
            "{keep}: {said}"
        );
    }
    for (data_type, right) in [("Int32", 2), ("Int64", 2), ("Float64", 2), ("Decimal128(9, 2)", 2)]
    {
        // One value, less than nothing.
        let values = format!("arrow_cast(CASE WHEN id > 0 THEN -2 END, '{data_type}')");
        assert_eq!(check(&values, "id > 0 -{{ vs }}"), Ok(right), "{data_type}");
    }
}

#[test]
fn no_values_are_a_list_of_their_type_and_mistakes_name_the_step() {
    for data_type in
        ["Utf8", "Int32", "Int64", "Decimal128(9, 2)", "Date32", "Timestamp(Second, None)"]
    {
        let values = format!("arrow_cast(NULL, '{data_type}')");
        for keep in [
            "v IN ({{ vs }})",
            "v NOT IN ({{ vs }})",
            "greatest({{ vs }}) > v",
            "cardinality(make_array({{ vs }})) = 2",
        ] {
            assert_eq!(check(&values, keep), Ok(0), "{data_type}: {keep}");
        }
    }
    for data_type in ["Int8", "Int32", "Int64", "UInt64", "Float32", "Utf8", "Boolean"] {
        let values = format!("arrow_cast(id > 2, '{data_type}')");
        let keep = format!("arrow_typeof(greatest({{{{ vs }}}})) = '{data_type}'");
        assert_eq!(check(&values, &keep), Ok(4), "{data_type}");
    }
    let said = check("arrow_cast(id * 400000000, 'Date32')", "v IN ({{ vs }})").unwrap_err();
    assert!(said.contains("f.yaml:5:5: transforms[1]: a value of `vs` has no text"), "{said}");
    let long = "repeat(concat('x', id), 100000)";
    let often = format!("v IN ({})", ["{{ vs }}"; 20].join(", "));
    let said = check(long, &often).unwrap_err();
    assert!(
        said.contains("f.yaml:6:5: transforms[2]: the collected values that it names have "),
        "{said}"
    );
}

#[test]
fn every_value_is_in_its_list_and_null_is_not() {
    let three = |values: [&str; 3], data_type: &str| {
        let [a, b, c] = values;
        format!(
            "arrow_cast(CASE id WHEN 1 THEN '{a}' WHEN 2 THEN '{b}' WHEN 3 THEN '{c}' END, '{data_type}')"
        )
    };
    for (values, data_type) in [
        (["it''s \\\\ \\n", "", "{{ '{{ vs }}' }} -- ä\u{1f600}"], "Utf8"),
        (["a", "b'', ''c", "a "], "LargeUtf8"),
        (["-128", "0", "127"], "Int8"),
        (["-32768", "0", "32767"], "Int16"),
        (["-2147483648", "0", "2147483647"], "Int32"),
        (["-9223372036854775808", "-1", "9223372036854775807"], "Int64"),
        (["0", "1", "255"], "UInt8"),
        (["0", "1", "4294967295"], "UInt32"),
        (["0", "9223372036854775808", "18446744073709551615"], "UInt64"),
        (["0.1", "-3.4028235e38", "1e-45"], "Float32"),
        (["0.1", "1.7976931348623157e308", "-5e-324"], "Float64"),
        (["Infinity", "-Infinity", "-0.0"], "Float64"),
        (["0.000000001", "-99999999999999999999999999999.999999999", "7"], "Decimal128(38, 9)"),
        (["true", "false", "true"], "Boolean"),
        (["0001-01-01", "1969-12-31", "9999-12-31"], "Date32"),
        (
            ["1969-12-31T23:59:59", "2024-02-29T00:00:00", "2038-01-19T03:14:08"],
            "Timestamp(Second, None)",
        ),
        (
            ["1969-12-31T23:59:59.999", "2024-02-29T00:00:00", "2038-01-19T03:14:08"],
            "Timestamp(Millisecond, None)",
        ),
        (
            ["1677-09-21T00:12:44.000001", "2024-02-29T00:00:00", "9999-12-31T23:59:59.999999"],
            "Timestamp(Microsecond, None)",
        ),
        (
            [
                "1969-12-31T23:59:59.999999999",
                "2024-02-29T00:00:00",
                "2262-04-11T23:47:16.854775806",
            ],
            "Timestamp(Nanosecond, None)",
        ),
        (
            ["1969-12-31T23:59:59.999999Z", "2024-02-29T00:00:00+02:00", "2038-01-19T03:14:08Z"],
            "Timestamp(Microsecond, Some(\"UTC\"))",
        ),
        (
            ["1969-12-31T23:59:59.999999Z", "2024-02-29T00:00:00+02:00", "2038-01-19T03:14:08Z"],
            "Timestamp(Microsecond, Some(\"+05:30\"))",
        ),
        (["00:00:00", "12:34:56", "23:59:59"], "Time32(Second)"),
        (["00:00:00", "12:34:56.789012", "23:59:59.999999"], "Time64(Microsecond)"),
    ] {
        let values = three(values, data_type);
        let case = format!("{data_type} of {values}");
        assert_eq!(check(&values, "v IN ({{ vs }})"), Ok(3), "{case}");
        assert_eq!(check(&values, "v NOT IN ({{ vs }})"), Ok(0), "{case}");
        assert_eq!(check(&values, "v IS NULL AND 1 IN (1, NULL)"), Ok(1), "{case}");
    }
}
