//! A run's books: where every row went. They close before anything is committed.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use crate::component::RowEffect;
use crate::evidence::DestinationRecord;
use crate::evidence::Record;
use crate::plan::ChainPlan;
use crate::plan::DestinationPlan;
use crate::plan::Plan;
use crate::plan::StagePlan;
use crate::rules;
use crate::rules::Tally;
use crate::run::error::RunError;
use crate::run::streaming::lock;
use crate::source::Passed;
use crate::table::ReasonTally;
use crate::table::RuleTally;
use crate::table::Severity;
use crate::table::VerdictCounts;
use crate::writer::WriteError;

/// The rule that a run with too many rows set apart breaks.
const MAX_QUARANTINE_FRACTION: &str = "max_quarantine_fraction";

/// A chain's counts while rows flow.
#[derive(Debug, Clone)]
pub(super) struct ChainBooks {
    pub(super) filtered: u64,
    pub(super) rejected: u64,
    pub(super) dropped: u64,
    pub(super) quarantined: u64,
    /// Rows of the result that stay.
    pub(super) left: u64,
    pub(super) tally: Tally,
}

/// The counts of all chains.
pub(super) struct Books {
    /// Rows that the main chain was given.
    pub(super) read: Arc<AtomicU64>,
    /// Rows that the source kept back.
    pub(super) passed: Arc<Passed>,
    pub(super) main: Arc<Mutex<ChainBooks>>,
    /// Each destination's, in the flow's order.
    pub(super) destinations: Vec<Arc<Mutex<ChainBooks>>>,
}

impl ChainBooks {
    fn of(plan: &ChainPlan) -> Arc<Mutex<Self>> {
        let seat = |rule: &crate::plan::RulePlan| rules::Seat {
            name: rule.name.clone(),
            severity: rule.severity,
            reasons: rule.reasons.clone(),
        };
        let seats: Vec<_> = plan.rules.iter().map(seat).collect();
        Arc::new(Mutex::new(Self {
            filtered: 0,
            rejected: 0,
            dropped: 0,
            quarantined: 0,
            left: 0,
            tally: Tally::new(&seats),
        }))
    }

    /// Rows that went in are rows that came out, wherever they went; every rule judged or skipped every row.
    fn close(&self, plan: &ChainPlan, entered: u64) -> Result<(), RunError> {
        let judged = self.left + self.dropped + self.quarantined;
        let out = judged + self.filtered + self.rejected;
        let makes_rows = plan.stages.iter().any(|stage| match stage {
            StagePlan::Component(step) => step.row_effect == RowEffect::Many,
            StagePlan::Deduplicate(_) | StagePlan::Sort(_) | StagePlan::Collect(_) => false,
        });
        if !makes_rows && entered != out {
            let what = format!("{entered} rows were read, {out} are accounted for");
            return Err(RunError::Books(what));
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

    /// Rows that did not make it into the result, in words.
    fn left_out(&self) -> Vec<String> {
        let left_out = [
            (self.filtered, "filtered"),
            (self.rejected, "rejected"),
            (self.dropped, "dropped"),
            (self.quarantined, "quarantined"),
        ];
        let told = left_out.iter().filter(|(rows, _)| *rows > 0);
        told.map(|(rows, how)| format!("{rows} {how}")).collect()
    }
}

impl Books {
    pub(super) fn new(plan: &Plan, passed: Arc<Passed>) -> Self {
        Self {
            read: Arc::new(AtomicU64::new(0)),
            passed,
            main: ChainBooks::of(&plan.main),
            destinations: plan.destinations.iter().map(|to| ChainBooks::of(&to.chain)).collect(),
        }
    }

    /// Rows that were read, also those that the source's filter has left out.
    pub(super) fn rows_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed) + self.passed.filtered()
    }

    /// A destination without a chain of its own has the main result, row by row.
    pub(super) fn settle(&self, plan: &Plan) {
        let left = lock(&self.main).left;
        for (to, books) in plan.destinations.iter().zip(&self.destinations) {
            if to.chain.is_empty() {
                lock(books).left = left;
            }
        }
    }

    /// Whether every chain's counts add up.
    pub(super) fn close(&self, plan: &Plan) -> Result<(), RunError> {
        let main = lock(&self.main);
        main.close(&plan.main, self.read.load(Ordering::Relaxed))?;
        for (to, books) in plan.destinations.iter().zip(&self.destinations) {
            lock(books).close(&to.chain, main.left)?;
        }
        Ok(())
    }

