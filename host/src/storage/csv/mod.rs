//! CSV (RFC 4180, also with other delimiters): headers, inference over the whole text, batches, and writing.
//!
//! What is NULL: an empty field, and a field whose text is one of `null_values`, quoted or not; but a quoted empty field (`""`)
//! is empty text in a text column. (Arrow's own reader cannot tell the two apart and takes both for NULL.) Header names are
//! kept as they are, blanks included.

mod read;
mod records;
mod write;

use std::collections::BTreeMap;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::Schema;

use self::records::Record;
use self::records::RecordError;
use self::records::Records;
use super::DataPlace;
use super::SourceSchema;
use super::StorageError;
use super::listing::SourceFile;
use super::text::Guess;
use super::text::input;
use super::text::input::Input;
use crate::flow::CsvRead;
use crate::name::ColumnName;

pub use self::read::CsvBatches;
pub use self::write::CsvFile;
pub use self::write::unsupported;

/// The columns of all files, and their types: those of `hints`, else what all values allow.
///
/// # Errors
/// Where a file is no CSV, where headers are empty, repeat a name, or differ among files without `merge_schema`.
pub fn infer(
    files: &[SourceFile],
    options: &CsvRead,
    merge_schema: bool,
    hints: &BTreeMap<ColumnName, DataType>,
) -> Result<SourceSchema, StorageError> {
    let mut names: Vec<String> = Vec::new();
    let mut guesses: Vec<Guess> = Vec::new();
    let mut rows = 0_u64;
    for file in files {
        let mut text = Text::open(file, options)?;
        if names.is_empty() {
            names.clone_from(&text.names);
        } else if !merge_schema {
            same_columns(&files[0].path, &names, &file.path, &text.names)?;
        }
        let places: Vec<usize> = text
            .names
            .iter()
            .map(|name| {
                names.iter().position(|known| known == name).unwrap_or_else(|| {
                    names.push(name.clone());
                    names.len() - 1
                })
            })
            .collect();
        guesses.resize(names.len(), Guess::default());
        while options.infer_schema_rows.is_none_or(|limit| rows < limit as u64) && text.next()? {
            rows += 1;
            for (index, place) in places.iter().enumerate() {
                // A quoted empty field says nothing of the type: some exports quote everything.
                if let Some(value) = text.value(index).filter(|value| !value.is_empty()) {
                    guesses[*place].look(value);
                }
            }
        }
    }
    let fields = names.iter().zip(guesses).map(|(name, guess)| {
        let hint = hints.iter().find(|(hinted, _)| hinted.as_str() == name);
        Field::new(name, hint.map_or_else(|| guess.data_type(), |(_, hint)| hint.clone()), true)
    });
    let columns = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    Ok(SourceSchema { columns, rows: options.infer_schema_rows.is_none().then_some(rows) })
}

/// A CSV file past its header: records that have all fields, and which of them are NULL.
#[derive(Debug)]
pub(super) struct Text {
    file: SourceFile,
    names: Vec<String>,
    records: Records<Input>,
    record: Record,
    nulls: Vec<String>,
    /// A record that was read to count the columns of a file without a header.
    ahead: bool,
    /// Who says how many fields a record has.
    said_by: &'static str,
}

impl Text {
    fn open(file: &SourceFile, options: &CsvRead) -> Result<Self, StorageError> {
        let records = Records::new(input::open_encoded(file, options.encoding)?, options);
        let (nulls, names) = (options.null_values.clone(), Vec::new());
        let mut text = Self {
            file: file.clone(),
            names,
            records,
            record: Record::default(),
            nulls,
            ahead: false,
            said_by: "the header",
        };
        if !text.record()? {
            let what =
                if options.header { "it is empty: not even a header" } else { "it is empty" };
            let hint = "a file without rows has a header; leave out files that have nothing";
            return Err(StorageError::data(&file.path, DataPlace::default(), what).hint(hint));
        }
        if options.header {
            text.names = (0..text.record.len())
                .filter_map(|i| text.record.get(i))
                .map(|(name, _)| name.to_owned())
                .collect();
            check_names(&file.path, &text.names)?;
        } else if let Some(names) = &options.names {
            text.names = names.iter().map(ToString::to_string).collect();
            text.said_by = "`schema`";
            text.ahead = true;
            text.check_whole()?;
        } else {
            text.names = (1..=text.record.len()).map(|n| format!("column_{n}")).collect();
            text.said_by = "the first one";
            text.ahead = true;
        }
        Ok(text)
    }

    /// Reads the next record; false at the end.
    fn next(&mut self) -> Result<bool, StorageError> {
        if std::mem::take(&mut self.ahead) {
            return Ok(true);
        }
        if !self.record()? {
            return Ok(false);
        }
        self.check_whole()?;
        Ok(true)
    }

    /// Whether the current record has as many fields as there are columns.
    fn check_whole(&self) -> Result<(), StorageError> {
        let (has, due) = (self.record.len(), self.names.len());
        if has == due {
            return Ok(());
        }
        let fields = if has == 1 { "field" } else { "fields" };
        let what = format!("the record has {has} {fields}, {} {due}", self.said_by);
        let error = StorageError::data(&self.file.path, DataPlace::line(self.record.line), what);
        Err(error.hint("a delimiter within a field needs quotes around the field"))
    }

    fn record(&mut self) -> Result<bool, StorageError> {
        self.records.next(&mut self.record).map_err(|error| match error {
            RecordError::Io(source) => StorageError::io(&self.file.path, "read it")(source),
            RecordError::Text { line, what, hint } => {
                let error = StorageError::data(&self.file.path, DataPlace::line(line), what);
                if let Some(hint) = hint { error.hint(hint) } else { error }
            }
        })
    }

    /// The field's value in the current record; `None` for NULL.
    fn value(&self, index: usize) -> Option<&str> {
        let (text, quoted) = self.record.get(index)?;
        let null = (text.is_empty() && !quoted) || self.nulls.iter().any(|null| null == text);
        (!null).then_some(text)
    }
}

fn check_names(path: &Path, names: &[String]) -> Result<(), StorageError> {
    let mut seen = HashSet::new();
    for (index, name) in names.iter().enumerate() {
        let what = match name.as_str() {
            "" => format!("column {} has no name", index + 1),
            name if !seen.insert(name) => format!("the header names `{name}` twice"),
            _ => continue,
        };
        return Err(StorageError::data(path, DataPlace::line(1), what)
            .hint("every column needs a name of its own; `header: false` numbers them"));
    }
    Ok(())
}

fn same_columns(
    first: &Path,
    names: &[String],
    other: &Path,
    others: &[String],
) -> Result<(), StorageError> {
    let missing: Vec<_> = names
        .iter()
        .filter(|name| !others.contains(name))
        .map(|name| format!("lacks `{name}`"))
        .collect();
    let extra = others
        .iter()
        .filter(|name| !names.contains(name))
        .map(|name| format!("has `{name}` besides"));
    let differences: Vec<_> = missing.into_iter().chain(extra).collect();
    if differences.is_empty() {
        return Ok(());
    }
    let what = format!(
        "its columns differ from those of `{}`: it {}",
        first.display(),
        differences.join(", ")
    );
    Err(StorageError::data(other, DataPlace::line(1), what)
        .hint("`merge_schema: true` takes the columns of all files; what a file lacks is NULL"))
}
