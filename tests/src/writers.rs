//! One suite for every writer, then what only some do. Read back without the code under test where there is another way.

mod compressed;
mod create;
mod exchange;
mod layout;
mod merges;
mod parts;
mod refusals;
mod strategies;
mod table;
mod within;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::Int64Array;
use arrow::array::RecordBatch;
use arrow::array::StringArray;
use chrono::DateTime;
use chrono::Utc;
use wasmhost::flow::ArrowWrite;
use wasmhost::flow::AvroWrite;
use wasmhost::flow::Compression;
use wasmhost::flow::CsvWrite;
use wasmhost::flow::JsonWrite;
use wasmhost::flow::Layout;
use wasmhost::flow::ParquetWrite;
use wasmhost::flow::SchemaChange;
use wasmhost::flow::WriteFormat;
use wasmhost::name::ColumnName;
use wasmhost::name::DestinationName;
use wasmhost::name::FlowName;
use wasmhost::storage::address::Address;
use wasmhost::table::Commit;
use wasmhost::table::Counts;
use wasmhost::table::RunId;
use wasmhost::table::Scope;
use wasmhost::table::TableChange;
use wasmhost::writer;
use wasmhost::writer::Prepared;
use wasmhost::writer::RunMark;
use wasmhost::writer::Target;
use wasmhost::writer::WriteError;
use wasmhost::writer::Writer;

use self::table::lines;

const APPEND: TableChange = TableChange::Append {};
const OVERWRITE: TableChange = TableChange::Replace { scope: Scope::All, allow_empty: false };

/// Partition values that have been mistaken for something else.
const ODD_VALUES: &[&str] = &[
    "North West",
    "a/b",
    "a=b",
    "a%20b",
    "a b",
    "ü",
    "a:b",
    "100%",
    "x+y",
    "..",
    ".",
    "q?z",
    "h#h",
    "\t",
    "o'brien",
    "C:\\d",
    " lead",
    "trail ",
    "\n",
    "NULL",
    "-",
    "_x",
    ".x",
    "a.tmp",
    ".part",
    "a.b.PARTIAL",
    "x~",
    "日本",
    "\"",
    "a\0b",
];

fn parquet() -> ParquetWrite {
    ParquetWrite { compression: Compression::Snappy, target_file_size: 1 << 20 }
}

fn formats() -> [WriteFormat; 7] {
    [
        WriteFormat::Delta(parquet()),
        WriteFormat::Parquet(parquet()),
        WriteFormat::Csv(CsvWrite::default()),
        WriteFormat::Jsonl(JsonWrite::default()),
        WriteFormat::Json(JsonWrite::default()),
        WriteFormat::Arrow(ArrowWrite::default()),
        WriteFormat::Avro(AvroWrite::default()),
    ]
}

fn now() -> DateTime<Utc> {
    DateTime::parse_from_rfc3339("2026-11-30T01:02:03.004Z").unwrap().to_utc()
}

/// Rows of `id` and `g`; `None` is NULL.
fn rows(values: &[(i64, Option<&str>)]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(values.iter().map(|(id, _)| *id)));
    let groups: ArrayRef = Arc::new(values.iter().map(|(_, g)| *g).collect::<StringArray>());
    RecordBatch::try_from_iter([("id", ids), ("g", groups)]).unwrap()
}

fn target(path: &Path, format: &WriteFormat, run_id: &str, change: TableChange) -> Target {
    Target {
        address: Address::Disk(path.to_owned()),
        format: format.clone(),
        change,
        schema: rows(&[]).schema(),
        partition_columns: vec![],
        date_folders: None,
        schema_change: SchemaChange::default(),
        table_properties: BTreeMap::new(),
        layout: Layout::default(),
        memory_bytes: 64 << 20,
        run: RunMark {
            run_id: RunId::new(run_id).unwrap(),
            flow: FlowName::new("flow").unwrap(),
            destination: DestinationName::new("out").unwrap(),
            started_at: now(),
        },
    }
}

