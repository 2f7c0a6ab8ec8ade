//! The order of rows along a Z-curve: rows that are near in all of some columns come near each other.
//!
//! Values become ranks first, so that each column counts alike whatever its type and however its values are spread.

use std::cmp::Ordering;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use arrow::row::RowConverter;
use arrow::row::Rows;
use arrow::row::SortField;

/// Bytes of memory that ordering a row takes beside the row and its columns' bytes: its place, twice, and where its bytes begin.
const ROW_BYTES: usize = 32;

/// Rows that wait to be ordered.
#[derive(Debug)]
pub(super) struct Unordered {
    /// The places of the columns that count.
    columns: Vec<usize>,
    pub(super) batches: Vec<RecordBatch>,
    pub(super) rows: usize,
    bytes: usize,
}

impl Unordered {
    pub(super) fn new(columns: Vec<usize>) -> Self {
        Self { columns, batches: Vec::new(), rows: 0, bytes: 0 }
    }

    pub(super) fn push(&mut self, batch: RecordBatch) {
        self.rows += batch.num_rows();
        // A column's bytes are there once more while it is ranked.
        self.bytes += 2 * batch.get_array_memory_size()
            + batch.num_rows() * (ROW_BYTES + size_of::<u32>() * self.columns.len());
        self.batches.push(batch);
    }

    /// Whether one more batch of that many rows may be too much.
    pub(super) fn is_full(&self, memory_bytes: usize, more: usize) -> bool {
        self.bytes >= memory_bytes || u32::try_from(self.rows + more).is_err()
    }

    /// Batch and row of each row, in the new order; rows that are equal in it keep theirs.
    pub(super) fn order(&self) -> Result<Vec<(usize, usize)>, ArrowError> {
        let width = self.columns.len();
        let mut ranks = vec![0; self.rows * width];
        for (place, column) in self.columns.iter().enumerate() {
            self.rank(*column, |row, rank| ranks[row * width + place] = rank)?;
        }
        let point = |row: u32| &ranks[row as usize * width..][..width];
        // `is_full` has kept the rows below four billion.
        let mut order: Vec<u32> = (0..u32::try_from(self.rows).unwrap_or(u32::MAX)).collect();
        order.sort_unstable_by(|a, b| along(point(*a), point(*b)).then(a.cmp(b)));
        let places = self.batches.iter().enumerate();
        let places = places.flat_map(|(batch, it)| (0..it.num_rows()).map(move |row| (batch, row)));
        let places: Vec<(usize, usize)> = places.collect();
        Ok(order.into_iter().map(|row| places[row as usize]).collect())
    }

    /// Each row's rank by a column, NULL first, spread over all 32 bits; equal values have one rank.
    fn rank(&self, column: usize, mut note: impl FnMut(usize, u32)) -> Result<(), ArrowError> {
        let rows = self.encoded(column)?;
        let mut order: Vec<usize> = (0..rows.num_rows()).collect();
        order.sort_unstable_by(|a, b| rows.row(*a).cmp(&rows.row(*b)));
        let mut less = 0;
        for (place, row) in order.iter().enumerate() {
            if rows.row(order[less]) != rows.row(*row) {
                less = place;
            }
            let spread = ((less as u64) << u32::BITS) / order.len() as u64;
            note(*row, u32::try_from(spread).unwrap_or(u32::MAX));
        }
        Ok(())
    }

    /// A column's values as bytes that compare as the values do.
    fn encoded(&self, column: usize) -> Result<Rows, ArrowError> {
        let first = self.batches.first().map(|batch| batch.column(column).data_type().clone());
        let converter = RowConverter::new(first.map(SortField::new).into_iter().collect())?;
        let mut rows = converter.empty_rows(self.rows, 0);
        for batch in &self.batches {
            converter.append(&mut rows, std::slice::from_ref(batch.column(column)))?;
        }
        Ok(rows)
    }
}

