//! Only columns that somebody looks at are read; the rows are the same.

use std::fs;
use std::fs::File;
use std::path::Path;

use super::Stage;

fn flow(source: &str, steps: &str) -> String {
    format!(
        "name: f\nsource: {{ {source} }}\ntransforms: [{steps}]\n\
         destination: {{ name: d, format: csv, path: out, load_type: overwrite, write_options: {{ null_value: 'NULL' }} }}\n"
    )
}

fn check(stage: &Stage, source: &str, steps: &str, read: &str, right: &[&str]) {
    stage.put("f.yaml", &flow(source, steps));
    let explained = stage.command(&["explain", "f.yaml"]).stdout;
    let told = explained.lines().find_map(|line| line.trim().strip_prefix("read: "));
    assert_eq!(told.unwrap_or("all"), read, "{source} {steps}: {explained}");
    let (code, _, said) = stage.run("f.yaml", &[]);
    assert_eq!(code, 0, "{source} {steps}: {said}");
    let mut rows = stage.rows("out");
    rows[1..].sort();
    assert_eq!(rows, right, "{source} {steps}");
}

#[test]
fn what_steps_leave_out_unseen_is_not_read_from_any_format() {
    let stage = Stage::new(&[
        ("csv/k=1/a.csv", "id,name,more\n1,a,x\n2,b,y\n"),
        ("csv/k=2/b.csv", "id,name,more\n3,a,z\n"),
        (
            "a.jsonl",
            "{\"id\": 1, \"name\": \"a\", \"more\": [1], \"k\": \"1\"}\n{\"id\": 2, \"name\": \"b\", \"k\": \"1\"}\n{\"id\": 3, \"name\": \"a\", \"k\": \"2\"}\n",
        ),
    ]);
    let mut sources = vec![
        "format: csv, path: csv".to_owned(),
        "format: jsonl, path: a.jsonl".to_owned(),
        "format: jsonl, path: a.jsonl, options: { infer_schema_rows: 1 }".to_owned(),
    ];
    for format in ["arrow", "avro", "delta"] {
        let to = format!("name: d, format: {format}, path: {format}, partition_columns: [k]");
        stage.put(
            "w.yaml",
            &format!("name: w\nsource: {{ format: csv, path: csv }}\ndestination: {{ {to} }}\n"),
        );
        let (code, _, said) = stage.run("w.yaml", &[]);
        assert_eq!(code, 0, "{said}");
        sources.push(format!("format: {format}, path: {format}"));
    }
    for source in &sources {
        let group = "{ type: group_by, by: [k], agg: [\"sum(id) AS ids\"] }";
        check(&stage, source, group, "id, k", &["k|ids", "1|3", "2|3"]);
        let none = "{ type: group_by, agg: [\"count(*) AS rows\"] }";
        check(&stage, source, none, "id", &["rows", "3"]);
        let chosen = "{ type: filter, expression: \"id > 1\" }, { type: select, columns: [name] }";
        check(&stage, source, chosen, "id, name", &["name", "a", "b"]);
        let folder = "{ type: select, columns: [k] }";
        check(&stage, source, folder, "k", &["k", "1", "1", "2"]);
        // The whole row decides which of equal ones stays.
        let dedup = "{ type: deduplicate, keys: [k] }, { type: select, columns: [k, name] }";
        check(&stage, source, dedup, "all", &["k|name", "1|a", "2|a"]);
    }
    // Rows that are set apart are kept whole.
    let cast = "{ type: cast, columns: { k: int64 }, on_error: quarantine }, { type: select, columns: [k] }";
    check(&stage, &sources[0], cast, "all", &["k", "1", "1", "2"]);
}

#[test]
fn content_that_no_step_looks_at_is_not_read() {
    let stage = Stage::new(&[("files/a.bin", "abc")]);
    // More than a value holds.
    File::create(stage.path("files/big.bin")).unwrap().set_len(3 << 30).unwrap();
    let steps = "{ type: drop, columns: [path, content, modificationTime] }";
    check(&stage, "format: binary, path: files", steps, "length", &["length", "3", "3221225472"]);
}

#[test]
fn a_file_that_makes_its_library_panic_is_one_error_that_names_it() {
    let stage = Stage::new(&[]);
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/formats/table.orc");
    let mut bytes = fs::read(fixture).unwrap();
    // In what its columns are said to be like.
    bytes[815] ^= 128;
    fs::write(stage.path("a.orc"), bytes).unwrap();
    stage.put("f.yaml", &flow("format: orc, path: a.orc", "{ type: select, columns: [id] }"));
    let ran = stage.command(&["run", "f.yaml"]);
    assert!(ran.code > 1 && ran.stderr.contains("a.orc: its reader stopped: "), "{}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}
