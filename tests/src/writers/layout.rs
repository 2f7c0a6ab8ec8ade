//! What is done to a Delta table's files after a commit: nothing that a reader of rows could tell.

mod races;
mod values;

use std::fs;
use std::path::Path;

use arrow::array::Array as _;
use arrow::array::Int64Array;
use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use serde_json::json;
use wasmhost::flow::Compression;
use wasmhost::flow::Layout;
use wasmhost::flow::ParquetWrite;
use wasmhost::flow::WriteFormat;
use wasmhost::name::ColumnName;
use wasmhost::table::Commit;
use wasmhost::table::Optimization;
use wasmhost::writer;
use wasmhost::writer::Rewritten;
use wasmhost::writer::Target;

use super::APPEND;
use super::by_group;
use super::formats;
use super::lines;
use super::rows;
use super::run;
use super::table::lines_at;
use super::table::live;
use super::target;
use super::tree;
use super::written;

/// A run that lays out its files, along a curve where columns are named.
fn tidy(path: &Path, run_id: &str, zorder: &[&str]) -> Target {
    let zorder = zorder.iter().map(|column| ColumnName::new(*column).unwrap()).collect();
    let layout = Layout { optimize: true, zorder };
    Target { layout, ..target(path, &formats()[0], run_id, APPEND) }
}

/// The same of files of another size and other columns.
fn sized(target: Target, target_file_size: u64, schema: SchemaRef) -> Target {
    let options = ParquetWrite { compression: Compression::None, target_file_size };
    Target { format: WriteFormat::Delta(options), schema, ..target }
}

/// Loads, then writes the files anew, so that a test can come in between.
async fn rewritten(target: &Target, batches: &[RecordBatch]) -> Result<Rewritten, String> {
    let (_, commit) = written(target.clone(), batches).await.unwrap();
    let Commit::Applied(_, Some(version)) = commit else { panic!("{commit:?}") };
    writer::rewrite(target, version).await
}

async fn optimized(target: &Target, batches: &[RecordBatch]) -> Optimization {
    match rewritten(target, batches).await {
        Ok(rewritten) => rewritten.commit().await,
        Err(why) => Optimization::Skipped(why),
    }
}

fn done(files_removed: u64, files_added: u64, version: u64) -> Optimization {
    Optimization::Done { files_removed, files_added, version }
}

/// Each live file's rows, read without the code under test.
fn files(path: &Path) -> Vec<RecordBatch> {
    let read = |(file, _): (_, Value)| {
        let reader =
            ParquetRecordBatchReaderBuilder::try_new(fs::File::open(file).unwrap()).unwrap();
        let schema = reader.schema().clone();
        let batches: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
        concat_batches(&schema, &batches).unwrap()
    };
    live(path, usize::MAX).into_iter().map(read).collect()
}

