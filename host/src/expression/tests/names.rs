//! Which column a name means.

use super::*;

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
