//! Destinations: all or none, each row once, in the order of the source.

use std::fs;

use super::Stage;
use super::books::count;
use super::csv;
use super::twenty;

/// A flow without components, over `in.csv`.
fn flow(destinations: &[&str]) -> String {
    let to: String = destinations.iter().map(|to| format!("  - {{ {to} }}\n")).collect();
    format!(
        "name: f\nsource: {{ format: csv, path: in.csv, schema_hints: {{ n: int64, v: int64 }} }}\ndestinations:\n{to}"
    )
}

#[test]
fn one_destination_that_cannot_be_written_keeps_all_from_being_written() {
    let good = "name: good, format: delta, path: out/good";
    let cases: &[(&str, i32, &str)] = &[
        ("name: bad, format: csv, path: in_the_way", 2, "in_the_way"),
        ("name: bad, format: csv, path: in_the_way/below", 2, "a part of its path is a file"),
        ("name: bad, format: csv, path: out/bad, columns: [n, w]", 2, "`columns` names `w`"),
        (
            "name: bad, format: csv, path: out/bad, partition_columns: [w]",
            2,
            "there is no column `w`",
        ),
        ("name: bad, format: parquet, path: other", 2, "other"),
        ("name: bad, format: delta, path: other", 2, "other"),
    ];
    for (bad, code, part) in cases {
        for order in [[good, bad], [bad, good]] {
            let stage = Stage::new(&[
                ("f.yaml", &flow(&order)),
                ("in.csv", &twenty()),
                ("in_the_way", "a file"),
                ("other/somebodys.txt", "not ours"),
            ]);
            let before = stage.files();
            let (ended, evidence, said) = stage.run("f.yaml", &[]);
            assert_eq!(
                (ended, evidence["status"].as_str()),
                (*code, Some("failed")),
                "{bad}: {said}"
            );
            let message = evidence["error"]["message"].as_str().unwrap();
            assert!(message.contains(part), "{bad}: {message}");
            assert_eq!(stage.files(), before, "{bad}");
        }
    }
}

#[test]
fn an_empty_input_is_appended_but_overwrites_only_where_that_is_allowed() {
    let append = "name: log, format: csv, path: log";
    let stage = Stage::new(&[
        ("append.yaml", &flow(&[append, "name: lake, format: delta, path: lake"])),
        (
            "overwrite.yaml",
            &flow(&[append, "name: out, format: parquet, path: out, load_type: overwrite"]),
        ),
        ("delta.yaml", &flow(&[append, "name: lake, format: delta, path: lake2, mode: overwrite"])),
        (
            "allowed.yaml",
            &flow(&[
                "name: out, format: parquet, path: out, load_type: overwrite, allow_empty: true",
            ]),
        ),
        ("in.csv", &twenty()),
    ]);
    assert_eq!(stage.run("overwrite.yaml", &[]).0, 0);
    assert_eq!((stage.rows("out").len(), stage.rows("log").len()), (21, 21));

    stage.put("in.csv", "n,v\n");
    let (code, evidence, said) = stage.run("append.yaml", &[]);
    assert_eq!((code, evidence["status"].as_str()), (0, Some("nothing_to_do")), "{said}");
    assert_eq!((count(&evidence, "/rows_read"), stage.rows("log").len()), (0, 21));

    for (flow, path) in [("overwrite.yaml", "out"), ("delta.yaml", "lake2")] {
        let (code, evidence, said) = stage.run(flow, &[]);
        assert_eq!((code, evidence["status"].as_str()), (2, Some("failed")), "{said}");
        let message = evidence["error"]["message"].as_str().unwrap();
        assert!(message.contains("allow_empty: true") && message.contains(path), "{message}");
        assert_eq!((stage.rows("out").len(), stage.rows("log").len()), (21, 21));
    }

    let (code, evidence, said) = stage.run("allowed.yaml", &[]);
    assert_eq!((code, evidence["status"].as_str()), (0, Some("succeeded")), "{said}");
    assert_eq!(count(&evidence, "/destinations/0/rows_deleted"), 20);
    assert!(stage.rows("out").len() <= 1, "{:?}", stage.rows("out"));
}

