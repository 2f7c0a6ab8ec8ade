//! Row by key, on Delta tables. Named after the public reports of `cases/open.md` where one is about it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::Int64Array;
use arrow::array::RecordBatch;
use arrow::array::StringArray;
use arrow::array::UInt32Array;
use arrow::compute::take;
use wasmhost::flow::SchemaChange;
use wasmhost::name::ColumnName;
use wasmhost::table::Commit;
use wasmhost::table::Counts;
use wasmhost::table::LateRow;
use wasmhost::table::Merge;
use wasmhost::table::Missing;
use wasmhost::table::OrderBy;
use wasmhost::table::Repeats;
use wasmhost::table::Rows;
use wasmhost::table::TableChange;
use wasmhost::table::Update;
use wasmhost::writer::Target;

use super::APPEND;
use super::by_group;
use super::exchange;
use super::formats;
use super::lines;
use super::prepared;
use super::rows;
use super::run;
use super::target;
use super::tree;
use super::written;

type Row = (i64, Option<&'static str>);

fn names(names: &[&str]) -> Vec<ColumnName> {
    names.iter().map(|name| ColumnName::new(*name).unwrap()).collect()
}

/// By `id`, comparing `g`.
fn upsert() -> Merge {
    Merge {
        keys: names(&["id"]),
        nulls_match: false,
        compare: names(&["g"]),
        rows: Rows::Update(Update { repeats: Repeats::Refuse, condition: None }),
        missing: Missing::Keep,
        delete_when: None,
        allow_empty: false,
        max_removed_fraction: 0.5,
    }
}

fn snapshot() -> Merge {
    Merge { missing: Missing::Mark, ..upsert() }
}

fn repeats(repeats: Repeats) -> Merge {
    Merge { rows: Rows::Update(Update { repeats, condition: None }), ..upsert() }
}

fn to(path: &Path, run_id: &str, merge: &Merge) -> Target {
    target(path, &formats()[0], run_id, TableChange::Merge(Box::new(merge.clone())))
}

fn seen(path: &Path) -> Vec<String> {
    lines(path, &formats()[0])
}

/// inserted, updated, unchanged, deleted, late, dropped.
fn told(counts: Counts) -> [u64; 6] {
    assert_eq!(counts.accounted(), counts.rows_written);
    [
        counts.rows_inserted,
        counts.rows_updated,
        counts.rows_unchanged,
        counts.rows_deleted.unwrap(),
        counts.rows_ignored_late,
        counts.duplicates_dropped,
    ]
}

/// Table rows, then batches with their counts, then the table; split by `g` and not; with much memory and with none.
fn check(merge: &Merge, batches: &[(&[Row], [u64; 6])], after: &[&str]) {
    for (split, memory) in [(false, 64 << 20), (true, 64 << 20), (false, 0)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        for (n, (batch, right)) in batches.iter().enumerate() {
            let mut target = Target { memory_bytes: memory, ..to(&path, &format!("r{n}"), merge) };
            if split {
                target = by_group(target);
            }
            let parts: Vec<_> = batch.chunks(2).map(rows).collect();
            let (counted, commit) = run(written(target, &parts)).unwrap();
            assert_eq!(told(counted), *right, "batch {n}, split {split}, memory {memory}");
            assert!(matches!(commit, Commit::Applied(..)));
        }
        assert_eq!(seen(&path), after, "split {split}, memory {memory}");
    }
}

/// Refuses the batch with these words, also on the first run, and touches nothing.
fn refuse(merge: &Merge, before: &[Row], batch: &[Row], right: &str) {
    for first in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        if !first {
            let append = target(&path, &formats()[0], "a", APPEND);
            let _ = run(written(append, &[rows(before)])).unwrap();
        } else if right.contains("stored") || right.contains("table") {
            continue;
        }
        let files = tree(folder.path());
        let error = run(prepared(to(&path, "b", merge), &[rows(batch)])).err().unwrap();
        assert!(error.is_users() && error.to_string().contains(right), "{error}");
        assert_eq!(tree(folder.path()), files);
    }
}

