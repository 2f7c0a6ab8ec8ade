//! At most one stored row a key: equal rows stay, different ones are updated, new ones come; keys that do not come may be marked.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering;

use arrow::array::Array;
use arrow::array::AsArray;
use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;

use super::Intake;
use super::index::Index;
use super::stored::At;
use super::stored::Stored;
use crate::storage::StorageError;
use crate::table::Counts;
use crate::table::IS_DELETED;
use crate::table::LateRow;
use crate::table::Missing;
use crate::table::Repeats;
use crate::table::Rows;
use crate::writer::WriteError;

/// What happens to a stored row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edit {
    /// It takes the values of this staged row.
    Take(u32),
    /// It is marked as deleted.
    Mark,
}

/// What becomes of the table.
#[derive(Debug, Default)]
pub(super) struct Decision {
    /// By place.
    pub(super) edits: Vec<(At, Edit)>,
    /// Staged rows that are new, ascending.
    pub(super) inserts: Vec<u32>,
    pub(super) counts: Counts,
}

/// What one core found.
#[derive(Debug, Default)]
struct Found {
    edits: Vec<(At, Edit)>,
    unchanged: u64,
    late: Vec<u32>,
    /// Stored rows of one sequence with the staged one, and different.
    ties: Vec<u32>,
    /// Staged rows that met more than one stored row.
    repeated: Vec<u32>,
    /// Rows that are not marked as deleted.
    live: u64,
}

impl Intake {
    /// Decides against the stored rows.
    pub(super) fn update(&self, stored: &Stored<'_>) -> Result<Decision, WriteError> {
        let index = Index::new(&self.keys);
        let (standing, dropped) = self.standing(&index)?;
        // Where keys repeat, only the rows that stand for them are looked for.
        let (index, stands) = if dropped == 0 {
            (index, Cow::Borrowed(&self.keys[..]))
        } else {
            let keys: Vec<u128> = standing.iter().map(|row| self.keys[*row as usize]).collect();
            (Index::new(&keys), Cow::Owned(keys))
        };
        let met: Vec<AtomicU8> = standing.iter().map(|_| AtomicU8::new(0)).collect();
        let seen =
            Seen { intake: self, index: &index, standing: &standing, stands: &stands, met: &met };
        let founds = stored
            .scan(&self.looked_at(), |found: &mut Found, at, batch| seen.look(found, at, batch))?;

        let mut decision = Decision::default();
        let mut all = Found::default();
        for found in founds {
            all.edits.extend(found.edits);
            all.unchanged += found.unchanged;
            all.late.extend(found.late);
            all.ties.extend(found.ties);
            all.repeated.extend(found.repeated);
            all.live += found.live;
        }
        self.refuse(&all)?;
        all.edits.sort_unstable_by_key(|(at, _)| *at);
        let marked = all.edits.iter().filter(|(_, edit)| *edit == Edit::Mark).count() as u64;
        self.guard_removed(marked, all.live)?;
        let new = standing.iter().zip(&met).filter(|(_, met)| met.load(Ordering::Relaxed) == 0);
        decision.inserts = new.map(|(row, _)| *row).collect();
        decision.counts = Counts {
            rows_written: self.rows(),
            rows_inserted: decision.inserts.len() as u64,
            rows_updated: all.edits.len() as u64 - marked,
            rows_deleted: Some(marked),
            rows_unchanged: all.unchanged,
            rows_ignored_late: all.late.len() as u64,
            duplicates_dropped: dropped,
            ..Counts::default()
        };
        decision.edits = all.edits;
        Ok(decision)
    }

    fn refuse(&self, found: &Found) -> Result<(), WriteError> {
        if !found.repeated.is_empty() {
            let what = format!(
                "the table has several rows of keys that come: {}",
                self.show_staged(&found.repeated)?
            );
            return Err(self.guard(what, "deduplicate the table first, or use `merge_overwrite`"));
        }
        if !found.ties.is_empty() {
            let what = format!(
                "rows have the sequence of the stored row and differ from it: {}",
                self.show_staged(&found.ties)?
            );
            return Err(self.guard(what, "add a column to `sequence_by` that decides"));
        }
        if let Rows::Update(update) = &self.merge.rows
            && let Repeats::Sequence { late: LateRow::Error, .. } = update.repeats
            && !found.late.is_empty()
        {
            let what = format!(
                "{} row(s) are older than the stored ones: {}",
                found.late.len(),
                self.show_staged(&found.late)?
            );
            return Err(self.guard(what, "say `late: ignore` to leave them out"));
        }
        Ok(())
    }

