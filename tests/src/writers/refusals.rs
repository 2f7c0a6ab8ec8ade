//! What is refused before anything is written: each with its words, and nothing on the disk.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::Float64Array;
use arrow::array::Int64Array;
use arrow::array::RecordBatch;
use arrow::array::StructArray;
use arrow::array::TimestampNanosecondArray;
use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::IntervalUnit;
use arrow::datatypes::Schema;
use arrow::datatypes::TimeUnit;
use wasmhost::flow::WriteFormat;
use wasmhost::name::ColumnName;

use super::APPEND;
use super::OVERWRITE;
use super::formats;
use super::lines;
use super::prepared;
use super::rows;
use super::run;
use super::target;
use super::tree;
use super::written;

const DELTA: usize = 0;
const PARQUET: usize = 1;
const CSV: usize = 2;
const JSONL: usize = 3;

/// Refuses rows of `columns`, and touches nothing.
fn check(
    format: usize,
    before: impl FnOnce(&Path),
    change: impl FnOnce(&mut wasmhost::writer::Target),
    right: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    before(&path);
    let mut target = target(&path, &formats()[format], "r", APPEND);
    change(&mut target);
    let tree_before = tree(folder.path());
    let error = run(prepared(target, &[])).err().map(|error| {
        assert!(error.is_users(), "{error}");
        error.to_string().replace(path.to_str().unwrap(), "T")
    });
    assert_eq!(error.unwrap_or_default(), right);
    assert_eq!(tree(folder.path()), tree_before, "nothing was touched");
}

fn columns(columns: &[(&str, DataType)]) -> impl FnOnce(&mut wasmhost::writer::Target) {
    let fields: Vec<_> = columns
        .iter()
        .map(|(name, data_type)| Field::new(*name, data_type.clone(), true))
        .collect();
    move |target| target.schema = Arc::new(Schema::new(fields))
}

fn split(names: &[&str]) -> impl FnOnce(&mut wasmhost::writer::Target) {
    let names = names.iter().map(|name| ColumnName::new(*name).unwrap()).collect();
    move |target| target.partition_columns = names
}

fn nothing(_: &Path) {}

/// A table of the format with the rows (1, x).
fn there(format: usize) -> impl FnOnce(&Path) {
    move |path| {
        drop(
            run(written(
                target(path, &formats()[format], "first", APPEND),
                &[rows(&[(1, Some("x"))])],
            ))
            .unwrap(),
        )
    }
}

#[test]
fn types_that_a_format_has_not() {
    let time = DataType::Time64(TimeUnit::Microsecond);
    let interval = DataType::Interval(IntervalUnit::MonthDayNano);
    let list = DataType::new_list(DataType::Int64, true);
    for (format, data_type, right) in [
        (
            DELTA,
            time,
            "which delta cannot hold [schema]\n  hint: Delta has no such type; a time of day can be kept as text",
        ),
        (
            DELTA,
            interval.clone(),
            "which delta cannot hold [schema]\n  hint: Delta has no such type; a span can be kept as a whole number of one unit",
        ),
        (
            DELTA,
            DataType::Float16,
            "which delta cannot hold [schema]\n  hint: Delta has no such type; cast it to float32",
        ),
        (
            DELTA,
            DataType::Null,
            "which delta cannot hold [schema]\n  hint: it has no type: all its values are NULL; cast it to one",
        ),
        (
            PARQUET,
            DataType::Null,
            "which parquet cannot hold [schema]\n  hint: it has no type: all its values are NULL; cast it to one",
        ),
        (CSV, list, "which csv cannot hold [schema]\n  hint: CSV has no place for nested values"),
        (
            CSV,
            DataType::Binary,
            "which csv cannot hold [schema]\n  hint: CSV has no place for binary values",
        ),
        (
            JSONL,
            DataType::Binary,
            "which jsonl cannot hold [schema]\n  hint: JSON has no place for binary values",
        ),
        (
            JSONL,
            interval,
            "which jsonl cannot hold [schema]\n  hint: JSON has no spelling of an interval that reads back",
        ),
    ] {
        let right = format!("T: columns: column `c` is {data_type}, {right}");
        check(format, nothing, columns(&[("id", DataType::Int64), ("c", data_type)]), &right);
    }
}

