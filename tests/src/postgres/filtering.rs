//! What of a filter the server is asked, which is what it decides as we do and nothing else: the rows are those of a filter that looks
//! at all of them.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::DataType;
use arrow::util::display::array_value_to_string;
use wasmhost::expression::Expression;
use wasmhost::expression::Scope;
use wasmhost::flow::Source;
use wasmhost::flow::SqlRows;
use wasmhost::source::Known;
use wasmhost::source::Rows;

use super::address;
use super::query;
use super::server::server;
use super::shown;
use super::source;
use super::source_at;
use super::table;
use super::types::prepared;
use crate::random::Random;
use crate::run::filters::predicate;
use crate::sources::column;

fn filtered(source: &Source, filter: &str) -> Source {
    Source { filter: Some(filter.to_owned()), ..source.clone() }
}

fn asked(source: &Source) -> Option<String> {
    Rows::discover(source).unwrap().asked().map(str::to_owned)
}

/// The rows that stay, in a batch, and how many came from the server.
fn read(source: &Source) -> Result<(RecordBatch, u64), String> {
    read_found(Rows::discover(source).map_err(|error| error.to_string())?)
}

fn read_found(found: Known) -> Result<(RecordBatch, u64), String> {
    let schema = Arc::clone(found.schema());
    let mut rows = Rows::open(found, 100);
    let passed = rows.passed();
    let mut batches = Vec::new();
    while let Some(batch) = rows.next_batch().map_err(|error| error.to_string())? {
        batches.push(batch.rows);
    }
    let all = concat_batches(&schema, &batches).unwrap();
    let came = all.num_rows() as u64 + passed.filtered();
    Ok((all, came))
}

/// Each row as text, in an order that does not depend on how the server finds it.
fn told(rows: &RecordBatch) -> Vec<String> {
    let value = |row| {
        let values = rows.columns().iter().map(move |column| match column.is_null(row) {
            true => "-".to_owned(),
            false => array_value_to_string(column, row).unwrap(),
        });
        values.collect::<Vec<_>>().join("|")
    };
    let mut told: Vec<_> = (0..rows.num_rows()).map(value).collect();
    told.sort();
    told
}

/// The rows of `all` for which it is true.
fn judged(all: &RecordBatch, sql: &str) -> RecordBatch {
    let expression = Expression::predicate(sql, &Scope::table(all.schema())).unwrap();
    let flags = expression.select(&all.project(expression.columns()).unwrap()).unwrap();
    arrow::compute::filter_record_batch(all, &flags).unwrap()
}

