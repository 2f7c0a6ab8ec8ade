//! Row groups that cannot hold a key are not read: their least and greatest values lie outside of those that come.

use arrow::array::Array;
use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use arrow::datatypes::Schema;
use arrow::error::ArrowError;

use crate::name::ColumnName;
use crate::spool::RowBytes;
use crate::storage::StorageError;
use crate::storage::bounds::orders_as_bounds_do;
use crate::storage::delta::OpenFile;
use crate::storage::delta::Piece;

/// What comes, key column by key column.
pub(super) struct Ranges(Vec<Range>);

/// The values of one key column, as bytes that order as they do.
struct Range {
    column: String,
    data_type: DataType,
    bytes: RowBytes,
    least: Option<Vec<u8>>,
    greatest: Option<Vec<u8>>,
    /// Statistics do not tell of NULL.
    has_null: bool,
}

impl Ranges {
    pub(super) fn new(rows: &Schema, keys: &[ColumnName]) -> Result<Self, ArrowError> {
        let mut ranges = Vec::new();
        for key in keys {
            let data_type = rows.field_with_name(key.as_str())?.data_type().clone();
            if !orders_as_bounds_do(&data_type) {
                continue;
            }
            let column = key.as_str().to_owned();
            let bytes = RowBytes::ascending(rows, std::slice::from_ref(&column))?;
            let (least, greatest) = (None, None);
            ranges.push(Range { column, data_type, bytes, least, greatest, has_null: false });
        }
        Ok(Self(ranges))
    }

    /// Looks at staged rows.
    pub(super) fn note(&mut self, rows: &RecordBatch) -> Result<(), ArrowError> {
        for range in &mut self.0 {
            let Some(column) = rows.column_by_name(&range.column) else { continue };
            range.has_null |= column.null_count() > 0;
            let bytes = range.bytes.rows(rows)?;
            let bytes = || bytes.iter().map(|row| row.data());
            let (Some(least), Some(greatest)) = (bytes().min(), bytes().max()) else { continue };
            if range.least.as_deref().is_none_or(|known| least < known) {
                range.least = Some(least.to_vec());
            }
            if range.greatest.as_deref().is_none_or(|known| greatest > known) {
                range.greatest = Some(greatest.to_vec());
            }
        }
        Ok(())
    }

    /// Whether a row group may hold a key that comes.
    pub(super) fn may_meet(&self, file: &OpenFile<'_>, piece: Piece) -> Result<bool, StorageError> {
        for range in &self.0 {
            let (Some(least), Some(greatest)) = (&range.least, &range.greatest) else {
                return Ok(false);
            };
            if range.has_null {
                continue;
            }
            let Some(bounds) = file.bounds(piece, &range.column, &range.data_type)? else {
                continue;
            };
            let bounds = range.bytes.of(&bounds).map_err(file.failed("read its statistics"))?;
            if bounds.row(1).data() < &least[..] || bounds.row(0).data() > &greatest[..] {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
