//! Files that come one by one: moved into the target, then the manifest, then what they replace is deleted.
//!
//! Until the manifest is there, the new files do not count; from then on, the replaced ones do not. Whoever writes next deletes what
//! a run that died in between has left.

use std::fs;
use std::path::PathBuf;

use super::Waiting;
use super::judge::Goes;
use crate::storage::StorageError;
use crate::storage::listing::SourceFile;
use crate::storage::manifest;
use crate::storage::sync;

impl Waiting {
    /// Puts the staged files in place and makes them count, instead of those that go.
    pub(super) fn put(&self, goes: &Goes) -> Result<(), StorageError> {
        let folder = &self.place.folder;
        self.remove_leftovers()?;
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
            Goes::Nothing | Goes::Folder(_) => Ok(()),
            Goes::Files(files) => self.remove_files(files),
        }
    }

    /// Deletes what runs have left that died: files of an earlier try of this one, which count only with its manifest, and what
    /// others have replaced.
    pub(super) fn remove_leftovers(&self) -> Result<(), StorageError> {
        let names = &self.staged.names;
        let is_of_run = |file: &&SourceFile| {
            let name = file.path.file_name();
            name.is_some_and(|name| names.is_of_run(&name.to_string_lossy()))
        };
        let Some(found) = self.survey()? else { return Ok(()) };
        self.remove_files(found.data.iter().filter(is_of_run))?;
        self.remove_replaced_of(&found.data)
    }

    /// Deletes what runs have replaced that died before they came to it.
    pub(super) fn remove_replaced(&self) -> Result<(), StorageError> {
        self.survey()?.map_or(Ok(()), |found| self.remove_replaced_of(&found.data))
    }

    fn remove_replaced_of(&self, files: &[SourceFile]) -> Result<(), StorageError> {
        let folder = &self.place.folder;
        self.remove_files(manifest::replaced(folder, &manifest::current(folder)?, files))
    }

    /// Deletes files, and the folders that are empty then.
    fn remove_files<'a>(
        &self,
        files: impl IntoIterator<Item = &'a SourceFile>,
    ) -> Result<(), StorageError> {
        files.into_iter().try_for_each(|file| {
            sync::remove_file(&file.path)?;
            let folders = file.path.ancestors().skip(1);
            let folders = folders.take_while(|folder| *folder != self.place.folder);
            folders.take_while(|folder| fs::remove_dir(folder).is_ok()).for_each(drop);
            Ok(())
        })
    }
}
