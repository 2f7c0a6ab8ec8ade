//! A run's files in the table's folder, and what they do to one state of the table.

use std::collections::HashSet;
use std::path::PathBuf;

use arrow::datatypes::SchemaRef;

use crate::problem::Place;
use crate::storage::StorageError;
use crate::storage::delta;
use crate::storage::delta::Base;
use crate::storage::delta::DataFile;
use crate::storage::delta::Mark;
use crate::storage::delta::Snapshot;
use crate::storage::delta::StoredFile;
use crate::storage::partition;
use crate::storage::sync;
use crate::storage::target;
use crate::storage::target::Landing;
use crate::storage::target::TargetFacts;
use crate::storage::target::TargetState;
use crate::table::Counts;
use crate::table::IfExists;
use crate::table::Scope;
use crate::table::TableChange;
use crate::writer::RunMark;
use crate::writer::Target;
use crate::writer::WriteError;
use crate::writer::guard_empty;
use crate::writer::merge::Effect;
use crate::writer::merge::Intake;
use crate::writer::must_be_new;
use crate::writer::selected::Left;
use crate::writer::selected::Selected;
use crate::writer::staged::Staged;
use crate::writer::there_already;

/// Where a run writes, and what it made there.
pub(super) struct Run {
    pub(super) target: Target,
    /// How the rows land, as it was judged when the writer was opened.
    pub(super) landing: Landing,
    /// The topmost folder that was made for the table, if it was not there.
    pub(super) made: Option<PathBuf>,
}

/// A run's files, in the table's folder and not in its log.
pub(super) struct Orphans {
    pub(super) run: Run,
    /// The rows that came, where they were staged as they come.
    pub(super) staged: Option<Staged>,
    /// Files that were made for one state of the table.
    pub(super) rewritten: Vec<Staged>,
    /// All these files as the log will name them.
    pub(super) files: Vec<DataFile>,
    /// What looks at stored rows, for each state of the table anew.
    pub(super) against: Option<Against>,
}

/// Staged rows against stored ones.
pub(super) enum Against {
    Keys(Box<Intake>),
    Selected(Box<Selected>),
}

/// A change as one state of the table makes it.
pub(super) struct Judged {
    pub(super) base: Base,
    pub(super) removed: Removed,
    pub(super) counts: Counts,
}

/// Stored files that go.
pub(super) enum Removed {
    /// The table stays as it is.
    Skipped,
    Nothing,
    All,
    Files(Vec<StoredFile>),
}

/// How the run's commit is known again.
pub(super) fn mark(run: &RunMark) -> Mark {
    Mark {
        app_id: format!("wasmhost/{}/{}/{}", run.flow, run.destination, run.run_id),
        info: run.info(),
    }
}

/// Whether the table has this run's commit already.
pub(super) async fn has_landed(target: &Target, table: &Snapshot) -> Result<bool, StorageError> {
    Ok(delta::landed_before(table, &mark(&target.run).app_id).await?.is_some())
}

/// The columns as the table gives them back.
pub(super) fn canonical(target: &Target, landing: Landing) -> Result<Landing, WriteError> {
    Ok(Landing {
        rows: delta::canonical(target.path(), &landing.rows)?,
        table: delta::canonical(target.path(), &landing.table)?,
        evolves: landing.evolves,
    })
}

impl Orphans {
    /// The staged files as the log will name them.
    fn name_files(&mut self) {
        let columns = &self.run.target.partition_columns;
        let staged = self.staged.iter().chain(&self.rewritten);
        let files = staged.map(|staged| staged.data_files(columns));
        self.files = files.collect::<Vec<_>>().concat();
    }

    /// The change against the table as it is now; what an earlier try has rewritten goes.
    pub(super) async fn judged(&mut self) -> Result<Judged, WriteError> {
        let rows = match (&self.against, &self.staged) {
            (Some(Against::Keys(intake)), _) => intake.rows(),
            (_, staged) => staged.as_ref().map_or(0, |staged| staged.rows),
        };
        let base = self.base().await?;
        Staged::remove_all(&std::mem::take(&mut self.rewritten))?;
        if let Base::Table(table) = &base {
            if has_landed(&self.run.target, table).await? {
                // Guards hold for the table before this run, not for what it has left.
                let counts = Counts {
                    rows_written: rows,
                    rows_unchanged: rows,
                    rows_deleted: Some(0),
                    ..Counts::default()
                };
                return Ok(Judged { base, removed: Removed::Nothing, counts });
            }
            if must_be_new(&self.run.target) {
                return Err(there_already(&self.run.target));
            }
        }
        guard_empty(&self.run.target, rows)?;
        let stored = match (&self.against, &base) {
            (Some(_), Base::Table(table)) => table.files().await?,
            _ => Vec::new(),
        };
        let (removed, counts) = self.judge(&base, &stored, rows).await?;
        self.name_files();
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
            // What looks at stored rows was done above; what must be new is refused before.
            TableChange::Append {}
            | TableChange::Create { if_exists: IfExists::Refuse }
            | TableChange::Replace {
                scope: Scope::Partition { .. } | Scope::Predicate(_), ..
            }
            | TableChange::Merge(_) => (Removed::Nothing, counts),
        })
    }

    /// The table's files of the partitions that staged rows are in.
    async fn in_staged_partitions(&self, table: &Snapshot) -> Result<Vec<StoredFile>, WriteError> {
        let (path, partition_columns) =
            (self.run.target.path(), &self.run.target.partition_columns);
        let types = partition::types(&self.run.landing.rows, partition_columns)
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
        let Target { address, format, partition_columns, .. } = target;
        let path = address.shown();
        let table = delta::open(address).await?;
        let facts = match &table {
            Some(table) => {
                TargetFacts { path: path.to_owned(), state: TargetState::Table(table.facts()?) }
            }
            None => target::inspect(address, format).await?,
        };
        let at = Place::field(path.display().to_string(), "");
        let landing = target::fit(&facts, &target.ask(), &at).map_err(WriteError::Refused)?;
        if canonical(target, landing)? != self.run.landing {
            let what = "its columns have changed while rows were staged".to_owned();
            return Err(WriteError::Conflict { path: path.to_owned(), what });
        }
        Ok(match table {
            Some(table) => Base::Table(table),
            None => Base::Nothing {
                schema: SchemaRef::clone(&self.run.landing.table),
                partition_columns: partition_columns.clone(),
            },
        })
    }

    pub(super) fn remove(&self) -> Result<(), WriteError> {
        Staged::remove_all(self.staged.iter().chain(&self.rewritten))?;
        // The folder stays as soon as anything is in it, such as a table that somebody else has made by now.
        if let Some(made) = &self.run.made {
            sync::remove_empty(self.run.target.path(), made);
        }
        Ok(())
    }
}
