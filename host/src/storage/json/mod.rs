//! JSON lines: one object a line. Inference reads every line; what a batch then meets that it did not know is an error.

mod infer;
mod read;
mod write;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufRead;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::Schema;

use self::infer::Kind;
use super::DataPlace;
use super::SourceSchema;
use super::StorageError;
use super::listing::SourceFile;
use crate::flow::JsonlRead;
use crate::name::ColumnName;

pub use self::read::JsonlBatches;
pub use self::write::JsonlFile;
pub use self::write::unspeakable;
pub use self::write::unsupported;

/// The columns of all files: every key, in the order first seen, with the type of `hints`, else what all values allow.
///
/// # Errors
/// Where a line is no object, and where a key is an object or a list in one line and something else in another.
pub fn infer(
    files: &[SourceFile],
    options: &JsonlRead,
    hints: &BTreeMap<ColumnName, DataType>,
) -> Result<SourceSchema, StorageError> {
    let mut known: Vec<(String, Kind)> = Vec::new();
    let hint =
        |name: &str| hints.iter().find(|(hinted, _)| hinted.as_str() == name).map(|(_, hint)| hint);
    let mut rows = 0_u64;
    for file in files {
        let mut lines = Lines::open(file)?;
        while options.infer_schema_rows.is_none_or(|limit| rows < limit as u64) && lines.next()? {
            rows += 1;
            let mut object = infer::object(&lines.text).map_err(|what| lines.wrong(what))?;
            // A declared type is not up for inference; its key still has its place.
            for (name, _) in object.0.iter().filter(|(name, _)| hint(name).is_some()) {
                if known.iter().all(|(known, _)| known != name) {
                    known.push((name.clone(), Kind::Nothing));
                }
            }
            object.0.retain(|(name, _)| hint(name).is_none());
            infer::look_fields(&mut known, &object.0, "").map_err(|conflict| {
                let at =
                    DataPlace { line: Some(lines.line), row: None, column: Some(conflict.key) };
                StorageError::data(&lines.path, at, conflict.what).hint(
                    "one key has one shape in all lines; mend the data, or transform it before",
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

/// The lines of a file that are not blank.
#[derive(Debug)]
struct Lines {
    path: PathBuf,
    input: BufReader<File>,
    /// The current line's number, from 1.
    line: u64,
    text: String,
}

impl Lines {
    fn open(file: &SourceFile) -> Result<Self, StorageError> {
        let input = BufReader::with_capacity(256 * 1024, file.open()?);
        Ok(Self { path: file.path.clone(), input, line: 0, text: String::new() })
    }

    fn next(&mut self) -> Result<bool, StorageError> {
        loop {
            let mut bytes = std::mem::take(&mut self.text).into_bytes();
            bytes.clear();
            let read = self
                .input
                .read_until(b'\n', &mut bytes)
                .map_err(StorageError::io(&self.path, "read it"))?;
            if read == 0 {
                return Ok(false);
            }
            self.line += 1;
            let text = String::from_utf8(bytes)
                .map_err(|_| self.wrong("the text is not UTF-8".to_owned()))?;
            self.text = match text.strip_prefix('\u{feff}') {
                Some(rest) if self.line == 1 => rest.to_owned(),
                _ => text,
            };
            if !self.text.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    fn wrong(&self, what: String) -> StorageError {
        StorageError::data(&self.path, DataPlace::line(self.line), what)
            .hint("JSON lines have one whole object a line, and no list around them")
    }
}
