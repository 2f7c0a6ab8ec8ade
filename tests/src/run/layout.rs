//! `optimize_after_write` from a flow file through the command: what is refused, and what the evidence, the log and the rows say.

use std::fs;

use serde_json::Value;
use serde_json::json;

use super::Stage;

fn stage(layout: &str) -> Stage {
    let flow = format!(
        "name: f\nsource: {{ format: csv, path: in.csv, schema_hints: {{ n: int64 }} }}\n\
         destination: {{ name: t, format: delta, path: t, partition_columns: [g], optimize_after_write: true{layout} }}\n"
    );
    Stage::new(&[("f.yaml", &flow)])
}

#[test]
fn a_layout_that_the_table_cannot_have_is_refused_before_anything_is_written() {
    for (layout, right) in [
        (
            ", zorder_columns: [n, m]",
            "`zorder_columns` names `m`, which the table does not have [unknown-name]",
        ),
        (", zorder_columns: [g]", "`zorder_columns` names the partition column `g`"),
    ] {
        let stage = stage(layout);
        stage.put("in.csv", "n,g\n1,a\n");
        let before = stage.files();
        let ran = stage.command(&["run", "f.yaml"]);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(right), "{}", ran.stderr);
        assert_eq!(stage.files(), before);
    }
    let flow = "name: f\nsource: { format: jsonl, path: in.jsonl }\n\
                destination: { format: delta, path: t, optimize_after_write: true, zorder_columns: [o] }\n";
    let stage = Stage::new(&[("f.yaml", flow), ("in.jsonl", "{\"o\":{\"a\":1}}\n")]);
    let ran = stage.command(&["run", "f.yaml"]);
    assert!(
        ran.stderr.contains("names `o`, whose values have parts and no order [schema]"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_evidence_says_which_files_were_put_together_or_why_not() {
    let stage = stage(", zorder_columns: [n]");
    let skipped = |why: &str| json!({ "optimize_skipped": why });
    let done = |removed: u64, added: u64, version: u64| json!({ "optimized": { "files_removed": removed, "files_added": added, "version": version } });
    for (input, version, right) in [
        ("n,g\n3,a\n1,a\n7,b\n", 0, done(2, 2, 1)),
        ("n,g\n2,a\n", 2, done(2, 1, 3)),
        ("n,g\n", 4, skipped("the run added no files")),
    ] {
        stage.put("in.csv", input);
        let (code, evidence, said) = stage.run("f.yaml", &[]);
        assert_eq!(code, 0, "{said}");
        let to = evidence["destinations"][0].as_object().unwrap();
        assert_eq!(to["version"], json!(version));
        let said: Value = to
            .iter()
            .filter(|(key, _)| key.starts_with("optimize"))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into();
        assert_eq!(said, right, "{input}");
    }
    let mut rows = stage.rows("t");
    rows[1..].sort();
    assert_eq!(rows, ["n|g", "1|a", "2|a", "3|a", "7|b"]);
    let entry = fs::read_to_string(stage.path("t/_delta_log/00000000000000000003.json")).unwrap();
    assert!(
        entry.contains("\"zOrderBy\":\"[\\\"n\\\"]\"") && !entry.contains("\"dataChange\":true"),
        "{entry}"
    );

    stage.put("in.csv", "n,g\n9,c\n");
    let ran = stage.command(&["run", "f.yaml"]);
    assert!(ran.stdout.contains("; then 1 files became 1, version 6"), "{}", ran.stdout);
    let ran = stage.command(&["explain", "f.yaml"]);
    let right =
        "then small files of the partitions that were written to are put together, z-ordered by n";
    assert!(ran.stdout.contains(right), "{}", ran.stdout);
}