#[test]
fn keys_that_decide_nothing_are_refused() {
    let table = [(1, Some("a"))];
    let twice = [(1, Some("b")), (1, Some("c")), (2, Some("d")), (2, Some("e"))];
    refuse(&upsert(), &table, &twice, "2 key(s) come more than once: id = 1; id = 2");
    refuse(
        &upsert(),
        &[(1, None), (1, None)],
        &table,
        "the table has several rows of keys that come: id = 1",
    );
    let by_g = Merge { keys: names(&["g"]), compare: names(&["id"]), ..upsert() };
    refuse(
        &by_g,
        &table,
        &[(7, None), (8, None)],
        "2 row(s) have NULL in the key column(s) `g`: g = NULL; g = NULL",
    );
    let sequence = repeats(Repeats::Sequence { by: names(&["g"]), late: LateRow::Error });
    refuse(&sequence, &[(1, Some("b"))], &table, "1 row(s) are older than the stored ones: id = 1");
    refuse(
        &sequence,
        &table,
        &[(1, Some("b")), (7, None), (8, None)],
        "2 row(s) have NULL in the sequence column(s) `g`: id = 7; id = 8",
    );
}

#[test]
fn new_rows_come_different_ones_change_and_equal_ones_stay() {
    let table: &[Row] = &[(1, Some("a")), (2, Some("a")), (3, Some("b")), (4, None)];
    check(
        &upsert(),
        &[
            (table, [4, 0, 0, 0, 0, 0]),
            (table, [0, 0, 4, 0, 0, 0]),
            // A row that changes its partition is moved, never doubled.
            (&[(1, Some("b")), (2, Some("a")), (5, Some("c"))], [1, 1, 1, 0, 0, 0]),
            (&[], [0, 0, 0, 0, 0, 0]),
        ],
        &["1|b", "2|a", "3|b", "4|-", "5|c"],
    );
}

#[test]
fn case_1_null_in_a_key_matches_null_where_the_flow_says_so() {
    let merge =
        Merge { keys: names(&["g"]), compare: names(&["id"]), nulls_match: true, ..upsert() };
    check(
        &merge,
        &[
            (&[(4, None), (7, Some("A"))], [2, 0, 0, 0, 0, 0]),
            (&[(5, None), (8, Some("A"))], [0, 2, 0, 0, 0, 0]),
            (&[(5, None), (8, Some("A"))], [0, 0, 2, 0, 0, 0]),
        ],
        &["5|-", "8|A"],
    );
}

#[test]
fn case_2_the_latest_of_several_rows_of_a_key_stays() {
    let latest =
        OrderBy { column: ColumnName::new("g").unwrap(), descending: true, nulls_first: false };
    let batch: &[Row] = &[(1, Some("b")), (1, Some("c")), (2, Some("e")), (2, None)];
    let after = &["1|c", "2|e"];
    let first: &[Row] = &[(1, Some("a"))];
    let first = (first, [1, 0, 0, 0, 0, 0]);
    check(&repeats(Repeats::First(vec![latest])), &[first, (batch, [1, 1, 0, 0, 0, 2])], after);
    let sequence = repeats(Repeats::Sequence { by: names(&["g"]), late: LateRow::Ignore });
    let batch: &[Row] = &[(1, Some("b")), (1, Some("c")), (2, Some("e")), (2, Some("d"))];
    check(
        &sequence,
        &[
            first,
            (batch, [1, 1, 0, 0, 0, 2]),
            (&[(1, Some("b")), (2, Some("e"))], [0, 0, 1, 0, 1, 0]),
        ],
        after,
    );
}

#[test]
fn case_5_changes_from_and_to_null_are_changes() {
    check(
        &upsert(),
        &[
            (&[(1, None), (2, Some("x")), (3, None)], [3, 0, 0, 0, 0, 0]),
            (&[(1, Some("hello")), (2, None), (3, None)], [0, 2, 1, 0, 0, 0]),
        ],
        &["1|hello", "2|-", "3|-"],
    );
}

#[test]
fn case_7_keys_that_are_missing_are_marked_once_and_come_back() {
    let both: &[Row] = &[(1, Some("a")), (2, Some("b"))];
    let one: &[Row] = &[(2, Some("b"))];
    check(
        &snapshot(),
        &[
            (both, [2, 0, 0, 0, 0, 0]),
            (one, [0, 0, 1, 1, 0, 0]),
            (one, [0, 0, 1, 0, 0, 0]),
            (one, [0, 0, 1, 0, 0, 0]),
            (both, [0, 1, 1, 0, 0, 0]),
        ],
        &["1|a", "2|b"],
    );
    let table = [(1, Some("a")), (2, Some("b")), (3, Some("c"))];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let _ = run(written(to(&path, "a", &snapshot()), &[rows(&table)])).unwrap();
    let before = tree(&path);
    for (batch, right) in [
        (rows(&[]), "every row of the table would be marked"),
        (rows(&[(1, Some("a"))]), "2 of 3 current rows would go"),
    ] {
        let error = run(prepared(to(&path, "b", &snapshot()), &[batch])).err().unwrap();
        assert!(error.is_users() && error.to_string().contains(right), "{error}");
        assert_eq!(tree(&path), before);
    }
}