    /// More removals than are hardly meant.
    pub(super) fn guard_removed(&self, removed: u64, current: u64) -> Result<(), WriteError> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a share; a table has far fewer rows than 2^53"
        )]
        let share = removed as f64 / (current.max(1)) as f64;
        if share > self.merge.max_removed_fraction {
            let what = format!(
                "{removed} of {current} current rows would go, more than `max_removed_fraction` {} allows",
                self.merge.max_removed_fraction
            );
            return Err(self.guard(what, "raise `max_removed_fraction`, if that is meant"));
        }
        Ok(())
    }

    /// The stored columns that decide.
    fn looked_at(&self) -> SchemaRef {
        let table = &self.landing.table;
        let order: &[crate::name::ColumnName] = match &self.merge.rows {
            Rows::Update(update) => match &update.repeats {
                Repeats::Sequence { by, .. } => by,
                Repeats::First(_) | Repeats::Refuse => &[],
            },
            Rows::Group {} | Rows::Version(_) => &[],
        };
        let own = self.merge.own_columns();
        let wanted = |name: &str| {
            let named = |columns: &[crate::name::ColumnName]| {
                columns.iter().any(|column| column.as_str() == name)
            };
            named(&self.merge.keys)
                || named(&self.merge.compare)
                || named(order)
                || own.contains(&name)
        };
        let fields = table.fields().iter().filter(|field| wanted(field.name()));
        Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()))
    }
}

/// What a look at stored rows needs.
struct Seen<'a> {
    intake: &'a Intake,
    index: &'a Index,
    standing: &'a [u32],
    stands: &'a [u128],
    /// How many stored rows each standing row has met.
    met: &'a [AtomicU8],
}

impl Seen<'_> {
    fn look(&self, found: &mut Found, at: At, batch: &RecordBatch) -> Result<(), StorageError> {
        let Intake { path, key, content, order, seed, merge, .. } = self.intake;
        let failed = || StorageError::library(path, "compare stored rows");
        let keys = key.digests(batch, *seed).map_err(failed())?;
        let contents = content.digests(batch, *seed).map_err(failed())?;
        let orders = match (&merge.rows, order.is_empty()) {
            (Rows::Update(update), false) => match update.repeats {
                Repeats::Sequence { .. } => Some(order.rows(batch).map_err(failed())?),
                Repeats::First(_) | Repeats::Refuse => None,
            },
            _ => None,
        };
        let deleted = batch.column_by_name(IS_DELETED).map(|column| column.as_boolean().clone());
        for row in 0..batch.num_rows() {
            let here = At { file: at.file, row: at.row + u32::try_from(row).unwrap_or(u32::MAX) };
            let is_deleted =
                deleted.as_ref().is_some_and(|flags| flags.is_valid(row) && flags.value(row));
            found.live += u64::from(!is_deleted);
            let Some(place) = self.index.find(keys[row], self.stands) else {
                if merge.missing == Missing::Mark && !is_deleted {
                    found.edits.push((here, Edit::Mark));
                }
                continue;
            };
            let staged = self.standing[place as usize];
            if self.met[place as usize].fetch_add(1, Ordering::Relaxed) > 0 {
                found.repeated.push(staged);
                continue;
            }
            let same = contents[row] == self.intake.contents[staged as usize];
            let order = orders.as_ref().map(|orders| {
                self.intake.orders[staged as usize].as_ref().cmp(orders.row(row).data())
            });
            match order {
                Some(std::cmp::Ordering::Less) => found.late.push(staged),
                Some(std::cmp::Ordering::Equal) if !same => found.ties.push(staged),
                _ if same && !is_deleted => found.unchanged += 1,
                _ => found.edits.push((here, Edit::Take(staged))),
            }
        }
        Ok(())
    }
}
