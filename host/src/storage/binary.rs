//! Any files, a row a file, read only: path, time, length, content.

use std::io::Read as _;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::BinaryArray;
use arrow::array::Int64Array;
use arrow::array::RecordBatch;
use arrow::array::StringArray;
use arrow::array::TimestampMicrosecondArray;
use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;

use super::Cause;
use super::DataPlace;
use super::SourceSchema;
use super::StorageError;
use super::listing::SourceFile;
use super::tabular::Batches;
use super::text::utc;

const PATH: &str = "path";
const MODIFIED: &str = "modificationTime";
const LENGTH: &str = "length";
const CONTENT: &str = "content";

/// What a column of bytes holds.
const CONTENT_BYTES_MAX: u64 = i32::MAX as u64;

/// The columns, which all files have, and the one row.
///
/// # Errors
/// None; a file is looked at when it is read.
pub fn look(_: &SourceFile) -> Result<SourceSchema, StorageError> {
    Ok(SourceSchema { columns: columns(), rows: Some(1) })
}

/// A file as a row. Its content is read only where it is wanted.
///
/// # Errors
/// Where the file has changed since it was listed, or its content is wanted and too long for a value.
pub fn open(
    file: &SourceFile,
    schema: &SchemaRef,
    batch_rows: usize,
) -> Result<Batches, StorageError> {
    let mut open = file.open()?;
    let wants_content = schema.column_with_name(CONTENT).is_some();
    if wants_content && file.size > CONTENT_BYTES_MAX {
        let what = format!("{} bytes are more than a value holds, which is 2 GiB", file.size);
        return Err(StorageError::data(&file.path, DataPlace::column(CONTENT), what)
            .hint("leave `content` out of `columns`, or the file out by `path_glob_filter`"));
    }
    let listed = file.clone();
    let mut row = move || -> Result<RecordBatch, Cause> {
        let modified = TimestampMicrosecondArray::from(vec![listed.modified_micros()]);
        let modified = modified.with_timezone("UTC");
        let mut row: Vec<(&str, ArrayRef)> = vec![
            (PATH, Arc::new(StringArray::from(vec![listed.path.to_string_lossy().as_ref()]))),
            (MODIFIED, Arc::new(modified)),
            (LENGTH, Arc::new(Int64Array::from(vec![i64::try_from(listed.size)?]))),
        ];
        if wants_content {
            let mut content = Vec::with_capacity(usize::try_from(listed.size)?);
            (&mut open).take(listed.size + 1).read_to_end(&mut content)?;
            if content.len() as u64 != listed.size {
                return Err(format!("it had {} bytes when it was listed", listed.size).into());
            }
            row.push((CONTENT, Arc::new(BinaryArray::from(vec![content.as_slice()]))));
        }
        Ok(RecordBatch::try_from_iter(row)?)
    };
    let mut is_read = false;
    let read = std::iter::from_fn(move || (!std::mem::replace(&mut is_read, true)).then(&mut row));
    Ok(Batches::new(file, schema, batch_rows, Box::new(read)))
}

fn columns() -> SchemaRef {
    let field = |name, of| Field::new(name, of, true);
    Arc::new(Schema::new(vec![
        field(PATH, DataType::Utf8),
        field(MODIFIED, utc()),
        field(LENGTH, DataType::Int64),
        field(CONTENT, DataType::Binary),
    ]))
}
