//! `Batch`: rows with the place where each was read. The place never enters a guest.

use std::sync::Arc;

use arrow::array::BooleanArray;
use arrow::array::RecordBatch;
use arrow::array::UInt32Array;
use arrow::compute::concat_batches;
use arrow::compute::filter_record_batch;
use arrow::compute::interleave_record_batch;
use arrow::compute::take_record_batch;
use arrow::error::ArrowError;

/// Rows of one file and their places in it.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The rows.
    pub rows: RecordBatch,
    /// Where they were read; as many places as rows.
    pub origin: Origin,
}

/// Where the rows of a batch were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file, as listed.
    pub file: Arc<str>,
    /// The place of each row in it.
    pub rows: Positions,
}

/// Row numbers within a file: data rows, from 1, a header not counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Positions {
    /// `first`, `first + 1`, …
    From(u64),
    /// One number a row.
    Each(Arc<[u64]>),
    /// A step made rows of several, and said not which.
    Unknown,
}

impl Origin {
    /// Rows that come from no single place.
    #[must_use]
    pub fn unknown() -> Self {
        Self { file: Arc::from(""), rows: Positions::Unknown }
    }

    /// The number of row `index` of the batch within its file, from 1.
    #[must_use]
    pub fn row(&self, index: usize) -> Option<u64> {
        match &self.rows {
            Positions::From(first) => Some(first + index as u64),
            Positions::Each(each) => each.get(index).copied(),
            Positions::Unknown => None,
        }
    }

    fn pick(&self, indices: impl Iterator<Item = usize>) -> Self {
        let rows = match self.rows {
            Positions::Unknown => Positions::Unknown,
            Positions::From(_) | Positions::Each(_) => {
                Positions::Each(indices.filter_map(|i| self.row(i)).collect())
            }
        };
        Self { file: Arc::clone(&self.file), rows }
    }
}

impl Positions {
    /// The same kind without its list.
    #[must_use]
    pub fn without_list(&self) -> Self {
        match self {
            Self::From(first) => Self::From(*first),
            Self::Each(_) => Self::Each(Arc::default()),
            Self::Unknown => Self::Unknown,
        }
    }
}

impl Batch {
    /// Rows `offset .. offset + length`, without a copy of the data.
    ///
    /// # Panics
    /// Where the range leaves the batch.
    #[must_use]
    pub fn slice(&self, offset: usize, length: usize) -> Self {
        let rows = match &self.origin.rows {
            Positions::From(first) => Positions::From(first + offset as u64),
            Positions::Each(each) => Positions::Each(each[offset..offset + length].into()),
            Positions::Unknown => Positions::Unknown,
        };
        Self {
            rows: self.rows.slice(offset, length),
            origin: Origin { file: Arc::clone(&self.origin.file), rows },
        }
    }

    /// The rows whose bit is set, with their places. A bit for each row, none of them null.
    ///
    /// # Errors
    /// Where Arrow cannot filter a column.
    pub fn filter(&self, keep: &BooleanArray) -> Result<Self, ArrowError> {
        if keep.true_count() == self.rows.num_rows() {
            return Ok(self.clone());
        }
        let origin = self.origin.pick(keep.values().set_indices());
        Ok(Self { rows: filter_record_batch(&self.rows, keep)?, origin })
    }

    /// The rows at `indices`, in that order, with their places.
    ///
    /// # Errors
    /// Where an index leaves the batch.
    pub fn take(&self, indices: &UInt32Array) -> Result<Self, ArrowError> {
        let rows = take_record_batch(&self.rows, indices)?;
        let origin = self.origin.pick(indices.values().iter().map(|i| *i as usize));
        Ok(Self { rows, origin })
    }

    /// Batches of one file and schema as one; places are kept where all of them have theirs.
    ///
    /// # Errors
    /// Where there is no batch, or a column is too long for one.
    pub fn concat(batches: &[Self]) -> Result<Self, ArrowError> {
        let none = || ArrowError::InvalidArgumentError("there are no batches".to_owned());
        let first = batches.first().ok_or_else(none)?;
        let all = batches.iter().map(|batch| &batch.rows);
        let rows = concat_batches(first.rows.schema_ref(), all)?;
        let places = batches
            .iter()
            .flat_map(|batch| (0..batch.rows.num_rows()).map(|row| batch.origin.row(row)));
        let rows_of = match places.collect::<Option<Arc<[u64]>>>() {
            Some(places) => Positions::Each(places),
            None => Positions::Unknown,
        };
        Ok(Self { rows, origin: Origin { file: Arc::clone(&first.origin.file), rows: rows_of } })
    }

    /// Rows of several batches of one schema, each by its batch and its place in there. Where the batches are of one file, rows keep
    /// their places in it.
    ///
    /// # Errors
    /// Where a place is none, or there is no batch.
    pub fn interleave(batches: &[&Self], places: &[(usize, usize)]) -> Result<Self, ArrowError> {
        let all: Vec<&RecordBatch> = batches.iter().map(|batch| &batch.rows).collect();
        let rows = interleave_record_batch(&all, places)?;
        let mut files = batches.iter().map(|batch| &batch.origin.file);
        let file = files.next().filter(|first| files.all(|file| file == *first));
        let numbers = places.iter().map(|(of, at)| batches[*of].origin.row(*at));
        let origin = match (file, numbers.collect::<Option<Arc<[u64]>>>()) {
            (Some(file), Some(numbers)) => {
                Origin { file: Arc::clone(file), rows: Positions::Each(numbers) }
            }
            _ => Origin::unknown(),
        };
        Ok(Self { rows, origin })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use arrow::array::ArrayRef;
    use arrow::array::Int64Array;

    use super::*;

    #[test]
    fn places_follow_their_rows_through_slice_filter_and_take() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![10, 11, 12, 13, 14]));
        let rows = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        let batch = Batch { rows, origin: Origin { file: "f".into(), rows: Positions::From(10) } };
        let kept =
            batch.slice(1, 4).filter(&BooleanArray::from(vec![true, false, true, true])).unwrap();
        let taken = kept.take(&UInt32Array::from(vec![2, 0, 0])).unwrap();
        let values = taken.rows.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
        let places: Vec<_> = (0..3).filter_map(|i| taken.origin.row(i)).collect();
        assert_eq!(values.values(), &[14, 11, 11]);
        assert_eq!(places, [14, 11, 11]);
    }
}
