//! Putting staged files in place: moved into the target one by one, or the whole folder swapped in one step.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use rustix::fs::CWD;
use rustix::fs::RenameFlags;
use rustix::fs::renameat_with;
use rustix::io::Errno;

use super::Waiting;
use super::beside;
use crate::storage::StorageError;
use crate::storage::encode::Endings;
use crate::storage::manifest;
use crate::storage::sync;
use crate::storage::target;

impl Waiting {
    /// Moves the staged files into the target, then writes the manifest.
    pub(super) fn append(&self) -> Result<(), StorageError> {
        sync::make_folder(&self.place.folder)?;
        self.remove_leftovers()?;
        for file in &self.staged.files {
            let (from, to) =
                (self.staged.root.join(&file.path), self.place.folder.join(&file.path));
            let folder = sync::parent(&to);
            fs::create_dir_all(folder).map_err(StorageError::io(folder, "create it"))?;
            fs::rename(&from, &to).map_err(StorageError::io(&to, "move a staged file here"))?;
        }
        let moved: Vec<_> =
            self.staged.files.iter().map(|file| self.place.folder.join(&file.path)).collect();
        sync::sync_branches(moved.iter().map(PathBuf::as_path), &self.place.folder)?;
        self.manifest(false).write(&self.place.folder)
    }

    /// Files of this run count only with its manifest, so without one they are what an earlier try left.
    pub(super) fn remove_leftovers(&self) -> Result<(), StorageError> {
        let found = target::survey(&self.place.folder, Endings::of(&self.place.target.format))?;
        let names = &self.staged.names;
        let leftover = |path: &Path| {
            path.file_name().is_some_and(|name| names.is_of_run(&name.to_string_lossy()))
        };
        found
            .data
            .iter()
            .filter(|file| leftover(&file.path))
            .try_for_each(|file| sync::remove_file(&file.path))
    }

    /// Makes the staging folder whole and puts it in the target's place.
    pub(super) fn replace(&self) -> Result<(), StorageError> {
        let (folder, new) = (&self.place.folder, beside(&self.place.folder, &self.place.target));
        let there = folder.exists();
        let staged = &self.staged.root;
        if there {
            manifest::keep_past(folder, staged)?;
            let rights =
                fs::metadata(folder).map_err(StorageError::io(folder, "look at it"))?.permissions();
            fs::set_permissions(staged, rights)
                .map_err(StorageError::io(staged, "set its permissions"))?;
        }
        self.manifest(true).write(staged)?;
        if *staged != new {
            const DOING: &str = "swap it whole (a mount point cannot be: name a folder in it)";
            sync::remove_tree(&new)?;
            fs::rename(staged, &new).map_err(StorageError::io(folder, DOING))?;
            sync::sync_folder(sync::parent(&new))?;
        }
        if there {
            swap(&new, folder)?;
            // What other runs stage within the old folder goes on within the new one; if that fails, they see a conflict.
            let entries = fs::read_dir(&new).into_iter().flatten().flatten();
            for name in entries.map(|entry| entry.file_name()) {
                if name.to_string_lossy().starts_with(target::STAGING) {
                    let _ = fs::rename(new.join(&name), folder.join(&name));
                }
            }
        } else {
            fs::rename(&new, folder)
                .map_err(StorageError::io(folder, "move the staged folder here"))?;
        }
        sync::sync_folder(sync::parent(folder))
    }
}

/// Exchanges two folders in one step, so that a reader sees the one or the other. Where the file system cannot, in three.
fn swap(new: &Path, folder: &Path) -> Result<(), StorageError> {
    match renameat_with(CWD, new, CWD, folder, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            let failed = || StorageError::io(folder, "swap it with the staged folder");
            let aside = new.with_extension("old");
            sync::remove_tree(&aside)?;
            fs::rename(folder, &aside).map_err(failed())?;
            if let Err(error) = fs::rename(new, folder) {
                fs::rename(&aside, folder).map_err(failed())?;
                return Err(failed()(error));
            }
            fs::rename(&aside, new).map_err(failed())
        }
        Err(error) => Err(StorageError::io(folder, "swap it with the staged folder")(error.into())),
    }
}
