//! Rows as a stranger reads them: from the files, and for Delta from the log, without our own code.

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::path::Path;
use std::path::PathBuf;

use arrow::array::RecordBatch;
use arrow::util::display::ArrayFormatter;
use arrow::util::display::FormatOptions;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

use super::walk;
use crate::paths::decoded;

/// Rows of a Delta table or of a folder's visible files, in the order of the files; values joined by `|`, NULL as `-`.
/// The first line names the columns, but for JSON lines. Nothing at all where there is no folder.
pub(super) fn rows(folder: &Path) -> Vec<String> {
    if !folder.exists() {
        return Vec::new();
    }
    if folder.join("_delta_log").exists() {
        return delta(folder);
    }
    let mut files = visible(folder);
    files.sort();
    let mut rows = Vec::new();
    for file in files {
        let mut more = match file.extension().and_then(|end| end.to_str()) {
            Some("csv") => {
                let text = fs::read_to_string(&file).unwrap();
                text.lines().map(|line| line.replace(',', "|")).collect()
            }
            Some("parquet") => parquet(&file, &BTreeMap::new()),
            Some("jsonl") => {
                let text = fs::read_to_string(&file).unwrap();
                std::iter::once("jsonl").chain(text.lines()).map(Into::into).collect()
            }
            _ => panic!("what is {}?", file.display()),
        };
        if rows.is_empty() {
            rows = more;
        } else {
            assert_eq!(rows[0], more[0], "files of one table have the same columns");
            rows.extend(more.drain(1..));
        }
    }
    rows
}

/// Files that readers see: no part of their path is hidden.
fn visible(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    walk(folder, &mut |path| {
        let inside = path.strip_prefix(folder).unwrap();
        let hidden = |part: std::path::Component<'_>| {
            part.as_os_str().to_string_lossy().starts_with(['.', '_'])
        };
        if path.is_file() && !inside.components().any(hidden) {
            files.push(path.to_owned());
        }
    });
    files
}

/// What the log says: added and not removed.
fn delta(folder: &Path) -> Vec<String> {
    let mut commits: Vec<_> = fs::read_dir(folder.join("_delta_log"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    commits.sort();
    let mut live = Vec::<Value>::new();
    for commit in commits {
        for line in fs::read_to_string(commit).unwrap().lines() {
            let action: Value = serde_json::from_str(line).unwrap();
            if let Some(added) = action.get("add") {
                live.push(added.clone());
            }
            if let Some(removed) = action.get("remove") {
                live.retain(|added| added["path"] != removed["path"]);
            }
        }
    }
    let mut rows = Vec::new();
    for added in live {
        let values: BTreeMap<String, Value> =
            serde_json::from_value(added["partitionValues"].clone()).unwrap();
        let values = values
            .into_iter()
            .map(|(name, value)| (name, value.as_str().map(ToOwned::to_owned)))
            .collect();
        let mut more = parquet(&folder.join(decoded(added["path"].as_str().unwrap())), &values);
        if rows.is_empty() { rows = more } else { rows.extend(more.drain(1..)) }
    }
    rows
}

fn parquet(file: &Path, partition: &BTreeMap<String, Option<String>>) -> Vec<String> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file).unwrap()).unwrap();
    let schema = reader.schema().clone();
    let names = schema.fields().iter().map(|field| field.name().clone());
    let mut rows = vec![names.chain(partition.keys().cloned()).collect::<Vec<_>>().join("|")];
    for batch in reader.build().unwrap() {
        rows.extend(shown(&batch.unwrap(), partition));
    }
    rows
}

fn shown(batch: &RecordBatch, partition: &BTreeMap<String, Option<String>>) -> Vec<String> {
    let options = FormatOptions::default().with_null("-");
    let columns: Vec<_> = batch
        .columns()
        .iter()
        .map(|column| ArrayFormatter::try_new(column, &options).unwrap())
        .collect();
    let folder = partition.values().map(|value| value.clone().unwrap_or_else(|| "-".to_owned()));
    let folder: Vec<_> = folder.collect();
    (0..batch.num_rows())
        .map(|row| {
            let values = columns.iter().map(|column| column.value(row).to_string());
            values.chain(folder.iter().cloned()).collect::<Vec<_>>().join("|")
        })
        .collect()
}
