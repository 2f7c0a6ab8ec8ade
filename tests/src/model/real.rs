//! The real table: batches go in through the host's own strategy and writer, rows come out of the log and the files themselves.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::Array;
use arrow::array::ArrayRef;
use arrow::array::AsArray;
use arrow::array::BooleanArray;
use arrow::array::Date32Array;
use arrow::array::Decimal128Array;
use arrow::array::Float64Array;
use arrow::array::Int64Array;
use arrow::array::RecordBatch;
use arrow::array::StringArray;
use arrow::array::TimestampMicrosecondArray;
use arrow::datatypes::DataType;
use arrow::datatypes::Date32Type;
use arrow::datatypes::Decimal128Type;
use arrow::datatypes::Field;
use arrow::datatypes::Float64Type;
use arrow::datatypes::Int64Type;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use arrow::datatypes::TimeUnit;
use arrow::datatypes::TimestampMicrosecondType;
use chrono::DateTime;
use chrono::Duration;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use wasmhost::flow::Compression;
use wasmhost::flow::Layout;
use wasmhost::flow::ParquetWrite;
use wasmhost::flow::SchemaChange;
use wasmhost::flow::WriteFormat;
use wasmhost::name::DestinationName;
use wasmhost::name::FlowName;
use wasmhost::problem::Place;
use wasmhost::storage::address::Address;
use wasmhost::strategy;
use wasmhost::table::Commit;
use wasmhost::table::Counts;
use wasmhost::table::RunId;
use wasmhost::table::TableChange;
use wasmhost::writer;
use wasmhost::writer::RunMark;
use wasmhost::writer::Target;
use wasmhost::writer::WriteError;

use super::setup::Key;
use super::setup::Setup;
use super::setup::Step;
use super::setup::started_at;
use crate::paths::decoded;

use super::value::Row;
use super::value::Value;
use super::value::get;
use super::value::set;

/// The step at which a run ended without a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Opening,
    Staging,
    Preparing,
    Committing,
}

/// Runs a step against the table in `path`.
///
/// # Errors
/// Where and why it did not land.
pub(super) async fn load(
    setup: &Setup,
    step: &Step,
    path: &Path,
) -> Result<(Counts, Commit), (Ended, WriteError)> {
    let schema = schema(setup, &step.batch.columns);
    let rows = record(&schema, &step.batch.rows);
    let place = Place::field("model", "destinations[0]");
    let change =
        strategy::change(setup.load(step.other), &schema, &setup.partition_columns(), &place)
            .unwrap_or_else(|problems| panic!("{}: {problems:?}", setup.name));
    let at = |ended| move |error| (ended, error);
    let target = target(setup, step, path, schema, change);
    let mut writer = writer::open(target).await.map_err(at(Ended::Opening))?;
    let ends = step.cuts.iter().copied().chain([rows.num_rows()]);
    let mut from = 0;
    for to in ends {
        writer.stage(&rows.slice(from, to - from)).await.map_err(at(Ended::Staging))?;
        from = to;
    }
    let prepared = writer.prepare().await.map_err(at(Ended::Preparing))?;
    let counts = prepared.counts();
    Ok((counts, prepared.commit().await.map_err(at(Ended::Committing))?))
}

/// The one place where a target is made.
fn target(
    setup: &Setup,
    step: &Step,
    path: &Path,
    schema: SchemaRef,
    change: TableChange,
) -> Target {
    let format = ParquetWrite { compression: Compression::Snappy, target_file_size: 1 << 20 };
    let started_at = DateTime::from_timestamp_micros(started_at(step.number)).unwrap();
    Target {
        address: Address::Disk(path.to_owned()),
        format: match setup.flat {
            true => WriteFormat::Parquet(format),
            false => WriteFormat::Delta(format),
        },
        change,
        schema,
        schema_change: SchemaChange::default(),
        table_properties: BTreeMap::new(),
        layout: Layout::default(),
        memory_bytes: setup.memory_bytes,
        partition_columns: setup
            .partition_columns()
            .into_iter()
            .map(|partition| partition.column)
            .collect(),
        date_folders: None,
        run: RunMark {
            run_id: RunId::new(format!("run-{}", step.number)).unwrap(),
            flow: FlowName::new("model").unwrap(),
            destination: DestinationName::new("out").unwrap(),
            // Clocks are finer than tables.
            started_at: started_at + Duration::nanoseconds(678),
        },
    }
}

