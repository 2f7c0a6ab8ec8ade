//! Parts of flat targets that are replaced: partitions of the batch, one partition, the run's date folder. States of a crash first,
//! then races, then other people's files. Rows are read as a source reads them, which goes by the manifests.

mod dates;
mod died;
mod others;

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use super::APPEND;
use super::ODD_VALUES;
use super::by_group;
use super::counts;
use super::exchange::reader;
use super::exchange::source;
use super::formats;
use super::prepared;
use super::rows;
use super::run;
use super::target;
use super::tree;
use super::written;
use arrow::array::ArrayRef;
use arrow::array::Int64Array;
use arrow::array::RecordBatch;
use arrow::util::display::array_value_to_string;
use wasmhost::flow::WriteFormat;
use wasmhost::name::ColumnName;
use wasmhost::source::Files;
use wasmhost::storage::address::Address;
use wasmhost::storage::target::TargetState;
use wasmhost::storage::target::inspect;
use wasmhost::table::Commit;
use wasmhost::table::Scope;
use wasmhost::table::TableChange;
use wasmhost::writer::Target;
use wasmhost::writer::WriteError;

const PARTITIONS: TableChange =
    TableChange::Replace { scope: Scope::Partitions, allow_empty: false };

type Rows = [(i64, Option<&'static str>)];

/// Flat formats that tell rows by footers, by manifests, and one whose files are of several kinds.
pub(super) fn flat() -> Vec<WriteFormat> {
    formats()[1..].to_vec()
}

fn to(path: &Path, format: &WriteFormat, run_id: &str, change: TableChange) -> Target {
    by_group(target(path, format, run_id, change))
}

fn load(target: Target, batch: &Rows) -> Result<(wasmhost::table::Counts, Commit), WriteError> {
    run(written(target, &[rows(batch)]))
}

/// `id|g` as a source reads them.
pub(super) fn seen(path: &Path, format: &WriteFormat) -> Vec<String> {
    let mut source = source(path, reader(format), &rows(&[]));
    source.allow_missing = true;
    let found = Files::discover(&source).unwrap();
    let mut files = Files::open(found, 100);
    let mut lines = Vec::new();
    while let Some(batch) = files.next_batch().unwrap() {
        let batch = batch.rows;
        let value = |name: &str, row| {
            let column = batch.column_by_name(name).unwrap();
            if column.is_null(row) {
                return "-".to_owned();
            }
            array_value_to_string(column, row).unwrap()
        };
        lines.extend(
            (0..batch.num_rows()).map(|row| format!("{}|{}", value("id", row), value("g", row))),
        );
    }
    lines.sort();
    lines
}

/// The rows that an overwrite would count.
fn rows_known(path: &Path, format: &WriteFormat) -> Option<u64> {
    match run(inspect(&Address::Disk(path.to_owned()), format)).unwrap().state {
        TargetState::Folder(folder) => folder.rows,
        other => panic!("{other:?}"),
    }
}

/// All visible files with their bytes.
pub(super) fn data(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let visible = |file: &Path| {
        let inside = file.strip_prefix(path).unwrap();
        !inside.to_str().unwrap().starts_with(['.', '_'])
    };
    let files = tree(path).into_iter();
    files.filter(|(file, _)| file.is_file() && visible(file)).collect()
}

/// Puts files that were removed back, as they are while a run has not deleted them yet.
pub(super) fn put_back(
    files: &BTreeMap<PathBuf, Vec<u8>>,
    times: &BTreeMap<PathBuf, std::time::SystemTime>,
) {
    for (file, bytes) in files.iter().filter(|(file, _)| !file.exists()) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
        File::options().write(true).open(file).unwrap().set_modified(times[file]).unwrap();
    }
}

pub(super) fn times(
    files: &BTreeMap<PathBuf, Vec<u8>>,
) -> BTreeMap<PathBuf, std::time::SystemTime> {
    let time = |file: &PathBuf| (file.clone(), fs::metadata(file).unwrap().modified().unwrap());
    files.keys().map(time).collect()
}

const TABLE: &Rows = &[(1, Some("a")), (2, Some("a")), (3, Some("b")), (4, None)];

/// A target with `TABLE`, of two runs.
fn there(path: &Path, format: &WriteFormat) {
    let _ = load(to(path, format, "t1", APPEND), &TABLE[..1]).unwrap();
    let _ = load(to(path, format, "t2", APPEND), &TABLE[1..]).unwrap();
}

#[test]
fn partitions_of_the_batch_are_replaced_and_no_others() {
    for format in flat() {
        for (staged, after, deleted) in [
            (&[][..], vec!["1|a", "2|a", "3|b", "4|-"], 0),
            (&[(9, Some("a"))], vec!["3|b", "4|-", "9|a"], 2),
            (&[(9, Some("c"))], vec!["1|a", "2|a", "3|b", "4|-", "9|c"], 0),
            (&[(9, None)], vec!["1|a", "2|a", "3|b", "9|-"], 1),
            (&[(8, None), (9, Some("b"))], vec!["1|a", "2|a", "8|-", "9|b"], 2),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t");
            there(&path, &format);
            let old = data(&path);
            let (counted, _) = load(to(&path, &format, "r", PARTITIONS), staged).unwrap();
            assert_eq!(
                counted,
                counts(staged.len() as u64, deleted),
                "{}: {staged:?}",
                format.name()
            );
            assert_eq!(seen(&path, &format), after, "{}: {staged:?}", format.name());
            let new = data(&path);
            let kept = old.iter().filter(|(file, bytes)| new.get(*file) == Some(bytes));
            assert_eq!(
                kept.count(),
                old.len() - usize::from(deleted > 0) * old.len().min(deleted as usize),
                "{}: others stay byte for byte",
                format.name()
            );
            // A stranger who does not know manifests sees the same.
            assert_eq!(super::lines(&path, &format), after, "{}", format.name());
            let before = tree(folder.path());
            let (_, again) = load(to(&path, &format, "r", PARTITIONS), staged).unwrap();
            assert_eq!((again, tree(folder.path())), (Commit::AlreadyApplied(None), before));
        }
        // Where there is nothing yet, it is made.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/t");
        let _ = load(to(&path, &format, "r", PARTITIONS), TABLE).unwrap();
        assert_eq!(seen(&path, &format), ["1|a", "2|a", "3|b", "4|-"]);
    }
}

#[test]
fn partition_values_with_special_characters_are_replaced_one_by_one() {
    for format in flat() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let mut values: Vec<_> = ODD_VALUES.iter().map(|value| (1, Some(*value))).collect();
        values.push((1, None));
        let _ = run(written(to(&path, &format, "a", APPEND), &[rows(&values)])).unwrap();
        for (n, (_, value)) in values.iter().enumerate() {
            let id = 100 + n as i64;
            let target = to(&path, &format, &format!("r{n}"), PARTITIONS);
            let (counted, _) = run(written(target, &[rows(&[(id, *value)])])).unwrap();
            assert_eq!(counted, counts(1, 1), "{value:?}");
        }
        let line = |(n, (_, value)): (usize, &(i64, Option<&str>))| {
            format!("{}|{}", 100 + n, value.unwrap_or("-"))
        };
        let mut right: Vec<_> = values.iter().enumerate().map(line).collect();
        right.sort();
        assert_eq!(seen(&path, &format), right, "{}", format.name());
    }
}