/// The actions of a version.
fn entry(path: &Path, version: u64) -> Vec<Value> {
    let text = fs::read_to_string(path.join(format!("_delta_log/{version:020}.json"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Somebody else's commit.
fn put_entry(path: &Path, version: u64, actions: &[Value]) {
    let text = actions.iter().map(|action| format!("{action}\n")).collect::<String>();
    fs::write(path.join(format!("_delta_log/{version:020}.json")), text).unwrap();
}

/// The first action of this kind in the first entry, changed.
fn changed(path: &Path, kind: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut action = entry(path, 0).into_iter().find(|action| action.get(kind).is_some()).unwrap();
    change(&mut action[kind]);
    action
}

fn table_features(path: &Path, feature: &str) -> Value {
    let features: &[&str] = if feature == "deletionVectors" { &[feature] } else { &[] };
    changed(path, "protocol", |protocol| {
        *protocol = json!({ "minReaderVersion": 3, "minWriterVersion": 7,
            "readerFeatures": features, "writerFeatures": [feature] });
    })
}

/// Before a run adds (2, y) to the table of (1, x), something happens to it; its files then stay as they are.
fn refuse(zorder: &[&str], happens: impl FnOnce(&Path), right: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    run(async {
        let first = optimized(&tidy(&path, "a", &[]), &[rows(&[(1, Some("x"))])]).await;
        let alone = "there are no small files to put together".to_owned();
        assert_eq!(first, Optimization::Skipped(alone));
        let second = tidy(&path, "b", zorder);
        let (_, commit) = written(second.clone(), &[rows(&[(2, Some("y"))])]).await.unwrap();
        let Commit::Applied(_, Some(version)) = commit else { panic!("{commit:?}") };
        happens(&path);
        let before = tree(folder.path());
        let why = writer::rewrite(&second, version).await.unwrap_err();
        assert!(why.contains(right), "{right}: {why}");
        assert_eq!(tree(folder.path()), before, "{right}");
    });
}

#[test]
fn tables_that_cannot_be_rewritten_stay_as_they_are() {
    refuse(
        &[],
        |path| {
            let feed = |metadata: &mut Value| {
                metadata["configuration"]["delta.enableChangeDataFeed"] = json!("true");
            };
            put_entry(path, 2, &[changed(path, "metaData", feed)]);
        },
        "the table keeps a feed of its changes",
    );
    refuse(
        &[],
        |path| put_entry(path, 2, &[table_features(path, "rowTracking")]),
        "the table demands the feature `rowTracking`",
    );
    refuse(
        &[],
        |path| {
            let hides = |add: &mut Value| {
                add["deletionVector"] = json!({ "storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
                    "offset": 4, "sizeInBytes": 40, "cardinality": 1 });
            };
            let add = changed(path, "add", hides);
            let remove = json!({ "remove": { "path": add["add"]["path"], "dataChange": true,
                "deletionTimestamp": 1 } });
            put_entry(path, 2, &[table_features(path, "deletionVectors"), remove, add]);
        },
        "deletion vectors hide rows",
    );
    refuse(&["nope"], |_| (), "cannot order its rows");
    let of_first = |path: &Path| live(path, 0)[0].0.clone();
    refuse(&[], |path| fs::remove_file(of_first(path)).unwrap(), "cannot open it");
    refuse(&["id"], |path| fs::write(of_first(path), "?").unwrap(), "cannot read its footer");
    refuse(&[], |path| fs::remove_dir_all(path.join("_delta_log")).unwrap(), "the table is gone");
    refuse(
        &[],
        |path| {
            // An error in the middle of the work: one file is fine, and the page of another is not.
            let file = of_first(path);
            let mut bytes = fs::read(&file).unwrap();
            bytes[4..40].fill(0xFF);
            fs::write(file, bytes).unwrap();
        },
        "cannot read its rows",
    );
}

#[test]
fn many_small_files_become_one_and_history_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let plain = |run_id: &str| target(&path, &formats()[0], run_id, APPEND);
    run(async {
        for id in 0..30 {
            let _ = written(plain(&format!("r{id}")), &[rows(&[(id, None)])]).await.unwrap();
        }
        let before = lines(&path, &formats()[0]);
        let last = tidy(&path, "last", &[]);
        assert_eq!(optimized(&last, &[rows(&[(30, Some("z"))])]).await, done(31, 1, 31));
        let after = lines(&path, &formats()[0]);
        assert_eq!(after.len(), 31);
        assert_eq!(lines_at(&path, 30), after, "the commit changes no row");
        assert_eq!(lines_at(&path, 29), before);
        let ids: Vec<_> = (0..31).collect();
        let batch = &files(&path)[0];
        assert_eq!(batch.column(0).to_data(), Int64Array::from(ids).to_data(), "in their order");

        let actions = entry(&path, 31);
        let info = &actions[0]["commitInfo"];
        assert_eq!(
            (&info["operation"], &info["wasmhost.run_id"]),
            (&json!("OPTIMIZE"), &json!("last"))
        );
        assert_eq!(info["operationParameters"]["zOrderBy"], "[]");
        assert_eq!(info["operationMetrics"]["numRemovedFiles"], "31");
        for kind in ["add", "remove"] {
            let all: Vec<_> = actions.iter().filter_map(|action| action.get(kind)).collect();
            assert_eq!(all.len(), if kind == "add" { 1 } else { 31 });
            assert!(all.iter().all(|it| it["dataChange"] == false), "{all:?}");
        }
        // A retry of the run changes nothing, and a run without rows has nothing to lay out.
        let Commit::AlreadyApplied(_) = written(last, &[]).await.unwrap().1 else { panic!() };
        let idle = optimized(&tidy(&path, "idle", &["id"]), &[]).await;
        assert_eq!(idle, Optimization::Skipped("the run added no files".to_owned()));
    });
}

#[test]
fn each_partition_that_was_written_to_is_laid_out_by_itself() {
    for zorder in [&[][..], &["id"]] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let to = |run_id: &str| by_group(tidy(&path, run_id, zorder));
        run(async {
            for id in 0..3 {
                let all = [(id, Some("a/b")), (10 + id, None), (20 + id, Some("quiet"))];
                let _ = written(to(&format!("r{id}")), &[rows(&all)]).await.unwrap();
            }
            let outcome = optimized(&to("last"), &[rows(&[(3, Some("a/b")), (13, None)])]).await;
            assert_eq!(outcome, done(8, 2, 4));
            assert_eq!(live(&path, usize::MAX).len(), 5, "the third one keeps its files");
            assert_eq!(lines_at(&path, 3), lines(&path, &formats()[0]));
        });
    }
}

#[test]
fn large_files_stay_and_small_ones_fill_files_of_the_size_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let to = |run_id: &str| sized(tidy(&path, run_id, &[]), 8_000, rows(&[]).schema());
    let ids =
        |from: i64, to: i64| [rows(&(from..to).map(|id| (id * 7_919, None)).collect::<Vec<_>>())];
    run(async {
        let _ = written(to("large"), &ids(0, 5_000)).await.unwrap();
        let sizes = || -> Vec<u64> {
            let files = live(&path, usize::MAX).into_iter();
            files.map(|(_, add)| add["size"].as_u64().unwrap()).collect()
        };
        let large = sizes().into_iter().filter(|size| *size >= 8_000).count();
        assert!(large > 0, "{:?}", sizes());
        for n in 0..20 {
            let _ =
                optimized(&to(&format!("r{n}")), &ids(10_000 + 100 * n, 10_100 + 100 * n)).await;
        }
        let small: Vec<u64> = sizes().into_iter().filter(|size| *size < 8_000).collect();
        assert!(small.iter().sum::<u64>() > 8_000 && small.len() < 8, "{:?}", sizes());
        assert!(
            sizes().into_iter().filter(|size| *size >= 8_000).count() >= large,
            "{:?}",
            sizes()
        );
        assert_eq!(lines(&path, &formats()[0]).len(), 7_000);
    });
}
