//! The one commit of a run: data files added and removed, the schema as it becomes, with the run's mark in the same entry.
//!
//! The mark is an application transaction. Whoever asks first finds it; and after any error it tells whether we landed.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::fs;

use arrow::datatypes::SchemaRef;
use deltalake::DeltaTable;
use deltalake::DeltaTableError;
use deltalake::kernel::Action;
use deltalake::kernel::Add;
use deltalake::kernel::Metadata;
use deltalake::kernel::MetadataExt;
use deltalake::kernel::Transaction;
use deltalake::kernel::engine::arrow_conversion::TryIntoKernel;
use deltalake::kernel::schema::StructType;
use deltalake::kernel::transaction::CommitBuilder;
use deltalake::kernel::transaction::CommitProperties;
use deltalake::kernel::transaction::TransactionError;
use deltalake::operations::create::CreateBuilder;
use deltalake::protocol::DeltaOperation;
use deltalake::protocol::SaveMode;
use futures::TryStreamExt;
use serde_json::Value;

use super::Snapshot;
use super::StoredFile;
use super::builder;
use super::log;
use super::open;
use super::protocol;
use crate::name::ColumnName;
use crate::storage::Cause;
use crate::storage::StorageError;
use crate::storage::address::Address;
use crate::storage::store::is_unanswered;
use crate::storage::sync;

/// What the commit builds on.
#[derive(Debug)]
pub enum Base {
    /// No table yet: the commit creates it with these columns, all of them nullable.
    Nothing {
        /// The columns, those of the partitions among them.
        schema: SchemaRef,
        /// The partition columns, outermost first.
        partition_columns: Vec<ColumnName>,
    },
    /// A table as it was read.
    Table(Snapshot),
}

/// A data file below the table's folder.
#[derive(Debug, Clone)]
pub struct DataFile {
    /// Its path from the table's folder, with `/`.
    pub path: String,
    /// Its bytes.
    pub bytes: u64,
    /// When it was written, in milliseconds.
    pub written_at: i64,
    /// The value of each partition column.
    pub partition: Vec<(ColumnName, Option<String>)>,
    /// Its statistics, as the log spells them.
    pub stats: String,
}

/// What a commit changes.
#[derive(Debug, Clone)]
pub struct LogChange<'a> {
    /// Files that are added.
    pub add: &'a [DataFile],
    /// Files that go.
    pub remove: Removal<'a>,
    /// The table's columns, where they change.
    pub schema: Option<SchemaRef>,
    /// Properties that the table gets.
    pub properties: &'a BTreeMap<String, String>,
}

/// Files that go. Anything but nothing holds only while nobody else commits.
#[derive(Debug, Clone, Copy)]
pub enum Removal<'a> {
    /// None: an addition, which does not mind others' additions.
    Nothing,
    /// All that there are.
    All,
    /// These.
    Files(&'a [StoredFile]),
}

/// How a run's commit is known again.
#[derive(Debug, Clone)]
pub struct Mark {
    /// The application id of the transaction; its version is always 1.
    pub app_id: String,
    /// What else the entry says of the run.
    pub info: Vec<(&'static str, Value)>,
}

/// How a commit ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landed {
    /// By this call, as this version.
    Now(u64),
    /// Before, as this version where the log still tells.
    Before(Option<u64>),
}

/// Why a commit is not known to have landed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Somebody else's commit is in the way; ours is not in the log.
    #[error("the table has changed since it was read: {source}")]
    Conflict {
        /// What deltalake said.
        source: Cause,
    },
    /// The log cannot be read back, so that nobody knows. Nothing may be deleted now.
    #[error("the commit's outcome is not known: {source}")]
    Unknown {
        /// What came before.
        source: Cause,
    },
    /// The log was read back, and our commit is not in it.
    #[error(transparent)]
    Failed(#[from] StorageError),
}

/// The version of the commit that carries this mark, if one does.
///
/// # Errors
/// Where the log cannot be read.
pub async fn landed_before(table: &Snapshot, app_id: &str) -> Result<Option<Landed>, StorageError> {
    let failed = || StorageError::library(table.address.shown(), "ask the table for this run");
    let log = table.table.log_store();
    let state = table.table.snapshot().map_err(failed())?;
    match state.transaction_version(log.as_ref(), app_id).await.map_err(failed())? {
        Some(_) => Ok(Some(Landed::Before(log::version_of(&table.address, app_id)?))),
        None => Ok(None),
    }
}

