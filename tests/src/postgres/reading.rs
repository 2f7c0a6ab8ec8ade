//! Rows as they are read: all of them or an error, of one moment, in bounded batches; and what a reader that is given up leaves.

use std::io::Read as _;
use std::io::Write as _;
use std::net::Shutdown;
use std::net::TcpListener;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use arrow::array::AsArray as _;
use arrow::datatypes::Int64Type;
use wasmhost::flow::Source;
use wasmhost::flow::SqlRows;
use wasmhost::source::Rows;

use super::address;
use super::check;
use super::query;
use super::server::server;
use super::shown;
use super::source;
use super::source_at;
use super::table;
use crate::sources::column;

/// How many rows there are, and the sum of their first column.
fn sum(mut rows: Rows) -> Result<(i64, i64), String> {
    let (mut count, mut sum) = (0, 0);
    while let Some(batch) = rows.next_batch().map_err(|error| error.to_string())? {
        assert_eq!(batch.origin.row(0), Some(count as u64 + 1));
        count += batch.rows.num_rows() as i64;
        let numbers = batch.rows.column(0).as_primitive::<Int64Type>();
        sum += numbers.values().iter().sum::<i64>();
    }
    Ok((count, sum))
}

fn opened(source: &Source, batch_rows: usize) -> Rows {
    Rows::open(Rows::discover(source).unwrap(), batch_rows)
}

#[test]
fn a_statement_that_the_server_does_not_take_is_refused_with_its_words() {
    server().does("CREATE SCHEMA refused; CREATE TABLE refused.t (id int8)");
    for (rows, right) in [
        (
            query("SELECT *\nFORM t"),
            "Postgres says: syntax error at or near \"FORM\" (line 2, character 1 of the query)",
        ),
        (
            query("SELECT 1; SELECT 2"),
            "Postgres says: cannot insert multiple commands into a prepared statement",
        ),
        (
            query("SELECT 1) AS a, (SELECT 2"),
            "Postgres says: syntax error at or near \")\" (line 1, character 9 of the query)",
        ),
        (
            query("SELECT ide FROM refused.t"),
            "Postgres says: column \"ide\" does not exist (line 1, character 8 of the query)",
        ),
        (
            query("SELECT id FROM refused.tt"),
            "Postgres says: relation \"refused.tt\" does not exist (line 1, character 16 of the query)",
        ),
        (query("SELECT id FROM refused.t WHERE id = $1"), "the query has parameters, such as `$1`"),
        (query("DELETE FROM refused.t"), "the query gives no rows: it is no SELECT"),
        (query(""), "the query gives no rows: it is no SELECT"),
        (table("refused", "T"), "Postgres says: relation \"refused.T\" does not exist"),
        (table("refuse", "t"), "Postgres says: relation \"refuse.t\" does not exist"),
        (
            SqlRows::Table { schema: None, table: "t\"; DROP TABLE refused.t; --".to_owned() },
            "Postgres says: relation \"t\"; DROP TABLE refused.t; --\" does not exist",
        ),
    ] {
        let told = shown(&source(rows), 9);
        let told = told.strip_prefix("flow.yaml: source: `DIR`: ").unwrap_or(&told);
        assert!(told.starts_with(&format!("{right} [wrong-value]")), "{told}");
    }
}

