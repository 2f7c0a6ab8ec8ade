//! Parquet to batches of plain arrays.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::array::RecordBatchOptions;
use arrow::array::new_null_array;
use arrow::datatypes::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::load;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::listing::SourceFile;
use crate::storage::plain;

/// The batches of one file.
pub struct ParquetBatches {
    file: SourceFile,
    schema: SchemaRef,
    /// For each column of the schema its place in what is read, where this file has it.
    places: Vec<Option<usize>>,
    reader: ParquetRecordBatchReader,
    rows_read: u64,
}

impl std::fmt::Debug for ParquetBatches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetBatches")
            .field("file", &self.file)
            .field("rows_read", &self.rows_read)
            .finish_non_exhaustive()
    }
}

impl ParquetBatches {
    /// Opens a file for the columns of `schema`; those that it lacks are NULL, and the others are not read.
    ///
    /// # Errors
    /// Where the file cannot be opened or is no Parquet.
    pub fn open(
        file: &SourceFile,
        schema: &SchemaRef,
        batch_rows: usize,
    ) -> Result<Self, StorageError> {
        let open = file.open()?;
        let footer = load(&open, file)?;
        let wanted: Vec<Option<usize>> = schema
            .fields()
            .iter()
            .map(|field| footer.schema().index_of(field.name()).ok())
            .collect();
        let mut roots: Vec<usize> = wanted.iter().flatten().copied().collect();
        roots.sort_unstable();
        let places = wanted
            .iter()
            .map(|root| root.and_then(|root| roots.binary_search(&root).ok()))
            .collect();
        let mask = ProjectionMask::roots(footer.parquet_schema(), roots);
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(open, footer)
            .with_projection(mask)
            .with_batch_size(batch_rows)
            .build()
            .map_err(StorageError::library(&file.path, "read it"))?;
        Ok(Self { file: file.clone(), schema: Arc::clone(schema), places, reader, rows_read: 0 })
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// Where the file is damaged, and where a value does not fit its column's declared type.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, StorageError> {
        let path = &self.file.path;
        let Some(batch) = self.reader.next() else { return Ok(None) };
        let batch = batch.map_err(StorageError::library(path, "read its rows"))?;
        let columns = self.places.iter().zip(self.schema.fields()).map(|(place, field)| {
            let Some(place) = place else {
                return Ok(new_null_array(field.data_type(), batch.num_rows()));
            };
            plain::cast_exact(batch.column(*place), field.data_type()).map_err(|misfit| {
                let row = Some(self.rows_read + misfit.index as u64 + 1);
                let at = DataPlace { line: None, row, column: Some(field.name().clone()) };
                StorageError::data(path, at, misfit.what)
                    .hint("declare a type in `schema_hints` that holds all values")
            })
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        self.rows_read += batch.num_rows() as u64;
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &rows)
            .map(Some)
            .map_err(StorageError::library(path, "make a batch of its rows"))
    }
}
