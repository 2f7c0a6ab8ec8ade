//! A table's own query: mistakes in it first, then what it gives, and what is told of it.

use super::Stage;
use super::books::count;

/// A table of two versions: four rows, then a fifth.
fn table() -> Stage {
    let stage = Stage::new(&[
        ("0.csv", "id,country,amount\n1,DE,10\n2,DE,20\n3,FR,5\n4,,7\n"),
        ("1.csv", "id,country,amount\n5,FR,100\n"),
    ]);
    for file in ["0.csv", "1.csv"] {
        let flow = format!(
            "name: w\nsource: {{ format: csv, path: {file} }}\ndestination: {{ name: t, format: delta, path: t }}\n"
        );
        stage.put("w.yaml", &flow);
        let (code, _, said) = stage.run("w.yaml", &[]);
        assert_eq!(code, 0, "{said}");
    }
    stage
}

fn flow(source: &str, steps: &str) -> String {
    format!(
        "name: f\nsource:\n  format: delta\n  path: t\n{source}transforms: [{steps}]\n\
         destination: {{ name: d, format: csv, path: out, load_type: overwrite, write_options: {{ null_value: 'NULL' }} }}\n"
    )
}

#[test]
fn a_query_that_is_none_is_refused_at_its_place() {
    let stage = table();
    for (query, right) in [
        ("SELECT amont FROM source", "source.query: "),
        ("SELECT amont FROM source", "amont"),
        ("SELECT * FROM elsewhere", "elsewhere"),
        ("DELETE FROM source", "source.query: "),
        ("SELECT * FROM source; SELECT 1", "source.query: "),
        ("WITH source AS (SELECT 1 AS one) SELECT * FROM source", "specified more than once"),
        ("SELECT 1 / (amount - 7) AS x FROM source", "ivide by zero"),
    ] {
        stage.put("f.yaml", &flow(&format!("  query: \"{query}\"\n"), ""));
        let before = stage.files();
        let (code, _, said) = stage.run("f.yaml", &[]);
        assert_eq!(code, 2, "{query}: {said}");
        assert!(said.contains(right), "{query}: {said}");
        assert_eq!(stage.files(), before, "{query}");
    }
}

#[test]
fn a_query_is_the_first_step_of_the_chain() {
    let stage = table();
    let sums =
        "SELECT country, sum(amount) AS amount FROM source GROUP BY country ORDER BY 1 NULLS LAST";
    let all = ["country|amount", "DE|30", "FR|105", "NULL|7"];
    for (source, steps, right) in [
        (format!("  query: \"{sums}\"\n"), "", &all[..]),
        (format!("  sql: |\n    -- of all\n    /* countries */ {sums}\n"), "", &all),
        (
            "  query: \"with own as (select * from source where amount < 100) select country, sum(amount) as amount from own group by country order by 2\"\n".to_owned(),
            "{ type: filter, expression: \"amount > 5\" }",
            &["country|amount", "NULL|7", "DE|30"],
        ),
        (
            "  query: \"WITH RECURSIVE up AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM up WHERE n < 3) SELECT n, count(*) AS rows FROM up JOIN source ON n <= id GROUP BY n ORDER BY n\"\n".to_owned(),
            "",
            &["n|rows", "1|5", "2|4", "3|3"],
        ),
        ("  query: \"(SELECT id FROM source WHERE id < 2) UNION ALL SELECT 9\"\n".to_owned(), "", &["id", "1", "9"]),
        // What the source leaves out, and the version that it is read at, come first.
        (
            "  version_as_of: 0\n  filter: \"country IS NOT NULL\"\n  columns: [country, id]\n  query: \"SELECT * FROM source WHERE id > 1\"\n".to_owned(),
            "{ type: sql, query: \"SELECT id FROM input ORDER BY id\" }",
            &["id", "2", "3"],
        ),
    ] {
        stage.put("f.yaml", &flow(&source, steps));
        let (code, evidence, said) = stage.run("f.yaml", &[]);
        assert_eq!(code, 0, "{source}: {said}");
        let mut rows = stage.rows("out");
        if !source.to_lowercase().contains("order by") {
            rows[1..].sort();
        }
        assert_eq!(rows, right, "{source}");
        let read = if source.contains("version_as_of") { 4 } else { 5 };
        assert_eq!(count(&evidence, "/rows_read"), read, "{source}");
        let stages: Vec<_> = evidence["components"].as_array().unwrap().iter().collect();
        let stages: Vec<_> = stages.iter().map(|one| one["stage"].as_str().unwrap()).collect();
        let due = ["source.query", "transforms[0]"];
        assert_eq!(stages, due[..if steps.is_empty() { 1 } else { 2 }], "{source}");
    }
    stage.put("f.yaml", &flow("  query: \"SELECT sum(amount) AS s FROM source\"\n", ""));
    let explained = stage.command(&["explain", "f.yaml"]).stdout;
    assert!(
        explained.contains("    read: amount\n  source.query `std:sql`: query, "),
        "{explained}"
    );
}