fn schema(setup: &Setup, columns: &[String]) -> SchemaRef {
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let fields = columns.iter().map(|column| {
        let kind = match column.as_str() {
            "k" if setup.key == Key::Int => DataType::Int64,
            "k" | "k2" | "p" | "v" | "__run_id" => DataType::Utf8,
            "f" => DataType::Float64,
            "d" => DataType::Decimal128(10, 2),
            "day" => DataType::Date32,
            "seq" => DataType::Int64,
            "at" | "__created_at" | "__updated_at" => time.clone(),
            "gone" => DataType::Boolean,
            _ => panic!("of which type is `{column}`?"),
        };
        Field::new(column, kind, true)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn record(schema: &SchemaRef, rows: &[Row]) -> RecordBatch {
    let columns = schema.fields().iter().map(|field| array(field, rows)).collect();
    RecordBatch::try_new(schema.clone(), columns).unwrap()
}

fn array(field: &Field, rows: &[Row]) -> ArrayRef {
    let values = || rows.iter().map(|row| get(row, field.name()));
    macro_rules! array {
        ($array:ty, $kind:ident) => {
            values()
                .map(|value| match value {
                    Value::Null => None,
                    Value::$kind(value) => Some(value.clone()),
                    other => panic!("`{}` is {other:?}", field.name()),
                })
                .collect::<$array>()
        };
    }
    match field.data_type() {
        DataType::Boolean => Arc::new(array!(BooleanArray, Bool)),
        DataType::Int64 => Arc::new(array!(Int64Array, Int)),
        DataType::Float64 => Arc::new(array!(Float64Array, Float)),
        DataType::Date32 => Arc::new(array!(Date32Array, Date)),
        DataType::Utf8 => Arc::new(array!(StringArray, Text)),
        DataType::Decimal128(precision, scale) => Arc::new(
            array!(Decimal128Array, Decimal).with_precision_and_scale(*precision, *scale).unwrap(),
        ),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Arc::new(array!(TimestampMicrosecondArray, Time).with_timezone("UTC"))
        }
        other => panic!("{other}"),
    }
}

/// The table as a stranger reads it.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) rows: Vec<Row>,
    /// The data files of the newest version.
    pub(super) live: BTreeSet<String>,
}

/// All visible files where there is no log, with the partition values that their folders say.
fn read_flat(path: &Path) -> Found {
    let mut found = Found::default();
    for name in files(path) {
        let inside = Path::new(&name).strip_prefix(path).unwrap();
        let mut parts = inside.components().map(|part| part.as_os_str().to_str().unwrap());
        if parts.clone().any(|part| part.starts_with(['.', '_'])) {
            continue;
        }
        let folder = parts.next().and_then(|part| part.split_once('='));
        let partition = folder.map(|(column, value)| {
            let value = (value != "__HIVE_DEFAULT_PARTITION__").then(|| decoded(value));
            (column.to_owned(), serde_json::json!(value))
        });
        let partition = partition.into_iter().collect::<serde_json::Map<_, _>>().into();
        file(Path::new(&name), &partition, &mut found.rows);
        found.live.insert(name);
    }
    found
}

/// Replays the log: files that were added and not removed, with the partition values that it says.
pub(super) fn read(path: &Path) -> Found {
    if !path.join("_delta_log").exists() {
        return read_flat(path);
    }
    let mut entries: Vec<_> = fs::read_dir(path.join("_delta_log"))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|entry| entry.extension().is_some_and(|ending| ending == "json"))
        .collect();
    entries.sort();
    let mut live: BTreeMap<String, serde_json::Value> = BTreeMap::new();
    for entry in entries {
        for line in fs::read_to_string(entry).unwrap().lines() {
            let action: serde_json::Value = serde_json::from_str(line).unwrap();
            let file = |action: &serde_json::Value| action["path"].as_str().unwrap().to_owned();
            if let Some(add) = action.get("add") {
                live.insert(file(add), add.clone());
            }
            if let Some(remove) = action.get("remove") {
                live.remove(&file(remove)).expect("what is removed was there");
            }
        }
    }
    let mut rows = Vec::new();
    for (name, add) in &live {
        assert!(add.get("deletionVector").is_none_or(|it| it.is_null()), "not read here: {add}");
        let before = rows.len();
        file(&path.join(decoded(name)), &add["partitionValues"], &mut rows);
        let stats: serde_json::Value =
            serde_json::from_str(add["stats"].as_str().unwrap()).unwrap();
        assert_eq!(stats["numRecords"], rows.len() - before, "{name}");
    }
    Found { rows, live: live.into_keys().collect() }
}

/// All files below the folder, by name.
pub(super) fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.to_string_lossy().into_owned());
        }
    }
    found
}

fn file(path: &Path, partition: &serde_json::Value, rows: &mut Vec<Row>) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    for batch in reader.build().unwrap() {
        let batch = batch.unwrap();
        let schema = batch.schema();
        for at in 0..batch.num_rows() {
            let mut row = Row::new();
            for (field, column) in schema.fields().iter().zip(batch.columns()) {
                set(&mut row, field.name(), value(field, column, at));
            }
            for (column, text) in partition.as_object().unwrap() {
                let text = text.as_str().map_or(Value::Null, Value::text);
                set(&mut row, column, text);
            }
            rows.push(row);
        }
    }
}

fn value(field: &Field, column: &ArrayRef, at: usize) -> Value {
    if column.is_null(at) {
        return Value::Null;
    }
    match column.data_type() {
        DataType::Boolean => Value::Bool(column.as_boolean().value(at)),
        DataType::Int64 => Value::Int(column.as_primitive::<Int64Type>().value(at)),
        DataType::Float64 => Value::Float(column.as_primitive::<Float64Type>().value(at)),
        DataType::Decimal128(10, 2) => {
            Value::Decimal(column.as_primitive::<Decimal128Type>().value(at))
        }
        DataType::Date32 => Value::Date(column.as_primitive::<Date32Type>().value(at)),
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => {
            Value::Time(column.as_primitive::<TimestampMicrosecondType>().value(at))
        }
        DataType::Utf8 => Value::text(column.as_string::<i32>().value(at)),
        DataType::LargeUtf8 => Value::text(column.as_string::<i64>().value(at)),
        DataType::Utf8View => Value::text(column.as_string_view().value(at)),
        other => panic!("`{}` is stored as {other}", field.name()),
    }
}
