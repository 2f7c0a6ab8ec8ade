//! Why the library could not read a log: which file is at fault, or which features. It rarely says.

use std::collections::BTreeSet;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

use super::demands;
use super::log;
use crate::storage::Cause;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::address::Address;

const HINT: &str =
    "bring the log back from a copy, or let the engine that wrote the table repair it";

const GONE: &str = "it is not there";

/// The files of a log that make up its newest version.
#[derive(Debug, Default)]
struct Log {
    /// The versions that have an entry.
    entries: BTreeSet<u64>,
    /// The newest version that has a checkpoint, or a part of one.
    checkpoint: Option<u64>,
    /// The files of that checkpoint.
    parts: Vec<String>,
}

/// What is wrong with the log of a table, or which of its features are not done, if that can be told.
pub(super) fn found(table: &Address) -> Option<StorageError> {
    let folder = table.join(log::LOG);
    let log = Log::list(&folder)?;
    let wrong = |file: &Address, what: String| {
        Some(StorageError::data(file.shown(), DataPlace::default(), what).hint(HINT))
    };
    let last = folder.join("_last_checkpoint");
    if let Ok(Some(bytes)) = last.read() {
        let told = serde_json::from_slice::<Value>(&bytes).ok();
        let version = told.and_then(|told| told["version"].as_u64());
        if version.is_none() || version > log.checkpoint {
            return wrong(&last, "it tells of a checkpoint that is not there".to_owned());
        }
    }
    let there: BTreeSet<_> = log.parts.iter().filter_map(|part| numbers(part)).collect();
    for (_, of) in &there {
        if let Some(missing) = (1..=*of).find(|part| !there.contains(&(*part, *of))) {
            let what = format!("part {missing} of {of} of this checkpoint is missing");
            return wrong(&folder.join(&log.parts[0]), what);
        }
    }
    // Without a checkpoint a log begins with version 0.
    let first = log.checkpoint.map_or(0, |version| version + 1);
    let newest = log.entries.last().copied().unwrap_or_default();
    if let Some(gap) = (first..newest).find(|version| !log.entries.contains(version)) {
        let what =
            format!("the log goes up to version {newest}, and has no entry of version {gap}");
        return wrong(&folder.join(&log::name(gap)), what);
    }
    let entries = log.entries.range(first..).map(|version| log::name(*version));
    let files = entries.chain(log.parts.iter().cloned()).chain(sidecars(&folder, &log));
    for name in files {
        let file = folder.join(&name);
        let read = match name.ends_with(".json") {
            true => lines(&file),
            false => rows(&file),
        };
        if let Err(error) = read {
            return wrong(
                &file,
                format!("a part of the table's log, which cannot be read: {error}"),
            );
        }
    }
    undone(table, &log)
}

/// Features of the newest entry that tells of any; the library refuses the first that it does not know, and tells of no other.
fn undone(table: &Address, log: &Log) -> Option<StorageError> {
    let features = log.entries.iter().rev().find_map(|version| {
        let told = log::entry(table, *version).ok()?;
        told.iter().find_map(|action| action["protocol"]["readerFeatures"].as_array().cloned())
    });
    let features: Vec<String> =
        features?.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
    let undone = demands::undone(&features);
    (!undone.is_empty()).then(|| demands::refused(table.shown(), &undone))
}

impl Log {
    fn list(folder: &Address) -> Option<Self> {
        let mut log = Self::default();
        for name in folder.names().ok()? {
            let Some((version, rest)) = name.split_once('.') else { continue };
            let Some(version) = version.parse().ok().filter(|_| version.len() == 20) else {
                continue;
            };
            if rest == "json" {
                log.entries.insert(version);
            } else if rest.starts_with("checkpoint.") && Some(version) >= log.checkpoint {
                if Some(version) > log.checkpoint {
                    log.parts.clear();
                }
                log.checkpoint = Some(version);
                log.parts.push(name);
            }
        }
        log.parts.sort();
        Some(log)
    }
}

/// Which part it is of how many, where a checkpoint is in parts: `<version>.checkpoint.0000000001.0000000002.parquet`.
fn numbers(part: &str) -> Option<(u64, u64)> {
    let mut words = part.split('.').skip(2);
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// The files beside a checkpoint that hold its list of files, where it says so; and those that are there.
fn sidecars(folder: &Address, log: &Log) -> Vec<String> {
    let Some(version) = log.checkpoint else { return Vec::new() };
    let there = folder.join("_sidecars").names().unwrap_or_default().into_iter();
    let begins = format!("{version:020}.");
    let there = there.filter(|name| name.starts_with(&begins));
    let texts = log.parts.iter().filter(|part| part.ends_with(".json"));
    let texts = texts.filter_map(|part| folder.join(part).read().ok().flatten());
    let told = texts.flat_map(|text| {
        let lines = text.split(|byte| *byte == b'\n');
        let actions = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let names =
            actions.filter_map(|action| Some(action["sidecar"]["path"].as_str()?.to_owned()));
        names.collect::<Vec<_>>()
    });
    let all: BTreeSet<_> = there.chain(told).collect();
    all.into_iter().map(|name| format!("_sidecars/{name}")).collect()
}

fn lines(file: &Address) -> Result<(), Cause> {
    let bytes = file.read()?.ok_or(GONE)?;
    for (line, text) in
        str::from_utf8(&bytes)?.lines().enumerate().filter(|(_, text)| !text.trim().is_empty())
    {
        serde_json::from_str::<Value>(text)
            .map_err(|error| format!("line {}: {error}", line + 1))?;
    }
    Ok(())
}

fn rows(file: &Address) -> Result<(), Cause> {
    let file = file.open_read()?.ok_or(GONE)?;
    let rows = ParquetRecordBatchReaderBuilder::try_new(file)?.build()?;
    for batch in rows {
        batch?;
    }
    Ok(())
}
