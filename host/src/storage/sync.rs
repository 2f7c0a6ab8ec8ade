//! Making files last: what is reported as written survives a power cut. Files first, then the folders that name them.

use std::collections::BTreeSet;
use std::fs;
use std::fs::File;
use std::io::ErrorKind;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use super::StorageError;

/// Waits until a file's bytes are on the disk.
///
/// # Errors
/// Where the system cannot say so.
pub fn sync_file(file: &File, path: &Path) -> Result<(), StorageError> {
    file.sync_all().map_err(StorageError::io(path, "sync it"))
}

/// Waits until a folder's entries are on the disk.
///
/// # Errors
/// Where the system cannot say so.
pub fn sync_folder(path: &Path) -> Result<(), StorageError> {
    let folder = File::open(path).map_err(StorageError::io(path, "open it"))?;
    sync_file(&folder, path)
}

/// Syncs the folders of these files and those above them, up to and with `root`, each once: new branches of a tree last.
///
/// # Errors
/// Where the system cannot say so.
pub fn sync_branches<'a>(
    files: impl Iterator<Item = &'a Path>,
    root: &Path,
) -> Result<(), StorageError> {
    let mut folders = BTreeSet::from([root]);
    for file in files {
        folders.extend(file.ancestors().skip(1).take_while(|folder| folder.starts_with(root)));
    }
    // Deepest first: a folder lasts before the entry that names it.
    folders.into_iter().rev().try_for_each(|folder| sync_folder(or_here(folder)))
}

/// The folder that a path is in.
#[must_use]
pub fn parent(path: &Path) -> &Path {
    path.parent().map_or(path, or_here)
}

/// What comes above a relative path is the working folder.
fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// Makes a folder and those above it that are missing; the topmost one made, if any.
///
/// # Errors
/// Where one cannot be made.
pub fn make_folder(path: &Path) -> Result<Option<PathBuf>, StorageError> {
    let missing =
        path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    let topmost = missing.last().map(Path::to_owned);
    fs::create_dir_all(path).map_err(StorageError::io(path, "create it"))?;
    if let Some(topmost) = &topmost {
        sync_branches([path.join("_").as_path()].into_iter(), topmost)?;
        sync_folder(parent(topmost))?;
    }
    Ok(topmost)
}

/// Removes `path` and the folders above it up to `topmost`, those that are empty.
pub fn remove_empty(path: &Path, topmost: &Path) {
    let folders = path.ancestors().take_while(|folder| folder.starts_with(topmost));
    folders.take_while(|folder| fs::remove_dir(folder).is_ok()).for_each(drop);
}

/// Puts a file in place, whole or not at all.
///
/// # Errors
/// Where it cannot be written; a file of that name is as it was then.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
    let failed = || StorageError::io(path, "write it");
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = path.with_file_name(format!(".{name}.tmp"));
    let mut file = File::create(&unfinished).map_err(failed())?;
    file.write_all(bytes).map_err(failed())?;
    sync_file(&file, &unfinished)?;
    fs::rename(&unfinished, path).map_err(failed())?;
    sync_folder(parent(path))
}

/// Removes a folder and all in it; nothing is an error where nothing is there.
///
/// # Errors
/// Where something cannot be removed.
pub fn remove_tree(path: &Path) -> Result<(), StorageError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(StorageError::io(path, "remove it")(error))
        }
        _ => Ok(()),
    }
}

/// Removes a file; nothing is an error where none is there.
///
/// # Errors
/// Where it cannot be removed.
pub fn remove_file(path: &Path) -> Result<(), StorageError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(StorageError::io(path, "remove it")(error))
        }
        _ => Ok(()),
    }
}
