//! A commit that changes no row: files in the place of others, in another layout.

use deltalake::DeltaTableError;
use deltalake::kernel::Action;
use deltalake::kernel::Remove;
use deltalake::kernel::transaction::CommitBuilder;
use deltalake::kernel::transaction::CommitProperties;
use deltalake::protocol::DeltaOperation;
use serde_json::Value;
use serde_json::json;

use super::CommitError;
use super::DataFile;
use super::Snapshot;
use super::StoredFile;
use super::commit::add;
use super::commit::carries;
use super::commit::is_conflict;
use super::commit::lasting;
use super::open;
use crate::name::ColumnName;
use crate::storage::StorageError;
use crate::storage::store::is_unanswered;

/// Files that hold the same rows as others did.
#[derive(Debug, Clone)]
pub struct Rewrite<'a> {
    /// The files that go.
    pub remove: &'a [StoredFile],
    /// The files that hold their rows now.
    pub add: &'a [DataFile],
    /// Bytes that a file should have.
    pub file_bytes: u64,
    /// Columns by which the rows are ordered now; none where they are as they were.
    pub zorder: &'a [ColumnName],
    /// What else the entry says of the run.
    pub info: &'a [(&'static str, Value)],
}

/// Commits it on top of the state that was read and no other; the version.
///
/// # Errors
/// [`CommitError`], whose kinds say what is known of the outcome. Anybody's commit since is a conflict.
pub async fn rewrite(table: &Snapshot, change: &Rewrite<'_>) -> Result<u64, CommitError> {
    let version = match commit(table, change).await {
        Ok(version) => version,
        Err(error) => landed_since(table, change.add, error).await?,
    };
    lasting(&table.address, version)?;
    Ok(version)
}

async fn commit(table: &Snapshot, change: &Rewrite<'_>) -> Result<u64, DeltaTableError> {
    let gone = change
        .remove
        .iter()
        .map(|file| Action::Remove(Remove { data_change: false, ..file.remove.clone() }));
    let new = change.add.iter().map(|file| Action::Add(add(file, false)));
    // No retry: deltalake's would let two rewrites of one file pass beside each other, and its rows be there twice.
    let properties = CommitProperties::default().with_metadata(info(table, change));
    let committed = CommitBuilder::from(properties.with_max_retries(0))
        .with_actions(gone.chain(new).collect())
        .build(
            Some(table.table.snapshot()?),
            table.table.log_store(),
            DeltaOperation::Optimize {
                predicate: None,
                target_size: i64::try_from(change.file_bytes).unwrap_or(i64::MAX),
            },
        )
        .await?;
    Ok(committed.version())
}

/// What the entry says of itself, in the words of other engines.
fn info(table: &Snapshot, change: &Rewrite<'_>) -> Vec<(String, Value)> {
    let zorder: Vec<_> = change.zorder.iter().map(ColumnName::as_str).collect();
    let removed: u64 = change.remove.iter().map(|file| file.bytes).sum();
    let added: u64 = change.add.iter().map(|file| file.bytes).sum();
    let of_format = [
        ("readVersion", json!(table.version())),
        (
            "operationParameters",
            json!({ "predicate": "[]", "zOrderBy": json!(zorder).to_string(), "auto": "true" }),
        ),
        (
            "operationMetrics",
            json!({
                "numRemovedFiles": change.remove.len().to_string(),
                "numRemovedBytes": removed.to_string(),
                "numAddedFiles": change.add.len().to_string(),
                "numAddedBytes": added.to_string(),
            }),
        ),
    ];
    let all = of_format.iter().chain(change.info);
    all.map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
}

/// After an error: the version that names our files, if one does all the same.
async fn landed_since(
    before: &Snapshot,
    files: &[DataFile],
    error: DeltaTableError,
) -> Result<u64, CommitError> {
    let address = &before.address;
    let now = match open(address).await {
        Ok(Some(now)) => now,
        Ok(None) | Err(_) => return Err(CommitError::Unknown { source: error.into() }),
    };
    for version in before.version() + 1..=now.version() {
        if !files.is_empty() && carries(address, version, files)? {
            return Ok(version);
        }
    }
    Err(match error {
        error if is_unanswered(&error) => CommitError::Unknown { source: error.into() },
        error if is_conflict(&error) => CommitError::Conflict { source: error.into() },
        error => StorageError::library(address.shown(), "commit")(error).into(),
    })
}
