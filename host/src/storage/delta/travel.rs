//! A table as a source: the files and columns of one of its versions.

use std::fs;
use std::future::Future;
use std::path::Path;

use arrow::datatypes::SchemaRef;
use chrono::DateTime;
use chrono::TimeDelta;
use chrono::Utc;
use serde_json::Value;
use tokio::runtime::Builder;
use tokio::runtime::Handle;

use super::FileStats;
use super::MISTAKES;
use super::MISTAKES_HINT;
use super::Scan;
use super::Snapshot;
use super::StoredFile;
use super::builder;
use super::demands;
use super::loaded;
use super::log;
use super::mistakes;
use super::open;
use crate::flow::AsOf;
use crate::name::ColumnName;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::address::Address;
use crate::storage::plain;

/// A version of a table.
#[derive(Debug)]
pub struct Stored {
    /// Its number.
    pub version: u64,
    /// All columns.
    pub columns: SchemaRef,
    /// Those whose values stand in the log, not in files.
    pub partition_columns: Vec<ColumnName>,
    /// Its files, the oldest first.
    pub files: Vec<StoredFile>,
    /// How their rows are read.
    pub scan: Scan,
    /// What its log tells of each of them; nothing where nobody asked.
    pub stats: Vec<FileStats>,
}

/// How much of a table's log is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Which files there are.
    Files,
    /// What is told of their values, too.
    Stats,
}

/// Looks at a version of the table at `path`; `None` where there is no table. Blocks.
///
/// # Errors
/// A log that cannot be read, a version that is not there, and whatever the table demands of its readers that we do not do.
pub fn read(
    address: &Address,
    as_of: AsOf,
    detail: Detail,
) -> Result<Option<Stored>, StorageError> {
    let path = address.shown();
    if mistakes(address) && log::is_there(address)? {
        return Err(StorageError::data(path, DataPlace::default(), MISTAKES).hint(MISTAKES_HINT));
    }
    blocking(path, async {
        let Some(newest) = open(address).await? else { return Ok(None) };
        let asked = match as_of {
            AsOf::Newest {} => None,
            AsOf::Version(version) => Some(version),
            AsOf::Timestamp(at) => Some(version_at(address, at)?),
        };
        let snapshot = match asked {
            Some(version) => at_version(address, &newest, version).await?,
            None => newest,
        };
        stored(path, &snapshot, detail).await.map(Some)
    })?
}

async fn stored(path: &Path, snapshot: &Snapshot, detail: Detail) -> Result<Stored, StorageError> {
    let facts = snapshot.facts()?;
    let (columns, refusals) = snapshot.columns()?;
    if !refusals.is_empty() {
        return Err(demands::refused(path, &refusals));
    }
    let files = snapshot.files_and(|view| match detail {
        Detail::Files => FileStats::default(),
        Detail::Stats => FileStats::read(view.stats().as_deref()),
    });
    let (files, stats): (Vec<_>, Vec<_>) = files.await?.into_iter().unzip();
    Ok(Stored {
        version: snapshot.version(),
        columns: plain::plain_schema(&facts.schema),
        partition_columns: facts.partition_columns,
        scan: Scan::new(columns, &files),
        files,
        stats,
    })
}

async fn at_version(
    address: &Address,
    newest: &Snapshot,
    version: u64,
) -> Result<Snapshot, StorageError> {
    let path = address.shown();
    if version > newest.version() {
        let what = format!("there is no version {version}; the newest is {}", newest.version());
        return Err(StorageError::data(path, DataPlace::default(), what));
    }
    let table = loaded(address, builder(address)?.with_version(version)).await?;
    let snapshot = Snapshot { address: address.clone(), table };
    if snapshot.version() != version {
        let what = format!("version {version} cannot be read any more; its log was cleaned away");
        return Err(StorageError::data(path, DataPlace::default(), what));
    }
    Ok(snapshot)
}

/// The newest version that is not younger. Commits carry their times; copied logs have the times of files no more.
fn version_at(address: &Address, at: DateTime<Utc>) -> Result<u64, StorageError> {
    let path = address.shown();
    let versions = log::versions(address)?;
    let (mut found, mut first, mut last) = (None, None, None);
    for version in versions {
        // Clocks differ, versions follow each other all the same.
        let own = time_of(address, version)?;
        let time =
            last.map_or(own, |last: DateTime<Utc>| own.max(last + TimeDelta::milliseconds(1)));
        (first, last) = (first.or(Some(time)), Some(time));
        if time > at {
            break;
        }
        found = Some(version);
    }
    found.ok_or_else(|| {
        let what = match first {
            Some(first) => format!("no version is of {at} or before; the log begins at {first}"),
            None => "its log has no entries, so no version has a time".to_owned(),
        };
        StorageError::data(path, DataPlace::default(), what)
    })
}

/// When a version was committed, as it says itself; else when its entry was written.
fn time_of(address: &Address, version: u64) -> Result<DateTime<Utc>, StorageError> {
    let said = |action: &Value| {
        let info = action.get("commitInfo")?;
        let time = info.get("inCommitTimestamp").or(info.get("timestamp"))?.as_i64()?;
        DateTime::from_timestamp_millis(time)
    };
    if let Some(time) = log::entry(address, version)?.iter().find_map(said) {
        return Ok(time);
    }
    let entry = address.join(log::LOG).join(&log::name(version));
    match &entry {
        Address::Disk(path) => {
            let facts = fs::metadata(path).and_then(|facts| facts.modified());
            facts.map(DateTime::from).map_err(StorageError::io(path, "look at it"))
        }
        Address::Store(place) => place
            .look()?
            .map(|facts| facts.modified)
            .ok_or_else(|| StorageError::data(place.shown(), DataPlace::default(), "it is gone")),
    }
}

/// Waits for the library, on the runtime that is there or on one of its own.
fn blocking<T>(path: &Path, work: impl Future<Output = T>) -> Result<T, StorageError> {
    match Handle::try_current() {
        Ok(handle) => Ok(handle.block_on(work)),
        Err(_) => {
            let runtime = Builder::new_current_thread().enable_all().build();
            Ok(runtime.map_err(StorageError::io(path, "start a thread to read it"))?.block_on(work))
        }
    }
}
