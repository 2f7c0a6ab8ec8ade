//! The log's own files, looked at without the library: whether the newest entry is whole, and which one carries a mark.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;

use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::address::Address;

/// The folder of the log.
pub(super) const LOG: &str = "_delta_log";

/// Whether there is a log at all. Its newest entry without bytes is what a power cut leaves: rows that were reported are not in it.
pub(super) fn is_there(table: &Address) -> Result<bool, StorageError> {
    let names = table.join(LOG).names()?;
    let is_entry = |name: &&String| {
        let stem = name.strip_suffix(".json").unwrap_or_default();
        stem.len() == 20 && stem.bytes().all(|b| b.is_ascii_digit())
    };
    let Some(newest) = names.iter().filter(is_entry).max() else {
        return Ok(names.iter().any(|name| name == "_last_checkpoint"));
    };
    let newest = table.join(LOG).join(newest);
    // It may have been cleaned away by now; the library finds out.
    if newest.size()? == Some(0) {
        let what = "the newest log entry is empty, as a power cut leaves it: rows that were reported may be missing";
        return Err(StorageError::data(newest.shown(), DataPlace::default(), what)
            .hint("compare the evidence of the last runs with the table, then remove the entry and run them again"));
    }
    Ok(true)
}

/// The version whose entry carries the mark; `None` where the entry was cleaned away.
///
/// An entry that cannot be read is an error: whoever takes it for another one's removes what it names.
pub(super) fn version_of(table: &Address, app_id: &str) -> Result<Option<u64>, StorageError> {
    let marked = |action: &Value| action["txn"]["appId"] == app_id;
    for version in versions(table)?.into_iter().rev() {
        if entry(table, version)?.iter().any(marked) {
            return Ok(Some(version));
        }
    }
    Ok(None)
}

/// The versions that have an entry, ascending.
pub(super) fn versions(table: &Address) -> Result<Vec<u64>, StorageError> {
    let names = table.join(LOG).names()?;
    let mut versions: Vec<u64> =
        names.iter().filter_map(|name| name.strip_suffix(".json")?.parse().ok()).collect();
    versions.sort_unstable();
    Ok(versions)
}

/// The actions of a version; none where it is not there.
pub(super) fn entry(table: &Address, version: u64) -> Result<Vec<Value>, StorageError> {
    let bytes = table.join(LOG).join(&name(version)).read()?.unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

/// The name of a version's entry.
pub(super) fn name(version: u64) -> String {
    format!("{version:020}.json")
}

/// The folder of the log of a table on a disk and what is in it; nothing where there is none.
///
/// # Errors
/// Where it cannot be listed.
pub fn log_files(table: &Path) -> Result<Vec<PathBuf>, StorageError> {
    let log = table.join(LOG);
    let mut found = Vec::new();
    for folder in [log.join("_sidecars"), log].into_iter().filter(|folder| folder.is_dir()) {
        let failed = || StorageError::io(&folder, "list it");
        for entry in fs::read_dir(&folder).map_err(failed())? {
            found.push(entry.map_err(failed())?.path());
        }
        found.push(folder);
    }
    Ok(found)
}
