//! Changes of Delta tables beyond additions and overwrites: partitions, new tables, other columns. Named after the public reports
//! of `cases/open.md` where one is about it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::Float64Array;
use arrow::array::Int64Array;
use arrow::array::RecordBatch;
use arrow::array::StringArray;
use arrow::array::StructArray;
use arrow::array::TimestampMicrosecondArray;
use arrow::datatypes::Field;
use serde_json::Value;
use wasmhost::flow::SchemaChange;
use wasmhost::table::Commit;
use wasmhost::table::Counts;
use wasmhost::table::IfExists;
use wasmhost::table::Scope;
use wasmhost::table::TableChange;
use wasmhost::writer::Target;
use wasmhost::writer::WriteError;

use super::APPEND;
use super::ODD_VALUES;
use super::OVERWRITE;
use super::by_group;
use super::counts;
use super::formats;
use super::lines;
use super::prepared;
use super::rows;
use super::run;
use super::target;
use super::tree;
use super::written;

const PARTITIONS: TableChange =
    TableChange::Replace { scope: Scope::Partitions, allow_empty: false };
const NEW: TableChange = TableChange::Create { if_exists: IfExists::Refuse };
const NEW_OR_NOTHING: TableChange = TableChange::Create { if_exists: IfExists::Skip };

fn to(path: &Path, run_id: &str, change: TableChange) -> Target {
    target(path, &formats()[0], run_id, change)
}

fn seen(path: &Path) -> Vec<String> {
    lines(path, &formats()[0])
}

/// Table rows → staged rows → (table rows after, deleted rows).
fn check_partitions(
    before: &[(i64, Option<&str>)],
    staged: &[(i64, Option<&str>)],
    after: &[&str],
    deleted: u64,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let _ = run(written(by_group(to(&path, "a", APPEND)), &[rows(before)])).unwrap();
    let (counted, _) = run(written(by_group(to(&path, "b", PARTITIONS)), &[rows(staged)])).unwrap();
    assert_eq!(counted, counts(staged.len() as u64, deleted), "{staged:?}");
    assert_eq!(seen(&path), after, "{staged:?}");
    // The same run again finds itself done.
    let (_, again) = run(written(by_group(to(&path, "b", PARTITIONS)), &[rows(staged)])).unwrap();
    assert_eq!(again, Commit::AlreadyApplied(Some(1)));
    assert_eq!(seen(&path), after, "{staged:?}");
}

#[test]
fn partitions_of_the_batch_are_replaced_and_no_others() {
    let table = [(1, Some("a")), (2, Some("a")), (3, Some("b")), (4, None)];
    check_partitions(&table, &[], &["1|a", "2|a", "3|b", "4|-"], 0);
    check_partitions(&table, &[(9, Some("a"))], &["3|b", "4|-", "9|a"], 2);
    check_partitions(&table, &[(9, Some("c"))], &["1|a", "2|a", "3|b", "4|-", "9|c"], 0);
    // A batch of NULL partitions alone never takes the table with it.
    check_partitions(&table, &[(9, None)], &["1|a", "2|a", "3|b", "9|-"], 1);
    check_partitions(&table, &[(8, None), (9, Some("b"))], &["1|a", "2|a", "8|-", "9|b"], 2);
}

#[test]
fn case_3_partition_values_with_special_characters_are_replaced_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let mut values: Vec<_> = ODD_VALUES.iter().map(|value| (1, Some(*value))).collect();
    values.push((1, None));
    let _ = run(written(by_group(to(&path, "a", APPEND)), &[rows(&values)])).unwrap();
    for (n, (_, value)) in values.iter().enumerate() {
        let id = 100 + n as i64;
        let target = by_group(to(&path, &format!("r{n}"), PARTITIONS));
        let (counted, _) = run(written(target, &[rows(&[(id, *value)])])).unwrap();
        assert_eq!(counted, counts(1, 1), "{value:?}");
    }
    let mut right: Vec<_> = values
        .iter()
        .enumerate()
        .map(|(n, (_, value))| format!("{}|{}", 100 + n, value.unwrap_or("-")))
        .collect();
    right.sort();
    assert_eq!(seen(&path), right);
}

