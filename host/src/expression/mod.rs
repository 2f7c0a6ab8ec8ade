//! SQL scalar expressions of a flow: a source's `filter`, partition columns, `merge_condition`, `replace_where`, `delete_when`.
//!
//! Confined: columns, literals, operators and a list of functions. An expression reads no clock, no file and no table, and neither
//! its text nor its results grow without bound. Integers and decimals never wrap, text is never quietly taken for something else:
//!
//! - Names keep their case. `UserId`, `"UserId"`, `T.UserId` and `T."order"` name columns; a column whose name has a dot may be
//!   written with or without quotes.
//! - A text literal beside a value of another type is read as that type, whole: `"day" = '2024-01-31'` compares dates, `n = '7'`
//!   numbers, and `n = 'x'` is a [`Mistake`]. A text column beside one is a [`Mistake`]: one of them has to be cast.
//!   Beside a timestamp with a zone, text without one is UTC.
//! - Numbers with a point are decimals, not floats; an exponent is refused. Integers are divided as integers.
//! - The pattern of LIKE is a text literal.
//! - The right side of `AND` and `OR` is only evaluated for rows that the left side does not decide, so `n <> 0 AND m / n > 1` is safe.

mod arithmetic;
mod asking;
mod check;
mod failure;
mod functions;
mod growth;
mod guard;
mod literal;
mod offered;
mod plan;
mod pruning;
mod scope;
mod shape;
mod text;
mod words;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;

use std::sync::Arc;
use std::thread;

use arrow::array::Array;
use arrow::array::ArrayRef;
use arrow::array::AsArray;
use arrow::array::BooleanArray;
use arrow::array::RecordBatch;
use arrow::array::RecordBatchOptions;
use arrow::compute::cast;
use arrow::compute::concat;
use arrow::compute::prep_null_mask_filter;
use arrow::datatypes::DataType;
use arrow::datatypes::SchemaRef;
use datafusion_common::DataFusionError;
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;

use crate::spelling;

pub use self::asking::Asking;
pub use self::asking::Comparison;
pub use self::asking::Condition;
pub use self::failure::Failure;
pub use self::failure::Mistake;
pub use self::pruning::Known;
pub use self::pruning::Pruning;
pub use self::scope::Scope;

/// The longest text of an expression, in bytes.
pub const TEXT_BYTES_MAX: usize = 16 << 10;

/// How deep an expression may nest; each operator of a chain (`a + b + c`) is a level, a chain of `AND` or `OR` is one.
pub const DEPTH_MAX: usize = 48;

/// The stack of the thread that compiles: enough for [`DEPTH_MAX`] levels of any kind, several times over.
const COMPILE_STACK_BYTES: usize = 16 << 20;

/// The most bytes of text that a result may have for a batch. What an expression makes on the way has the same limit: once for all of
/// its `||`, `concat` and `replace`, each of which may take an equal part of it, and once for the texts that stand in it.
pub const RESULT_BYTES_MAX: usize = 256 << 20;

/// An expression that was checked against its columns, ready for batches.
#[derive(Debug, Clone)]
pub struct Expression {
    physical: Arc<dyn PhysicalExpr>,
    data_type: DataType,
    nullable: bool,
    columns: Vec<usize>,
    /// The columns that it reads, under the names that it knows.
    schema: SchemaRef,
    /// The texts that stand in it, together.
    literal_bytes: usize,
}

impl Expression {
    /// Checks `sql` against the columns that it may name.
    ///
    /// # Errors
    /// The first part that is not understood, not offered or does not fit.
    pub fn compile(sql: &str, scope: &Scope) -> Result<Self, Mistake> {
        on_own_stack(|| {
            let mut parsed = text::parse(sql)?;
            check::check(&mut parsed, scope)?;
            plan::plan(parsed, scope)
        })
    }

    /// The same for a condition.
    ///
    /// # Errors
    /// As [`Self::compile`], and where it is not true, false or NULL for each row.
    pub fn predicate(sql: &str, scope: &Scope) -> Result<Self, Mistake> {
        let compiled = Self::compile(sql, scope)?;
        if compiled.data_type == DataType::Boolean {
            return Ok(compiled);
        }
        let what = format!(
            "this is no condition: it gives {} for a row, not true or false",
            spelling::spelt(&compiled.data_type)
        );
        Err(Mistake::new(what, "compare it with something, as in `a = 1`"))
    }

