//! Text literals beside values of other types.

use super::*;

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