#[test]
fn columns_that_the_batch_lacks_keep_their_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let _ = run(written(to(&path, "a", &upsert()), &[rows(&[(1, Some("a"))])])).unwrap();
    let ids = Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    let narrow = RecordBatch::try_from_iter([("id", ids)]).unwrap();
    let merge = Merge { compare: vec![], ..upsert() };
    let target = Target { schema: narrow.schema(), ..to(&path, "b", &merge) };
    let (counted, _) = run(written(target, &[narrow])).unwrap();
    assert_eq!(told(counted), [1, 0, 1, 0, 0, 0]);
    assert_eq!(seen(&path), ["1|a", "2|-"]);
}

#[test]
fn whoever_lost_a_race_merges_into_what_the_other_one_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let _ = run(written(to(&path, "t", &upsert()), &[rows(&[(1, Some("a"))])])).unwrap();
    let counted = run(async {
        let a = [rows(&[(1, Some("b")), (2, Some("b"))])];
        let a = prepared(to(&path, "a", &upsert()), &a).await.unwrap();
        let b = [rows(&[(1, Some("b")), (2, Some("c")), (3, Some("c"))])];
        let b = prepared(to(&path, "b", &upsert()), &b).await.unwrap();
        assert_eq!(told(b.counts()), [2, 1, 0, 0, 0, 0]);
        let _ = a.commit().await.unwrap();
        let Commit::Applied(counted, Some(2)) = b.commit().await.unwrap() else { panic!() };
        counted
    });
    assert_eq!(told(counted), [1, 1, 1, 0, 0, 0]);
    assert_eq!(seen(&path), ["1|b", "2|c", "3|c"]);
    let files =
        tree(&path).into_keys().filter(|it| it.extension().is_some_and(|it| it == "parquet"));
    assert_eq!(files.count(), 3, "nothing of the first try is left");
}

#[test]
fn files_without_a_change_stay_and_larger_batches_of_unique_keys_are_no_repeats() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let many: Vec<Row> = (0..20_000).map(|id| (id, Some("a"))).collect();
    let _ = run(written(to(&path, "a", &upsert()), &[rows(&many)])).unwrap();
    let _ = run(written(to(&path, "b", &upsert()), &[rows(&[(50_000, Some("a"))])])).unwrap();
    let changed: Vec<Row> =
        (0..20_000).map(|id| (id, Some(if id % 7 == 0 { "b" } else { "a" }))).collect();
    let (counted, _) = run(written(to(&path, "c", &upsert()), &[rows(&changed)])).unwrap();
    assert_eq!(told(counted), [0, 2858, 20_000 - 2858, 0, 0, 0]);
    let rows_after = seen(&path);
    assert_eq!(rows_after.len(), 20_001);
    assert_eq!(rows_after.iter().filter(|line| line.ends_with("|b")).count(), 2858);
}

#[test]
fn row_groups_that_cannot_hold_a_key_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    for (run_id, batch) in
        [("a", [(1, Some("x")), (9, Some("x"))]), ("b", [(20, None), (29, None)])]
    {
        let _ =
            run(written(target(&path, &formats()[0], run_id, APPEND), &[rows(&batch)])).unwrap();
    }
    let is_first = |file: &Path| {
        let name = file.to_string_lossy();
        name.contains("_a-") && name.ends_with("parquet")
    };
    let first = tree(&path).into_keys().find(|file| is_first(file)).unwrap();
    let first = path.join(first);
    // Its footer stays whole; whoever reads its rows finds out.
    let mut bytes = std::fs::read(&first).unwrap();
    bytes[4..40].fill(0xff);
    std::fs::write(&first, bytes).unwrap();

    let beside: &[Row] = &[(10, Some("y")), (29, Some("y"))];
    let (counts, _) = run(written(to(&path, "c", &upsert()), &[rows(beside)])).unwrap();
    assert_eq!(told(counts), [1, 1, 0, 0, 0, 0]);
    let inside: &[Row] = &[(5, Some("y"))];
    for merge in [upsert(), snapshot()] {
        let merge = Merge { max_removed_fraction: 1.0, ..merge };
        let batch = if merge.missing == Missing::Mark { beside } else { inside };
        let asked = Target { schema_change: SchemaChange::Merge, ..to(&path, "d", &merge) };
        let error = run(prepared(asked, &[rows(batch)])).err().unwrap();
        assert!(error.to_string().contains("_a-"), "{error}");
    }
}

