//! One row a key: `merge_upsert`, `hash_diff_upsert` and `snapshot_soft_delete`.

use std::cmp::Ordering;

use wasmhost::flow::Changes;
use wasmhost::flow::Keys;
use wasmhost::flow::OnDuplicateKey;
use wasmhost::table::Counts;
use wasmhost::table::LateRow;
use wasmhost::table::MatchCondition;
use wasmhost::table::OrderBy;

use super::Refusal;
use super::judge_removed;
use super::keys_of;
use super::names;
use super::updated;
use crate::model::truth;
use crate::model::value::Batch;
use crate::model::value::Row;
use crate::model::value::Value;
use crate::model::value::get;
use crate::model::value::set;
use crate::model::value::values;

const IS_DELETED: &str = "__is_deleted";
const DELETED_AT: &str = "__deleted_at";

/// What becomes of stored keys that do not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing<'a> {
    /// They stay.
    Stay,
    /// They are marked as deleted.
    Marked,
    /// Those in a partition of the batch go; the partition's column.
    GoWithPartition(&'a str),
}

/// At most one row a key.
pub(super) struct Update<'a> {
    pub(super) keys: &'a Keys,
    /// The columns that make a row different.
    pub(super) compare: Vec<String>,
    /// Order and deletions, of the strategies that have some.
    pub(super) changes: Option<&'a Changes>,
    pub(super) condition: Option<&'a MatchCondition>,
    pub(super) missing: Missing<'a>,
}

/// The table under way.
struct Loading<'a> {
    batch: &'a Batch,
    rows: Vec<Row>,
    counts: Counts,
    deleted: u64,
}

