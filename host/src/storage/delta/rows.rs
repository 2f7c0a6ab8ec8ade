//! The rows of a table's data files, a row group at a time, so that several threads share the work.

use std::sync::Arc;

use arrow::array::Array;
use arrow::array::ArrayRef;
use arrow::array::RecordBatch;
use arrow::array::RecordBatchOptions;
use arrow::array::UInt32Array;
use arrow::array::new_null_array;
use arrow::compute::take;
use arrow::datatypes::DataType;
use arrow::datatypes::FieldRef;
use arrow::datatypes::SchemaRef;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

use super::StoredFile;
use crate::name::ColumnName;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::parquet::bounds;
use crate::storage::parquet::open_footer;
use crate::storage::parquet::reader;
use crate::storage::partition;
use crate::storage::plain;

/// Rows of a batch that is read.
const BATCH_ROWS: usize = 8_192;

/// A data file whose footer was read.
#[derive(Debug)]
pub struct OpenFile<'a> {
    stored: &'a StoredFile,
    footer: ArrowReaderMetadata,
    partition_columns: &'a [ColumnName],
}

/// A row group of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    group: usize,
    /// The place of its first row in the file.
    pub first_row: u32,
    /// Its rows.
    pub rows: u64,
}

impl<'a> OpenFile<'a> {
    /// Reads the footer.
    ///
    /// # Errors
    /// Where the file is missing or no Parquet, and where it is too large to be told apart by row.
    pub fn open(
        stored: &'a StoredFile,
        partition_columns: &'a [ColumnName],
    ) -> Result<Self, StorageError> {
        let path = &stored.path;
        let file = stored.open()?;
        let footer = open_footer(&file).map_err(StorageError::library(path, "read its footer"))?;
        if stored.hides_rows() {
            let what = "a deletion vector hides some of its rows, which wasmhost does not read yet";
            return Err(StorageError::data(path, DataPlace::default(), what)
                .hint("let the engine that wrote it compact the table first"));
        }
        if u32::try_from(footer.metadata().file_metadata().num_rows()).is_err() {
            let what = "it has more than four billion rows";
            return Err(StorageError::data(path, DataPlace::default(), what));
        }
        Ok(Self { stored, footer, partition_columns })
    }