#[test]
fn a_statement_that_would_write_or_that_fails_while_it_runs_is_an_error() {
    server()
        .does("CREATE SCHEMA running; CREATE TABLE running.t (id int8); CREATE SEQUENCE running.s; GRANT ALL ON SEQUENCE running.s TO reader");
    let in_read_only = "in a read-only transaction [data]";
    for (text, columns, right) in [
        (
            "INSERT INTO running.t VALUES (1) RETURNING id",
            "id Int64",
            format!("Postgres says: cannot execute INSERT {in_read_only}"),
        ),
        (
            "SELECT nextval('running.s') AS n",
            "n Int64",
            format!("Postgres says: cannot execute nextval() {in_read_only}"),
        ),
        (
            "SELECT 1 / (n - 3) AS q FROM generate_series(1, 9) n",
            "q Int32",
            "Postgres says: division by zero [data]".to_owned(),
        ),
        (
            "SELECT id FROM running.t FOR UPDATE",
            "id Int64",
            format!("Postgres says: cannot execute SELECT FOR UPDATE {in_read_only}"),
        ),
    ] {
        let told = shown(&source(query(text)), 9);
        assert_eq!(
            told.replace("\nquery of DIR", "; query of DIR"),
            format!("{columns}; query of DIR: {right}")
        );
    }
    assert_eq!(server().count("SELECT count(*) FROM running.t"), 0);
}

#[test]
fn columns_that_change_between_discovery_and_reading_are_an_error() {
    server().does("CREATE SCHEMA changing");
    for (change, right) in [
        (
            "ALTER COLUMN b TYPE text",
            "changing.t of DIR: b: it was int4 when the run began, and is text now [data]\n  hint: run the flow again",
        ),
        (
            "ALTER COLUMN b TYPE int8",
            "changing.t of DIR: b: it was int4 when the run began, and is int8 now [data]\n  hint: run the flow again",
        ),
        ("DROP COLUMN b", "changing.t of DIR: Postgres says: column \"b\" does not exist [data]"),
        ("RENAME b TO c", "changing.t of DIR: Postgres says: column \"b\" does not exist [data]"),
        ("ADD COLUMN c int", "2"),
    ] {
        server().does("DROP TABLE IF EXISTS changing.t; CREATE TABLE changing.t (a int8, b int4); INSERT INTO changing.t VALUES (1, 2), (3, 4)");
        let source = source(table("changing", "t"));
        let rows = opened(&source, 9);
        server().does(&format!("ALTER TABLE changing.t {change}"));
        let told = sum(rows).map_or_else(|error| error, |(count, _)| count.to_string());
        assert_eq!(told.replace(&source.path.to_string(), "DIR"), right, "{change}");
    }
}

#[test]
fn a_connection_that_ends_early_is_an_error_wherever_it_ends() {
    let rows = query("SELECT n::int8, repeat('x', 100) AS x FROM generate_series(1, 5000) AS n");
    let mut whole = 0;
    // From signing on to the last byte; every part of what is said is cut once.
    for limit in (0..700).step_by(90).chain((1_000..700_000).step_by(60_000)) {
        let mut server = address();
        // The second connection is the one that reads.
        server.port = cutting(server.port, limit);
        let found = Rows::discover(&source_at(server, rows.clone()));
        let ended =
            found.map_err(|error| error.to_string()).and_then(|found| sum(Rows::open(found, 100)));
        match ended {
            Ok(all) => {
                assert_eq!(all, (5000, 5000 * 5001 / 2), "{limit}");
                whole += 1;
            }
            Err(told) => assert!(
                told.contains("connection closed") || told.contains("communicating"),
                "{limit}: {told}"
            ),
        }
    }
    assert!((1..6).contains(&whole), "{whole} of them were read to the end");
}

/// A port that leads to `port`: the first connection whole, each later one until so many bytes have come back.
fn cutting(port: u16, limit: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for (number, client) in listener.incoming().enumerate() {
            let (client, server) =
                (client.unwrap(), TcpStream::connect(("127.0.0.1", port)).unwrap());
            let limit = if number == 0 { usize::MAX } else { limit };
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || {
                drop(std::io::copy(&mut from, &mut to).and_then(|_| to.shutdown(Shutdown::Write)))
            });
            thread::spawn(move || pass(server, client, limit));
        }
    });
    own
}

