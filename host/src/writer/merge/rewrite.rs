//! The second pass: files with edits are written anew, row by row in their order; new rows follow. Runs of untouched files stay.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::Array;
use arrow::array::RecordBatch;
use arrow::array::RecordBatchOptions;
use arrow::array::UInt64Array;
use arrow::array::new_null_array;
use arrow::compute::interleave;
use arrow::compute::take;
use arrow::error::ArrowError;

use super::Effect;
use super::Intake;
use super::decision::Decision;
use super::decision::Edit;
use super::decision::Insert;
use super::own::Own;
use crate::storage::StorageError;
use crate::storage::delta::StoredFile;
use crate::table::CREATED_AT;
use crate::writer::Target;
use crate::writer::WriteError;
use crate::writer::stage::Staging;
use crate::writer::stored::At;
use crate::writer::stored::Stored;

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
        let own = Own::new(self, target, &decision.ends)
            .map_err(StorageError::library(&self.path, "make the columns of the strategy"))?;
        let written = self.write(&own, stored, &decision, &mut staging);
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
        own: &Own,
        stored: &Stored<'_>,
        decision: &Decision,
        staging: &mut Staging,
    ) -> Result<(), WriteError> {
        let mut edits = &decision.edits[..];
        while let Some((first, _)) = edits.first() {
            let inside = edits.partition_point(|(at, _)| at.file <= first.file);
            let (here, after) = edits.split_at(inside);
            self.file(own, stored, first.file as usize, here, staging)?;
            edits = after;
        }
        for inserts in decision.inserts.chunks(PICK_ROWS) {
            let numbers: Vec<u32> = inserts.iter().map(|insert| insert.staged).collect();
            let rows = self.held.pick(&numbers)?;
            let rows = self
                .inserted(own, inserts, &rows)
                .map_err(StorageError::library(&self.path, "make new rows"))?;
            staging.stage(&rows)?;
        }
        Ok(())
    }

    /// One file anew.
    fn file(
        &self,
        own: &Own,
        stored: &Stored<'_>,
        file: usize,
        edits: &[(At, Edit)],
        staging: &mut Staging,
    ) -> Result<(), WriteError> {
        let mut takes: Vec<u32> = edits.iter().filter_map(|(_, edit)| edit.takes()).collect();
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
                    .edited(own, &batch, first, here, &picked, &places)
                    .map_err(StorageError::library(&self.path, "rewrite rows"))?;
                staging.stage(&edited)?;
            }
        }
        Ok(())
    }

    /// A batch with its edits.
    fn edited(
        &self,
        own: &Own,
        batch: &RecordBatch,
        first: u32,
        edits: &[(At, Edit)],
        picked: &RecordBatch,
        places: &HashMap<u32, usize>,
    ) -> Result<RecordBatch, ArrowError> {
        let mut edits = edits.iter().peekable();
        // Each row that stays: its place in the batch, and what happens to it.
        let mut rows: Vec<(usize, Option<Edit>)> = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let edit = edits.next_if(|(at, _)| (at.row - first) as usize == row);
            let edit = edit.map(|(_, edit)| *edit);
            if edit != Some(Edit::Remove) {
                rows.push((row, edit));
            }
        }
        let fields = batch.schema_ref().fields().iter();
        let columns = fields.zip(batch.columns()).map(|(field, column)| {
            let own = own.columns.iter().find(|own| own.name == *field.name());
            let taken = picked.column_by_name(field.name()).filter(|_| field.name() != CREATED_AT);
            let place = |(row, edit): &(usize, Option<Edit>)| {
                let other = edit.and_then(|edit| match (own, taken) {
                    (Some(own), _) => own.edited(edit),
                    (None, Some(_)) => edit.takes().and_then(|staged| places.get(&staged).copied()),
                    (None, None) => None,
                });
                other.map_or((0, *row), |place| (1, place))
            };
            let indices: Vec<_> = rows.iter().map(place).collect();
            if indices.len() == column.len() && indices.iter().all(|(from, _)| *from == 0) {
                return Ok(Arc::clone(column));
            }
            let other = own.map(|own| &own.values).or(taken).unwrap_or(column);
            interleave(&[column.as_ref(), other.as_ref()], &indices)
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(batch.schema(), columns, &options)
    }

    /// New rows with all columns of the table.
    fn inserted(
        &self,
        own: &Own,
        inserts: &[Insert],
        rows: &RecordBatch,
    ) -> Result<RecordBatch, ArrowError> {
        let columns = self.landing.table.fields().iter().map(|field| {
            if let Some(own) = own.columns.iter().find(|own| own.name == *field.name()) {
                return match &own.from {
                    Some(column) => rows.column_by_name(column).map(Arc::clone).ok_or_else(|| {
                        ArrowError::SchemaError(format!("the rows have no column `{column}`"))
                    }),
                    None => {
                        let places = inserts.iter().map(|insert| own.inserted(insert.state));
                        take(&own.values, &UInt64Array::from_iter_values(places), None)
                    }
                };
            }
            Ok(match rows.column_by_name(field.name()) {
                Some(column) => Arc::clone(column),
                None => new_null_array(field.data_type(), rows.num_rows()),
            })
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(Arc::clone(&self.landing.table), columns)
    }
}