    /// Its rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        // `open` has counted them.
        u64::try_from(self.footer.metadata().file_metadata().num_rows()).unwrap_or_default()
    }

    /// Its row groups.
    #[must_use]
    pub fn pieces(&self) -> Vec<Piece> {
        let mut first_row = 0;
        let groups = self.footer.metadata().row_groups().iter().enumerate();
        let pieces = groups.map(|(group, facts)| {
            let rows = u64::try_from(facts.num_rows()).unwrap_or_default();
            let piece = Piece { group, first_row, rows };
            // `open` has refused what does not fit.
            first_row += u32::try_from(facts.num_rows()).unwrap_or_default();
            piece
        });
        pieces.collect()
    }

    /// Reads a row group's columns of `schema`, in these types; those that the file lacks are NULL.
    ///
    /// # Errors
    /// Where the file cannot be opened again.
    pub fn read(&'a self, piece: Piece, schema: &SchemaRef) -> Result<PieceRows<'a>, StorageError> {
        let path = &self.stored.path;
        let file = self.stored.open()?;
        let found = |name: &str| self.footer.schema().index_of(name).ok();
        let mut roots: Vec<usize> =
            schema.fields().iter().filter_map(|field| found(field.name())).collect();
        roots.sort_unstable();
        roots.dedup();
        let origin = |field: &FieldRef| {
            let name = field.name();
            match self.partition_columns.iter().position(|it| it.as_str() == name) {
                Some(place) => self.constant(place, field.data_type()).map(Origin::Partition),
                None => Ok(match found(name).and_then(|root| roots.binary_search(&root).ok()) {
                    Some(place) => Origin::File(place),
                    None => Origin::Absent,
                }),
            }
        };
        let origins = schema.fields().iter().map(origin).collect::<Result<_, _>>()?;
        let footer = self.footer.clone();
        let reader = reader((file, footer), roots, vec![piece.group], BATCH_ROWS)
            .map_err(StorageError::library(path, "read it"))?;
        Ok(PieceRows {
            file: self,
            schema: Arc::clone(schema),
            origins,
            reader,
            next_row: piece.first_row,
        })
    }

    /// The least and the greatest value of a column in a row group, NULL and NaN aside; `None` where the file does not tell.
    ///
    /// # Errors
    /// Where a partition value is none of the type.
    pub fn bounds(
        &self,
        piece: Piece,
        column: &str,
        data_type: &DataType,
    ) -> Result<Option<ArrayRef>, StorageError> {
        if let Some(place) = self.partition_columns.iter().position(|it| it.as_str() == column) {
            let one = self.constant(place, data_type)?;
            if one.null_count() > 0 {
                return Ok(None);
            }
            let both = take(&one, &UInt32Array::from(vec![0, 0]), None);
            return both.map(Some).map_err(self.failed("read its partition value"));
        }
        let Some(both) = bounds(&self.footer, piece.group, column) else {
            return Ok(None);
        };
        let both = plain::cast_exact(&both, data_type).ok();
        Ok(both.filter(|both| both.len() == 2 && both.null_count() == 0))
    }

    /// An error of the library at this file.
    pub fn failed<E: Into<crate::storage::Cause>>(
        &self,
        action: &'static str,
    ) -> impl FnOnce(E) -> StorageError {
        StorageError::library(&self.stored.path, action)
    }

    /// The value of a partition column as wasmhost spells it, whoever wrote the file.
    ///
    /// # Errors
    /// Where it is no value of the type, or the column is none that splits the table.
    pub fn partition_value(
        &self,
        column: &str,
        data_type: &DataType,
    ) -> Result<Option<String>, StorageError> {
        let path = &self.stored.path;
        let Some(place) = self.partition_columns.iter().position(|it| it.as_str() == column) else {
            let what = format!("`{column}` is no partition column of its table");
            return Err(StorageError::data(path, DataPlace::default(), what));
        };
        let spelt = partition::spell(&self.constant(place, data_type)?);
        let spelt = spelt.map_err(StorageError::library(path, "read its partition values"))?;
        Ok(spelt.iter().next().flatten().map(str::to_owned))
    }

    /// The value of a partition column, in a column of one row.
    fn constant(&self, place: usize, data_type: &DataType) -> Result<ArrayRef, StorageError> {
        match self.stored.values.get(place).and_then(Option::as_deref) {
            None => Ok(new_null_array(data_type, 1)),
            Some(value) => partition::read(value, data_type).map_err(|misfit| {
                let what = format!("its partition value: {}", misfit.what);
                StorageError::data(&self.stored.path, DataPlace::default(), what)
            }),
        }
    }
}

/// Where a column comes from.
#[derive(Debug)]
enum Origin {
    File(usize),
    /// One row, which all rows of the file share.
    Partition(ArrayRef),
    Absent,
}

/// The batches of a row group.
#[expect(missing_debug_implementations, reason = "the Parquet reader has none")]
pub struct PieceRows<'a> {
    file: &'a OpenFile<'a>,
    schema: SchemaRef,
    origins: Vec<Origin>,
    reader: ParquetRecordBatchReader,
    next_row: u32,
}

impl PieceRows<'_> {
    fn shaped(&self, batch: &RecordBatch) -> Result<RecordBatch, StorageError> {
        let path = &self.file.stored.path;
        let rows = batch.num_rows();
        let columns =
            self.origins.iter().zip(self.schema.fields()).map(|(origin, field)| match origin {
                Origin::Absent => Ok(new_null_array(field.data_type(), rows)),
                Origin::Partition(one) => take(one, &UInt32Array::from(vec![0; rows]), None)
                    .map_err(StorageError::library(path, "repeat its partition value")),
                Origin::File(place) => plain::cast_exact(batch.column(*place), field.data_type())
                    .map_err(|misfit| {
                        let at = DataPlace {
                            line: None,
                            row: Some(u64::from(self.next_row) + misfit.index as u64 + 1),
                            column: Some(field.name().clone()),
                        };
                        StorageError::data(path, at, misfit.what)
                    }),
            });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(StorageError::library(path, "make a batch of its rows"))
    }
}

/// The place of each batch's first row in the file, and the batch.
impl Iterator for PieceRows<'_> {
    type Item = Result<(u32, RecordBatch), StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = match self.reader.next()? {
            Ok(batch) => batch,
            Err(error) => {
                let failed = StorageError::library(&self.file.stored.path, "read its rows");
                return Some(Err(failed(error)));
            }
        };
        let shaped = self.shaped(&batch);
        let first = self.next_row;
        // `open` has refused files with more rows.
        self.next_row += u32::try_from(batch.num_rows()).unwrap_or_default();
        Some(shaped.map(|batch| (first, batch)))
    }
}
