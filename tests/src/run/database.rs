//! Flows over a real Postgres: whole runs, who is told what, and that nobody is told the password.

use std::fs;
use std::time::Duration;
use std::time::Instant;

use serde_json::Value;

use super::Stage;
use super::walk;
use crate::postgres::server::PASSWORD;
use crate::postgres::server::PASSWORD_ENCODED;
use crate::postgres::server::USER;
use crate::postgres::server::server;

/// A flow from a table or query into a table; `source` says which.
fn flow(connection: &str, source: &str, more: &str) -> String {
    format!(
        "name: f\nvars: {{ word: '{PASSWORD}' }}\nconnections: {{ db: {{ format: sql, {connection} }} }}\nsource: {{ connection: db, {source} }}\n{more}\
         destination: {{ name: d, format: delta, path: out, load_type: overwrite, allow_empty: true }}\n"
    )
}

/// The tests' server, with who asks beside its address.
fn connection() -> String {
    format!("url: '{}', user: {USER}, password: '{PASSWORD}'", server().url())
}

/// No file below and no output has the password in any spelling.
fn is_secret(stage: &Stage, outputs: &[&str]) {
    let secrets = [PASSWORD, PASSWORD_ENCODED];
    for output in outputs {
        assert!(secrets.iter().all(|secret| !output.contains(secret)), "{output}");
    }
    walk(stage.folder.path(), &mut |path| {
        if path.is_file() && path.extension().is_none_or(|end| end != "yaml") {
            let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
            assert!(secrets.iter().all(|secret| !text.contains(secret)), "{}", path.display());
        }
    });
}

#[test]
fn what_the_server_refuses_ends_as_the_flows_fault_and_what_fails_as_the_worlds() {
    server()
        .does("CREATE SCHEMA ends; CREATE TABLE ends.t AS SELECT 1 AS id, interval '1 day' AS i");
    let url = server().url();
    let wrong = |text: &str| format!("url: '{url}', user: {USER}, password: '{PASSWORD}{text}'");
    let gone = connection().replace(&url, "postgresql://127.0.0.1:1/shop");
    let kill = "SELECT n, repeat('x', 1000) AS x, CASE WHEN n = 9000 THEN pg_terminate_backend(pg_backend_pid()) END AS k FROM generate_series(1, 20000) AS n";
    for (connection, source, code, right) in [
        (
            connection(),
            "schema: ends, table: tt",
            2,
            "Postgres says: relation \"ends.tt\" does not exist",
        ),
        (connection(), "schema: ends, table: t", 2, "column `i`: it is of the type `interval`"),
        (
            connection(),
            "query: 'SELECT idd FROM ends.t'",
            2,
            "column \"idd\" does not exist (line 1, character 8 of the query)",
        ),
        (
            connection(),
            "query: 'SELECT 1 / (id - 1) AS q FROM ends.t'",
            2,
            "query of postgresql://127.0.0.1:",
        ),
        (
            connection(),
            &format!("query: \"{kill}\""),
            3,
            "cannot read its rows: terminating connection due to administrator command",
        ),
        (wrong("x"), "table: t", 2, "password authentication failed for user (the user)"),
        (gone, "table: t", 3, "postgresql://127.0.0.1:1/shop: cannot connect: "),
    ] {
        let stage = Stage::new(&[("f.yaml", &flow(&connection, source, ""))]);
        let ran = stage.command(&["run", "f.yaml"]);
        assert!(
            ran.code == code && ran.stderr.contains(right),
            "{source}: {}: {}",
            ran.code,
            ran.stderr
        );
        assert!(
            stage.files().iter().all(|file| !file.starts_with("out/")),
            "{source}: {:?}",
            stage.files()
        );
        let (json, _, said) = stage.run("f.yaml", &[]);
        assert_eq!(json, code, "{source}: {said}");
        let shown = stage.command(&["runs", "f.yaml", "latest"]);
        is_secret(&stage, &[&ran.stdout, &ran.stderr, &said, &shown.stdout, &shown.stderr]);
    }
}

