//! Expressions from text to values: what is refused first, then what goes wrong with data, then what comes out.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::BinaryArray;
use arrow::array::BooleanArray;
use arrow::array::Date32Array;
use arrow::array::Decimal128Array;
use arrow::array::Float64Array;
use arrow::array::Int8Array;
use arrow::array::Int64Array;
use arrow::array::RecordBatch;
use arrow::array::StringArray;
use arrow::array::StringDictionaryBuilder;
use arrow::array::TimestampMicrosecondArray;
use arrow::array::UInt64Array;
use arrow::datatypes::Int32Type;
use arrow::util::display::array_value_to_string;

use super::*;

/// 2024-01-31 and 2024-02-29, in days; 2024-01-31T10:20:30.5, in microseconds.
const DAYS: [i32; 2] = [19_753, 19_782];
const MICROS: i64 = 1_706_696_430_500_000;

/// Two rows and a third that is all NULL.
fn rows() -> RecordBatch {
    let mut codes = StringDictionaryBuilder::<Int32Type>::new();
    codes.extend([Some("x"), Some("y"), None]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("UserId", Arc::new(Int64Array::from(vec![Some(1), Some(2), None]))),
        ("order", Arc::new(Int64Array::from(vec![Some(7), Some(i64::MAX), None]))),
        ("a.b", Arc::new(Int64Array::from(vec![Some(10), Some(0), None]))),
        ("K v", Arc::new(StringArray::from(vec![Some("07"), Some("7"), None]))),
        ("ключ", Arc::new(StringArray::from(vec![Some("да"), Some("straße"), None]))),
        ("id", Arc::new(Int64Array::from(vec![Some(100), Some(200), None]))),
        ("ID", Arc::new(Int64Array::from(vec![Some(-100), Some(-200), None]))),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("small", Arc::new(Int8Array::from(vec![Some(127), Some(-128), None]))),
        ("big", Arc::new(UInt64Array::from(vec![Some(u64::MAX), Some(0), None]))),
        ("f", Arc::new(Float64Array::from(vec![Some(0.5), Some(-0.0), None]))),
        (
            "price",
            Arc::new(
                Decimal128Array::from(vec![Some(110), Some(99_999), None])
                    .with_precision_and_scale(5, 2)
                    .unwrap(),
            ),
        ),
        (
            "huge",
            Arc::new(
                Decimal128Array::from(vec![Some(10_i128.pow(38) - 1), Some(1), None])
                    .with_precision_and_scale(38, 0)
                    .unwrap(),
            ),
        ),
        ("day", Arc::new(Date32Array::from(vec![Some(DAYS[0]), Some(DAYS[1]), None]))),
        ("at", Arc::new(TimestampMicrosecondArray::from(vec![Some(MICROS), Some(0), None]))),
        (
            "utc",
            Arc::new(
                TimestampMicrosecondArray::from(vec![Some(MICROS), Some(0), None])
                    .with_timezone("UTC"),
            ),
        ),
        ("code", Arc::new(codes.finish())),
        ("raw", Arc::new(BinaryArray::from(vec![Some(&b"ab"[..]), Some(b"c"), None]))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn scope() -> Scope {
    Scope::table(rows().schema())
}

fn pairs() -> Scope {
    Scope::aliased([("T", rows().schema()), ("S", rows().schema())])
}

fn evaluated(expression: &Expression, rows: &RecordBatch) -> Result<String, Failure> {
    let values = expression.evaluate(&rows.project(expression.columns()).unwrap())?;
    assert_eq!(values.data_type(), expression.data_type());
    assert_eq!(values.len(), rows.num_rows());
    let shown = |i| match values.is_null(i) {
        true => "NULL".to_owned(),
        false => array_value_to_string(&values, i).unwrap(),
    };
    Ok((0..values.len()).map(shown).collect::<Vec<_>>().join(" | "))
}

/// Runs the cases and shows all that are wrong.
fn all(cases: &[(&str, &str)], wrong: impl Fn(&str, &str) -> Option<String>) {
    let found: Vec<_> = cases
        .iter()
        .filter_map(|(sql, right)| {
            wrong(sql, right).map(|was| format!("{sql}: {was}, not {right}"))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// What it gives for all rows, or why it does not.
fn outcome(sql: &str) -> Result<String, String> {
    let expression =
        Expression::compile(sql, &scope()).map_err(|mistake| format!("mistake: {mistake}"))?;
    evaluated(&expression, &rows()).map_err(|failure| format!("failure: {failure}"))
}

fn gives(sql: &str, right: &str) -> Option<String> {
    let was = outcome(sql).unwrap_or_else(|why| why);
    (was != right).then_some(was)
}

fn refuses(sql: &str, right: &str) -> Option<String> {
    let was = outcome(sql).unwrap_or_else(|why| why);
    (!was.starts_with(&format!("mistake: {right}"))).then_some(was)
}

fn fails(sql: &str, right: &str) -> Option<String> {
    let was = outcome(sql).unwrap_or_else(|why| why);
    (!was.starts_with(&format!("failure: {right}"))).then_some(was)
}

#[test]
fn what_is_no_scalar_expression_is_refused_by_name() {
    all(
        &[
            ("", "the expression is empty"),
            ("  ", "the expression is empty"),
            ("id = 1; DROP TABLE x", "`;` is not taken"),
            ("id = 1 -- all", "comments are not taken"),
            ("id = /* */ 1", "comments are not taken"),
            ("id = 1 id", "`id` is not expected after the expression"),
            ("id AS x", "`AS` is not expected after the expression"),
            ("SELECT 1", "`1` is not expected"),
            ("(SELECT 1)", "a subquery is not offered"),
            ("id IN (SELECT 1)", "a subquery is not offered"),
            ("EXISTS (SELECT 1)", "a subquery is not offered"),
            ("id = ANY(ARRAY[1])", "ANY is not offered"),
            ("id = $1", "`$1` stands for a value that nobody gives"),
            ("id = ?", "`?` stands for a value that nobody gives"),
            ("id = @x", "there is no column `@x`"),
            ("sum(id)", "function `sum` is not offered"),
            ("count(*)", "function `count` is not offered"),
            ("row_number() OVER ()", "function `row_number` is not offered"),
            ("lower(\"K v\") OVER ()", "function `lower` takes values in parentheses"),
            ("concat(DISTINCT \"K v\")", "function `concat` takes values in parentheses"),
            ("random()", "function `random` is not offered"),
            ("now()", "function `now` is not offered"),
            ("current_date", "function `current_date` is not offered"),
            ("CURRENT_TIMESTAMP", "function `CURRENT_TIMESTAMP` is not offered"),
            ("uuid()", "function `uuid` is not offered"),
            ("repeat('x', 1000000000)", "function `repeat` is not offered"),
            ("lpad('x', 1000000000)", "function `lpad` is not offered"),
            ("version()", "function `version` is not offered"),
            ("pg_catalog.lower('x')", "function `pg_catalog.lower` is not offered"),
            ("\"K v\" ~ 'x'", "operator `~` is not offered"),
            ("\"K v\" SIMILAR TO 'x'", "SIMILAR TO is not offered"),
            ("id & 1", "operator `&` is not offered"),
            ("flag XOR flag", "operator `XOR` is not offered"),
            ("[id]", "a list is not offered"),
            ("raw[1]", "access to a part"),
            ("{'a': 1}", "a value of several parts"),
            ("(id, id)", "a value of several parts"),
            ("CAST(id AS BLOB)", "type `BLOB` is not offered"),
            ("CAST(id AS DECIMAL(99, 2))", "type `DECIMAL(99,2)` is not offered"),
            ("CAST(id AS INT[])", "type `INT[]` is not offered"),
            ("at AT TIME ZONE 'Europe/Berlin'", "AT TIME ZONE is not offered"),
            ("INTERVAL '1 day'", "the expression gives"),
            ("NULL", "the expression is NULL for each row"),
            ("X'ff'", "`X'ff'` is not offered as a value"),
            ("E'\\n'", "`E'"),
        ],
        refuses,
    );
    let mistake = Expression::compile("uper(\"K v\")", &scope()).unwrap_err();
    assert_eq!(mistake.hint, "did you mean `upper`?");
    let mistake = Expression::predicate("id + 1", &scope()).unwrap_err();
    assert!(mistake.what.starts_with("this is no condition: it gives int64"), "{mistake}");
}

#[test]
fn text_without_bound_or_end_is_refused_on_a_small_stack() {
    let nest = |open: &str, close: &str, n| format!("{}id{}", open.repeat(n), close.repeat(n));
    let hostile = [
        " ".repeat(TEXT_BYTES_MAX + 1),
        nest("(", ")", 8000),
        nest("(", ")", 500),
        nest("(", ")", 100),
        nest("NOT ", "", 1000),
        nest("- ", "", 1000),
        nest("lower(", ")", 300),
        nest("CASE WHEN ", " THEN 1 END", 200),
        nest("CAST(", " AS TEXT)", 200),
        nest("CASE ", "", 1000),
        nest("coalesce(", ", 1)", 40),
        nest("CASE WHEN 1 = (", ") THEN 1 END", 20),
        nest("(", " BETWEEN 1 AND 2)", 40),
        nest("(SELECT ", ")", 300),
        nest("INTERVAL ", "", 1000),
        nest("[", "]", 500),
        nest("{'a':", "}", 200),
        nest("x -> ", "", 300),
        nest("id BETWEEN ", " AND 1", 300),
        nest("id IN (", ")", 300),
        nest("EXTRACT(YEAR FROM ", ")", 200),
        format!("id{}", "::text".repeat(500)),
        format!("id{}", " IS NULL".repeat(400)),
        format!("id{}", " + 1".repeat(1000)),
        format!("id{}", " || id".repeat(500)),
        format!("id{}", "[1]".repeat(300)),
        format!("id{}", ".id".repeat(500)),
        format!("CAST(id AS {}INT{})", "ARRAY<".repeat(300), ">".repeat(300)),
        format!("CAST(id AS {}INT{})", "STRUCT<a ".repeat(200), ">".repeat(200)),
        format!("CAST(id AS {}INT{})", "Nullable(".repeat(300), ")".repeat(300)),
        format!("CAST(id AS INT{})", "[]".repeat(500)),
        "/*".repeat(5000),
        "'".repeat(4001),
        "\"".repeat(4001),
    ];
    let small = std::thread::Builder::new().stack_size(2 << 20);
    let checked = small.spawn(move || {
        let broken = [
            ("(", ")"),
            ("lower(", ")"),
            ("CAST(", " AS TEXT)"),
            ("NOT (", ")"),
            ("CASE(", ")"),
            ("CASE WHEN ", " THEN 1 END"),
            ("x[", "]"),
            ("EXTRACT(YEAR FROM ", ")"),
            ("INTERVAL (", ")"),
            ("f((", "))"),
            ("- ", ""),
            ("DATE(", ")"),
            ("(id, ", ")"),
            ("id IN (", ")"),
            ("[", "]"),
            ("{'a':", "}"),
            ("TRIM(BOTH ", ")"),
            ("f(x -> ", ")"),
            ("(x) -> ", ""),
            ("(SELECT ", ")"),
        ];
        let broken = broken.into_iter().flat_map(|(open, close)| {
            [8, 40].map(|n| format!("{}id id id{}", open.repeat(n), close.repeat(n)))
        });
        for sql in hostile.into_iter().chain(broken) {
            let mistake = Expression::compile(&sql, &scope()).map(|_| ()).unwrap_err();
            assert!(mistake.to_string().len() < 1000, "{mistake}");
        }
        // As deep as it goes, and chains that are not deep at all.
        let deep = format!("{}id{}", "(1 + ".repeat(20), ")".repeat(20));
        assert_eq!(gives(&deep, "120 | 220 | NULL"), None);
        assert_eq!(gives(&format!("id{}", " + 1".repeat(DEPTH_MAX)), "148 | 248 | NULL"), None);
        assert_eq!(
            gives(&format!("id = 100{}", " OR id = 1".repeat(300)), "true | false | NULL"),
            None
        );
        assert_eq!(gives(&nest("coalesce(", ", 1)", 7), "100 | 200 | 1"), None);
        let cases = nest("CASE WHEN flag THEN ", " END", 40);
        assert_eq!(gives(&cases, "100 | NULL | NULL"), None);
        let many: Vec<_> = (0..3000).map(|n| n.to_string()).collect();
        assert_eq!(gives(&format!("id IN ({})", many.join(",")), "true | true | NULL"), None);
    });
    checked.unwrap().join().unwrap();
}

#[test]
fn wrong_names_are_mistakes_that_name_the_nearest() {
    all(
        &[
            ("userid = 1", "there is no column `userid`; did you mean `UserId`?"),
            ("Order_ = 1", "there is no column `Order_`; did you mean `order`?"),
            ("T.id = 1", "there is no column `T.id`"),
            ("id = \"x\"", "there is no column `x`"),
        ],
        refuses,
    );
    for (sql, right) in [
        ("id = 1", "`id` is in more than one table; write `T.id` or `S.id`"),
        ("T.userid = 1", "`T` has no column `userid`; did you mean `UserId`?"),
        ("t.id = 1", "`t` in `t.id` is no alias of a table; did you mean `T`?"),
        ("X.Y.id = 1", "`X` in `X.Y.id` is no alias of a table"),
    ] {
        let mistake = Expression::predicate(sql, &pairs()).unwrap_err().to_string();
        assert!(mistake.starts_with(right), "{sql}: {mistake}");
    }
}

#[test]
fn names_keep_their_case_quoted_and_unquoted() {
    assert_eq!(gives("UserId", "1 | 2 | NULL"), None);
    assert_eq!(gives("\"UserId\" + `UserId`", "2 | 4 | NULL"), None);
    assert_eq!(gives("\"order\"", "7 | 9223372036854775807 | NULL"), None);
    assert_eq!(gives("\"a.b\"", "10 | 0 | NULL"), None);
    assert_eq!(gives("a.b", "10 | 0 | NULL"), None);
    assert_eq!(gives("\"K v\"", "07 | 7 | NULL"), None);
    assert_eq!(gives("ключ", "да | straße | NULL"), None);
    assert_eq!(gives("id - ID", "200 | 400 | NULL"), None);
    assert_eq!(gives("LOWER(ключ)", "да | straße | NULL"), None);
    let both = |sql: &str| {
        let expression = Expression::predicate(sql, &pairs()).unwrap();
        let side = rows();
        let fields = side
            .schema()
            .fields()
            .iter()
            .chain(side.schema().fields())
            .cloned()
            .collect::<Vec<_>>();
        let columns = side.columns().iter().chain(side.columns()).cloned().collect();
        let wide =
            RecordBatch::try_new(Arc::new(arrow::datatypes::Schema::new(fields)), columns).unwrap();
        (expression.columns().to_vec(), evaluated(&expression, &wide).unwrap())
    };
    let width = rows().num_columns();
    assert_eq!(
        both("T.UserId = S.UserId AND T.\"order\" >= S.order"),
        (vec![0, 1, width, width + 1], "true | true | NULL".to_owned())
    );
    assert_eq!(both("S.\"a.b\" > T.a.b").0, [2, width + 2]);
    assert_eq!(both("T.ключ <> S.\"K v\"").1, "true | true | NULL");
    assert_eq!(both("T.flag IS NOT DISTINCT FROM S.flag").1, "true | true | true");
    let other = Arc::new(arrow::datatypes::Schema::new(vec![arrow::datatypes::Field::new(
        "only",
        DataType::Int64,
        true,
    )]));
    let mixed = Scope::aliased([("T", rows().schema()), ("S", other)]);
    assert_eq!(Expression::predicate("only > UserId", &mixed).unwrap().columns(), [0, width]);
}

#[test]
fn a_text_literal_is_read_as_the_type_beside_it_or_refused() {
    all(
        &[
            ("UserId = 'x'", "'x' is not int64"),
            ("UserId = '1.5'", "'1.5' is not int64"),
            ("UserId = ' 1'", "' 1' is not int64"),
            ("UserId = ''", "'' is not int64"),
            ("small = '128'", "'128' is not int8"),
            ("big = '-1'", "'-1' is not uint64"),
            ("flag = 'yes'", "'yes' is not a boolean: true or false"),
            ("flag = '1'", "'1' is not a boolean"),
            ("price = '1.005'", "'1.005' is not a decimal(5,2): it has more digits"),
            ("price = '1000'", "'1000' is not a decimal(5,2)"),
            ("price = '1e2'", "'1e2' is not a decimal(5,2): it has an exponent"),
            ("day = '2024-02-30'", "'2024-02-30' is not a date"),
            (
                "day = '2024-01-31 10:00:00'",
                "'2024-01-31 10:00:00' is not a date (YYYY-MM-DD): it is more",
            ),
            (
                "at = '2024-01-31T10:20:30Z'",
                "'2024-01-31T10:20:30Z' is not a timestamp without zone: it has a zone",
            ),
            (
                "at = '2024-01-31 10:20:30.1234567'",
                "'2024-01-31 10:20:30.1234567' is not a timestamp without",
            ),
            ("utc = 'soon'", "'soon' is not a timestamp"),
            ("utc IN ('2024-01-31', 'soon')", "'soon' is not a timestamp"),
            ("day BETWEEN '2024-01-01' AND 'x'", "'x' is not a date"),
            ("CASE day WHEN 'x' THEN 1 END", "'x' is not a date"),
            ("nullif(day, 'x')", "'x' is not a date"),
            ("DATE '2024-13-01' < day", "'2024-13-01' is not a date"),
            ("CAST('x' AS INT) = 1", "'x' is not int32"),
            ("\"K v\" = 7", "text cannot be compared with int64; cast one of them"),
            ("\"K v\" = UserId", "text cannot be compared with int64"),
            ("flag = 1", "a boolean cannot be compared with int64"),
            ("day = 1", "a date (YYYY-MM-DD) cannot be compared with int64"),
            ("'1' + \"K v\"", "`+` does not take text"),
            ("\"K v\" * 2", "`*` does not take text"),
        ],
        refuses,
    );
    all(
        &[
            ("\"K v\" = '07'", "true | false | NULL"),
            ("UserId = '01'", "true | false | NULL"),
            ("'2' = UserId", "false | true | NULL"),
            ("big = '18446744073709551615'", "true | false | NULL"),
            ("flag = 'TRUE'", "true | false | NULL"),
            ("price = '1.10'", "true | false | NULL"),
            ("price = '1.1000'", "true | false | NULL"),
            ("price = 1.1", "true | false | NULL"),
            ("price = 1.105", "false | false | NULL"),
            ("f = '0.5'", "true | false | NULL"),
            ("day = '2024-01-31'", "true | false | NULL"),
            ("day > '2024-01-31'", "false | true | NULL"),
            ("day IS NOT DISTINCT FROM '2024-01-31'", "true | false | false"),
            ("day IN ('2024-01-31', '2024-02-29')", "true | true | NULL"),
            ("at = '2024-01-31 10:20:30.500000'", "true | false | NULL"),
            ("at >= '2024-01-31'", "true | false | NULL"),
            ("utc = '2024-01-31 10:20:30.5'", "true | false | NULL"),
            ("utc = '2024-01-31T12:20:30.5+02:00'", "true | false | NULL"),
            ("utc = '1970-01-01T00:00:00Z'", "false | true | NULL"),
            ("code = 'x'", "true | false | NULL"),
            ("'a\\' = ключ", "false | false | NULL"),
            ("f = 0", "false | true | NULL"),
            ("code IN ('y', 'z')", "false | true | NULL"),
            ("raw = 'ab'", "true | false | NULL"),
            ("UserId = 1.5", "false | false | NULL"),
            ("UserId = NULL", "NULL | NULL | NULL"),
            ("big > -1", "true | true | NULL"),
            ("big > ID", "true | true | NULL"),
            ("id = 9223372036854775808", "false | false | NULL"),
            ("day = at", "false | false | NULL"),
        ],
        gives,
    );
}

#[test]
fn arithmetic_fails_and_never_wraps() {
    all(
        &[
            ("\"order\" + 1", "a number is too large for its type"),
            ("\"order\" * 2", "a number is too large for its type"),
            ("-2 - \"order\"", "a number is too large for its type"),
            ("small + small", "a number is too large for its type"),
            ("- small", "a number is too large for its type"),
            ("abs(small)", "Int8Array overflow on abs(-128)"),
            ("CAST(big AS BIGINT)", "a value cannot be read: "),
            ("huge + 1", "a number is too large for its type"),
            ("huge * 10", "a number is too large for its type"),
            ("9223372036854775807 + 1", "a number is too large for its type"),
            ("UserId / \"a.b\"", "division by zero"),
            ("UserId % \"a.b\"", "division by zero"),
            ("1 / 0", "division by zero"),
            ("price / 0", "division by zero"),
            ("CAST(id AS TINYINT)", "a value cannot be read: "),
            ("CAST(ключ AS BIGINT)", "a value cannot be read: "),
            ("CAST(ключ AS DATE)", "a value cannot be read: "),
            ("day + INTERVAL '9999999 years'", "Date arithmetic overflow"),
            ("at + INTERVAL '9999999 years'", "Timestamp out of range"),
            ("make_date(2023, 2, UserId + 28)", "Unable to parse date from 2023, 2, 29"),
            ("date_trunc('eon', at)", "Unsupported date_trunc granularity: 'eon'"),
        ],
        fails,
    );
}

#[test]
fn a_left_side_that_decides_spares_the_right_one() {
    all(
        &[
            ("\"a.b\" <> 0 AND UserId / \"a.b\" = 0", "true | false | NULL"),
            ("\"a.b\" = 0 OR UserId / \"a.b\" = 0", "true | true | NULL"),
            ("flag AND CAST(\"K v\" AS BIGINT) = 7", "true | false | NULL"),
            ("id = 100 AND CAST(ключ AS TEXT) = 'да' AND 1 / \"a.b\" = 0", "true | false | NULL"),
            ("CASE WHEN \"a.b\" = 0 THEN -1 ELSE UserId / \"a.b\" END", "0 | -1 | NULL"),
            ("false AND 1 / 0 = 1", "false | false | false"),
            (
                "CASE WHEN \"a.b\" <> 0 THEN UserId / \"a.b\" = 0 ELSE true END",
                "true | true | true",
            ),
            ("CASE WHEN \"a.b\" = 0 THEN true ELSE UserId / \"a.b\" = 0 END", "true | true | NULL"),
            ("coalesce(nullif(\"a.b\", 0), 1 / UserId)", "10 | 0 | NULL"),
        ],
        gives,
    );
}

#[test]
fn results_that_grow_without_bound_are_refused() {
    let mut grown = "ключ".to_owned();
    for _ in 0..12 {
        grown = format!("replace({grown}, 'а', 'аааааааааааааааааааааааааааааа')");
    }
    assert_eq!(fails(&grown, "the result is "), None);
    let mut constant = "'a'".to_owned();
    for _ in 0..12 {
        constant = format!("replace({constant}, 'a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')");
    }
    assert_eq!(fails(&constant, "the result is "), None);
    // A literal in each of many rows is made in parts, up to the limit.
    let many = RecordBatch::try_from_iter([(
        "n",
        Arc::new(Int64Array::from_iter_values(0..200_000)) as ArrayRef,
    )])
    .unwrap();
    let wide = format!("CASE WHEN n >= 0 THEN '{}' END", "x".repeat(16_000));
    let wide = Expression::compile(&wide, &Scope::table(many.schema())).unwrap();
    assert!(wide.evaluate(&many).unwrap_err().what.starts_with("the result is"));
    let wide = format!("CASE WHEN n = 5 THEN '{}' END", "x".repeat(16_000));
    let wide = Expression::compile(&wide, &Scope::table(many.schema())).unwrap();
    assert_eq!(wide.evaluate(&many).unwrap().null_count(), 199_999);
}

#[test]
fn what_is_offered_gives_the_expected_values() {
    all(
        &[
            ("1", "1 | 1 | 1"),
            ("'it''s'", "it's | it's | it's"),
            ("1.10", "1.10 | 1.10 | 1.10"),
            ("CAST(NULL AS TEXT)", "NULL | NULL | NULL"),
            ("7 / 2", "3 | 3 | 3"),
            ("id / 3.0", "33.3333 | 66.6666 | NULL"),
            ("price + 1", "2.10 | 1000.99 | NULL"),
            ("price * price", "1.2100 | 999980.0001 | NULL"),
            ("-id", "-100 | -200 | NULL"),
            ("+id", "100 | 200 | NULL"),
            ("id % 30", "10 | 20 | NULL"),
            ("f * 2", "1.0 | -0.0 | NULL"),
            ("f / 0", "inf | NaN | NULL"),
            ("abs(ID)", "100 | 200 | NULL"),
            ("round(f)", "1.0 | -0.0 | NULL"),
            ("round(price, 1)", "1.1 | 1000.0 | NULL"),
            ("floor(f) + ceil(f)", "1.0 | -0.0 | NULL"),
            ("'0.5' + f", "1.0 | 0.5 | NULL"),
            ("\"K v\" || '-' || id", "07-100 | 7-200 | NULL"),
            ("concat(\"K v\", '-', day)", "07-2024-01-31 | 7-2024-02-29 | -"),
            ("upper(ключ)", "ДА | STRASSE | NULL"),
            ("initcap(code)", "X | Y | NULL"),
            ("substr(\"K v\", 2)", "7 |  | NULL"),
            ("SUBSTRING(ключ FROM 1 FOR 1)", "д | s | NULL"),
            ("left(ключ, 1) || right(ключ, 1)", "да | se | NULL"),
            ("TRIM(LEADING '0' FROM \"K v\")", "7 | 7 | NULL"),
            ("trim('  x ')", "x | x | x"),
            ("replace(ключ, 'ß', 'ss')", "да | strasse | NULL"),
            ("replace(ключ, '', 'x')", "да | straße | NULL"),
            ("length(ключ)", "2 | 6 | NULL"),
            ("octet_length(ключ)", "4 | 7 | NULL"),
            ("POSITION('a' IN ключ)", "0 | 4 | NULL"),
            ("split_part('a-b', '-', UserId)", "a | b | NULL"),
            ("starts_with(ключ, 'д')", "true | false | NULL"),
            ("ключ LIKE 's%e'", "false | true | NULL"),
            ("ключ NOT ILIKE 'S_R%'", "true | false | NULL"),
            ("coalesce(UserId, 0)", "1 | 2 | 0"),
            ("coalesce(\"K v\", '-')", "07 | 7 | -"),
            ("nullif(UserId, '1')", "NULL | 2 | NULL"),
            ("nvl(day, '1970-01-01')", "2024-01-31 | 2024-02-29 | 1970-01-01"),
            ("greatest(UserId, 2)", "2 | 2 | 2"),
            ("CASE UserId WHEN 1 THEN 'a' ELSE 'b' END", "a | b | b"),
            ("CASE WHEN flag THEN day END", "2024-01-31 | NULL | NULL"),
            ("UserId IS NULL", "false | false | true"),
            ("flag IS NOT TRUE", "false | true | true"),
            ("flag IS UNKNOWN", "false | false | true"),
            ("NOT flag", "false | true | NULL"),
            ("UserId NOT IN (1, NULL)", "false | NULL | NULL"),
            ("UserId NOT BETWEEN 2 AND 3", "true | false | NULL"),
            ("EXTRACT(YEAR FROM day)", "2024 | 2024 | NULL"),
            ("EXTRACT(month FROM utc)", "1 | 1 | NULL"),
            ("date_part('day', day)", "31 | 29 | NULL"),
            ("date_trunc('month', day)", "2024-01-01T00:00:00 | 2024-02-01T00:00:00 | NULL"),
            ("date_trunc('hour', at)", "2024-01-31T10:00:00 | 1970-01-01T00:00:00 | NULL"),
            ("date_trunc('day', utc)", "2024-01-31T00:00:00Z | 1970-01-01T00:00:00Z | NULL"),
            ("CAST(at AS DATE)", "2024-01-31 | 1970-01-01 | NULL"),
            ("day - '2024-01-01'", "30 | 59 | NULL"),
            ("day + 1", "2024-02-01 | 2024-03-01 | NULL"),
            ("day + INTERVAL '1 month'", "2024-02-29 | 2024-03-29 | NULL"),
            ("at - INTERVAL '1 day' < at", "true | true | NULL"),
            ("TIMESTAMP '9999-12-31 23:59:59' > at", "true | true | NULL"),
            ("to_date('2024-01-31')", "2024-01-31 | 2024-01-31 | 2024-01-31"),
            ("to_timestamp_seconds(UserId)", "1970-01-01T00:00:01 | 1970-01-01T00:00:02 | NULL"),
            ("make_date(2024, 2, 29)", "2024-02-29 | 2024-02-29 | 2024-02-29"),
            ("TRY_CAST(ключ AS INT)", "NULL | NULL | NULL"),
            ("\"K v\"::int", "7 | 7 | NULL"),
            ("CAST(price AS TEXT)", "1.10 | 999.99 | NULL"),
            ("CAST(1.7 AS INT)", "1 | 1 | 1"),
            ("big - 1", "18446744073709551614 | -1 | NULL"),
            ("code", "x | y | NULL"),
        ],
        gives,
    );
}

#[test]
fn a_condition_selects_only_true_rows_and_tells_null_from_false() {
    let condition = Expression::predicate("UserId = 1", &scope()).unwrap();
    let read = rows().project(condition.columns()).unwrap();
    assert_eq!(condition.select(&read).unwrap(), BooleanArray::from(vec![true, false, false]));
    let judged = condition.judge(&read).unwrap();
    assert_eq!(judged, BooleanArray::from(vec![Some(true), Some(false), None]));
    assert!(condition.nullable());
    let always = Expression::predicate("true", &scope()).unwrap();
    assert_eq!((always.columns(), always.nullable()), (&[][..], false));
    assert_eq!(always.select(&rows().project(&[]).unwrap()).unwrap().true_count(), 3);
    let failure = condition.evaluate(&rows()).unwrap_err();
    assert_eq!(failure.what, "the batch does not have the expression's columns");
    assert_eq!(condition.select(&read.slice(0, 0)).unwrap().len(), 0);
}
