//! SQL of a merge: which staged rows delete their keys, and which stored rows may be touched.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::BooleanArray;
use arrow::array::RecordBatch;
use arrow::array::RecordBatchOptions;
use arrow::array::UInt32Array;
use arrow::compute::concat_batches;
use arrow::compute::take_record_batch;
use arrow::datatypes::Schema;

use crate::expression::Expression;
use crate::expression::Failure;
use crate::expression::Mistake;
use crate::expression::Scope;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::target::Landing;
use crate::table::Merge;
use crate::table::Rows;

/// The conditions of a merge.
pub(super) struct Conditions {
    path: PathBuf,
    delete_when: Option<Expression>,
    pairs: Option<Pairs>,
}

/// A condition on a stored and a staged row.
struct Pairs {
    condition: Expression,
    /// Its columns of the table, by name, before those of the staged rows.
    stored: Vec<String>,
    /// Its columns of the staged rows.
    places: Vec<usize>,
    /// These columns of all staged rows, and the memory that they came with.
    staged: Vec<RecordBatch>,
    bytes: u64,
}

impl Conditions {
    pub(super) fn new(path: &Path, merge: &Merge, landing: &Landing) -> Result<Self, StorageError> {
        let failed =
            |mistake: Mistake| StorageError::data(path, DataPlace::default(), mistake.to_string());
        let delete_when = merge
            .delete_when
            .as_ref()
            .map(|sql| Expression::predicate(sql, &Scope::table(Arc::clone(&landing.rows))));
        let pairs = match &merge.rows {
            Rows::Update(update) => update.condition.as_ref(),
            Rows::Group {} | Rows::Version(_) => None,
        };
        let pairs = pairs.map(|by| {
            let tables = [
                (by.target_alias.as_str(), Arc::clone(&landing.table)),
                (by.source_alias.as_str(), Arc::clone(&landing.rows)),
            ];
            let condition = Expression::predicate(&by.sql, &Scope::aliased(tables))?;
            let width = landing.table.fields().len();
            let (stored, places): (Vec<usize>, Vec<usize>) =
                condition.columns().iter().partition(|place| **place < width);
            let stored = stored.iter().map(|place| landing.table.field(*place).name().clone());
            Ok(Pairs {
                stored: stored.collect(),
                places: places.into_iter().map(|place| place - width).collect(),
                condition,
                staged: Vec::new(),
                bytes: 0,
            })
        });
        Ok(Self {
            path: path.to_owned(),
            delete_when: delete_when.transpose().map_err(failed)?,
            pairs: pairs.transpose().map_err(failed)?,
        })
    }

    /// Looks at staged rows; for each, whether it deletes its key, where rows can.
    pub(super) fn note(
        &mut self,
        rows: &RecordBatch,
    ) -> Result<Option<BooleanArray>, StorageError> {
        if let Some(pairs) = &mut self.pairs {
            let columns = rows.project(&pairs.places);
            let columns = columns.map_err(StorageError::library(&self.path, "keep rows"))?;
            pairs.bytes += columns.get_array_memory_size() as u64;
            pairs.staged.push(columns);
        }
        let Some(delete_when) = &self.delete_when else { return Ok(None) };
        let columns = rows.project(delete_when.columns());
        let columns = columns.map_err(StorageError::library(&self.path, "judge rows"))?;
        let deletes = delete_when.select(&columns);
        Ok(Some(deletes.map_err(|failure| self.failed("delete_when", &failure))?))
    }

    /// The memory that the staged rows' columns take.
    pub(super) fn bytes(&self) -> u64 {
        self.pairs.as_ref().map_or(0, |pairs| pairs.bytes)
    }

    /// The stored columns that a condition on pairs reads.
    pub(super) fn stored_columns(&self) -> &[String] {
        self.pairs.as_ref().map_or(&[], |pairs| &pairs.stored)
    }

    /// Puts the staged rows' columns together once all have come.
    pub(super) fn seal(&mut self) -> Result<(), StorageError> {
        let Some(pairs) = &mut self.pairs else { return Ok(()) };
        let [first, _, ..] = &pairs.staged[..] else { return Ok(()) };
        let all = concat_batches(first.schema_ref(), &pairs.staged);
        pairs.staged = vec![all.map_err(StorageError::library(&self.path, "keep rows"))?];
        Ok(())
    }

    /// For each stored row, whether the condition holds for it and its staged row; `None` where there is no condition.
    pub(super) fn hold(
        &self,
        stored: &RecordBatch,
        staged: &[u32],
    ) -> Result<Option<BooleanArray>, StorageError> {
        let Some(Pairs { condition, stored: names, staged: all, .. }) = &self.pairs else {
            return Ok(None);
        };
        let failed = || StorageError::library(&self.path, "judge rows");
        let [all] = &all[..] else { return Ok(None) };
        let picked =
            take_record_batch(all, &UInt32Array::from(staged.to_vec())).map_err(failed())?;
        let mut fields = Vec::new();
        let mut columns = Vec::new();
        for name in names {
            let place = stored.schema_ref().index_of(name).map_err(failed())?;
            fields.push(Arc::new(stored.schema_ref().field(place).clone()));
            columns.push(Arc::clone(stored.column(place)));
        }
        fields.extend(picked.schema_ref().fields().iter().cloned());
        columns.extend(picked.columns().iter().cloned());
        let options = RecordBatchOptions::new().with_row_count(Some(stored.num_rows()));
        let pairs =
            RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options);
        let holds = condition.select(&pairs.map_err(failed())?);
        Ok(Some(holds.map_err(|failure| self.failed("merge_condition", &failure))?))
    }

    fn failed(&self, name: &str, failure: &Failure) -> StorageError {
        let what = format!("`{name}` cannot be computed: {failure}");
        StorageError::data(&self.path, DataPlace::default(), what)
    }
}
