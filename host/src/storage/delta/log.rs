//! The log's own files, looked at without the library: whether the newest entry is whole, and which one carries a mark.

use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;

use crate::storage::DataPlace;
use crate::storage::StorageError;

/// The newest entry of the log. One without bytes is what a power cut leaves: rows that were reported are not in it.
pub(super) fn newest_entry(path: &Path) -> Result<Option<PathBuf>, StorageError> {
    let log = path.join("_delta_log");
    let entries = match fs::read_dir(&log) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(StorageError::io(&log, "list it"))?,
    };
    let paths: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let is_entry = |path: &PathBuf| {
        let stem =
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        path.extension().is_some_and(|it| it == "json")
            && stem.len() == 20
            && stem.bytes().all(|b| b.is_ascii_digit())
    };
    let newest =
        paths.map_err(StorageError::io(&log, "list it"))?.into_iter().filter(is_entry).max();
    if let Some(newest) = &newest {
        let facts = fs::metadata(newest).map_err(StorageError::io(newest, "look at it"))?;
        if facts.len() == 0 {
            let what = "the newest log entry is empty, as a power cut leaves it: rows that were reported may be missing";
            return Err(StorageError::data(newest, DataPlace::default(), what)
                .hint("compare the evidence of the last runs with the table, then remove the entry and run them again"));
        }
    }
    Ok(newest)
}

/// The version whose entry carries the mark; `None` where the entry was cleaned away.
pub(super) fn version_of(path: &Path, app_id: &str) -> Option<u64> {
    let marked = |action: &Value| action["txn"]["appId"] == app_id;
    versions(path).ok()?.into_iter().rev().find(|version| entry(path, *version).iter().any(marked))
}

/// The versions that have an entry, ascending.
pub(super) fn versions(path: &Path) -> io::Result<Vec<u64>> {
    let entries = fs::read_dir(path.join("_delta_log"))?;
    let mut versions: Vec<u64> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".json")?.parse().ok())
        .collect();
    versions.sort_unstable();
    Ok(versions)
}

/// The actions of a version; none where it is not there.
pub(super) fn entry(path: &Path, version: u64) -> Vec<Value> {
    let text =
        fs::read_to_string(path.join(format!("_delta_log/{version:020}.json"))).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
