//! Reads targets back, by means other than the code under test where there are some.

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::path::PathBuf;

use arrow::array::RecordBatch;
use arrow::ipc::reader::FileReader;
use arrow::util::display::array_value_to_string;
use arrow_avro::reader::ReaderBuilder;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use wasmhost::flow::WriteFormat;

use crate::paths::decoded;

use super::tree;

/// `id|g` of all visible rows, sorted; NULL as `-`.
pub(super) fn lines(path: &Path, format: &WriteFormat) -> Vec<String> {
    let mut lines = match format {
        WriteFormat::Delta(_) => delta(path, usize::MAX),
        WriteFormat::Parquet(_)
        | WriteFormat::View(_)
        | WriteFormat::Csv(_)
        | WriteFormat::Jsonl(_)
        | WriteFormat::Json(_)
        | WriteFormat::Arrow(_)
        | WriteFormat::Avro(_) => flat(path, format),
    };
    lines.sort();
    lines
}

fn flat(path: &Path, format: &WriteFormat) -> Vec<String> {
    let hidden = |file: &Path| {
        file.strip_prefix(path)
            .unwrap()
            .components()
            .any(|part| part.as_os_str().to_str().unwrap().starts_with(['.', '_']))
    };
    let files = tree(path).into_keys().filter(|file| file.is_file() && !hidden(file));
    files.flat_map(|file| file_rows(&file, format, folder_value(path, &file))).collect()
}

/// The value of `g` that the file's folder says, if one does.
fn folder_value(root: &Path, file: &Path) -> Option<Option<String>> {
    let folder = file.parent().unwrap().strip_prefix(root).unwrap().to_str().unwrap();
    let value = folder.strip_prefix("g=")?;
    Some((value != "__HIVE_DEFAULT_PARTITION__").then(|| decoded(value)))
}

fn file_rows(file: &Path, format: &WriteFormat, partition: Option<Option<String>>) -> Vec<String> {
    let rows: Vec<(String, Option<String>)> = match format {
        WriteFormat::Delta(_) | WriteFormat::Parquet(_) | WriteFormat::View(_) => {
            parquet_rows(file)
        }
        WriteFormat::Jsonl(_) => {
            let text = fs::read_to_string(file).unwrap();
            text.lines().map(|line| object(&serde_json::from_str(line).unwrap())).collect()
        }
        WriteFormat::Json(_) => {
            let text = fs::read_to_string(file).unwrap();
            let rows: Vec<BTreeMap<String, Value>> = serde_json::from_str(&text).unwrap();
            rows.iter().map(object).collect()
        }
        WriteFormat::Arrow(_) => {
            let reader = FileReader::try_new(File::open(file).unwrap(), None).unwrap();
            reader.flat_map(|batch| batch_rows(&batch.unwrap())).collect()
        }
        WriteFormat::Avro(_) => {
            let input = BufReader::new(File::open(file).unwrap());
            let reader = ReaderBuilder::new().build(input).unwrap();
            reader.flat_map(|batch| batch_rows(&batch.unwrap())).collect()
        }
        WriteFormat::Csv(_) => {
            let text = fs::read_to_string(file).unwrap();
            let head = text.lines().next().unwrap();
            assert!(head == "id,g" || head == "id", "{head}");
            let group =
                |g: &str| if g.is_empty() { None } else { Some(g.trim_matches('"').to_owned()) };
            let row = |line: &str| match line.split_once(',') {
                Some((id, g)) => (id.to_owned(), group(g)),
                None => (line.to_owned(), None),
            };
            text.lines().skip(1).map(row).collect()
        }
    };
    let row = |(id, group): (String, Option<String>)| {
        format!("{id}|{}", partition.clone().unwrap_or(group).unwrap_or_else(|| "-".to_owned()))
    };
    rows.into_iter().map(row).collect()
}

fn parquet_rows(file: &Path) -> Vec<(String, Option<String>)> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(file).unwrap())
        .unwrap()
        .build()
        .unwrap();
    reader.flat_map(|batch| batch_rows(&batch.unwrap())).collect()
}

fn batch_rows(batch: &RecordBatch) -> Vec<(String, Option<String>)> {
    let value = |name: &str, row: usize| {
        let column = batch.column_by_name(name)?;
        (!column.is_null(row)).then(|| array_value_to_string(column, row).unwrap())
    };
    (0..batch.num_rows()).map(|row| (value("id", row).unwrap(), value("g", row))).collect()
}

fn object(row: &BTreeMap<String, Value>) -> (String, Option<String>) {
    (row["id"].to_string(), row.get("g").and_then(|g| g.as_str().map(str::to_owned)))
}

/// The same of a Delta table as of a version.
pub(super) fn lines_at(path: &Path, version: usize) -> Vec<String> {
    let mut lines = delta(path, version);
    lines.sort();
    lines
}

/// Replays the JSON log: files added and not removed, partition values from the log.
fn delta(path: &Path, version: usize) -> Vec<String> {
    let rows = |(file, add): (PathBuf, Value)| {
        let stats: Value = serde_json::from_str(add["stats"].as_str().unwrap()).unwrap();
        let partition =
            add["partitionValues"].get("g").map(|value| value.as_str().map(str::to_owned));
        let rows = file_rows(&file, &WriteFormat::Parquet(super::parquet()), partition);
        assert_eq!(stats["numRecords"], rows.len());
        rows
    };
    live(path, version).into_iter().flat_map(rows).collect()
}

/// The files of a Delta table as of a version, each with the action that added it.
pub(super) fn live(path: &Path, version: usize) -> Vec<(PathBuf, Value)> {
    let mut entries: Vec<PathBuf> = fs::read_dir(path.join("_delta_log"))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.retain(|entry| entry.extension().is_some_and(|ending| ending == "json"));
    entries.sort();
    let mut live: BTreeMap<String, Value> = BTreeMap::new();
    for entry in entries.into_iter().take(version.saturating_add(1)) {
        for line in fs::read_to_string(entry).unwrap().lines() {
            let action: Value = serde_json::from_str(line).unwrap();
            if let Some(add) = action.get("add") {
                live.insert(add["path"].as_str().unwrap().to_owned(), add.clone());
            }
            if let Some(remove) = action.get("remove") {
                live.remove(remove["path"].as_str().unwrap()).unwrap();
            }
        }
    }
    // Our folders are encoded once, and the log encodes their `%` again.
    let file = |encoded: String| path.join(encoded.replace("%25", "%"));
    live.into_iter().map(|(encoded, add)| (file(encoded), add)).collect()
}
