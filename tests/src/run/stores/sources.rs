//! Sources in a store: every format, tables of others, folders, patterns, and what changes under the reader.

use std::fs;
use std::path::Path;

use wasmhost::source::Files;
use wasmhost::table::RunId;

use super::connection;
use super::server;
use super::server::bucket;
use super::sorted;
use super::stage;
use crate::run::walk;

/// Files of all formats by pyarrow and others: `tests/data/formats`.
const FORMATS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/formats");

/// A flow that reads below the bucket's `lake` and writes CSV on the disk.
fn reading(connection: &str, source: &str) -> String {
    format!(
        "name: f\nconnections:\n  lake: {}\nsource: {{ connection: lake, {source} }}\n\
         destination: {{ name: out, format: jsonl, path: out }}\n",
        connection.replace("format: delta, ", "")
    )
}

#[test]
fn a_file_of_any_format_is_the_same_in_a_store_and_on_a_disk() {
    let bucket = bucket();
    let store = connection(&bucket, server::port());
    let mut seen = 0;
    for entry in fs::read_dir(FORMATS).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let format = match path.extension().and_then(|end| end.to_str()) {
            Some("arrow" | "arrows") => "arrow",
            Some("avro") => "avro",
            Some("orc") => "orc",
            Some("parquet") => "parquet",
            Some("json") => "json",
            _ => continue,
        };
        server::put(&bucket, &format!("lake/{name}"), &fs::read(&path).unwrap());
        let parquet = |flow: String| flow.replace("format: jsonl", "format: parquet");
        let disk = format!("{{ base_path: '{FORMATS}' }}");
        let stage = stage(&[
            (
                "disk.yaml",
                &parquet(
                    reading(&disk, &format!("format: {format}, path: '{name}'"))
                        .replace("path: out", "path: disk"),
                ),
            ),
            (
                "store.yaml",
                &parquet(
                    reading(&store, &format!("format: {format}, path: '{name}'"))
                        .replace("path: out", "path: store"),
                ),
            ),
        ]);
        let ran = [stage.command(&["run", "disk.yaml"]), stage.command(&["run", "store.yaml"])];
        assert_eq!(
            (ran[0].code, ran[1].code),
            (0, 0),
            "{name}: {}{}",
            ran[0].stderr,
            ran[1].stderr
        );
        assert_eq!(stage.rows("disk"), stage.rows("store"), "{name}");
        seen += 1;
    }
    assert!(seen >= 4, "{seen} files were compared");
}

/// Tables that others wrote: `tests/data/delta`.
const TABLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/delta");

/// Reads a table of others from a store, of which `change` has changed the files: the exit code, the rows, what was said.
fn read_table(
    table: &str,
    source: &str,
    change: impl Fn(&str, &str, Vec<u8>) -> Option<Vec<u8>>,
) -> (i32, Vec<String>, String) {
    let bucket = bucket();
    let from = Path::new(TABLES).join(table);
    walk(&from, &mut |file| {
        let inner = file.strip_prefix(&from).unwrap().to_str().unwrap();
        if let Some(bytes) = change(&bucket, inner, fs::read(file).unwrap()) {
            server::put(&bucket, &format!("lake/t/{inner}"), &bytes);
        }
    });
    let flow =
        reading(&connection(&bucket, server::port()), &format!("format: delta, path: t{source}"));
    let stage = stage(&[("f.yaml", &flow.replace("format: jsonl", "format: parquet"))]);
    let ran = stage.command(&["run", "f.yaml"]);
    (ran.code, sorted(stage.rows("out")), ran.stderr)
}

