//! Text and results without bound.

use super::*;

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
        format!("ключ LIKE '{}'", "%_".repeat(513)),
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
            ("~ CASE ", ""),
            ("NOT -", ""),
            ("id IN (VALUES (", "))"),
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
    assert_eq!(refuses(&constant, "the result is "), None);
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
    // Each of these texts is within the limit, all at once are not.
    let parts: Vec<_> =
        ('a'..'k').map(|c| format!("replace(c, 'a', '{}')", c.to_string().repeat(250))).collect();
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..50).map(|_| "a".repeat(10_000))));
    let texts = RecordBatch::try_from_iter([("c", texts)]).unwrap();
    let columns = Scope::table(texts.schema());
    let one = Expression::compile(&format!("length({})", parts[0]), &columns).unwrap();
    assert!(one.evaluate(&texts).is_ok());
    let all = format!("concat(length({}))", parts.join("), length("));
    let all = Expression::compile(&all, &columns).unwrap();
    assert!(all.evaluate(&texts).unwrap_err().what.starts_with("the result is"));
}
