//! What is damaged, missing, or asked for and not done: an error that names it, and no rows.

use std::fs;
use std::path::Path;

use serde_json::Value;
use serde_json::json;

use super::FIRST;
use super::VECTORS;
use super::begun;
use super::check;
use super::damage;
use super::data;
use super::field;
use super::refused;
use super::reshape;
use super::rewrite;
use super::stage;
use crate::run::Stage;

#[test]
fn a_deletion_vector_that_is_missing_or_damaged_is_an_error_that_names_it() {
    for (case, change) in [
        ("cut", (|bytes| bytes.truncate(bytes.len() - 1)) as fn(&mut Vec<u8>)),
        ("half", |bytes| bytes.truncate(bytes.len() / 2)),
        ("empty", |bytes| bytes.clear()),
        ("of a later version", |bytes| bytes[0] = 2),
        ("another length", |bytes| bytes[4] ^= 1),
        ("checksum", |bytes| bytes[40] ^= 1),
    ] {
        let stage = stage("hidden");
        damage(&stage.path(VECTORS), change);
        refused(&stage, case, &["deletion_vector_00000000-0000-0000-1234-567890abcdef.bin"]);
    }
    let gone = stage("hidden");
    fs::remove_file(gone.path(VECTORS)).unwrap();
    refused(
        &gone,
        "gone",
        &[
            "deletion_vector_00000000-0000-0000-1234-567890abcdef.bin: cannot read a deletion vector",
        ],
    );
}

#[test]
fn a_deletion_vector_that_the_log_tells_otherwise_is_an_error_that_names_it() {
    let of = |path: &'static str, key: &'static str, value: Value| {
        move |action: &mut Value| {
            if action.pointer("/add/path") == Some(&json!(path)) {
                action["add"]["deletionVector"][key] = value.clone();
            }
        }
    };
    let elsewhere = "file:///elsewhere/deletion_vector_1.bin";
    for (path, key, value, right) in [
        ("a.parquet", "cardinality", json!(7), "the deletion vector of "),
        ("a.parquet", "cardinality", json!(-1), "counts no rows"),
        ("a.parquet", "sizeInBytes", json!(10), "another length than the log tells"),
        ("a.parquet", "sizeInBytes", json!(-1), "its size is none"),
        ("a.parquet", "sizeInBytes", json!(2_147_483_647), "ends before it does"),
        ("a.parquet", "offset", json!(0), "ends before it does"),
        ("a.parquet", "offset", json!(-5), "its place is none"),
        ("c.parquet", "offset", json!(2_147_483_647), "ends before it does"),
        ("a.parquet", "pathOrInlineDv", json!("short"), "it names no file"),
        ("a.parquet", "pathOrInlineDv", json!("../^-aqEH.-t@S}K{vb[*k^"), "it names no file"),
        ("a.parquet", "pathOrInlineDv", json!("..%2F^-aqEH.-t@S}K{vb[*k^"), "it names no file"),
        ("a.parquet", "storageType", json!("p"), "it names no local file"),
        ("a.parquet", "storageType", json!("x"), "Unknown storage format: 'x'"),
        (
            "b.parquet",
            "pathOrInlineDv",
            json!("^Bg9^"),
            "which is in the log: it has another length",
        ),
        ("b.parquet", "pathOrInlineDv", json!("\u{e4}"), "which is in the log: it is no Z85 text"),
    ] {
        let stage = stage("hidden");
        rewrite(&stage, 0, of(path, key, value.clone()));
        refused(&stage, &format!("{key} {value}"), &[path, right]);
    }
    let clone = stage("hidden");
    rewrite(&clone, 0, of("a.parquet", "storageType", json!("p")));
    rewrite(&clone, 0, of("a.parquet", "pathOrInlineDv", json!(elsewhere)));
    refused(&clone, "elsewhere", &["outside of the table's folder", elsewhere]);
    let below = fs::canonicalize(clone.path("t")).unwrap().display().to_string();
    for up in ["../t", "%2e%2E/t", "..%2Ft"] {
        let up =
            format!("{below}/{up}/ab/deletion_vector_00000000-0000-0000-1234-567890abcdef.bin");
        rewrite(&clone, 0, of("a.parquet", "pathOrInlineDv", json!(up)));
        refused(&clone, &up, &["outside of the table's folder"]);
    }
    // The vector of a longer file.
    let other = stage("hidden");
    rewrite(&other, 0, |action| {
        if action["add"]["path"] == "a.parquet" {
            action["add"]["path"] = json!("d.parquet");
        } else if action["add"]["path"] == "d.parquet" {
            *action = json!({ "commitInfo": {} });
        }
    });
    refused(&other, "another file's", &["it hides row 140000, and the file has 10"]);
}

