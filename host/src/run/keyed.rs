//! A step with a state for each key. One instance works on rows as they come; they are held meanwhile, beyond memory in a file, and
//! where the instance's memory does not suffice, the input is parted by key, so that an instance holds one part at a time.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;

use crate::batch::Batch;
use crate::component::ColumnSource;
use crate::run::chain::Item;
use crate::run::chain::Items;
use crate::run::chain::Room;
use crate::run::error::RunError;
use crate::run::lone::Coming;
use crate::run::lone::Lone;
use crate::run::lone::lone;
use crate::run::parts::Parts;
use crate::run::parts::Side;
use crate::sandbox::TransformPool;
use crate::spool::Spool;
use crate::spool::seed;

/// The step: what it answers once the input is over. `keys` are positions.
pub(super) fn step(
    items: Items,
    index: usize,
    pool: Arc<TransformPool>,
    keys: Vec<usize>,
    room: &Room,
) -> Items {
    let room = room.clone();
    lone(items, index, pool, move |lone, coming| work(lone, coming, &keys, &room))
}

fn work(lone: &Lone, mut coming: Coming, keys: &[usize], room: &Room) -> Result<(), RunError> {
    let mut held = Spool::new(room.folder.clone(), room.memory_max);
    // What the instance has answered so far; none once its memory did not suffice.
    let mut answered = Some(Vec::new());
    let mut side = None;
    while let Some((number, batch)) = coming.next() {
        if let Some(items) = &mut answered {
            match lone.answers(number, &batch) {
                Ok(more) => items.extend(more),
                Err(error) if error.breach.is_memory() => answered = None,
                Err(error) => return Err(error.into()),
            }
        }
        let side = match &mut side {
            Some(side) => side,
            none => none.insert(side_of(&lone.pool, keys, &batch.rows.schema())?),
        };
        let rows = side.taken(&batch.rows)?;
        held.push(Batch { rows, origin: batch.origin }, ())?;
    }
    if let Some(mut items) = answered {
        let finished = lone.pool.finish(&mut |batch| {
            items.push(Item::Rows(None, batch));
            true
        });
        match finished {
            Ok(()) => {
                lone.send(items);
                return Ok(());
            }
            Err(error) if error.breach.is_memory() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let Some(side) = side else { return Ok(()) };
    let mut parts = Parts::new(side, seed(), room);
    for batch in held.drain()? {
        parts.push(&batch?.0)?;
    }
    for part in parts.done()? {
        if !lone.through(part.rows()?)? {
            break;
        }
    }
    Ok(())
}

/// What has to be held: keys, what enters, what is carried past; everything, where rows may be set apart as they came.
fn side_of(pool: &TransformPool, keys: &[usize], schema: &SchemaRef) -> Result<Side, RunError> {
    let opened = pool.opened();
    let carried = opened.layout.iter().filter_map(|source| match source {
        ColumnSource::Input(at) => Some(*at),
        ColumnSource::Computed(_) => None,
    });
    let keys: Vec<_> = keys.iter().map(|at| (*at, schema.field(*at).data_type().clone())).collect();
    let rejects = if opened.reasons.is_empty() { 0..0 } else { 0..schema.fields().len() };
    Side::new(schema, &keys, opened.projection.iter().copied().chain(carried).chain(rejects))
}
