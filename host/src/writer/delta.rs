//! Delta tables: data files lie in the table's folder from the start, and no reader looks at them before the log names them.

use std::collections::HashSet;
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
use super::merge::Effect;
use super::merge::Intake;
use super::selected::Left;
use super::selected::Selected;
use super::stage::Staging;
use super::staged::Staged;
use crate::problem::Place;
use crate::storage::StorageError;
use crate::storage::delta;
use crate::storage::delta::Base;
use crate::storage::delta::CommitError;
use crate::storage::delta::DataFile;
use crate::storage::delta::Landed;
use crate::storage::delta::LogChange;
use crate::storage::delta::Mark;
use crate::storage::delta::Removal;
use crate::storage::delta::Snapshot;
use crate::storage::delta::StoredFile;
use crate::storage::partition;
use crate::storage::sync;
use crate::storage::target;
use crate::storage::target::Landing;
use crate::table::Commit;
use crate::table::Counts;
use crate::table::IfExists;
use crate::table::Scope;
use crate::table::TableChange;

/// How often a change that lost a race reads the table anew.
const TRIES_MAX: usize = 5;

struct DeltaWriter {
    run: Run,
    fitting: Fitting,
    incoming: Incoming,
}

/// Rows on their way.
enum Incoming {
    /// To files that the commit names, past the predicate that says what they replace, if one does.
    Files(Box<Staging>, Option<Box<Selected>>),
    /// To where they wait until the table was looked at.
    Held(Box<Intake>),
}

/// Where a run writes, and what it made there.
struct Run {
    target: Target,
    /// How the rows land, as it was judged when the writer was opened.
    landing: Landing,
    /// The topmost folder that was made for the table, if it was not there.
    made: Option<PathBuf>,
}

/// A run's files, in the table's folder and not in its log.
struct Orphans {
    run: Run,
    /// The rows that came, where they were staged as they come.
    staged: Option<Staged>,
    /// Files that were made for one state of the table.
    rewritten: Vec<Staged>,
    /// All these files as the log will name them.
    files: Vec<DataFile>,
    /// What looks at stored rows, for each state of the table anew.
    against: Option<Against>,
}

/// Staged rows against stored ones.
enum Against {
    Keys(Box<Intake>),
    Selected(Box<Selected>),
}

struct DeltaPrepared {
    orphans: Orphans,
    judged: Judged,
}

/// A change as one state of the table makes it.
struct Judged {
    base: Base,
    removed: Removed,
    counts: Counts,
}

/// Stored files that go.
enum Removed {
    /// The table stays as it is.
    Skipped,
    Nothing,
    All,
    Files(Vec<StoredFile>),
}

pub(super) fn open(target: Target, landing: Landing) -> Result<Box<dyn Writer>, WriteError> {
    let made = sync::make_folder(&target.path)?;
    let landing = canonical(&target, landing)?;
    let fitting = Fitting::new(&target, SchemaRef::clone(&landing.rows));
    let incoming = match &target.change {
        TableChange::Merge(merge) => {
            Incoming::Held(Box::new(Intake::new(&target, merge, &landing)?))
        }
        change => {
            let selected = match change {
                TableChange::Replace { scope: Scope::Predicate(sql), .. } => {
                    Some(Box::new(Selected::new(&target, sql, &landing)?))
                }
                _ => None,
            };
            let rows = SchemaRef::clone(&landing.rows);
            Incoming::Files(Box::new(Staging::new(target.path.clone(), &target, rows)), selected)
        }
    };
    Ok(Box::new(DeltaWriter { run: Run { target, landing, made }, fitting, incoming }))
}

/// The columns as the table gives them back.
fn canonical(target: &Target, landing: Landing) -> Result<Landing, WriteError> {
    Ok(Landing {
        rows: delta::canonical(&target.path, &landing.rows)?,
        table: delta::canonical(&target.path, &landing.table)?,
        evolves: landing.evolves,
    })
}

impl Writer for DeltaWriter {
    fn stage<'a>(&'a mut self, rows: &'a RecordBatch) -> BoxFuture<'a, Result<(), WriteError>> {
        async move {
            let rows = self.fitting.fit(rows)?;
            match &mut self.incoming {
                Incoming::Files(staging, selected) => {
                    selected.as_mut().map_or(Ok(()), |selected| selected.note(&rows))?;
                    staging.stage(&rows)
                }
                Incoming::Held(intake) => intake.push(rows),
            }
        }
        .boxed()
    }

