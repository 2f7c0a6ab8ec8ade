//! Batches with their edits, and new rows, with all columns of the table.

use std::sync::Arc;

use arrow::array::Array;
use arrow::array::RecordBatch;
use arrow::array::RecordBatchOptions;
use arrow::array::UInt64Array;
use arrow::array::new_null_array;
use arrow::compute::interleave;
use arrow::compute::take;
use arrow::error::ArrowError;

use super::Intake;
use super::decision::Edit;
use super::decision::Insert;
use super::own::Own;
use super::picks::Picks;
use super::rewrite::Edits;
use crate::table::CREATED_AT;

impl Intake {
    /// A batch with its edits.
    pub(super) fn edited(
        &self,
        own: &Own,
        batch: &RecordBatch,
        first: u32,
        edits: Edits<'_>,
        picks: &Picks<'_>,
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
        // Where a row's value comes from: this batch, or the other array. Most columns share one of two such lists.
        let from_batch = |row: usize| (0, row);
        let taken: Vec<_> = rows
            .iter()
            .map(|(row, edit)| {
                let place = edit.and_then(Edit::takes).and_then(|staged| picks.place(staged));
                place.map_or(from_batch(*row), |place| (1, place))
            })
            .collect();
        let left: Vec<_> = rows.iter().map(|(row, _)| from_batch(*row)).collect();
        let fields = batch.schema_ref().fields().iter();
        let columns = fields.zip(batch.columns()).map(|(field, column)| {
            let own = own.columns.iter().find(|own| own.name == *field.name());
            let brought = picks.rows().column_by_name(field.name());
            let brought = brought.filter(|_| field.name() != CREATED_AT);
            match (own, brought) {
                (Some(own), _) => {
                    let place = |(row, edit): &(usize, Option<Edit>)| {
                        let value = edit.and_then(|edit| own.edited(edit));
                        value.map_or(from_batch(*row), |value| (1, value))
                    };
                    let places: Vec<_> = rows.iter().map(place).collect();
                    interleave(&[column.as_ref(), own.values.as_ref()], &places)
                }
                (None, Some(brought)) => interleave(&[column.as_ref(), brought.as_ref()], &taken),
                (None, None) if left.len() == column.len() => Ok(Arc::clone(column)),
                (None, None) => interleave(&[column.as_ref()], &left),
            }
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(batch.schema(), columns, &options)
    }

    /// New rows with all columns of the table.
    pub(super) fn inserted(
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
