//! Delta tables: data files lie in the table's folder from the start, and no reader looks at them before the log names them.

use std::fs;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use super::Prepared;
use super::Target;
use super::WriteError;
use super::Writer;
use super::guard_empty;
use super::stage::Staging;
use super::staged::Staged;
use crate::problem::Place;
use crate::storage::StorageError;
use crate::storage::delta;
use crate::storage::delta::Base;
use crate::storage::delta::CommitError;
use crate::storage::delta::DataFile;
use crate::storage::delta::Landed;
use crate::storage::delta::Mark;
use crate::storage::sync;
use crate::storage::target;
use crate::table::Commit;
use crate::table::Counts;
use crate::table::TableChange;

/// How often an addition that lost a race reads the table anew.
const TRIES_MAX: usize = 5;

struct DeltaWriter {
    target: Target,
    staging: Staging,
    /// The topmost folder that was made for the table, if it was not there.
    made: Option<PathBuf>,
}

/// A run's files, in the table's folder and not in its log.
struct Orphans {
    target: Target,
    staged: Staged,
    made: Option<PathBuf>,
}

struct DeltaPrepared {
    orphans: Orphans,
    base: Base,
    replace: bool,
    files: Vec<DataFile>,
    counts: Counts,
}

pub(super) fn open(target: Target, landing: SchemaRef) -> Result<Box<dyn Writer>, WriteError> {
    let made = sync::make_folder(&target.path)?;
    let landing = delta::canonical(&target.path, &landing)?;
    let staging = Staging::new(target.path.clone(), &target, landing);
    Ok(Box::new(DeltaWriter { target, staging, made }))
}

impl Writer for DeltaWriter {
    fn stage<'a>(&'a mut self, rows: &'a RecordBatch) -> BoxFuture<'a, Result<(), WriteError>> {
        async move { self.staging.stage(rows) }.boxed()
    }

    fn prepare(self: Box<Self>) -> BoxFuture<'static, Result<Box<dyn Prepared>, WriteError>> {
        let Self { target, staging, made } = *self;
        let (staged, sealed) = staging.finish();
        let orphans = Orphans { target, staged, made };
        async move {
            let prepared = match sealed {
                Ok(()) => orphans.prepared().await,
                Err(error) => Err(error),
            };
            match prepared {
                Ok((base, files, counts)) => {
                    let replace = matches!(orphans.target.change, TableChange::Replace { .. });
                    Ok(Box::new(DeltaPrepared { orphans, base, replace, files, counts })
                        as Box<dyn Prepared>)
                }
                Err(error) => {
                    // What went wrong first is what the user has to know.
                    let _ = orphans.remove();
                    Err(error)
                }
            }
        }
        .boxed()
    }

    fn abandon(self: Box<Self>) -> BoxFuture<'static, Result<(), WriteError>> {
        let Self { target, staging, made } = *self;
        let orphans = Orphans { target, staged: staging.stop(), made };
        async move { orphans.remove() }.boxed()
    }
}

impl Orphans {
    async fn prepared(&self) -> Result<(Base, Vec<DataFile>, Counts), WriteError> {
        let rows = self.staged.rows;
        guard_empty(&self.target, rows)?;
        let base = self.base().await?;
        let deleted = match (&base, &self.target.change) {
            (Base::Table(table), TableChange::Replace { .. }) => table.facts()?.rows,
            _ => Some(0),
        };
        let files = self.staged.files.iter().map(|file| {
            let path = self.target.path.join(&file.path);
            let modified = fs::metadata(&path).and_then(|facts| facts.modified());
            let modified = modified.map_err(StorageError::io(&path, "look at it"))?;
            let written_at =
                modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
            Ok(DataFile {
                path: file.path.to_string_lossy().into_owned(),
                bytes: file.bytes,
                written_at: i64::try_from(written_at).unwrap_or(i64::MAX),
                partition: self
                    .target
                    .partition_columns
                    .iter()
                    .cloned()
                    .zip(file.values.iter().cloned())
                    .collect(),
                stats: file.footer.as_ref().map(delta::stats).unwrap_or_default(),
            })
        });
        let files = files.collect::<Result<_, StorageError>>()?;
        let counts = Counts {
            rows_written: rows,
            rows_inserted: rows,
            rows_deleted: deleted,
            ..Counts::default()
        };
        Ok((base, files, counts))
    }

