//! Rows in order, beyond memory: as many as memory holds are ordered there and written as a run, then all runs are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_row::Rows;

use crate::batch::Batch;
use crate::spool::RowBytes;
use crate::spool::Spool;
use crate::spool::rows::bytes_of;
use crate::storage::StorageError;

/// Rows of a batch in a file: a batch of each run is in memory while runs are merged.
const RUN_ROWS: usize = 1_024;

/// Rows of a batch that comes out.
const BATCH_ROWS: usize = 8_192;

/// Bytes of a batch, about, however few rows it has then.
const BATCH_BYTES: usize = 16 << 20;

/// Runs that are merged at once: each has an open file.
const RUNS_MAX: usize = 64;

/// What a row takes in memory beside its values and what orders it.
const PLACE_BYTES: usize = size_of::<(usize, usize)>();

/// Batches in order, their rows as well.
type Ordered = Box<dyn Iterator<Item = Result<Batch, StorageError>> + Send>;

/// Takes rows in any order and gives them back in theirs; equal rows stay in the order in which they came.
#[derive(Debug)]
pub struct Sorter {
    order: Arc<RowBytes>,
    folder: PathBuf,
    memory_max: usize,
    memory: usize,
    held: Held,
    /// Runs in files, by how often they were merged; the more often, the earlier their rows came.
    runs: Vec<Vec<Spool<()>>>,
}

/// Batches, and what orders their rows.
#[derive(Debug, Default)]
struct Held {
    batches: Vec<Batch>,
    orders: Vec<Rows>,
}

impl Sorter {
    /// No rows yet; what does not fit into `memory_max` bytes goes to files without a name in `folder`.
    #[must_use]
    pub fn new(order: Arc<RowBytes>, folder: PathBuf, memory_max: usize) -> Self {
        let (held, runs) = (Held::default(), Vec::new());
        Self { order, folder, memory_max, memory: 0, held, runs }
    }

    /// Takes a batch, all of one schema.
    ///
    /// # Errors
    /// Where a run cannot be written.
    pub fn push(&mut self, batch: Batch) -> Result<(), StorageError> {
        let order = self.order.rows(&batch.rows).map_err(failed(&self.folder))?;
        self.memory += bytes_of(&batch.rows) + order.size() + batch.rows.num_rows() * PLACE_BYTES;
        self.held.batches.push(batch);
        self.held.orders.push(order);
        if self.memory > self.memory_max { self.spill() } else { Ok(()) }
    }

    /// The rows in order.
    ///
    /// # Errors
    /// Where runs cannot be read back; what is read later says so itself.
    pub fn finish(self) -> Result<Ordered, StorageError> {
        let Self { order, folder, held, runs, .. } = self;
        let mut ordered =
            runs.into_iter().rev().flatten().map(from_file).collect::<Result<Vec<_>, _>>()?;
        ordered.push(held.ordered(&folder, BATCH_ROWS, BATCH_BYTES));
        merged(order, folder, ordered)
    }

    /// Writes what is held as a run.
    fn spill(&mut self) -> Result<(), StorageError> {
        self.memory = 0;
        let held = std::mem::take(&mut self.held);
        let mut run = self.written(held.ordered(&self.folder, RUN_ROWS, self.run_bytes()))?;
        for level in 0.. {
            if self.runs.len() == level {
                self.runs.push(Vec::new());
            }
            self.runs[level].push(run);
            if self.runs[level].len() < RUNS_MAX {
                break;
            }
            let runs = std::mem::take(&mut self.runs[level]);
            let runs = runs.into_iter().map(from_file).collect::<Result<_, _>>()?;
            run = self.written(merged(Arc::clone(&self.order), self.folder.clone(), runs)?)?;
        }
        Ok(())
    }

    /// Bytes of a batch in a run: one of each run is in memory while they are merged.
    fn run_bytes(&self) -> usize {
        self.memory_max / RUNS_MAX
    }