#[test]
fn case_12_two_writers_that_overwrite_the_same_partition_leave_one_batch() {
    for (first, second, after) in [
        // The same partition: the second one judges anew, and its batch is what is left.
        (PARTITIONS, [(20, Some("a"))], vec!["20|a", "3|b"]),
        // Another partition: both are there.
        (PARTITIONS, [(20, Some("b"))], vec!["10|a", "20|b"]),
        // Rows that came in between belong to the partition that is replaced.
        (APPEND, [(20, Some("a"))], vec!["20|a", "3|b"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let table = rows(&[(1, Some("a")), (2, Some("a")), (3, Some("b"))]);
        let _ = run(written(by_group(to(&path, "t", APPEND)), &[table])).unwrap();
        let removed = run(async {
            let batch = rows(&[(10, Some("a"))]);
            let a = prepared(by_group(to(&path, "a", first.clone())), &[batch]).await.unwrap();
            let b = by_group(to(&path, "b", PARTITIONS));
            let b = prepared(b, &[rows(&second)]).await.unwrap();
            let _ = a.commit().await.unwrap();
            let Commit::Applied(counted, Some(2)) = b.commit().await.unwrap() else { panic!() };
            counted.rows_deleted.unwrap()
        });
        assert_eq!(seen(&path), after);
        let there = if first == APPEND { 4 } else { 2 };
        assert_eq!(removed, there + 1 - after.len() as u64, "counts are those of the second try");
    }
}

#[test]
fn a_new_table_is_made_once_whoever_else_tries() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let (early, late) = run(async {
        let early = prepared(to(&path, "a", NEW), &[rows(&[(1, None)])]).await.unwrap();
        let late = prepared(to(&path, "b", NEW), &[rows(&[(2, None)])]).await.unwrap();
        (early.commit().await, late.commit().await)
    });
    assert_eq!(early.unwrap(), Commit::Applied(counts(1, 0), Some(0)));
    let late = late.unwrap_err();
    assert!(late.is_users() && late.to_string().contains("there is a table already"), "{late}");
    assert_eq!(seen(&path), ["1|-"]);
    let before = tree(&path);
    let refused = run(prepared(to(&path, "c", NEW), &[rows(&[(3, None)])])).err().unwrap();
    assert!(matches!(refused, WriteError::Refused(_)), "{refused}");
    assert_eq!(tree(&path), before);
    // An empty folder is no table.
    fs::create_dir(folder.path().join("empty")).unwrap();
    let _ =
        run(written(to(&folder.path().join("empty"), "a", NEW), &[rows(&[(1, None)])])).unwrap();
}

#[test]
fn a_table_that_is_there_is_left_alone_also_where_it_came_in_between() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let skipped = Counts { rows_inserted: 0, rows_unchanged: 1, ..counts(1, 0) };
    let (early, late) = run(async {
        let early = prepared(to(&path, "a", NEW_OR_NOTHING), &[rows(&[(1, None)])]).await.unwrap();
        let late = prepared(to(&path, "b", NEW_OR_NOTHING), &[rows(&[(2, None)])]).await.unwrap();
        (early.commit().await.unwrap(), late.commit().await.unwrap())
    });
    assert_eq!(early, Commit::Applied(counts(1, 0), Some(0)));
    assert_eq!(late, Commit::Skipped);
    let before = tree(&path);
    let (counted, commit) =
        run(written(to(&path, "c", NEW_OR_NOTHING), &[rows(&[(3, None)])])).unwrap();
    assert_eq!((counted, commit), (skipped, Commit::Skipped));
    assert_eq!(tree(&path), before, "nothing of it is left");
    assert_eq!(counted.accounted(), counted.rows_written);
}