    /// The table as it is now; an error where it has changed so that the staged files do not suit it.
    async fn base(&self) -> Result<Base, WriteError> {
        let Target { path, format, schema, partition_columns, change, .. } = &self.target;
        let facts = target::inspect(path, format).await?;
        let at = Place::field(path.display().to_string(), "");
        let landing = target::fit(&facts, format, schema, partition_columns, change, &at)
            .map_err(WriteError::Refused)?;
        if delta::canonical(path, &landing)? != self.staged.landing {
            let what = "its columns have changed while rows were staged".to_owned();
            return Err(WriteError::Conflict { path: path.clone(), what });
        }
        Ok(match delta::open(path).await? {
            Some(table) => Base::Table(table),
            None => Base::Nothing {
                schema: SchemaRef::clone(&self.staged.landing),
                partition_columns: partition_columns.clone(),
            },
        })
    }

    fn remove(&self) -> Result<(), WriteError> {
        self.staged.remove_files()?;
        // The folder stays as soon as anything is in it, such as a table that somebody else has made by now.
        if let Some(made) = &self.made {
            sync::remove_empty(&self.target.path, made);
        }
        Ok(())
    }

    fn mark(&self) -> Mark {
        let run = &self.target.run;
        Mark {
            app_id: format!("wasmhost/{}/{}/{}", run.flow, run.destination, run.run_id),
            info: vec![
                ("wasmhost.run_id", json!(run.run_id)),
                ("wasmhost.flow", json!(run.flow)),
                ("wasmhost.destination", json!(run.destination)),
            ],
        }
    }
}

impl Prepared for DeltaPrepared {
    fn counts(&self) -> Counts {
        self.counts
    }

    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<Commit, WriteError>> {
        let Self { orphans, base, replace, files, counts } = *self;
        async move {
            match land(&orphans, base, &files, replace).await {
                Ok(Landed::Now(version)) => Ok(Commit::Applied(counts, Some(version))),
                Ok(Landed::Before(version)) => {
                    // The rows are there; leftovers beside them are no reason to say otherwise.
                    let _ = orphans.remove();
                    Ok(Commit::AlreadyApplied(version))
                }
                Err(unknown @ WriteError::Unknown { .. }) => Err(unknown),
                Err(error) => {
                    let _ = orphans.remove();
                    Err(error)
                }
            }
        }
        .boxed()
    }

    fn abandon(self: Box<Self>) -> BoxFuture<'static, Result<(), WriteError>> {
        async move { self.orphans.remove() }.boxed()
    }
}

/// Commits. An addition that lost a race takes the table as it is now; an overwrite holds for the state that was judged.
async fn land(
    orphans: &Orphans,
    mut base: Base,
    files: &[DataFile],
    replace: bool,
) -> Result<Landed, WriteError> {
    let (path, mark) = (&orphans.target.path, orphans.mark());
    let mut tries = 1;
    loop {
        match delta::commit(path, base, files, replace, &mark).await {
            Ok(landed) => return Ok(landed),
            Err(CommitError::Conflict { .. }) if !replace && tries < TRIES_MAX => {
                base = orphans.base().await?
            }
            Err(CommitError::Conflict { source }) => {
                return Err(WriteError::Conflict { path: path.clone(), what: source.to_string() });
            }
            Err(CommitError::Unknown { source }) => {
                return Err(WriteError::Unknown { path: path.clone(), source });
            }
            Err(CommitError::Failed(error)) => return Err(WriteError::Storage(error)),
        }
        tries += 1;
    }
}
