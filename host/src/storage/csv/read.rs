//! CSV to batches: columns by name, whatever their order in the file, parsed strictly.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::RecordBatch;
use arrow::array::RecordBatchOptions;
use arrow::array::StringArray;
use arrow::array::builder::StringBuilder;
use arrow::array::new_null_array;
use arrow::datatypes::DataType;
use arrow::datatypes::FieldRef;
use arrow::datatypes::SchemaRef;

use super::Text;
use crate::flow::CsvRead;
use crate::spelling;
use crate::storage::BATCH_TEXT_BYTES;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::Trust;
use crate::storage::listing::SourceFile;
use crate::storage::text;

/// The batches of one file.
#[derive(Debug)]
pub struct CsvBatches {
    text: Text,
    schema: SchemaRef,
    /// For each column of the schema its field, where this file has it, and whether it is text.
    fields: Vec<Option<(usize, bool)>>,
    /// For each column whether inference may not have seen all values.
    unsure: Vec<bool>,
    batch_rows: usize,
    rows_read: u64,
}

impl CsvBatches {
    /// Opens a file for the columns of `schema`; those that it lacks are NULL.
    ///
    /// # Errors
    /// Where the file cannot be opened or has no header.
    pub fn open(
        file: &SourceFile,
        options: &CsvRead,
        schema: &SchemaRef,
        trust: Trust<'_>,
        batch_rows: usize,
    ) -> Result<Self, StorageError> {
        let text = Text::open(file, options)?;
        let place = |name: &String| text.names.iter().position(|known| known == name);
        let field =
            |field: &FieldRef| Some((place(field.name())?, *field.data_type() == DataType::Utf8));
        let fields = schema.fields().iter().map(field).collect();
        let is_unsure = |field: &FieldRef| trust.is_sampled && !trust.is_declared(field.name());
        let unsure = schema.fields().iter().map(is_unsure).collect();
        Ok(Self { text, schema: Arc::clone(schema), fields, unsure, batch_rows, rows_read: 0 })
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// Where the text is no CSV, and where a value is not of its column's type.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, StorageError> {
        let mut builders: Vec<_> =
            self.fields.iter().map(|field| field.map(|_| StringBuilder::new())).collect();
        let (mut rows, mut bytes) = (0, 0);
        while rows < self.batch_rows && bytes < BATCH_TEXT_BYTES && self.text.next()? {
            rows += 1;
            for (builder, field) in builders.iter_mut().zip(&self.fields) {
                if let (Some(builder), Some((field, is_text))) = (builder, field) {
                    let value =
                        self.text.value(*field).filter(|value| *is_text || !value.is_empty());
                    bytes += value.map_or(0, str::len);
                    builder.append_option(value);
                }
            }
        }
        if rows == 0 {
            return Ok(None);
        }
        let columns = builders.into_iter().zip(self.schema.fields()).enumerate().map(
            |(at, (builder, field))| match builder {
                Some(mut builder) => {
                    let values = builder.finish();
                    if self.unsure[at] {
                        self.check_foreseen(&values, field)?;
                    }
                    self.parsed(&values, field.name(), field.data_type())
                }
                None => Ok(new_null_array(field.data_type(), rows)),
            },
        );
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        self.rows_read += rows as u64;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map(Some)
            .map_err(StorageError::library(&self.text.file.path, "make a batch of its rows"))
    }

    /// Whether all values are of the type that the sample's have, as inference would see them: a parser takes `00501` for 501.
    fn check_foreseen(&self, values: &StringArray, field: &FieldRef) -> Result<(), StorageError> {
        let is_odd =
            |value: Option<&str>| value.is_some_and(|value| !text::is_of(value, field.data_type()));
        let Some(index) = values.iter().position(is_odd) else { return Ok(()) };
        let what = format!(
            "{} is not {}, as in the rows that were looked at",
            text::shown(values.value(index)),
            spelling::spelt(field.data_type())
        );
        let row = Some(self.rows_read + index as u64 + 1);
        let at = DataPlace { line: None, row, column: Some(field.name().clone()) };
        Err(StorageError::data(&self.text.file.path, at, what).hint(
            "without `infer_schema_rows` all rows are looked at; `schema_hints` declares types",
        ))
    }

    fn parsed(
        &self,
        values: &StringArray,
        column: &str,
        data_type: &DataType,
    ) -> Result<ArrayRef, StorageError> {
        text::parse(values, data_type).map_err(|misfit| {
            let row = Some(self.rows_read + misfit.index as u64 + 1);
            let at = DataPlace { line: None, row, column: Some(column.to_owned()) };
            StorageError::data(&self.text.file.path, at, misfit.what).hint(
                "name the column's type in `schema_hints`, or what means NULL in `null_values`",
            )
        })
    }
}