/// Rows with these ids.
fn batch(ids: Vec<i64>, g: &str) -> RecordBatch {
    let g = StringArray::from(vec![g; ids.len()]);
    let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(ids)), Arc::new(g)];
    RecordBatch::try_new(rows(&[]).schema(), columns).unwrap()
}

#[test]
fn more_keys_than_the_memory_holds_are_refused_with_the_setting_to_raise() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let parts: Vec<_> = (0..30).map(|n| batch(vec![n; 50_000], "a")).collect();
    let with = |memory_bytes| Target { memory_bytes, ..to(&path, "a", &upsert()) };
    let error = run(prepared(with(1 << 20), &parts)).err().unwrap();
    assert!(error.is_users() && error.to_string().contains("load_memory_bytes"), "{error}");
    // With enough of it the keys are looked at, and they repeat.
    let error = run(prepared(with(128 << 20), &parts)).err().unwrap();
    assert!(error.to_string().contains("30 key(s) come more than once"), "{error}");
    assert!(!path.join("_delta_log").exists());
}

#[test]
fn many_rows_are_rewritten_by_all_cores_and_each_stays_once() {
    const ROWS: i64 = 600_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let all = batch((0..ROWS).collect(), "old");
    let mut parts = Vec::new();
    for first in (0..ROWS as usize).step_by(8192) {
        parts.push(all.slice(first, 8192.min(ROWS as usize - first)));
    }
    let _ = run(written(target(&path, &formats()[0], "a", APPEND), &parts)).unwrap();
    // From the end, with little memory, so that what is picked never lies in the order of the table.
    let new = batch((0..ROWS + 1000).rev().step_by(500).collect(), "new");
    let asked = Target { memory_bytes: 64 << 10, ..to(&path, "b", &upsert()) };
    let (counts, _) = run(written(asked, &[new])).unwrap();
    assert_eq!(told(counts), [2, 1200, 0, 0, 0, 0]);
    let seen = seen(&path);
    assert_eq!(seen.len(), ROWS as usize + 2);
    let news = seen.iter().filter(|row| row.ends_with("|new")).count();
    assert_eq!(news, 1202);
    let ids: BTreeSet<&str> = seen.iter().filter_map(|row| row.split('|').next()).collect();
    assert_eq!(ids.len(), seen.len());
}

#[test]
fn values_of_every_type_are_compared_and_rewritten_whole() {
    let rich = exchange::rich();
    let all = rich.schema();
    let compared: Vec<_> = all.fields().iter().map(|field| field.name().as_str()).collect();
    let update = Merge { compare: names(&compared[1..]), nulls_match: true, ..upsert() };
    for merge in [Merge { rows: Rows::Group {}, ..update.clone() }, update] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let load = |run_id: &str, batch: &RecordBatch| {
            let asked = Target { schema: batch.schema(), ..to(&path, run_id, &merge) };
            told(run(written(asked, std::slice::from_ref(batch))).unwrap().0)
        };
        assert_eq!(load("a", &rich), [3, 0, 0, 0, 0, 0]);
        assert_eq!(load("b", &rich), [0, 0, 3, 0, 0, 0]);
        // Each column by itself: the value of the first row moves to the second one.
        for (place, field) in all.fields().iter().enumerate().skip(1) {
            let mut columns = rich.columns().to_vec();
            let other = UInt32Array::from(vec![0, 0, 2]);
            columns[place] = take(&columns[place], &other, None).unwrap();
            let changed = RecordBatch::try_new(all.clone(), columns).unwrap();
            let right = match merge.rows {
                Rows::Group {} => [1, 0, 2, 1, 0, 0],
                _ => [0, 1, 2, 0, 0, 0],
            };
            assert_eq!(load(&format!("{place}-there"), &changed), right, "{field}");
            assert_eq!(load(&format!("{place}-back"), &rich), right, "{field}");
        }
        assert_eq!(load("z", &rich), [0, 0, 3, 0, 0, 0]);
    }
}
