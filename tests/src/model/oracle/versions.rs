//! Versions of a key: `scd2`. Each incoming row is applied by itself to the versions that its key has by then.

use std::cmp::Ordering;

use wasmhost::flow::Scd2;
use wasmhost::table::Counts;
use wasmhost::table::LateHistory;

use super::Refusal;
use super::compared;
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

/// One version of the key.
#[derive(Debug, Clone)]
struct Version {
    from: Value,
    /// `None` while it is open.
    to: Option<Value>,
    /// Whether it is what a reader of today gets.
    current: bool,
    /// Whether it was in the table before this run.
    stored: bool,
    row: Row,
}

/// All versions of one key.
struct History<'a> {
    scd2: &'a Scd2,
    batch: &'a Batch,
    compare: &'a [String],
    versions: Vec<Version>,
    counts: &'a mut Counts,
    removed: &'a mut u64,
}

/// # Errors
/// Why the versions stay as they are.
pub(super) fn load(
    stored: &[Row],
    batch: &Batch,
    scd2: &Scd2,
    started_at: i64,
) -> Result<(Vec<Row>, Counts), Refusal> {
    let columns = names(&scd2.keys.columns);
    let sequence = names(&scd2.sequence_by);
    let mut order = vec![scd2.effective.as_str().to_owned()];
    order.extend(sequence.iter().cloned());
    let compare = compared(batch, &scd2.keys, &scd2.compare, &order);
    let keys = keys_of(batch, &scd2.keys)?;
    let (mut counts, mut removed) = (Counts::default(), 0);
    let mut rows = Vec::new();
    for key in &keys {
        let has_key = |row: &&Row| values(row, &columns) == *key;
        let mut history = History {
            scd2,
            batch,
            compare: &compare,
            versions: stored.iter().filter(has_key).map(|row| read(row, scd2)).collect(),
            counts: &mut counts,
            removed: &mut removed,
        };
        let incoming: Vec<_> = batch.rows.iter().filter(has_key).collect();
        for row in history.one_a_time(incoming, &sequence)? {
            history.apply(row, &sequence)?;
        }
        rows.extend(history.versions.into_iter().map(|version| write(version, scd2)));
    }
    for row in stored.iter().filter(|row| !keys.contains(&values(row, &columns))) {
        let mut version = read(row, scd2);
        if scd2.close_missing && version.current {
            let end = Value::Time(started_at);
            if end <= version.from {
                return Err(Refusal::Data("a version would end before it begins"));
            }
            version.to = Some(end);
            version.current = false;
            counts.versions_closed += 1;
            removed += 1;
        }
        rows.push(write(version, scd2));
    }
    let current = stored.iter().filter(|row| read(row, scd2).current).count();
    judge_removed(removed, current, &scd2.keys)?;
    counts.rows_deleted = Some(0);
    Ok((rows, counts))
}

fn read(row: &Row, scd2: &Scd2) -> Version {
    let value = |column: &wasmhost::name::ColumnName| get(row, column.as_str()).clone();
    let to = value(&scd2.columns.valid_to);
    Version {
        from: value(&scd2.columns.valid_from),
        to: (!to.is_null()).then_some(to),
        current: value(&scd2.columns.is_current).is_true(),
        stored: true,
        row: row.clone(),
    }
}

fn write(version: Version, scd2: &Scd2) -> Row {
    let Version { from, to, current, stored: _, mut row } = version;
    set(&mut row, scd2.columns.valid_from.as_str(), from);
    set(&mut row, scd2.columns.valid_to.as_str(), to.unwrap_or(Value::Null));
    set(&mut row, scd2.columns.is_current.as_str(), Value::Bool(current));
    row
}

