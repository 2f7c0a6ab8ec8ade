//! Parquet to batches.

use arrow::datatypes::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::load;
use crate::storage::StorageError;
use crate::storage::listing::SourceFile;
use crate::storage::tabular;
use crate::storage::tabular::Batches;

/// Opens a file for the columns of `schema`; those that it lacks are NULL, and the others are not read.
///
/// # Errors
/// Where the file cannot be opened or is no Parquet.
pub fn open(
    file: &SourceFile,
    schema: &SchemaRef,
    batch_rows: usize,
) -> Result<Batches, StorageError> {
    let open = file.open()?;
    let footer = load(&open, file)?;
    let roots = tabular::places(schema, footer.schema());
    let rows = super::footer_rows(&footer);
    let mask = ProjectionMask::roots(footer.parquet_schema(), roots);
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(open, footer)
        .with_projection(mask)
        .with_batch_size(batch_rows)
        .build()
        .map_err(StorageError::library(&file.path, "read it"))?;
    let read = reader.map(|batch| Ok(batch?));
    Ok(Batches::new(file, schema, batch_rows, Box::new(read)).due(rows))
}
