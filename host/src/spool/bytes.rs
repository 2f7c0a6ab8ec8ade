//! Digests: 128 bits that stand for the values of some columns of a row. Values are taken column by column with their types, each
//! with its length, so different rows have different bytes; the seed is drawn for each load and kept nowhere, so nobody can prepare two
//! rows with one digest.

use std::hash::BuildHasher as _;
use std::hash::Hasher as _;
use std::hash::RandomState;
use std::sync::Arc;

use arrow::array::Array;
use arrow::array::ArrayRef;
use arrow::array::AsArray;
use arrow::array::RecordBatch;
use arrow::array::new_null_array;
use arrow::compute::SortOptions;
use arrow::datatypes::DataType;
use arrow::datatypes::Float32Type;
use arrow::datatypes::Float64Type;
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow_row::RowConverter;
use arrow_row::Rows;
use arrow_row::SortField;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::table::OrderBy;

/// The columns of an order, each with its own.
pub fn terms(order: &[OrderBy]) -> impl Iterator<Item = (String, SortOptions)> {
    order.iter().map(|by| {
        let options = SortOptions { descending: by.descending, nulls_first: by.nulls_first };
        (by.column.to_string(), options)
    })
}

/// What digests are seeded with: drawn anew each time.
#[must_use]
pub fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Reads some columns of a row as bytes: equal bytes are equal values, and bytes order as values do, NULL first.
#[derive(Debug)]
pub struct RowBytes {
    converter: RowConverter,
    columns: Vec<String>,
    types: Vec<DataType>,
}

impl RowBytes {
    /// Columns of the schema, each with its order.
    ///
    /// # Errors
    /// A column that is not there, or whose type has no order.
    pub fn new(
        schema: &Schema,
        columns: impl IntoIterator<Item = (String, SortOptions)>,
    ) -> Result<Self, ArrowError> {
        let mut names = Vec::new();
        let mut types = Vec::new();
        let mut fields = Vec::new();
        for (name, order) in columns {
            let data_type = schema.field_with_name(&name)?.data_type().clone();
            fields.push(SortField::new_with_options(data_type.clone(), order));
            types.push(data_type);
            names.push(name);
        }
        Ok(Self { converter: RowConverter::new(fields)?, columns: names, types })
    }

    /// Low values first, NULL before them.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn ascending(schema: &Schema, columns: &[String]) -> Result<Self, ArrowError> {
        let order = SortOptions { descending: false, nulls_first: true };
        Self::new(schema, columns.iter().map(|name| (name.clone(), order)))
    }

    /// Whether there is no column.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The columns, foremost first.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The bytes of each row, of at least one column; the columns are found by name, and are NULL where they are absent.
    ///
    /// # Errors
    /// A column of another type.
    pub fn rows(&self, batch: &RecordBatch) -> Result<Rows, ArrowError> {
        let columns = self.columns.iter().zip(&self.types).map(|(name, data_type)| {
            match batch.column_by_name(name) {
                Some(column) => one_nan(column),
                None => new_null_array(data_type, batch.num_rows()),
            }
        });
        self.converter.convert_columns(&columns.collect::<Vec<_>>())
    }

    /// The bytes of each value of one column.
    ///
    /// # Errors
    /// A column of another type.
    pub fn of(&self, column: &ArrayRef) -> Result<Rows, ArrowError> {
        self.converter.convert_columns(&[one_nan(column)])
    }

    /// The values that rows of these bytes have, of one column.
    ///
    /// # Errors
    /// Where there is no column.
    pub fn values<'a>(
        &self,
        rows: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<ArrayRef, ArrowError> {
        let parser = self.converter.parser();
        let columns = self.converter.convert_rows(rows.into_iter().map(|row| parser.parse(row)))?;
        columns.into_iter().next().ok_or_else(|| {
            ArrowError::InvalidArgumentError("there is no column to read bytes of".to_owned())
        })
    }

    /// The digest of each row.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn digests(&self, batch: &RecordBatch, seed: u64) -> Result<Vec<u128>, ArrowError> {
        if self.is_empty() {
            return Ok(vec![0; batch.num_rows()]);
        }
        let rows = self.rows(batch)?;
        Ok(rows.iter().map(|row| xxh3_128_with_seed(row.data(), seed)).collect())
    }
}

/// Floats with one NaN and one zero: however they are spelt in bits, they are the same value.
fn one_nan(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Float64 => {
            let plain = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
            Arc::new(column.as_primitive::<Float64Type>().unary::<_, Float64Type>(plain))
        }
        DataType::Float32 => {
            let plain = |value: f32| if value.is_nan() { f32::NAN } else { value + 0.0 };
            Arc::new(column.as_primitive::<Float32Type>().unary::<_, Float32Type>(plain))
        }
        _ => Arc::clone(column),
    }
}

/// Bytes of many rows, one after the other.
#[derive(Debug, Default)]
pub struct ManyBytes {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl ManyBytes {
    /// Adds rows behind the others.
    pub fn extend(&mut self, rows: &Rows) {
        for row in rows {
            self.bytes.extend_from_slice(row.data());
            self.ends.push(self.bytes.len());
        }
    }

    /// The memory that they take.
    pub fn bytes(&self) -> u64 {
        (self.bytes.len() + self.ends.len() * size_of::<usize>()) as u64
    }

    /// A row's bytes; none where there is no such row.
    pub fn row(&self, row: u32) -> &[u8] {
        let row = row as usize;
        let begin = row.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        match self.ends.get(row) {
            Some(end) => &self.bytes[begin.unwrap_or_default()..*end],
            None => &[],
        }
    }
}