fn one(value: &str, allow_empty: bool) -> TableChange {
    let column = ColumnName::new("g").unwrap();
    TableChange::Replace {
        scope: Scope::Partition { column, value: value.to_owned() },
        allow_empty,
    }
}

#[test]
fn one_partition_is_replaced_by_rows_of_it_only() {
    for format in flat() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        there(&path, &format);
        let before = tree(folder.path());
        let name = format.name();
        for (batch, right) in [
            (
                &[(9, Some("a")), (8, Some("b")), (7, None)][..],
                "2 row(s) are not among those that are replaced, where `g` is `a`",
            ),
            (&[], "`allow_empty: true`"),
        ] {
            let error = load(to(&path, &format, "r", one("a", false)), batch).unwrap_err();
            assert!(error.is_users() && error.to_string().contains(right), "{name}: {error}");
            assert_eq!(tree(folder.path()), before, "{name}");
        }
        let (counted, _) =
            load(to(&path, &format, "r", one("a", false)), &[(9, Some("a"))]).unwrap();
        assert_eq!(counted, counts(1, 2), "{name}");
        assert_eq!(seen(&path, &format), ["3|b", "4|-", "9|a"], "{name}");
        let (counted, _) = load(to(&path, &format, "s", one("a", true)), &[]).unwrap();
        assert_eq!(counted, counts(0, 1), "{name}");
        assert_eq!(seen(&path, &format), ["3|b", "4|-"], "{name}");
        assert!(!path.join("g=a").exists(), "{name}");
        let refused = load(to(&path, &format, "s", one("", true)), &[]).unwrap_err().to_string();
        assert!(
            refused.contains("partition_value: `partition_value` is no value of `g`"),
            "{refused}"
        );
    }
}

#[test]
fn one_partition_of_several_columns_has_all_below_it() {
    let format = &formats()[1];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let batch = |rows: &[(i64, i64, i64)]| {
        let column = |at: fn(&(i64, i64, i64)) -> i64| {
            Arc::new(Int64Array::from_iter_values(rows.iter().map(at))) as ArrayRef
        };
        RecordBatch::try_from_iter([
            ("id", column(|row| row.0)),
            ("y", column(|row| row.1)),
            ("m", column(|row| row.2)),
        ])
        .unwrap()
    };
    let names = |names: [&str; 2]| names.map(|name| ColumnName::new(name).unwrap()).to_vec();
    let to = |run_id, change| Target {
        schema: batch(&[]).schema(),
        partition_columns: names(["y", "m"]),
        ..target(&path, format, run_id, change)
    };
    let one = |column: &str, value: &str| TableChange::Replace {
        scope: Scope::Partition {
            column: ColumnName::new(column).unwrap(),
            value: value.to_owned(),
        },
        allow_empty: false,
    };
    let _ = run(written(to("t", APPEND), &[batch(&[(1, 2013, 1), (2, 2013, 2), (3, 2014, 1)])]))
        .unwrap();
    // As other tools spell it.
    let (counted, _) = run(written(to("a", one("y", "02013")), &[batch(&[(9, 2013, 7)])])).unwrap();
    assert_eq!(counted, counts(1, 2));
    let (counted, _) = run(written(to("b", one("m", "1")), &[batch(&[(8, 2015, 1)])])).unwrap();
    assert_eq!(counted, counts(1, 1));
    let folders: Vec<_> = data(&path)
        .into_keys()
        .map(|file| file.parent().unwrap().strip_prefix(&path).unwrap().display().to_string())
        .collect();
    assert_eq!(folders, ["y=2013/m=7", "y=2015/m=1"]);
    let refused = run(prepared(to("c", one("y", "MMXIII")), &[])).err().unwrap().to_string();
    assert!(refused.contains("`partition_value` is no value of `y`: `MMXIII` is not"), "{refused}");
}
