//! The filter of a source: which rows are read, and which files and row groups need not be looked at for that.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::BooleanArray;
use arrow::array::RecordBatch;
use arrow::datatypes::FieldRef;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;

use super::Passed;
use super::SourceError;
use super::folders::Folders;
use crate::batch::Batch;
use crate::expression::Asking;
use crate::expression::Expression;
use crate::expression::Failure;
use crate::expression::Known;
use crate::expression::Mistake;
use crate::expression::Pruning;
use crate::expression::Scope;
use crate::flow::Source;
use crate::problem::Code;
use crate::problem::Problem;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::bounds::Told;
use crate::storage::bounds::Values;
use crate::storage::parquet::Group;

/// A filter that fits its source's columns.
#[derive(Debug)]
pub(super) struct Filter {
    /// As the flow has it.
    pub(super) sql: String,
    /// All columns of the source.
    columns: SchemaRef,
    expression: Expression,
    pruning: Pruning,
}

impl Filter {
    /// The source's filter over all of its columns.
    ///
    /// # Errors
    /// What does not fit.
    pub(super) fn compile(
        source: &Source,
        sql: &str,
        columns: SchemaRef,
    ) -> Result<Self, SourceError> {
        let scope = Scope::table(Arc::clone(&columns));
        let expression = Expression::predicate(sql, &scope).map_err(|Mistake { what, hint }| {
            let at = super::discover::at(source, "filter");
            let problem = Problem::new(Code::WrongValue, at, format!("`filter`: {what}"));
            SourceError::Problems(vec![problem.hint(hint)])
        })?;
        let pruning = Pruning::new(sql, &scope);
        Ok(Self { sql: sql.to_owned(), columns, expression, pruning })
    }

    /// The columns that it reads.
    pub(super) fn reads(&self) -> impl Iterator<Item = &FieldRef> {
        self.expression.columns().iter().map(|at| &self.columns.fields()[*at])
    }

    /// Its parts that whoever keeps the rows may decide before they are read; columns are counted among all of the source's.
    pub(super) fn asking(&self) -> impl Iterator<Item = &Asking> {
        self.pruning.asking()
    }

    /// The column at that place among all of the source's.
    pub(super) fn column(&self, at: usize) -> &FieldRef {
        &self.columns.fields()[at]
    }

    /// The rows of a file for which it is true, of those that have at least the columns that it reads.
    pub(super) fn select(&self, rows: &RecordBatch) -> Result<BooleanArray, Failure> {
        let found = self.reads().map(|field| rows.schema_ref().index_of(field.name()));
        let failed = |error: arrow::error::ArrowError| Failure { what: error.to_string() };
        let places = found.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        self.expression.select(&rows.project(&places).map_err(failed)?)
    }

    /// The rows that it leaves, and their columns that are wanted, which come first; the others are counted.
    pub(super) fn leave(
        &self,
        batch: Batch,
        wanted: &Schema,
        passed: &Passed,
    ) -> Result<Batch, StorageError> {
        let path = Path::new(&*batch.origin.file);
        let selected = self.select(&batch.rows).map_err(|failure| {
            let what = format!("`filter` cannot be computed for its rows: {failure}");
            let hint =
                "guard it, as in `n <> 0 AND m / n > 1`, or let a `filter` step leave rows out";
            StorageError::data(path, DataPlace::default(), what).hint(hint)
        })?;
        let left_out = selected.len() - selected.true_count();
        passed.filtered.fetch_add(left_out as u64, Ordering::Relaxed);
        let failed = || StorageError::library(path, "filter its rows");
        let kept = batch.filter(&selected).map_err(failed())?;
        let wanted: Vec<usize> = (0..wanted.fields().len()).collect();
        Ok(Batch { rows: kept.rows.project(&wanted).map_err(failed())?, origin: kept.origin })
    }

    /// Whether a file may have a row for which it is true; `told` says what is known of columns that are not the folders'.
    pub(super) fn may_be_in_file(
        &self,
        folders: &Folders,
        file: usize,
        told: impl Fn(&FieldRef) -> Told,
    ) -> bool {
        self.pruning.may_select(|at| {
            let field = &self.columns.fields()[at];
            match folders.value(file, field.name()) {
                Some(one) => Known::Same(Arc::clone(one)),
                None => known(&told(field), field),
            }
        })
    }

    /// The same of a row group.
    pub(super) fn may_be_in_group(
        &self,
        folders: &Folders,
        file: usize,
        group: &Group<'_>,
    ) -> bool {
        // A file that lacks a column has NULL in it.
        let absent = || Told { bounds: None, nulls: Some(group.rows()), rows: Some(group.rows()) };
        self.may_be_in_file(folders, file, |field| group.told(field.name()).unwrap_or_else(absent))
    }
}

fn known(told: &Told, field: &FieldRef) -> Known {
    match told.values(field.data_type()) {
        Values::Unknown => Known::Nothing,
        Values::Null(one) => Known::Same(one),
        Values::Between { bounds, is_whole: true } => Known::WithinWhole(bounds),
        Values::Between { bounds, is_whole: false } => Known::Within(bounds),
    }
}

/// The files of which a filter may be true, as far as their folders tell: nobody need open the others to learn what they hold.
pub(super) fn by_folders(sql: &str, folders: &Folders, files: usize) -> Vec<bool> {
    let columns = folders.schema();
    let pruning = Pruning::new(sql, &Scope::table(Arc::clone(&columns)));
    let may_select = |file: usize| {
        pruning.may_select(|at| match folders.value(file, columns.field(at).name()) {
            Some(one) => Known::Same(Arc::clone(one)),
            None => Known::Nothing,
        })
    };
    (0..files).map(may_select).collect()
}
