//! What each load strategy does to a table in memory: from the documents alone, as plain as can be, and never fast.

mod replace;
mod update;
mod versions;

use std::collections::BTreeSet;

use wasmhost::flow::Compare;
use wasmhost::flow::Keys;
use wasmhost::flow::Load;
use wasmhost::flow::MergeStrategy;
use wasmhost::flow::OnNullKey;
use wasmhost::name::ColumnName;
use wasmhost::table::Counts;

use self::update::Missing;
use self::update::Update;
use super::value::Batch;
use super::value::Row;
use super::value::Value;
use super::value::get;
use super::value::set;
use super::value::values;

/// Columns that never make a row different.
const SYSTEM: [&str; 3] = ["__created_at", "__updated_at", "__run_id"];

/// A table, or none yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    pub(super) exists: bool,
    pub(super) rows: Vec<Row>,
}

/// Why a run leaves the table as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The rows cannot be taken.
    Data(&'static str),
    /// A guard stops it.
    Guard(&'static str),
    /// The documents do not say what is to happen: not to be asked of the real table.
    Unspecified(&'static str),
}

/// The table after a run that started at `started_at` (microseconds), and the run's counts.
///
/// # Errors
/// Why the table stays as it is.
pub(super) fn load(
    table: &Table,
    load: &Load,
    batch: &Batch,
    started_at: i64,
) -> Result<(Table, Counts), Refusal> {
    if batch.rows.is_empty() && !takes_no_rows(load) {
        return Err(Refusal::Guard("no rows at all"));
    }
    let (rows, mut counts) = match load {
        Load::Append {} => replace::nothing(&table.rows, batch),
        Load::Overwrite { partition: None, .. } => replace::all(&table.rows, batch),
        Load::Overwrite { partition: Some(partition), .. } => {
            let value = Value::text(&partition.value);
            let selected = |row: &Row| get(row, partition.column.as_str()) == &value;
            replace::selected(&table.rows, batch, selected)?
        }
        Load::OverwritePartitions { replace_where: None, .. } => {
            replace::partitions(&table.rows, batch)
        }
        Load::OverwritePartitions { replace_where: Some(sql), .. } => {
            let selected = |row: &Row| super::truth::of_row(sql, row) == Some(true);
            replace::selected(&table.rows, batch, selected)?
        }
        Load::ErrorIfExists {} if table.exists => return Err(Refusal::Data("the table exists")),
        Load::Ignore {} if table.exists => replace::skipped(&table.rows, batch),
        Load::ErrorIfExists {} | Load::Ignore {} => replace::nothing(&table.rows, batch),
        Load::MergeUpsert(upsert) => Update {
            keys: &upsert.keys,
            compare: [
                compared(batch, &upsert.keys, &Compare::All, &[]),
                names(&upsert.changes.sequence_by),
            ]
            .concat(),
            changes: Some(&upsert.changes),
            condition: upsert.condition.as_ref(),
            missing: match &upsert.strategy {
                MergeStrategy::Delta | MergeStrategy::DeltaByPartition { .. } => Missing::Stay,
                MergeStrategy::ReplacePartitions { column } => {
                    Missing::GoWithPartition(column.as_str())
                }
            },
        }
        .load(&table.rows, batch, started_at)?,
        Load::MergeOverwrite(overwrite) => replace::keys(&table.rows, batch, &overwrite.keys)?,
        Load::HashDiffUpsert(diff) => Update {
            keys: &diff.keys,
            // What is only newer is remembered as newer: the highest sequence wins whatever the arrival.
            compare: [
                compared(batch, &diff.keys, &diff.compare, &[]),
                names(&diff.changes.sequence_by),
            ]
            .concat(),
            changes: Some(&diff.changes),
            condition: None,
            missing: Missing::Stay,
        }
        .load(&table.rows, batch, started_at)?,
        Load::SnapshotSoftDelete(snapshot) => Update {
            keys: &snapshot.keys,
            compare: compared(batch, &snapshot.keys, &snapshot.compare, &[]),
            changes: None,
            condition: None,
            missing: Missing::Marked,
        }
        .load(&table.rows, batch, started_at)?,
        Load::Scd2(scd2) => versions::load(&table.rows, batch, scd2, started_at)?,
    };
    counts.rows_written = batch.rows.len() as u64;
    assert_eq!(counts.accounted(), counts.rows_written, "the model's own books: {counts:?}");
    Ok((Table { exists: true, rows }, counts))
}

/// Whether no rows at all are fine: nothing goes because of that, or it may.
fn takes_no_rows(load: &Load) -> bool {
    match load {
        Load::Append {}
        | Load::ErrorIfExists {}
        | Load::Ignore {}
        | Load::MergeOverwrite(_)
        | Load::HashDiffUpsert(_)
        | Load::OverwritePartitions { replace_where: None, .. } => true,
        Load::Overwrite { allow_empty, .. }
        | Load::OverwritePartitions { replace_where: Some(_), allow_empty } => *allow_empty,
        Load::MergeUpsert(upsert) => match upsert.strategy {
            MergeStrategy::Delta | MergeStrategy::DeltaByPartition { .. } => true,
            MergeStrategy::ReplacePartitions { .. } => upsert.keys.allow_empty,
        },
        Load::Scd2(scd2) => !scd2.close_missing || scd2.keys.allow_empty,
        Load::SnapshotSoftDelete(snapshot) => snapshot.keys.allow_empty,
    }
}

fn names(columns: &[ColumnName]) -> Vec<String> {
    columns.iter().map(|column| column.as_str().to_owned()).collect()
}

/// The columns of the batch that make a row different; `order` only tells versions apart.
fn compared(batch: &Batch, keys: &Keys, compare: &Compare, order: &[String]) -> Vec<String> {
    let except = match compare {
        Compare::Columns(columns) => return names(columns),
        Compare::AllExcept(columns) => names(columns),
        Compare::All => Vec::new(),
    };
    let mut columns = batch.columns.clone();
    let keys = names(&keys.columns);
    columns.retain(|column| {
        !keys.contains(column)
            && !except.contains(column)
            && !order.contains(column)
            && !SYSTEM.contains(&column.as_str())
    });
    columns
}

/// The batch's keys, all of which may be there.
fn keys_of(batch: &Batch, keys: &Keys) -> Result<BTreeSet<Vec<Value>>, Refusal> {
    let found: BTreeSet<_> =
        batch.rows.iter().map(|row| values(row, &names(&keys.columns))).collect();
    let with_null = found.iter().any(|key| key.iter().any(Value::is_null));
    if with_null && keys.on_null == OnNullKey::Error {
        return Err(Refusal::Data("NULL in a key"));
    }
    Ok(found)
}

/// The stored row with what the incoming one brings; the time of its creation stays.
fn updated(stored: &Row, incoming: &Row, columns: &[String]) -> Row {
    let mut row = stored.clone();
    for column in columns.iter().filter(|column| *column != "__created_at") {
        set(&mut row, column, get(incoming, column).clone());
    }
    row
}

/// The guard of removals.
fn judge_removed(removed: u64, current: usize, keys: &Keys) -> Result<(), Refusal> {
    if removed as f64 > keys.max_removed_fraction * current as f64 {
        return Err(Refusal::Guard("too many rows would go"));
    }
    Ok(())
}
