//! Delta tables as sources: what is refused, then which version of them is read.

use std::fs;

use serde_json::Value;
use serde_json::json;

use super::Stage;

/// A table of three versions: rows 1 and 2, then row 3 with a new column, then other rows of one partition.
fn table() -> Stage {
    let stage = Stage::new(&[
        ("0.csv", "id,p\n1,a b\n2,\n"),
        ("1.csv", "id,p,more\n3,a b,x\n"),
        ("2.csv", "id,p,more\n4,a b,y\n"),
    ]);
    for (file, load) in [
        ("0.csv", "load_type: append"),
        ("1.csv", "load_type: append, write_options: { merge_schema: true }"),
        ("2.csv", "load_type: overwrite_partitions"),
    ] {
        stage.put(
            "write.yaml",
            &format!(
                "name: w\nsource: {{ format: csv, path: {file} }}\n\
                 destination: {{ name: t, format: delta, path: t, partition_columns: [p], {load} }}\n"
            ),
        );
        let (code, _, said) = stage.run("write.yaml", &[]);
        assert_eq!(code, 0, "{said}");
    }
    stage
}

fn read(stage: &Stage, source: &str) -> (i32, Vec<String>, String) {
    let _ = fs::remove_dir_all(stage.path("out"));
    stage.put(
        "read.yaml",
        &format!(
            "name: r\nsource: {{ format: delta, {source} }}\n\
             destination: {{ name: d, format: csv, path: out, write_options: {{ null_value: 'NULL' }} }}\n"
        ),
    );
    let (code, _, said) = stage.run("read.yaml", &[]);
    let mut rows = stage.rows("out");
    rows.iter_mut().skip(1).for_each(|row| *row = row.replace('"', ""));
    rows.get_mut(1..).unwrap_or_default().sort();
    (code, rows, said)
}

#[test]
fn a_table_that_is_not_there_or_has_no_such_version_is_refused() {
    let stage = table();
    for (source, right) in [
        ("path: nowhere", "nowhere`: there is no Delta table"),
        ("path: t, version_as_of: 3", "there is no version 3; the newest is 2"),
        (
            "path: t, timestamp_as_of: 2001-01-01",
            "no version is of 2001-01-01 00:00:00 UTC or before; the log begins at ",
        ),
        ("path: t, columns: [nothing]", "the files have no column `nothing`"),
    ] {
        let (code, rows, said) = read(&stage, source);
        assert_eq!((code, rows.len()), (2, 0), "{source}: {said}");
        assert!(said.contains(right), "{source}: {said}");
    }
    // A data file that was cleaned away too early.
    let gone = stage.files().into_iter().find(|file| file.ends_with(".parquet"));
    fs::remove_file(stage.path(&gone.unwrap())).unwrap();
    let (code, rows, said) = read(&stage, "path: t, version_as_of: 1");
    assert!(code > 1 && rows.is_empty() && said.contains(".parquet"), "{said}");
}

#[test]
fn each_version_of_a_table_is_read_as_it_was() {
    let stage = table();
    let newest = ["id|p|more", "2|NULL|NULL", "4|a b|y"];
    for (source, right) in [
        ("path: t", &newest[..]),
        ("path: t, version_as_of: 0", &["id|p", "1|a b", "2|NULL"]),
        ("path: t, version_as_of: 1", &["id|p|more", "1|a b|NULL", "2|NULL|NULL", "3|a b|x"]),
        ("path: t, timestamp_as_of: 2999-01-01", &newest),
        ("path: t, columns: [more, id]", &["more|id", "NULL|2", "y|4"]),
        ("path: t, columns: [p], schema_hints: { p: string }", &["p", "NULL", "a b"]),
        // No rows make no file.
        ("path: nowhere, columns: [id], options: { allow_missing: true }", &[]),
    ] {
        let (code, rows, said) = read(&stage, source);
        assert_eq!(
            (code, rows),
            (0, right.iter().map(ToString::to_string).collect()),
            "{source}: {said}"
        );
    }
    stage.put("read.yaml", "name: r\nsource: { format: delta, path: t }\ndestination: { name: d, format: parquet, path: whole }\n");
    let (code, evidence, said) = stage.run("read.yaml", &[]);
    assert_eq!((code, evidence["source"]["version"].as_u64()), (0, Some(2)), "{said}");
    // Its own time finds each version.
    let time = |version: u64| {
        let entry =
            fs::read_to_string(stage.path(&format!("t/_delta_log/{version:020}.json"))).unwrap();
        let info = entry.lines().find_map(|line| {
            serde_json::from_str::<Value>(line).unwrap().get("commitInfo").cloned()
        });
        let millis = info.unwrap()["timestamp"].as_i64().unwrap();
        chrono::DateTime::from_timestamp_millis(millis).unwrap().to_rfc3339()
    };
    let (_, rows, said) = read(&stage, &format!("path: t, timestamp_as_of: \"{}\"", time(1)));
    assert!(rows.len() >= 3, "{said}");
    let (_, rows, _) = read(&stage, "path: t, columns: [id, __file_path]");
    assert!(
        rows[1].starts_with("2|") && rows[1].contains("t/p=__HIVE_DEFAULT_PARTITION__/"),
        "{rows:?}"
    );
}

#[test]
fn versions_follow_each_other_whatever_the_clocks_of_their_writers_said() {
    let stage = table();
    // The last writer's clock was behind.
    for (version, millis) in [(0, 1_000), (1, 3_000), (2, 2_000)] {
        let path = stage.path(&format!("t/_delta_log/{version:020}.json"));
        let actions = fs::read_to_string(&path).unwrap();
        let actions = actions.lines().map(|line| {
            let mut action: Value = serde_json::from_str(line).unwrap();
            if let Some(info) = action.get_mut("commitInfo") {
                info["timestamp"] = json!(millis);
            }
            format!("{action}\n")
        });
        fs::write(&path, actions.collect::<String>()).unwrap();
    }
    for (time, ids) in [
        ("1970-01-01T00:00:01Z", &["1", "2"][..]),
        ("1970-01-01T00:00:02.5Z", &["1", "2"]),
        ("1970-01-01T00:00:03Z", &["1", "2", "3"]),
        ("1970-01-01T00:00:03.001Z", &["2", "4"]),
    ] {
        let (code, rows, said) =
            read(&stage, &format!("path: t, columns: [id], timestamp_as_of: \"{time}\""));
        assert_eq!(
            (code, &rows[1..]),
            (0, &ids.iter().map(ToString::to_string).collect::<Vec<_>>()[..]),
            "{time}: {said}"
        );
    }
}
