//! Parts of flat targets from a flow file through the command: what is asked, what the evidence counts, what lies there.

use std::fs;

use chrono::DateTime;
use chrono::Utc;
use serde_json::Value;

use super::Stage;
use super::books::count;

fn flow(destination: &str) -> String {
    format!(
        "name: f\nconnections: {{ dated: {{ date_folder_partitions: \"{{year}}/{{month}}/{{day}}\" }} }}\n\
         source: {{ format: csv, path: in.csv, schema_hints: {{ n: int64 }} }}\n\
         destination: {{ name: t, path: t, {destination} }}\n"
    )
}

/// The visible files of the target, without their names.
fn folders(stage: &Stage) -> Vec<String> {
    let files = stage.files().into_iter().filter_map(|file| {
        let (folder, name) = file.strip_prefix("t/")?.rsplit_once('/')?;
        (!folder.starts_with(['_', '.'])).then(|| {
            let ending = name.split_once('.').unwrap().1;
            format!("{folder}/{ending}")
        })
    });
    files.collect()
}

fn day(evidence: &Value) -> String {
    let at: DateTime<Utc> = evidence["started_at"].as_str().unwrap().parse().unwrap();
    at.format("%Y/%m/%d").to_string()
}

#[test]
fn partitions_of_compressed_files_are_replaced_and_counted() {
    let stage = Stage::new(&[(
        "f.yaml",
        &flow(
            "format: csv, load_type: overwrite_partitions, partition_columns: [g], options: { compression: zstd }",
        ),
    )]);
    for (input, deleted, right) in [
        ("n,g\n1,a\n2,a\n3,b\n4,\n", 0, vec!["g=__HIVE_DEFAULT_PARTITION__", "g=a", "g=b"]),
        ("n,g\n9,a\n8,c\n", 2, vec!["g=__HIVE_DEFAULT_PARTITION__", "g=a", "g=b", "g=c"]),
        ("n,g\n", 0, vec!["g=__HIVE_DEFAULT_PARTITION__", "g=a", "g=b", "g=c"]),
    ] {
        stage.put("in.csv", input);
        let (code, evidence, said) = stage.run("f.yaml", &[]);
        assert_eq!(code, 0, "{said}");
        assert_eq!(count(&evidence, "/destinations/0/rows_deleted"), deleted, "{input}");
        let right: Vec<_> = right.iter().map(|folder| format!("{folder}/csv.zst")).collect();
        assert_eq!(folders(&stage), right);
    }
    // And read back by another flow.
    stage.put(
        "back.yaml",
        "name: back\nsource: { format: csv, path: t, schema_hints: { n: int64 } }\ndestination: { name: b, path: b, format: csv }\n",
    );
    let (code, _, said) = stage.run("back.yaml", &[]);
    assert_eq!(code, 0, "{said}");
    let mut rows = stage.rows("b");
    rows.sort();
    assert_eq!(rows, ["3|b", "4|", "8|c", "9|a", "n|g"]);
}

#[test]
fn the_runs_date_folder_is_replaced_and_older_ones_stay() {
    let stage =
        Stage::new(&[("f.yaml", &flow("connection: dated, format: jsonl, load_type: overwrite"))]);
    stage.put("in.csv", "n,g\n1,a\n2,a\n");
    let (code, evidence, said) = stage.run("f.yaml", &[]);
    assert_eq!(code, 0, "{said}");
    let today = day(&evidence);
    assert_eq!(folders(&stage), [format!("{today}/jsonl")]);
    // As if that had been years ago: the manifest knows the folder as well.
    fs::create_dir_all(stage.path("t/2001/02")).unwrap();
    fs::rename(stage.path(&format!("t/{today}")), stage.path("t/2001/02/03")).unwrap();
    let manifest = fs::read_dir(stage.path("t/_wasmhost")).unwrap().next().unwrap().unwrap().path();
    let text =
        fs::read_to_string(&manifest).unwrap().replace(&format!("\"{today}/"), "\"2001/02/03/");
    fs::write(&manifest, text).unwrap();
    stage.put("in.csv", "n,g\n3,b\n");
    for deleted in [0, 1] {
        let (code, evidence, said) = stage.run("f.yaml", &[]);
        assert_eq!(code, 0, "{said}");
        if day(&evidence) != today {
            return; // Midnight has come.
        }
        assert_eq!(count(&evidence, "/destinations/0/rows_deleted"), deleted);
        assert_eq!(folders(&stage), ["2001/02/03/jsonl".to_owned(), format!("{today}/jsonl")]);
    }
    let ran = stage.command(&["explain", "f.yaml"]);
    for right in [
        "there; rows replace all rows of the run's date folder; refused where there are none",
        "date folders: {year}/{month}/{day}, of the run's start in UTC",
    ] {
        assert!(ran.stdout.contains(right), "{}", ran.stdout);
    }
}

#[test]
fn partition_columns_win_over_the_connections_date_folders() {
    let stage = Stage::new(&[
        ("f.yaml", &flow("connection: dated, format: parquet, partition_columns: [g]")),
        ("in.csv", "n,g\n1,a\n"),
    ]);
    let ran = stage.command(&["explain", "f.yaml"]);
    let right = "date folders of the connection, {year}/{month}/{day}: not used, since partition columns win";
    assert!(ran.stdout.contains(right), "{}", ran.stdout);
    let (code, _, said) = stage.run("f.yaml", &[]);
    assert_eq!((code, folders(&stage)), (0, vec!["g=a/parquet".to_owned()]), "{said}");
}

#[test]
fn a_quarantine_has_date_folders_as_well() {
    let stage = Stage::new(&[
        (
            "f.yaml",
            "name: f\nsource: { format: csv, path: in.csv }\nrules: [{ type: not_null, columns: [g], severity: quarantine }]\n\
         quarantine: { path: t, format: csv, date_folder_partitions: \"dt={year}-{month}-{day}\" }\n\
         destination: { name: o, path: o, format: csv }\n",
        ),
        ("in.csv", "n,g\n1,a\n2,\n"),
    ]);
    let (code, evidence, said) = stage.run("f.yaml", &[]);
    assert_eq!((code, count(&evidence, "/quarantine/rows")), (0, 1), "{said}");
    assert_eq!(folders(&stage), [format!("dt={}/csv", day(&evidence).replace('/', "-"))]);
}
