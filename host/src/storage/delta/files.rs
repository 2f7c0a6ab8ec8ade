//! The data files that a table has now.

use std::collections::HashSet;
use std::fs::File;
use std::path::PathBuf;

use chrono::DateTime;
use deltalake::kernel::LogicalFileView;
use deltalake::kernel::Remove;
use futures::StreamExt;
use serde_json::Map;
use serde_json::Value;

use super::Snapshot;
use super::log;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::address::Address;
use crate::storage::address::FileRead;
use crate::storage::listing::SourceFile;
use crate::storage::partition::Values;

/// A data file of a table, as the log tells of it.
#[derive(Debug, Clone)]
pub struct StoredFile {
    /// Where it is, as messages show it.
    pub path: PathBuf,
    pub(super) address: Address,
    /// The value of each of the table's partition columns, as text.
    pub values: Values,
    /// Its bytes.
    pub bytes: u64,
    /// Its rows without hidden ones, where the log tells.
    pub rows: Option<u64>,
    /// Whether a deletion vector hides some of its rows.
    pub hides_rows: bool,
    /// When it was written, in milliseconds, as the log tells.
    written_at: i64,
    pub(super) remove: Remove,
}

impl StoredFile {
    /// The file as a source lists it.
    ///
    /// # Errors
    /// Where it is on a disk and not there.
    pub fn listed(&self) -> Result<SourceFile, StorageError> {
        match &self.address {
            Address::Disk(path) => SourceFile::look(path.clone()),
            Address::Store(place) => {
                let written = DateTime::from_timestamp_millis(self.written_at).unwrap_or_default();
                Ok(SourceFile::in_store(place.clone(), self.bytes, written, None))
            }
        }
    }

    /// Opens it.
    ///
    /// # Errors
    /// Where it is not there.
    pub(super) fn open(&self) -> Result<FileRead, StorageError> {
        match &self.address {
            Address::Disk(path) => {
                let file = File::open(path).map_err(StorageError::io(path, "open it"))?;
                Ok(FileRead::Disk(file))
            }
            Address::Store(place) => Ok(FileRead::Store(place.open_read(self.bytes, None))),
        }
    }
}

impl Snapshot {
    /// The data files, the oldest first.
    ///
    /// # Errors
    /// Where the log cannot be read, and where a file lies outside of the table's folder.
    pub async fn files(&self) -> Result<Vec<StoredFile>, StorageError> {
        let files = self.files_and(|_| ()).await?;
        Ok(files.into_iter().map(|(file, ())| file).collect())
    }

    /// The same, each with what `more` sees in its entry.
    ///
    /// # Errors
    /// As [`Self::files`].
    pub(super) async fn files_and<T>(
        &self,
        more: impl Fn(&LogicalFileView) -> T,
    ) -> Result<Vec<(StoredFile, T)>, StorageError> {
        let failed =
            || StorageError::library(self.address.shown(), "read the table's list of files");
        let state = self.table.snapshot().map_err(failed())?;
        let columns = state.metadata().partition_columns().to_vec();
        let log = self.table.log_store();
        let mut views = state.snapshot().file_views(log.as_ref(), None);
        let mut files = Vec::new();
        while let Some(view) = views.next().await {
            let view = view.map_err(failed())?;
            let inner = view.path().into_owned();
            if inner.contains("://") || inner.starts_with('/') {
                let what = format!("the table's file `{inner}` lies outside of its folder");
                return Err(StorageError::data(self.address.shown(), DataPlace::default(), what)
                    .hint("it is a shallow clone; write to a copy of its own"));
            }
            let address = self.address.join(&inner);
            let vector = view.deletion_vector_descriptor();
            let hidden = vector.as_ref().map_or(0, |vector| vector.cardinality);
            let hidden = u64::try_from(hidden).unwrap_or_default();
            let mut map = view.partition_values_map();
            // The protocol knows no empty text here: it is NULL.
            let value = |name: &String| map.remove(name).flatten().filter(|text| !text.is_empty());
            let more = more(&view);
            let file = StoredFile {
                path: address.shown().to_owned(),
                address,
                values: columns.iter().map(value).collect(),
                bytes: u64::try_from(view.size()).unwrap_or_default(),
                rows: view.num_records().map(|rows| (rows as u64).saturating_sub(hidden)),
                hides_rows: vector.is_some(),
                written_at: view.modification_time(),
                remove: view.remove_action(true),
            };
            files.push((file, more));
        }
        files.reverse();
        Ok(files)
    }

    /// The partitions that the commit of a version added files to, as it spells them; none where the log tells nothing of it any more.
    ///
    /// # Errors
    /// Where the table's metadata cannot be read.
    pub fn partitions_of(&self, version: u64) -> Result<HashSet<Values>, StorageError> {
        let failed = StorageError::library(self.address.shown(), "read the table's metadata");
        let state = self.table.snapshot().map_err(failed)?;
        let columns = state.metadata().partition_columns();
        let actions = log::entry(&self.address, version)?;
        let added = actions.iter().filter_map(|action| action["add"].as_object());
        let value = |add: &Map<String, Value>, column: &String| {
            let value = add.get("partitionValues")?.get(column)?.as_str();
            value.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        Ok(added.map(|add| columns.iter().map(|column| value(add, column)).collect()).collect())
    }
}