    /// The type of the results: no dictionaries, views or large offsets.
    #[must_use]
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// Whether a result may be NULL. Trusts the scope's fields.
    #[must_use]
    pub fn nullable(&self) -> bool {
        self.nullable
    }

    /// The positions of the columns that it reads, ascending; several tables' columns count side by side. Those alone make the
    /// batches to evaluate: `batch.project(expression.columns())`.
    #[must_use]
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The value for each row. The batch has the columns of [`Self::columns`], in that order and nothing else; their names do not
    /// matter.
    ///
    /// # Errors
    /// A value that cannot be computed: a division by zero, an overflow, text that cannot be cast, a result beyond
    /// [`RESULT_BYTES_MAX`]; a batch with other columns.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<ArrayRef, Failure> {
        let rows = self.adopt(batch)?;
        // Each literal may be written to each row, and so take more than all the batch.
        let step = (RESULT_BYTES_MAX / self.literal_bytes.max(1)).max(1);
        if rows.num_rows() <= step {
            return self.part(&rows).map_err(|error| Failure::from_engine(&error));
        }
        let mut parts = Vec::new();
        let mut bytes = 0_usize;
        for start in (0..rows.num_rows()).step_by(step) {
            let part = rows.slice(start, step.min(rows.num_rows() - start));
            let part = self.part(&part).map_err(|error| Failure::from_engine(&error))?;
            bytes = bytes.saturating_add(part.get_array_memory_size());
            growth::limit(bytes).map_err(|error| Failure::from_engine(&error))?;
            parts.push(part);
        }
        let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
        concat(&parts).map_err(|error| Failure::from_engine(&error.into()))
    }

    /// A condition's value for each row, NULL kept: it tells rows that are true from those that are not.
    ///
    /// # Errors
    /// As [`Self::evaluate`], and where the expression is no condition.
    pub fn judge(&self, batch: &RecordBatch) -> Result<BooleanArray, Failure> {
        let value = self.evaluate(batch)?;
        match value.as_boolean_opt() {
            Some(value) => Ok(value.clone()),
            None => Err(Failure { what: "the expression is no condition".to_owned() }),
        }
    }

    /// The rows for which a condition is true: NULL counts as false, and no bit is null.
    ///
    /// # Errors
    /// As [`Self::judge`].
    pub fn select(&self, batch: &RecordBatch) -> Result<BooleanArray, Failure> {
        let value = self.judge(batch)?;
        Ok(if value.null_count() == 0 { value } else { prep_null_mask_filter(&value) })
    }

    fn part(&self, rows: &RecordBatch) -> Result<ArrayRef, DataFusionError> {
        let value = self.physical.evaluate(rows)?;
        if let ColumnarValue::Scalar(scalar) = &value {
            growth::limit(scalar.size().saturating_mul(rows.num_rows()))?;
        }
        let array = value.into_array(rows.num_rows())?;
        if array.data_type() == &self.data_type {
            return Ok(array);
        }
        Ok(cast(&array, &self.data_type)?)
    }

    /// The batch under the names that the compiled expression knows.
    fn adopt(&self, batch: &RecordBatch) -> Result<RecordBatch, Failure> {
        let types = self.schema.fields().iter().map(|field| field.data_type());
        let given = batch.schema_ref().fields().iter().map(|field| field.data_type());
        if !types.eq(given) {
            let what = "the batch does not have the expression's columns".to_owned();
            return Err(Failure { what });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().to_vec();
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|error| Failure::from_engine(&error.into()))
    }
}

/// Runs what parses and plans. The planner takes some 60 KB of stack a level in a debug build, and the caller may have little left.
fn on_own_stack<T: Send>(work: impl FnOnce() -> Result<T, Mistake> + Send) -> Result<T, Mistake> {
    thread::scope(|threads| {
        let own = thread::Builder::new().stack_size(COMPILE_STACK_BYTES);
        let working = own
            .spawn_scoped(threads, work)
            .map_err(|error| Mistake::new(format!("no thread to check it: {error}"), ""))?;
        working.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