#[test]
fn a_query_of_another_source_gives_the_rows_that_steps_and_rules_name() {
    let stage = table();
    stage.put("in.csv", "country,rank\nDE,1\nFR,2\nIT,3\n");
    let flow = |query: &str, steps: &str, rules: &str| {
        format!(
            "name: f\nsources:\n  main: {{ format: csv, path: in.csv }}\n  other: {{ format: delta, path: t, query: \"{query}\" }}\n\
             transforms: [{steps}]\nrules: [{rules}]\n\
             destination: {{ name: d, format: csv, path: out, load_type: overwrite }}\n"
        )
    };
    let sums = "SELECT country, sum(amount) AS amount FROM source WHERE country IS NOT NULL GROUP BY country";
    let join = "{ type: join, with: other, on: [country], how: left }";
    for (query, steps, rules, right) in [
        (sums, join, "", &["country|rank|amount", "DE|1|30", "FR|2|105", "IT|3|"][..]),
        (
            "SELECT country, 0 + amount AS rank FROM source WHERE id > 4",
            "{ type: union, with: other }",
            "",
            &["country|rank", "DE|1", "FR|100", "FR|2", "IT|3"],
        ),
        (
            sums,
            "",
            "{ type: reference, columns: [country], source: other, severity: drop }",
            &["country|rank", "DE|1", "FR|2"],
        ),
        (
            sums,
            "{ type: sql, query: 'SELECT a.country, b.amount FROM other a JOIN other b ON a.country = b.country' }",
            "",
            &["country|amount", "DE|30", "FR|105"],
        ),
    ] {
        stage.put("f.yaml", &flow(query, steps, rules));
        let (code, evidence, said) = stage.run("f.yaml", &[]);
        assert_eq!(code, 0, "{steps}{rules}: {said}");
        let mut rows = stage.rows("out");
        rows[1..].sort();
        assert_eq!(rows, right, "{steps}{rules}");
        assert_eq!(count(&evidence, "/rows_read"), 3, "{steps}{rules}");
        let asked = &evidence["components"][0];
        assert_eq!(
            (asked["stage"].as_str(), asked["component"].as_str()),
            (Some("sources.other.query"), Some("std:sql"))
        );
        // One to plan, one a reader.
        assert_eq!(count(&evidence, "/components/0/usage/instances"), 2, "{steps}{rules}");
    }
    for (query, right) in [
        ("SELECT amont FROM source", "f.yaml:4:43: sources.other.query: No field named amont"),
        (
            "SELECT country, 1 / (amount - 7) AS x FROM source",
            "f.yaml:4:43: sources.other.query: component `std:sql`, process",
        ),
    ] {
        stage.put("f.yaml", &flow(query, join, ""));
        let before = stage.rows("out");
        let (code, _, said) = stage.run("f.yaml", &[]);
        assert_eq!(code, 2, "{query}: {said}");
        assert!(said.contains(right), "{query}: {said}");
        assert_eq!(stage.rows("out"), before, "{query}");
    }
    stage.put("f.yaml", &flow(sums, join, ""));
    let explained = stage.command(&["explain", "f.yaml"]).stdout;
    assert!(
        explained.contains("    query, in the sandbox:\n      SELECT country, sum(amount)"),
        "{explained}"
    );
    assert!(explained.contains("columns: country Utf8, amount Int64"), "{explained}");
}

#[test]
fn a_query_may_lose_keys_so_none_is_retired() {
    let stage = table();
    let source = "  source_complete: true\n  query: \"SELECT * FROM source WHERE id > 1\"\n";
    stage.put(
        "f.yaml",
        &format!(
            "name: f\nsource:\n  format: delta\n  path: t\n{source}\
             destination: {{ name: d, format: delta, path: out, load_type: snapshot_soft_delete, merge_keys: [id] }}\n"
        ),
    );
    let (code, _, said) = stage.run("f.yaml", &[]);
    assert!(code > 1 && said.contains("perhaps some by source.query"), "{said}");
    assert!(!stage.path("out").exists());
}
