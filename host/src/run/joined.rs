//! A join. The other source is held by one instance, through which rows are streamed; where it does not fit into the instance's
//! memory, both sides are parted by key, beyond memory in files, and joined part by part.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use arrow::datatypes::DataType;
use arrow::datatypes::Schema;

use crate::batch::Batch;
use crate::name::ColumnName;
use crate::run::chain::Item;
use crate::run::chain::Items;
use crate::run::chain::Room;
use crate::run::error::RunError;
use crate::run::lone::Coming;
use crate::run::lone::Lone;
use crate::run::lone::lone;
use crate::run::parts::Key;
use crate::run::parts::Part;
use crate::run::parts::Parts;
use crate::run::parts::Side;
use crate::sandbox::Cause;
use crate::sandbox::Reference;
use crate::sandbox::References;
use crate::sandbox::TransformPool;
use crate::spool::seed;

/// What a join makes equal, so that both sides can be parted.
#[derive(Debug)]
pub(super) struct Joining {
    here: Vec<Key>,
    there: Vec<Key>,
    other: Reference,
}

impl Joining {
    /// None where the sides' keys are compared in a way that only the engine knows, such as a date with a moment.
    pub(super) fn new(
        rows: &Schema,
        other: &Reference,
        on: &[(ColumnName, ColumnName)],
    ) -> Option<Self> {
        let (mut here, mut there) = (Vec::new(), Vec::new());
        for (left, right) in on {
            let (left, field) = rows.column_with_name(left.as_str())?;
            let (right, other) = other.schema.column_with_name(right.as_str())?;
            let of = common(field.data_type(), other.data_type())?;
            here.push((left, of.clone()));
            there.push((right, of));
        }
        Some(Self { here, there, other: other.clone() })
    }
}

/// The type in which values of these are equal as in a join.
fn common(a: &DataType, b: &DataType) -> Option<DataType> {
    let is_text = |of: &DataType| matches!(of, DataType::Utf8 | DataType::LargeUtf8);
    let fits = |of: &DataType| of.is_integer() && *of != DataType::UInt64;
    match (a, b) {
        (a, b) if a == b => Some(a.clone()),
        (a, b) if is_text(a) && is_text(b) => Some(DataType::LargeUtf8),
        (a, b) if fits(a) && fits(b) => Some(DataType::Int64),
        _ => None,
    }
}

/// The step.
pub(super) fn step(
    items: Items,
    index: usize,
    pool: Arc<TransformPool>,
    joining: Arc<Joining>,
    room: &Room,
) -> Items {
    let room = room.clone();
    lone(items, index, pool, move |lone, coming| work(lone, coming, &joining, &room))
}

fn work(lone: &Lone, mut coming: Coming, joining: &Joining, room: &Room) -> Result<(), RunError> {
    // The instance is given the other source before its first batch: if that fails, nothing has come out of it.
    let Some((number, first)) = coming.next() else {
        let mut is_untouched = true;
        let finished = lone.pool.finish(&mut |batch| {
            is_untouched = false;
            lone.send(vec![Item::Rows(None, batch)])
        });
        return match finished {
            Err(error) if is_untouched && error.breach.is_memory() => {
                in_parts(lone, None, coming, joining, room)
            }
            finished => Ok(finished?),
        };
    };
    let mut items = match lone.answers(number, &first) {
        Err(error) if error.breach.is_memory() => {
            return in_parts(lone, Some(first), coming, joining, room);
        }
        answered => answered?,
    };
    loop {
        if !lone.send(items) {
            return Ok(());
        }
        let Some((number, batch)) = coming.next() else { break };
        items = lone.answers(number, &batch)?;
    }
    lone.through(std::iter::empty()).map(|_| ())
}

fn in_parts(
    lone: &Lone,
    first: Option<Batch>,
    mut coming: Coming,
    joining: &Joining,
    room: &Room,
) -> Result<(), RunError> {
    let opened = lone.pool.opened();
    let seed = seed();
    // Both sides are held at once.
    let room = Room { memory_max: room.memory_max / 2, ..room.clone() };
    let read = opened.others.first().into_iter().flatten().copied();
    let side = Side::new(&joining.other.schema, &joining.there, read)?;
    let mut there = Parts::new(side, seed, &room);
    for rows in lone.pool.rows_of(&joining.other) {
        there.push_whole(&rows?)?;
    }
    let mut here: Option<Parts> = None;
    let mut next = first;
    while let Some(batch) = next {
        let here = match &mut here {
            Some(here) => here,
            none => {
                let read = opened.projection.iter().copied();
                let side = Side::new(&batch.rows.schema(), &joining.here, read)?;
                none.insert(Parts::new(side, seed, &room))
            }
        };
        here.push_whole(&batch.rows)?;
        next = coming.next().map(|(_, batch)| batch);
    }
    let mut here = here.map(Parts::done).transpose()?.unwrap_or_default().into_iter();
    for there in there.done()? {
        lone.pool.restart(vec![part(&joining.other, there)])?;
        let rows = here.next().map(Part::rows).transpose()?;
        if !lone.through(rows.into_iter().flatten())? {
            break;
        }
    }
    Ok(())
}

/// A part of the other source in its place.
fn part(whole: &Reference, part: Part) -> Reference {
    let part = Mutex::new(Some(part));
    let open = move || -> References {
        let part = part.lock().unwrap_or_else(PoisonError::into_inner).take();
        let rows = part.ok_or_else(|| Cause::from("a part of it is gone when it is read again"));
        match rows.and_then(|part| Ok(part.rows().map_err(Box::new)?)) {
            Ok(rows) => Box::new(rows.map(|batch| Ok(batch.map_err(Box::new)?.rows))),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    };
    Reference { open: Arc::new(open), ..whole.clone() }
}