#[test]
fn reader_features_that_are_not_done_are_refused_by_name_and_all_at_once() {
    let plain = || json!([field("id", json!("long"), json!({}))]);
    for features in [
        &["variantType"][..],
        &["variantType-preview"],
        &["variantType", "variantShredding"],
        &["catalogManaged"],
        &["catalogOwned-preview"],
        &["geospatial"],
        &["aFeatureOfLater", "anotherOne", "deletionVectors"],
    ] {
        let stage = Stage::new(&[(FIRST, &begun(features, json!({}), plain(), json!([])))]);
        let right: Vec<_> = features.iter().filter(|name| **name != "deletionVectors").collect();
        let right: Vec<&str> = right.into_iter().copied().collect();
        refused(&stage, &features.join(", "), &right);
    }
    // A change of type that the protocol does not know is no widening.
    for (from, to, right) in [
        ("long", "integer", "the change of `n.a` from long to integer"),
        ("string", "long", "the change of `n.a` from string to long"),
        (
            "decimal(10,2)",
            "decimal(10,4)",
            "the change of `n.a` from decimal(10,2) to decimal(10,4)",
        ),
        ("long", "decimal(10,0)", "the change of `n.a` from long to decimal(10,0)"),
        ("long", "double", "the change of `n.a` from long to double"),
        ("long", "nothing", "the type of `n.a`"),
    ] {
        let changes = json!({ "delta.typeChanges": [{ "fromType": from, "toType": to }] });
        let inner = json!({ "type": "struct", "fields": [field("a", json!("long"), changes)] });
        let fields = json!([field("n", inner, json!({}))]);
        let stage = Stage::new(&[(FIRST, &begun(&["typeWidening"], json!({}), fields, json!([])))]);
        refused(&stage, right, &[right]);
    }
}

#[test]
fn column_mapping_that_cannot_be_followed_is_an_error_and_never_null() {
    let none = stage("table-with-columnmapping-mode-name");
    rewrite(&none, 0, |action| {
        if let Some(mode) = action.pointer_mut("/metaData/configuration/delta.columnMapping.mode") {
            *mode = json!("later");
        }
    });
    refused(&none, "mode", &["columnMapping.mode", "later"]);
    for (table, key) in [("renamed-name", "physicalName"), ("renamed-id", "id")] {
        let stage = stage(table);
        reshape(&stage, 1, |schema| {
            schema["fields"][0]["metadata"]
                .as_object_mut()
                .unwrap()
                .remove(&format!("delta.columnMapping.{key}"));
        });
        refused(&stage, table, &["id", &format!("delta.columnMapping.{key}")]);
    }
    // A file that was put into the table by something that knows no ids.
    let foreign = stage("renamed-id");
    fs::copy(data().join("expected/hidden.parquet"), foreign.path("t/second.parquet")).unwrap();
    refused(&foreign, "no ids", &["second.parquet", "its columns have no ids"]);
}

#[test]
fn a_table_with_damaged_missing_or_foreign_files_is_an_error_that_names_them() {
    let gone = stage("hidden");
    fs::remove_file(gone.path("t/d.parquet")).unwrap();
    refused(&gone, "data file gone", &["t/d.parquet"]);
    for (case, change) in [
        ("data file cut", (|bytes| bytes.truncate(bytes.len() - 3)) as fn(&mut Vec<u8>)),
        ("data file half", |bytes| bytes.truncate(bytes.len() / 2)),
        ("data file empty", |bytes| bytes.clear()),
    ] {
        let stage = stage("hidden");
        damage(&stage.path("t/d.parquet"), change);
        refused(&stage, case, &["t/d.parquet"]);
    }
    for (path, shown) in [
        ("file:/lake/t/a.parquet", "file:/lake/t/a.parquet"),
        ("s3://lake/t/a.parquet", "s3://lake/t/a.parquet"),
        ("/lake/t/a.parquet", "/lake/t/a.parquet"),
        ("%2Flake/t/a.parquet", "/lake/t/a.parquet"),
        ("../a.parquet", "../a.parquet"),
        ("x/..%2F../a.parquet", "x/../../a.parquet"),
        ("%2e%2E%2Fa.parquet", "../a.parquet"),
    ] {
        let stage = stage("hidden");
        rewrite(&stage, 0, |action| {
            if action["add"]["path"] == "d.parquet" {
                action["add"]["path"] = json!(path);
            }
        });
        refused(&stage, path, &[shown, "lies outside of its folder", "shallow clone"]);
    }
}

