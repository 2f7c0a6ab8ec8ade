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
    /// Reads the names of the folders between `root` and the files. `own` are the columns that the files have themselves.
    pub(super) fn read(
        source: &Source,
        root: &Path,
        files: &[SourceFile],
        own: &Schema,
    ) -> Result<Self, StorageError> {
        let named = |file: &SourceFile| {
            let folder = file.path.parent().and_then(|folder| folder.strip_prefix(root).ok());
            partition::named(folder.unwrap_or(Path::new("")))
        };
        let Some(first) = files.first() else { return Ok(Self::default()) };
        let names: Vec<String> = named(first).into_iter().map(|(name, _)| name).collect();
        let mut columns: Vec<Field> = Vec::new();
        for name in &names {
            let wrong = |what: String, hint: &str| {
                Err(StorageError::data(&first.path, DataPlace::column(name), what).hint(hint))
            };
            if columns.iter().any(|column| column.name() == name) {
                return wrong("two folders above the file have this name".to_owned(), "rename one");
            }
            if own.column_with_name(name).is_some() {
                let hint =
                    "name the files by a glob below that folder, or a file that lacks the column";
                return wrong("the file has it, and a folder's name as well".to_owned(), hint);
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

    /// Where rows come from, where the flow names these columns and the files do not have them.
    pub(super) fn add_lineage(&mut self, source: &Source, files: &[SourceFile], own: &Schema) {
        let wanted = |name: &str| {
            let is_named = source.columns.iter().flatten().any(|named| named.as_str() == name);
            is_named && own.column_with_name(name).is_none() && self.place(name).is_none()
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
