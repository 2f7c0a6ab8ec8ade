//! Columns that are not in files: those that the names of folders tell, as in `year=2013/month=01/part-0.parquet` (text, unless a
//! type is declared), and where a row comes from, on request.

use std::path::Path;
use std::sync::Arc;

use arrow::array::Array as _;
use arrow::array::ArrayRef;
use arrow::array::RecordBatch;
use arrow::array::RecordBatchOptions;
use arrow::array::StringArray;
use arrow::array::TimestampMicrosecondArray;
use arrow::array::UInt32Array;
use arrow::array::new_null_array;
use arrow::compute::take;
use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

use crate::flow::Source;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::listing::SourceFile;
use crate::storage::partition;
use crate::storage::partition::Values;
use crate::storage::text::utc;

const FILE_PATH: &str = "__file_path";
const FILE_MODIFIED: &str = "__file_modification_time";

/// The columns, and their values for each file.
#[derive(Debug, Clone, Default)]
pub(super) struct Folders {
    pub(super) columns: Vec<Field>,
    /// For each file a value a column, as an array of one row.
    values: Vec<Vec<ArrayRef>>,
}

impl Folders {
    /// Reads the names of the folders between `root` and the files.
    pub(super) fn read(
        source: &Source,
        root: &Path,
        files: &[SourceFile],
    ) -> Result<Self, StorageError> {
        let named = |file: &SourceFile| {
            let folder = file.path.parent().and_then(|folder| folder.strip_prefix(root).ok());
            partition::named(folder.unwrap_or(Path::new("")))
        };
        let Some(first) = files.first() else { return Ok(Self::default()) };
        let names: Vec<String> = named(first).into_iter().map(|(name, _)| name).collect();
        let mut columns: Vec<Field> = Vec::new();
        for name in &names {
            if columns.iter().any(|column| column.name() == name) {
                let what = "two folders above the file have this name";
                let error = StorageError::data(&first.path, DataPlace::column(name), what);
                return Err(error.hint("rename one"));
            }
            let hint = source.schema_hints.iter().find(|(hinted, _)| hinted.as_str() == name);
            let data_type = hint.map_or(DataType::Utf8, |(_, hint)| hint.clone());
            columns.push(Field::new(name, data_type, true));
        }
        let values = files.iter().map(|file| {
            let found = named(file);
            if found.iter().map(|(name, _)| name).ne(&names) {
                let list = |names: Vec<&str>| match names.as_slice() {
                    [] => "none".to_owned(),
                    names => names.join(", "),
                };
                let what = format!(
                    "its folders name the columns {}, those of `{}` name {}",
                    list(found.iter().map(|(name, _)| name.as_str()).collect()),
                    first.path.display(),
                    list(names.iter().map(String::as_str).collect()),
                );
                return Err(StorageError::data(&file.path, DataPlace::default(), what)
                    .hint("all files of a source lie below folders of the same names"));
            }
            let values = columns.iter().zip(found);
            values
                .map(|(column, (_, value))| one(column, value, file, "the folder's name"))
                .collect()
        });
        let values = values.collect::<Result<_, _>>()?;
        Ok(Self { columns, values })
    }

    /// Whether files and their folders name different columns; `own` are those of the files.
    pub(super) fn check_apart(&self, own: &Schema, first: &SourceFile) -> Result<(), StorageError> {
        let Some(both) = self.columns.iter().find(|it| own.column_with_name(it.name()).is_some())
        else {
            return Ok(());
        };
        let what = "the file has it, and a folder's name as well";
        let error = StorageError::data(&first.path, DataPlace::column(both.name()), what);
        Err(error
            .hint("name the files by a glob below that folder, or a file that lacks the column"))
    }