    fn prepare(self: Box<Self>) -> BoxFuture<'static, Result<Box<dyn Prepared>, WriteError>> {
        let Self { run, incoming, fitting: _ } = *self;
        let (staged, incoming, sealed) = match incoming {
            Incoming::Files(staging, selected) => {
                let (staged, sealed) = staging.finish();
                let guarded = selected.as_ref().map_or(Ok(()), |selected| selected.guard());
                (Some(staged), selected.map(Against::Selected), sealed.and(guarded))
            }
            Incoming::Held(intake) => (None, Some(Against::Keys(intake)), Ok(())),
        };
        let mut orphans =
            Orphans { run, staged, rewritten: Vec::new(), files: Vec::new(), against: incoming };
        async move {
            let judged = match sealed {
                Ok(()) => orphans.judged().await,
                Err(error) => Err(error),
            };
            match judged {
                Ok(judged) => Ok(Box::new(DeltaPrepared { orphans, judged }) as Box<dyn Prepared>),
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
        let Self { run, incoming, fitting: _ } = *self;
        let staged = match incoming {
            Incoming::Files(staging, _) => Some(staging.stop()),
            Incoming::Held(_) => None,
        };
        let orphans =
            Orphans { run, staged, rewritten: Vec::new(), files: Vec::new(), against: None };
        async move { orphans.remove() }.boxed()
    }
}

impl Orphans {
    /// The staged files as the log will name them.
    fn name_files(&mut self) -> Result<(), WriteError> {
        let columns = &self.run.target.partition_columns;
        let staged = self.staged.iter().chain(&self.rewritten);
        let files = staged.map(|staged| staged.data_files(columns));
        self.files = files.collect::<Result<Vec<_>, _>>()?.concat();
        Ok(())
    }

    /// The change against the table as it is now; what an earlier try has rewritten goes.
    async fn judged(&mut self) -> Result<Judged, WriteError> {
        let rows = match (&self.against, &self.staged) {
            (Some(Against::Keys(intake)), _) => intake.rows(),
            (_, staged) => staged.as_ref().map_or(0, |staged| staged.rows),
        };
        guard_empty(&self.run.target, rows)?;
        let base = self.base().await?;
        for rewritten in self.rewritten.drain(..) {
            rewritten.remove_files()?;
        }
        let stored = match (&self.against, &base) {
            (Some(_), Base::Table(table)) => table.files().await?,
            _ => Vec::new(),
        };
        let (removed, counts) = self.judge(&base, &stored, rows).await?;
        self.name_files()?;
        Ok(Judged { base, removed, counts })
    }

    async fn judge(
        &mut self,
        base: &Base,
        stored: &[StoredFile],
        rows: u64,
    ) -> Result<(Removed, Counts), WriteError> {
        let counts = Counts {
            rows_written: rows,
            rows_inserted: rows,
            rows_deleted: Some(0),
            ..Counts::default()
        };
        let removed = |files| match base {
            Base::Table(_) => Removed::Files(files),
            Base::Nothing { .. } => Removed::Nothing,
        };
        let target = &self.run.target;
        match &mut self.against {
            Some(Against::Keys(intake)) => {
                let Effect { staged, replaced, counts } = intake.compute(target, stored)?;
                self.rewritten = staged;
                return Ok((removed(replaced), counts));
            }
            Some(Against::Selected(selected)) => {
                let Left { staged, replaced, deleted } = selected.replace(target, stored)?;
                self.rewritten = vec![staged];
                return Ok((removed(replaced), Counts { rows_deleted: Some(deleted), ..counts }));
            }
            None => {}
        }
        let Base::Table(table) = base else { return Ok((Removed::Nothing, counts)) };
        Ok(match &target.change {
            TableChange::Create { if_exists: IfExists::Skip } => {
                (Removed::Skipped, Counts { rows_inserted: 0, rows_unchanged: rows, ..counts })
            }
            TableChange::Replace { scope: Scope::All, .. } => {
                (Removed::All, Counts { rows_deleted: table.facts()?.rows, ..counts })
            }
            TableChange::Replace { scope: Scope::Partitions, .. } => {
                let files = self.in_staged_partitions(table).await?;
                let deleted = files.iter().map(|file| file.rows).sum();
                (Removed::Files(files), Counts { rows_deleted: deleted, ..counts })
            }
            // What looks at stored rows was done above; `fit` refuses to create what is there.
            TableChange::Append {}
            | TableChange::Create { if_exists: IfExists::Refuse }
            | TableChange::Replace { scope: Scope::Predicate(_), .. }
            | TableChange::Merge(_) => (Removed::Nothing, counts),
        })
    }

