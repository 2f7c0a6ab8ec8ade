//! JSON, in lines or as a document. Inference reads every object; what a batch then meets that it did not know is an error.

mod foreseen;
mod infer;
mod read;
mod records;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::Schema;

use self::infer::Kind;
use self::records::Records;
use super::DataPlace;
use super::SourceSchema;
use super::StorageError;
use super::listing::SourceFile;
use crate::flow::JsonRead;
use crate::name::ColumnName;

pub use self::read::JsonBatches;
pub use self::write::JsonFile;
pub use self::write::unspeakable;
pub use self::write::unsupported;

/// How objects lie in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonLayout {
    /// One a line: <https://jsonlines.org>.
    Lines,
    /// In an array, or one alone: <https://www.rfc-editor.org/rfc/rfc8259>.
    Document,
}

/// The columns of all files: every key, in the order first seen, with the type of `hints`, else what all values allow.
///
/// # Errors
/// Where a file has something else than objects, and where a key is an object or a list in one of them and something else in another.
pub fn infer(
    files: &[SourceFile],
    layout: JsonLayout,
    options: &JsonRead,
    hints: &BTreeMap<ColumnName, DataType>,
) -> Result<SourceSchema, StorageError> {
    let mut known: Vec<(String, Kind)> = Vec::new();
    let hint =
        |name: &str| hints.iter().find(|(hinted, _)| hinted.as_str() == name).map(|(_, hint)| hint);
    let mut rows = 0_u64;
    for file in files {
        let mut records = Records::open(file, layout)?;
        while options.infer_schema_rows.is_none_or(|limit| rows < limit as u64) && records.next()? {
            rows += 1;
            let mut object = infer::object(&records.text).map_err(|what| records.wrong(what))?;
            // A declared type is not up for inference; its key still has its place.
            for (name, _) in object.0.iter().filter(|(name, _)| hint(name).is_some()) {
                if known.iter().all(|(known, _)| known != name) {
                    known.push((name.clone(), Kind::Nothing));
                }
            }
            object.0.retain(|(name, _)| hint(name).is_none());
            infer::look_fields(&mut known, &object.0, "").map_err(|conflict| {
                let at =
                    DataPlace { line: Some(records.line), row: None, column: Some(conflict.key) };
                StorageError::data(&records.path, at, conflict.what).hint(
                    "one key has one shape in all objects; mend the data, or transform it before",
                )
            })?;
        }
    }
    let fields = known.iter().map(|(name, kind)| {
        let data_type = hint(name).cloned().unwrap_or_else(|| kind.data_type());
        Field::new(name, data_type, true)
    });
    let columns = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    Ok(SourceSchema { columns, rows: options.infer_schema_rows.is_none().then_some(rows) })
}
