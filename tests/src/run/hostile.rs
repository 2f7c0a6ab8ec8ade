//! SQL that is meant to hurt: each ends with one clear error, with little memory, and nothing else notices.

use std::fs;
use std::process::Command;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::Stage;

/// Memory of the whole command at its peak: the engine's code, one instance's memory and the host's own.
const PEAK_BYTES_MAX: u64 = 900 << 20;

/// Time that a call may take where the time is what ends it.
const SHORT: &str = "{ process_ms: 1000, process_us_per_row: 1, finish_ms: 1000 }";

/// Time enough for whatever else ends it, on a busy machine.
const LONG: &str = "{ process_ms: 30000, finish_ms: 30000, open_ms: 30000 }";

/// Runs a flow with this step over a thousand rows. It must end with this exit code, say `what`, and stay small.
fn check(name: &str, limits: &str, step: &str, code: i32, what: &str) {
    let rows: String = (0..1_000)
        .map(|n| format!("{n},aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{n}\n"))
        .collect();
    let flow = format!(
        "name: f\nlimits: {limits}\nsource: {{ format: csv, path: in.csv }}\ntransforms:\n- {step}\n\
         destination: {{ name: d, format: csv, path: out }}\n"
    );
    let stage = Stage::new(&[("in.csv", &format!("n,t\n{rows}")), ("flow.yaml", &flow)]);
    let child = Command::new(env!("CARGO_BIN_EXE_wasmhost-under-test"))
        .args(["run", "flow.yaml", "--quiet"])
        .current_dir(stage.folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let watch = thread::spawn(move || {
        let mut peak = 0;
        // Gone with the process, whose last word on its peak is what counts.
        while let Ok(text) = fs::read_to_string(&status) {
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let Some(line) = line else { break };
            peak = line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10;
            thread::sleep(Duration::from_millis(5));
        }
        peak
    });
    let ended = child.wait_with_output().unwrap();
    let peak = watch.join().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(code), "{name}: {said}");
    assert!(said.contains(what), "{name}: {said}");
    assert!(peak < PEAK_BYTES_MAX, "{name}: {} MiB", peak >> 20);
    assert!(!stage.path("out").exists(), "{name}");
}

#[test]
fn text_without_end_meets_the_memory_limit() {
    let step = "{ type: with_column, column: x, expression: \"repeat('x', 1000000000)\" }";
    check("a gigabyte a row", LONG, step, 3, "memory_bytes");
    let step = "{ type: with_column, column: x, expression: \"repeat(t, 20000)\" }";
    check("a megabyte a row", LONG, step, 3, "output_bytes");
}

#[test]
fn patterns_that_explode_are_refused_and_those_that_would_backtrack_do_not() {
    let step = "{ type: filter, expression: \"regexp_like(t, '((a{100}){100}){100}')\" }";
    check("a pattern without end", LONG, step, 2, "the pattern is too big");
    let step = "{ type: filter, expression: \"regexp_like(t, '^(a+)+$') OR n / 0 > 1\" }";
    check("linear time; the division is what fails", LONG, step, 2, "Divide by zero");
}

#[test]
fn joins_of_everything_meet_the_deadline() {
    let query =
        "SELECT count(*) AS c, 1 AS d FROM input a, input b, input c WHERE a.n + b.n + c.n < 0";
    check("a billion rows", SHORT, &format!("{{ type: sql, query: \"{query}\" }}"), 3, "_ms`");
    let query = "SELECT a.t || b.t AS t, c.n FROM input a, input b, input c";
    check(
        "a billion rows out",
        SHORT,
        &format!("{{ type: sql, query: \"{query}\" }}"),
        3,
        "the limit `",
    );
}

#[test]
fn recursion_has_an_end() {
    let deep = "(".repeat(4_000) + "n" + &")".repeat(4_000);
    check(
        "parentheses",
        LONG,
        &format!("{{ type: with_column, column: x, expression: \"{deep}\" }}"),
        2,
        "",
    );
    let deep = "NOT ".repeat(3_000) + "true";
    check("negations", LONG, &format!("{{ type: filter, expression: \"{deep}\" }}"), 2, "");
    let deep = "1".to_owned() + &"+1".repeat(6_000);
    check(
        "sums",
        LONG,
        &format!("{{ type: with_column, column: x, expression: \"{deep}\" }}"),
        2,
        "",
    );
    let query =
        "WITH RECURSIVE r AS (SELECT 1 AS k UNION ALL SELECT k + 1 FROM r) SELECT k, k AS l FROM r";
    check(
        "a query without end",
        SHORT,
        &format!("{{ type: sql, query: \"{query}\" }}"),
        3,
        "the limit `",
    );
}

#[test]
fn nothing_of_the_machine_is_within_reach() {
    for query in [
        "SELECT * FROM 'in.csv'",
        "SELECT * FROM read_csv('in.csv')",
        "SELECT * FROM generate_series(1, 10)",
        "COPY input TO 'stolen.csv'",
        "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
        "SET datafusion.execution.batch_size = 1",
        "SELECT * FROM information_schema.tables",
        "SELECT 1; DROP TABLE input",
    ] {
        check(
            query,
            LONG,
            &format!("{{ type: sql, query: \"{query}\" }}"),
            2,
            "transforms[0].query",
        );
    }
}