#[test]
fn names_and_partitions_that_cannot_be_meant() {
    let text = DataType::Utf8;
    check(
        DELTA,
        nothing,
        columns(&[("Id", text.clone()), ("ID", text.clone())]),
        "T: columns: columns `Id` and `ID` differ by case only, which Delta does not tell apart [schema]\n  hint: rename one of them, or leave it out",
    );
    check(
        DELTA,
        nothing,
        columns(&[]),
        "T: columns: there are no columns to write [schema]\n  hint: name at least one column",
    );
    check(
        CSV,
        nothing,
        columns(&[("a", text)]),
        "T: null_value: a CSV file of one column cannot hold NULL as nothing: the line would be blank [schema]\n  hint: say how NULL is written, as in `null_value: NULL`",
    );
    for format in [DELTA, PARQUET] {
        check(
            format,
            nothing,
            split(&["gg"]),
            "T: partition_columns[0]: there is no column `gg` to write [unknown-name]\n  hint: did you mean `g`?",
        );
        check(
            format,
            nothing,
            split(&["id", "g"]),
            "T: partition_columns: all columns are partition columns: the files would have none [schema]\n  hint: leave at least one column to the files",
        );
        check(
            format,
            nothing,
            |target| {
                columns(&[("id", DataType::Int64), ("g", DataType::Float64)])(target);
                split(&["g"])(target);
            },
            "T: partition_columns[0]: column `g` is Float64 and cannot split a table [schema]\n  hint: floats are never quite equal; cast it to a decimal, or round it to a whole number",
        );
        check(
            format,
            there(format),
            split(&["g"]),
            "T: partition_columns: the target is partitioned by nothing, the destination by `g` [contradiction]\n  hint: say `partition_columns: []`",
        );
    }
}

#[test]
fn columns_that_do_not_fit_the_target() {
    let (id, g) = (("id", DataType::Int64), ("g", DataType::Utf8));
    for format in [DELTA, PARQUET, CSV, JSONL] {
        let way_out = if format == DELTA {
            "add it by `merge_schema: true`"
        } else {
            "write to a new target"
        };
        check(
            format,
            there(format),
            columns(&[id.clone(), g.clone(), ("new", DataType::Utf8)]),
            &format!(
                "T: columns: the target has no column `new` [schema]\n  hint: name the columns to write in `columns`, or {way_out}"
            ),
        );
        check(
            format,
            there(format),
            columns(&[id.clone(), ("g", DataType::Int64)]),
            "T: columns: column `g` is Int64, and the target's is Utf8, which does not hold every such value [schema]\n  hint: cast it in a step before",
        );
    }
    check(
        DELTA,
        there(DELTA),
        columns(&[("ID", DataType::Int64), g.clone()]),
        "T: columns: the target has no column `ID` [schema]\n  hint: the target spells it `id`",
    );
    check(
        DELTA,
        there(DELTA),
        columns(&[("id", DataType::UInt64), g]),
        "T: columns: column `id` is UInt64, and the target's is Int64, which does not hold every such value [schema]\n  hint: cast it in a step before",
    );
    check(
        PARQUET,
        there(PARQUET),
        columns(&[id]),
        "T: columns: the target's column `g` is not among those to write [schema]\n  hint: add it to the rows, NULL where it has no value",
    );
}

#[test]
fn places_that_are_something_else() {
    let file = |path: &Path| fs::write(path, "x").unwrap();
    let other = |path: &Path| {
        fs::create_dir(path).unwrap();
        fs::write(path.join("notes.txt"), "x").unwrap();
    };
    for format in [DELTA, PARQUET, CSV, JSONL] {
        check(
            format,
            file,
            |_| {},
            "T: path: `T`: a file is there, where the destination needs a folder [wrong-value]\n  hint: name a folder; the files in it get names of their own",
        );
    }
    check(
        DELTA,
        other,
        |_| {},
        "T: path: `T`: the folder is no Delta table, but holds other files: `notes.txt` [wrong-value]\n  hint: name an empty or new folder, or the table's own",
    );
    check(
        DELTA,
        there(CSV),
        |_| {},
        "T: path: `T`: the folder is no Delta table, but holds flat files that wasmhost wrote [wrong-value]\n  hint: name an empty or new folder, or the table's own",
    );
    check(
        PARQUET,
        there(DELTA),
        |_| {},
        "T: path: `T`: a Delta table is there; parquet files among its own are no part of it [wrong-value]\n  hint: write it as `delta`, or to another folder",
    );
    check(
        CSV,
        other,
        |_| {},
        "T: path: the folder holds files of another format: `notes.txt` [wrong-value]\n  hint: name a folder of its own for each format",
    );
    check(
        CSV,
        other,
        |target| target.change = OVERWRITE,
        "T: path: an overwrite would delete files that are not the destination's: `notes.txt` [wrong-value]\n  hint: move them away, or name a folder of its own",
    );
}

/// Adds an entry to a table's log, as another engine would.
fn entry(version: u64, text: &str) -> impl FnOnce(&Path) {
    let text = text.to_owned();
    move |path| {
        there(DELTA)(path);
        fs::write(path.join(format!("_delta_log/{version:020}.json")), text).unwrap();
    }
}

