//! The second pass: files with edits are written anew, row by row in their order; new rows follow. Runs of untouched files stay.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::BooleanArray;
use arrow::array::RecordBatch;
use arrow::array::TimestampMicrosecondArray;
use arrow::array::new_null_array;
use arrow::compute::cast;
use arrow::compute::interleave;
use arrow::error::ArrowError;

use super::Effect;
use super::Intake;
use super::stored::At;
use super::stored::Stored;
use super::update::Decision;
use super::update::Edit;
use crate::storage::StorageError;
use crate::storage::delta::StoredFile;
use crate::table::CREATED_AT;
use crate::table::DELETED_AT;
use crate::table::IS_DELETED;
use crate::writer::Target;
use crate::writer::WriteError;
use crate::writer::stage::Staging;

/// Staged rows that are picked at a time.
const PICK_ROWS: usize = 1 << 20;

impl Intake {
    /// Writes what the decision says to files that the log does not know.
    pub(super) fn rewrite(
        &self,
        target: &Target,
        stored: &Stored<'_>,
        files: &[StoredFile],
        decision: Decision,
    ) -> Result<Effect, WriteError> {
        let mut staging =
            Staging::new(target.path.clone(), target, Arc::clone(&self.landing.table));
        let written = self.write(target, stored, &decision, &mut staging);
        let (staged, sealed) = staging.finish();
        if let Err(error) = written.and(sealed) {
            // What went wrong first is what the user has to know.
            let _ = staged.remove_files();
            return Err(error);
        }
        let mut touched: Vec<u32> = decision.edits.iter().map(|(at, _)| at.file).collect();
        touched.dedup();
        let replaced = touched.iter().map(|file| files[*file as usize].clone()).collect();
        Ok(Effect { staged, replaced, counts: decision.counts })
    }

    fn write(
        &self,
        target: &Target,
        stored: &Stored<'_>,
        decision: &Decision,
        staging: &mut Staging,
    ) -> Result<(), WriteError> {
        let mut edits = &decision.edits[..];
        while let Some((first, _)) = edits.first() {
            let inside = edits.partition_point(|(at, _)| at.file <= first.file);
            let (here, after) = edits.split_at(inside);
            self.file(target, stored, first.file as usize, here, staging)?;
            edits = after;
        }
        for numbers in decision.inserts.chunks(PICK_ROWS) {
            let rows = self.held.pick(numbers)?;
            staging.stage(&self.inserted(&rows)?)?;
        }
        Ok(())
    }

    /// One file anew.
    fn file(
        &self,
        target: &Target,
        stored: &Stored<'_>,
        file: usize,
        edits: &[(At, Edit)],
        staging: &mut Staging,
    ) -> Result<(), WriteError> {
        let takes = edits.iter().filter_map(|(_, edit)| match edit {
            Edit::Take(staged) => Some(*staged),
            Edit::Mark => None,
        });
        let mut takes: Vec<u32> = takes.collect();
        takes.sort_unstable();
        let picked = self.held.pick(&takes)?;
        let places: HashMap<u32, usize> =
            takes.iter().enumerate().map(|(place, staged)| (*staged, place)).collect();
        let mut rest = edits;
        for piece in stored.files[file].pieces() {
            for batch in stored.files[file].read(piece, &self.landing.table)? {
                let (first, batch) = batch?;
                let end = first + u32::try_from(batch.num_rows()).unwrap_or(u32::MAX);
                let inside = rest.partition_point(|(at, _)| at.row < end);
                let (here, after) = rest.split_at(inside);
                rest = after;
                if here.is_empty() {
                    staging.stage(&batch)?;
                    continue;
                }
                let edited = self
                    .edited(target, &batch, first, here, &picked, &places)
                    .map_err(StorageError::library(&self.path, "rewrite rows"))?;
                staging.stage(&edited)?;
            }
        }
        Ok(())
    }

    /// A batch with its edits.
    fn edited(
        &self,
        target: &Target,
        batch: &RecordBatch,
        first: u32,
        edits: &[(At, Edit)],
        picked: &RecordBatch,
        places: &HashMap<u32, usize>,
    ) -> Result<RecordBatch, ArrowError> {
        let mut edits = edits.iter().peekable();
        // Each row: its place in the batch, and what happens to it.
        let mut rows: Vec<(usize, Option<Edit>)> = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let edit = edits.next_if(|(at, _)| (at.row - first) as usize == row);
            rows.push((row, edit.map(|(_, edit)| *edit)));
        }
        let marked_at = TimestampMicrosecondArray::from(vec![
            Some(target.run.started_at.timestamp_micros()),
            None,
        ]);
        let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
        let columns =
            batch.schema_ref().fields().iter().zip(batch.columns()).map(|(field, column)| {
                let taken = picked
                    .column_by_name(field.name())
                    .filter(|_| field.name() != CREATED_AT)
                    .map(|taken| taken.as_ref());
                let own: Option<ArrayRef> = match field.name().as_str() {
                    name if !self.merge.own_columns().contains(&name) => None,
                    IS_DELETED => Some(Arc::clone(&flags)),
                    DELETED_AT => Some(cast(&marked_at, field.data_type())?),
                    _ => None,
                };
                let other = own.as_deref().or(taken).unwrap_or(column.as_ref());
                let place = |(row, edit): &(usize, Option<Edit>)| match edit {
                    Some(Edit::Take(_)) if own.is_some() => (1, 1),
                    Some(Edit::Mark) if own.is_some() => (1, 0),
                    Some(Edit::Take(staged)) if taken.is_some() => {
                        (1, places.get(staged).copied().unwrap_or_default())
                    }
                    _ => (0, *row),
                };
                let indices: Vec<_> = rows.iter().map(place).collect();
                interleave(&[column.as_ref(), other], &indices)
            });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(batch.schema(), columns)
    }

    /// New rows with all columns of the table.
    fn inserted(&self, rows: &RecordBatch) -> Result<RecordBatch, WriteError> {
        let count = rows.num_rows();
        let columns = self.landing.table.fields().iter().map(|field| -> ArrayRef {
            match rows.column_by_name(field.name()) {
                Some(column) => Arc::clone(column),
                None if field.name() == IS_DELETED
                    && self.merge.own_columns().contains(&IS_DELETED) =>
                {
                    Arc::new(BooleanArray::from(vec![false; count]))
                }
                None => new_null_array(field.data_type(), count),
            }
        });
        let batch = RecordBatch::try_new(Arc::clone(&self.landing.table), columns.collect());
        Ok(batch.map_err(StorageError::library(&self.path, "make new rows"))?)
    }
}
