//! Each type of Postgres as the column that it makes, at its limits and with NULL; what has no exact place is an error.

use arrow::array::AsArray as _;
use arrow::datatypes::DataType;
use arrow::datatypes::Date32Type;
use arrow::datatypes::TimeUnit;
use arrow::datatypes::TimestampMicrosecondType;
use wasmhost::source::Rows;

use super::check;
use super::query;
use super::server::server;
use super::shown;
use super::source;
use crate::sources::column;

/// The values as a column of the type, and NULL after them, in one query.
fn values(data_type: &str, values: &[&str]) -> String {
    let rows: Vec<_> = values.iter().map(|value| format!("('{value}'::{data_type})")).collect();
    format!("SELECT v FROM (VALUES {}, (NULL::{data_type})) AS t(v)", rows.join(", "))
}

/// Types of the tests' own, and the extension `citext`.
pub(super) fn prepared() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        server().does(
            "CREATE EXTENSION citext; CREATE SCHEMA types; CREATE TYPE types.mood AS ENUM ('sad', 'ok');
             CREATE TYPE types.pair AS (a int, b text); CREATE DOMAIN types.cents AS numeric(9, 2);
             CREATE DOMAIN types.small AS int2 CHECK (value > 0); CREATE DOMAIN types.any_number AS numeric",
        );
    });
}

#[test]
fn values_that_no_column_holds_are_errors_with_their_row() {
    prepared();
    let hint = "leave such rows out or change the value in a `query`, or declare another type in `schema_hints`";
    for (data_type, good, bad, arrow, what) in [
        ("date", "2000-01-01", "infinity", "Date32", "`infinity` is no date"),
        ("date", "2000-01-01", "-infinity", "Date32", "`-infinity` is no date"),
        ("timestamp", "2000-01-01", "infinity", "Timestamp(µs)", "`infinity` is no timestamp"),
        (
            "timestamptz",
            "2000-01-01",
            "-infinity",
            "Timestamp(µs, \"UTC\")",
            "`-infinity` is no timestamp",
        ),
        (
            "timestamp",
            "2000-01-01",
            "294276-12-31 23:59:59",
            "Timestamp(µs)",
            "it is a timestamp too far off",
        ),
        ("time", "00:00", "24:00", "Time64(µs)", "`24:00:00` is no time of a day"),
        (
            "numeric(5, 2)",
            "1",
            "NaN",
            "Decimal128(5, 2)",
            "`NaN` is not a decimal(5,2): no decimal is that",
        ),
        (
            "int4[]",
            "{}",
            "{{1,2},{3,4}}",
            "List(Int32)",
            "it is an array of 2 dimensions; lists have one",
        ),
        ("date[]", "{2000-01-01}", "{infinity}", "List(Date32)", "`infinity` is no date"),
    ] {
        // Two whole batches come before it.
        let text = format!(
            "SELECT v FROM (VALUES ('{good}'::{data_type}), (NULL::{data_type}), (NULL::{data_type}), (NULL::{data_type}), ('{bad}'::{data_type})) AS t(v)"
        );
        let told = shown(&source(query(&text)), 2);
        let lines: Vec<_> = told.lines().collect();
        assert_eq!(lines[0], format!("v {arrow}"), "{told}");
        let right = format!("query of DIR: v: row 5: {what} [data]");
        assert_eq!(lines[3..], [right, format!("  hint: {hint}")], "{data_type}: {told}");
    }
}

#[test]
fn types_without_an_exact_place_are_refused_by_name_where_they_are_wanted() {
    prepared();
    for (value, name) in [
        ("interval '1 day'", "interval"),
        ("1::money", "money"),
        ("current_time", "timetz"),
        ("int4range(1, 2)", "int4range"),
        ("point(1, 2)", "point"),
        ("'::1'::inet", "inet"),
        ("1::oid", "oid"),
        ("B'101'", "bit"),
        ("'<a/>'::xml", "xml"),
        ("ROW(1, 'x')::types.pair", "pair"),
        ("ARRAY[interval '1 day']", "interval[]"),
        ("ARRAY[1.5]", "numeric[]"),
        ("'a'::\"char\"", "char"),
    ] {
        let right = format!(
            "flow.yaml: source: column `v`: it is of the type `{name}`, which has no exact place in a table [schema]\n  hint: cast it in a `query`, as in `v::text`, or leave it out of `columns`"
        );
        check(query(&format!("SELECT {value} AS v, 1 AS n")), |_| {}, &right);
        let only = |source: &mut wasmhost::flow::Source| source.columns = Some(vec![column("n")]);
        check(query(&format!("SELECT {value} AS v, 1 AS n")), only, "n Int32\nquery#1: 1");
    }
    for (value, name) in [
        ("1.5", "v"),
        ("1.5::numeric(40, 2)", "v"),
        ("1.5::types.any_number", "v"),
        ("sum(1.5::numeric(5,2))", "v"),
    ] {
        let told = shown(&source(query(&format!("SELECT {value} AS {name}"))), 2);
        let right = "flow.yaml: source: column `v`: it is `numeric` without a precision that a decimal holds, so its digits are not known [schema]\n  \
             hint: declare them: `schema_hints: { v: \"decimal(38, 9)\" }`, or `text` for the digits as they are";
        assert_eq!(told, right, "{value}");
    }
}

