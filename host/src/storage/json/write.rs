//! Batches to JSON, NULL spelt out. Values that JSON has no spelling for are errors, not `null`.

use std::fmt;
use std::fs::File;
use std::io;
use std::io::BufWriter;

use arrow::array::Array;
use arrow::array::AsArray;
use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use arrow::datatypes::Float16Type;
use arrow::datatypes::Float32Type;
use arrow::datatypes::Float64Type;
use arrow::error::ArrowError;
use arrow_json::ArrayWriter;
use arrow_json::LineDelimitedWriter;
use arrow_json::WriterBuilder;

use super::JsonLayout;
use crate::flow::JsonWrite;
use crate::storage::text::output::Output;

/// A JSON file that grows.
pub struct JsonFile(Growing);

enum Growing {
    Lines(LineDelimitedWriter<BufWriter<Output>>),
    Document(ArrayWriter<BufWriter<Output>>),
}

impl fmt::Debug for JsonFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonFile").finish_non_exhaustive()
    }
}

/// Why a column of this type cannot be JSON, where it cannot.
#[must_use]
pub fn unsupported(data_type: &DataType) -> Option<&'static str> {
    match data_type {
        DataType::Binary | DataType::FixedSizeBinary(_) => {
            Some("JSON has no place for binary values")
        }
        DataType::Interval(_) | DataType::Duration(_) => {
            Some("JSON has no spelling of an interval that reads back")
        }
        DataType::Union(..) => Some("a union has no JSON spelling"),
        DataType::List(item) | DataType::FixedSizeList(item, _) => unsupported(item.data_type()),
        DataType::Struct(fields) => fields.iter().find_map(|field| unsupported(field.data_type())),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) if pair.len() == 2 && *pair[0].data_type() == DataType::Utf8 => {
                unsupported(pair[1].data_type())
            }
            _ => Some("JSON has text keys only"),
        },
        _ => None,
    }
}

impl JsonFile {
    /// Begins a file.
    ///
    /// # Errors
    /// Where its codec cannot be set up.
    pub fn create(file: File, layout: JsonLayout, options: &JsonWrite) -> io::Result<Self> {
        let output = BufWriter::with_capacity(256 * 1024, Output::new(file, options.compression)?);
        let builder = WriterBuilder::new().with_explicit_nulls(true);
        Ok(Self(match layout {
            JsonLayout::Lines => Growing::Lines(builder.build(output)),
            JsonLayout::Document => Growing::Document(builder.build(output)),
        }))
    }

    /// Adds rows.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        match &mut self.0 {
            Growing::Lines(writer) => writer.write(batch),
            Growing::Document(writer) => writer.write(batch),
        }
    }

    /// Ends the file; it is not synced yet.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn finish(self) -> Result<File, ArrowError> {
        let output = match self.0 {
            Growing::Lines(mut writer) => {
                writer.finish()?;
                writer.into_inner()
            }
            Growing::Document(mut writer) => {
                writer.finish()?;
                writer.into_inner()
            }
        };
        let output = output.into_inner().map_err(|error| ArrowError::from(error.into_error()))?;
        Ok(output.finish()?)
    }
}

/// A value that JSON cannot spell, if the column has one: NaN or an infinity.
#[must_use]
pub fn unspeakable(column: &dyn Array) -> Option<String> {
    fn odd<T: Copy + Into<f64>>(values: impl Iterator<Item = Option<T>>) -> Option<String> {
        values
            .flatten()
            .map(Into::into)
            .find(|value| !value.is_finite())
            .map(|value| value.to_string())
    }
    match column.data_type() {
        DataType::Float16 => odd(column.as_primitive::<Float16Type>().iter()),
        DataType::Float32 => odd(column.as_primitive::<Float32Type>().iter()),
        DataType::Float64 => odd(column.as_primitive::<Float64Type>().iter()),
        DataType::List(_) => unspeakable(column.as_list::<i32>().values().as_ref()),
        DataType::FixedSizeList(..) => unspeakable(column.as_fixed_size_list().values().as_ref()),
        DataType::Struct(_) => {
            column.as_struct().columns().iter().find_map(|column| unspeakable(column.as_ref()))
        }
        DataType::Map(..) => unspeakable(column.as_map().values().as_ref()),
        _ => None,
    }
}
