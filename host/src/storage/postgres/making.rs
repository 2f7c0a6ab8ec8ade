//! Batches of rows, made row by row.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::array::RecordBatchOptions;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use tokio_postgres::types::Type;

use super::cells::Cells;
use super::describe::Described;
use super::failure;
use super::reading::Reading;
use crate::storage::BATCH_TEXT_BYTES;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::plain;

/// A batch that is being made.
pub(super) struct Making<'a> {
    reading: &'a Reading,
    places: Vec<usize>,
    cells: Vec<Cells>,
    schema: SchemaRef,
    pub(super) rows: usize,
    bytes: usize,
    /// Rows of the batches before.
    pub(super) rows_before: u64,
}

impl<'a> Making<'a> {
    pub(super) fn new(reading: &'a Reading, places: Vec<usize>) -> Self {
        let cells = reading.wanted.iter().map(|(_, cell, _)| Cells::new(cell, reading.batch_rows));
        let fields = reading.wanted.iter().map(|(.., field)| Arc::clone(field));
        Self {
            reading,
            places,
            cells: cells.collect(),
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            rows: 0,
            bytes: 0,
            rows_before: 0,
        }
    }

    pub(super) fn push(&mut self, row: &Row) -> Result<(), StorageError> {
        self.bytes += row.raw_size_bytes();
        for (at, (cells, place)) in self.cells.iter_mut().zip(&self.places).enumerate() {
            let raw = row.try_get::<_, Option<Raw<'_>>>(*place);
            let pushed = match raw {
                Ok(raw) => cells.push(raw.map(|raw| raw.0)),
                Err(error) => Err(error.to_string()),
            };
            match pushed {
                Ok(beyond) => self.bytes += beyond,
                Err(what) => return Err(self.wrong(at, self.rows, what)),
            }
        }
        self.rows += 1;
        Ok(())
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows >= self.reading.batch_rows || self.bytes >= BATCH_TEXT_BYTES
    }

    pub(super) fn finish(&mut self) -> Result<RecordBatch, StorageError> {
        let Described { server, rows, .. } = &*self.reading.described;
        let place = failure::rows_of(server, rows);
        let mut columns = Vec::with_capacity(self.cells.len());
        for at in 0..self.cells.len() {
            let column = self.cells[at]
                .finish()
                .map_err(StorageError::library(&place, "make a column of its values"))?;
            let cast = plain::cast_exact(&column, self.schema.field(at).data_type());
            columns.push(cast.map_err(|misfit| self.wrong(at, misfit.index, misfit.what))?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(StorageError::library(&place, "make a batch of its rows"))?;
        self.rows_before += self.rows as u64;
        (self.rows, self.bytes) = (0, 0);
        Ok(batch)
    }

    /// A value that its column does not hold.
    fn wrong(&self, column: usize, row: usize, what: String) -> StorageError {
        let Described { server, rows, .. } = &*self.reading.described;
        let name = self.schema.field(column).name().clone();
        let row = Some(self.rows_before + row as u64 + 1);
        let at = DataPlace { line: None, row, column: Some(name) };
        StorageError::data(&failure::rows_of(server, rows), at, what)
            .hint("leave such rows out or change the value in a `query`, or declare another type in `schema_hints`")
    }
}

/// A value's bytes, whatever its type.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