#[test]
fn a_table_is_loaded_and_the_record_says_which() {
    server().does(
        "CREATE SCHEMA whole; CREATE TABLE whole.orders (id int8, amount numeric(12, 2), at timestamptz, tags text[], note text);
         INSERT INTO whole.orders SELECT n, n / 4.0, '2026-01-01 00:00Z'::timestamptz + n * interval '1 s', ARRAY['a', n::text], nullif(n % 3, 0)::text
         FROM generate_series(1, 20000) AS n",
    );
    let encoded = server().url().replace("//", &format!("//{USER}:{PASSWORD_ENCODED}@"));
    let jdbc = format!("url: 'jdbc:{}?user={USER}&password={PASSWORD_ENCODED}'", server().url());
    for (connection, source) in [
        (connection(), "schema: whole, table: orders"),
        (
            format!("url: '{encoded}?sslmode=require&application_name=a%20flow'"),
            "query: 'SELECT * FROM whole.orders'",
        ),
        // A password that is a variable is none in the record either.
        (
            format!("url: '{}', user: {USER}, password: '{{{{ word }}}}'", server().url()),
            "schema: whole, table: orders",
        ),
        (jdbc, "options: { dbtable: Whole.Orders, driver: org.postgresql.Driver }"),
    ] {
        let flow = flow(
            &connection,
            source,
            "transforms: [{ type: filter, expression: 'note IS NOT NULL' }, { type: drop, columns: [tags] }]\n",
        );
        let stage = Stage::new(&[("f.yaml", &flow)]);
        let checked = stage.command(&["check", "f.yaml"]);
        assert_eq!(checked.code, 0, "{}", checked.stderr);
        let explained = stage.command(&["explain", "f.yaml"]);
        let place = format!("source `main`: sql {}\n", server().url());
        let what = if source.contains("query") {
            "query, in a read-only transaction:\n      SELECT * FROM whole.orders\n"
        } else {
            "table, in a read-only transaction: whole.orders\n"
        };
        for part in [
            &place,
            what,
            "columns: id Int64, amount Decimal128(12, 2), at Timestamp(µs, \"UTC\"), tags List(Utf8), note Utf8\n",
            "read: id, amount, at, note\n",
        ] {
            assert!(explained.stdout.contains(part), "{}", explained.stdout);
        }
        let planned = stage.command(&["explain", "f.yaml", "--json"]);
        let previewed = stage.command(&["run", "f.yaml", "--preview", "2"]);
        assert_eq!(
            (planned.code, previewed.code),
            (0, 0),
            "{}{}",
            planned.stderr,
            previewed.stderr
        );
        let (code, evidence, said) = stage.run("f.yaml", &[]);
        assert_eq!(code, 0, "{said}");
        let of = &evidence["source"];
        let label = if source.contains("query") { "query" } else { "table" };
        let right =
            if source.contains("query") { "SELECT * FROM whole.orders" } else { "whole.orders" };
        assert_eq!(
            (&of["format"], &of["path"], &of[label]),
            (&Value::from("sql"), &Value::from(server().url()), &Value::from(right))
        );
        assert_eq!((of.get("files"), of.get("bytes")), (None, None));
        assert_eq!(
            (&evidence["rows_read"], &evidence["rows_filtered"], &evidence["rows_written"]),
            (&20000.into(), &6666.into(), &13334.into())
        );
        let rows = stage.rows("out");
        assert_eq!((rows.len(), rows[0].as_str()), (13335, "id|amount|at|note"));
        for row in ["1|0.25|2026-01-01T00:00:01Z|1", "19999|4999.75|2026-01-01T05:33:19Z|1"] {
            assert!(rows.iter().any(|own| own == row), "{row}");
        }
        let ran = stage.command(&["run", "f.yaml"]);
        let line = format!(
            "  read 20000 rows from {} ({})",
            server().url(),
            if label == "query" { "query" } else { "whole.orders" }
        );
        assert!(ran.stdout.contains(&line), "{}", ran.stdout);
        let listed = stage.command(&["runs", "f.yaml", "latest"]);
        is_secret(
            &stage,
            &[
                &checked.stdout,
                &explained.stdout,
                &planned.stdout,
                &previewed.stdout,
                &said,
                &ran.stdout,
                &ran.stderr,
                &listed.stdout,
            ],
        );
    }
}

