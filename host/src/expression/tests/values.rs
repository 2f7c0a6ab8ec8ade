//! What goes wrong with data, and what comes out.

use super::*;

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
            ("f * CAST('1e300' AS DOUBLE)", "5e299 | -0.0 | NULL"),
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
