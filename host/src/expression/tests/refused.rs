//! What is no scalar expression, or asks for what is not offered.

use super::*;

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
            ("localtimestamp", "function `localtimestamp` is not offered"),
            ("current_user", "there is no column `current_user`"),
            ("today()", "function `today` is not offered"),
            ("gen_random_uuid()", "function `gen_random_uuid` is not offered"),
            ("uuid()", "function `uuid` is not offered"),
            ("repeat('x', 1000000000)", "function `repeat` is not offered"),
            ("lpad('x', 1000000000)", "function `lpad` is not offered"),
            ("version()", "function `version` is not offered"),
            ("pg_catalog.lower('x')", "function `pg_catalog.lower` is not offered"),
            ("\"K v\" ~ 'x'", "operator `~` is not offered"),
            ("\"K v\" SIMILAR TO 'x'", "SIMILAR TO is not offered"),
            ("ключ LIKE \"K v\"", "the pattern of LIKE is no text in quotes"),
            ("ключ ILIKE '%' || 'x'", "the pattern of LIKE is no text in quotes"),
            ("id & 1", "operator `&` is not offered"),
            ("flag XOR flag", "operator `XOR` is not offered"),
            ("[id]", "a list is not offered"),
            ("raw[1]", "access to a part"),
            ("{'a': 1}", "this is no SQL expression"),
            ("(id, id)", "a value of several parts"),
            ("CAST(id AS BLOB)", "type `BLOB` is not offered"),
            ("CAST(id AS DECIMAL(99, 2))", "type `DECIMAL(99,2)` is not offered"),
            ("CAST(id AS INT[])", "this is no SQL expression"),
            ("at AT TIME ZONE 'Europe/Berlin'", "AT TIME ZONE is not offered"),
            ("INTERVAL '1 day'", "the expression gives"),
            ("NULL", "the expression is NULL for each row"),
            ("id + 1e128", "`1e128` has an exponent"),
            ("f * 1E-3", "`1E-3` has an exponent"),
            ("X'ff'", "`X'ff'` is not offered as a value"),
            ("E'\\n'", "`'\\n'` is not expected after the expression"),
        ],
        refuses,
    );
    let mistake = Expression::compile("uper(\"K v\")", &scope()).unwrap_err();
    assert_eq!(mistake.hint, "did you mean `upper`?");
    let mistake = Expression::predicate("id + 1", &scope()).unwrap_err();
    assert!(mistake.what.starts_with("this is no condition: it gives int64"), "{mistake}");
}
