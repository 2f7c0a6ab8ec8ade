//! Additions, replacements, and all rows of a key at once.

use wasmhost::flow::Keys;
use wasmhost::table::Counts;

use super::Refusal;
use super::SYSTEM;
use super::keys_of;
use super::names;
use crate::model::value::Batch;
use crate::model::value::Row;
use crate::model::value::Value;
use crate::model::value::get;
use crate::model::value::values;

type Loaded = (Vec<Row>, Counts);

/// All rows stay, the batch's are added.
pub(super) fn nothing(stored: &[Row], batch: &Batch) -> Loaded {
    without(stored, batch, |_| false)
}

/// All rows go.
pub(super) fn all(stored: &[Row], batch: &Batch) -> Loaded {
    without(stored, batch, |_| true)
}

/// The table stays, though there would have been rows.
pub(super) fn skipped(stored: &[Row], batch: &Batch) -> Loaded {
    let counts = Counts {
        rows_unchanged: batch.rows.len() as u64,
        rows_deleted: Some(0),
        ..Counts::default()
    };
    (stored.to_vec(), counts)
}

/// The rows go that are in a partition of the batch.
pub(super) fn partitions(stored: &[Row], batch: &Batch) -> Loaded {
    let partitions: Vec<&Value> = batch.rows.iter().map(|row| get(row, "p")).collect();
    without(stored, batch, |row| partitions.contains(&get(row, "p")))
}

/// The rows go that are selected, as those of the batch have to be.
pub(super) fn selected(
    stored: &[Row],
    batch: &Batch,
    selected: impl Fn(&Row) -> bool,
) -> Result<Loaded, Refusal> {
    if !batch.rows.iter().all(&selected) {
        return Err(Refusal::Data("a row is not among those that are replaced"));
    }
    Ok(without(stored, batch, selected))
}

fn without(stored: &[Row], batch: &Batch, goes: impl Fn(&Row) -> bool) -> Loaded {
    let mut rows: Vec<_> = stored.iter().filter(|row| !goes(row)).cloned().collect();
    let counts = Counts {
        rows_inserted: batch.rows.len() as u64,
        rows_deleted: Some((stored.len() - rows.len()) as u64),
        ..Counts::default()
    };
    rows.extend(batch.rows.iter().cloned());
    (rows, counts)
}

/// The stored rows of a key give way to the batch's, unless they are the same.
pub(super) fn keys(stored: &[Row], batch: &Batch, keys: &Keys) -> Result<Loaded, Refusal> {
    let columns = names(&keys.columns);
    let mut rows = stored.to_vec();
    let mut counts = Counts::default();
    let mut deleted = 0;
    for key in keys_of(batch, keys)? {
        let has_key = |row: &&Row| values(row, &columns) == key;
        let old: Vec<_> = rows.iter().filter(has_key).cloned().collect();
        let new: Vec<_> = batch.rows.iter().filter(has_key).cloned().collect();
        if contents(&old) == contents(&new) {
            counts.rows_unchanged += new.len() as u64;
            continue;
        }
        rows.retain(|row| !has_key(&row));
        deleted += old.len() as u64;
        counts.rows_inserted += new.len() as u64;
        rows.extend(new);
    }
    counts.rows_deleted = Some(deleted);
    Ok((rows, counts))
}

/// The rows as a multiset, without what says when they came.
fn contents(rows: &[Row]) -> Vec<Row> {
    let mut rows = rows.to_vec();
    for row in &mut rows {
        row.retain(|column, _| !SYSTEM.contains(&column.as_str()));
    }
    rows.sort();
    rows
}
