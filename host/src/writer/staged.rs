//! Staged files: complete, on the disk, and not visible to any reader.

use std::fs;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use arrow::datatypes::SchemaRef;

use crate::name::ColumnName;
use crate::storage::StorageError;
use crate::storage::delta;
use crate::storage::delta::DataFile;
use crate::storage::encode::Footer;
use crate::storage::naming::FileNames;
use crate::storage::partition::Values;
use crate::storage::sync;

/// The files of one run, not visible yet.
#[derive(Debug)]
pub(super) struct Staged {
    /// The folder below which they are.
    pub(super) root: PathBuf,
    pub(super) names: FileNames,
    /// All columns as they are written, those of the partitions among them.
    pub(super) landing: SchemaRef,
    /// The files that are complete.
    pub(super) files: Vec<StagedFile>,
    /// Files that never became complete.
    pub(super) unfinished: Vec<PathBuf>,
    /// Rows of all files.
    pub(super) rows: u64,
}

/// A file that is complete, on the disk, and not visible.
#[derive(Debug)]
pub(super) struct StagedFile {
    /// From the staging root.
    pub(super) path: PathBuf,
    pub(super) values: Values,
    pub(super) rows: u64,
    pub(super) bytes: u64,
    pub(super) footer: Option<Footer>,
}

impl Staged {
    /// The files as a Delta log names them.
    pub(super) fn data_files(&self, columns: &[ColumnName]) -> Result<Vec<DataFile>, StorageError> {
        let files = self.files.iter().map(|file| {
            let path = self.root.join(&file.path);
            let modified = fs::metadata(&path).and_then(|facts| facts.modified());
            let modified = modified.map_err(StorageError::io(&path, "look at it"))?;
            let written_at =
                modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
            Ok(DataFile {
                path: file.path.to_string_lossy().into_owned(),
                bytes: file.bytes,
                written_at: i64::try_from(written_at).unwrap_or(i64::MAX),
                partition: columns.iter().cloned().zip(file.values.iter().cloned()).collect(),
                stats: file.footer.as_ref().map(delta::stats).unwrap_or_default(),
            })
        });
        files.collect()
    }

    /// Removes the files, each by its name, and the folders that are empty then.
    pub(super) fn remove_files(&self) -> Result<(), StorageError> {
        let complete = self.files.iter().map(|file| self.root.join(&file.path));
        let paths: Vec<_> = complete.chain(self.unfinished.iter().cloned()).collect();
        // One that cannot be removed keeps no other one from it.
        let removed: Vec<_> = paths.iter().map(|path| sync::remove_file(path)).collect();
        for path in &paths {
            let folders = path.ancestors().skip(1).take_while(|folder| *folder != self.root);
            // A folder that others use is not empty and stays.
            folders.take_while(|folder| fs::remove_dir(folder).is_ok()).for_each(drop);
        }
        removed.into_iter().collect()
    }

    /// Removes the files of all of them; the first error is told when all were tried.
    pub(super) fn remove_all<'a>(
        all: impl IntoIterator<Item = &'a Self>,
    ) -> Result<(), StorageError> {
        let removed: Vec<_> = all.into_iter().map(Self::remove_files).collect();
        removed.into_iter().collect()
    }
}
