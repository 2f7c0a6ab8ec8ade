//! The rows of a table's data files as the table has them: with its names for columns, and without the rows that are hidden.

use arrow::datatypes::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::StoredFile;
use super::columns::Columns;
use super::vector::Vector;
use crate::storage::StorageError;
use crate::storage::listing::SourceFile;
use crate::storage::parquet::footer_rows;
use crate::storage::parquet::load;
use crate::storage::tabular;
use crate::storage::tabular::Batches;

/// What it takes to read the files of a version, beside their paths. Plain data; nothing is open.
#[derive(Debug, Clone)]
pub struct Scan {
    columns: Columns,
    /// For each file the vector that hides some of its rows.
    vectors: Vec<Option<Vector>>,
}

impl Scan {
    pub(super) fn new(columns: Columns, files: &[StoredFile]) -> Self {
        Self { columns, vectors: files.iter().map(|file| file.vector.clone()).collect() }
    }

    /// Opens the file at `place` among the table's for the columns of `schema`; those that it lacks are NULL, and the others
    /// are not read.
    ///
    /// # Errors
    /// Where the file cannot be opened or is no Parquet, where a column cannot be told, and where its deletion vector is not whole.
    pub fn open(
        &self,
        place: usize,
        file: &SourceFile,
        schema: &SchemaRef,
        batch_rows: usize,
    ) -> Result<Batches, StorageError> {
        tabular::guarded(&file.path, || self.opened(place, file, schema, batch_rows))
    }

    fn opened(
        &self,
        place: usize,
        file: &SourceFile,
        schema: &SchemaRef,
        batch_rows: usize,
    ) -> Result<Batches, StorageError> {
        let open = file.open()?;
        let footer = load(&open, file)?;
        let rows = footer_rows(&footer);
        let hidden = match self.vectors.get(place).and_then(Option::as_ref) {
            Some(vector) => Some(vector.read(&file.path, rows)?),
            None => None,
        };
        let places = self.columns.find(&file.path, schema, footer.schema())?;
        let mask = ProjectionMask::roots(footer.parquet_schema(), places.roots.iter().copied());
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(open, footer)
            .with_projection(mask)
            .with_batch_size(batch_rows)
            .build()
            .map_err(StorageError::library(&file.path, "read it"))?;
        let read = reader.map(move |batch| Ok(places.named(&batch?)?));
        let batches = Batches::new(file, schema, batch_rows, Box::new(read)).due(rows);
        Ok(match hidden {
            Some(hidden) => batches.without(hidden),
            None => batches,
        })
    }
}