#[test]
fn tables_are_made_once() {
    for format in ["delta", "parquet", "csv", "json", "jsonl", "avro", "arrow"] {
        let to = |load: &str| flow(&[&format!("name: t, format: {format}, path: t, {load}")]);
        let stage = Stage::new(&[
            ("new.yaml", &to("load_type: error_if_exists")),
            ("once.yaml", &to("mode: ignore")),
            ("in.csv", "n,v\n1,1\n2,1\n3,2\n4,\n"),
        ]);
        let (code, evidence, said) = stage.run("new.yaml", &["--run-id", "made"]);
        assert_eq!((code, count(&evidence, "/rows_written")), (0, 4), "{format}: {said}");
        let before = stage.files();
        let (code, evidence, said) = stage.run("new.yaml", &[]);
        let error = &evidence["error"];
        let message = error["message"].as_str().unwrap();
        assert!(code == 2 && message.contains("there is a table already"), "{format}: {said}");
        // Before any row is read.
        assert_eq!(count(&evidence, "/rows_read"), 0, "{format}: {evidence}");
        assert_eq!(evidence["destinations"][0]["outcome"], "untouched", "{format}");
        assert_eq!(stage.files(), before, "{format}");

        let (code, evidence, said) = stage.run("once.yaml", &[]);
        assert_eq!(
            (code, evidence["status"].as_str()),
            (0, Some("nothing_to_do")),
            "{format}: {said}"
        );
        assert_eq!(evidence["destinations"][0]["outcome"], "skipped", "{format}: {said}");
        assert_eq!(count(&evidence, "/rows_written"), 0, "{format}");
        assert_eq!(count(&evidence, "/destinations/0/rows_written"), 0, "{format}");
        let ran = stage.command(&["run", "once.yaml"]);
        let printed = format!("{}{}", ran.stdout, ran.stderr);
        assert!(printed.contains("there already; left as it is"), "{format}: {printed}");
        assert_eq!(stage.files(), before, "{format}");

        let (code, evidence, said) = stage.run("new.yaml", &["--run-id", "made"]);
        let outcome = evidence["destinations"][0]["outcome"].as_str();
        assert_eq!((code, outcome), (0, Some("already_committed")), "{format}: {said}");
        assert_eq!(stage.files(), before, "{format}");
    }
}

#[test]
fn partitions_are_replaced_one_by_one() {
    let stage = Stage::new(&[
        (
            "parts.yaml",
            &flow(&[
                "name: p, format: delta, path: p, mode: overwrite_partitions, partitionBy: [v]",
            ]),
        ),
        ("in.csv", "n,v\n1,1\n2,1\n3,2\n4,\n"),
    ]);
    assert_eq!((stage.run("parts.yaml", &[]).0, stage.rows("p").len()), (0, 5));
    stage.put("in.csv", "n,v\n9,1\n8,\n");
    let (code, evidence, said) = stage.run("parts.yaml", &[]);
    assert_eq!((code, count(&evidence, "/destinations/0/rows_deleted")), (0, 3), "{said}");
    let mut rows = stage.rows("p");
    rows[1..].sort();
    assert_eq!(rows, ["n|v", "3|2", "8|-", "9|1"]);
    // No rows replace no partition: that is no way to empty a table.
    stage.put("in.csv", "n,v\n");
    let (code, evidence, said) = stage.run("parts.yaml", &[]);
    assert_eq!((code, evidence["status"].as_str()), (0, Some("nothing_to_do")), "{said}");
    assert_eq!(stage.rows("p").len(), 4);
}

#[test]
fn a_run_id_writes_once_and_another_one_appends() {
    let to = [
        "name: csv, format: csv, path: csv",
        "name: parquet, format: parquet, path: parquet, partition_columns: [v]",
        "name: lines, format: jsonl, path: lines",
        "name: lake, format: delta, path: lake",
    ];
    let more = [&to[..], &["name: late, format: csv, path: late"]].concat();
    let input = csv(["n", "v"], (1..=9).map(|n| [n.to_string(), (n % 2).to_string()]));
    let stage =
        Stage::new(&[("f.yaml", &flow(&to)), ("more.yaml", &flow(&more)), ("in.csv", &input)]);
    let lengths = || ["csv", "parquet", "lines", "lake"].map(|to| stage.rows(to).len());
    let (code, evidence, said) = stage.run("f.yaml", &["--run-id", "one"]);
    assert_eq!((code, evidence["status"].as_str()), (0, Some("succeeded")), "{said}");
    assert_eq!(lengths(), [10, 10, 10, 10]);
    let version = count(&evidence, "/destinations/3/version");

    let before = stage.files();
    let (code, evidence, said) = stage.run("f.yaml", &["--run-id", "one"]);
    assert_eq!((code, evidence["status"].as_str()), (0, Some("nothing_to_do")), "{said}");
    for to in evidence["destinations"].as_array().unwrap() {
        assert_eq!(to["outcome"], "already_committed", "{to}");
    }
    assert_eq!(count(&evidence, "/destinations/3/version"), version);
    assert_eq!(stage.files(), before);

    // A retry after a run that came half way: what is there stays, what is missing comes.
    let (code, evidence, said) = stage.run("more.yaml", &["--run-id", "one"]);
    assert_eq!((code, evidence["status"].as_str()), (0, Some("succeeded")), "{said}");
    assert_eq!(evidence["destinations"][4]["outcome"], "committed");
    assert_eq!((lengths(), stage.rows("late").len()), ([10, 10, 10, 10], 10));

    let (code, evidence, said) = stage.run("f.yaml", &["--run-id", "two"]);
    assert_eq!((code, evidence["status"].as_str()), (0, Some("succeeded")), "{said}");
    assert_eq!(lengths(), [19, 19, 19, 19]);
    assert_eq!(count(&evidence, "/destinations/3/version"), version + 1);

    let (code, _, _) = stage.run("f.yaml", &["--run-id", "three"]);
    assert_eq!((code, stage.rows("csv").len()), (0, 28));
}

