//! Rows parted by key, for states that do not fit into one instance: all rows of a key are in one part, in their order.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::array::UInt32Array;
use arrow::array::new_null_array;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

use crate::batch::Batch;
use crate::batch::Origin;
use crate::run::chain::Room;
use crate::run::error::RunError;
use crate::spool::RowBytes;
use crate::spool::Spool;
use crate::spool::bytes_of;

/// Parts of an input.
pub(super) const PARTS: usize = 32;

/// Rows of a part that are put together before they are held: an instance is called for each batch.
const BATCH_ROWS: usize = 4_096;

/// For errors.
const STAGE: &str = "a step that is parted by key";

/// A key: its place, and the type in which it is compared.
pub(super) type Key = (usize, DataType);

/// How rows of one schema are held and parted.
pub(super) struct Side {
    /// The columns that have to be held, ascending.
    wanted: Vec<usize>,
    /// The keys among them.
    keys: Vec<Key>,
    bytes: RowBytes,
    keyed: SchemaRef,
    /// The rows as they come.
    schema: SchemaRef,
}

impl Side {
    /// Rows of `schema`, of which the columns `read` and the keys have to be held.
    pub(super) fn new(
        schema: &SchemaRef,
        keys: &[Key],
        read: impl IntoIterator<Item = usize>,
    ) -> Result<Self, RunError> {
        let wanted: BTreeSet<usize> = keys.iter().map(|(at, _)| *at).chain(read).collect();
        let wanted: Vec<usize> = wanted.into_iter().collect();
        let field =
            |(number, (_, of)): (usize, &Key)| Field::new(format!("{number}"), of.clone(), true);
        let keyed = Schema::new(keys.iter().enumerate().map(field).collect::<Vec<_>>());
        let names: Vec<String> = keyed.fields().iter().map(|field| field.name().clone()).collect();
        Ok(Self {
            keys: keys
                .iter()
                .map(|(at, of)| (wanted.partition_point(|held| held < at), of.clone()))
                .collect(),
            bytes: RowBytes::ascending(&keyed, &names).map_err(failed())?,
            keyed: Arc::new(keyed),
            schema: Arc::clone(schema),
            wanted,
        })
    }

    /// The columns that have to be held.
    pub(super) fn taken(&self, rows: &RecordBatch) -> Result<RecordBatch, RunError> {
        rows.project(&self.wanted).map_err(failed())
    }

    /// The rows as they came, with NULL in columns that nobody reads.
    pub(super) fn whole(&self, held: &RecordBatch) -> Result<RecordBatch, RunError> {
        let rows = held.num_rows();
        let columns = self.schema.fields().iter().enumerate().map(|(at, field)| {
            match self.wanted.binary_search(&at) {
                Ok(place) => Arc::clone(held.column(place)),
                Err(_) => new_null_array(field.data_type(), rows),
            }
        });
        let fields =
            self.schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        RecordBatch::try_new(schema, columns.collect()).map_err(failed())
    }

    /// The rows of each part.
    fn pieces(&self, held: &Batch, seed: u64) -> Result<Vec<Batch>, ArrowError> {
        let keys = self.keys.iter().map(|(at, of)| cast(held.rows.column(*at), of));
        let keys = RecordBatch::try_new(Arc::clone(&self.keyed), keys.collect::<Result<_, _>>()?)?;
        let mut places: Vec<Vec<u32>> = vec![Vec::new(); PARTS];
        for (at, digest) in self.bytes.digests(&keys, seed)?.into_iter().enumerate() {
            // A batch has far fewer than four billion rows.
            places[(digest % PARTS as u128) as usize].push(u32::try_from(at).unwrap_or(u32::MAX));
        }
        places.into_iter().map(|places| held.take(&UInt32Array::from(places))).collect()
    }
}

/// The parts of an input.
pub(super) struct Parts {
    side: Arc<Side>,
    seed: u64,
    /// Bytes of a part that wait to be put together.
    bytes_max: usize,
    parts: Vec<Part>,
}

/// The rows of some keys.
pub(super) struct Part {
    side: Arc<Side>,
    rows: Spool<()>,
    /// Rows of one file that are not put together yet, and their bytes.
    pieces: Vec<Batch>,
    bytes: usize,
}

impl Parts {
    /// No rows yet. Two inputs with the same seed are parted alike.
    pub(super) fn new(side: Side, seed: u64, room: &Room) -> Self {
        let side = Arc::new(side);
        let part = |_| Part {
            side: Arc::clone(&side),
            rows: Spool::new(room.folder.clone(), room.memory_max / PARTS),
            pieces: Vec::new(),
            bytes: 0,
        };
        let parts = (0..PARTS).map(part).collect();
        Self { side, seed, bytes_max: room.memory_max / PARTS, parts }
    }

    /// Takes rows of the columns that are held.
    pub(super) fn push(&mut self, held: &Batch) -> Result<(), RunError> {
        let pieces = self.side.pieces(held, self.seed).map_err(failed())?;
        for (part, piece) in self.parts.iter_mut().zip(pieces) {
            if piece.rows.num_rows() == 0 {
                continue;
            }
            if part.pieces.last().is_some_and(|last| last.origin.file != piece.origin.file) {
                part.put_together()?;
            }
            part.bytes += bytes_of(&piece.rows);
            part.pieces.push(piece);
            let rows: usize = part.pieces.iter().map(|piece| piece.rows.num_rows()).sum();
            if rows >= BATCH_ROWS || part.bytes > self.bytes_max {
                part.put_together()?;
            }
        }
        Ok(())
    }

    /// Takes rows as they come, of which no place is remembered.
    pub(super) fn push_whole(&mut self, rows: &RecordBatch) -> Result<(), RunError> {
        let rows = self.side.taken(rows)?;
        self.push(&Batch { rows, origin: Origin::unknown() })
    }

    /// All parts, in no order that means something.
    pub(super) fn done(mut self) -> Result<Vec<Part>, RunError> {
        self.parts.iter_mut().try_for_each(Part::put_together)?;
        Ok(self.parts)
    }
}

impl Part {
    fn put_together(&mut self) -> Result<(), RunError> {
        let pieces = std::mem::take(&mut self.pieces);
        self.bytes = 0;
        if pieces.is_empty() {
            return Ok(());
        }
        Ok(self.rows.push(Batch::concat(&pieces).map_err(failed())?, ())?)
    }

    /// Its rows, as they came.
    pub(super) fn rows(self) -> Result<impl Iterator<Item = Result<Batch, RunError>>, RunError> {
        let Self { side, rows, .. } = self;
        Ok(rows.drain()?.map(move |batch| {
            let (Batch { rows, origin }, ()) = batch?;
            Ok(Batch { rows: side.whole(&rows)?, origin })
        }))
    }
}

fn failed() -> impl FnOnce(ArrowError) -> RunError {
    RunError::arrow(STAGE)
}
