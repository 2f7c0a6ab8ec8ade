//! What only the whole input shows: repeated keys, numbers of rows, what components conclude.

use std::path::Path;

use arrow::array::BooleanBufferBuilder;

use crate::batch::Batch;
use crate::batch::Origin;
use crate::batch::Positions;
use crate::component::findings::Conclusion;
use crate::component::findings::TableFinding;
use crate::plan::judging::Total;
use crate::rules::EXAMPLES_MAX;
use crate::rules::Tally;
use crate::run::dedup::Bits;
use crate::run::error::RunError;
use crate::run::judges::Judged;
use crate::run::judges::Judges;
use crate::run::judges::Keeping;
use crate::spool::Groups;

/// Rows whose places are remembered for examples, where they have to be listed one by one.
const LISTED_MAX: usize = 4 << 20;

/// The keys of the rows so far.
pub(super) struct Late {
    groups: Vec<Groups>,
    /// For each pass with state whose rules have a `where`, which rows met it.
    seen: Vec<Option<BooleanBufferBuilder>>,
    /// Whether any row may be hit late.
    has_late: bool,
    rows: u64,
    /// For each judgement on the whole, the rows that count.
    counted: Vec<u64>,
    /// The first row of each batch, and where it was read.
    places: Vec<(u64, Origin)>,
    listed: usize,
}

/// Rows that a rule hits after all.
pub(super) struct LateHits {
    pub(super) rule: usize,
    pub(super) reason: usize,
    pub(super) rows: Bits,
}

impl Late {
    /// No rows yet; what does not fit into `memory_max` goes to files in `folder`.
    pub(super) fn new(judges: &Judges, folder: &Path, memory_max: usize) -> Self {
        let share = memory_max / judges.unique.len().max(1);
        let groups = judges.unique.iter().map(|_| Groups::new(folder.to_owned(), share));
        let counted = vec![0; judges.totals.len()];
        let seen = judges.benches.iter().map(|bench| {
            (bench.hits_late && bench.mask.is_some()).then(|| BooleanBufferBuilder::new(0))
        });
        Self {
            groups: groups.collect(),
            seen: seen.collect(),
            has_late: judges.benches.iter().any(|bench| bench.hits_late)
                || !judges.unique.is_empty(),
            rows: 0,
            counted,
            places: Vec::new(),
            listed: 0,
        }
    }

    /// Takes the next batch's keys in.
    pub(super) fn push(&mut self, judged: &Judged) -> Result<(), RunError> {
        let Judged { batch: Batch { rows, origin }, keys, counted, seen, .. } = judged;
        self.counted.iter_mut().zip(counted).for_each(|(all, more)| *all += more);
        for (all, more) in self.seen.iter_mut().zip(seen) {
            if let (Some(all), Some(more)) = (all, more) {
                all.append_buffer(more);
            }
        }
        for (groups, keys) in self.groups.iter_mut().zip(keys) {
            for (at, digest) in keys.digests.iter().enumerate() {
                match (digest, &keys.orders) {
                    (None, _) => groups.pass(),
                    (Some(digest), None) => groups.push(*digest, &[])?,
                    (Some(digest), Some(orders)) => groups.push(*digest, orders.row(at).data())?,
                }
            }
        }
        if self.has_late {
            let mut origin = origin.clone();
            if let Positions::Each(each) = &origin.rows {
                self.listed += each.len();
                if self.listed > LISTED_MAX {
                    origin.rows = Positions::Unknown;
                }
            }
            self.places.push((self.rows, origin));
        }
        self.rows += rows.num_rows() as u64;
        Ok(())
    }

    /// Hears everybody's conclusion, and counts it. `before` is the number of rows of the last run.
    pub(super) fn conclude(
        self,
        judges: &Judges,
        tally: &mut Tally,
        before: Option<u64>,
    ) -> Result<Vec<LateHits>, RunError> {
        let Self { groups, seen, rows, counted, places, .. } = self;
        let mut late = Vec::new();
        let examples = |hits: &Bits| {
            let first = (0..rows).filter(|row| hits.get(*row)).take(EXAMPLES_MAX);
            first.filter_map(|row| place(&places, row)).collect()
        };
        for (bench, seen) in judges.benches.iter().zip(seen) {
            let Conclusion { tables, late_hits } = bench.working.pool.conclude()?;
            let seen = seen.map(|mut seen| seen.finish());
            for (hits, (rule, reason)) in late_hits.iter().zip(&bench.seats) {
                let count = hits.count_set_bits() as u64;
                if count == 0 {
                    continue;
                }
                let mut bits = Bits::new(rows);
                match &seen {
                    None => hits.set_indices().for_each(|row| bits.set(row as u64)),
                    // Rows are numbered as the component saw them.
                    Some(seen) => {
                        let rows = seen.set_indices().enumerate();
                        let hit = rows.filter(|(nth, _)| hits.value(*nth));
                        hit.for_each(|(_, row)| bits.set(row as u64));
                    }
                }
                tally.late(*rule, *reason, count, examples(&bits));
                late.push(LateHits { rule: *rule, reason: *reason, rows: bits });
            }
            for table in tables {
                let (rule, reason) = bench.seats[table.reason];
                tally.table(rule, TableFinding { reason, ..table });
            }
        }
        for (unique, groups) in judges.unique.iter().zip(groups) {
            let mut hits = Bits::new(rows);
            let mut count = 0;
            groups.repeated(|members| {
                let hit = match unique.keep {
                    Keeping::None => members,
                    Keeping::First => &members[1..],
                    Keeping::Last => &members[..members.len() - 1],
                };
                count += hit.len() as u64;
                hit.iter().for_each(|member| hits.set(member.row));
                Ok::<_, RunError>(())
            })?;
            tally.late(unique.rule, 0, count, examples(&hits));
            late.push(LateHits { rule: unique.rule, reason: 0, rows: hits });
        }
        for ((rule, total, _), rows) in judges.totals.iter().zip(counted) {
            if let Some((measured, threshold)) = exceeded(*total, rows, before) {
                tally.table(*rule, TableFinding { reason: 0, measured, threshold });
            }
        }
        Ok(late)
    }
}

/// Where a row was read, as far as that is remembered.
fn place(places: &[(u64, Origin)], row: u64) -> Option<(String, Option<u64>)> {
    let at = places.partition_point(|(first, _)| *first <= row).checked_sub(1)?;
    let (first, origin) = &places[at];
    let number = origin.row(usize::try_from(row - first).ok()?);
    Some((origin.file.to_string(), number))
}

/// What was measured and what it should have kept to, where it did not.
fn exceeded(total: Total, rows: u64, before: Option<u64>) -> Option<(f64, f64)> {
    match total {
        Total::Missing(columns) => (columns > 0).then_some((columns as f64, 0.0)),
        Total::Min(least) => (rows < least).then_some((rows as f64, least as f64)),
        Total::Max(most) => (rows > most).then_some((rows as f64, most as f64)),
        Total::Change(most) => {
            let before = before?;
            // From none, each row is a change of its own.
            let change = rows.abs_diff(before) as f64 / before.max(1) as f64;
            (change > most).then_some((change, most))
        }
    }
}
