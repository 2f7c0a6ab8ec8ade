//! Batches to CSV (RFC 4180, also with other quotes). NULL is written as `null_value`; text that is empty or looks like it is quoted.

use std::fs::File;
use std::io::Write;

use arrow::array::Array;
use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow::util::display::ArrayFormatter;
use arrow::util::display::FormatOptions;

use crate::flow::CsvWrite;
use crate::storage::text::output::Output;

/// A CSV file that grows.
#[derive(Debug)]
pub struct CsvFile {
    output: Output,
    buffer: Vec<u8>,
    options: CsvWrite,
}

const FLUSH_BYTES: usize = 256 * 1024;

/// Why a column of this type cannot be CSV, where it cannot.
#[must_use]
pub fn unsupported(data_type: &DataType) -> Option<&'static str> {
    match data_type {
        DataType::Binary | DataType::FixedSizeBinary(_) => {
            Some("CSV has no place for binary values")
        }
        DataType::Interval(_) | DataType::Duration(_) => {
            Some("CSV has no spelling of an interval that reads back")
        }
        DataType::List(_)
        | DataType::FixedSizeList(..)
        | DataType::Struct(_)
        | DataType::Map(..)
        | DataType::Union(..) => Some("CSV has no place for nested values"),
        _ => None,
    }
}

impl CsvFile {
    /// Begins a file with the header, if one is wanted.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn create(file: File, schema: &Schema, options: &CsvWrite) -> std::io::Result<Self> {
        let mut csv = Self {
            output: Output::new(file, options.compression)?,
            buffer: Vec::with_capacity(FLUSH_BYTES * 2),
            options: options.clone(),
        };
        if options.header {
            for (index, field) in schema.fields().iter().enumerate() {
                csv.separate(index);
                csv.text(field.name());
            }
            csv.buffer.push(b'\n');
        }
        Ok(csv)
    }

    /// Adds rows of the file's columns.
    ///
    /// # Errors
    /// Where a value cannot be spelt, or the file cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let options = FormatOptions::new().with_display_error(false);
        let columns = batch.columns().iter();
        let columns: Vec<_> = columns
            .map(|column| {
                let is_text = matches!(column.data_type(), DataType::Utf8);
                ArrayFormatter::try_new(column.as_ref(), &options)
                    .map(|formatter| (column, formatter, is_text))
            })
            .collect::<Result<_, _>>()?;
        let mut spelt = String::new();
        for row in 0..batch.num_rows() {
            for (index, (column, formatter, is_text)) in columns.iter().enumerate() {
                self.separate(index);
                if column.is_null(row) {
                    self.buffer.extend_from_slice(self.options.null_value.as_bytes());
                    continue;
                }
                spelt.clear();
                formatter.value(row).write(&mut spelt)?;
                if *is_text || spelt == self.options.null_value {
                    self.text(&spelt);
                } else {
                    self.field(&spelt);
                }
            }
            self.buffer.push(b'\n');
            if self.buffer.len() >= FLUSH_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Ends the file; it is not synced yet.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn finish(mut self) -> std::io::Result<File> {
        self.flush()?;
        self.output.finish()
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.output.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.buffer.push(self.options.delimiter);
        }
    }

    fn text(&mut self, text: &str) {
        if text.is_empty() || text == self.options.null_value {
            self.quoted(text)
        } else {
            self.field(text)
        }
    }

    fn field(&mut self, text: &str) {
        let CsvWrite { delimiter, quote, escape, .. } = self.options;
        // Some readers know an escape without quotes as well.
        let special =
            |b: u8| b == delimiter || b == quote || Some(b) == escape || matches!(b, b'\n' | b'\r');
        if text.bytes().any(special) {
            self.quoted(text)
        } else {
            self.buffer.extend_from_slice(text.as_bytes())
        }
    }

    fn quoted(&mut self, text: &str) {
        let CsvWrite { quote, escape, .. } = self.options;
        let escape = escape.unwrap_or(quote);
        self.buffer.push(quote);
        let mut rest = text.as_bytes();
        while let Some(at) = memchr::memchr2(quote, escape, rest) {
            self.buffer.extend_from_slice(&rest[..at]);
            self.buffer.extend_from_slice(&[escape, rest[at]]);
            rest = &rest[at + 1..];
        }
        self.buffer.extend_from_slice(rest);
        self.buffer.push(quote);
    }
}
