//! What holds in every table that a strategy alone has written, whatever came: said without the model.

use std::collections::BTreeMap;

use wasmhost::flow::Load;
use wasmhost::flow::Scd2;
use wasmhost::table::LateHistory;

use super::value::Row;
use super::value::Value;
use super::value::get;
use super::value::line;

/// # Errors
/// What does not hold, in words.
pub(super) fn check(load: &Load, rows: &[Row]) -> Result<(), String> {
    let Some(keys) = load.keys() else { return Ok(()) };
    let mut groups: BTreeMap<Vec<&Value>, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let key = keys.columns.iter().map(|column| get(row, column.as_str())).collect();
        groups.entry(key).or_default().push(row);
    }
    for (key, rows) in groups {
        match load {
            Load::MergeOverwrite(_) => {}
            Load::Scd2(scd2) => history(scd2, &rows)?,
            _ if rows.len() > 1 => return Err(format!("{} rows of {key:?}", rows.len())),
            _ => marks(load, rows[0])?,
        }
    }
    Ok(())
}

fn marks(load: &Load, row: &Row) -> Result<(), String> {
    let deleted = get(row, "__is_deleted");
    let since = get(row, "__deleted_at");
    let (marks, dates) = match load {
        Load::SnapshotSoftDelete(_) => (true, true),
        Load::MergeUpsert(upsert) => (upsert.changes.delete_when.is_some(), false),
        Load::HashDiffUpsert(diff) => (diff.changes.delete_when.is_some(), false),
        _ => (false, false),
    };
    let sequenced = match load {
        Load::MergeUpsert(upsert) => !upsert.changes.sequence_by.is_empty(),
        Load::HashDiffUpsert(diff) => !diff.changes.sequence_by.is_empty(),
        _ => true,
    };
    if deleted.is_null() == (marks && sequenced) {
        return Err(format!("`__is_deleted` should not be {deleted:?}: {}", line(row)));
    }
    if since.is_null() == (dates && deleted.is_true()) {
        return Err(format!("`__deleted_at` should not be {since:?}: {}", line(row)));
    }
    Ok(())
}

/// At most one open version, current while it is open, and no two at one time.
fn history(scd2: &Scd2, rows: &[&Row]) -> Result<(), String> {
    let value = |row: &Row, column: &wasmhost::name::ColumnName| get(row, column.as_str()).clone();
    let mut spans = Vec::new();
    for row in rows {
        let from = value(row, &scd2.columns.valid_from);
        let to = value(row, &scd2.columns.valid_to);
        let current = value(row, &scd2.columns.is_current);
        if from.is_null() || from != value(row, &scd2.effective) {
            return Err(format!("a version begins with its row: {}", line(row)));
        }
        if !to.is_null() && to <= from {
            return Err(format!("a version ends before it begins: {}", line(row)));
        }
        if current != Value::Bool(to.is_null()) {
            return Err(format!("current is what is open: {}", line(row)));
        }
        spans.push((from, to));
    }
    if scd2.late == LateHistory::Append {
        return Ok(());
    }
    spans.sort();
    for pair in spans.windows(2) {
        let (end, next) = (&pair[0].1, &pair[1].0);
        if end.is_null() || end > next {
            return Err(format!("versions overlap: {spans:?}"));
        }
    }
    Ok(())
}
