//! Which target a place is in: the nearest folder, at it or above it, that has manifests.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::path::PathBuf;

use super::FOLDER;
use super::Manifests;
use super::counted;
use super::look::beside;
use crate::flow::Location;
use crate::storage::StorageError;
use crate::storage::address::Address;
use crate::storage::listing::SourceFile;
use crate::storage::naming;
use crate::storage::store::StoreAddress;

/// A place in a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Within {
    /// The target's folder; on a disk without links.
    target: Address,
    /// The place as it was asked for.
    asked: PathBuf,
    /// The same place, spelt as the target is.
    real: PathBuf,
}

impl Within {
    /// The target that a file or a folder is in; `None` where no folder has manifests, or nothing is there. `base` is the topmost
    /// folder that may be looked at; where a store does not let look, there is none to follow.
    ///
    /// # Errors
    /// Where it cannot be found out.
    pub fn nearest(place: &Address, base: Option<&Location>) -> Result<Option<Self>, StorageError> {
        match place {
            Address::Disk(path) => on_disk(path, base),
            Address::Store(place) => in_store(place, base),
        }
    }

    /// The same for an object of a store that is there: nothing lies below it, so that only what is above it is looked at.
    ///
    /// # Errors
    /// Where it cannot be found out.
    pub fn above(
        object: &StoreAddress,
        base: Option<&Location>,
    ) -> Result<Option<Self>, StorageError> {
        let place = object.shown().to_owned();
        let within = in_store(&object.above(), base)?;
        Ok(within.map(|within| Self { asked: place.clone(), real: place, ..within }))
    }

    /// The target's folder.
    #[must_use]
    pub fn target(&self) -> &Path {
        self.target.shown()
    }

    /// Those of the files that count, and how many do not; all of them as they are at one moment with the manifests.
    ///
    /// # Errors
    /// Those of `list`, and of [`beside`].
    pub fn counted(
        &self,
        mut list: impl FnMut() -> Result<Vec<SourceFile>, StorageError>,
    ) -> Result<(Vec<SourceFile>, usize), StorageError> {
        let Self { target, asked, real } = self;
        let (Manifests { current, .. }, found) = match beside(target, &mut list) {
            // Anybody's folder may be above plain files, and none of theirs is what it tells of.
            Err(error) if target.shown() != real && is_of_manifests(&error) => {
                let found = list()?;
                return if found.iter().any(is_ours) { Err(error) } else { Ok((found, 0)) };
            }
            Err(error) => return Err(error),
            Ok(seen) => seen,
        };
        let all = found.len();
        let files = counted(target.shown(), &current, renamed(found, asked, real));
        let left_out = all - files.len();
        Ok((renamed(files, real, asked), left_out))
    }
}

impl From<Address> for Within {
    /// A folder that is taken for a target of its own, whether or not it has manifests.
    fn from(folder: Address) -> Self {
        let place = folder.shown().to_owned();
        Self { target: folder, asked: place.clone(), real: place }
    }
}

fn on_disk(path: &Path, base: Option<&Location>) -> Result<Option<Within>, StorageError> {
    let real = |path: &Path| match fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        other => other.map(Some).map_err(StorageError::io(path, "find it")),
    };
    let Some(place) = real(path)? else { return Ok(None) };
    let top = match base {
        Some(Location::Disk(base)) => real(base)?,
        Some(Location::Store(_) | Location::Server(_)) | None => None,
    };
    // What a link leads out to is refused elsewhere, and nothing of it is looked at.
    if top.as_ref().is_some_and(|top| !place.starts_with(top)) {
        return Ok(None);
    }
    let above = place.ancestors().skip(usize::from(place.is_file()));
    for folder in above.take_while(|above| top.as_ref().is_none_or(|top| above.starts_with(top))) {
        let manifests = folder.join(FOLDER);
        match fs::metadata(&manifests) {
            Ok(facts) if facts.is_dir() => {
                let target = Address::Disk(folder.to_owned());
                return Ok(Some(Within { target, asked: path.to_owned(), real: place }));
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(StorageError::io(&manifests, "look at it")(error)),
        }
    }
    Ok(None)
}

fn in_store(place: &StoreAddress, base: Option<&Location>) -> Result<Option<Within>, StorageError> {
    let top = match base {
        Some(Location::Store(base)) => base.key.as_str(),
        Some(Location::Disk(_) | Location::Server(_)) | None => "",
    };
    for key in Path::new(place.key()).ancestors().take_while(|key| key.starts_with(top)) {
        let folder = place.moved(&key.to_string_lossy());
        if folder.join(FOLDER).is_folder()? {
            let place = place.shown().to_owned();
            let target = Address::Store(folder);
            return Ok(Some(Within { target, asked: place.clone(), real: place }));
        }
    }
    Ok(None)
}

/// Whether manifests are there that say nothing to us, or must not be looked at; nothing has failed.
fn is_of_manifests(error: &StorageError) -> bool {
    match error {
        StorageError::Data { .. } => true,
        StorageError::Io { source, .. } => source.kind() == ErrorKind::PermissionDenied,
        StorageError::Missing { .. }
        | StorageError::Refused { .. }
        | StorageError::Library { .. } => false,
    }
}

/// Whether a run of ours has made the file.
fn is_ours(file: &SourceFile) -> bool {
    file.path.file_name().is_some_and(|name| naming::is_ours(&name.to_string_lossy()))
}

/// Files with other names for the folder that they are in, or for themselves.
fn renamed(mut files: Vec<SourceFile>, from: &Path, to: &Path) -> Vec<SourceFile> {
    if from != to {
        for file in &mut files {
            if file.path == from {
                file.path = to.to_owned();
            } else if let Ok(inside) = file.path.strip_prefix(from) {
                file.path = to.join(inside);
            }
        }
    }
    files
}