    /// The columns.
    pub(super) fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.columns.clone()))
    }

    /// The value that all rows of a file have, in an array of one row, where the column is one of these.
    pub(super) fn value(&self, file: usize, column: &str) -> Option<&ArrayRef> {
        self.values.get(file)?.get(self.place(column)?)
    }

    /// Leaves files out, a flag for each.
    pub(super) fn retain(&mut self, kept: &[bool]) {
        let mut kept = kept.iter();
        self.values.retain(|_| kept.next().copied().unwrap_or_default());
    }

    /// The partition columns of a table, whose log has their values for each file.
    pub(super) fn of_table(
        columns: Vec<Field>,
        values: Vec<Values>,
        files: &[SourceFile],
    ) -> Result<Self, StorageError> {
        let values = values.into_iter().zip(files).map(|(values, file)| {
            let values = columns.iter().zip(values);
            values.map(|(column, value)| one(column, value, file, "the log")).collect()
        });
        let values = values.collect::<Result<_, _>>()?;
        Ok(Self { columns, values })
    }

    /// Whether a column tells where rows come from.
    pub(super) fn is_lineage(name: &str) -> bool {
        [FILE_PATH, FILE_MODIFIED].contains(&name)
    }

    /// Whether `*` means a column, or the flow names it: where rows come from is told on request, and a filter may look at it.
    pub(super) fn is_shown(source: &Source, name: &str) -> bool {
        let is_named = || source.columns.iter().flatten().any(|named| named.as_str() == name);
        !Self::is_lineage(name) || is_named()
    }

    /// Where rows come from, where somebody may ask for it and the files do not have columns of these names.
    pub(super) fn add_lineage(&mut self, source: &Source, files: &[SourceFile], own: &Schema) {
        let wanted = |name: &str| {
            let is_asked = source.filter.is_some() || Self::is_shown(source, name);
            is_asked && own.column_with_name(name).is_none() && self.place(name).is_none()
        };
        let (path, modified) = (wanted(FILE_PATH), wanted(FILE_MODIFIED));
        if path {
            self.columns.push(Field::new(FILE_PATH, DataType::Utf8, true));
        }
        if modified {
            self.columns.push(Field::new(FILE_MODIFIED, utc(), true));
        }
        for (values, file) in self.values.iter_mut().zip(files) {
            if path {
                let path = file.path.to_string_lossy();
                values.push(Arc::new(StringArray::from(vec![path.as_ref()])));
            }
            if modified {
                let micros = TimestampMicrosecondArray::from(vec![file.modified_micros()]);
                values.push(Arc::new(micros.with_timezone("UTC")));
            }
        }
    }

    /// The columns of a schema that files have themselves.
    pub(super) fn without(&self, schema: &SchemaRef) -> SchemaRef {
        if self.columns.is_empty() {
            return Arc::clone(schema);
        }
        let own = schema.fields().iter().filter(|field| self.place(field.name()).is_none());
        Arc::new(Schema::new(own.cloned().collect::<Vec<_>>()))
    }

    /// Rows of a file's own columns with the folders' among them, as `schema` has them; what was not read is NULL.
    pub(super) fn beside(
        &self,
        file: usize,
        rows: RecordBatch,
        schema: &SchemaRef,
    ) -> Result<RecordBatch, ArrowError> {
        if rows.schema_ref() == schema {
            return Ok(rows);
        }
        let count = rows.num_rows();
        let columns = schema.fields().iter().map(|field| match self.place(field.name()) {
            Some(place) => {
                let value = &self.values[file][place];
                debug_assert_eq!(value.len(), 1);
                take(value, &UInt32Array::from_value(0, count), None)
            }
            None => Ok(match rows.column_by_name(field.name()) {
                Some(column) => Arc::clone(column),
                None => new_null_array(field.data_type(), count),
            }),
        });
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let columns = columns.collect::<Result<_, _>>()?;
        RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name() == name)
    }
}

/// A value for all rows of a file, as an array of one row.
fn one(
    column: &Field,
    value: Option<String>,
    file: &SourceFile,
    said_by: &str,
) -> Result<ArrayRef, StorageError> {
    let Some(value) = value else { return Ok(new_null_array(column.data_type(), 1)) };
    partition::read(&value, column.data_type()).map_err(|misfit| {
        let what = format!("{said_by}: {}", misfit.what);
        StorageError::data(&file.path, DataPlace::column(column.name()), what)
    })
}
