//! Avro object container files: <https://avro.apache.org/docs/1.12.0/specification/#object-container-files>.

mod blocks;
mod shape;

use std::fs::File;
use std::io::BufReader;
use std::io::BufWriter;

use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use arrow_avro::codec::Tz;
use arrow_avro::compression::CompressionCodec;
use arrow_avro::errors::AvroError;
use arrow_avro::reader::ReaderBuilder;
use arrow_avro::writer::AvroWriter;
use arrow_avro::writer::WriterBuilder;
use arrow_avro::writer::format::AvroOcfFormat;

use crate::flow::AvroCompression;
use crate::flow::AvroWrite;
use crate::storage::DataPlace;
use crate::storage::SourceSchema;
use crate::storage::StorageError;
use crate::storage::listing::SourceFile;
use crate::storage::tabular::Batches;

/// The columns of a file, and the rows of all its blocks.
///
/// # Errors
/// Where it cannot be opened, or is no whole Avro file.
pub fn look(file: &SourceFile) -> Result<SourceSchema, StorageError> {
    let rows = count(file)?;
    let reader = reader().build(BufReader::new(file.open()?));
    let reader = reader.map_err(|error| no_avro(file, &error.to_string()))?;
    Ok(SourceSchema { columns: reader.schema(), rows: Some(rows) })
}

/// Opens a file for the columns of `schema`; those that it lacks are NULL.
///
/// # Errors
/// As [`look`].
pub fn open(
    file: &SourceFile,
    schema: &SchemaRef,
    batch_rows: usize,
) -> Result<Batches, StorageError> {
    let rows = count(file)?;
    let input = BufReader::with_capacity(1 << 20, file.open()?);
    let reader = reader().with_batch_size(batch_rows).build(input);
    let reader = reader.map_err(|error| no_avro(file, &error.to_string()))?;
    let read = reader.map(|batch| Ok(batch?));
    Ok(Batches::new(file, schema, batch_rows, Box::new(read)).due(rows))
}

fn reader() -> ReaderBuilder {
    ReaderBuilder::new().with_tz(Tz::Utc)
}

fn no_avro(file: &SourceFile, what: &str) -> StorageError {
    let what = format!("it is no whole Avro file: {what}");
    StorageError::data(&file.path, DataPlace::default(), what)
        .hint("a file that is still being written, or was cut, lacks rows")
}

/// The rows of all blocks.
fn count(file: &SourceFile) -> Result<u64, StorageError> {
    let mut input = BufReader::with_capacity(1 << 20, file.open()?);
    blocks::check(&mut input, file.size).map_err(|error| no_avro(file, &error.to_string()))
}

/// Why a column cannot be Avro, where it cannot.
#[must_use]
pub fn unsupported(data_type: &DataType) -> Option<&'static str> {
    let probe = |data_type: &DataType| {
        let schema = Schema::new(vec![Field::new("c", data_type.clone(), true)]);
        AvroWriter::new(Vec::new(), schema).is_ok()
    };
    match data_type {
        DataType::Null => Some("it has no type: all its values are NULL; cast it to one"),
        DataType::UInt64 => {
            Some("Avro has no whole numbers beyond 63 bits and a sign; cast it to `decimal(20,0)`")
        }
        DataType::Struct(fields) if fields.iter().any(|field| !is_name(field.name())) => {
            Some("a field in it has a name that Avro does not have")
        }
        DataType::Struct(fields) => fields.iter().find_map(|field| unsupported(field.data_type())),
        DataType::List(item) | DataType::FixedSizeList(item, _) => unsupported(item.data_type()),
        other if !probe(other) => Some("Avro has no place for it"),
        _ => None,
    }
}

/// Whether Avro has the name; the library would write another one without a word.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(is_part) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// An Avro file that grows.
#[derive(Debug)]
pub struct AvroFile(AvroWriter<BufWriter<File>>);

impl AvroFile {
    /// Begins a file.
    ///
    /// # Errors
    /// Where it cannot be written, or the schema cannot be Avro.
    pub fn create(file: File, schema: &SchemaRef, options: &AvroWrite) -> Result<Self, AvroError> {
        let codec = match options.compression {
            AvroCompression::None => None,
            AvroCompression::Deflate => Some(CompressionCodec::Deflate),
            AvroCompression::Snappy => Some(CompressionCodec::Snappy),
            AvroCompression::Zstd => Some(CompressionCodec::ZStandard),
            AvroCompression::Bzip2 => Some(CompressionCodec::Bzip2),
            AvroCompression::Xz => Some(CompressionCodec::Xz),
        };
        let output = BufWriter::with_capacity(1 << 20, file);
        let builder = WriterBuilder::new(schema.as_ref().clone()).with_compression(codec);
        builder.build::<_, AvroOcfFormat>(output).map(Self)
    }

    /// Adds rows, as a block.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), AvroError> {
        self.0.write(batch)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn finish(mut self) -> Result<File, AvroError> {
        self.0.finish()?;
        let file = self.0.into_inner().into_inner();
        file.map_err(|error| AvroError::from(error.into_error()))
    }
}
