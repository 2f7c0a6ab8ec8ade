//! Staged files: complete, on the disk, and not visible to any reader.

use std::fs;
use std::path::PathBuf;

use arrow::datatypes::SchemaRef;

use crate::storage::StorageError;
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
    /// Removes the files, each by its name, and the folders that are empty then.
    pub(super) fn remove_files(&self) -> Result<(), StorageError> {
        let complete = self.files.iter().map(|file| self.root.join(&file.path));
        let paths: Vec<_> = complete.chain(self.unfinished.iter().cloned()).collect();
        paths.iter().try_for_each(|path| sync::remove_file(path))?;
        for path in &paths {
            let folders = path.ancestors().skip(1).take_while(|folder| *folder != self.root);
            // A folder that others use is not empty and stays.
            folders.take_while(|folder| fs::remove_dir(folder).is_ok()).for_each(drop);
        }
        Ok(())
    }
}
