//! The whole folder put in the target's place in one step.

use std::fs;
use std::io;
use std::path::Path;

use rustix::fs::CWD;
use rustix::fs::RenameFlags;
use rustix::fs::renameat_with;
use rustix::io::Errno;

use super::Waiting;
use super::beside;
use super::judge::Goes;
use crate::storage::StorageError;
use crate::storage::manifest;
use crate::storage::sync;
use crate::storage::target;

impl Waiting {
    /// Makes the staging folder whole and puts it in the target's place.
    pub(super) fn swap(&self, folder: &Path, goes: &Goes) -> Result<(), StorageError> {
        let new = beside(folder, &self.place.target);
        // As it was judged: what somebody has made since is no longer what may go.
        let there = !matches!(goes, Goes::Folder { found: None, .. });
        let staged = self.staged.root.shown();
        if there {
            manifest::keep_past(folder, staged)?;
            let rights =
                fs::metadata(folder).map_err(StorageError::io(folder, "look at it"))?.permissions();
            fs::set_permissions(staged, rights)
                .map_err(StorageError::io(staged, "set its permissions"))?;
        }
        self.manifest(goes).write(staged)?;
        if *staged != new {
            const DOING: &str = "swap it whole (a mount point cannot be: name a folder in it)";
            sync::remove_tree(&new)?;
            fs::rename(staged, &new).map_err(StorageError::io(folder, DOING))?;
            sync::sync_folder(sync::parent(&new))?;
        }
        if there {
            exchange(&new, folder)?;
            // What other runs stage within the old folder goes on within the new one; if that fails, they see a conflict.
            let entries = fs::read_dir(&new).into_iter().flatten().flatten();
            for name in entries.map(|entry| entry.file_name()) {
                if name.to_string_lossy().starts_with(target::STAGING) {
                    let _ = fs::rename(new.join(&name), folder.join(&name));
                }
            }
        } else {
            move_new(&new, folder)
                .map_err(StorageError::io(folder, "move the staged folder here"))?;
        }
        sync::sync_folder(sync::parent(folder))
    }
}

/// Moves a folder where none may be, not even an empty one: whoever made that is about to commit to it, by its lock.
fn move_new(new: &Path, folder: &Path) -> io::Result<()> {
    match renameat_with(CWD, new, CWD, folder, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => fs::rename(new, folder),
        other => Ok(other?),
    }
}

/// Exchanges two folders in one step, so that a reader sees the one or the other. Where the file system cannot, in three.
fn exchange(new: &Path, folder: &Path) -> Result<(), StorageError> {
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