#[test]
fn rows_that_are_set_apart_say_which_row_of_which_table_they_are() {
    server().does("CREATE SCHEMA apart; CREATE TABLE apart.t AS SELECT n AS id, nullif(n, 2)::text AS v FROM generate_series(1, 3) AS n");
    let rules = "rules: [{ type: not_null, columns: [v], severity: quarantine }]\n";
    let stage = Stage::new(&[("f.yaml", &flow(&connection(), "schema: apart, table: t", rules))]);
    let (code, evidence, said) = stage.run("f.yaml", &["--run-id", "one"]);
    assert_eq!((code, &evidence["rows_quarantined"]), (0, &1.into()), "{said}");
    let rows = stage.rows(".wasmhost/quarantine/f/one");
    assert!(rows[1].contains("apart.t|2|"), "{rows:?}");
}

#[test]
fn other_sources_of_a_database_are_joined_with_files() {
    server().does("CREATE SCHEMA joined; CREATE TABLE joined.names (id int8, name text); INSERT INTO joined.names VALUES (1, 'one'), (2, 'two'), (9, 'nine')");
    let flow = format!(
        "name: f\nconnections: {{ db: {{ format: postgres, {} }} }}\n\
         sources: {{ main: {{ format: csv, path: in.csv }}, names: {{ connection: db, schema: joined, table: names, filter: 'id < 9' }} }}\n\
         transforms: [{{ type: join, with: names, 'on': [id], how: left }}]\nrules: [{{ type: reference, columns: [id], source: names, source_columns: [id], severity: warn }}]\n\
         destination: {{ name: d, format: csv, path: out, load_type: overwrite }}\n",
        connection()
    );
    let stage = Stage::new(&[("f.yaml", &flow), ("in.csv", "id,v\n2,b\n3,c\n1,a\n")]);
    let (code, evidence, said) = stage.run("f.yaml", &[]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(evidence["rules"][0]["reasons"][0]["failed"], 1, "{evidence}");
    let mut rows = stage.rows("out");
    rows[1..].sort();
    assert_eq!(rows[1..], ["1|a|one", "2|b|two", "3|c|"]);
    is_secret(&stage, &[&said]);
}

#[test]
fn only_columns_that_somebody_looks_at_are_asked_for() {
    server().does(
        "CREATE SCHEMA narrow; CREATE TABLE narrow.t AS SELECT 1 AS a, 2 AS b, 3 AS c; CREATE ROLE narrow LOGIN PASSWORD 'narrow-word';
         GRANT USAGE ON SCHEMA narrow TO narrow; GRANT SELECT (a, b) ON narrow.t TO narrow",
    );
    let connection = connection().replace(USER, "narrow").replace(PASSWORD, "narrow-word");
    for (source, steps, code) in [
        ("schema: narrow, table: t", "[{ type: select, columns: [a] }]", 0),
        ("schema: narrow, table: t, columns: [b, a]", "[]", 0),
        ("schema: narrow, table: t", "[]", 2),
        // The whole query has to be allowed.
        ("query: 'SELECT * FROM narrow.t'", "[{ type: select, columns: [a] }]", 2),
    ] {
        let stage = Stage::new(&[(
            "f.yaml",
            &flow(&connection, source, &format!("transforms: {steps}\n")),
        )]);
        let (ended, _, said) = stage.run("f.yaml", &[]);
        assert_eq!(ended, code, "{source}: {said}");
        assert!(
            code == 0 || said.contains("Postgres says: permission denied for table t"),
            "{source}: {said}"
        );
    }
}

#[test]
fn what_a_secret_says_of_the_server_shows_nowhere() {
    let url = server().url().replace("//", &format!("//{USER}:{PASSWORD_ENCODED}@"));
    let folder = tempfile::tempdir().unwrap();
    let secrets = folder.path().to_str().unwrap();
    for (name, secret) in [
        ("url", url.clone()),
        ("elsewhere", url.replace("/shop", "/hidden_name")),
        ("word", PASSWORD.to_owned()),
    ] {
        fs::write(folder.path().join(name), secret + "\n").unwrap();
    }
    let part =
        format!("url: '{}', user: {USER}, password: '{{{{ secret:word }}}}'", server().url());
    for (connection, path, code) in [
        ("url: '{{ secret:url }}'", "{{ secret:url }}", 0),
        ("url: '{{ secret:elsewhere }}'", "{{ secret:elsewhere }}", 2),
        (&part, &server().url(), 0),
    ] {
        let stage = Stage::new(&[(
            "f.yaml",
            &flow(connection, "query: 'SELECT 1 AS a'", "").replace(PASSWORD, "x"),
        )]);
        let (ended, evidence, said) = stage.run("f.yaml", &["--secrets", secrets]);
        let explained = stage.command(&["explain", "f.yaml", "--secrets", secrets]);
        assert_eq!((ended, explained.code), (code, code), "{said}");
        let outputs = format!("{evidence}{said}{}{}", explained.stdout, explained.stderr);
        if code == 0 {
            assert_eq!(evidence["source"]["path"], path);
        } else {
            assert!(
                said.contains(path) && said.contains("database (the database) does not exist"),
                "{said}"
            );
        }
        assert!(!outputs.contains("hidden_name"), "{outputs}");
        is_secret(&stage, &[&outputs]);
        assert_eq!(outputs.contains(&server().port.to_string()), connection == part, "{outputs}");
    }
}

#[test]
fn a_filter_leaves_rows_of_a_database_out_and_counts_them() {
    server().does(
        "CREATE SCHEMA filtered; CREATE TABLE filtered.t AS SELECT n AS id, n % 10 AS last, interval '1 day' AS i FROM generate_series(1, 1000) AS n",
    );
    let check = |source: &str, filter: &str, asked: &str, [read, kept]: [u64; 2]| {
        let source = format!("{source}, columns: [id], filter: \"{filter}\"");
        let stage = Stage::new(&[("f.yaml", &flow(&connection(), &source, ""))]);
        let explained = stage.command(&["explain", "f.yaml"]).stdout;
        let right = match asked {
            "" => format!("only rows where: {filter}\n    columns: "),
            asked => format!(
                "only rows where: {filter}\n    the server sends only rows where: {asked}\n"
            ),
        };
        assert!(explained.contains(&right), "{explained}");
        let (code, evidence, said) = stage.run("f.yaml", &[]);
        assert_eq!(code, 0, "{filter}: {said}");
        super::books::close(&evidence);
        let counts = &evidence["source"]["filter"];
        assert_eq!(
            (&evidence["rows_read"], &counts["rows_filtered"], counts["asked"].as_str()),
            (&read.into(), &(read - kept).into(), Some(asked).filter(|asked| !asked.is_empty())),
            "{filter}: {evidence}"
        );
        // Without rows there is no file.
        assert_eq!(stage.rows("out").iter().skip(1).count() as u64, kept, "{filter}");
        stage
    };
    let table = "schema: filtered, table: t";
    check(table, "last = 3", "last = 3", [100, 100]);
    let stage = check(table, "id > 990 AND last <> 3", "id > 990", [10, 9]);
    let ran = stage.command(&["run", "f.yaml"]).stdout;
    assert!(
        ran.contains("  1 rows left out by the source's filter\n  the server sent only rows where: id > 990\n"),
        "{ran}"
    );
    check("query: 'SELECT id, last FROM filtered.t'", "id = 7", "id = 7", [1, 1]);
    check(table, "id < 0", "id < 0", [0, 0]);
    check(table, "id + 1 = 3", "", [1000, 1]);
    for (filter, right) in [
        ("nope = 1", "source.filter: `filter`: "),
        ("i = 1", "source.filter: `filter`: "),
        ("1000 / (last - 3) > 1", "`filter` cannot be computed for its rows"),
    ] {
        let source = format!("{table}, columns: [id], filter: \"{filter}\"");
        let stage = Stage::new(&[("f.yaml", &flow(&connection(), &source, ""))]);
        let (code, _, said) = stage.run("f.yaml", &[]);
        assert!(code == 2 && said.contains(right), "{filter}: {said}");
    }
}

#[test]
fn a_run_that_fails_does_not_wait_for_a_server_that_is_busy() {
    let query = "SELECT n, repeat('x', 1000) AS x FROM generate_series(1, 30000) AS n WHERE n < 25000 OR pg_sleep(1000) IS NULL";
    let source = format!("query: \"{query}\"");
    let step = "transforms: [{ type: cast, columns: { x: int64 } }]\n";
    let url = format!("{}?application_name=busy", server().url());
    let connection = connection().replace(&server().url(), &url);
    let stage = Stage::new(&[("f.yaml", &flow(&connection, &source, step))]);
    let begun = Instant::now();
    let (code, _, said) = stage.run("f.yaml", &[]);
    assert!(code == 2 && said.contains("is no Int64"), "{code}: {said}");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let running = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'busy'";
    assert_eq!(server().count(running), 0);
}