/// Commits a change, whole or not at all.
///
/// # Errors
/// [`CommitError`], whose kinds say what is known of the outcome.
pub async fn commit(
    address: &Address,
    base: &Base,
    delta: &LogChange<'_>,
    mark: &Mark,
) -> Result<Landed, CommitError> {
    if let Base::Table(table) = base
        && let Some(before) = landed_before(table, &mark.app_id).await?
    {
        return Ok(before);
    }
    let tried = match base {
        Base::Nothing { schema, partition_columns } => {
            create(address, schema, partition_columns, delta, mark).await
        }
        Base::Table(table) => change(&table.table, delta, mark).await,
    };
    let version = match tried {
        Ok(version) => version,
        Err(error) => {
            let creating = matches!(base, Base::Nothing { .. });
            match settle(address, error, creating, mark).await? {
                Some(version) if carries(address, version, delta.add)? => version,
                // Another process committed this very run; the files at hand are not in the log.
                before => return Ok(Landed::Before(before)),
            }
        }
    };
    lasting(address, version)?;
    Ok(Landed::Now(version))
}

/// Waits until the log's entry is on the disk.
pub(super) fn lasting(address: &Address, version: u64) -> Result<(), CommitError> {
    // A store answers when it has written.
    let Address::Disk(path) = address else { return Ok(()) };
    let folder = path.join(log::LOG);
    let entry = folder.join(log::name(version));
    let lasts = fs::File::open(&entry)
        .map_err(StorageError::io(&entry, "open it"))
        .and_then(|file| sync::sync_file(&file, &entry))
        .and_then(|()| sync::sync_folder(&folder))
        .and_then(|()| sync::sync_folder(path));
    // It is visible; only whether it outlives a power cut is open.
    lasts.map_err(|error| CommitError::Unknown { source: error.into() })
}

/// After an error: the version of the commit, if this run's is in the log all the same, where the log still tells.
async fn settle(
    address: &Address,
    error: DeltaTableError,
    creating: bool,
    mark: &Mark,
) -> Result<Option<u64>, CommitError> {
    let path = address.shown();
    let table = match open(address).await {
        Ok(Some(table)) => table,
        Ok(None) if is_unanswered(&error) => {
            return Err(CommitError::Unknown { source: error.into() });
        }
        Ok(None) => return Err(StorageError::library(path, "commit")(error).into()),
        Err(_) => return Err(CommitError::Unknown { source: error.into() }),
    };
    match landed_before(&table, &mark.app_id).await {
        Ok(Some(Landed::Now(version))) => Ok(Some(version)),
        Ok(Some(Landed::Before(version))) => Ok(version),
        // It may come yet, and would name files that are removed by then.
        Ok(None) if is_unanswered(&error) => Err(CommitError::Unknown { source: error.into() }),
        // Whatever was said: a table that is there now and was not then is somebody else's.
        Ok(None) if creating || is_conflict(&error) => {
            Err(CommitError::Conflict { source: error.into() })
        }
        Ok(None) => Err(StorageError::library(path, "commit")(error).into()),
        Err(_) => Err(CommitError::Unknown { source: error.into() }),
    }
}

async fn create(
    address: &Address,
    schema: &SchemaRef,
    partition_columns: &[ColumnName],
    delta: &LogChange<'_>,
    mark: &Mark,
) -> Result<u64, DeltaTableError> {
    let columns: StructType = schema.as_ref().try_into_kernel()?;
    let table = builder(address).map_err(generic)?.build()?;
    // No retry: deltalake's would write this entry, schema and all, on top of a table that somebody else has just made.
    let created = CreateBuilder::new()
        .with_log_store(table.log_store())
        .with_columns(columns.fields().cloned())
        .with_partition_columns(partition_columns.iter().map(ColumnName::as_str))
        .with_configuration(delta.properties.iter().map(|(key, value)| (key, Some(value))))
        .with_raise_if_key_not_exists(false)
        .with_actions(delta.add.iter().map(|file| Action::Add(add(file, true))))
        .with_save_mode(SaveMode::ErrorIfExists)
        .with_commit_properties(properties(mark).with_max_retries(0))
        .await?;
    Ok(created.version().unwrap_or_default())
}

