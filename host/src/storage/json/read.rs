//! JSON to batches, by Arrow's decoder. Declared types are read as text first and then parsed strictly.

use std::path::Path;
use std::sync::Arc;

use arrow::array::AsArray;
use arrow::array::RecordBatch;
use arrow::array::RecordBatchOptions;
use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow_json::ReaderBuilder;
use arrow_json::reader::Decoder;

use super::JsonLayout;
use super::records::Records;
use crate::storage::BATCH_TEXT_BYTES;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::listing::SourceFile;
use crate::storage::text;

/// The batches of one file.
#[derive(Debug)]
pub struct JsonBatches {
    records: Records,
    schema: SchemaRef,
    decoded: SchemaRef,
    strict: bool,
    decoder: Decoder,
    batch_rows: usize,
    rows_read: u64,
    /// The objects of the batch at hand with their lines, to find the one that is wrong.
    held: Vec<(u64, String)>,
}

impl JsonBatches {
    /// Opens a file for the columns of `schema`; keys that an object lacks are NULL. With `strict`, a key that `schema` lacks is
    /// an error: after inference over a part of the rows, `schema` must be whole.
    ///
    /// # Errors
    /// Where the file cannot be opened, or Arrow cannot read JSON to a column's type.
    pub fn open(
        file: &SourceFile,
        layout: JsonLayout,
        schema: &SchemaRef,
        strict: bool,
        batch_rows: usize,
    ) -> Result<Self, StorageError> {
        let field = |field: &Arc<Field>| match as_text(field.data_type()) {
            true => Field::new(field.name(), DataType::Utf8, true),
            false => field.as_ref().clone(),
        };
        let decoded = Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()));
        let records = Records::open(file, layout)?;
        let decoder = decoder(&decoded, strict, batch_rows)
            .map_err(StorageError::library(&file.path, "read JSON to its types"))?;
        let schema = Arc::clone(schema);
        Ok(Self {
            records,
            schema,
            decoded,
            strict,
            decoder,
            batch_rows,
            rows_read: 0,
            held: Vec::new(),
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.records.path
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// Where something is no object, has a key that is not known, or a value that is not of its column's type.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, StorageError> {
        self.held.clear();
        let mut bytes = 0;
        while self.held.len() < self.batch_rows
            && bytes < BATCH_TEXT_BYTES
            && self.records.next()?
        {
            bytes += self.records.text.len();
            if !self.records.text.trim_ascii_start().starts_with('{') {
                return Err(self.records.wrong("this is no object".to_owned()));
            }
            self.held.push((self.records.line, self.records.text.clone()));
            let decoded = self.decoder.decode(self.records.text.as_bytes());
            // A broken object may look unfinished only; the decoder counts it, and more than one object, as rows.
            if decoded.is_err()
                || self.decoder.has_partial_record()
                || self.decoder.len() != self.held.len()
            {
                return Err(self.explain());
            }
        }
        if self.held.is_empty() {
            return Ok(None);
        }
        let batch = match self.decoder.flush() {
            Ok(Some(batch)) => batch,
            Ok(None) | Err(_) => return Err(self.explain()),
        };
        let columns = batch.columns().iter().zip(self.schema.fields()).map(|(column, field)| {
            if column.data_type() == field.data_type() {
                return Ok(Arc::clone(column));
            }
            text::parse(column.as_string::<i32>(), field.data_type()).map_err(|misfit| {
                let line = self.held.get(misfit.index).map(|(line, _)| *line);
                let row = Some(self.rows_read + misfit.index as u64 + 1);
                let at = DataPlace { line, row, column: Some(field.name().clone()) };
                StorageError::data(&self.records.path, at, misfit.what)
            })
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        self.rows_read += batch.num_rows() as u64;
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &rows)
            .map(Some)
            .map_err(StorageError::library(&self.records.path, "make a batch of its rows"))
    }

    /// The first object of the batch that does not decode alone, and why.
    fn explain(&self) -> StorageError {
        for (index, (line, text)) in self.held.iter().enumerate() {
            let what = match self.alone(text) {
                Ok(Some(batch)) if batch.num_rows() == 1 => continue,
                Ok(_) => super::infer::object(text)
                    .err()
                    .unwrap_or_else(|| "this is not one object".to_owned()),
                Err(error) => said(&error),
            };
            let at = DataPlace {
                line: Some(*line),
                row: Some(self.rows_read + index as u64 + 1),
                column: None,
            };
            return StorageError::data(&self.records.path, at, what)
                .hint("without `infer_schema_rows` all objects are looked at; `schema_hints` declares types");
        }
        self.records.wrong("the objects before this one do not decode".to_owned())
    }

    fn alone(&self, text: &str) -> Result<Option<RecordBatch>, ArrowError> {
        let mut decoder = decoder(&self.decoded, self.strict, 2)?;
        decoder.decode(text.as_bytes())?;
        decoder.flush()
    }
}

fn decoder(schema: &SchemaRef, strict: bool, batch_rows: usize) -> Result<Decoder, ArrowError> {
    ReaderBuilder::new(Arc::clone(schema))
        .with_batch_size(batch_rows)
        .with_coerce_primitive(true)
        .with_strict_mode(strict)
        .build_decoder()
}

/// Types that Arrow's decoder would round or guess at; those that inference gives are not among them.
fn as_text(data_type: &DataType) -> bool {
    !(data_type.is_nested()
        || matches!(
            data_type,
            DataType::Utf8 | DataType::Boolean | DataType::Int64 | DataType::Float64
        ))
}

fn said(error: &ArrowError) -> String {
    match error {
        ArrowError::JsonError(what)
        | ArrowError::ParseError(what)
        | ArrowError::CastError(what) => what.clone(),
        other => other.to_string(),
    }
}