#[test]
fn tables_that_others_wrote_are_the_same_in_a_store_and_on_a_disk() {
    let right = |table: &str| {
        let stage = stage(&[]);
        fs::create_dir(stage.path("right")).unwrap();
        let from = format!("{TABLES}/expected/{table}.parquet");
        fs::copy(from, stage.path("right/a.parquet")).unwrap();
        sorted(stage.rows("right"))
    };
    for table in [
        "hidden",
        "renamed-name",
        "renamed-id",
        "spark/dv-with-columnmapping",
        "spark/v2-parquet-sidecars-struct-stats-only",
    ] {
        let (code, rows, said) = read_table(table, "", |_, _, bytes| Some(bytes));
        assert_eq!(code, 0, "{table}: {said}");
        assert!(rows == right(table.trim_start_matches("spark/")), "{table}: {} rows", rows.len());
    }
    let vector = "ab/deletion_vector_00000000-0000-0000-1234-567890abcdef.bin";
    // The same vectors at the URL of their object.
    let absolute = |place: &'static str| {
        move |bucket: &str, inner: &str, bytes: Vec<u8>| {
            if !inner.ends_with(".json") {
                return Some(bytes);
            }
            let place = place.replace("{}", bucket);
            let text = String::from_utf8(bytes).unwrap();
            let told = r#""storageType":"u","pathOrInlineDv":"ab00000000005&rTlKGlT{""#;
            assert!(text.contains(told), "{text}");
            let url = format!(r#""storageType":"p","pathOrInlineDv":"{place}""#);
            Some(text.replace(told, &url).into_bytes())
        }
    };
    let (code, rows, said) = read_table(
        "hidden",
        "",
        absolute("s3://{}/lake/t/ab/deletion_vector_00000000-0000-0000-1234-567890abcdef.bin"),
    );
    assert_eq!(code, 0, "{said}");
    assert!(rows == right("hidden"), "{} rows", rows.len());
    for (place, says) in [
        ("s3://{}/lake/t2/a.bin", "outside of the table's folder"),
        ("s3://{}/lake/t/../t2/a.bin", "outside of the table's folder"),
        ("s3://{}/lake/t/%2e%2E%2Ft2/a.bin", "outside of the table's folder"),
        ("s3://elsewhere/lake/t/a.bin", "no file of the table's store"),
        ("/lake/t/a.bin", "no file of the table's store"),
    ] {
        let (code, rows, said) = read_table("hidden", "", absolute(place));
        assert!(code > 1 && rows.is_empty() && said.contains(says), "{place}: {code} {said}");
    }
    let damaged = |table: &str, of: &'static str, keep: Option<usize>, says: &str| {
        let (code, rows, said) = read_table(table, "", |_, inner, bytes| match keep {
            None => Some(bytes).filter(|_| !inner.contains(of)),
            Some(keep) if inner.contains(of) => Some(bytes[..keep].to_vec()),
            Some(_) => Some(bytes),
        });
        assert!(code > 1 && rows.is_empty(), "{table}: {code} {rows:?} {said}");
        assert!(
            said.contains("s3://") && said.contains(of) && said.contains(says),
            "{table}: {said}"
        );
    };
    damaged("hidden", vector, None, "cannot read a deletion vector in it");
    damaged("hidden", vector, Some(100), "the file ends before it does");
    damaged("hidden", "d.parquet", None, "d.parquet");
    let log = "spark/multi-part-checkpoint";
    damaged(log, "checkpoint.0000000002.0000000002", Some(100), "cannot be read");
    damaged(
        "spark/v2-parquet-sidecars-struct-stats-only",
        "_sidecars/",
        Some(100),
        "cannot be read",
    );
}

#[test]
fn a_table_in_a_store_is_filtered_where_files_have_other_names_and_hidden_rows() {
    let rows = |table: &str, source: &str| {
        let (code, rows, said) = read_table(table, source, |_, _, bytes| Some(bytes));
        assert_eq!(code, 0, "{table}: {said}");
        rows
    };
    // Of the file's row groups the first is skipped, and every second row of the next is hidden.
    let filter = ", filter: 'id BETWEEN 65534 AND 65540 OR id = 139998'";
    let right = ["id", "139998", "65534", "65535", "65537", "65539"];
    assert_eq!(rows("hidden", filter), right);
    let filter = ", filter: \"label = 'c' OR region IS NULL\", columns: [id, label]";
    assert_eq!(rows("renamed-id", filter), ["id|label", "3|c", "4|d"]);
}

