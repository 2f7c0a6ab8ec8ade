//! Delta tables that other engines wrote, with all that the protocol lets them: what is damaged is named, what is whole is read as
//! others read it. `tests/data/delta/README.md` tells where they come from.

mod damaged;
mod filtered;

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use super::Stage;
use super::walk;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/delta")
}

/// A folder with a copy of the table, called `t`.
fn stage(table: &str) -> Stage {
    let stage = Stage::new(&[]);
    let from = match data().join(table) {
        own if own.exists() => own,
        _ => data().join("spark").join(table),
    };
    walk(&from, &mut |file| {
        let to = stage.path("t").join(file.strip_prefix(&from).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(file, to).unwrap();
    });
    stage
}

/// Reads the table into Parquet: the exit code, the rows in order of their texts, what was said.
fn read(stage: &Stage, source: &str) -> (i32, Vec<String>, String) {
    let _ = fs::remove_dir_all(stage.path("out"));
    stage.put(
        "read.yaml",
        &format!(
            "name: r\nsource: {{ format: delta, path: t{source} }}\n\
             destination: {{ name: d, format: parquet, path: out }}\n"
        ),
    );
    let (code, evidence, said) = stage.run("read.yaml", &[]);
    let rows = sorted(stage.rows("out"));
    if code == 0 {
        assert_eq!(evidence["rows_read"], json!(rows.len().saturating_sub(1)), "{evidence}");
    }
    (code, rows, said)
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.get_mut(1..).unwrap_or_default().sort();
    rows
}

/// The table is read as `expected/<name>.parquet` has it.
fn check(stage: &Stage, source: &str, expected: &str) {
    fs::create_dir_all(stage.path("right")).unwrap();
    fs::copy(data().join(format!("expected/{expected}.parquet")), stage.path("right/a.parquet"))
        .unwrap();
    let right = sorted(stage.rows("right"));
    let (code, rows, said) = read(stage, source);
    assert_eq!(code, 0, "{expected}: {said}");
    if rows != right {
        let line = rows.iter().zip(&right).find(|(row, right)| row != right);
        panic!("{expected}: {} rows, {} are right; {line:?}", rows.len(), right.len());
    }
}

/// The table is refused in these words, and nothing is written.
fn refused(stage: &Stage, case: &str, right: &[&str]) {
    let (code, rows, said) = read(stage, "");
    assert!(code > 1 && rows.is_empty(), "{case}: {code} {rows:?} {said}");
    for right in right {
        assert!(said.contains(right), "{case}: `{right}` is not in: {said}");
    }
    assert!(!said.contains("panicked"), "{case}: {said}");
}

/// Changes actions of an entry of the log.
fn rewrite(stage: &Stage, version: u64, change: impl Fn(&mut Value)) {
    let path = stage.path(&format!("t/_delta_log/{version:020}.json"));
    let actions = fs::read_to_string(&path).unwrap();
    let actions = actions.lines().map(|line| {
        let mut action: Value = serde_json::from_str(line).unwrap();
        change(&mut action);
        format!("{action}\n")
    });
    fs::write(&path, actions.collect::<String>()).unwrap();
}

/// Changes the schema of a table, which the log has as a text.
fn reshape(stage: &Stage, version: u64, change: impl Fn(&mut Value)) {
    rewrite(stage, version, |action| {
        if let Some(text) = action.pointer_mut("/metaData/schemaString") {
            let mut schema: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
            change(&mut schema);
            *text = json!(schema.to_string());
        }
    });
}

/// Changes the bytes of a file.
fn damage(path: &Path, change: impl Fn(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// Two vectors of the table `hidden`.
const VECTORS: &str = "t/ab/deletion_vector_00000000-0000-0000-1234-567890abcdef.bin";

/// The entry that begins a table.
const FIRST: &str = "t/_delta_log/00000000000000000000.json";

/// Takes the other files out of the table.
fn keep(stage: &Stage, files: &[&str]) {
    rewrite(stage, 0, |action| {
        if action.get("add").is_some_and(|add| !files.contains(&add["path"].as_str().unwrap())) {
            *action = json!({ "commitInfo": {} });
        }
    });
}

/// An entry of the log that begins a table: reader features, properties, fields as the schema has them.
fn begun(features: &[&str], properties: Value, fields: Value, partition_columns: Value) -> String {
    let protocol = json!({ "protocol": {
        "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features,
    } });
    let schema = json!({ "type": "struct", "fields": fields }).to_string();
    let metadata = json!({ "metaData": {
        "id": "4e3b7a52-6a0b-4b5e-9c2f-000000000001", "format": { "provider": "parquet", "options": {} }, "schemaString": schema,
        "partitionColumns": partition_columns, "configuration": properties, "createdTime": 1,
    } });
    format!("{protocol}\n{metadata}\n")
}

fn field(name: &str, data_type: Value, metadata: Value) -> Value {
    json!({ "name": name, "type": data_type, "nullable": true, "metadata": metadata })
}

#[test]
fn tables_that_others_wrote_are_read_as_others_read_them() {
    for table in [
        "basic-with-vacuum-protocol-check-feature",
        "data-reader-timestamp_ntz-id-mode",
        "dv-with-columnmapping",
        "hidden",
        "kernel-timestamp-partition-col-ISO8601",
        "log-replay-dv-key-cases",
        "multi-part-checkpoint",
        "renamed-id",
        "renamed-name",
        "table-with-columnmapping-mode-id",
        "table-with-columnmapping-mode-name",
        "type-widening",
        "type-widening-nested",
        "v2-checkpoint-json",
        "v2-json-sidecars-struct-stats-only",
        "v2-parquet-sidecars-struct-stats-only",
    ] {
        check(&stage(table), "", table);
    }
    check(&stage("dv-with-columnmapping"), ", version_as_of: 3", "dv-with-columnmapping-at-3");
}

#[test]
fn a_deletion_vector_may_lie_at_an_absolute_path_below_the_table() {
    let stage = stage("hidden");
    let vectors = fs::canonicalize(stage.path(VECTORS)).unwrap().display().to_string();
    for path in [vectors.clone(), format!("file://{vectors}")] {
        rewrite(&stage, 0, |action| {
            let vector = action.pointer_mut("/add/deletionVector");
            if let Some(vector) = vector.filter(|vector| vector["storageType"] != "i") {
                vector["storageType"] = json!("p");
                vector["pathOrInlineDv"] = json!(path);
            }
        });
        check(&stage, "", "hidden");
    }
}

#[test]
fn rows_keep_their_places_in_files_of_which_others_are_hidden() {
    let stage = stage("hidden");
    stage.put(
        "f.yaml",
        "name: f\nsource: { format: delta, path: t }\n\
         rules: [{ type: expression, expression: \"id NOT IN (0, 999, 61000, 139998, 1000002, 1000005)\", severity: quarantine }]\n\
         destination: { name: d, format: parquet, path: out }\n",
    );
    let (code, evidence, said) = stage.run("f.yaml", &[]);
    assert_eq!(code, 0, "{said}");
    let apart = readback(&stage, evidence["quarantine"]["path"].as_str().unwrap());
    let places: Vec<_> = apart.iter().map(|(file, row, id)| (file.as_str(), *row, *id)).collect();
    assert_eq!(
        places,
        [
            ("a.parquet", 1, 0),
            ("a.parquet", 1_000, 999),
            ("a.parquet", 61_001, 61_000),
            ("a.parquet", 139_999, 139_998),
            ("b.parquet", 3, 1_000_002),
            ("b.parquet", 6, 1_000_005),
        ]
    );
    // Values that do not fit are told by their places; hidden ones are not looked at.
    keep(&stage, &["a.parquet", "c.parquet"]);
    let (code, _, said) = read(&stage, ", schema_hints: { id: int16 }");
    assert_eq!(code, 2, "{said}");
    for right in ["t/a.parquet", "row 61001", "`61000` is not int16"] {
        assert!(said.contains(right), "{right}: {said}");
    }
    keep(&stage, &["c.parquet"]);
    let (code, rows, said) = read(&stage, ", schema_hints: { id: int8 }");
    assert_eq!((code, rows.len()), (0, 0), "{said}");
}

/// File, row and `id` of rows that were set apart.
fn readback(stage: &Stage, path: &str) -> Vec<(String, u64, i64)> {
    let rows = super::readback::rows(&stage.path(path));
    let names: Vec<&str> = rows[0].split('|').collect();
    let place = |name: &str| names.iter().position(|it| *it == name).unwrap();
    let (file, row, id) = (place("__file"), place("__row"), place("id"));
    let mut found: Vec<_> = rows[1..]
        .iter()
        .map(|line| {
            let values: Vec<&str> = line.split('|').collect();
            let name = Path::new(values[file]).file_name().unwrap().to_str().unwrap();
            (name.to_owned(), values[row].parse().unwrap(), values[id].parse().unwrap())
        })
        .collect();
    found.sort();
    found
}

#[test]
fn columns_that_were_renamed_are_chosen_by_the_names_that_they_have_now() {
    for table in ["renamed-name", "renamed-id"] {
        let stage = stage(table);
        let (code, rows, said) = read(&stage, ", columns: [gone, label]");
        assert_eq!(
            (code, &rows[..]),
            (0, &["gone|label", "-|-", "-|a", "-|c", "5|d"].map(str::to_owned)[..]),
            "{said}"
        );
        let (code, rows, said) = read(&stage, ", columns: [region, id], version_as_of: 1");
        assert_eq!((code, &rows[1..2]), (0, &["-|4".to_owned()][..]), "{said}");
        let (code, rows, said) = read(&stage, ", columns: [p, gone], version_as_of: 0");
        assert_eq!((code, &rows[1..2]), (0, &["north west|97".to_owned()][..]), "{said}");
        let (code, _, said) = read(&stage, ", columns: [name]");
        assert!(code == 2 && said.contains("no column `name`"), "{said}");
    }
    // An engine for which names are the same in any case.
    let spelt = stage("hidden");
    keep(&spelt, &["d.parquet"]);
    reshape(&spelt, 0, |schema| schema["fields"][0]["name"] = json!("ID"));
    let (code, rows, said) = read(&spelt, "");
    assert_eq!((code, &rows[..2]), (0, &["ID", "3000000"].map(str::to_owned)[..]), "{said}");
}

#[test]
fn partition_values_of_a_narrower_type_are_read_as_the_wider_one_or_an_error() {
    let table = |from: &str, to: &str, values: [&str; 2]| {
        let changes = json!({ "delta.typeChanges": [{ "fromType": from, "toType": to }] });
        let fields = json!([field("id", json!("long"), json!({})), field("p", json!(to), changes)]);
        let mut log = begun(&["typeWidening", "timestampNtz"], json!({}), fields, json!(["p"]));
        let stage = Stage::new(&[]);
        for (path, value) in ["a.parquet", "b.parquet"].into_iter().zip(values) {
            let mut add =
                json!({ "path": path, "size": 1, "modificationTime": 1, "dataChange": true });
            add["partitionValues"] = json!({ "p": value });
            log += &format!("{}\n", json!({ "add": add }));
        }
        stage.put(FIRST, &log);
        for path in ["t/a.parquet", "t/b.parquet"] {
            fs::copy(data().join("hidden/d.parquet"), stage.path(path)).unwrap();
        }
        stage
    };
    for (from, to, values, right) in [
        ("integer", "double", ["7", "7.5"], ["7.0", "7.5"]),
        ("float", "double", ["0.5", "0.1"], ["0.1", "0.5"]),
        ("byte", "long", ["7", "9223372036854775807"], ["7", "9223372036854775807"]),
        ("decimal(4,2)", "decimal(12,2)", ["1.50", "12345.00"], ["1.50", "12345.00"]),
    ] {
        let (code, rows, said) = read(&table(from, to, values), "");
        assert_eq!((code, rows.len()), (0, 21), "{from} {to}: {said}");
        assert_eq!(rows[1..3], right.map(|value| format!("3000000|{value}")), "{from} {to}");
    }
    // The library takes no such text for the wider type.
    let day = ["2024-01-02", "2024-01-02 00:00:00"];
    refused(&table("date", "timestamp_ntz", day), "a date", &["'2024-01-02' as 'timestamp_ntz'"]);
    let amounts = ["3", "3.25"];
    refused(&table("short", "decimal(12,2)", amounts), "a number", &["'3' as 'decimal(12,2)'"]);
}

#[test]
fn tables_with_such_features_are_written_as_before_or_refused_by_name() {
    let write = |stage: &Stage, load: &str| {
        stage.put("new.csv", "id\n-1\n");
        stage.put(
            "write.yaml",
            &format!("name: w\nsource: {{ format: csv, path: new.csv }}\ndestination: {{ name: t, format: delta, path: t, {load} }}\n"),
        );
        let (code, _, said) = stage.run("write.yaml", &[]);
        (code, said)
    };
    for (table, load, right) in [
        (
            "hidden",
            "load_type: merge_upsert, merge_keys: [id]",
            "a deletion vector hides some of its rows",
        ),
        ("renamed-name", "load_type: append", "column mapping"),
        ("renamed-id", "load_type: append", "column mapping"),
        ("type-widening", "load_type: append", "typeWidening-preview"),
    ] {
        let stage = stage(table);
        let before = stage.files();
        let (code, said) = write(&stage, load);
        assert!(code > 1 && said.contains(right), "{table}: {code} {said}");
        let versions =
            |files: &[String]| files.iter().filter(|file| file.starts_with("t/_delta_log")).count();
        assert_eq!(versions(&before), versions(&stage.files()), "{table}");
    }
    let grown = stage("hidden");
    let (code, said) = write(&grown, "load_type: append");
    assert_eq!(code, 0, "{said}");
    let (code, rows, said) = read(&grown, "");
    assert_eq!((code, rows.len(), rows[1].as_str()), (0, 47_336, "-1"), "{said}");
}
