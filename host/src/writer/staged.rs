//! Staged files: complete, on the disk, and not visible to any reader.

use std::fs;

use arrow::datatypes::SchemaRef;

use crate::name::ColumnName;
use crate::storage::StorageError;
use crate::storage::address::Address;
use crate::storage::delta;
use crate::storage::delta::DataFile;
use crate::storage::encode::Footer;
use crate::storage::naming::FileNames;
use crate::storage::partition::Values;

/// The files of one run, not visible yet.
#[derive(Debug)]
pub(super) struct Staged {
    /// The folder below which they are.
    pub(super) root: Address,
    pub(super) names: FileNames,
    /// All columns as they are written, those of the partitions among them.
    pub(super) landing: SchemaRef,
    /// The files that are complete.
    pub(super) files: Vec<StagedFile>,
    /// Files that never became complete, from the staging root.
    pub(super) unfinished: Vec<String>,
    /// Rows of all files.
    pub(super) rows: u64,
}

/// A file that is complete, on the disk, and not visible.
#[derive(Debug)]
pub(super) struct StagedFile {
    /// From the staging root, with `/`.
    pub(super) path: String,
    /// When it was complete, in milliseconds.
    pub(super) written_at: i64,
    pub(super) values: Values,
    pub(super) rows: u64,
    pub(super) bytes: u64,
    pub(super) footer: Option<Footer>,
}

impl Staged {
    /// The files as a Delta log names them.
    pub(super) fn data_files(&self, columns: &[ColumnName]) -> Vec<DataFile> {
        let files = self.files.iter().map(|file| DataFile {
            path: file.path.clone(),
            bytes: file.bytes,
            written_at: file.written_at,
            partition: columns.iter().cloned().zip(file.values.iter().cloned()).collect(),
            stats: file.footer.as_ref().map(delta::stats).unwrap_or_default(),
        });
        files.collect()
    }

    /// Removes the files, each by its name, and the folders that are empty then.
    pub(super) fn remove_files(&self) -> Result<(), StorageError> {
        let complete = self.files.iter().map(|file| &file.path);
        let paths: Vec<_> =
            complete.chain(&self.unfinished).map(|path| self.root.join(path)).collect();
        // One that cannot be removed keeps no other one from it.
        let removed: Vec<_> = paths.iter().map(Address::remove_file).collect();
        if let Address::Disk(root) = &self.root {
            for path in &paths {
                let folders = path.shown().ancestors().skip(1).take_while(|folder| folder != root);
                // A folder that others use is not empty and stays.
                folders.take_while(|folder| fs::remove_dir(folder).is_ok()).for_each(drop);
            }
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