/// Compares two points by their bits interleaved, the first column's first, without interleaving them: the column decides whose
/// values differ in the highest bit.
fn along(a: &[u32], b: &[u32]) -> Ordering {
    let mut decides = Ordering::Equal;
    let mut highest = 0;
    for (a, b) in a.iter().zip(b) {
        let differing = a ^ b;
        if highest < differing && highest < highest ^ differing {
            (decides, highest) = (a.cmp(b), differing);
        }
    }
    decides
}

/// How rows in an order fill files.
#[derive(Debug)]
pub(super) struct Filling {
    /// Rows that make a file of the size asked for.
    file_rows: usize,
    /// Rows of a file now: those at hand are split evenly.
    share_rows: usize,
    /// Rows in the file that is open.
    filled: usize,
    /// Whether that file is for one order only.
    alone: bool,
}

impl Filling {
    /// So many rows take so many bytes now.
    pub(super) fn new(rows: u64, bytes: u64, file_bytes: u64) -> Self {
        let file_rows = u128::from(rows) * u128::from(file_bytes) / u128::from(bytes.max(1));
        let file_rows = usize::try_from(file_rows).unwrap_or(usize::MAX).max(1);
        Self { file_rows, share_rows: file_rows, filled: 0, alone: false }
    }

    /// Rows in an order of their own follow; true where the open file ends, so that it does not span two orders.
    pub(super) fn begin(&mut self, rows: usize) -> bool {
        let files = rows / self.file_rows + usize::from(rows % self.file_rows > self.file_rows / 2);
        // Too few for a file share one with those that follow.
        self.share_rows = if files == 0 { self.file_rows } else { rows.div_ceil(files) };
        let alone = files > 0;
        let ends = self.filled > 0 && (alone || self.alone);
        self.alone = alone;
        if ends {
            self.filled = 0;
        }
        ends
    }

    /// Rows that the open file still takes.
    pub(super) fn room(&self) -> usize {
        self.share_rows.saturating_sub(self.filled).max(1)
    }

    /// Notes rows that were written; true where the file ends.
    pub(super) fn put(&mut self, rows: usize) -> bool {
        self.filled += rows;
        let ends = self.filled >= self.share_rows;
        if ends {
            self.filled = 0;
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_interleaved_bits() {
        let interleaved = |point: [u32; 3]| {
            let bits = (0..32).rev().flat_map(|bit| point.map(|it| u128::from(it >> bit & 1)));
            bits.fold(0_u128, |all, bit| all << 1 | bit)
        };
        // Numbers as a linear congruence draws them, some bits of them only, so that many fall together.
        let mut state = 7_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> (state >> 27)
        };
        let points: Vec<[u32; 3]> = (0..200).map(|_| [next(), next() & 3, next()]).collect();
        for a in &points {
            for b in &points {
                assert_eq!(along(a, b), interleaved(*a).cmp(&interleaved(*b)), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn files_are_filled_evenly_and_small_orders_share_one() {
        for (orders, right) in [
            (vec![10], vec![10]),
            (vec![25], vec![13, 12]),
            (vec![26], vec![9, 9, 8]),
            (vec![3, 3, 3, 3], vec![10, 2]),
            (vec![3, 25, 3], vec![3, 13, 12, 3]),
            (vec![], vec![]),
        ] {
            let mut filling = Filling::new(100, 1_000, 100);
            let (mut files, mut open) = (Vec::new(), 0);
            for rows in orders {
                if filling.begin(rows) {
                    files.push(std::mem::take(&mut open));
                }
                let mut rest = rows;
                while rest > 0 {
                    let here = rest.min(filling.room());
                    open += here;
                    rest -= here;
                    if filling.put(here) {
                        files.push(std::mem::take(&mut open));
                    }
                }
            }
            files.extend(Some(open).filter(|open| *open > 0));
            assert_eq!(files, right);
        }
    }
}
