//! Flat files: staged in a hidden folder, then moved into place; the run's manifest comes last and makes them count.

mod place;

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::FutureExt;
use futures::future::BoxFuture;

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
use crate::storage::encode::Endings;
use crate::storage::manifest;
use crate::storage::manifest::Manifest;
use crate::storage::manifest::ManifestFile;
use crate::storage::sync;
use crate::storage::target;
use crate::storage::target::STAGING;
use crate::storage::target::Survey;
use crate::storage::target::TargetState;
use crate::table::Commit;
use crate::table::Counts;
use crate::table::TableChange;

struct FlatWriter {
    place: Place,
    fitting: Fitting,
    staging: Staging,
}

/// Where a run writes.
struct Place {
    target: Target,
    /// The target's folder without links, so that a swap moves the folder and not a link to it.
    folder: PathBuf,
    /// The topmost folder that was made above the staging folder, if one was missing.
    made: Option<PathBuf>,
}

/// A run's files in their hidden folder.
struct Waiting {
    place: Place,
    staged: Staged,
}

struct FlatPrepared {
    waiting: Waiting,
    counts: Counts,
    /// What the target held when it was judged; `None` where it was not there.
    judged: Option<Survey>,
}

pub(super) fn open(target: Target, landing: SchemaRef) -> Result<Box<dyn Writer>, WriteError> {
    let run_id = &target.run.run_id;
    // Within the target if that is there, since it may be a file system of its own; beside it if not, so that it stays absent.
    let (folder, root, made) = match fs::canonicalize(&target.path) {
        Ok(folder) => (folder.clone(), folder.join(format!("{STAGING}{run_id}")), None),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let made = sync::make_folder(sync::parent(&target.path))?;
            (target.path.clone(), beside(&target.path, &target), made)
        }
        Err(error) => return Err(StorageError::io(&target.path, "find it")(error).into()),
    };
    // An earlier try of this run may have died here.
    sync::remove_tree(&root)?;
    fs::create_dir(&root).map_err(StorageError::io(&root, "create it"))?;
    let fitting = Fitting::new(&target, SchemaRef::clone(&landing));
    let staging = Staging::new(root, &target, landing);
    Ok(Box::new(FlatWriter { place: Place { target, folder, made }, fitting, staging }))
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
                Ok((judged, counts)) => {
                    Ok(Box::new(FlatPrepared { waiting, counts, judged }) as Box<dyn Prepared>)
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
    async fn prepared(&self) -> Result<(Option<Survey>, Counts), WriteError> {
        let rows = self.staged.rows;
        guard_empty(&self.place.target, rows)?;
        let Target { path, format, .. } = &self.place.target;
        let facts = target::inspect(path, format).await?;
        let at = problem::Place::field(path.display().to_string(), "");
        let landing =
            target::fit(&facts, &self.place.target.ask(), &at).map_err(WriteError::Refused)?;
        if landing.rows != self.staged.landing {
            let what = "its columns have changed while rows were staged".to_owned();
            return Err(WriteError::Conflict { path: path.clone(), what });
        }
        let deleted = match facts.state {
            TargetState::Folder(folder) if self.replaces() => folder.rows,
            _ => Some(0),
        };
        let judged = self.survey()?;
        let counts = Counts {
            rows_written: rows,
            rows_inserted: rows,
            rows_deleted: deleted,
            ..Counts::default()
        };
        Ok((judged, counts))
    }

    /// Whether the old files go; `fit` let no other change pass than that and an addition.
    fn replaces(&self) -> bool {
        matches!(self.place.target.change, TableChange::Replace { .. })
    }

    fn survey(&self) -> Result<Option<Survey>, StorageError> {
        match self.place.folder.exists() {
            true => {
                target::survey(&self.place.folder, Endings::of(&self.place.target.format)).map(Some)
            }
            false => Ok(None),
        }
    }

    fn remove(&self) -> Result<(), StorageError> {
        sync::remove_tree(&self.staged.root)?;
        sync::remove_tree(&beside(&self.place.folder, &self.place.target))?;
        if let Some(made) = &self.place.made {
            sync::remove_empty(sync::parent(&self.place.folder), made);
        }
        Ok(())
    }

    fn manifest(&self, replaced: bool) -> Manifest {
        let run = &self.place.target.run;
        let files = self.staged.files.iter().map(|file| ManifestFile {
            path: file.path.to_string_lossy().into_owned(),
            rows: file.rows,
            bytes: file.bytes,
        });
        let files: Vec<_> = files.collect();
        Manifest {
            run_id: run.run_id.clone(),
            flow: run.flow.clone(),
            destination: run.destination.clone(),
            started_at: run.started_at,
            format: self.place.target.format.name().to_owned(),
            replaced,
            rows: files.iter().map(|file| file.rows).sum(),
            bytes: files.iter().map(|file| file.bytes).sum(),
            columns: manifest::columns(&self.staged.landing),
            partition_columns: self
                .place
                .target
                .partition_columns
                .iter()
                .map(|column| column.as_str().to_owned())
                .collect(),
            files,
        }
    }

    /// Whether this run has landed here before.
    fn landed_before(&self) -> Result<bool, WriteError> {
        let Some(found) = manifest::find(&self.place.folder, &self.place.target.run.run_id)? else {
            return Ok(false);
        };
        let run = &self.place.target.run;
        if (&found.flow, &found.destination) == (&run.flow, &run.destination) {
            return Ok(true);
        }
        let path = self.place.target.path.clone();
        let what = format!(
            "run `{}` has written here before, as destination `{}` of flow `{}`",
            run.run_id, found.destination, found.flow
        );
        Err(WriteError::Guard {
            path,
            what,
            hint: "one folder per destination; another run id for another flow".to_owned(),
        })
    }
}

