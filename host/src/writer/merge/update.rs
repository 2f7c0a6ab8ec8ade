//! At most one stored row a key: equal rows stay, different ones are updated or deleted, new ones come; keys that do not come may be
//! marked, or go with their partitions.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

use arrow::array::Array;
use arrow::array::AsArray;
use arrow::array::BooleanArray;
use arrow::array::RecordBatch;
use arrow::array::UInt32Array;
use arrow::compute::take_record_batch;
use arrow::datatypes::Schema;

use super::Intake;
use super::decision::Decision;
use super::decision::Edit;
use super::decision::Insert;
use super::decision::State;
use super::index::Index;
use crate::storage::StorageError;
use crate::storage::delta::OpenFile;
use crate::table::Counts;
use crate::table::IS_DELETED;
use crate::table::LateRow;
use crate::table::Missing;
use crate::table::Repeats;
use crate::table::Rows;
use crate::writer::WriteError;
use crate::writer::stored::At;
use crate::writer::stored::Stored;

/// What one core found.
#[derive(Debug, Default)]
struct Found {
    edits: Vec<(At, Edit)>,
    unchanged: u64,
    updated: u64,
    deleted: u64,
    /// Staged rows that ask for a deletion and met a stored row.
    deleting: u64,
    /// Those of them that are kept as a row.
    buried: u64,
    unmatched: u64,
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
        self.guard_nulls()?;
        let index = Index::new(&self.keys);
        let (standing, dropped) = self.standing(&index)?;
        // Where keys repeat, only the rows that stand for them are looked for.
        let (index, stands) = if dropped == 0 {
            (index, Cow::Borrowed(&self.keys[..]))
        } else {
            let keys: Vec<u128> = standing.iter().map(|row| self.keys[*row as usize]).collect();
            (Index::new(&keys), Cow::Owned(keys))
        };
        let looked_at = self.looked_at();
        let met: Vec<AtomicU8> = standing.iter().map(|_| AtomicU8::new(0)).collect();
        let seen = Seen {
            intake: self,
            index: &index,
            standing: &standing,
            stands: &stands,
            met: &met,
            compared: self.compared(&looked_at),
            replaced: self.replaced_files(stored)?,
        };
        let founds =
            stored.scan(&looked_at, |found: &mut Found, at, batch| seen.look(found, at, batch))?;
        let all = Found::all(founds);
        self.refuse(&all)?;
        self.guard_removed(all.deleted, all.live + stored.passed_over)?;

        let mut decision = Decision { edits: all.edits, ..Decision::default() };
        decision.edits.sort_unstable_by_key(|(at, _)| *at);
        let mut deleting = all.deleting;
        let mut buried = all.buried;
        let mut inserted = 0;
        for (&staged, met) in standing.iter().zip(&met) {
            if met.load(Relaxed) > 0 {
                continue;
            }
            let deletes = self.deletes(staged);
            deleting += u64::from(deletes);
            inserted += u64::from(!deletes);
            if !deletes || self.merge.keeps_deleted() {
                let state = if deletes { State::Buried } else { State::Live };
                buried += u64::from(deletes);
                decision.inserts.push(Insert { staged, state });
            }
        }
        decision.counts = Counts {
            rows_written: self.rows(),
            rows_inserted: inserted,
            rows_updated: all.updated,
            rows_deleted: Some(all.deleted),
            rows_unchanged: all.unchanged,
            rows_ignored_late: all.late.len() as u64,
            rows_unmatched_by_condition: all.unmatched,
            duplicates_dropped: dropped,
            rows_deleting: deleting,
            deletions_stored: buried,
            ..Counts::default()
        };
        Ok(decision)
    }

    /// The columns that decide about rows that meet, in a schema of stored rows.
    fn compared(&self, schema: &Schema) -> Vec<usize> {
        let by_condition = self.conditions.stored_columns();
        let names = schema.fields().iter().map(|field| field.name());
        let decides = |name: &String| {
            self.content.columns().contains(name)
                || self.order.columns().contains(name)
                || by_condition.contains(name)
        };
        names.enumerate().filter(|(_, name)| decides(name)).map(|(place, _)| place).collect()
    }

    /// For each stored file, whether the staged rows are all there is of its partition; empty where that is not asked for.
    fn replaced_files(&self, stored: &Stored<'_>) -> Result<Vec<bool>, WriteError> {
        let Missing::RemoveInPartitions { column } = &self.merge.missing else {
            return Ok(Vec::new());
        };
        let failed = || StorageError::library(&self.path, "find its partition column");
        let field = self.landing.table.field_with_name(column.as_str()).map_err(failed())?;
        let is_replaced = |file: &OpenFile<'_>| -> Result<bool, StorageError> {
            let value = file.partition_value(column.as_str(), field.data_type())?;
            Ok(self.partitions.contains(&value))
        };
        Ok(stored.files.iter().map(is_replaced).collect::<Result<_, _>>()?)
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
}

