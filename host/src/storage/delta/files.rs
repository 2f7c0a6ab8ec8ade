//! The data files that a table has now.

use std::collections::HashSet;
use std::fs::File;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

use chrono::DateTime;
use deltalake::kernel::DeletionVectorDescriptor;
use deltalake::kernel::LogicalFileView;
use deltalake::kernel::Remove;
use futures::StreamExt;
use serde_json::Map;
use serde_json::Value;

use super::Snapshot;
use super::log;
use super::vector::Vector;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::address::Address;
use crate::storage::address::FileRead;
use crate::storage::listing::SourceFile;
use crate::storage::partition::Values;
use crate::storage::tabular;

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
    /// What hides some of its rows.
    pub(super) vector: Option<Vector>,
    /// When it was written, in milliseconds, as the log tells.
    written_at: i64,
    pub(super) remove: Remove,
}

impl StoredFile {
    /// Whether a deletion vector hides some of its rows.
    #[must_use]
    pub fn hides_rows(&self) -> bool {
        self.vector.is_some()
    }

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
        let (columns, _) = self.columns()?;
        let names = state.metadata().partition_columns().iter();
        let names: Vec<_> = names
            .map(|name| columns.in_log(self.address.shown(), name))
            .collect::<Result<_, _>>()?;
        let log = self.table.log_store();
        let mut views = state.snapshot().file_views(log.as_ref(), None);
        let mut files = Vec::new();
        while let Some(view) = views.next().await {
            let view = view.map_err(failed())?;
            let inner = view.path().into_owned();
            if is_elsewhere(&inner) {
                let what = format!("the table's file `{inner}` lies outside of its folder");
                return Err(StorageError::data(self.address.shown(), DataPlace::default(), what)
                    .hint("it is a shallow clone; use a copy of its own"));
            }
            let address = self.address.join(&inner);
            let path = address.shown().to_owned();
            let vector = told(&path, &view)?;
            let vector = vector.map(|told| Vector::of(&self.address, &path, &told)).transpose()?;
            let hidden = vector.as_ref().map_or(0, |vector| vector.rows);
            let mut map = view.partition_values_map();
            // The protocol knows no empty text here: it is NULL.
            let value = |name: &String| map.remove(name).flatten().filter(|text| !text.is_empty());
            let more = more(&view);
            let file = StoredFile {
                path,
                address,
                values: names.iter().map(value).collect(),
                bytes: u64::try_from(view.size()).unwrap_or_default(),
                rows: view.num_records().map(|rows| (rows as u64).saturating_sub(hidden)),
                vector,
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

/// What the log tells of a data file's deletion vector. The library stops at kinds that it does not know.
pub(super) fn told(
    path: &Path,
    file: &LogicalFileView,
) -> Result<Option<DeletionVectorDescriptor>, StorageError> {
    tabular::guarded(path, || Ok(file.deletion_vector_descriptor()))
}

/// Whether a path of the log, decoded, leaves the table's folder: it has a root, a scheme as in `s3://` and `file:/`, or goes up.
pub(super) fn is_elsewhere(inner: &str) -> bool {
    let is_scheme = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    let has_scheme = inner.split_once(":/").is_some_and(|(scheme, _)| is_scheme(scheme));
    let goes_up = Path::new(inner).components().any(|part| part == Component::ParentDir);
    has_scheme || inner.starts_with('/') || goes_up
}
