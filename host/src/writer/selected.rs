//! Rows that a predicate selects give way to staged rows, all of which it has to select too. NULL selects nothing.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::filter_record_batch;
use arrow::compute::kernels::boolean::not;
use arrow::datatypes::SchemaRef;

use super::Target;
use super::WriteError;
use super::stage::Staging;
use super::staged::Staged;
use super::stored::At;
use super::stored::Stored;
use crate::expression::Expression;
use crate::expression::Failure;
use crate::expression::Mistake;
use crate::expression::Scope;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::delta::StoredFile;
use crate::storage::target::Landing;

/// The predicate, and the staged rows that it has seen so far.
pub(super) struct Selected {
    path: PathBuf,
    sql: String,
    table: SchemaRef,
    /// Over the table's columns.
    stored: Expression,
    /// Over the staged rows' columns.
    staged: Expression,
    /// Staged rows that it does not select.
    outside: u64,
}

/// What becomes of the table.
pub(super) struct Left {
    /// The rows that stay of files that go, in files that the log does not know.
    pub(super) staged: Staged,
    /// Files that go.
    pub(super) replaced: Vec<StoredFile>,
    /// Rows that go.
    pub(super) deleted: u64,
}

impl Selected {
    pub(super) fn new(target: &Target, sql: &str, landing: &Landing) -> Result<Self, StorageError> {
        let over = |schema: &SchemaRef| {
            let failed = |mistake: Mistake| {
                StorageError::data(target.path(), DataPlace::default(), mistake.to_string())
            };
            Expression::predicate(sql, &Scope::table(Arc::clone(schema))).map_err(failed)
        };
        Ok(Self {
            path: target.path().to_owned(),
            sql: sql.to_owned(),
            table: Arc::clone(&landing.table),
            stored: over(&landing.table)?,
            staged: over(&landing.rows)?,
            outside: 0,
        })
    }

    /// Looks at staged rows.
    pub(super) fn note(&mut self, rows: &RecordBatch) -> Result<(), StorageError> {
        let columns = rows.project(self.staged.columns());
        let columns = columns.map_err(StorageError::library(&self.path, "judge rows"))?;
        let selected = self.staged.select(&columns).map_err(|failure| self.failed(&failure))?;
        self.outside += (selected.len() - selected.true_count()) as u64;
        Ok(())
    }

    /// The guard of staged rows: one that is not selected now would not be replaced next time.
    pub(super) fn guard(&self) -> Result<(), WriteError> {
        if self.outside == 0 {
            return Ok(());
        }
        Err(WriteError::Guard {
            path: self.path.clone(),
            what: format!(
                "{} row(s) are not among those that are replaced, where {}",
                self.outside, self.sql
            ),
            hint: "leave such rows out, or widen the predicate".to_owned(),
        })
    }

    /// Writes anew what stays of the files that hold a selected row.
    pub(super) fn replace(
        &self,
        target: &Target,
        files: &[StoredFile],
    ) -> Result<Left, WriteError> {
        let stored = Stored::open(files, &target.partition_columns)?;
        let looked_at = Arc::new(
            self.table
                .project(self.stored.columns())
                .map_err(StorageError::library(&self.path, "find the predicate's columns"))?,
        );
        // By file: rows, and rows that go.
        let founds = stored.scan(&looked_at, |found: &mut Vec<(u64, u64)>, at: At, batch| {
            found.resize(found.len().max(files.len()), (0, 0));
            let selected = self.stored.select(batch).map_err(|failure| self.failed(&failure))?;
            let (rows, gone) = &mut found[at.file as usize];
            *rows += batch.num_rows() as u64;
            *gone += selected.true_count() as u64;
            Ok(())
        })?;
        let counts = (0..files.len()).map(|file| {
            let of_file = founds.iter().filter_map(|found| found.get(file));
            of_file.fold((0, 0), |all, here| (all.0 + here.0, all.1 + here.1))
        });
        let counts: Vec<(u64, u64)> = counts.collect();

        let mut staging = Staging::new(target.address.clone(), target, Arc::clone(&self.table));
        let partly = (0..files.len()).filter(|file| {
            let (rows, gone) = counts[*file];
            0 < gone && gone < rows
        });
        let written = partly.map(|file| self.rest(&stored, file, &mut staging));
        let written = written.collect::<Result<(), _>>();
        let (staged, sealed) = staging.finish();
        if let Err(error) = written.and(sealed) {
            // What went wrong first is what the user has to know.
            let _ = staged.remove_files();
            return Err(error);
        }
        let replaced = files.iter().zip(&counts).filter(|(_, (_, gone))| *gone > 0);
        Ok(Left {
            staged,
            replaced: replaced.map(|(file, _)| file.clone()).collect(),
            deleted: counts.iter().map(|(_, gone)| gone).sum(),
        })
    }

    /// The rows of a file that stay.
    fn rest(
        &self,
        stored: &Stored<'_>,
        file: usize,
        staging: &mut Staging,
    ) -> Result<(), WriteError> {
        let failed = || StorageError::library(&self.path, "keep the other rows");
        for piece in stored.files[file].pieces() {
            for batch in stored.files[file].read(piece, &self.table)? {
                let (_, batch) = batch?;
                let columns = batch.project(self.stored.columns()).map_err(failed())?;
                let gone = self.stored.select(&columns).map_err(|failure| self.failed(&failure))?;
                let stays = not(&gone).map_err(failed())?;
                staging.stage(&filter_record_batch(&batch, &stays).map_err(failed())?)?;
            }
        }
        Ok(())
    }

    fn failed(&self, failure: &Failure) -> StorageError {
        let what = format!("`{}` cannot be computed: {failure}", self.sql);
        StorageError::data(&self.path, DataPlace::default(), what)
    }
}
