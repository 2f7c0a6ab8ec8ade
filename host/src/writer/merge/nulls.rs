//! NULL where none may be: counted as rows come, told when all have come.

use arrow::array::Array;
use arrow::array::RecordBatch;
use arrow::error::ArrowError;

use super::SHOWN_MAX;
use crate::name::ColumnName;

/// Rows with NULL in a column that takes none.
#[derive(Debug, Default)]
pub(super) struct Nulls {
    rows: u64,
    /// Those that had one.
    columns: Vec<String>,
    /// The first such rows' keys.
    examples: Vec<String>,
}

impl Nulls {
    /// Looks at the columns of further rows; `show` gives a row's key.
    pub(super) fn note(
        &mut self,
        columns: &[ColumnName],
        rows: &RecordBatch,
        show: impl Fn(usize) -> Result<String, ArrowError>,
    ) -> Result<(), ArrowError> {
        let columns: Vec<_> = columns
            .iter()
            .filter_map(|name| Some((name.as_str(), rows.column_by_name(name.as_str())?)))
            .filter(|(_, column)| column.null_count() > 0)
            .collect();
        if columns.is_empty() {
            return Ok(());
        }
        for (name, _) in &columns {
            if !self.columns.iter().any(|known| known == name) {
                self.columns.push((*name).to_owned());
            }
        }
        for row in 0..rows.num_rows() {
            if columns.iter().any(|(_, column)| column.is_null(row)) {
                self.rows += 1;
                if self.examples.len() < SHOWN_MAX {
                    self.examples.push(show(row)?);
                }
            }
        }
        Ok(())
    }

    /// What is wrong, where something is; `role` is what the columns are for.
    pub(super) fn told(&self, role: &str) -> Option<String> {
        let Self { rows, columns, examples } = self;
        let columns: Vec<_> = columns.iter().map(|name| format!("`{name}`")).collect();
        let (columns, examples) = (columns.join(", "), examples.join("; "));
        (*rows > 0).then(|| {
            format!("{rows} row(s) have NULL in the {role} column(s) {columns}: {examples}")
        })
    }
}
