//! An expression of a step, ready for batches.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{filter_record_batch, prep_null_mask_filter, take};
use arrow::datatypes::SchemaRef;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{DataFusionError, Result};
use datafusion::physical_expr::PhysicalExpr;
use wasmhost_guest::{Diagnostic, Failure};

use crate::session;

/// An expression over registers.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) expr: Arc<dyn PhysicalExpr>,
    /// It is evaluated where this is true, and NULL elsewhere.
    pub(crate) only_where: Option<Arc<dyn PhysicalExpr>>,
    /// The SQL, for messages; none where messages say enough.
    pub(crate) sql: Option<Arc<str>>,
    /// What it reads, in the order of its schema.
    pub(crate) reads: Vec<usize>,
    pub(crate) schema: SchemaRef,
}

impl Compiled {
    /// The value for each of the rows that are left.
    pub(crate) fn evaluate(&self, registers: &[Option<ArrayRef>], rows: usize) -> Result<ArrayRef> {
        self.over(&self.batch(registers, rows)?)
    }

    fn over(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let rows = batch.num_rows();
        let Some(only_where) = &self.only_where else {
            return self.expr.evaluate(batch)?.into_array(rows);
        };
        let seen = only_where.evaluate(batch)?.into_array(rows)?;
        let seen = certain(as_boolean_array(&seen)?);
        if seen.true_count() == rows {
            return self.expr.evaluate(batch)?.into_array(rows);
        }
        let some = filter_record_batch(batch, &seen)?;
        let values = self.expr.evaluate(&some)?.into_array(some.num_rows())?;
        let mut next = 0;
        let places = seen.values().iter().map(|is_seen| {
            is_seen.then(|| {
                next += 1;
                next - 1
            })
        });
        Ok(take(&values, &places.collect::<UInt32Array>(), None)?)
    }

    fn batch(&self, registers: &[Option<ArrayRef>], rows: usize) -> Result<RecordBatch> {
        let columns: Result<Vec<ArrayRef>, Failure> =
            self.reads.iter().map(|at| held(registers, *at)).collect();
        let columns =
            columns.map_err(|_| DataFusionError::Internal("a column was let go".to_owned()))?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }

    /// A condition: NULL is false.
    pub(crate) fn truth(
        &self,
        registers: &[Option<ArrayRef>],
        rows: usize,
        left: Option<&[u32]>,
    ) -> Result<BooleanArray, Failure> {
        let values = self
            .evaluate(registers, rows)
            .map_err(|error| self.failure(registers, rows, left, &error))?;
        let values = values
            .as_any()
            .downcast_ref::<BooleanArray>()
            .ok_or_else(|| Failure::internal("predicate", "a condition that is no boolean"))?;
        Ok(certain(values))
    }

    /// The error with the first row that has it: found by halves, as an expression says only that some row is wrong.
    pub(crate) fn failure(
        &self,
        registers: &[Option<ArrayRef>],
        rows: usize,
        left: Option<&[u32]>,
        error: &DataFusionError,
    ) -> Failure {
        let told = |error: &DataFusionError| match &self.sql {
            Some(sql) => format!("`{sql}`: {}", session::message(error)),
            None => session::message(error),
        };
        let mut said = told(error);
        let Ok(batch) = self.batch(registers, rows) else {
            return Failure::bad_batch("sql", said);
        };
        let (mut from, mut to) = (0, rows);
        while to - from > 1 {
            let middle = from + (to - from) / 2;
            match self.over(&batch.slice(from, middle - from)) {
                Err(error) => {
                    to = middle;
                    said = told(&error);
                }
                Ok(_) => from = middle,
            }
        }
        if let Err(error) = self.over(&batch.slice(from, to - from)) {
            said = told(&error);
        }
        let row = left.map_or(from, |left| left[from] as usize);
        Failure::BadBatch(Diagnostic::new("sql", said).at_row(row))
    }
}

/// A condition: NULL is false.
fn certain(values: &BooleanArray) -> BooleanArray {
    if values.null_count() > 0 { prep_null_mask_filter(values) } else { values.clone() }
}

/// A column that is still held.
pub(crate) fn held(registers: &[Option<ArrayRef>], at: usize) -> Result<ArrayRef, Failure> {
    let held = registers.get(at).and_then(Option::as_ref);
    held.cloned().ok_or_else(|| Failure::internal("register", format!("column {at} was let go")))
}
