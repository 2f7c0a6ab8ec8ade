//! JSON to batches, by Arrow's decoder. Declared types are read as text first and then parsed strictly.

use std::collections::BTreeSet;
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
use super::foreseen;
use super::records::Records;
use crate::name::ColumnName;
use crate::storage::BATCH_TEXT_BYTES;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::Trust;
use crate::storage::listing::SourceFile;
use crate::storage::text;

/// The batches of one file.
#[derive(Debug)]
pub struct JsonBatches {
    records: Records,
    schema: SchemaRef,
    decoded: SchemaRef,
    /// Where inference has not seen all objects: the columns that somebody declared.
    sampled: Option<BTreeSet<ColumnName>>,
    decoder: Decoder,
    batch_rows: usize,
    rows_read: u64,
    /// The objects of the batch at hand with their lines, to find the one that is wrong.
    held: Vec<(u64, String)>,
}

impl JsonBatches {
    /// Opens a file for the columns of `schema`; keys that an object lacks are NULL. After inference over a part of the objects
    /// `schema` must be whole: a key that it lacks is an error, and so is a value that would have led to another type.
    ///
    /// # Errors
    /// Where the file cannot be opened, or Arrow cannot read JSON to a column's type.
    pub fn open(
        file: &SourceFile,
        layout: JsonLayout,
        schema: &SchemaRef,
        trust: Trust<'_>,
        batch_rows: usize,
    ) -> Result<Self, StorageError> {
        let field = |field: &Arc<Field>| match as_text(field.data_type())
            || trust.is_declared(field.name()) && !field.data_type().is_nested()
        {
            true => Field::new(field.name(), DataType::Utf8, true),
            false => field.as_ref().clone(),
        };
        let decoded = Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()));
        let records = Records::open(file, layout)?;
        let decoder = decoder(&decoded, batch_rows)
            .map_err(StorageError::library(&file.path, "read JSON to its types"))?;
        let schema = Arc::clone(schema);
        Ok(Self {
            records,
            schema,
            decoded,
            sampled: trust.is_sampled.then(|| trust.declared.clone()),
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
            self.check_foreseen()?;
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

    /// Whether the current object has what those have that were looked at.
    fn check_foreseen(&self) -> Result<(), StorageError> {
        let Some(declared) = &self.sampled else { return Ok(()) };
        // What is no object is told where it is decoded.
        let Ok(object) = super::infer::object(&self.records.text) else { return Ok(()) };
        let is_declared = |name: &str| declared.iter().any(|column| column.as_str() == name);
        foreseen::object_is(&object, self.schema.fields(), &is_declared).map_err(|conflict| {
            let row = Some(self.rows_read + self.held.len() as u64 + 1);
            let at = DataPlace { line: Some(self.records.line), row, column: Some(conflict.key) };
            StorageError::data(&self.records.path, at, conflict.what).hint(SAMPLED)
        })
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
            return StorageError::data(&self.records.path, at, what).hint(SAMPLED);
        }
        self.records.wrong("the objects before this one do not decode".to_owned())
    }

    fn alone(&self, text: &str) -> Result<Option<RecordBatch>, ArrowError> {
        let mut decoder = decoder(&self.decoded, 2)?;
        decoder.decode(text.as_bytes())?;
        decoder.flush()
    }
}

/// The way out where objects are not what they were thought to be.
const SAMPLED: &str =
    "without `infer_schema_rows` all objects are looked at; `schema_hints` declares types";

fn decoder(schema: &SchemaRef, batch_rows: usize) -> Result<Decoder, ArrowError> {
    ReaderBuilder::new(Arc::clone(schema))
        .with_batch_size(batch_rows)
        .with_coerce_primitive(true)
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