impl Prepared for FlatPrepared {
    fn counts(&self) -> Counts {
        self.counts
    }

    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<Commit, WriteError>> {
        async move {
            let landed = self.land();
            if !matches!(landed, Err(WriteError::Unknown { .. })) {
                // After a swap this is the old folder. A hidden leftover is no data, and no reason to call the commit failed.
                let _ = self.waiting.remove();
            }
            landed
        }
        .boxed()
    }

    fn abandon(self: Box<Self>) -> BoxFuture<'static, Result<(), WriteError>> {
        async move { Ok(self.waiting.remove()?) }.boxed()
    }
}

impl FlatPrepared {
    fn land(&self) -> Result<Commit, WriteError> {
        let waiting = &self.waiting;
        if waiting.landed_before()? {
            return Ok(Commit::AlreadyApplied(None));
        }
        if !waiting.staged.root.exists() {
            let what = "its folder was replaced, and the staged files with it".to_owned();
            return Err(WriteError::Conflict { path: waiting.place.target.path.clone(), what });
        }
        let done = if waiting.replaces() {
            if waiting.survey()? != self.judged {
                let what = "its files have changed since they were judged".to_owned();
                return Err(WriteError::Conflict { path: waiting.place.target.path.clone(), what });
            }
            waiting.replace()
        } else {
            waiting.append()
        };
        match done {
            Ok(()) => Ok(Commit::Applied(self.counts, None)),
            // The manifest decides; with it in place only the last sync can have failed.
            Err(error) => {
                match manifest::find(&waiting.place.folder, &waiting.place.target.run.run_id) {
                    Ok(None) => {
                        if !waiting.replaces() && waiting.place.folder.exists() {
                            waiting.remove_leftovers()?;
                        }
                        Err(error.into())
                    }
                    Ok(Some(_)) | Err(_) => Err(WriteError::Unknown {
                        path: waiting.place.target.path.clone(),
                        source: error.into(),
                    }),
                }
            }
        }
    }
}
