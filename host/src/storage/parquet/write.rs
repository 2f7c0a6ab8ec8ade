//! Batches to Parquet.

use std::fs::File;

use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use arrow::datatypes::IntervalUnit;
use arrow::datatypes::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::WriterProperties;

use crate::flow::Compression;
use crate::flow::ParquetWrite;

/// A Parquet file that grows.
#[derive(Debug)]
pub struct ParquetFile {
    writer: ArrowWriter<File>,
    /// The same file: the writer does not give its own back once it has ended it.
    file: File,
    target_bytes: u64,
}

/// A Parquet file that is complete.
#[derive(Debug)]
pub struct Written {
    /// The file, not synced yet.
    pub file: File,
    /// Its footer.
    pub footer: ParquetMetaData,
}

/// Encoded bytes of a row group after which it is written out. Bounds the memory of an open file.
const ROW_GROUP_BYTES: usize = 64 * 1024 * 1024;

/// Why a column of this type cannot be Parquet, where it cannot.
#[must_use]
pub fn unsupported(data_type: &DataType) -> Option<&'static str> {
    match data_type {
        DataType::Null => Some("it has no type: all its values are NULL; cast it to one"),
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            Some("Parquet has no place for intervals with nanoseconds")
        }
        DataType::Union(..) => Some("Parquet has no place for unions"),
        DataType::Struct(fields) if fields.is_empty() => {
            Some("Parquet has no place for objects without fields")
        }
        DataType::Struct(fields) => fields.iter().find_map(|field| unsupported(field.data_type())),
        DataType::List(item) | DataType::FixedSizeList(item, _) | DataType::Map(item, _) => {
            unsupported(item.data_type())
        }
        _ => None,
    }
}

impl ParquetFile {
    /// Begins a file.
    ///
    /// # Errors
    /// Where the schema cannot be Parquet.
    pub fn create(
        file: File,
        schema: SchemaRef,
        options: &ParquetWrite,
    ) -> Result<Self, ParquetError> {
        let compression = match options.compression {
            Compression::None => basic::Compression::UNCOMPRESSED,
            Compression::Snappy => basic::Compression::SNAPPY,
            Compression::Zstd(level) => {
                basic::Compression::ZSTD(basic::ZstdLevel::try_new(level.into())?)
            }
            Compression::Gzip(level) => {
                basic::Compression::GZIP(basic::GzipLevel::try_new(level.into())?)
            }
            Compression::Lz4 => basic::Compression::LZ4_RAW,
        };
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_created_by(concat!("wasmhost version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
            .build();
        let writer = ArrowWriter::try_new(file.try_clone()?, schema, Some(properties))?;
        Ok(Self { writer, file, target_bytes: options.target_file_size })
    }

    /// Adds rows; true where the file is as large as it should be.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<bool, ParquetError> {
        self.writer.write(batch)?;
        let bytes = self.writer.bytes_written() + self.writer.in_progress_size();
        Ok(bytes as u64 >= self.target_bytes)
    }

    /// Bytes of memory that rows not yet written out take.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.writer.memory_size()
    }

    /// Writes out the rows held in memory as a row group.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn flush(&mut self) -> Result<(), ParquetError> {
        self.writer.flush()
    }

    /// Ends the file; it is not synced yet.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn finish(mut self) -> Result<Written, ParquetError> {
        let footer = self.writer.finish()?;
        Ok(Written { file: self.file, footer })
    }
}
