//! Versions of a key: staged rows in order of time meet the stored versions; `history` decides key by key.

use std::collections::HashMap;

use arrow::array::Array;
use arrow::array::AsArray;
use arrow::array::RecordBatch;
use arrow::array::TimestampMicrosecondArray;
use arrow::compute::cast;

use super::Intake;
use super::decision::Decision;
use super::decision::Edit;
use super::decision::Insert;
use super::decision::State;
use super::history;
use super::history::Change;
use super::history::Ended;
use super::history::Fate;
use super::history::Moment;
use super::history::Refusal;
use super::index::Index;
use crate::spool::RowBytes;
use crate::storage::StorageError;
use crate::table::Counts;
use crate::table::Missing;
use crate::table::Versions;
use crate::writer::Target;
use crate::writer::WriteError;
use crate::writer::stored::At;
use crate::writer::stored::Stored;

/// Keys whose rows are refused, for one message.
type Refused = (Refusal, Vec<u32>);

/// What one core found.
#[derive(Default)]
struct Found {
    /// Stored versions of keys that come, by the key's first staged row.
    met: Vec<(u32, At, history::Stored)>,
    /// Current versions of keys that do not come, with their begins.
    missing: Vec<(At, Moment)>,
    current: u64,
}

/// Reads what makes a stored version.
struct Reader<'a> {
    intake: &'a Intake,
    versions: &'a Versions,
    index: &'a Index,
    from: RowBytes,
    to: RowBytes,
}

impl Intake {
    /// Decides against the stored versions.
    pub(super) fn version(
        &self,
        target: &Target,
        versions: &Versions,
        stored: &Stored<'_>,
    ) -> Result<Decision, WriteError> {
        self.guard_nulls()?;
        let index = Index::new(&self.keys);
        let reader = Reader::new(self, versions, &index)
            .map_err(StorageError::library(&self.path, "read versions"))?;
        let founds = stored.scan(&self.looked_at(), |found: &mut Found, at, batch| {
            reader.look(found, at, batch)
        })?;
        let mut met = Vec::new();
        let mut missing = Vec::new();
        let mut current = 0;
        for found in founds {
            met.extend(found.met);
            missing.extend(found.missing);
            current += found.current;
        }
        met.sort_unstable_by_key(|(first, at, _)| (*first, *at));

        let mut chosen = Chosen { removed: 0, refused: None, decision: Decision::default() };
        let mut stored = met.chunk_by(|a, b| a.0 == b.0).peekable();
        for first in index.firsts() {
            let old = stored.next_if(|rows| rows[0].0 == first).unwrap_or_default();
            let staged: Vec<u32> = index.rows(first).collect();
            self.key_history(versions, old, &staged, &mut chosen);
        }
        self.refuse_versions(chosen.refused.as_ref())?;
        self.close_missing(target, versions, missing, &mut chosen)?;
        self.guard_removed(chosen.removed, current)?;
        let mut decision = chosen.decision;
        decision.edits.sort_unstable_by_key(|(at, _)| *at);
        decision.inserts.sort_unstable_by_key(|insert| insert.staged);
        let counts = decision.counts;
        decision.counts = Counts {
            rows_written: self.rows(),
            rows_inserted: decision.inserts.len() as u64,
            rows_deleted: Some(0),
            versions_opened: decision.inserts.len() as u64,
            ..counts
        };
        Ok(decision)
    }

    /// One key's history becomes edits and new rows.
    fn key_history(
        &self,
        versions: &Versions,
        old: &[(u32, At, history::Stored)],
        staged: &[u32],
        chosen: &mut Chosen,
    ) {
        let changes: Vec<_> = staged.iter().map(|row| self.change(*row)).collect();
        let before: Vec<_> = old.iter().map(|(_, _, stored)| stored.clone()).collect();
        let outcome = match history::apply(&before, &changes, versions.late) {
            Ok(outcome) => outcome,
            Err(refusal) => return chosen.refuse(refusal, staged),
        };
        let Decision { edits, inserts, ends, counts } = &mut chosen.decision;
        let mut end = |moment: Moment| {
            ends.push(moment);
            // There are no more ends than staged rows and stored ones, which are fewer than four billion.
            u32::try_from(ends.len() - 1).unwrap_or(u32::MAX)
        };
        let mut taken: HashMap<usize, u32> =
            outcome.taken.iter().map(|(place, change)| (*place, staged[*change])).collect();
        for (place, ended) in outcome.ended {
            let moment = match ended {
                Ended::Closed(moment) => {
                    counts.versions_closed += 1;
                    moment
                }
                Ended::Split(moment) => {
                    counts.versions_split += 1;
                    moment
                }
            };
            let takes = taken.remove(&place);
            edits.push((old[place].1, Edit::End { end: end(moment), takes }));
        }
        edits.extend(taken.into_iter().map(|(place, row)| (old[place].1, Edit::Take(row))));
        for opened in outcome.opened {
            let state = opened.to.map_or(State::Live, |moment| State::Ended(end(moment)));
            inserts.push(Insert { staged: staged[opened.change], state });
        }
        for fate in outcome.fates {
            match fate {
                Fate::Opened => {}
                Fate::Unchanged => counts.rows_unchanged += 1,
                Fate::Dropped => counts.duplicates_dropped += 1,
                Fate::IgnoredLate => counts.rows_ignored_late += 1,
                Fate::Deleted => counts.rows_deleting += 1,
                Fate::Updated => counts.rows_updated += 1,
            }
        }
        chosen.removed += outcome.removed;
    }