async fn change(
    table: &DeltaTable,
    delta: &LogChange<'_>,
    mark: &Mark,
) -> Result<u64, DeltaTableError> {
    let state = table.snapshot()?;
    let mut actions: Vec<Action> = Vec::new();
    let news = metadata(state.metadata(), delta)?;
    if let (Some(metadata), Some(columns)) = (&news, &delta.schema) {
        actions
            .extend(protocol::raised(state.protocol(), metadata, columns)?.map(Action::Protocol));
    }
    actions.extend(news.map(Action::Metadata));
    match delta.remove {
        Removal::Nothing => {}
        Removal::All => {
            let all = state.snapshot().file_views(table.log_store().as_ref(), None);
            let removed: Vec<Action> =
                all.map_ok(|file| file.remove_action(true).into()).try_collect().await?;
            actions.extend(removed);
        }
        Removal::Files(files) => {
            actions.extend(files.iter().map(|file| Action::Remove(file.remove.clone())))
        }
    }
    actions.extend(delta.add.iter().map(|file| Action::Add(add(file, true))));
    let names = state.metadata().partition_columns();
    let partition_by = (!names.is_empty()).then(|| names.to_vec());
    let adds_only = matches!(delta.remove, Removal::Nothing);
    let mode = if adds_only { SaveMode::Append } else { SaveMode::Overwrite };
    // What was computed from a table holds for that table; deltalake's own check lets an overwrite pass beside an append.
    let any_state = adds_only && delta.schema.is_none();
    let properties =
        if any_state { properties(mark) } else { properties(mark).with_max_retries(0) };
    let committed = CommitBuilder::from(properties)
        .with_actions(actions)
        .build(
            Some(state),
            table.log_store(),
            DeltaOperation::Write { mode, partition_by, predicate: None },
        )
        .await?;
    Ok(committed.version())
}

/// The table's metadata as they become, where they change.
fn metadata(now: &Metadata, delta: &LogChange<'_>) -> Result<Option<Metadata>, DeltaTableError> {
    let news =
        delta.properties.iter().filter(|(key, value)| now.configuration().get(*key) != Some(value));
    let news: Vec<_> = news.collect();
    if delta.schema.is_none() && news.is_empty() {
        return Ok(None);
    }
    let mut metadata = now.clone();
    if let Some(schema) = &delta.schema {
        let columns: StructType = schema.as_ref().try_into_kernel()?;
        metadata = metadata.with_schema(&columns)?;
    }
    for (key, value) in news {
        metadata = metadata.add_config_key(key.clone(), value.clone())?;
    }
    Ok(Some(metadata))
}

fn properties(mark: &Mark) -> CommitProperties {
    let info = mark.info.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
    CommitProperties::default()
        .with_metadata(info)
        .with_application_transaction(Transaction::new(&mark.app_id, 1))
}

/// `changes`: whether its rows are news.
pub(super) fn add(file: &DataFile, changes: bool) -> Add {
    let values: HashMap<_, _> = file
        .partition
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), value.clone()))
        .collect();
    Add {
        path: file.path.clone(),
        partition_values: values,
        size: i64::try_from(file.bytes).unwrap_or(i64::MAX),
        modification_time: file.written_at,
        data_change: changes,
        stats: Some(file.stats.clone()),
        ..Add::default()
    }
}

pub(super) fn is_conflict(error: &DeltaTableError) -> bool {
    match error {
        DeltaTableError::VersionAlreadyExists(_) => true,
        DeltaTableError::Transaction { source } => matches!(
            source,
            TransactionError::VersionAlreadyExists(_)
                | TransactionError::MaxCommitAttempts(_)
                | TransactionError::CommitConflict(_)
        ),
        _ => false,
    }
}

fn generic(error: StorageError) -> DeltaTableError {
    DeltaTableError::Generic(error.to_string())
}

/// Whether a version adds the first of these files; where there are none, nothing of ours can be missing from it.
///
/// # Errors
/// [`CommitError::Unknown`] where its entry cannot be read: it may name them.
pub(super) fn carries(
    address: &Address,
    version: u64,
    files: &[DataFile],
) -> Result<bool, CommitError> {
    let first = files.first().map(|file| Action::Add(add(file, true)));
    let Some(first) = first.and_then(|action| serde_json::to_value(action).ok()) else {
        return Ok(true);
    };
    let entry = log::entry(address, version)
        .map_err(|error| CommitError::Unknown { source: error.into() })?;
    Ok(entry.iter().any(|action| action["add"]["path"] == first["add"]["path"]))
}
