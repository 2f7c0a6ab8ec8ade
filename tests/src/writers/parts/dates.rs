//! Folders by date: what is added to, replaced, tried again the next day, and refused.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::Int64Array;
use arrow::array::RecordBatch;
use wasmhost::flow::DateFolders;
use wasmhost::flow::WriteFormat;
use wasmhost::source::Files;
use wasmhost::table::Commit;
use wasmhost::table::Scope;
use wasmhost::table::TableChange;
use wasmhost::writer::Target;
use wasmhost::writer::WriteError;

use super::data;
use super::flat;
use super::load;
use super::seen;
use crate::writers::APPEND;
use crate::writers::OVERWRITE;
use crate::writers::counts;
use crate::writers::exchange::reader;
use crate::writers::exchange::source;
use crate::writers::formats;
use crate::writers::now;
use crate::writers::prepared;
use crate::writers::rows;
use crate::writers::run;
use crate::writers::target;
use crate::writers::tree;
use crate::writers::written;

/// A target with date folders, of a run that starts so many hours after midnight of 30 November 2026.
fn dated(
    path: &Path,
    format: &WriteFormat,
    pattern: &str,
    run_id: &str,
    hours: i64,
    change: TableChange,
) -> Target {
    let mut target = target(path, format, run_id, change);
    target.date_folders = Some(DateFolders::new(pattern).unwrap());
    target.run.started_at = now() + chrono::Duration::hours(hours);
    target
}

fn folders(path: &Path) -> Vec<String> {
    let folder =
        |file: PathBuf| file.parent().unwrap().strip_prefix(path).unwrap().display().to_string();
    let mut folders: Vec<_> = data(path).into_keys().map(folder).collect();
    folders.dedup();
    folders
}

#[test]
fn date_folders_are_added_to_and_replaced_one_by_one() {
    for format in flat() {
        for (pattern, folder_of_day, is_column) in [
            ("{year}/{month}/{day}", ["2026/11/30", "2026/12/01"], false),
            ("dt={year}-{month}-{day}", ["dt=2026-11-30", "dt=2026-12-01"], true),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t");
            let t = |run_id, hours, change| dated(&path, &format, pattern, run_id, hours, change);
            let name = format.name();
            let _ = load(t("a", 0, APPEND), &[(1, Some("x"))]).unwrap();
            let _ = load(t("b", 1, APPEND), &[(2, Some("x"))]).unwrap();
            let _ = load(t("c", 24, OVERWRITE), &[(3, None)]).unwrap();
            assert_eq!(folders(&path), folder_of_day, "{name}");
            assert_eq!(seen(&path, &format), ["1|x", "2|x", "3|-"], "{name}");
            // Of the same day only; what is older stays.
            let (counted, _) = load(t("d", 25, OVERWRITE), &[(4, None), (5, None)]).unwrap();
            assert_eq!(counted, counts(2, 1), "{name}");
            assert_eq!(seen(&path, &format), ["1|x", "2|x", "4|-", "5|-"], "{name}");
            let error = load(t("e", 26, OVERWRITE), &[]).unwrap_err().to_string();
            assert!(error.contains("leave the run's date folder empty"), "{name}: {error}");
            let empty = TableChange::Replace { scope: Scope::All, allow_empty: true };
            let (counted, _) = load(t("e", 26, empty), &[]).unwrap();
            assert_eq!(counted, counts(0, 2), "{name}");
            assert_eq!(seen(&path, &format), ["1|x", "2|x"], "{name}");
            // What readers take for a column is there for those who read it so.
            let mut source = source(&path, reader(&format), &rows(&[]));
            source.recursive = true;
            let columns = Files::discover(&source).unwrap().schema;
            assert_eq!(columns.column_with_name("dt").is_some(), is_column, "{name}");
        }
    }
}

#[test]
fn a_retry_on_the_next_day_lands_once() {
    for format in flat() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let t = |hours| dated(&path, &format, "{year}/{month}/{day}/{hour}", "r", hours, OVERWRITE);
        let _ = load(t(0), &[(1, Some("x"))]).unwrap();
        let before = tree(folder.path());
        let (_, again) = load(t(24), &[(1, Some("x"))]).unwrap();
        assert_eq!((again, tree(folder.path())), (Commit::AlreadyApplied(None), before));
        // Where the first try died before its manifest, what it left in yesterday's folder goes.
        fs::remove_file(path.join("_wasmhost/r.json")).unwrap();
        let (_, commit) = load(t(24), &[(2, Some("x"))]).unwrap();
        assert!(matches!(commit, Commit::Applied(..)));
        assert_eq!(folders(&path), ["2026/12/01/01"], "{}", format.name());
        assert_eq!(seen(&path, &format), ["2|x"], "{}", format.name());
    }
}

#[test]
fn a_date_folder_is_replaced_only_as_it_was_judged() {
    let format = &formats()[3];
    for (hours, is_conflict) in [(1, true), (24, false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let t = |run_id, hours, change| {
            dated(&path, format, "{year}{month}{day}", run_id, hours, change)
        };
        let _ = load(t("a", 0, APPEND), &[(1, None)]).unwrap();
        let ended = run(async {
            let judged = prepared(t("b", 0, OVERWRITE), &[rows(&[(2, None)])]).await.unwrap();
            let _ = written(t("c", hours, APPEND), &[rows(&[(3, None)])]).await.unwrap();
            judged.commit().await
        });
        assert_eq!(matches!(ended, Err(WriteError::Conflict { .. })), is_conflict, "{ended:?}");
        let right = if is_conflict { ["1|-", "3|-"] } else { ["2|-", "3|-"] };
        assert_eq!(seen(&path, format), right);
    }
}

#[test]
fn date_folders_that_do_not_suit_a_target_are_refused() {
    let check = |format: usize, change: &dyn Fn(&mut Target), right: &str| {
        let format = &formats()[format];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let dates = |run_id, hours| dated(&path, format, "{year}/{month}", run_id, hours, APPEND);
        let mut target = dates("r", 0);
        if !matches!(format, WriteFormat::Delta(_)) {
            let _ = load(dates("a", 0), &[(1, None)]).unwrap();
        }
        change(&mut target);
        let before = tree(folder.path());
        let error = run(prepared(target, &[])).err().unwrap();
        assert!(error.is_users() && error.to_string().contains(right), "{error}");
        assert_eq!(tree(folder.path()), before);
    };
    let pattern = |text: &'static str| {
        move |target: &mut Target| {
            target.date_folders = Some(DateFolders::new(text).unwrap());
        }
    };
    check(0, &|_| {}, "date_folder_partitions: folders by date are for flat files [not-offered]");
    for change in [APPEND, OVERWRITE] {
        check(
            1,
            &|target| {
                target.change = change.clone();
                pattern("{year}")(target);
            },
            "date_folder_partitions: the target's date folders are `{year}/{month}`, the destination's `{year}` [contradiction]\n  \
             hint: say `date_folder_partitions: \"{year}/{month}\"`, or write to another folder",
        );
    }
    check(
        2,
        &|target| target.date_folders = None,
        "the target's date folders are `{year}/{month}`, the destination's none",
    );
    check(
        2,
        &pattern("g={year}"),
        "the rows have a column `g`, and so do the date folders [contradiction]",
    );
    // Columns have to be like those of the folders that stay.
    check(
        3,
        &|target| {
            target.change = OVERWRITE;
            target.schema = RecordBatch::try_from_iter([(
                "id",
                Arc::new(Int64Array::from(vec![1])) as ArrayRef,
            )])
            .unwrap()
            .schema();
        },
        "the target's column `g` is not among those to write",
    );
}
