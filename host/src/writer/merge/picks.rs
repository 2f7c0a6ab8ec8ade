//! Staged rows that edits take, picked in slices: one that is within the memory serves many batches.

use arrow::array::RecordBatch;

use super::held::Held;
use super::rewrite::Edits;
use crate::storage::StorageError;

/// Rows whose values edits take, from one edit on.
pub(super) struct Picks<'a> {
    held: &'a Held,
    /// The most rows that are picked at a time; at least those of a batch.
    rows_max: usize,
    numbers: Vec<u32>,
    rows: RecordBatch,
}

impl<'a> Picks<'a> {
    /// Nothing is picked yet.
    pub(super) fn new(held: &'a Held, bytes_max: usize) -> Result<Self, StorageError> {
        let rows_max = (bytes_max / held.row_bytes()).max(1);
        Ok(Self { held, rows_max, numbers: Vec::new(), rows: held.pick(&[])? })
    }

    /// Makes the rows of the first `due` edits available, and of as many more as there is room for.
    pub(super) fn cover(&mut self, edits: Edits<'_>, due: usize) -> Result<(), StorageError> {
        let takes = |edits: Edits<'_>| -> Vec<u32> {
            edits.iter().filter_map(|(_, edit)| edit.takes()).collect()
        };
        let needed = takes(&edits[..due]);
        if needed.iter().all(|number| self.place(*number).is_some()) {
            return Ok(());
        }
        let ahead = self.rows_max.max(due).min(edits.len());
        self.numbers = takes(&edits[..ahead]);
        self.numbers.sort_unstable();
        self.rows = self.held.pick(&self.numbers)?;
        Ok(())
    }

    /// Where the staged row is among the picked ones.
    pub(super) fn place(&self, number: u32) -> Option<usize> {
        self.numbers.binary_search(&number).ok()
    }

    /// The picked rows.
    pub(super) fn rows(&self) -> &RecordBatch {
        &self.rows
    }
}
