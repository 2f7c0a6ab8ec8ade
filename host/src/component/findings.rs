//! What components say about rows: judgements, rejections, conclusions. Plain data, checked by the sandbox.

use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use arrow::error::ArrowError;
use serde::Deserialize;
use serde::Serialize;

use crate::batch::Batch;

/// One reason's judgement of a batch.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// Position among the reasons declared.
    pub reason: usize,
    /// A bit a row: hit.
    pub hits: BooleanBuffer,
    /// Rows judged.
    pub evaluated: usize,
    /// Judged rows whose value was NULL.
    pub nulls: usize,
}

/// What only the whole input shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    /// Verdicts on the whole input.
    pub tables: Vec<TableFinding>,
    /// For each reason, which of all rows that were judged are hit after `check` had let them pass; empty without state.
    pub late_hits: Vec<BooleanBuffer>,
}

/// A verdict on the whole input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableFinding {
    /// Position among the reasons declared.
    pub reason: usize,
    /// What was measured; a number.
    pub measured: f64,
    /// What it was held against; a number.
    pub threshold: f64,
}

/// Rows that were hit, as they were judged, and the reasons of each.
#[derive(Debug, Clone)]
pub struct Rejection {
    /// The rows, all columns.
    pub rows: Batch,
    /// Positions among the declared reasons, for each row at least one.
    pub reasons: Vec<Vec<usize>>,
}

impl Rejection {
    /// The rows of `batch` that any of the judgements hits; none where no row is.
    ///
    /// # Errors
    /// Where Arrow cannot filter a column.
    pub fn of(batch: &Batch, judgements: &[Judgement]) -> Result<Option<Self>, ArrowError> {
        let hit = judgements
            .iter()
            .map(|judgement| judgement.hits.clone())
            .reduce(|all, more| &all | &more);
        let Some(hit) = hit.filter(|hit| hit.count_set_bits() > 0) else { return Ok(None) };
        let hitting = |row| judgements.iter().filter(move |judgement| judgement.hits.value(row));
        let reasons = hit
            .set_indices()
            .map(|row| hitting(row).map(|judgement| judgement.reason).collect())
            .collect();
        Ok(Some(Self { rows: batch.filter(&BooleanArray::new(hit, None))?, reasons }))
    }
}
