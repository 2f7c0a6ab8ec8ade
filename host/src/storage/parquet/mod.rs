//! Parquet: what footers tell, batches with only the columns asked for, and writing.

mod group;
mod read;
mod write;

use std::sync::Arc;

use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use arrow::datatypes::TimeUnit;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::basic::Type;
use parquet::errors::ParquetError;

use super::DataPlace;
use super::SourceSchema;
use super::StorageError;
use super::address::FileRead;
use super::listing::SourceFile;
use super::plain;

pub use self::group::Group;
pub use self::group::Names;
pub use self::group::bounds;
pub use self::read::Choice;
pub use self::read::choose;
pub use self::read::open;
pub use self::read::open_part;
pub use self::read::reader;
pub use self::write::ParquetFile;
pub use self::write::Written;
pub use self::write::unsupported;

/// The columns and the number of rows that a file's footer tells.
///
/// # Errors
/// Where the file is no Parquet.
pub fn look(file: &SourceFile) -> Result<SourceSchema, StorageError> {
    let footer = footer(file)?;
    let columns = SchemaRef::clone(footer.schema());
    Ok(SourceSchema { columns, rows: Some(footer_rows(&footer)) })
}

/// The number of rows that a file's footer tells.
///
/// # Errors
/// Where the file is no Parquet.
pub fn rows(file: &SourceFile) -> Result<u64, StorageError> {
    footer(file).map(|footer| footer_rows(&footer))
}

/// The columns of one file, as plain arrays have them.
///
/// # Errors
/// Where the file is no Parquet.
pub fn schema(file: &SourceFile) -> Result<SchemaRef, StorageError> {
    footer(file).map(|footer| plain::plain_schema(footer.schema()))
}

/// The number of rows that a footer tells.
#[must_use]
pub fn footer_rows(footer: &ArrowReaderMetadata) -> u64 {
    u64::try_from(footer.metadata().file_metadata().num_rows()).unwrap_or(0)
}

fn footer(file: &SourceFile) -> Result<ArrowReaderMetadata, StorageError> {
    let open = file.open()?;
    load(&open, file)
}

/// Reads the footer of a file that was listed, and is open.
///
/// # Errors
/// Where the file is no Parquet.
pub fn load(open: &FileRead, file: &SourceFile) -> Result<ArrowReaderMetadata, StorageError> {
    open_footer(open).map_err(|error| {
        let what = format!("it is no Parquet file: {error}");
        StorageError::data(&file.path, DataPlace::default(), what)
            .hint("a file that is still being written has no footer yet")
    })
}

/// Reads the footer. The old 96-bit timestamps come as microseconds, also within columns: their years need not fit nanoseconds.
///
/// # Errors
/// Where the file is no Parquet.
pub fn open_footer(open: &FileRead) -> Result<ArrowReaderMetadata, ParquetError> {
    let first = ArrowReaderMetadata::load(open, ArrowReaderOptions::default())?;
    let columns = first.parquet_schema().columns().iter();
    let old = columns.filter(|column| column.physical_type() == Type::INT96);
    let old: Vec<&str> =
        old.filter_map(|column| Some(column.path().parts().first()?.as_str())).collect();
    if old.is_empty() {
        return Ok(first);
    }
    let field = |field: &Arc<Field>| match old.contains(&field.name().as_str()) {
        true => micros(field),
        false => Arc::clone(field),
    };
    let schema = Schema::new(first.schema().fields().iter().map(field).collect::<Vec<_>>());
    ArrowReaderMetadata::load(open, ArrowReaderOptions::default().with_schema(Arc::new(schema)))
}

/// A field whose timestamps in nanoseconds are in microseconds.
fn micros(field: &Arc<Field>) -> Arc<Field> {
    let data_type = match field.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
        }
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(micros).collect()),
        DataType::List(item) => DataType::List(micros(item)),
        DataType::Map(entries, sorted) => DataType::Map(micros(entries), *sorted),
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}
