//! Counts of a run's verdicts: every rule is there, also one that nothing hit.

use crate::batch::Origin;
use crate::component::findings::Judgement;
use crate::component::findings::TableFinding;
use crate::rules::Seat;
use crate::table::ReasonTally;
use crate::table::RuleTally;
use crate::table::Severity;
use crate::table::VerdictCounts;

/// How many hit rows of a reason the evidence names.
pub const EXAMPLES_MAX: usize = 5;

/// The counts of all rules of a chain.
#[derive(Debug, Clone)]
pub struct Tally {
    rules: Vec<RuleTally>,
}

impl Tally {
    /// No rows yet.
    #[must_use]
    pub fn new(seats: &[Seat]) -> Self {
        let rule = |seat: &Seat| {
            let reason = |reason: &crate::component::Reason| ReasonTally {
                code: reason.code.clone(),
                columns: reason.columns.clone(),
                counts: VerdictCounts::default(),
                table_findings: Vec::new(),
                examples: Vec::new(),
            };
            RuleTally {
                name: seat.name.clone(),
                severity: seat.severity,
                reasons: seat.reasons.iter().map(reason).collect(),
            }
        };
        Self { rules: seats.iter().map(rule).collect() }
    }

    /// Adds what the rules found in one batch; `findings` has one entry a rule.
    pub fn add(&mut self, origin: &Origin, findings: &[Vec<Judgement>]) {
        for (rule, judgements) in self.rules.iter_mut().zip(findings) {
            for judgement in judgements {
                let tally = &mut rule.reasons[judgement.reason];
                let failed = judgement.hits.count_set_bits();
                tally.counts.evaluated += judgement.evaluated as u64;
                tally.counts.failed += failed as u64;
                tally.counts.passed += (judgement.evaluated - failed) as u64;
                tally.counts.null += judgement.nulls as u64;
                tally.counts.skipped += (judgement.hits.len() - judgement.evaluated) as u64;
                let room = EXAMPLES_MAX - tally.examples.len();
                let hit = judgement.hits.set_indices().take(room);
                tally.examples.extend(hit.map(|row| (origin.file.to_string(), origin.row(row))));
            }
        }
    }

    /// Adds rows that a reason of a rule (by position) hits after all. A late hit is of a row that had passed before; where it had
    /// not been judged, it is now.
    pub fn late(
        &mut self,
        rule: usize,
        reason: usize,
        late: u64,
        examples: Vec<(String, Option<u64>)>,
    ) {
        let tally = &mut self.rules[rule].reasons[reason];
        let counts = &mut tally.counts;
        let had_passed = late.min(counts.passed);
        counts.passed -= had_passed;
        counts.skipped -= late - had_passed;
        counts.evaluated += late - had_passed;
        counts.failed += late;
        let room = EXAMPLES_MAX - tally.examples.len();
        tally.examples.extend(examples.into_iter().take(room));
    }

    /// Adds a verdict of a rule (by position) on the whole input.
    pub fn table(&mut self, rule: usize, finding: TableFinding) {
        let TableFinding { reason, measured, threshold } = finding;
        self.rules[rule].reasons[reason].table_findings.push((measured, threshold));
    }

    /// Whether a rule of severity `fail` was hit: nothing may be written then.
    #[must_use]
    pub fn says_no(&self) -> bool {
        self.rules.iter().any(|rule| rule.severity == Severity::Fail && rule.is_hit())
    }

    /// The counts, a rule an entry.
    #[must_use]
    pub fn rules(&self) -> &[RuleTally] {
        &self.rules
    }
}