    fn written(&self, ordered: Ordered) -> Result<Spool<()>, StorageError> {
        let mut run = Spool::new(self.folder.clone(), 0);
        for batch in ordered {
            let batch = batch?;
            let all = batch.rows.num_rows();
            let few = (self.run_bytes() / row_bytes(&batch)).clamp(1, RUN_ROWS);
            for start in (0..all).step_by(few) {
                run.push(batch.slice(start, few.min(all - start)), ())?;
            }
        }
        Ok(run)
    }
}

impl Held {
    /// Its rows in order, at most `rows` and about `bytes` at a time.
    fn ordered(self, folder: &Path, rows: usize, bytes: usize) -> Ordered {
        let Self { batches, orders } = self;
        let places = orders.iter().enumerate();
        let mut places: Vec<(usize, usize)> =
            places.flat_map(|(of, rows)| (0..rows.num_rows()).map(move |at| (of, at))).collect();
        let order = |(of, at): (usize, usize)| orders[of].row(at);
        places.sort_by(|a, b| order(*a).cmp(&order(*b)));
        drop(orders);
        let folder = folder.to_owned();
        let weights: Vec<usize> = batches.iter().map(row_bytes).collect();
        let mut start = 0;
        Box::new(std::iter::from_fn(move || {
            let (mut end, mut taken) = (start, 0);
            while end < places.len() && end - start < rows && (end == start || taken < bytes) {
                taken += weights[places[end].0];
                end += 1;
            }
            let some = &places[start..end];
            start = end;
            let all: Vec<&Batch> = batches.iter().collect();
            (!some.is_empty()).then(|| Batch::interleave(&all, some).map_err(failed(&folder)))
        }))
    }
}

/// What a row of a batch takes, about; at least a byte.
fn row_bytes(batch: &Batch) -> usize {
    (bytes_of(&batch.rows) / batch.rows.num_rows().max(1)).max(1)
}

fn from_file(run: Spool<()>) -> Result<Ordered, StorageError> {
    Ok(Box::new(run.drain()?.map(|batch| Ok(batch?.0))))
}

fn failed<E: std::error::Error + Send + Sync + 'static>(
    folder: &Path,
) -> impl FnOnce(E) -> StorageError + use<'_, E> {
    StorageError::library(folder, "order rows")
}

/// One run of several; of equal rows, those of the earlier run come first.
fn merged(
    order: Arc<RowBytes>,
    folder: PathBuf,
    mut runs: Vec<Ordered>,
) -> Result<Ordered, StorageError> {
    if runs.len() == 1 {
        return Ok(runs.remove(0));
    }
    let mut merge = Merge { order, folder, heads: Vec::new(), next: BinaryHeap::new() };
    for run in runs {
        let mut head = Head { run, batch: None, at: 0, row_bytes: 1 };
        if merge.refill(&mut head)? {
            let place = merge.heads.len();
            merge.next.push(Reverse((head.key().to_vec(), place)));
            merge.heads.push(head);
        }
    }
    Ok(Box::new(std::iter::from_fn(move || merge.batch().transpose())))
}

/// Runs on their way into one.
struct Merge {
    order: Arc<RowBytes>,
    folder: PathBuf,
    heads: Vec<Head>,
    /// What orders the next row of each run that has one, and the run.
    next: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
}

/// Where a run is read.
struct Head {
    run: Ordered,
    /// The batch at hand with what orders its rows; none once the run is over.
    batch: Option<(Batch, Rows)>,
    at: usize,
    row_bytes: usize,
}

impl Head {
    fn key(&self) -> &[u8] {
        match &self.batch {
            Some((_, orders)) => orders.row(self.at).data(),
            None => &[],
        }
    }
}