#[test]
fn a_commit_that_fails_is_told_beside_those_that_came_before() {
    // Both destinations say yes; then the second one's log has an entry of somebody else's in the way.
    let to = ["name: first, format: csv, path: first", "name: second, format: delta, path: second"];
    let stage = Stage::new(&[("f.yaml", &flow(&to)), ("in.csv", &twenty())]);
    assert_eq!(stage.run("f.yaml", &[]).0, 0);
    // A folder where the commit's file is due: every reader still sees version 0, no writer gets past it.
    fs::create_dir(stage.path("second/_delta_log/00000000000000000001.json")).unwrap();
    let (code, evidence, said) = stage.run("f.yaml", &["--run-id", "half"]);
    assert!(code == 3 || code == 4, "{code}: {said}");
    let outcomes = evidence["destinations"].as_array().unwrap();
    assert_eq!(outcomes[0]["outcome"], "committed", "{said}");
    assert_eq!(count(&outcomes[0], "/rows_written"), 20);
    let second = outcomes[1]["outcome"].as_str().unwrap();
    assert_eq!(second, if code == 4 { "unknown" } else { "untouched" });
    assert_eq!(count(&evidence, "/rows_written"), 20);
    assert!(
        evidence["error"]["message"].as_str().unwrap().contains("destination `second`"),
        "{said}"
    );
    assert_eq!(stage.rows("first").len(), 41);

    // The world is mended; the same run id brings the rest.
    fs::remove_dir(stage.path("second/_delta_log/00000000000000000001.json")).unwrap();
    let (code, evidence, said) = stage.run("f.yaml", &["--run-id", "half"]);
    assert_eq!((code, evidence["status"].as_str()), (0, Some("succeeded")), "{said}");
    assert_eq!(evidence["destinations"][0]["outcome"], "already_committed");
    assert_eq!((stage.rows("first").len(), stage.rows("second").len()), (41, 41));
}

#[test]
fn rows_come_out_in_the_order_of_the_source_however_they_are_batched() {
    let flow = "name: f
components: { echo: { path: GUESTS/guest_echo.wasm } }
source: { format: csv, path: in, schema_hints: { text: text } }
transforms:
  - { type: component, component: echo, config: { mode: echo } }
  - { type: component, component: echo, config: { mode: project, columns: [text] } }
destinations: [{ name: out, format: csv, path: out }]
limits: { batch_rows: 7 }
";
    let part = |from: u32| {
        csv(
            ["n", "text"],
            (from..from + 1000).map(|n| [n.to_string(), (n * 7919 % 1009).to_string()]),
        )
    };
    let stage = Stage::new(&[
        ("f.yaml", flow),
        ("in/a.csv", &part(0)),
        ("in/b.csv", &part(1000)),
        ("in/c.csv", &part(2000)),
    ]);
    let (code, evidence, said) = stage.run("f.yaml", &[]);
    assert_eq!((code, count(&evidence, "/rows_written")), (0, 3000), "{said}");
    assert!(count(&evidence, "/components/0/usage/calls") >= 3 * 143, "{evidence:#}");
    let files: Vec<_> =
        stage.files().into_iter().filter(|path| path.starts_with("out/out_")).collect();
    let [file] = &files[..] else { panic!("one file: {files:?}") };
    let expected = part(0) + &part(1000)["n,text\n".len()..] + &part(2000)["n,text\n".len()..];
    assert!(
        fs::read_to_string(stage.path(file)).unwrap() == expected,
        "the whole file, byte by byte"
    );
}
