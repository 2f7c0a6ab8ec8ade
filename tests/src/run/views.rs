//! Views: rows that flows of one command share. And a look at rows without writing any.

use super::Stage;

/// Two flows that fill a view, and one that reads it.
fn staged(mode: &str) -> Stage {
    let fill = |name: &str, file: &str| {
        format!(
            "name: {name}\nsource: {{ format: csv, path: {file} }}\n\
             destination: {{ name: v, format: view, path: shared, load_type: {mode} }}\n"
        )
    };
    Stage::new(&[
        ("a.csv", "n,t\n1,x\n2,y\n"),
        ("b.csv", "n,t\n3,z\n"),
        ("c.csv", "n,t\n3.5,z\n"),
        ("a.yaml", &fill("a", "a.csv")),
        ("b.yaml", &fill("b", "b.csv")),
        ("c.yaml", &fill("c", "c.csv")),
        (
            "read.yaml",
            "name: read\nsource: { format: view, path: shared }\n\
             destination: { name: d, format: csv, path: out, load_type: overwrite }\n",
        ),
        (
            "unknown.yaml",
            "name: unknown\nsource: { format: view, path: shred }\n\
             destination: { name: d, format: csv, path: out, load_type: overwrite }\n",
        ),
    ])
}

#[test]
fn an_appended_view_has_the_rows_of_all_flows_and_an_overwritten_one_the_last() {
    for (mode, rows) in
        [("append", &["n|t", "1|x", "2|y", "3|z"][..]), ("overwrite", &["n|t", "3|z"])]
    {
        let stage = staged(mode);
        let ran = stage.command(&["run", "a.yaml", "b.yaml", "read.yaml", "--quiet"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{mode}");
        let mut found = stage.rows("out");
        found[1..].sort();
        assert_eq!(found, rows, "{mode}");
        assert!(!stage.path("shared").exists() && !stage.path("views").exists());
    }
}

#[test]
fn a_view_that_nobody_wrote_is_told_with_those_that_are_there() {
    let stage = staged("append");
    let ran = stage.command(&["run", "a.yaml", "unknown.yaml", "--quiet"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("`shred`: there is no such view"), "{}", ran.stderr);
    assert!(ran.stderr.contains("there is `shared`"), "{}", ran.stderr);
    // Views go with the process.
    let ran = stage.command(&["run", "read.yaml", "--quiet"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("no view is there"), "{}", ran.stderr);
}

#[test]
fn rows_of_other_types_are_not_appended_to_a_view_and_later_flows_do_not_run() {
    let stage = staged("append");
    let ran = stage.command(&["run", "a.yaml", "c.yaml", "read.yaml", "--quiet"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("`n`"), "{}", ran.stderr);
    assert!(!stage.path("out").exists());
}

#[test]
fn a_preview_shows_rows_after_each_stage_and_writes_nothing() {
    let stage = Stage::new(&[
        ("in.csv", "n,t\n1,x\n2,\n3,z\n3,z\n"),
        (
            "flow.yaml",
            "name: f\nsource: { format: csv, path: in.csv }\n\
             transforms:\n\
             - { type: with_column, column: m, expression: n * 10 }\n\
             - { type: deduplicate, keys: [n] }\n\
             rules: [{ type: not_null, columns: [t], severity: quarantine }]\n\
             destinations:\n\
             - { name: all, format: csv, path: out/all }\n\
             - { name: sum, format: csv, path: out/sum, transforms: [{ type: group_by, agg: [sum(m) AS s, count(*) AS c] }] }\n",
        ),
    ]);
    let ran = stage.command(&["run", "flow.yaml", "--preview", "2"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let expected = "source `main`: 4 rows
+---+---+
| n | t |
+---+---+
| 1 | x |
| 2 |   |
+---+---+
transforms[0] with_column: 4 rows
+---+---+----+
| n | t | m  |
+---+---+----+
| 1 | x | 10 |
| 2 |   | 20 |
+---+---+----+
transforms[1] deduplicate: 3 rows
+---+---+----+
| n | t | m  |
+---+---+----+
| 1 | x | 10 |
| 2 |   | 20 |
+---+---+----+
result: 2 rows
+---+---+----+
| n | t | m  |
+---+---+----+
| 1 | x | 10 |
| 3 | z | 30 |
+---+---+----+
  rule `not_null(t)`, not_null: 2 passed, 1 failed, 0 skipped
destination `all`: 2 rows
+---+---+----+
| n | t | m  |
+---+---+----+
| 1 | x | 10 |
| 3 | z | 30 |
+---+---+----+
destinations[1].transforms[0] group_by: 1 rows
+----+---+
| s  | c |
+----+---+
| 40 | 2 |
+----+---+
destination `sum`: 1 rows
+----+---+
| s  | c |
+----+---+
| 40 | 2 |
+----+---+
";
    assert_eq!(ran.stdout, expected);
    assert_eq!(stage.files(), ["flow.yaml", "in.csv"]);
}