    /// The table's files of the partitions that staged rows are in.
    async fn in_staged_partitions(&self, table: &Snapshot) -> Result<Vec<StoredFile>, WriteError> {
        let Target { path, partition_columns, .. } = &self.run.target;
        let columns = partition_columns.iter().map(|column| {
            let field = self.run.landing.rows.field_with_name(column.as_str());
            field.map(|field| field.data_type().clone())
        });
        let types: Vec<_> = columns
            .collect::<Result<_, _>>()
            .map_err(StorageError::library(path, "find its partition columns"))?;
        let staged = self.staged.iter().flat_map(|staged| &staged.files);
        let staged: HashSet<_> = staged.map(|file| &file.values).collect();
        let mut found = Vec::new();
        for file in table.files().await? {
            // Another engine may spell the same value in another way.
            let values = partition::respelt(&file.values, &types)
                .map_err(StorageError::library(&file.path, "read its partition values"))?;
            if staged.contains(&values) {
                found.push(file);
            }
        }
        Ok(found)
    }

    /// The table as it is now; an error where it has changed so that the staged files do not suit it.
    async fn base(&self) -> Result<Base, WriteError> {
        let target = &self.run.target;
        let Target { path, format, partition_columns, .. } = target;
        let facts = target::inspect(path, format).await?;
        let at = Place::field(path.display().to_string(), "");
        let landing = target::fit(&facts, &target.ask(), &at).map_err(WriteError::Refused)?;
        if canonical(target, landing)? != self.run.landing {
            let what = "its columns have changed while rows were staged".to_owned();
            return Err(WriteError::Conflict { path: path.clone(), what });
        }
        Ok(match delta::open(path).await? {
            Some(table) => Base::Table(table),
            None => Base::Nothing {
                schema: SchemaRef::clone(&self.run.landing.table),
                partition_columns: partition_columns.clone(),
            },
        })
    }

    fn remove(&self) -> Result<(), WriteError> {
        self.staged.iter().chain(&self.rewritten).try_for_each(Staged::remove_files)?;
        // The folder stays as soon as anything is in it, such as a table that somebody else has made by now.
        if let Some(made) = &self.run.made {
            sync::remove_empty(&self.run.target.path, made);
        }
        Ok(())
    }

    fn mark(&self) -> Mark {
        let run = &self.run.target.run;
        Mark {
            app_id: format!("wasmhost/{}/{}/{}", run.flow, run.destination, run.run_id),
            info: run.info(),
        }
    }
}

impl Prepared for DeltaPrepared {
    fn counts(&self) -> Counts {
        self.judged.counts
    }

    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<Commit, WriteError>> {
        let Self { mut orphans, judged } = *self;
        async move {
            match land(&mut orphans, judged).await {
                Ok(commit @ Commit::Applied(..)) => Ok(commit),
                Ok(other) => {
                    // The table is as it should be; leftovers beside it are no reason to say otherwise.
                    let _ = orphans.remove();
                    Ok(other)
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

/// Commits. Whoever lost a race judges its change against the table as it is now; only an overwrite of the whole table holds for
/// the state that was judged and for no other.
async fn land(orphans: &mut Orphans, mut judged: Judged) -> Result<Commit, WriteError> {
    let (path, mark) = (orphans.run.target.path.clone(), orphans.mark());
    let mut tries = 1;
    loop {
        let remove = match &judged.removed {
            Removed::Skipped => return Ok(Commit::Skipped),
            Removed::Nothing => Removal::Nothing,
            Removed::All => Removal::All,
            Removed::Files(files) => Removal::Files(files),
        };
        let change = LogChange {
            add: &orphans.files,
            remove,
            schema: orphans.run.landing.evolves.then(|| orphans.run.landing.table.clone()),
            properties: &orphans.run.target.table_properties,
        };
        match delta::commit(&path, &judged.base, &change, &mark).await {
            Ok(Landed::Now(version)) => {
                return Ok(Commit::Applied(judged.counts, Some(version)));
            }
            Ok(Landed::Before(version)) => return Ok(Commit::AlreadyApplied(version)),
            Err(CommitError::Conflict { .. })
                if !matches!(judged.removed, Removed::All) && tries < TRIES_MAX =>
            {
                judged = orphans.judged().await?;
            }
            Err(CommitError::Conflict { source }) => {
                return Err(WriteError::Conflict { path, what: source.to_string() });
            }
            Err(CommitError::Unknown { source }) => {
                return Err(WriteError::Unknown { path, source });
            }
            Err(CommitError::Failed(error)) => return Err(WriteError::Storage(error)),
        }
        tries += 1;
    }
}
