//! Parquet: schemas of several files made one, batches with only the columns asked for, and writing.

mod read;
mod write;

use std::collections::BTreeMap;
use std::fs::File;
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
use super::listing::SourceFile;
use super::plain;
use crate::name::ColumnName;

pub use self::read::ParquetBatches;
pub use self::write::ParquetFile;
pub use self::write::Written;
pub use self::write::unsupported;

/// The columns of all files. A name has one type in all of them, or a declared one.
///
/// # Errors
/// Where a file is no Parquet, where a name has several types and no hint, and where files differ without `merge_schema`.
pub fn infer(
    files: &[SourceFile],
    merge_schema: bool,
    hints: &BTreeMap<ColumnName, DataType>,
) -> Result<SourceSchema, StorageError> {
    let mut columns: Vec<(Field, &SourceFile)> = Vec::new();
    let mut rows = 0_u64;
    for file in files {
        let footer = footer(file)?;
        rows += footer_rows(&footer);
        let schema = plain::plain_schema(footer.schema());
        for field in schema.fields() {
            match columns.iter().find(|(known, _)| known.name() == field.name()) {
                None if !merge_schema && file != &files[0] => {
                    let what = format!("`{}` has no such column", files[0].path.display());
                    return Err(differs(file, field.name(), what));
                }
                None => columns.push((field.as_ref().clone().with_nullable(true), file)),
                Some((known, first)) => {
                    let hinted = hints.keys().any(|name| name.as_str() == field.name());
                    if known.data_type() != field.data_type() && !hinted {
                        let what = format!(
                            "it is {} here and {} in `{}`",
                            field.data_type(),
                            known.data_type(),
                            first.path.display()
                        );
                        return Err(StorageError::data(&file.path, DataPlace::column(field.name()), what)
                            .hint("declare one type for it in `schema_hints`; values that do not fit are an error"));
                    }
                }
            }
        }
        if !merge_schema
            && let Some((lacking, _)) =
                columns.iter().find(|(known, _)| schema.column_with_name(known.name()).is_none())
        {
            let what = format!("this file lacks it; `{}` has it", files[0].path.display());
            return Err(differs(file, lacking.name(), what));
        }
    }
    let fields = columns.into_iter().map(|(field, _)| {
        let hint = hints
            .iter()
            .find(|(name, _)| name.as_str() == field.name())
            .map(|(_, hint)| hint.clone());
        if let Some(hint) = hint { field.with_data_type(hint) } else { field }
    });
    Ok(SourceSchema {
        columns: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
        rows: Some(rows),
    })
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

fn footer_rows(footer: &ArrowReaderMetadata) -> u64 {
    u64::try_from(footer.metadata().file_metadata().num_rows()).unwrap_or(0)
}

fn differs(file: &SourceFile, column: &str, what: String) -> StorageError {
    StorageError::data(&file.path, DataPlace::column(column), what)
        .hint("`merge_schema: true` takes the columns of all files; what a file lacks is NULL")
}

fn footer(file: &SourceFile) -> Result<ArrowReaderMetadata, StorageError> {
    let open = file.open()?;
    load(&open, file)
}

fn load(open: &File, file: &SourceFile) -> Result<ArrowReaderMetadata, StorageError> {
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
pub fn open_footer(open: &File) -> Result<ArrowReaderMetadata, ParquetError> {
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
