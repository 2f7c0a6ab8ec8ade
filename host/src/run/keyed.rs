//! A step with a state for each key. One instance works on rows as they come; they are held meanwhile, beyond memory in a file, and
//! where the instance's memory does not suffice, the input is parted by key, so that an instance holds one part at a time.

use std::collections::BTreeSet;
use std::hash::BuildHasher as _;
use std::hash::Hasher as _;
use std::hash::RandomState;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::array::UInt32Array;
use arrow::array::new_null_array;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use futures::StreamExt as _;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::batch::Batch;
use crate::component::ColumnSource;
use crate::run::chain::Item;
use crate::run::chain::Items;
use crate::run::chain::Room;
use crate::run::chain::produced;
use crate::run::error::RunError;
use crate::sandbox::SandboxError;
use crate::sandbox::TransformPool;
use crate::spool::RowBytes;
use crate::spool::Spool;

/// Parts of an input whose state does not fit into one instance.
const PARTS: usize = 32;

/// For errors.
const STAGE: &str = "a keyed transform";

/// Batches that may wait for the instance.
const WAITING: usize = 2;

type Held = Spool<Option<u64>>;

/// The step: what it answers once the input is over. `keys` are positions.
pub(super) fn step(
    mut items: Items,
    index: usize,
    pool: Arc<TransformPool>,
    keys: Vec<usize>,
    room: &Room,
) -> Items {
    let room = room.clone();
    produced("a transform", move |sender| async move {
        let (rows, waiting) = mpsc::channel(WAITING);
        let keyed = Keyed { pool, index, keys, room, sender: sender.clone() };
        let working = spawn_blocking(move || keyed.work(waiting));
        while let Some(item) = items.next().await {
            let going = match item? {
                Item::Rows(number, batch) => rows.send((number, batch)).await.is_ok(),
                other => sender.send(other).await.is_ok(),
            };
            // Whoever stopped listening says why.
            if !going {
                break;
            }
        }
        drop(rows);
        working.await.map_err(RunError::stopped("a transform"))?
    })
}

struct Keyed {
    pool: Arc<TransformPool>,
    index: usize,
    keys: Vec<usize>,
    room: Room,
    sender: mpsc::Sender<Item>,
}

impl Keyed {
    fn work(&self, mut waiting: mpsc::Receiver<(Option<u64>, Batch)>) -> Result<(), RunError> {
        let mut held = Held::new(self.room.folder.clone(), self.room.memory_max);
        // What the instance has answered so far; none once its memory did not suffice.
        let mut answered = Some(Vec::new());
        let mut narrow = None;
        while let Some((number, batch)) = waiting.blocking_recv() {
            if let Some(items) = &mut answered {
                match self.answers(number, &batch) {
                    Ok(more) => items.extend(more),
                    Err(error) if error.breach.is_memory() => answered = None,
                    Err(error) => return Err(error.into()),
                }
            }
            let narrow = narrow.get_or_insert_with(|| Narrow::new(&self.pool, &self.keys, &batch));
            held.push(narrow.taken(&batch)?, number)?;
        }
        if let Some(mut items) = answered {
            let finished = self.pool.finish(&mut |batch| {
                items.push(Item::Rows(None, batch));
                true
            });
            match finished {
                Ok(()) => {
                    self.send(items);
                    return Ok(());
                }
                Err(error) if error.breach.is_memory() => {}
                Err(error) => return Err(error.into()),
            }
        }
        let Some(narrow) = narrow else { return Ok(()) };
        for part in self.parted(held, &narrow)? {
            for batch in part.drain()? {
                let (batch, number) = batch?;
                if !self.send(self.answers(number, &narrow.whole(&batch)?)?) {
                    return Ok(());
                }
            }
            let mut going = true;
            self.pool.finish(&mut |batch| {
                going = self.send(vec![Item::Rows(None, batch)]);
                going
            })?;
            if !going {
                break;
            }
        }
        Ok(())
    }