#[test]
fn names_that_are_repeated_or_not_there_are_all_reported() {
    let text = "SELECT 1 AS a, 2 AS b, 3 AS a, 4 AS \"B\", 5 AS a, 6 AS b";
    check(
        query(text),
        |source| {
            source.columns = Some(vec![column("B"), column("c"), column("__file_path")]);
            source.schema_hints = [(column("x"), DataType::Utf8)].into();
        },
        "flow.yaml: source.query: the query has several columns of the name `a` [schema]\n  hint: give each a name of its own, as in `SELECT a.id AS a_id, b.id AS b_id`\n\
         flow.yaml: source.query: the query has several columns of the name `b` [schema]\n  hint: give each a name of its own, as in `SELECT a.id AS a_id, b.id AS b_id`\n\
         flow.yaml: source.schema_hints.x: the query has no column `x` [unknown-name]\n  hint: did you mean `a`?\n\
         flow.yaml: source.columns[1]: the query has no column `c` [unknown-name]\n  hint: did you mean `a`?\n\
         flow.yaml: source.columns[2]: the query has no column `__file_path` [unknown-name]\n  hint: known: `a`, `b`, `a`, `B`, `a`, `b`",
    );
}

#[test]
fn each_type_is_its_column_at_its_limits_and_with_null() {
    prepared();
    for (data_type, given, right) in [
        ("bool", &["t", "f"][..], "v Boolean\nquery#1: true|false|-"),
        ("int2", &["-32768", "32767"], "v Int16\nquery#1: -32768|32767|-"),
        ("int4", &["-2147483648", "2147483647"], "v Int32\nquery#1: -2147483648|2147483647|-"),
        (
            "int8",
            &["-9223372036854775808", "9223372036854775807"],
            "v Int64\nquery#1: -9223372036854775808|9223372036854775807|-",
        ),
        ("float4", &["NaN", "-Infinity", "0.1", "-0"], "v Float32\nquery#1: NaN|-inf|0.1|-0.0|-"),
        (
            "float8",
            &["NaN", "Infinity", "0.1", "1e-320"],
            "v Float64\nquery#1: NaN|inf|0.1|1e-320|-",
        ),
        ("text", &["", "ß😀"], "v Utf8\nquery#1: |ß😀|-"),
        ("varchar(3)", &["abc"], "v Utf8\nquery#1: abc|-"),
        ("char(4)", &["ab"], "v Utf8\nquery#1: ab  |-"),
        ("name", &["pg"], "v Utf8\nquery#1: pg|-"),
        ("citext", &["Ab"], "v Utf8\nquery#1: Ab|-"),
        ("types.mood", &["ok", "sad"], "v Utf8\nquery#1: ok|sad|-"),
        ("bytea", &["\\x00ff", ""], "v Binary\nquery#1: 00ff||-"),
        (
            "uuid",
            &["0123456789abcdefFEDCBA9876543210"],
            "v Utf8\nquery#1: 01234567-89ab-cdef-fedc-ba9876543210|-",
        ),
        ("json", &["{\"b\":1,  \"a\":[]}"], "v Utf8\nquery#1: {\"b\":1,  \"a\":[]}|-"),
        (
            "jsonb",
            &["{\"b\":1,  \"a\":[]}", "null"],
            "v Utf8\nquery#1: {\"a\": [], \"b\": 1}|null|-",
        ),
        ("date", &["0001-01-01", "2024-02-29"], "v Date32\nquery#1: 0001-01-01|2024-02-29|-"),
        (
            "time",
            &["00:00", "23:59:59.999999"],
            "v Time64(µs)\nquery#1: 00:00:00|23:59:59.999999|-",
        ),
        (
            "timestamp",
            &["1900-01-01 00:00:00.000001", "2024-03-10 02:30"],
            "v Timestamp(µs)\nquery#1: 1900-01-01T00:00:00.000001|2024-03-10T02:30:00|-",
        ),
        // The server's own zone is New York's.
        (
            "timestamptz",
            &["2024-07-01 12:00", "2024-01-01 12:00:00.5+02"],
            "v Timestamp(µs, \"UTC\")\nquery#1: 2024-07-01T16:00:00Z|2024-01-01T10:00:00.500Z|-",
        ),
        (
            "numeric(10, 2)",
            &["-99999999.99", "0", "1.5", "1.005"],
            "v Decimal128(10, 2)\nquery#1: -99999999.99|0.00|1.50|1.01|-",
        ),
        (
            "numeric(38)",
            &["-99999999999999999999999999999999999999", "1e37"],
            "v Decimal128(38, 0)\nquery#1: -99999999999999999999999999999999999999|10000000000000000000000000000000000000|-",
        ),
        (
            "numeric(38, 38)",
            &["0.00000000000000000000000000000000000001"],
            "v Decimal128(38, 38)\nquery#1: 0.00000000000000000000000000000000000001|-",
        ),
        ("numeric(3, -2)", &["99900", "149"], "v Decimal128(5, 0)\nquery#1: 99900|100|-"),
        ("numeric(2, 5)", &["0.00099"], "v Decimal128(5, 5)\nquery#1: 0.00099|-"),
        ("types.cents", &["-0.01"], "v Decimal128(9, 2)\nquery#1: -0.01|-"),
        ("types.small", &["7"], "v Int16\nquery#1: 7|-"),
        (
            "int4[]",
            &["{1,NULL,-3}", "{}", "[5:6]={7,8}"],
            "v List(Int32)\nquery#1: [1, , -3]|[]|[7, 8]|-",
        ),
        ("text[]", &["{\"a b\",\"\",NULL}"], "v List(Utf8)\nquery#1: [a b, , ]|-"),
        ("numeric(5, 1)[]", &["{1,2.5}"], "v List(Decimal128(5, 1))\nquery#1: [1.0, 2.5]|-"),
        ("types.mood[]", &["{ok}"], "v List(Utf8)\nquery#1: [ok]|-"),
        ("types.small[]", &["{7}"], "v List(Int16)\nquery#1: [7]|-"),
        ("uuid[]", &["{}"], "v List(Utf8)\nquery#1: []|-"),
    ] {
        let source = source(query(&values(data_type, given)));
        assert_eq!(shown(&source, 9), right.replace('|', "  "), "{data_type}");
    }
}

