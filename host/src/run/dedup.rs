//! One row of each key stays. Keys are grouped and rows held beyond memory, and each row keeps its place of origin.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::Schema;

use crate::batch::Batch;
use crate::name::ColumnName;
use crate::run::chain::Holding;
use crate::run::chain::Room;
use crate::run::error::RunError;
use crate::run::sort::known;
use crate::run::sort::ordering;
use crate::run::sort::unordered;
use crate::spool::Groups;
use crate::spool::RowBytes;
use crate::spool::Spool;
use crate::spool::seed;
use crate::table::OrderBy;

/// What makes rows one row, and which of them stays.
#[derive(Debug)]
pub(super) struct Dedup {
    key: RowBytes,
    order: RowBytes,
    /// All columns, which break ties; none where the order is all columns, so that rows that it does not tell apart are the same.
    whole: Option<RowBytes>,
    seed: u64,
}

/// Rows on their way through.
pub(super) struct Deduplicating {
    dedup: Arc<Dedup>,
    groups: Groups,
    rows: Spool<()>,
    count: u64,
}

impl Dedup {
    /// Reads keys and order off rows of this schema; without keys, all columns are the key.
    pub(super) fn new(
        rows: &Schema,
        keys: &[ColumnName],
        order_by: &[OrderBy],
    ) -> Result<Self, String> {
        let all: Vec<String> = rows.fields().iter().map(|field| field.name().clone()).collect();
        known(rows, keys.iter().chain(order_by.iter().map(|by| &by.column)))?;
        let keys: Vec<String> = match keys {
            [] => all.clone(),
            keys => keys.iter().map(ToString::to_string).collect(),
        };
        let whole = || RowBytes::ascending(rows, &all).map_err(unordered);
        Ok(Self {
            key: RowBytes::ascending(rows, &keys).map_err(unordered)?,
            // Without an order the whole row decides.
            order: if order_by.is_empty() { whole()? } else { ordering(rows, order_by)? },
            whole: if order_by.is_empty() { None } else { Some(whole()?) },
            seed: seed(),
        })
    }
}

impl Deduplicating {
    /// Nothing came yet.
    pub(super) fn new(dedup: Arc<Dedup>, room: &Room) -> Self {
        let groups = Groups::new(room.folder.clone(), room.memory_max / 2);
        let rows = Spool::new(room.folder.clone(), room.memory_max / 2);
        Self { dedup, groups, rows, count: 0 }
    }
}

impl Holding for Deduplicating {
    fn push(&mut self, batch: Batch) -> Result<(), RunError> {
        let failed = || RunError::arrow("deduplicate");
        let keys = self.dedup.key.digests(&batch.rows, self.dedup.seed).map_err(failed())?;
        let orders = self.dedup.order.rows(&batch.rows).map_err(failed())?;
        for (key, order) in keys.into_iter().zip(orders.iter()) {
            self.groups.push(key, order.data())?;
        }
        self.count += batch.rows.num_rows() as u64;
        Ok(self.rows.push(batch, ())?)
    }

    /// The rows that stay, in the order in which they came.
    fn finish(self, take: &mut dyn FnMut(Batch) -> bool) -> Result<u64, RunError> {
        let Self { dedup, groups, mut rows, count } = self;
        let mut gone = Bits::new(count);
        let mut left_out = 0;
        // Rows that nothing but the whole row tells apart, and the number of their group.
        let mut tied: HashMap<u64, usize> = HashMap::new();
        let mut ties: Vec<Option<(Box<[u8]>, u64)>> = Vec::new();
        groups.repeated(|members| {
            left_out += members.len() as u64 - 1;
            let first = members[0];
            let equal = members.iter().take_while(|member| member.order == first.order).count();
            members[1..].iter().for_each(|member| gone.set(member.row));
            if equal > 1 && dedup.whole.is_some() {
                gone.set(first.row);
                tied.extend(members[..equal].iter().map(|member| (member.row, ties.len())));
                ties.push(None);
            }
            Ok::<_, RunError>(())
        })?;
        if let Some(whole) = dedup.whole.as_ref().filter(|_| !tied.is_empty()) {
            let mut number = 0;
            for batch in rows.replay()? {
                let (batch, ()) = batch?;
                let here: Vec<(usize, usize)> = (0..batch.rows.num_rows())
                    .filter_map(|at| Some((at, *tied.get(&(number + at as u64))?)))
                    .collect();
                if !here.is_empty() {
                    let whole = whole.rows(&batch.rows).map_err(RunError::arrow("deduplicate"))?;
                    for (at, tie) in here {
                        let (bytes, row) = (whole.row(at), number + at as u64);
                        let best = &mut ties[tie];
                        if best.as_ref().is_none_or(|(least, _)| bytes.data() < least.as_ref()) {
                            *best = Some((bytes.data().into(), row));
                        }
                    }
                }
                number += batch.rows.num_rows() as u64;
            }
            ties.into_iter().flatten().for_each(|(_, row)| gone.clear(row));
        }
        let mut number = 0;
        for batch in rows.drain()? {
            let (batch, ()) = batch?;
            let length = batch.rows.num_rows();
            let stays = BooleanArray::new(!&gone.slice(number, length), None);
            number += length as u64;
            let kept = batch.filter(&stays).map_err(RunError::arrow("deduplicate"))?;
            if kept.rows.num_rows() > 0 && !take(kept) {
                break;
            }
        }
        Ok(left_out)
    }
}

/// A bit for each row of the input.
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn new(rows: u64) -> Self {
        Self(vec![0; usize::try_from(rows.div_ceil(64)).unwrap_or(0)])
    }

    pub(super) fn set(&mut self, row: u64) {
        self.0[(row / 64) as usize] |= 1 << (row % 64);
    }

    pub(super) fn clear(&mut self, row: u64) {
        self.0[(row / 64) as usize] &= !(1 << (row % 64));
    }

    pub(super) fn get(&self, row: u64) -> bool {
        self.0.get((row / 64) as usize).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// The bits of neighbouring rows.
    pub(super) fn slice(&self, first: u64, rows: usize) -> BooleanBuffer {
        BooleanBuffer::collect_bool(rows, |at| self.get(first + at as u64))
    }
}