fn by_group(mut target: Target) -> Target {
    target.partition_columns = vec![ColumnName::new("g").unwrap()];
    target
}

async fn staged(target: Target, batches: &[RecordBatch]) -> Result<Box<dyn Writer>, WriteError> {
    let mut writer = writer::open(target).await?;
    for batch in batches {
        writer.stage(batch).await?;
    }
    Ok(writer)
}

async fn prepared(
    target: Target,
    batches: &[RecordBatch],
) -> Result<Box<dyn Prepared>, WriteError> {
    staged(target, batches).await?.prepare().await
}

async fn written(target: Target, batches: &[RecordBatch]) -> Result<(Counts, Commit), WriteError> {
    let prepared = prepared(target, batches).await?;
    Ok((prepared.counts(), prepared.commit().await?))
}

/// Every file and folder below `path`, with the bytes of files.
fn tree(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(path).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(tree(&path));
            found.insert(path, Vec::new());
        } else {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn counts(written: u64, deleted: u64) -> Counts {
    Counts {
        rows_written: written,
        rows_inserted: written,
        rows_deleted: Some(deleted),
        ..Counts::default()
    }
}

/// What every writer promises, in the order of a table's life.
async fn keeps_promises(format: &WriteFormat) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let path = root.join("new/t");
    let t = |run_id, change| target(&path, format, run_id, change);
    let three = [rows(&[(1, Some("x")), (2, None)]), rows(&[(3, Some("y"))])];
    let name = format.name();

    // A run that gives up, early or late, leaves nothing, not even folders.
    staged(t("gone", APPEND), &three).await.unwrap().abandon().await.unwrap();
    prepared(t("gone", APPEND), &three).await.unwrap().abandon().await.unwrap();
    assert!(tree(root).is_empty(), "{name}: {:?}", tree(root).keys());

    // Nothing is visible before the commit, and all of it after.
    let first = prepared(t("run-1", APPEND), &three).await.unwrap();
    assert_eq!(first.counts(), counts(3, 0), "{name}");
    assert_eq!(lines(&path, format), [""; 0], "{name}");
    let Commit::Applied(_, version) = first.commit().await.unwrap() else {
        panic!("{name}: a new table")
    };
    let all = ["1|x", "2|-", "3|y"];
    assert_eq!(lines(&path, format), all, "{name}");

    // A retry lands once.
    let before = tree(root);
    let (_, retried) = written(t("run-1", APPEND), &three).await.unwrap();
    assert_eq!(retried, Commit::AlreadyApplied(version), "{name}");
    assert_eq!(tree(root), before, "{name}: a retry leaves nothing");

    // What fails or is abandoned leaves the table as it was.
    prepared(t("gone", OVERWRITE), &three).await.unwrap().abandon().await.unwrap();
    let error = written(t("empty", OVERWRITE), &[]).await.unwrap_err();
    assert!(
        error.is_users() && error.to_string().contains("`allow_empty: true`"),
        "{name}: {error}"
    );
    let bad = [rows(&[(9, Some(""))])];
    let writer = staged(by_group(t("bad", APPEND)), &[]).await;
    assert!(writer.is_err(), "{name}: partitioned otherwise");
    assert_eq!(tree(root), before, "{name}");

    // An overwrite replaces, and counts what it removes.
    let (counted, commit) =
        written(t("run-2", OVERWRITE), &[rows(&[(7, Some("z"))])]).await.unwrap();
    assert_eq!(counted, counts(1, 3), "{name}");
    assert!(matches!(commit, Commit::Applied(..)), "{name}");
    assert_eq!(lines(&path, format), ["7|z"], "{name}");

    // A late retry of a run that was overwritten since does not come back.
    let (_, late) = written(t("run-1", APPEND), &three).await.unwrap();
    assert_eq!(late, Commit::AlreadyApplied(version), "{name}");
    let (_, again) = written(t("run-2", OVERWRITE), &three).await.unwrap();
    assert!(matches!(again, Commit::AlreadyApplied(_)), "{name}");

    // An empty addition is a success, and done.
    let (counted, commit) = written(t("run-3", APPEND), &[]).await.unwrap();
    assert_eq!((counted, matches!(commit, Commit::Applied(..))), (counts(0, 0), true), "{name}");
    let (_, commit) = written(t("run-3", APPEND), &bad).await.unwrap();
    assert!(matches!(commit, Commit::AlreadyApplied(_)), "{name}");
    assert_eq!(lines(&path, format), ["7|z"], "{name}");

    // With leave to be empty, an overwrite empties.
    let (counted, _) =
        written(t("run-4", TableChange::Replace { scope: Scope::All, allow_empty: true }), &[])
            .await
            .unwrap();
    assert_eq!(counted, counts(0, 1), "{name}");
    assert_eq!(lines(&path, format), [""; 0], "{name}");
    let _ = written(t("run-5", APPEND), &[rows(&[(8, Some(""))])]).await.unwrap();
    assert_eq!(lines(&path, format), ["8|"], "{name}: empty text is not NULL");
}

