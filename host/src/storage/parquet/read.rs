//! Parquet to batches.

use arrow::datatypes::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;

use super::Group;
use super::Names;
use super::load;
use crate::storage::StorageError;
use crate::storage::address::FileRead;
use crate::storage::listing::SourceFile;
use crate::storage::tabular;
use crate::storage::tabular::Batches;
use crate::storage::tabular::Keep;
use crate::storage::tabular::Skip;

/// Opens a file for the columns of `schema`; those that it lacks are NULL, and the others are not read.
///
/// # Errors
/// Where the file cannot be opened or is no Parquet.
pub fn open(
    file: &SourceFile,
    schema: &SchemaRef,
    batch_rows: usize,
) -> Result<Batches, StorageError> {
    open_part(file, schema, batch_rows, &|_| true)
}

/// The same, without the row groups of which `keep` says no.
///
/// # Errors
/// As [`open`].
pub fn open_part(
    file: &SourceFile,
    schema: &SchemaRef,
    batch_rows: usize,
    keep: Keep<'_>,
) -> Result<Batches, StorageError> {
    let open = file.open()?;
    let footer = load(&open, file)?;
    let roots = tabular::places(schema, footer.schema());
    let Choice { groups, skips, rows } = choose(&footer, None, keep);
    let reader = reader((open, footer), roots, groups, batch_rows)
        .map_err(StorageError::library(&file.path, "read it"))?;
    let read = reader.map(|batch| Ok(batch?));
    Ok(Batches::new(file, schema, batch_rows, Box::new(read)).due(rows).skipping(skips))
}

/// The library's batches of an open file whose footer was read: of these columns, by their places, and of these row groups.
///
/// # Errors
/// Where the footer does not allow that.
pub fn reader(
    (open, footer): (FileRead, ArrowReaderMetadata),
    roots: Vec<usize>,
    groups: Vec<usize>,
    batch_rows: usize,
) -> Result<ParquetRecordBatchReader, ParquetError> {
    let mask = ProjectionMask::roots(footer.parquet_schema(), roots);
    ParquetRecordBatchReaderBuilder::new_with_metadata(open, footer)
        .with_projection(mask)
        .with_row_groups(groups)
        .with_batch_size(batch_rows)
        .build()
}

/// The row groups of a file that are read.
#[derive(Debug)]
pub struct Choice {
    /// Their places.
    pub groups: Vec<usize>,
    /// The rows of the others.
    pub skips: Vec<Skip>,
    /// Their rows.
    pub rows: u64,
}

/// Chooses the row groups of which `keep` says yes; it may ask for columns by `names`, else by the file's own.
pub fn choose(footer: &ArrowReaderMetadata, names: Option<&Names>, keep: Keep<'_>) -> Choice {
    let (mut groups, mut skips, mut rows) = (Vec::new(), Vec::new(), 0);
    for group in Group::all(footer, names) {
        if keep(&group) {
            groups.push(group.index());
            rows += group.rows();
        } else {
            skips.push(Skip { after: rows, rows: group.rows() });
        }
    }
    // Where all are read, the footer's own count of rows has to be right as well.
    let rows = if skips.is_empty() { super::footer_rows(footer) } else { rows };
    Choice { groups, skips, rows }
}