#[test]
fn links_lead_out_of_a_table_only_where_no_base_path_holds_it() {
    for file in [
        "t/a.parquet",
        VECTORS,
        "t/ab",
        FIRST,
        "t/_delta_log",
        "t/_delta_log/_sidecars/00000000000000000009.parquet",
    ] {
        let stage = stage("hidden");
        stage.put("t/_delta_log/_sidecars/00000000000000000009.parquet", "");
        let read = |connection: &str| {
            stage.put(
                "linked.yaml",
                &format!(
                    "name: r\nconnections:\n  c: {{ format: delta{connection} }}\n\
                     source: {{ connection: c, path: {} }}\n\
                     destination: {{ name: d, format: parquet, path: out, load_type: overwrite }}\n",
                    if connection.is_empty() { "base/t" } else { "t" },
                ),
            );
            let (code, _, said) = stage.run("linked.yaml", &[]);
            (code, said)
        };
        fs::create_dir(stage.path("base")).unwrap();
        fs::rename(stage.path("t"), stage.path("base/t")).unwrap();
        assert_eq!(read(", base_path: base").0, 0, "{file}");
        let (from, to) = (stage.path("outside"), stage.path(&format!("base/{file}")));
        fs::rename(&to, &from).unwrap();
        std::os::unix::fs::symlink(&from, &to).unwrap();
        let (code, said) = read("");
        assert_eq!(code, 0, "{file}: {said}");
        let (code, said) = read(", base_path: base");
        assert!(code == 2 && said.contains("a link leads out"), "{file}: {code} {said}");
        assert!(said.contains(&format!("base/{file}")), "{file}: {said}");
    }
}

#[test]
fn a_log_with_a_damaged_or_missing_file_is_an_error_that_names_it() {
    let gap = stage("dv-with-columnmapping");
    for version in [4, 10] {
        // The checkpoint of version 10 stands for what is before it.
        fs::remove_file(gap.path(&format!("t/_delta_log/{version:020}.json"))).unwrap();
    }
    check(&gap, "", "dv-with-columnmapping");
    fs::remove_file(gap.path("t/_delta_log/00000000000000000012.json")).unwrap();
    refused(&gap, "gap", &["00000000000000000012.json", "no entry of version 12"]);
    let begin = stage("log-replay-dv-key-cases");
    fs::remove_file(begin.path(FIRST)).unwrap();
    refused(&begin, "no beginning", &["no entry of version 0"]);
    let cut = stage("hidden");
    damage(&cut.path(FIRST), |bytes| bytes.truncate(bytes.len() - 40));
    refused(&cut, "entry cut", &["00000000000000000000.json", "line 7"]);
    let lost = stage("multi-part-checkpoint");
    let parts = || lost.files().into_iter().filter(|file| file.contains(".checkpoint."));
    fs::remove_file(lost.path(&parts().next().unwrap())).unwrap();
    refused(&lost, "a part is missing", &["part 1 of 2 of this checkpoint is missing"]);
    fs::remove_file(lost.path(&parts().next().unwrap())).unwrap();
    refused(
        &lost,
        "all parts are missing",
        &["_last_checkpoint", "a checkpoint that is not there"],
    );
    for (table, of) in [
        ("multi-part-checkpoint", ".checkpoint.0000000002.0000000002.parquet"),
        ("dv-with-columnmapping", ".checkpoint.parquet"),
        ("v2-parquet-sidecars-struct-stats-only", "_delta_log/00000000000000000005.checkpoint."),
        ("v2-parquet-sidecars-struct-stats-only", "_sidecars/"),
        ("v2-checkpoint-json", "_delta_log/00000000000000000002.checkpoint."),
        ("v2-checkpoint-json", "_sidecars/"),
    ] {
        let stage = stage(table);
        let file = stage.files().into_iter().find(|file| file.contains(of)).unwrap();
        damage(&stage.path(&file), |bytes| bytes.truncate(bytes.len() / 2));
        refused(&stage, &file, &[&file, "cannot be read"]);
        if of == "_sidecars/" {
            fs::remove_file(stage.path(&file)).unwrap();
            refused(&stage, &file, &[Path::new(&file).file_name().unwrap().to_str().unwrap()]);
        }
    }
}
