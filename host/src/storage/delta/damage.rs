//! Why the library could not read a log: which file is at fault, or which features. It rarely says.

use std::collections::BTreeSet;
use std::fs;
use std::fs::File;
use std::path::Path;
use std::path::PathBuf;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

use super::demands;
use super::log;
use crate::storage::Cause;
use crate::storage::DataPlace;
use crate::storage::StorageError;

const HINT: &str =
    "bring the log back from a copy, or let the engine that wrote the table repair it";

/// The files of a log that make up its newest version.
#[derive(Debug, Default)]
struct Log {
    /// The versions that have an entry.
    entries: BTreeSet<u64>,
    /// The newest version that has a checkpoint, or a part of one.
    checkpoint: Option<u64>,
    /// The files of that checkpoint.
    parts: Vec<PathBuf>,
}

/// What is wrong with the log of the table at `path`, or which of its features are not done, if that can be told.
pub(super) fn found(path: &Path) -> Option<StorageError> {
    let folder = path.join("_delta_log");
    let log = Log::list(&folder)?;
    let wrong = |file: &Path, what: String| {
        Some(StorageError::data(file, DataPlace::default(), what).hint(HINT))
    };
    let last = folder.join("_last_checkpoint");
    if let Ok(text) = fs::read_to_string(&last) {
        let told = serde_json::from_str::<Value>(&text).ok();
        let version = told.and_then(|told| told["version"].as_u64());
        if version.is_none() || version > log.checkpoint {
            return wrong(&last, "it tells of a checkpoint that is not there".to_owned());
        }
    }
    let there: BTreeSet<_> = log.parts.iter().filter_map(|part| numbers(part)).collect();
    for (_, of) in &there {
        if let Some(missing) = (1..=*of).find(|part| !there.contains(&(*part, *of))) {
            let what = format!("part {missing} of {of} of this checkpoint is missing");
            return wrong(&log.parts[0], what);
        }
    }
    // Without a checkpoint a log begins with version 0.
    let first = log.checkpoint.map_or(0, |version| version + 1);
    let newest = log.entries.last().copied().unwrap_or_default();
    if let Some(gap) = (first..newest).find(|version| !log.entries.contains(version)) {
        let what =
            format!("the log goes up to version {newest}, and has no entry of version {gap}");
        return wrong(&entry(&folder, gap), what);
    }
    let entries = log.entries.range(first..).map(|version| entry(&folder, *version));
    let files = entries.chain(log.parts.iter().cloned()).chain(sidecars(&folder, &log));
    for file in files {
        let read = match file.extension().is_some_and(|end| end == "json") {
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
    undone(path, &log)
}

/// Features of the newest entry that tells of any; the library refuses the first that it does not know, and tells of no other.
fn undone(path: &Path, log: &Log) -> Option<StorageError> {
    let features = log.entries.iter().rev().find_map(|version| {
        let told = log::entry(path, *version);
        told.iter().find_map(|action| action["protocol"]["readerFeatures"].as_array().cloned())
    });
    let features: Vec<String> =
        features?.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
    let undone = demands::undone(&features);
    (!undone.is_empty()).then(|| demands::refused(path, &undone))
}

impl Log {
    fn list(folder: &Path) -> Option<Self> {
        let mut log = Self::default();
        for file in fs::read_dir(folder).ok()? {
            let path = file.ok()?.path();
            let Some((version, rest)) = name(&path).and_then(|name| name.split_once('.')) else {
                continue;
            };
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
                log.parts.push(path);
            }
        }
        log.parts.sort();
        Some(log)
    }
}

fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

fn entry(folder: &Path, version: u64) -> PathBuf {
    folder.join(format!("{version:020}.json"))
}

/// Which part it is of how many, where a checkpoint is in parts: `<version>.checkpoint.0000000001.0000000002.parquet`.
fn numbers(part: &Path) -> Option<(u64, u64)> {
    let mut words = name(part)?.split('.').skip(2);
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// The files beside a checkpoint that hold its list of files, where it says so; and those that are there.
fn sidecars(folder: &Path, log: &Log) -> Vec<PathBuf> {
    let Some(version) = log.checkpoint else { return Vec::new() };
    let folder = folder.join("_sidecars");
    let there = fs::read_dir(&folder).into_iter().flatten().flatten().map(|file| file.path());
    let begins = format!("{version:020}.");
    let there = there.filter(|path| name(path).is_some_and(|name| name.starts_with(&begins)));
    let texts = log.parts.iter().filter_map(|part| fs::read_to_string(part).ok());
    let told = texts.flat_map(|text| {
        let actions = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let names =
            actions.filter_map(|action| Some(action["sidecar"]["path"].as_str()?.to_owned()));
        names.map(|name| folder.join(name)).collect::<Vec<_>>()
    });
    let all: BTreeSet<_> = there.chain(told).collect();
    all.into_iter().collect()
}

fn lines(file: &Path) -> Result<(), Cause> {
    let text = fs::read_to_string(file)?;
    for (line, text) in text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
        serde_json::from_str::<Value>(text)
            .map_err(|error| format!("line {}: {error}", line + 1))?;
    }
    Ok(())
}

fn rows(file: &Path) -> Result<(), Cause> {
    let rows = ParquetRecordBatchReaderBuilder::try_new(File::open(file)?)?.build()?;
    for batch in rows {
        batch?;
    }
    Ok(())
}
