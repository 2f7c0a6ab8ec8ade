//! A run's books: where every row went. They close before anything is committed.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use crate::component::RowEffect;
use crate::evidence::Record;
use crate::plan::Plan;
use crate::rules;
use crate::rules::Tally;
use crate::run::error::RunError;
use crate::writer::WriteError;

/// A run's counts while rows flow.
pub(super) struct Books {
    pub(super) read: Arc<AtomicU64>,
    pub(super) filtered: u64,
    pub(super) rejected: u64,
    pub(super) dropped: u64,
    pub(super) quarantined: u64,
    pub(super) main: u64,
    pub(super) seats: Vec<rules::Seat>,
    pub(super) tally: Tally,
    pub(super) stopped: bool,
}

impl Books {
    pub(super) fn new(plan: &Plan) -> Self {
        let seat = |rule: &crate::plan::RulePlan| rules::Seat {
            name: rule.name.clone(),
            severity: rule.severity,
            reasons: rule.reasons.clone(),
        };
        let seats: Vec<_> = plan.rules.iter().map(seat).collect();
        let tally = Tally::new(&seats);
        let read = Arc::new(AtomicU64::new(0));
        Self {
            read,
            filtered: 0,
            rejected: 0,
            dropped: 0,
            quarantined: 0,
            main: 0,
            seats,
            tally,
            stopped: false,
        }
    }

    /// Rows that went in are rows that came out, wherever they went; every rule judged or skipped every row.
    pub(super) fn close(&self, plan: &Plan) -> Result<(), RunError> {
        let judged = self.main + self.dropped + self.quarantined;
        let read = self.read.load(Ordering::Relaxed);
        let out = judged + self.filtered + self.rejected;
        if plan.steps.iter().all(|step| step.row_effect != RowEffect::Many) && read != out {
            return Err(RunError::Books(format!("{read} rows were read, {out} are accounted for")));
        }
        for rule in self.tally.rules() {
            for reason in &rule.reasons {
                let counted = reason.counts.passed + reason.counts.failed + reason.counts.skipped;
                if counted != judged {
                    let what = format!(
                        "rule `{}`, reason `{}`: {counted} rows counted of {judged}",
                        rule.name, reason.code
                    );
                    return Err(RunError::Books(what));
                }
            }
        }
        Ok(())
    }

    /// A key whose row was left out on the way is no key that the source has lost.
    pub(super) fn complete(&self, plan: &Plan) -> Result<(), RunError> {
        let left_out = [
            (self.filtered, "filtered"),
            (self.rejected, "rejected"),
            (self.dropped, "dropped"),
            (self.quarantined, "quarantined"),
        ];
        let left_out: Vec<_> = left_out
            .iter()
            .filter(|(rows, _)| *rows > 0)
            .map(|(rows, how)| format!("{rows} {how}"))
            .collect();
        let retiring = plan.destinations.iter().find(|to| to.change.retires_missing());
        let (false, Some(to)) = (left_out.is_empty(), retiring) else { return Ok(()) };
        let what = format!(
            "rows were left out on the way ({}), and `{}` would retire their keys as if the source had lost them",
            left_out.join(", "),
            to.load.name()
        );
        let hint = "mend the rows, or let such a rule fail the run (`severity: fail`)".to_owned();
        let source = WriteError::Guard { path: to.path.clone(), what, hint };
        Err(RunError::Write { destination: to.name.clone(), source })
    }

    pub(super) fn record(&self, record: &mut Record) {
        record.rows_read = self.read.load(Ordering::Relaxed);
        record.rows_filtered = self.filtered;
        record.rows_rejected = self.rejected;
        record.rows_dropped = self.dropped;
        record.rows_quarantined = self.quarantined;
        record.rows_main = self.main;
        record.rules = self.tally.rules().to_vec();
    }
}