#[test]
fn only_what_the_server_decides_as_we_do_is_asked() {
    prepared();
    server().does(
        "CREATE SCHEMA asked; CREATE TYPE asked.mood AS ENUM ('sad', 'ok'); CREATE DOMAIN asked.small AS int2;
         CREATE COLLATION asked.deaf (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
         CREATE TABLE asked.t (b bool, s int2, i int4, n int8, d date, at timestamp, tz timestamptz, m numeric(10, 2), t text, v varchar(9), dom asked.small,
           f4 float4, f8 float8, raw numeric, wide numeric(40, 2), c char(3), ci citext, e asked.mood, u uuid, j json, jb jsonb, y bytea, nm name, ti time,
           l int4[], deaf text COLLATE asked.deaf, \"q\"\"; --\" int4, hinted int4, digits numeric(9, 2), cee text COLLATE \"C\");
         INSERT INTO asked.t VALUES (true, 1, 1, 1, '2024-01-01', '2024-01-01', '2024-01-01 00:00Z', 1.25, 'a', 'a', 1,
           1, 1, 1, 1, 'a', 'a', 'ok', '00000000-0000-0000-0000-000000000001', '1', '1', 'a', 'a', '00:00', '{1}', 'a', 1, 1, 1.25, 'a')",
    );
    let mut own = source(table("asked", "t"));
    own.schema_hints = [
        (column("raw"), DataType::Decimal128(20, 2)),
        (column("wide"), DataType::Decimal128(38, 2)),
        (column("hinted"), DataType::Int64),
        (column("digits"), DataType::Utf8),
    ]
    .into();
    let day = "2024-01-01";
    let whole = |filter: &str| (filter.to_owned(), Some(filter.to_owned()));
    let none = |filter: &str| (filter.to_owned(), None);
    let mut cases = vec![
        whole("b"),
        whole("(NOT b OR b = true)"),
        whole("i = 1"),
        whole("1 >= i"),
        whole("i IN (1, 2, 3, 4, 5, 6, NULL)"),
        whole("i IN (1, 2)"),
        whole("i BETWEEN 0 AND 1"),
        whole("s < 7 AND dom <= 1 AND n > 0"),
        whole("(i IS NULL OR b IS NOT NULL)"),
        whole(&format!("d = '{day}' AND at >= '{day} 00:00:00' AND tz < '{day} 00:00:01'")),
        whole("m = 1.25 AND m > -1 AND m <= 99999999.99 AND m IN (1.25, 2, 3, 4, 5)"),
        whole("t = 'a' AND v IN ('a', 'b', 'c', 'd', 'e') AND deaf = 'a'"),
        whole("\"q\"\"; --\" = 1"),
        ("(i = 1 OR n = 1) AND f8 < 2".to_owned(), Some("(i = 1 OR n = 1)".to_owned())),
        ("b AND ((i = 1) AND (i + 1 = 2 OR i = 7))".to_owned(), Some("b AND i = 1".to_owned())),
        // Text orders by its collation; what is not equal has nothing to be found by.
        none("t >= 'a'"),
        none("v < 'b'"),
        none("i <> 7"),
        none("NOT (i = 7)"),
        none("i NOT IN (7, 8, 9, 10, 11)"),
        none("i = n"),
        none("i = NULL OR i + 0 = 1"),
        none("t LIKE 'a%'"),
        none("upper(t) = 'A'"),
        // Not every value of the other type is one of the column's.
        none("m < 1.255"),
        none("i = 1 OR f8 = 1"),
        none("hinted = 1"),
        none("digits = '1.25'"),
    ];
    for other in ["c", "ci", "e", "j", "jb", "nm"] {
        let text = if other.starts_with('j') {
            "1"
        } else if other == "e" {
            "ok"
        } else {
            "a"
        };
        let text = if other == "c" { "a  " } else { text };
        cases.push(none(&format!("{other} = '{text}'")));
        cases.push(none(&format!("{other} IN ('{text}')")));
        cases.push(none(&format!("{other} IS NOT NULL")));
    }
    cases.push(none("u = '00000000-0000-0000-0000-000000000001'"));
    for number in ["f4", "f8", "raw", "wide"] {
        cases.push(none(&format!("{number} = CAST(1 AS DOUBLE)")));
        cases.push(none(&format!("{number} >= 1")));
        cases.push(none(&format!("{number} IS NOT NULL")));
    }
    for other in ["y", "ti", "l", "hinted", "digits"] {
        cases.push(none(&format!("{other} IS NOT NULL")));
    }
    let of_query = Source { format: source(query("SELECT * FROM asked.t")).format, ..own.clone() };
    for (filter, right) in cases {
        for own in [&own, &of_query] {
            let found = Rows::discover(&filtered(own, &filter)).unwrap();
            assert_eq!(found.asked(), right.as_deref(), "{filter}");
            let (rows, _) = read_found(found).unwrap_or_else(|error| panic!("{filter}: {error}"));
            assert_eq!(rows.num_rows(), 1, "{filter}");
        }
    }
    // Postgres compares no text of which it does not know the collation.
    let mixed = query("SELECT deaf || cee AS x FROM asked.t");
    let mixed = filtered(&source(mixed), "x = 'aa' AND x IS NOT NULL");
    assert_eq!(asked(&mixed), mixed.filter);
    assert_eq!(told(&read(&mixed).unwrap().0), ["aa"]);
    // A command cannot be asked for some of its rows.
    let show = filtered(&source(query("SHOW server_encoding")), "server_encoding = 'UTF8'");
    assert_eq!((asked(&show), read(&show).unwrap().0.num_rows()), (None, 1));
}

#[test]
fn a_literal_is_a_value_whatever_it_is_made_of() {
    server().does(
        "CREATE SCHEMA literals; CREATE TABLE literals.t (t text, d date, at timestamp); INSERT INTO literals.t VALUES
           ('it''s', '4713-01-01 BC', '294276-12-31'), ('''; DROP TABLE literals.t; --', '2024-01-01', '4713-01-01 BC'), ('$1\\', NULL, NULL), ('ü', NULL, NULL), (NULL, NULL, NULL),
           (repeat('x', 15000), NULL, NULL)",
    );
    let own = Source { columns: Some(vec![column("t")]), ..source(table("literals", "t")) };
    let check = |filter: &str, is_asked: bool, right: u64| {
        let own = filtered(&own, filter);
        assert_eq!(asked(&own).as_deref(), is_asked.then_some(filter), "{filter}");
        let (rows, came) = read(&own).unwrap_or_else(|error| panic!("{filter}: {error}"));
        let all = if is_asked { right } else { 6 };
        assert_eq!((rows.num_rows() as u64, came), (right, all), "{filter}");
    };
    check("t = 'it''s'", true, 1);
    check("t = '''; DROP TABLE literals.t; --'", true, 1);
    check("t IN ('$1\\', 'ü', '{\"a\",NULL}', 'NULL', '')", true, 2);
    check(&format!("t = '{}'", "x".repeat(15_000)), true, 1);
    check("t = 'a\0'", false, 0);
    check("t IN ('a\0', 'ü', '1', '2', '3')", false, 1);
    check("d >= '0001-01-01' AND at <= '9999-12-31 23:59:59.999999'", true, 1);
    assert_eq!(server().count("SELECT count(*) FROM literals.t"), 6);
}

#[test]
fn text_is_only_asked_of_a_database_that_keeps_it_as_it_is_sent() {
    server().does("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    let latin = wasmhost::flow::Server { database: "latin".to_owned(), ..address() };
    let rows = "SELECT * FROM (VALUES ('ü', 1), ('u', 2)) AS t(t, n)";
    for (filter, right) in [("t = 'ü' AND n < 9", 1), ("t = '€' AND n < 9", 0)] {
        let own = filtered(&source_at(latin.clone(), query(rows)), filter);
        assert_eq!(asked(&own).as_deref(), Some("n < 9"));
        assert_eq!(read(&own).unwrap().0.num_rows(), right, "{filter}");
    }
}

#[test]
fn a_condition_is_not_computed_for_what_a_query_or_view_leaves_out() {
    // The server would rather divide than call the function.
    server().does(
        "CREATE SCHEMA guarded; CREATE TABLE guarded.t AS SELECT n AS n FROM generate_series(0, 20) AS n;
         CREATE FUNCTION guarded.fits(n int4) RETURNS bool LANGUAGE plpgsql STABLE COST 10000 AS 'BEGIN RETURN n <> 0; END';
         CREATE VIEW guarded.v AS SELECT 100 / n AS q FROM guarded.t WHERE guarded.fits(n)",
    );
    let text = "SELECT 100 / n AS q FROM guarded.t WHERE guarded.fits(n)";
    let within = format!("SELECT * FROM ({text}) AS inside WHERE q >= 50");
    assert!(read(&source(query(&within))).unwrap_err().contains("division by zero"));
    for rows in [query(text), table("guarded", "v")] {
        let own = filtered(&source(rows), "q >= 50");
        let (rows, came) = read(&own).unwrap();
        assert_eq!((told(&rows), came), (vec!["100".to_owned(), "50".to_owned()], 2));
    }
    // The rows that a query takes are the same ones.
    let limited = "SELECT n FROM guarded.t ORDER BY n DESC LIMIT 5; ";
    let (rows, came) = read(&filtered(&source(query(limited)), "n < 18")).unwrap();
    assert_eq!((told(&rows), came), (vec!["16".to_owned(), "17".to_owned()], 2));
}

#[test]
fn rows_that_others_keep_are_asked_for_as_those_of_a_query() {
    let csv = server().folder.join("foreign.csv");
    server().does(&format!(
        "CREATE EXTENSION file_fdw; CREATE SCHEMA away; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw; COPY (SELECT n, 'a' FROM generate_series(1, 300000) AS n) TO '{0}';
         CREATE TABLE away.parent (n int4, t text); CREATE FOREIGN TABLE away.child () INHERITS (away.parent) SERVER files OPTIONS (filename '{0}');
         CREATE TABLE away.plain AS SELECT * FROM away.parent", csv.display()
    ));
    let server = wasmhost::flow::Server { application_name: "away".to_owned(), ..address() };
    for (name, is_fenced) in [("parent", 1), ("child", 1), ("plain", 0)] {
        let own = filtered(&source_at(server.clone(), table("away", name)), "n > 3 AND t = 'a'");
        let mut rows = Rows::open(Rows::discover(&own).unwrap(), 10);
        let first = rows.next_batch().unwrap().unwrap();
        assert_eq!(told(&first.rows)[0], "10|a");
        let runs = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'away' AND query LIKE '% OFFSET 0) %'";
        assert_eq!(self::server().count(runs), is_fenced, "{name}");
        drop(rows);
        let (rows, came) = read(&own).unwrap();
        assert_eq!((rows.num_rows(), came), (299_997, 299_997), "{name}");
    }
}

#[test]
fn what_the_server_leaves_out_is_not_judged() {
    server().does(
        "CREATE SCHEMA unjudged; CREATE TABLE unjudged.t (id int4, d date, m numeric(5, 2)); INSERT INTO unjudged.t VALUES (1, '2024-01-01', 1), (2, 'infinity', 2), (3, '2024-01-03', 'NaN');",
    );
    let own = source(table("unjudged", "t"));
    for (filter, right) in [
        ("d < '2024-01-02'", Ok(1)),
        ("id = 1", Ok(1)),
        ("id <> 2 AND id <> 3", Err("infinity")),
        ("d >= '2024-01-02' AND id < 3", Err("t of postgresql://")),
        ("id > 2", Err("`NaN` is not a decimal")),
        ("m < 1.5", Ok(1)),
    ] {
        match (read(&filtered(&own, filter)), right) {
            (Ok((rows, _)), Ok(right)) => assert_eq!(rows.num_rows(), right, "{filter}"),
            (Err(error), Err(right)) => assert!(error.contains(right), "{filter}: {error}"),
            (other, _) => panic!("{filter}: {other:?}"),
        }
    }
}

#[test]
fn the_condition_is_in_the_statement_and_its_values_are_not() {
    server().does("CREATE SCHEMA sent; CREATE TABLE sent.t AS SELECT n::int8 AS id, repeat('x', 1000) AS x FROM generate_series(1, 30000) AS n");
    let server = wasmhost::flow::Server { application_name: "asking".to_owned(), ..address() };
    let filter = "id > 12 AND x IN ('x', 'y', 'z', 'xx', 'xxx') OR id IS NOT NULL";
    for (rows, from, collation) in [
        (table("sent", "t"), "\"sent\".\"t\"", ""),
        (
            query("SELECT * FROM sent.t"),
            "(SELECT \"id\", \"x\" FROM (\nSELECT * FROM sent.t\n) AS source OFFSET 0) AS source",
            " COLLATE pg_catalog.\"C\"",
        ),
    ] {
        let own = filtered(&source_at(server.clone(), rows), filter);
        let mut rows = Rows::open(Rows::discover(&own).unwrap(), 10);
        rows.next_batch().unwrap().unwrap();
        let statement = format!(
            "SELECT \"id\", \"x\" FROM {from} WHERE ((\"id\" OPERATOR(pg_catalog.>) $1 AND \"x\"{collation} OPERATOR(pg_catalog.=) ANY ($2)) OR \"id\" IS NOT NULL)"
        );
        let runs = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'asking' AND query = '{statement}'"
        );
        assert_eq!(self::server().count(&runs), 1, "{statement}");
    }
}

#[test]
fn a_column_that_changed_is_told_as_without_a_condition() {
    server().does("CREATE SCHEMA turned; CREATE TABLE turned.t (id int8, b int4)");
    let own = filtered(&source(table("turned", "t")), "b = 1");
    let found = Rows::discover(&own).unwrap();
    server().does("ALTER TABLE turned.t ALTER COLUMN b TYPE text");
    let error = Rows::open(found, 9).next_batch().unwrap_err().to_string();
    assert!(error.contains("it was int4 when the run began, and is text now"), "{error}");
    assert!(shown(&own, 9).contains("text cannot be compared with"), "{}", shown(&own, 9));
}

/// A condition of one column, about where its values are.
fn atom(random: &mut Random) -> String {
    let op = *random.pick(&["=", "<>", "<", "<=", ">", ">="]);
    let n = random.below(30) as i64 - 10;
    let day = format!("2024-01-{:02}", 1 + random.below(28));
    let text = *random.pick(&["", "a", "A", "b", "a ", "ü", "x", "xxxxxxxxxxxxx"]);
    match random.below(18) {
        0 => format!("{} {op} {n}", random.pick(&["s", "i", "n", "dom"])),
        1 => format!("{n} {op} {}", random.pick(&["s", "i", "n", "dom"])),
        2 => format!("{} IN ({n}, {}, 3, 4, 5, 6)", random.pick(&["s", "i", "n"]), n + 2),
        3 => format!("i IN ({n}, NULL)"),
        4 => format!("n NOT IN ({n}, {}, NULL)", n + 2),
        5 => format!("{} BETWEEN {n} AND {}", random.pick(&["s", "i", "n", "m"]), n + 5),
        6 | 7 => {
            let name =
                *random.pick(&["b", "s", "i", "n", "d", "at", "tz", "m", "t", "v", "c", "f"]);
            format!("{name} IS {}NULL", random.pick(&["", "NOT "]))
        }
        8 => format!("d {op} '{day}'"),
        9 => format!("at {op} '{day} {:02}:00:00.000001'", random.below(24)),
        10 => format!("tz {op} '{day} {:02}:30:00'", random.below(24)),
        11 => format!("m {op} {}", *random.pick(&["0", "1.25", "-1.5", "1.255", "-99999999.99"])),
        12 => (*random.pick(&["b", "NOT b", "b = true", "b <> false", "b IS TRUE"])).to_owned(),
        13 => format!("{} {op} '{text}'", random.pick(&["t", "v", "c", "ci", "deaf"])),
        14 => format!("{} IN ('{text}', 'b', 'c', 'd', 'e')", random.pick(&["t", "v", "deaf"])),
        15 => format!("f {op} {n}"),
        16 => format!("d IN ('{day}', '2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05')"),
        _ => format!("i {op} s"),
    }
}

#[test]
fn random_filters_leave_the_same_rows_whatever_the_server_leaves_out() {
    prepared();
    // Numbers about 0, and texts, some of them NULL.
    server().does(
        "CREATE SCHEMA random; SET LOCAL search_path = random, public;
         CREATE FUNCTION num(nulls int4) RETURNS int4 LANGUAGE sql VOLATILE AS 'SELECT CASE WHEN random() * 100 >= nulls THEN floor(random() * 24)::int4 - 6 END';
         CREATE FUNCTION txt() RETURNS text LANGUAGE sql VOLATILE AS $$SELECT (ARRAY['', 'a', 'A', 'b', 'a ', 'ü', 'Ü', 'x'])[1 + abs(num(5)) % 8]$$;
         CREATE DOMAIN small AS int2; CREATE COLLATION deaf (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
         CREATE TABLE t (b bool, s int2, i int4, n int8, dom small, d date, at timestamp, tz timestamptz, m numeric(10, 2), t text, v varchar(3), c char(3), ci citext,
           deaf text COLLATE deaf, f float8) PARTITION BY RANGE (s);
         CREATE TABLE few PARTITION OF t FOR VALUES FROM (-100) TO (5); CREATE TABLE rest PARTITION OF t DEFAULT;
         SELECT setseed(0.5);
         INSERT INTO t SELECT CASE WHEN random() < 0.7 THEN random() < 0.5 END, num(5), num(10), num(10), num(10), DATE '2024-01-01' + num(5),
           TIMESTAMP '2024-01-01 00:00:00.000001' + num(10) * INTERVAL '13 hours', TIMESTAMPTZ '2024-01-01 00:30Z' + num(10) * INTERVAL '1 hour',
           num(10) * 0.25, txt(), txt(), txt(), txt(), txt(), CASE num(5) WHEN 3 THEN float8 'NaN' WHEN 4 THEN float8 'infinity' ELSE num(0) END
         FROM generate_series(1, 600);
         CREATE INDEX ON t (i); CREATE INDEX ON t (t); CREATE INDEX ON t (deaf); CREATE INDEX ON t (d); CREATE INDEX ON t (m); CREATE INDEX ON t (tz); ANALYZE t;
         CREATE VIEW v AS SELECT * FROM t",
    );
    let server = wasmhost::flow::Server {
        // By indexes wherever there is one.
        options: Some("-c enable_seqscan=off".to_owned()),
        ..address()
    };
    let all = read(&source(table("random", "t"))).unwrap().0;
    assert_eq!(all.num_rows(), 600);
    let sources: [(_, SqlRows); 4] = [
        (address(), table("random", "t")),
        (server.clone(), table("random", "t")),
        (server, table("random", "v")),
        (address(), query("SELECT * FROM random.t")),
    ];
    let sources = sources.map(|(server, rows)| source_at(server, rows));
    let mut random = Random::new(11);
    let (mut spared, mut asked_of) = (0, 0);
    for round in 0..200 {
        let sql = predicate(&mut random, &atom);
        let found = Rows::discover(&filtered(&sources[round % sources.len()], &sql)).unwrap();
        let is_asked = found.asked().is_some();
        let right = told(&judged(&all, &sql));
        let (rows, came) = read_found(found).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let rows = told(&rows);
        assert!(rows == right, "{sql}: {} where {} are right", rows.len(), right.len());
        assert!(is_asked || came == 600, "{sql}: {came}");
        asked_of += u64::from(is_asked);
        spared += 600 - came;
    }
    assert!(asked_of > 60 && spared > 20_000, "hardly anything was asked: {asked_of}, {spared}");
}

#[test]
fn a_part_over_columns_that_nobody_reads_is_not_asked() {
    server().does(
        "CREATE SCHEMA unread; CREATE TABLE unread.t (a int4, b int4); INSERT INTO unread.t VALUES (1, 1), (2, 2), (1, 3);
         CREATE VIEW unread.v AS SELECT * FROM unread.t",
    );
    for rows in [
        table("unread", "t"),
        table("unread", "v"),
        SqlRows::Query("SELECT * FROM unread.t".to_owned()),
    ] {
        // The whole has no need of `b`, since it says less than its parts.
        for (filter, right) in
            [("b = 1 AND false", 0), ("a = 1 AND (a = 1 OR b = 2)", 2), ("a = 1 AND b = 3", 1)]
        {
            let own = filtered(&source(rows.clone()), filter);
            let found =
                Rows::discover(&Source { columns: Some(vec![column("a")]), ..own }).unwrap();
            let mut read = Rows::open(found, 100).only(&["a".to_owned()]);
            let mut came = 0;
            while let Some(batch) =
                read.next_batch().unwrap_or_else(|error| panic!("{filter}: {error}"))
            {
                came += batch.rows.num_rows();
            }
            assert_eq!(came, right, "{filter} of {rows:?}");
        }
    }
}