#[test]
fn every_writer_keeps_its_promises() {
    for format in formats() {
        run(keeps_promises(&format));
    }
}

#[test]
fn partition_values_come_back_byte_for_byte() {
    for format in formats() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let mut values: Vec<_> =
            ODD_VALUES.iter().enumerate().map(|(id, value)| (id as i64, Some(*value))).collect();
        values.push((99, None));
        let t = |run_id, change| by_group(target(&path, &format, run_id, change));
        let right: Vec<String> =
            values.iter().map(|(id, g)| format!("{id}|{}", g.unwrap_or("-"))).collect();
        let sorted = |mut lines: Vec<String>| {
            lines.sort();
            lines
        };
        let _ = run(written(t("a", APPEND), &[rows(&values)])).unwrap();
        assert_eq!(lines(&path, &format), sorted(right.clone()), "{}", format.name());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing left its table");
        // The same values again land beside the first ones, folder by folder.
        let _ = run(written(t("b", APPEND), &[rows(&values)])).unwrap();
        assert_eq!(
            lines(&path, &format),
            sorted([right.clone(), right.clone()].concat()),
            "{}",
            format.name()
        );
        let (counted, _) = run(written(t("c", OVERWRITE), &[rows(&values)])).unwrap();
        assert_eq!(counted, counts(values.len() as u64, 2 * values.len() as u64));
        assert_eq!(lines(&path, &format), sorted(right), "{}", format.name());
        for bad in ["", "__HIVE_DEFAULT_PARTITION__"] {
            let before = tree(folder.path());
            let error = run(async {
                let mut writer = writer::open(t("d", APPEND)).await.unwrap();
                let error = writer.stage(&rows(&[(1, Some(bad))])).await.unwrap_err();
                writer.abandon().await.unwrap();
                error
            });
            assert!(error.is_users() && error.to_string().contains("column `g`"), "{error}");
            assert_eq!(tree(folder.path()), before);
        }
    }
}

#[test]
fn an_overwrite_holds_only_for_the_state_that_was_judged() {
    for format in formats() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let t = |run_id, change| target(&path, &format, run_id, change);
        let one = |id| [rows(&[(id, None)])];
        run(async {
            let _ = written(t("a", APPEND), &one(1)).await.unwrap();
            let stale = prepared(t("b", OVERWRITE), &one(2)).await.unwrap();
            let _ = written(t("c", APPEND), &one(3)).await.unwrap();
            let before = lines(&path, &format);
            let error = stale.commit().await.unwrap_err();
            assert!(matches!(error, WriteError::Conflict { .. }), "{}: {error}", format.name());
            assert_eq!(lines(&path, &format), before, "{}", format.name());
            // The rerun sees what is there now, and an addition minds nobody.
            let added = prepared(t("d", APPEND), &one(4)).await.unwrap();
            let _ = written(t("b", OVERWRITE), &one(2)).await.unwrap();
            let _ = added.commit().await.unwrap();
            assert_eq!(lines(&path, &format), ["2|-", "4|-"], "{}", format.name());
        });
    }
}

