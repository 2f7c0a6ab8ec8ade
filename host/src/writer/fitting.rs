//! Fitting: rows as they come become rows as they land, in the target's order and types. Nothing is rounded or cut.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::Array;
use arrow::array::ArrayRef;
use arrow::array::RecordBatch;
use arrow::datatypes::Field;
use arrow::datatypes::SchemaRef;

use super::Target;
use super::WriteError;
use crate::flow::WriteFormat;
use crate::storage::StorageError;
use crate::storage::json;
use crate::storage::plain;

/// Where each column goes and as what.
#[derive(Debug)]
pub(super) struct Fitting {
    path: PathBuf,
    format: WriteFormat,
    landing: SchemaRef,
    /// The place of each column of `landing` in the batches that come.
    places: Vec<usize>,
}

impl Fitting {
    pub(super) fn new(target: &Target, landing: SchemaRef) -> Self {
        let names = landing.fields().iter().map(|field| field.name());
        let places = names.filter_map(|name| target.schema.index_of(name).ok()).collect();
        Self { path: target.path().to_owned(), format: target.format.clone(), landing, places }
    }

    /// The rows as they land; an error where a value does not fit.
    pub(super) fn fit(&self, rows: &RecordBatch) -> Result<RecordBatch, WriteError> {
        let fields = self.landing.fields().iter().zip(&self.places);
        let columns = fields.map(|(field, place)| self.column(rows.column(*place), field));
        let columns = columns.collect::<Result<_, _>>()?;
        let batch = RecordBatch::try_new(Arc::clone(&self.landing), columns);
        Ok(batch.map_err(StorageError::library(&self.path, "stage rows"))?)
    }

    fn column(&self, column: &ArrayRef, field: &Field) -> Result<ArrayRef, WriteError> {
        let bad = |what| WriteError::Value {
            path: self.path.clone(),
            column: field.name().clone(),
            what,
        };
        let plain = plain::plain_type(column.data_type());
        let cast = plain::cast_exact(column, &plain)
            .and_then(|column| plain::cast_exact(&column, field.data_type()));
        let column = cast.map_err(|misfit| bad(misfit.what))?;
        if !field.is_nullable() && column.null_count() > 0 {
            return Err(bad(format!(
                "{} rows have NULL, which the target's column does not take",
                column.null_count()
            )));
        }
        if matches!(self.format, WriteFormat::Jsonl(_) | WriteFormat::Json(_))
            && let Some(value) = json::unspeakable(column.as_ref())
        {
            return Err(bad(format!("{value} has no spelling in JSON")));
        }
        Ok(column)
    }
}