fn pass(mut from: TcpStream, mut to: TcpStream, mut left: usize) {
    let mut bytes = [0; 4096];
    while left > 0 {
        let wanted = left.min(bytes.len());
        let Ok(read @ 1..) = from.read(&mut bytes[..wanted]) else { break };
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
        left -= read;
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

#[test]
fn rows_are_those_of_one_moment_also_for_several_readers() {
    server().does("CREATE SCHEMA moment; CREATE TABLE moment.t AS SELECT n::int8 FROM generate_series(1, 1000) AS n");
    let whole = Ok((1000, 1000 * 1001 / 2));
    let source = source(table("moment", "t"));
    let mut rows = opened(&source, 10);
    // The moment is that of the first batch, and the first reader's.
    let shared = Rows::discover(&source).unwrap().shared();
    let mut first = Rows::open(shared.clone(), 10);
    let begun = [rows.next_batch().unwrap().unwrap(), first.next_batch().unwrap().unwrap()];
    server().does("DELETE FROM moment.t WHERE n > 900; INSERT INTO moment.t SELECT n FROM generate_series(2001, 9000) AS n");
    for mut rows in [rows, first] {
        let mut count = begun[0].rows.num_rows();
        while let Some(batch) = rows.next_batch().unwrap() {
            count += batch.rows.num_rows();
        }
        assert_eq!(count, 1000);
    }
    for _ in 0..2 {
        assert_eq!(sum(Rows::open(shared.clone(), 100)), whole);
    }
    assert_ne!(sum(opened(&source, 100)), whole);
    // What kept the moment goes with the last of them.
    let kept = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_export_snapshot%' AND state LIKE 'idle in%'";
    assert_eq!(server().count(kept), 1);
    drop(shared);
    assert_eq!(server().count(kept), 0);
}

#[test]
fn many_rows_wide_rows_and_no_rows_are_read_in_batches() {
    server().does(
        "CREATE SCHEMA sizes; CREATE TABLE sizes.none (n int8, t text);
         CREATE VIEW sizes.wide AS SELECT n::int8, repeat('x', 1 << 20) AS t FROM generate_series(1, 40) AS n;
         CREATE TABLE sizes.parts (n int8) PARTITION BY LIST (n); CREATE TABLE sizes.part_1 PARTITION OF sizes.parts FOR VALUES IN (1);
         CREATE TABLE sizes.part_2 PARTITION OF sizes.parts FOR VALUES IN (2); INSERT INTO sizes.parts VALUES (1), (2)",
    );
    let many = query("SELECT n::int8 FROM generate_series(1, 300000) AS n");
    assert_eq!(sum(opened(&source(many), 7)), Ok((300_000, 300_000 * 300_001 / 2)));
    check(table("sizes", "none"), |_| {}, "n Int64, t Utf8");
    check(table("sizes", "parts"), |_| {}, "n Int64\nsizes.parts#1: 1  2");
    let mut wide = opened(&source(table("sizes", "wide")), 8192);
    let mut batches = Vec::new();
    while let Some(batch) = wide.next_batch().unwrap() {
        batches.push(batch.rows.num_rows());
    }
    assert_eq!(batches.iter().sum::<usize>(), 40);
    assert!(batches.iter().all(|rows| *rows <= 17), "{batches:?}");
    // Ten bytes are sent for each of these.
    let digits = query("SELECT '1e120000'::numeric AS v FROM generate_series(1, 300)");
    let mut source = source(digits);
    source.schema_hints = [(column("v"), arrow::datatypes::DataType::Utf8)].into();
    let mut rows = opened(&source, 8192);
    let first = rows.next_batch().unwrap().unwrap().rows;
    assert_eq!(first.column(0).as_string::<i32>().value(0).len(), 120_001);
    assert!(first.num_rows() < 200, "{}", first.num_rows());
}

#[test]
fn a_table_is_found_by_the_search_path_and_columns_are_chosen() {
    server().does(
        "CREATE SCHEMA \"Odd one\"; CREATE TABLE \"Odd one\".\"T.\"\"t\" (\"A b\" int8, c text, \"*d\" bool);
         INSERT INTO \"Odd one\".\"T.\"\"t\" VALUES (1, 'x', true), (2, NULL, false)",
    );
    let name = "T.\"t";
    check(
        table("Odd one", name),
        |_| {},
        "A b Int64, c Utf8, *d Boolean\nOdd one.T.\"t#1: 1|x|true  2|-|false",
    );
    let mut server = address();
    server.options = Some("-c search_path=nowhere,\"Odd\\ one\"".to_owned());
    let rows = SqlRows::Table { schema: None, table: name.to_owned() };
    let mut found = source_at(server, rows);
    found.columns = Some(vec![column("*d"), column("*")]);
    assert_eq!(
        shown(&found, 2),
        "*d Boolean, A b Int64, c Utf8\nOdd one.T.\"t#1: true|1|x  false|2|-"
    );
    // Only what is wanted is asked for; nothing at all still counts the rows.
    let known = Rows::discover(&found).unwrap();
    let batch = Rows::open(known.clone(), 9).only(&["c".to_owned()]).next_batch().unwrap().unwrap();
    assert_eq!((batch.rows.column(1).null_count(), batch.rows.column(2).null_count()), (2, 1));
    let batch = Rows::open(known, 9).only(&[]).next_batch().unwrap().unwrap();
    assert_eq!((batch.rows.num_rows(), batch.rows.column(2).null_count()), (2, 2));
    // Queries that end as they like, and one that cannot stand where a table does.
    for text in [
        "SELECT 1 AS a, 2 AS b;",
        "SELECT 1 AS a, 2 AS b -- both",
        "SELECT 1 AS a, 2 AS b; -- both",
        "WITH x AS (SELECT 1 AS a, 2 AS b) TABLE x",
        "VALUES (1, 2)",
    ] {
        let known = Rows::discover(&source(query(text))).unwrap();
        let name = known.schema().field(1).name().clone();
        let batch = Rows::open(known, 9).only(&[name]).next_batch().unwrap().unwrap().rows;
        assert_eq!((batch.column(0).null_count(), batch.column(1).null_count()), (1, 0), "{text}");
    }
    check(query("SHOW server_encoding"), |_| {}, "server_encoding Utf8\nquery#1: UTF8");
    check(
        query("SELECT n FROM generate_series(3, 1, -1) AS n ORDER BY n"),
        |_| {},
        "n Int32\nquery#1: 1  2\nquery#3: 3",
    );
}

#[test]
fn a_reader_that_is_given_up_cancels_its_query() {
    let mut server = address();
    server.application_name = "given up".to_owned();
    let text = "SELECT n, repeat('x', 100000) AS t FROM generate_series(1, 1000) AS n WHERE n < 100 OR pg_sleep(1000) IS NULL";
    let mut rows = opened(&source_at(server, query(text)), 10);
    rows.next_batch().unwrap().unwrap();
    let running = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'given up'";
    assert_eq!(self::server().count(running), 1);
    let begun = Instant::now();
    drop(rows);
    while self::server().count(running) > 0 {
        assert!(begun.elapsed() < Duration::from_secs(8), "it still runs");
        thread::sleep(Duration::from_millis(20));
    }
    // One that was never read has asked nothing.
    drop(opened(&source(query(text)), 10));
}

#[test]
fn callers_may_be_in_a_runtime_or_not() {
    let source = source(query("SELECT n::int8 FROM generate_series(1, 100) AS n"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let whole = Ok((100, 5050));
    assert_eq!(sum(opened(&source, 9)), whole);
    let own = source.clone();
    let blocking = runtime.block_on(runtime.spawn_blocking(move || sum(opened(&own, 9)))).unwrap();
    assert_eq!(blocking, whole);
    // Not to be done, but no panic either.
    runtime.block_on(async {
        let mut rows = opened(&source, 9);
        assert!(rows.next_batch().unwrap().is_some());
        drop(rows);
    });
}