    /// Whether a rule of severity `fail` was hit, of whichever chain.
    pub(super) fn says_no(&self, plan: &Plan) -> bool {
        let chains = std::iter::once(&self.main).chain(&self.destinations);
        chains.into_iter().any(|books| lock(books).tally.says_no()) || self.too_many(plan).is_some()
    }

    /// More rows set apart than the flow allows: their share, and what is allowed.
    fn too_many(&self, plan: &Plan) -> Option<(f64, f64)> {
        let most = plan.max_quarantine_fraction?;
        let share = |books: &ChainBooks, entered: u64| {
            (books.rejected + books.quarantined) as f64 / entered.max(1) as f64
        };
        let main = lock(&self.main);
        let left = main.left;
        let of_main = share(&main, self.read.load(Ordering::Relaxed));
        drop(main);
        let own = self.destinations.iter().map(|books| share(&lock(books), left));
        let worst = own.fold(of_main, f64::max);
        (worst > most).then_some((worst, most))
    }

    /// A key whose row was left out on the way is no key that the source has lost.
    pub(super) fn complete(&self, plan: &Plan) -> Result<(), RunError> {
        for (to, books) in plan.destinations.iter().zip(&self.destinations) {
            let mut left_out = [lock(&self.main).left_out(), lock(books).left_out()].concat();
            left_out.extend([&plan.main, &to.chain].into_iter().flat_map(may_leave_out));
            if left_out.is_empty() || !to.change.retires_missing() {
                continue;
            }
            return Err(incomplete(to, &left_out));
        }
        Ok(())
    }

    /// Rows of each destination's result, in the flow's order.
    pub(super) fn final_rows(&self) -> Vec<u64> {
        self.destinations.iter().map(|books| lock(books).left).collect()
    }

    pub(super) fn record(&self, plan: &Plan, record: &mut Record) {
        let main = lock(&self.main);
        record.rows_read = self.rows_read();
        if let Some(filter) = record.source.as_mut().and_then(|source| source.filter.as_mut()) {
            filter.rows_filtered = self.passed.filtered();
            filter.rows_skipped = self.passed.skipped();
        }
        record.rows_filtered = main.filtered;
        record.rows_rejected = main.rejected;
        record.rows_dropped = main.dropped;
        record.rows_quarantined = main.quarantined;
        record.rows_main = main.left;
        record.rules = main.tally.rules().to_vec();
        let judged = main.left + main.dropped + main.quarantined;
        drop(main);
        record.rules.extend(self.too_many(plan).map(|finding| RuleTally {
            name: MAX_QUARANTINE_FRACTION.to_owned(),
            severity: Severity::Fail,
            reasons: vec![ReasonTally {
                code: MAX_QUARANTINE_FRACTION.to_owned(),
                columns: Vec::new(),
                // It judges no row by itself.
                counts: VerdictCounts { skipped: judged, ..VerdictCounts::default() },
                table_findings: vec![finding],
                examples: Vec::new(),
            }],
        }));
        for (entry, books) in record.destinations.iter_mut().zip(&self.destinations) {
            lock(books).record(entry);
        }
    }
}

impl ChainBooks {
    fn record(&self, entry: &mut DestinationRecord) {
        entry.rows_filtered = self.filtered;
        entry.rows_rejected = self.rejected;
        entry.rows_dropped = self.dropped;
        entry.rows_quarantined = self.quarantined;
        entry.rows_final = self.left;
        entry.rules = self.tally.rules().to_vec();
    }
}

/// Steps that may lose a key without anybody counting it.
fn may_leave_out(chain: &ChainPlan) -> Vec<String> {
    let lossy = chain.stages.iter().filter_map(|stage| match stage {
        StagePlan::Component(step) if step.row_effect == RowEffect::Many => {
            Some(format!("perhaps some by {}", step.label))
        }
        StagePlan::Component(_)
        | StagePlan::Deduplicate(_)
        | StagePlan::Sort(_)
        | StagePlan::Collect(_) => None,
    });
    lossy.collect()
}

fn incomplete(to: &DestinationPlan, left_out: &[String]) -> RunError {
    let what = format!(
        "rows were left out on the way ({}), and `{}` would retire their keys as if the source had lost them",
        left_out.join(", "),
        to.load.name()
    );
    let hint = "mend the rows, or let such a rule fail the run (`severity: fail`)".to_owned();
    let source = WriteError::Guard { path: to.path.shown(), what, hint };
    RunError::Write { destination: to.name.clone(), source }
}