impl Update<'_> {
    pub(super) fn load(
        &self,
        stored: &[Row],
        batch: &Batch,
        started_at: i64,
    ) -> Result<(Vec<Row>, Counts), Refusal> {
        let columns = names(&self.keys.columns);
        let mut loading =
            Loading { batch, rows: stored.to_vec(), counts: Counts::default(), deleted: 0 };
        let keys = keys_of(batch, self.keys)?;
        for key in &keys {
            let mut incoming: Vec<_> =
                batch.rows.iter().filter(|row| values(row, &columns) == *key).collect();
            let kept = self.one(&mut incoming)?;
            loading.counts.duplicates_dropped += incoming.len() as u64 - 1;
            let matches: Vec<_> = (0..loading.rows.len())
                .filter(|at| values(&loading.rows[*at], &columns) == *key)
                .collect();
            match matches[..] {
                [] => self.unmatched(&mut loading, kept),
                [at] => self.matched(&mut loading, at, kept)?,
                _ => return Err(Refusal::Data("several stored rows of one key")),
            }
        }
        let comes = |row: &Row| keys.contains(&values(row, &columns));
        match self.missing {
            Missing::Stay => {}
            Missing::Marked => {
                for row in &mut loading.rows {
                    if !comes(row) && !get(row, IS_DELETED).is_true() {
                        set(row, IS_DELETED, Value::Bool(true));
                        set(row, DELETED_AT, Value::Time(started_at));
                        loading.deleted += 1;
                    }
                }
            }
            Missing::GoWithPartition(column) => {
                let partitions: Vec<_> = batch.rows.iter().map(|row| get(row, column)).collect();
                let before = loading.rows.len();
                loading.rows.retain(|row| comes(row) || !partitions.contains(&get(row, column)));
                loading.deleted += (before - loading.rows.len()) as u64;
            }
        }
        let live = stored.iter().filter(|row| !get(row, IS_DELETED).is_true()).count();
        judge_removed(loading.deleted, live, self.keys)?;
        loading.counts.rows_deleted = Some(loading.deleted);
        Ok((loading.rows, loading.counts))
    }

    fn sequence(&self) -> Vec<String> {
        self.changes.map_or_else(Vec::new, |changes| names(&changes.sequence_by))
    }

    fn is_deletion(&self, row: &Row) -> bool {
        let sql = self.changes.and_then(|changes| changes.delete_when.as_ref());
        sql.is_some_and(|sql| truth::of_row(sql, row) == Some(true))
    }

    /// Whether deletions are kept as rows.
    fn has_tombstones(&self) -> bool {
        self.changes
            .is_some_and(|changes| !changes.sequence_by.is_empty() && changes.delete_when.is_some())
    }

    /// The one of a key's rows that counts; sorts them.
    fn one<'r>(&self, rows: &mut [&'r Row]) -> Result<&'r Row, Refusal> {
        let sequence = self.sequence();
        if !sequence.is_empty() {
            if rows.iter().any(|row| values(row, &sequence).iter().any(Value::is_null)) {
                return Err(Refusal::Data("NULL in a sequence"));
            }
            rows.sort_by_key(|row| std::cmp::Reverse(values(row, &sequence)));
            let highest = values(rows[0], &sequence);
            let mut tied = rows.iter().filter(|row| values(row, &sequence) == highest);
            if tied.any(|row| *row != rows[0]) {
                return Err(Refusal::Data("one sequence, different rows"));
            }
            return Ok(rows[0]);
        }
        match &self.keys.on_duplicate {
            OnDuplicateKey::Error if rows.len() > 1 => Err(Refusal::Data("a key comes twice")),
            OnDuplicateKey::Error => Ok(rows[0]),
            OnDuplicateKey::KeepLatest { order_by } => {
                rows.sort_by(|a, b| in_order(a, b, order_by));
                let first = rows[0];
                let mut tied = rows.iter().filter(|row| in_order(row, first, order_by).is_eq());
                if tied.any(|row| *row != first) {
                    return Err(Refusal::Unspecified("the order of all values"));
                }
                Ok(first)
            }
        }
    }

    fn unmatched(&self, loading: &mut Loading<'_>, incoming: &Row) {
        let mut row = incoming.clone();
        if self.missing == Missing::Marked {
            set(&mut row, IS_DELETED, Value::Bool(false));
        }
        let deletes = self.is_deletion(incoming);
        if self.has_tombstones() {
            set(&mut row, IS_DELETED, Value::Bool(deletes));
        }
        if deletes {
            loading.counts.rows_deleting += 1;
        } else {
            loading.counts.rows_inserted += 1;
        }
        loading.counts.deletions_stored += u64::from(deletes && self.has_tombstones());
        if !deletes || self.has_tombstones() {
            loading.rows.push(row);
        }
    }

    fn matched(&self, loading: &mut Loading<'_>, at: usize, incoming: &Row) -> Result<(), Refusal> {
        let stored = loading.rows[at].clone();
        let counts = &mut loading.counts;
        if let Some(condition) = self.condition
            && truth::of_pair(&condition.sql, &stored, incoming) != Some(true)
        {
            counts.rows_unmatched_by_condition += 1;
            return Ok(());
        }
        let equal = values(&stored, &self.compare) == values(incoming, &self.compare);
        let mut new = updated(&stored, incoming, &loading.batch.columns);
        let deletes = self.is_deletion(incoming);
        let was_deleted = get(&stored, IS_DELETED).is_true();
        let sequence = self.sequence();
        if sequence.is_empty() {
            if deletes {
                counts.rows_deleting += 1;
                loading.deleted += 1;
                loading.rows.remove(at);
            } else if equal && !was_deleted {
                counts.rows_unchanged += 1;
            } else {
                if self.missing == Missing::Marked {
                    set(&mut new, IS_DELETED, Value::Bool(false));
                    set(&mut new, DELETED_AT, Value::Null);
                }
                counts.rows_updated += 1;
                loading.rows[at] = new;
            }
            return Ok(());
        }
        match values(incoming, &sequence).cmp(&values(&stored, &sequence)) {
            Ordering::Less => match self.changes.map_or(LateRow::Ignore, |changes| changes.late) {
                LateRow::Ignore => counts.rows_ignored_late += 1,
                LateRow::Error => return Err(Refusal::Data("a late row")),
            },
            Ordering::Equal => {
                // Being deleted is part of what a row says: neither kind of row is the other one.
                if !equal || deletes != was_deleted {
                    return Err(Refusal::Data("the stored sequence, different values"));
                }
                if deletes {
                    counts.rows_deleting += 1;
                } else {
                    counts.rows_unchanged += 1;
                }
            }
            Ordering::Greater if deletes => {
                counts.rows_deleting += 1;
                counts.deletions_stored += 1;
                loading.deleted += u64::from(!was_deleted);
                set(&mut new, IS_DELETED, Value::Bool(true));
                loading.rows[at] = new;
            }
            Ordering::Greater if equal && !was_deleted => counts.rows_unchanged += 1,
            Ordering::Greater => {
                counts.rows_updated += 1;
                if self.has_tombstones() {
                    set(&mut new, IS_DELETED, Value::Bool(false));
                }
                loading.rows[at] = new;
            }
        }
        Ok(())
    }
}

fn in_order(a: &Row, b: &Row, order_by: &[OrderBy]) -> Ordering {
    order_by.iter().fold(Ordering::Equal, |so_far, order| {
        let (a, b) = (get(a, order.column.as_str()), get(b, order.column.as_str()));
        so_far.then_with(|| match (a.is_null(), b.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) if order.nulls_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if order.nulls_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) if order.descending => b.cmp(a),
            (false, false) => a.cmp(b),
        })
    })
}