impl Found {
    fn all(founds: Vec<Self>) -> Self {
        let mut all = Self::default();
        for found in founds {
            all.edits.extend(found.edits);
            all.unchanged += found.unchanged;
            all.updated += found.updated;
            all.deleted += found.deleted;
            all.deleting += found.deleting;
            all.buried += found.buried;
            all.unmatched += found.unmatched;
            all.late.extend(found.late);
            all.ties.extend(found.ties);
            all.repeated.extend(found.repeated);
            all.live += found.live;
        }
        all
    }

    fn edit(&mut self, at: At, edit: Edit) {
        self.edits.push((at, edit));
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
    /// Where in a batch the columns are that decide about rows that meet.
    compared: Vec<usize>,
    /// By file, whether its partition is replaced as a whole.
    replaced: Vec<bool>,
}

/// A stored row that a staged one meets.
struct Pair {
    at: At,
    staged: u32,
    was_deleted: bool,
    /// Whether what counts as a change is equal.
    same: bool,
    /// The staged sequence against the stored one; `None` without a sequence.
    order: Option<Ordering>,
}

impl Seen<'_> {
    fn look(&self, found: &mut Found, at: At, batch: &RecordBatch) -> Result<(), StorageError> {
        let Intake { path, key, content, order, seed, merge, .. } = self.intake;
        let failed = || StorageError::library(path, "compare stored rows");
        let keys = key.digests(batch, *seed).map_err(failed())?;
        let deleted = batch.column_by_name(IS_DELETED).map(|column| column.as_boolean());
        let is_deleted = |row: usize| {
            deleted.is_some_and(|flags: &BooleanArray| flags.is_valid(row) && flags.value(row))
        };
        let is_replaced = self.replaced.get(at.file as usize).copied().unwrap_or_default();
        let mut rows = Vec::new();
        let mut staged = Vec::new();
        for (row, key) in keys.into_iter().enumerate() {
            found.live += u64::from(!is_deleted(row));
            let Some(place) = self.index.find(key, self.stands) else {
                if merge.missing == Missing::Mark && !is_deleted(row) {
                    found.edit(at.plus(row), Edit::Mark);
                    found.deleted += 1;
                } else if is_replaced {
                    found.edit(at.plus(row), Edit::Remove);
                    found.deleted += u64::from(!is_deleted(row));
                }
                continue;
            };
            let standing = self.standing[place as usize];
            if self.met[place as usize].fetch_add(1, Relaxed) > 0 {
                found.repeated.push(standing);
                continue;
            }
            // A batch has far fewer rows than four billion.
            rows.push(u32::try_from(row).unwrap_or(u32::MAX));
            staged.push(standing);
        }
        if rows.is_empty() {
            return Ok(());
        }
        let rows = UInt32Array::from(rows);
        let compared = batch.project(&self.compared).map_err(failed())?;
        let met = match rows.len() == batch.num_rows() {
            true => compared,
            false => take_record_batch(&compared, &rows).map_err(failed())?,
        };
        let holds = self.intake.conditions.hold(&met, &staged)?;
        let contents = content.digests(&met, *seed).map_err(failed())?;
        let orders = match merge.rows.sequence().is_empty() {
            true => None,
            false => Some(order.rows(&met).map_err(failed())?),
        };
        for (place, (row, staged)) in rows.values().iter().zip(staged).enumerate() {
            if holds.as_ref().is_some_and(|holds| !holds.value(place)) {
                found.unmatched += 1;
                continue;
            }
            let order = orders
                .as_ref()
                .map(|orders| self.intake.orders.row(staged).cmp(orders.row(place).data()));
            self.pair(
                found,
                &Pair {
                    at: at.plus(*row as usize),
                    staged,
                    was_deleted: is_deleted(*row as usize),
                    same: contents[place] == self.intake.contents[staged as usize],
                    order,
                },
            );
        }
        Ok(())
    }

    /// What a staged row does to the stored one.
    fn pair(&self, found: &mut Found, pair: &Pair) {
        let Pair { at, staged, was_deleted, same, order } = *pair;
        let deletes = self.intake.deletes(staged);
        match order {
            Some(Ordering::Less) => found.late.push(staged),
            // Being deleted is part of what a row says: neither kind of row is the other one.
            Some(Ordering::Equal) if !same || deletes != was_deleted => found.ties.push(staged),
            Some(Ordering::Equal) if deletes => found.deleting += 1,
            _ if deletes => {
                found.deleting += 1;
                found.deleted += u64::from(!was_deleted);
                let kept = self.intake.merge.keeps_deleted();
                found.buried += u64::from(kept);
                found.edit(at, if kept { Edit::Bury(staged) } else { Edit::Remove });
            }
            _ if same && !was_deleted => found.unchanged += 1,
            _ => {
                found.updated += 1;
                found.edit(at, Edit::Take(staged));
            }
        }
    }
}