#[test]
fn tables_that_demand_what_we_do_not_do() {
    let metadata = |configuration: &str, field: &str| {
        let schema = r#"{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},{"name":"g","type":"string","nullable":true,"metadata":{FIELD}}]}"#;
        let schema = serde_json::to_string(&schema.replace("FIELD", field)).unwrap();
        format!(
            r#"{{"metaData":{{"id":"x","format":{{"provider":"parquet","options":{{}}}},"schemaString":{schema},"partitionColumns":[],"configuration":{{{configuration}}}}}}}"#
        )
    };
    let protocol = |features: &str| {
        format!(
            r#"{{"protocol":{{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":[{features}]}}}}"#
        )
    };
    let demand = |what: &str| {
        format!(
            "T: path: the table demands {what}, which wasmhost does not do [not-offered]\n  hint: write it with an engine that does, or to another table"
        )
    };
    check(DELTA, entry(1, &protocol("\"rowTracking\",\"domainMetadata\"").to_string()), |_| {}, &{
        let all = [demand("the feature `domainMetadata`"), demand("the feature `rowTracking`")];
        all.join("\n")
    });
    let checks = format!(
        "{}\n{}",
        protocol("\"checkConstraints\""),
        metadata(r#""delta.constraints.positive":"id > 0""#, "")
    );
    check(
        DELTA,
        entry(1, &checks),
        |_| {},
        &[
            demand("the feature `checkConstraints`"),
            demand("the check constraint `delta.constraints.positive`"),
        ]
        .join("\n"),
    );
    let generated = format!(
        "{}\n{}",
        protocol("\"generatedColumns\""),
        metadata("", r#""delta.generationExpression":"upper(id)""#)
    );
    check(
        DELTA,
        entry(1, &generated),
        |_| {},
        &[demand("the feature `generatedColumns`"), demand("the generated column `g`")].join("\n"),
    );
    let append_only =
        format!("{}\n{}", protocol("\"appendOnly\""), metadata(r#""delta.appendOnly":"true""#, ""));
    check(
        DELTA,
        entry(1, &append_only),
        |target| target.change = OVERWRITE,
        "T: load_type: the table is append-only (`delta.appendOnly`) [contradiction]\n  hint: use `append`, or clear the table's property",
    );
    check(DELTA, entry(1, &append_only), |_| {}, "");
}

#[test]
fn a_log_that_a_power_cut_has_emptied_is_not_built_upon() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    entry(1, "")(&path);
    let error = run(prepared(target(&path, &formats()[DELTA], "r", APPEND), &[]))
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("00000000000000000001.json: the newest log entry is empty"), "{error}");
    fs::write(path.join("_delta_log/00000000000000000001.json"), r#"{"commitInfo":{"#).unwrap();
    let error = run(prepared(target(&path, &formats()[DELTA], "r", APPEND), &[])).err().unwrap();
    let error = error.to_string();
    assert!(
        error.contains("00000000000000000001.json: a part of the table's log, which cannot"),
        "{error}"
    );
}

/// Stages one column `c` of the format; the error's words.
fn staged(format: &WriteFormat, column: ArrayRef) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..column.len() as i64));
    let batch = RecordBatch::try_from_iter([("id", ids), ("c", column)]).unwrap();
    let mut target = target(&path, format, "r", APPEND);
    target.schema = batch.schema();
    let error = run(written(target, &[batch]))
        .err()
        .map(|error| error.to_string().replace(path.to_str().unwrap(), "T"));
    error.map_or(Ok(()), Err)
}

#[test]
fn values_that_a_target_cannot_hold_whole() {
    let [delta, _, csv, jsonl, ..] = formats();
    let nanos = |values: Vec<i64>| -> ArrayRef {
        Arc::new(TimestampNanosecondArray::from(values).with_timezone("UTC"))
    };
    let error = staged(&delta, nanos(vec![1_000, 1_001])).unwrap_err();
    assert_eq!(error, "T: column `c`: `1970-01-01T00:00:00.000001001Z` is not a timestamp");
    staged(&delta, nanos(vec![1_000, -2_000])).unwrap();
    let within = StructArray::from(vec![(
        Arc::new(Field::new("at", nanos(vec![]).data_type().clone(), true)),
        nanos(vec![5_000, 5_001]),
    )]);
    let error = staged(&delta, Arc::new(within)).unwrap_err();
    assert!(
        error.starts_with("T: column `c`: `{at: 1970-01-01T00:00:00.000005001Z}` is not "),
        "{error}"
    );
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.1, f64::NAN]));
    assert_eq!(
        staged(&jsonl, Arc::clone(&floats)).unwrap_err(),
        "T: column `c`: NaN has no spelling in JSON"
    );
    staged(&delta, Arc::clone(&floats)).unwrap();
    staged(&csv, floats).unwrap();
}

#[test]
fn a_column_that_takes_no_null_gets_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let format = &formats()[DELTA];
    there(DELTA)(&path);
    let schema = r#"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}},{\"name\":\"g\",\"type\":\"string\",\"nullable\":false,\"metadata\":{}}]}"#;
    let entry = format!(
        r#"{{"metaData":{{"id":"x","format":{{"provider":"parquet","options":{{}}}},"schemaString":"{schema}","partitionColumns":[],"configuration":{{}}}}}}"#
    );
    fs::write(path.join("_delta_log/00000000000000000001.json"), entry).unwrap();
    let error =
        run(written(target(&path, format, "r", APPEND), &[rows(&[(2, None)])])).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("column `g`: 1 rows have NULL, which the target's column does not take"),
        "{error}"
    );
    let _ = run(written(target(&path, format, "r", APPEND), &[rows(&[(2, Some("y"))])])).unwrap();
    assert_eq!(lines(&path, format), ["1|x", "2|y"]);
}