impl History<'_> {
    fn effective(&self, row: &Row) -> Value {
        get(row, self.scd2.effective.as_str()).clone()
    }

    fn is_deletion(&self, row: &Row) -> bool {
        let sql = self.scd2.delete_when.as_ref();
        sql.is_some_and(|sql| truth::of_row(sql, row) == Some(true))
    }

    fn equal(&self, a: &Row, b: &Row) -> bool {
        values(a, self.compare) == values(b, self.compare)
    }

    /// The key's rows, at most one a time, in order of time.
    fn one_a_time<'r>(
        &mut self,
        mut rows: Vec<&'r Row>,
        sequence: &[String],
    ) -> Result<Vec<&'r Row>, Refusal> {
        if rows.iter().any(|row| self.effective(row).is_null()) {
            return Err(Refusal::Data("NULL as a time"));
        }
        if rows.iter().any(|row| values(row, sequence).iter().any(Value::is_null)) {
            return Err(Refusal::Data("NULL in a sequence"));
        }
        rows.sort_by_key(|row| (self.effective(row), std::cmp::Reverse(values(row, sequence))));
        let mut kept: Vec<&Row> = Vec::new();
        for row in rows {
            let Some(last) = kept.last().filter(|last| self.effective(last) == self.effective(row))
            else {
                kept.push(row);
                continue;
            };
            if values(last, sequence) == values(row, sequence) {
                if !self.equal(last, row) || self.is_deletion(last) != self.is_deletion(row) {
                    return Err(Refusal::Data("one time, different rows"));
                }
                if *last != row {
                    return Err(Refusal::Unspecified("which of two rows of one content"));
                }
            }
            self.counts.duplicates_dropped += 1;
        }
        Ok(kept)
    }

    fn apply(&mut self, incoming: &Row, sequence: &[String]) -> Result<(), Refusal> {
        let e = self.effective(incoming);
        let deletes = self.is_deletion(incoming);
        if self.versions.iter().any(|version| version.from == e) {
            return self.again(incoming, e, deletes, sequence);
        }
        let newest = self.versions.iter().map(|version| &version.from).max().cloned();
        let Some(newest) = newest else {
            self.begin(incoming, e, deletes);
            return Ok(());
        };
        if newest > e {
            return self.late(incoming, e, deletes);
        }
        // Several of them only where late rows are inserted as they come.
        let newest: Vec<_> =
            self.versions.iter().filter(|version| version.from == newest).cloned().collect();
        let open = newest.iter().filter(|version| version.to.is_none()).count();
        if open == newest.len() {
            let equal = newest.iter().filter(|version| self.equal(&version.row, incoming)).count();
            if deletes {
                *self.removed += self.close(&e);
                self.counts.rows_deleting += 1;
            } else if equal == newest.len() {
                self.counts.rows_unchanged += 1;
            } else if equal > 0 {
                return Err(Refusal::Unspecified("which of two newest versions counts"));
            } else {
                self.close(&e);
                self.begin(incoming, e, false);
            }
            return Ok(());
        }
        let ended = newest.iter().filter_map(|version| version.to.as_ref());
        if open > 0 {
            Err(Refusal::Unspecified("whether the newest version is open"))
        } else if ended.max().is_some_and(|end| e < *end) {
            self.late(incoming, e, deletes)
        } else {
            // A late row that was inserted as it came may be open all the same.
            let mut open = self.versions.iter().filter(|version| version.to.is_none());
            if open.any(|version| self.equal(&version.row, incoming)) {
                return Err(Refusal::Unspecified("whether a late row that is open counts"));
            }
            *self.removed += if deletes { self.close(&e) } else { 0 };
            self.close(&e);
            self.begin(incoming, e, deletes);
            Ok(())
        }
    }

    /// Nothing holds at `e`, nor later.
    fn begin(&mut self, incoming: &Row, e: Value, deletes: bool) {
        if deletes {
            self.counts.rows_deleting += 1;
        } else {
            self.insert(incoming, e, None, true);
        }
    }

    fn insert(&mut self, incoming: &Row, from: Value, to: Option<Value>, current: bool) {
        self.counts.rows_inserted += 1;
        self.counts.versions_opened += 1;
        self.versions.push(Version { from, to, current, stored: false, row: incoming.clone() });
    }

    /// Closes what is open, and tells how many of the stored ones.
    fn close(&mut self, e: &Value) -> u64 {
        let mut closed = 0;
        for version in &mut self.versions {
            if version.to.is_none() && version.from < *e {
                version.to = Some(e.clone());
                version.current = false;
                closed += u64::from(version.stored);
            }
        }
        self.counts.versions_closed += closed;
        closed
    }

    /// A version begins at `e` already.
    fn again(
        &mut self,
        incoming: &Row,
        e: Value,
        deletes: bool,
        sequence: &[String],
    ) -> Result<(), Refusal> {
        let mut same = self.versions.iter().enumerate().filter(|(_, version)| version.from == e);
        let equal = same.clone().any(|(_, version)| self.equal(&version.row, incoming));
        let is_newest = self.versions.iter().all(|version| version.from <= e);
        let as_it_comes = self.scd2.late == LateHistory::Append && is_newest;
        let current = same.find(|(_, version)| version.current).map(|(at, _)| at);
        if let Some(at) = current.filter(|_| !sequence.is_empty() && !as_it_comes) {
            let version = &mut self.versions[at];
            match values(incoming, sequence).cmp(&values(&version.row, sequence)) {
                Ordering::Less if deletes || !equal => {
                    self.counts.rows_ignored_late += 1;
                    return Ok(());
                }
                // Also where only the sequence is another: what comes late must not win against it.
                Ordering::Greater if !deletes => {
                    self.counts.rows_updated += 1;
                    version.row = updated(&version.row, incoming, &self.batch.columns);
                    return Ok(());
                }
                _ => {}
            }
        }
        if deletes {
            return Err(Refusal::Data("a deletion at the time at which a version begins"));
        }
        if equal {
            self.counts.rows_unchanged += 1;
        } else if as_it_comes {
            self.insert(incoming, e, None, true);
        } else {
            return Err(Refusal::Data("the stored time, different values"));
        }
        Ok(())
    }

    /// A version begins after `e`, or the newest one had ended by then.
    fn late(&mut self, incoming: &Row, e: Value, deletes: bool) -> Result<(), Refusal> {
        match self.scd2.late {
            LateHistory::Ignore => self.counts.rows_ignored_late += 1,
            LateHistory::Error => return Err(Refusal::Data("a late row")),
            LateHistory::Append if deletes => {
                return Err(Refusal::Unspecified("a late deletion that is inserted as it comes"));
            }
            LateHistory::Append => self.insert(incoming, e, None, true),
            LateHistory::History => self.place(incoming, e, deletes),
        }
        Ok(())
    }

    fn place(&mut self, incoming: &Row, e: Value, deletes: bool) {
        let holds =
            |version: &Version| version.from < e && version.to.as_ref().is_none_or(|to| e < *to);
        let split = (0..self.versions.len())
            .filter(|at| holds(&self.versions[*at]))
            .max_by_key(|at| self.versions[*at].from.clone());
        let Some(at) = split else {
            if deletes {
                self.counts.rows_deleting += 1;
            } else {
                let later = self.versions.iter().map(|version| &version.from);
                let next = later.filter(|from| **from > e).min().cloned();
                self.insert(incoming, e, next, false);
            }
            return;
        };
        if !deletes && self.equal(&self.versions[at].row, incoming) {
            self.counts.rows_unchanged += 1;
            return;
        }
        let version = &mut self.versions[at];
        let end = version.to.replace(e.clone());
        self.counts.versions_split += u64::from(version.stored && end.is_some());
        if deletes {
            self.counts.rows_deleting += 1;
        } else {
            self.insert(incoming, e, end, false);
        }
    }
}
