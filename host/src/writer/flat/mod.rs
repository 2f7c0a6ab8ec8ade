//! Flat files: staged in a hidden folder, then moved into place; the run's manifest comes last and makes them count. In a store they
//! are in their places from the start.

mod judge;
mod lock;
mod objects;
mod once;
mod part;
mod put;
mod swap;

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::FutureExt;
use futures::future::BoxFuture;

use self::judge::Goes;
use self::lock::Lock;
use self::lock::lock;
use self::once::unchanged;
use super::Prepared;
use super::Target;
use super::WriteError;
use super::Writer;
use super::fitting::Fitting;
use super::guard_empty;
use super::stage::Staging;
use super::staged::Staged;
use crate::problem;
use crate::storage::StorageError;
use crate::storage::address::Address;
use crate::storage::manifest;
use crate::storage::sync;
use crate::storage::target;
use crate::storage::target::STAGING;
use crate::storage::target::TargetState;
use crate::table::Commit;
use crate::table::Counts;

struct FlatWriter {
    place: Place,
    fitting: Fitting,
    staging: Staging,
}

/// Where a run writes.
struct Place {
    target: Target,
    /// The target's folder; on a disk without links, so that a swap moves the folder and not a link to it.
    folder: Address,
    /// The topmost folder that was made above the staging folder, if one was missing.
    made: Option<PathBuf>,
}

/// A run's files in their hidden folder; in a store, where they stay.
struct Waiting {
    place: Place,
    staged: Staged,
}

struct FlatPrepared {
    waiting: Waiting,
    counts: Counts,
    /// What goes, as it was judged.
    goes: Goes,
}

pub(super) fn open(
    target: Target,
    state: &TargetState,
    landing: SchemaRef,
) -> Result<Box<dyn Writer>, WriteError> {
    once::check_new(&target, state)?;
    let (folder, root, made) = match &target.address {
        Address::Disk(path) => {
            let (folder, root, made) = hidden(path, &target)?;
            (Address::Disk(folder), Address::Disk(root), made)
        }
        // A store moves nothing: files get their names at once, and count with the manifest.
        store @ Address::Store(_) => (store.clone(), store.clone(), None),
    };
    let fitting = Fitting::new(&target, SchemaRef::clone(&landing));
    let staging = Staging::new(root, &target, landing);
    Ok(Box::new(FlatWriter { place: Place { target, folder, made }, fitting, staging }))
}

/// The target's folder without links, the hidden one that is made for staging, and the topmost folder that was made for it.
fn hidden(
    path: &Path,
    target: &Target,
) -> Result<(PathBuf, PathBuf, Option<PathBuf>), StorageError> {
    let run_id = &target.run.run_id;
    // Within the target if that is there, since it may be a file system of its own; beside it if not, so that it stays absent.
    let (folder, root, made) = match fs::canonicalize(path) {
        Ok(folder) => (folder.clone(), folder.join(format!("{STAGING}{run_id}")), None),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let made = sync::make_folder(sync::parent(path))?;
            (path.to_owned(), beside(path, target), made)
        }
        Err(error) => return Err(StorageError::io(path, "find it")(error)),
    };
    // An earlier try of this run may have died here.
    sync::remove_tree(&root)?;
    fs::create_dir(&root).map_err(StorageError::io(&root, "create it"))?;
    Ok((folder, root, made))
}

/// The hidden folder next to the target: where a new folder waits, and where the old one goes.
fn beside(folder: &Path, target: &Target) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    sync::parent(folder).join(format!("{STAGING}{}-{name}", target.run.run_id))
}

impl Writer for FlatWriter {
    fn stage<'a>(&'a mut self, rows: &'a RecordBatch) -> BoxFuture<'a, Result<(), WriteError>> {
        async move { self.staging.stage(&self.fitting.fit(rows)?) }.boxed()
    }

    fn prepare(self: Box<Self>) -> BoxFuture<'static, Result<Box<dyn Prepared>, WriteError>> {
        let Self { place, staging, fitting: _ } = *self;
        let (staged, sealed) = staging.finish();
        let waiting = Waiting { place, staged };
        async move {
            let prepared = match sealed {
                Ok(()) => waiting.prepared().await,
                Err(error) => Err(error),
            };
            match prepared {
                Ok((goes, counts)) => {
                    Ok(Box::new(FlatPrepared { waiting, counts, goes }) as Box<dyn Prepared>)
                }
                Err(error) => {
                    // What went wrong first is what the user has to know.
                    let _ = waiting.remove();
                    Err(error)
                }
            }
        }
        .boxed()
    }

    fn abandon(self: Box<Self>) -> BoxFuture<'static, Result<(), WriteError>> {
        let Self { place, staging, fitting: _ } = *self;
        let waiting = Waiting { place, staged: staging.stop() };
        async move { Ok(waiting.remove()?) }.boxed()
    }
}