    fn answers(&self, number: Option<u64>, batch: &Batch) -> Result<Vec<Item>, SandboxError> {
        let done = self.pool.process(number, batch)?;
        let rows = done.batches.into_iter().map(|batch| Item::Rows(number, batch));
        let index = self.index;
        let rejected = done.rejected.into_iter().map(|rejection| Item::Rejected(index, rejection));
        Ok(rows.chain(rejected).collect())
    }

    /// Whether the next stage wants more.
    fn send(&self, items: Vec<Item>) -> bool {
        items.into_iter().all(|item| self.sender.blocking_send(item).is_ok())
    }

    /// The rows in parts: all rows of a key are in one of them, in their order.
    fn parted(&self, rows: Held, narrow: &Narrow) -> Result<Vec<Held>, RunError> {
        let seed = RandomState::new().build_hasher().finish();
        let Room { folder, memory_max } = &self.room;
        let mut parts: Vec<Held> =
            (0..PARTS).map(|_| Spool::new(folder.clone(), memory_max / PARTS)).collect();
        for batch in rows.drain()? {
            let (batch, number) = batch?;
            for (part, piece) in parts.iter_mut().zip(narrow.pieces(&batch, seed)?) {
                if let Some(piece) = piece {
                    part.push(piece, number)?;
                }
            }
        }
        Ok(parts)
    }
}

/// The columns that have to be held: keys, what enters, what is carried past.
struct Narrow {
    wanted: Vec<usize>,
    keys: Vec<String>,
    schema: SchemaRef,
}

impl Narrow {
    fn new(pool: &TransformPool, keys: &[usize], batch: &Batch) -> Self {
        let opened = pool.opened();
        let carried = opened.layout.iter().filter_map(|source| match source {
            ColumnSource::Input(at) => Some(*at),
            ColumnSource::Computed(_) => None,
        });
        let wanted = keys.iter().copied().chain(opened.projection.iter().copied()).chain(carried);
        let schema = batch.rows.schema();
        Self {
            wanted: wanted.collect::<BTreeSet<_>>().into_iter().collect(),
            keys: keys.iter().map(|at| schema.field(*at).name().clone()).collect(),
            schema,
        }
    }

    fn taken(&self, batch: &Batch) -> Result<Batch, RunError> {
        let rows = batch.rows.project(&self.wanted).map_err(RunError::arrow(STAGE))?;
        Ok(Batch { rows, origin: batch.origin.clone() })
    }

    /// The batch as it came, with NULL in columns that nobody reads.
    fn whole(&self, batch: &Batch) -> Result<Batch, RunError> {
        let rows = batch.rows.num_rows();
        let columns = self.schema.fields().iter().enumerate().map(|(at, field)| {
            match self.wanted.binary_search(&at) {
                Ok(place) => Arc::clone(batch.rows.column(place)),
                Err(_) => new_null_array(field.data_type(), rows),
            }
        });
        let fields =
            self.schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let rows =
            RecordBatch::try_new(schema, columns.collect()).map_err(RunError::arrow(STAGE))?;
        Ok(Batch { rows, origin: batch.origin.clone() })
    }

    /// The rows of each part, where there are any.
    fn pieces(&self, batch: &Batch, seed: u64) -> Result<Vec<Option<Batch>>, RunError> {
        let failed = || RunError::arrow(STAGE);
        let key = RowBytes::ascending(&batch.rows.schema(), &self.keys).map_err(failed())?;
        let mut places: Vec<Vec<u32>> = vec![Vec::new(); PARTS];
        let digests = key.digests(&batch.rows, seed).map_err(failed())?;
        for (at, digest) in digests.into_iter().enumerate() {
            // A batch has far fewer than four billion rows.
            places[(digest % PARTS as u128) as usize].push(u32::try_from(at).unwrap_or(u32::MAX));
        }
        let piece = |places: Vec<u32>| {
            let some = (!places.is_empty()).then(|| batch.take(&UInt32Array::from(places)));
            some.transpose().map_err(failed())
        };
        places.into_iter().map(piece).collect()
    }
}
