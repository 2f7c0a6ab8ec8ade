//! Files that come one by one: moved into the target, then the manifest, then what they replace is deleted.
//!
//! Until the manifest is there, the new files do not count; from then on, the replaced ones do not. Whoever writes next deletes what
//! a run that died in between has left.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use super::Waiting;
use super::judge::Goes;
use super::judge::Seen;
use crate::storage::StorageError;
use crate::storage::listing::SourceFile;
use crate::storage::sync;

impl Waiting {
    /// Puts the staged files in place and makes them count, instead of those that go.
    pub(super) fn put(&self, folder: &Path, goes: &Goes) -> Result<(), StorageError> {
        self.remove_leftovers(folder)?;
        for file in &self.staged.files {
            let (from, to) = (self.staged.root.shown().join(&file.path), folder.join(&file.path));
            let folder = sync::parent(&to);
            fs::create_dir_all(folder).map_err(StorageError::io(folder, "create it"))?;
            fs::rename(&from, &to).map_err(StorageError::io(&to, "move a staged file here"))?;
        }
        let moved: Vec<_> = self.staged.files.iter().map(|file| folder.join(&file.path)).collect();
        sync::sync_branches(moved.iter().map(PathBuf::as_path), folder)?;
        self.manifest(goes).write(folder)?;
        match goes {
            Goes::Nothing | Goes::Skipped | Goes::Folder { .. } => Ok(()),
            Goes::Files(files) | Goes::All { files, .. } => remove_files(folder, files),
        }
    }

    /// Deletes what runs have left that died: files of an earlier try of this one, which count only with its manifest, and what
    /// others have replaced.
    pub(super) fn remove_leftovers(&self, folder: &Path) -> Result<(), StorageError> {
        let seen = self.look()?;
        remove_files(folder, self.of_this_run(&seen))?;
        remove_files(folder, self.replaced(&seen))
    }

    /// Deletes what runs have replaced that died before they came to it.
    pub(super) fn remove_replaced(&self, folder: &Path) -> Result<(), StorageError> {
        remove_files(folder, self.replaced(&self.look()?))
    }

    /// The files that are there by the names of this run.
    pub(super) fn of_this_run<'a>(&self, seen: &'a Seen) -> Vec<&'a SourceFile> {
        let names = &self.staged.names;
        let is_of_run = |file: &&SourceFile| {
            let name = file.path.file_name();
            name.is_some_and(|name| names.is_of_run(&name.to_string_lossy()))
        };
        seen.found.iter().flat_map(|found| &found.data).filter(is_of_run).collect()
    }
}

/// Deletes files, and the folders that are empty then.
fn remove_files<'a>(
    folder: &Path,
    files: impl IntoIterator<Item = &'a SourceFile>,
) -> Result<(), StorageError> {
    files.into_iter().try_for_each(|file| {
        sync::remove_file(&file.path)?;
        let folders = file.path.ancestors().skip(1).take_while(|above| *above != folder);
        folders.take_while(|folder| fs::remove_dir(folder).is_ok()).for_each(drop);
        Ok(())
    })
}