    fn change(&self, row: u32) -> Change {
        Change {
            at: self.moments.row(row).into(),
            content: self.contents[row as usize],
            sequence: self.orders.row(row).into(),
            deletes: self.deletes(row),
        }
    }

    fn refuse_versions(&self, refused: Option<&Refused>) -> Result<(), WriteError> {
        let Some((refusal, staged)) = refused else { return Ok(()) };
        let what = format!("{refusal}: {} key(s): {}", staged.len(), self.show_staged(staged)?);
        let hint = match refusal {
            Refusal::Tie(..) => "add `sequence_by`, or a column to it, that decides",
            Refusal::Differs(_) => {
                "give the change a later effective value; between changes of values `sequence_by` may decide"
            }
            Refusal::Late(_) => "`late: history` places such rows where they belong",
            Refusal::Overlap => "mend the table first: a key has one version at a time",
        };
        Err(self.guard(what, hint))
    }

    /// Ends the current versions of keys that did not come, at the run's time.
    fn close_missing(
        &self,
        target: &Target,
        versions: &Versions,
        missing: Vec<(At, Moment)>,
        chosen: &mut Chosen,
    ) -> Result<(), WriteError> {
        if missing.is_empty() {
            return Ok(());
        }
        let failed = || StorageError::library(&self.path, "read the run's time");
        let field = self.landing.rows.field_with_name(versions.effective.as_str());
        let data_type = field.map_err(failed())?.data_type();
        let started = target.run.started_at.timestamp_micros();
        let now = TimestampMicrosecondArray::from(vec![started]).with_timezone("UTC");
        let now = cast(&now, data_type).map_err(failed())?;
        let now: Moment = self.moment.of(&now).map_err(failed())?.row(0).data().into();
        let later = missing.iter().filter(|(_, from)| *from >= now).count();
        if later > 0 {
            let what = format!(
                "{later} current version(s) of keys that do not come begin after the run's time: they would end before they begin"
            );
            return Err(self.guard(what, "load them, or run without `close_missing`"));
        }
        let count = missing.len() as u64;
        let Decision { edits, ends, counts, .. } = &mut chosen.decision;
        ends.push(now);
        let end = u32::try_from(ends.len() - 1).unwrap_or(u32::MAX);
        edits.extend(missing.into_iter().map(|(at, _)| (at, Edit::End { end, takes: None })));
        counts.versions_closed += count;
        chosen.removed += count;
        Ok(())
    }
}

/// What was decided so far.
struct Chosen {
    decision: Decision,
    removed: u64,
    /// The first kind of refusal, and the first row of each key that has it.
    refused: Option<Refused>,
}

impl Chosen {
    fn refuse(&mut self, refusal: Refusal, staged: &[u32]) {
        let row = match refusal {
            Refusal::Tie(row, _) | Refusal::Differs(row) | Refusal::Late(row) => row,
            Refusal::Overlap => 0,
        };
        let (first, rows) = self.refused.get_or_insert((refusal, Vec::new()));
        if std::mem::discriminant(first) == std::mem::discriminant(&refusal) {
            rows.push(staged[row]);
        }
    }
}

impl<'a> Reader<'a> {
    fn new(
        intake: &'a Intake,
        versions: &'a Versions,
        index: &'a Index,
    ) -> Result<Self, arrow::error::ArrowError> {
        let table = &intake.landing.table;
        let one = |name: &str| RowBytes::ascending(table, &[name.to_owned()]);
        Ok(Self {
            intake,
            versions,
            index,
            from: one(versions.valid_from.as_str())?,
            to: one(versions.valid_to.as_str())?,
        })
    }

    fn look(&self, found: &mut Found, at: At, batch: &RecordBatch) -> Result<(), StorageError> {
        let Intake { path, key, content, order, seed, merge, keys, .. } = self.intake;
        let failed = || StorageError::library(path, "compare stored versions");
        let stored_keys = key.digests(batch, *seed).map_err(failed())?;
        let contents = content.digests(batch, *seed).map_err(failed())?;
        let from = self.from.rows(batch).map_err(failed())?;
        let to = self.to.rows(batch).map_err(failed())?;
        let sequences = match order.is_empty() {
            true => None,
            false => Some(order.rows(batch).map_err(failed())?),
        };
        let flags = batch.column_by_name(self.versions.is_current.as_str());
        let flags = flags.map(|column| column.as_boolean());
        let ends = batch.column_by_name(self.versions.valid_to.as_str());
        for (row, key) in stored_keys.into_iter().enumerate() {
            let is_current = flags.is_some_and(|flags| flags.is_valid(row) && flags.value(row));
            found.current += u64::from(is_current);
            let begin = || Moment::from(from.row(row).data());
            let Some(first) = self.index.find(key, keys) else {
                if is_current && merge.missing == Missing::Close {
                    found.missing.push((at.plus(row), begin()));
                }
                continue;
            };
            let is_open = ends.is_none_or(|column| column.is_null(row));
            let stored = history::Stored {
                from: begin(),
                to: (!is_open).then(|| Moment::from(to.row(row).data())),
                content: contents[row],
                sequence: sequences
                    .as_ref()
                    .map(|rows| Moment::from(rows.row(row).data()))
                    .unwrap_or_default(),
            };
            found.met.push((first, at.plus(row), stored));
        }
        Ok(())
    }
}