#[test]
fn folders_patterns_and_lineage_are_as_on_a_disk() {
    let bucket = bucket();
    for (key, text) in [
        ("lake/in/y=2024/m=01/a.csv", "v\n1\n"),
        ("lake/in/y=2024/m=02/b.csv", "v\n2\n"),
        ("lake/in/y=2025/m=01/c.csv", "v\n3\n"),
        ("lake/in/y=2025/m=01/_hidden.csv", "v\n9\n"),
        ("lake/in/y=2025/.x/d.csv", "v\n9\n"),
        ("lake/in/y=2025/m=01/e.csv.tmp", "v\n9\n"),
        ("lake/in/top.txt", "v\n9\n"),
    ] {
        server::put(&bucket, key, text.as_bytes());
    }
    let store = connection(&bucket, server::port());
    let rows = |source: &str| {
        let stage = stage(&[("f.yaml", &reading(&store, &format!("format: csv, {source}")))]);
        let ran = stage.command(&["run", "f.yaml"]);
        match ran.code {
            0 => stage.rows("out").into_iter().skip(1).collect(),
            code => vec![format!("{code}: {}", ran.stderr)],
        }
    };
    assert_eq!(
        rows("path: in, path_glob_filter: '*.csv'"),
        [
            r#"{"v":1,"y":"2024","m":"01"}"#,
            r#"{"v":2,"y":"2024","m":"02"}"#,
            r#"{"v":3,"y":"2025","m":"01"}"#
        ]
    );
    assert_eq!(rows("path: 'in/y=2024/**/*.csv'"), [r#"{"v":1,"m":"01"}"#, r#"{"v":2,"m":"02"}"#]);
    assert_eq!(
        rows("path: 'in/*/m=01/[ac].csv', schema_hints: { y: int64 }, columns: [y, v]"),
        [r#"{"y":2024,"v":1}"#, r#"{"y":2025,"v":3}"#]
    );
    assert_eq!(rows("path: in/y=2024/m=01/a.csv"), [r#"{"v":1}"#]);
    assert_eq!(
        rows("path: in/y=2024/m=01, columns: [v, __file_path]"),
        [format!(r#"{{"v":1,"__file_path":"s3://{bucket}/lake/in/y=2024/m=01/a.csv"}}"#)]
    );
    assert_eq!(
        rows("path: nothing, options: { allow_missing: true }, schema_hints: { v: int64 }"),
        [""; 0]
    );
    for (source, says) in [
        ("path: nothing", "there is no such file or folder"),
        ("path: 'in/*.csv'", "no data file matches"),
        ("path: in, recursive: false, path_glob_filter: '*.csv'", "no data file matches"),
        ("path: ../x", "no place in a store"),
        ("path: 's3://other/x'", "leaves the connection's `base_path`"),
        ("path: /x", "leaves the connection's `base_path`"),
    ] {
        let rows = rows(source);
        assert!(rows[0].starts_with("2: ") && rows[0].contains(says), "{source}: {rows:?}");
    }
}

#[test]
fn objects_of_many_blocks_are_read_whole() {
    // More than a block, and more than a part of an upload; no two rows alike.
    let rows: String =
        (0..1_500_000_u32).map(|n| format!("{n},{}\n", n.wrapping_mul(2_654_435_761))).collect();
    let bucket = bucket();
    server::put(&bucket, "lake/big.csv", format!("n,h\n{rows}").as_bytes());
    let store = connection(&bucket, server::port());
    let stage = stage(&[
        (
            "in.yaml",
            &format!(
                "name: in\nconnections:\n  lake: {store}\nsource: {{ connection: lake, format: csv, path: big.csv }}\n\
             destination: {{ name: t, connection: lake, path: t, write_options: {{ compression: none }} }}\n"
            ),
        ),
        (
            "out.yaml",
            &format!(
                "name: out\nconnections:\n  lake: {store}\nsource: {{ connection: lake, path: t }}\n\
             destination: {{ name: out, format: csv, path: out }}\n"
            ),
        ),
    ]);
    for flow in ["in.yaml", "out.yaml"] {
        let (code, evidence, said) = stage.run(flow, &[]);
        assert_eq!((code, evidence["rows_read"].as_u64()), (0, Some(1_500_000)), "{flow}: {said}");
    }
    let file = stage.files().into_iter().find(|path| path.starts_with("out/out_")).unwrap();
    assert!(fs::read_to_string(stage.path(&file)).unwrap() == format!("n,h\n{rows}"));
    let size = server::keys(&bucket)
        .iter()
        .filter(|key| key.ends_with(".parquet"))
        .map(|key| server::get(&bucket, key).len())
        .sum::<usize>();
    assert!(size > 8 << 20, "{size}");
}

#[test]
fn an_object_that_changes_under_the_reader_is_an_error_and_no_mixture() {
    let bucket = bucket();
    let rows = |from: u32| {
        (from..from + 2_500_000).fold("v\n".to_owned(), |text, n| text + &format!("{n:07}\n"))
    };
    let store = connection(&bucket, server::port())
        .replace("'{{ secret:s3/id }}'", "id")
        .replace("\"{{ secret('s3/key') }}\"", "key");
    for (format, changed) in [("csv", rows(1)), ("csv", "v\n1\n".to_owned())] {
        server::put(&bucket, "lake/in.csv", rows(0).as_bytes());
        let stage =
            stage(&[("f.yaml", &reading(&store, &format!("format: {format}, path: in.csv")))]);
        let flow = stage.read("f.yaml", &RunId::new("a").unwrap());
        let mut files = Files::open(Files::discover(&flow.source).unwrap(), 1000);
        assert_eq!(files.next_batch().unwrap().unwrap().rows.num_rows(), 1000);
        server::put(&bucket, "lake/in.csv", changed.as_bytes());
        let mut read = 1000;
        let error = loop {
            match files.next_batch() {
                Ok(Some(batch)) => read += batch.rows.num_rows(),
                Ok(None) => panic!("{read} rows of a changed object"),
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains("it has changed since it was listed"), "{error}");
    }
}