/// The columns of the newest metadata, as `name type`.
fn table_columns(path: &Path) -> Vec<String> {
    let mut entries: Vec<_> = fs::read_dir(path.join("_delta_log"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect();
    entries.sort();
    let texts: Vec<_> = entries.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let lines = texts.iter().flat_map(|text| text.lines());
    let mut actions = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let last = actions.rfind(|action| action.get("metaData").is_some()).unwrap();
    let schema: Value =
        serde_json::from_str(last["metaData"]["schemaString"].as_str().unwrap()).unwrap();
    let fields = schema["fields"].as_array().unwrap().iter();
    let plain = |value: &Value| value.as_str().unwrap().to_owned();
    fields.map(|field| format!("{} {}", plain(&field["name"]), plain(&field["type"]))).collect()
}

#[test]
fn new_columns_are_refused_added_or_replace_all_as_the_flow_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let wider = RecordBatch::try_from_iter([
        ("w", Arc::new(Float64Array::from(vec![1.5])) as ArrayRef),
        ("id", Arc::new(Int64Array::from(vec![2])) as ArrayRef),
    ])
    .unwrap();
    let t = |run_id: &str, change, schema_change| Target {
        schema: wider.schema(),
        schema_change,
        ..to(&path, run_id, change)
    };
    let _ = run(written(to(&path, "a", APPEND), &[rows(&[(1, Some("x"))])])).unwrap();
    let before = tree(&path);
    let refused = run(written(t("b", APPEND, SchemaChange::Refuse), std::slice::from_ref(&wider)))
        .unwrap_err();
    assert!(refused.to_string().contains("the target has no column `w`"), "{refused}");
    assert_eq!(tree(&path), before);

    let added =
        run(written(t("c", APPEND, SchemaChange::Merge), std::slice::from_ref(&wider))).unwrap();
    assert_eq!(added, (counts(1, 0), Commit::Applied(counts(1, 0), Some(1))));
    assert_eq!(table_columns(&path), ["id long", "g string", "w double"]);
    assert_eq!(seen(&path), ["1|x", "2|-"]);
    // Once added it is a column as any other.
    let _ =
        run(written(t("d", APPEND, SchemaChange::Merge), std::slice::from_ref(&wider))).unwrap();
    assert_eq!(seen(&path), ["1|x", "2|-", "2|-"]);

    let text = RecordBatch::try_from_iter([
        ("id", Arc::new(StringArray::from(vec!["seven"])) as ArrayRef),
        ("z", Arc::new(Int64Array::from(vec![1])) as ArrayRef),
    ])
    .unwrap();
    let other = |schema_change| Target {
        schema: text.schema(),
        schema_change,
        ..to(&path, "e", OVERWRITE)
    };
    for keeps in [SchemaChange::Refuse, SchemaChange::Merge] {
        let refused =
            run(written(other(keeps), std::slice::from_ref(&text))).unwrap_err().to_string();
        assert!(refused.contains("column `id` is Utf8, and the target's is Int64"), "{refused}");
    }
    let replaced =
        run(written(other(SchemaChange::Overwrite), std::slice::from_ref(&text))).unwrap();
    assert_eq!(replaced.0, counts(1, 3));
    assert_eq!(table_columns(&path), ["id string", "z long"]);
    assert_eq!(seen(&path), ["seven|-"]);
}

#[test]
fn timestamps_without_a_zone_may_come_later() {
    let local: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![5]));
    let id = || Arc::new(Int64Array::from(vec![2])) as ArrayRef;
    let inner = Arc::new(Field::new("t", local.data_type().clone(), true));
    let within: ArrayRef = Arc::new(StructArray::from(vec![(inner, Arc::clone(&local))]));
    for column in [local, within] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let append_only = BTreeMap::from([("delta.appendOnly".to_owned(), "true".to_owned())]);
        let first = Target { table_properties: append_only, ..to(&path, "a", APPEND) };
        let _ = run(written(first, &[rows(&[(1, Some("x"))])])).unwrap();
        let batch = RecordBatch::try_from_iter([("id", id()), ("at", column)]).unwrap();
        for run_id in ["b", "c"] {
            let target = Target {
                schema: batch.schema(),
                schema_change: SchemaChange::Merge,
                ..to(&path, run_id, APPEND)
            };
            let _ = run(written(target, std::slice::from_ref(&batch))).unwrap();
        }
        assert_eq!(seen(&path), ["1|x", "2|-", "2|-"]);
        let entry = |version: u64| {
            fs::read_to_string(path.join(format!("_delta_log/{version:020}.json"))).unwrap()
        };
        let protocol = entry(1).lines().find(|line| line.contains("protocol")).unwrap().to_owned();
        for part in [
            "\"minReaderVersion\":3",
            "\"minWriterVersion\":7",
            "\"timestampNtz\"",
            "\"appendOnly\"",
        ] {
            assert!(protocol.contains(part), "{part}: {protocol}");
        }
        assert!(!entry(2).contains("protocol"), "once is enough");
    }
}

#[test]
fn table_properties_come_with_the_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let properties = |value: &str| BTreeMap::from([("team".to_owned(), value.to_owned())]);
    let newest = || {
        let entries = fs::read_dir(path.join("_delta_log")).unwrap().map(|it| it.unwrap().path());
        fs::read_to_string(entries.max().unwrap()).unwrap()
    };
    for (run_id, value, changes) in [("a", "one", true), ("b", "one", false), ("c", "two", true)] {
        let target = Target { table_properties: properties(value), ..to(&path, run_id, APPEND) };
        let _ = run(written(target, &[rows(&[(1, None)])])).unwrap();
        assert_eq!(newest().contains(&format!("\"team\":\"{value}\"")), changes, "{run_id}");
        assert!(newest().contains("\"add\""), "one commit");
    }
    assert_eq!(seen(&path), ["1|-", "1|-", "1|-"]);
}