#[test]
fn days_and_moments_beyond_what_is_printed_are_kept() {
    let text = "SELECT * FROM (VALUES ('4713-01-01 BC'::date, '4713-01-01 BC'::timestamp), ('5874897-12-31', '294246-12-31 23:59:59.999999')) AS t(d, m)";
    let found = Rows::discover(&source(query(text))).unwrap();
    let batch = Rows::open(found, 9).next_batch().unwrap().unwrap().rows;
    assert_eq!(batch.column(0).as_primitive::<Date32Type>().values(), &[-2_440_550, 2_145_042_905]);
    let moments = batch.column(1).as_primitive::<TimestampMicrosecondType>();
    assert_eq!(moments.values(), &[-2_440_550 * 86_400_000_000, 9_223_371_244_799_999_999]);
}

#[test]
fn hints_declare_digits_and_other_types_exactly() {
    let check = |value: &str, hint: DataType, right: &str| {
        let text = format!("SELECT v FROM (VALUES (NULL), ({value})) AS t(v)");
        let change = |source: &mut wasmhost::flow::Source| {
            source.schema_hints = [(column("v"), hint)].into();
        };
        super::check(query(&text), change, &right.replace("HINT", "\n  hint: leave such rows out or change the value in a `query`, or declare another type in `schema_hints`"));
    };
    let decimal = |precision, scale| DataType::Decimal128(precision, scale);
    check("1.50", decimal(38, 9), "v Decimal128(38, 9)\nquery#1: -  1.500000000");
    check(
        "12345678901234567890123456789.123456789",
        decimal(38, 9),
        "v Decimal128(38, 9)\nquery#1: -  12345678901234567890123456789.123456789",
    );
    check(
        "1.505",
        decimal(9, 2),
        "v Decimal128(9, 2)\nquery of DIR: v: row 2: `1.505` is not a decimal(9,2): it has more digits after the point [data]HINT",
    );
    check(
        "1e9",
        decimal(9, 2),
        "v Decimal128(9, 2)\nquery of DIR: v: row 2: `1000000000` is not a decimal(9,2): it has more digits before the point [data]HINT",
    );
    check("1.50::numeric(9,2)", decimal(4, 1), "v Decimal128(4, 1)\nquery#1: -  1.5");
    check("1.500", DataType::Utf8, "v Utf8\nquery#1: -  1.500");
    check("'NaN'::numeric(9,2)", DataType::Utf8, "v Utf8\nquery#1: -  NaN");
    check("-0.00012::numeric", DataType::Utf8, "v Utf8\nquery#1: -  -0.00012");
    check("12::numeric", DataType::Int64, "v Int64\nquery#1: -  12");
    check("1.5", DataType::Float64, "v Float64\nquery#1: -  1.5");
    check("7", DataType::Utf8, "v Utf8\nquery#1: -  7");
    check("300", DataType::Int8, "v Int8\nquery of DIR: v: row 2: `300` is not int8 [data]HINT");
    check(
        "'2024-01-02'::date",
        DataType::Timestamp(TimeUnit::Microsecond, None),
        "v Timestamp(µs)\nquery#1: -  2024-01-02T00:00:00",
    );
    check(
        "'x'::text",
        DataType::Int32,
        "v Int32\nquery of DIR: v: row 2: `x` is not int32 [data]HINT",
    );
    check(
        "true",
        DataType::Date32,
        "flow.yaml: source: column `v`: Boolean cannot be read as Date32 [schema]\n  hint: cast it in a `query`",
    );
}