impl Waiting {
    async fn prepared(&self) -> Result<(Goes, Counts), WriteError> {
        let rows = self.staged.rows;
        guard_empty(&self.place.target, rows)?;
        self.fits().await?;
        if let Some(counts) = self.made_before()? {
            return Ok((Goes::Nothing, counts));
        }
        let seen = self.look()?;
        let goes = self.goes(&seen)?;
        let rows_deleted = match &goes {
            Goes::Skipped => return Ok((goes, unchanged(rows))),
            Goes::Nothing => Some(0),
            Goes::Folder { .. } => self.rows(&seen, &self.counted(&seen))?,
            Goes::Files(files) | Goes::All { files, .. } => self.rows(&seen, files)?,
        };
        let counts =
            Counts { rows_written: rows, rows_inserted: rows, rows_deleted, ..Counts::default() };
        Ok((goes, counts))
    }

    /// Whether the staged rows are still like what is there.
    async fn fits(&self) -> Result<(), WriteError> {
        let Target { address, format, .. } = &self.place.target;
        let facts = target::inspect(address, format).await?;
        let at = problem::Place::field(address.shown().display().to_string(), "");
        let landing =
            target::fit(&facts, &self.place.target.ask(), &at).map_err(WriteError::Refused)?;
        match landing.rows == self.staged.landing {
            true => Ok(()),
            false => Err(self.conflict("its columns have changed while rows were staged")),
        }
    }

    fn conflict(&self, what: &str) -> WriteError {
        WriteError::Conflict { path: self.place.target.path().to_owned(), what: what.to_owned() }
    }

    /// Removes what was staged.
    fn remove(&self) -> Result<(), StorageError> {
        let Address::Disk(folder) = &self.place.folder else { return self.staged.remove_files() };
        sync::remove_tree(self.staged.root.shown())?;
        sync::remove_tree(&beside(folder, &self.place.target))?;
        if let Some(made) = &self.place.made {
            sync::remove_empty(sync::parent(folder), made);
        }
        Ok(())
    }

    /// Whether this run has landed here before.
    fn landed_before(&self) -> Result<bool, WriteError> {
        once::landed_before(&self.place.target, &self.place.folder)
    }
}

impl Prepared for FlatPrepared {
    fn counts(&self) -> Counts {
        self.counts
    }

    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<Commit, WriteError>> {
        async move {
            match &self.waiting.place.folder {
                Address::Disk(folder) => {
                    let landed = self.land(folder);
                    if !matches!(landed, Err(WriteError::Unknown { .. })) {
                        // After a swap this is the old folder. A hidden leftover is no data, and no reason to call the commit failed.
                        let _ = self.waiting.remove();
                    }
                    landed
                }
                Address::Store(place) => {
                    let landed = self.land_in(place).await;
                    if !matches!(landed, Ok(Commit::Applied(..)) | Err(WriteError::Unknown { .. }))
                    {
                        // Likewise, what no manifest names is no data.
                        let _ = self.waiting.remove();
                    }
                    landed
                }
            }
        }
        .boxed()
    }

    fn abandon(self: Box<Self>) -> BoxFuture<'static, Result<(), WriteError>> {
        async move { Ok(self.waiting.remove()?) }.boxed()
    }
}

impl FlatPrepared {
    fn land(&self, folder: &Path) -> Result<Commit, WriteError> {
        let Self { waiting, counts, goes } = self;
        let target = &waiting.place.target;
        if !matches!(goes, Goes::Folder { .. }) {
            sync::make_folder(folder)?;
        }
        let lock = lock(folder);
        if let Lock::Taken = lock {
            return Err(waiting.conflict("another run has been committing all the time"));
        }
        if waiting.landed_before()? {
            // The run may have died right behind its manifest.
            waiting.remove_replaced(folder).map_err(|error| unknown(target, error))?;
            return Ok(Commit::AlreadyApplied(None));
        }
        if !waiting.staged.root.shown().exists() {
            return Err(waiting.conflict("its folder was replaced, and the staged files with it"));
        }
        match waiting.goes(&waiting.look()?)? {
            Goes::Skipped => return Ok(Commit::Skipped),
            now if now == *goes => {}
            _ => return Err(waiting.conflict("its files have changed since they were judged")),
        }
        let done = match goes {
            Goes::Folder { .. } => waiting.swap(folder, goes),
            Goes::Nothing | Goes::Skipped | Goes::Files(_) | Goes::All { .. } => {
                waiting.put(folder, goes)
            }
        };
        let Err(error) = done else { return Ok(Commit::Applied(*counts, None)) };
        // The manifest decides; with it in place only the last sync can have failed, or the removal of what it replaces.
        match manifest::find(&waiting.place.folder, &target.run.run_id) {
            Ok(None) => {
                if !matches!(goes, Goes::Folder { .. }) {
                    waiting.remove_leftovers(folder)?;
                }
                match goes {
                    Goes::Folder { found: None, .. } if folder.exists() => {
                        Err(waiting.conflict("somebody else has made it since it was judged"))
                    }
                    _ => Err(error.into()),
                }
            }
            Ok(Some(_)) | Err(_) => Err(unknown(target, error)),
        }
    }
}

fn unknown(target: &Target, error: StorageError) -> WriteError {
    WriteError::Unknown { path: target.path().to_owned(), source: error.into() }
}