impl Merge {
    /// Reads the next batch that has rows; false where there is none.
    fn refill(&self, head: &mut Head) -> Result<bool, StorageError> {
        (head.batch, head.at) = (None, 0);
        for batch in head.run.by_ref() {
            let batch = batch?;
            if batch.rows.num_rows() > 0 {
                let orders = self.order.rows(&batch.rows).map_err(failed(&self.folder))?;
                head.row_bytes = row_bytes(&batch);
                head.batch = Some((batch, orders));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The next rows of all.
    fn batch(&mut self) -> Result<Option<Batch>, StorageError> {
        let mut batches: Vec<Batch> = Vec::new();
        // Where each run's batch at hand is among those.
        let mut places_of: Vec<Option<usize>> = vec![None; self.heads.len()];
        let mut places = Vec::with_capacity(BATCH_ROWS);
        let mut heads = std::mem::take(&mut self.heads);
        let mut taken = 0;
        while places.len() < BATCH_ROWS && taken < BATCH_BYTES {
            let Some(Reverse((_, run))) = self.next.peek() else { break };
            let run = *run;
            let head = &mut heads[run];
            let Some((batch, orders)) = &head.batch else { break };
            let of = *places_of[run].get_or_insert_with(|| {
                batches.push(batch.clone());
                batches.len() - 1
            });
            places.push((of, head.at));
            taken += head.row_bytes;
            head.at += 1;
            let mut goes_on = head.at < orders.num_rows();
            if !goes_on {
                places_of[run] = None;
                goes_on = self.refill(head)?;
            }
            if let Some(mut next) = self.next.peek_mut() {
                if goes_on {
                    next.0.0.clear();
                    next.0.0.extend_from_slice(head.key());
                } else {
                    PeekMut::pop(next);
                }
            }
        }
        self.heads = heads;
        if places.is_empty() {
            return Ok(None);
        }
        let batches: Vec<&Batch> = batches.iter().collect();
        Batch::interleave(&batches, &places).map(Some).map_err(failed(&self.folder))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use arrow::array::AsArray as _;
    use arrow::array::record_batch;
    use arrow::compute::SortOptions;
    use arrow::datatypes::Int64Type;

    use super::*;
    use crate::batch::Origin;
    use crate::batch::Positions;

    #[test]
    fn rows_are_ordered_with_their_places_whatever_memory_there_is_and_equal_ones_keep_theirs() {
        let batch = |number: i64| {
            let keys: Vec<_> =
                (0..7).map(|n| (n != 3).then_some((number * 5 + n * 3) % 11)).collect();
            let at: Vec<_> = (0..7).map(|n| number * 7 + n).collect();
            let rows = Positions::From(1 + number.unsigned_abs() * 7);
            Batch {
                rows: record_batch!(("key", Int64, keys), ("at", Int64, at)).unwrap(),
                origin: Origin { file: "f".into(), rows },
            }
        };
        let batches: Vec<_> = (0..300).map(batch).collect();
        let options = SortOptions { descending: true, nulls_first: false };
        let schema = batches[0].rows.schema();
        let order = Arc::new(RowBytes::new(&schema, [("key".to_owned(), options)]).unwrap());
        let read = |batch: &Batch| {
            let column = |at: usize| batch.rows.column(at).as_primitive::<Int64Type>();
            let rows = column(0).iter().zip(column(1).values()).enumerate();
            rows.map(|(row, (key, at))| (key, *at, batch.origin.row(row))).collect::<Vec<_>>()
        };
        let mut expected: Vec<_> = batches.iter().flat_map(read).collect();
        // NULL is below all values, so it is last where the greatest is first.
        expected.sort_by_key(|(key, ..)| Reverse(*key));
        // All in memory; one file; several; so many that files are merged into files.
        for memory_max in [1 << 20, 80_000, 5_000, 0] {
            let mut sorter = Sorter::new(Arc::clone(&order), std::env::temp_dir(), memory_max);
            batches.iter().for_each(|batch| sorter.push(batch.clone()).unwrap());
            let sorted: Vec<_> =
                sorter.finish().unwrap().flat_map(|batch| read(&batch.unwrap())).collect();
            assert_eq!(sorted, expected, "{memory_max}");
        }
        assert_eq!(Sorter::new(order, std::env::temp_dir(), 0).finish().unwrap().count(), 0);
    }
}