#[test]
fn two_that_make_the_same_target_both_add_to_it() {
    for format in formats() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        run(async {
            let first =
                prepared(target(&path, &format, "a", APPEND), &[rows(&[(1, None)])]).await.unwrap();
            let second =
                prepared(target(&path, &format, "b", APPEND), &[rows(&[(2, None)])]).await.unwrap();
            let _ = first.commit().await.unwrap();
            let _ = second.commit().await.unwrap();
        });
        assert_eq!(lines(&path, &format), ["1|-", "2|-"], "{}", format.name());
    }
}

#[test]
fn one_delta_run_committed_by_two_processes_lands_once() {
    let format = &formats()[0];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    run(async {
        let t = |run_id| target(&path, format, run_id, APPEND);
        let _ = written(t("a"), &[rows(&[(1, None)])]).await.unwrap();
        let first = prepared(t("b"), &[rows(&[(2, None)])]).await.unwrap();
        let second = prepared(t("b"), &[rows(&[(2, None)])]).await.unwrap();
        assert!(matches!(first.commit().await.unwrap(), Commit::Applied(_, Some(1))));
        assert_eq!(second.commit().await.unwrap(), Commit::AlreadyApplied(Some(1)));
    });
    assert_eq!(lines(&path, format), ["1|-", "2|-"]);
    let files =
        tree(&path).into_keys().filter(|path| path.extension().is_some_and(|it| it == "parquet"));
    assert_eq!(files.count(), 2, "the second one's file is gone");
}

#[test]
fn leftovers_of_a_try_without_manifest_are_removed_by_the_next() {
    for format in &formats()[1..] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let t = || by_group(target(&path, format, "a", APPEND));
        let _ = run(written(t(), &[rows(&[(1, None)])])).unwrap();
        // As after a kill between the moves and the manifest, with a staging folder besides.
        fs::remove_file(path.join("_wasmhost/a.json")).unwrap();
        fs::create_dir(path.join(".wasmhost-a")).unwrap();
        let (_, commit) = run(written(t(), &[rows(&[(2, None)])])).unwrap();
        assert!(matches!(commit, Commit::Applied(_, None)));
        assert_eq!(lines(&path, format), ["2|-"], "{}", format.name());
        assert!(!path.join(".wasmhost-a").exists());
    }
}

#[test]
fn large_results_roll_over_into_files_of_the_size_asked_for() {
    let format = WriteFormat::Parquet(ParquetWrite {
        compression: Compression::None,
        target_file_size: 64 * 1024,
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let batches: Vec<_> = (0..20)
        .map(|n| rows(&(0..2000).map(|i| (n * 2000 + i, None)).collect::<Vec<_>>()))
        .collect();
    let _ = run(written(target(&path, &format, "a", APPEND), &batches)).unwrap();
    let files = tree(&path)
        .into_iter()
        .filter(|(path, _)| path.extension().is_some_and(|it| it == "parquet"));
    let sizes: Vec<_> = files.map(|(_, bytes)| bytes.len()).collect();
    assert!(sizes.len() > 2 && sizes.iter().all(|size| *size < 200 * 1024), "{sizes:?}");
    assert_eq!(lines(&path, &format).len(), 40_000);
}

#[test]
fn more_partitions_than_open_files_are_all_written() {
    for format in [&formats()[0], &formats()[2]] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let names: Vec<String> = (0..250).map(|n| format!("p{n}")).collect();
        let batch = rows(
            &names
                .iter()
                .enumerate()
                .map(|(n, name)| (n as i64, Some(name.as_str())))
                .collect::<Vec<_>>(),
        );
        let _ = run(written(by_group(target(&path, format, "a", APPEND)), &[batch.clone(), batch]))
            .unwrap();
        assert_eq!(lines(&path, format).len(), 500, "{}", format.name());
    }
}
