//! From findings to verdicts: rows kept apart from rows that are dropped or quarantined, and counts that add up.
//!
//! Pure: components judged already, writers come later. Every rule judges every row; no rule hides rows from another.

use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use arrow::error::ArrowError;

use crate::batch::Batch;
use crate::component::Reason;
use crate::component::findings::Judgement;
use crate::table::Severity;

mod tally;

pub use tally::EXAMPLES_MAX;
pub use tally::Tally;

/// A rule of the flow, opened.
#[derive(Debug, Clone)]
pub struct Seat {
    /// Its name in reports.
    pub name: String,
    /// What a hit leads to.
    pub severity: Severity,
    /// What it judges.
    pub reasons: Vec<Reason>,
}

/// A batch after judgement.
#[derive(Debug)]
pub struct Split {
    /// Rows that go on.
    pub kept: Batch,
    /// Rows for the quarantine; none where no row is.
    pub quarantined: Option<Quarantined>,
    /// Rows that are left out for good.
    pub rows_dropped: u64,
}

/// Rows as judged, and for each which rules hit it for which reasons.
#[derive(Debug)]
pub struct Quarantined {
    /// The rows, all columns.
    pub rows: Batch,
    /// For each row at least one (rule, reason), as positions.
    pub hits: Vec<Vec<(usize, usize)>>,
}

/// Splits a batch by what the rules found; `findings` has one entry a rule.
///
/// A row that a quarantine rule and a drop rule hit is quarantined: nothing is lost that somebody asked to keep.
///
/// # Errors
/// Where Arrow cannot filter a column.
pub fn split(
    seats: &[Seat],
    batch: Batch,
    findings: &[Vec<Judgement>],
) -> Result<Split, ArrowError> {
    let rows = batch.rows.num_rows();
    let none = BooleanBuffer::new_unset(rows);
    let hit_by = |severity| {
        let rules = seats.iter().zip(findings).filter(|(seat, _)| seat.severity == severity);
        rules.fold(none.clone(), |hits, (_, judged)| &hits | &any(judged, rows))
    };
    let quarantined = hit_by(Severity::Quarantine);
    let dropped = &hit_by(Severity::Drop) & &!&quarantined;
    let rows_dropped = dropped.count_set_bits() as u64;
    if quarantined.count_set_bits() == 0 && rows_dropped == 0 {
        return Ok(Split { kept: batch, quarantined: None, rows_dropped });
    }
    let kept = batch.filter(&BooleanArray::new(!&(&quarantined | &dropped), None))?;
    let quarantined = if quarantined.count_set_bits() == 0 {
        None
    } else {
        let hits = quarantined.set_indices().map(|row| hits_of(seats, findings, row)).collect();
        Some(Quarantined { rows: batch.filter(&BooleanArray::new(quarantined, None))?, hits })
    };
    Ok(Split { kept, quarantined, rows_dropped })
}

/// Rows that any reason of a rule hits.
fn any(judgements: &[Judgement], rows: usize) -> BooleanBuffer {
    judgements.iter().fold(BooleanBuffer::new_unset(rows), |all, one| &all | &one.hits)
}

fn hits_of(seats: &[Seat], findings: &[Vec<Judgement>], row: usize) -> Vec<(usize, usize)> {
    let rules = seats.iter().zip(findings).enumerate();
    rules
        .filter(|(_, (seat, _))| seat.severity == Severity::Quarantine)
        .flat_map(|(rule, (_, judgements))| {
            judgements.iter().filter(|one| one.hits.value(row)).map(move |one| (rule, one.reason))
        })
        .collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use arrow::array::record_batch;

    use super::*;
    use crate::batch::Origin;
    use crate::batch::Positions;

    fn seat(name: &str, severity: Severity) -> Seat {
        let reason = Reason { code: "bad".into(), columns: vec![], message: "bad".into() };
        Seat { name: name.into(), severity, reasons: vec![reason] }
    }

    fn judged(hits: &[bool]) -> Vec<Judgement> {
        let hits: BooleanBuffer = hits.iter().copied().collect();
        vec![Judgement { reason: 0, evaluated: hits.len(), nulls: 0, hits }]
    }

    #[test]
    fn rows_leave_by_severity_and_quarantine_beats_drop() {
        let seats = [
            seat("w", Severity::Warn),
            seat("f", Severity::Fail),
            seat("d", Severity::Drop),
            seat("q", Severity::Quarantine),
        ];
        let findings = [
            judged(&[true, false, false, false]),
            judged(&[true, false, false, false]),
            judged(&[false, true, true, false]),
            judged(&[false, false, true, false]),
        ];
        let rows = record_batch!(("n", Int64, [0, 1, 2, 3])).unwrap();
        let batch = Batch { rows, origin: Origin { file: "f".into(), rows: Positions::From(1) } };
        let split = split(&seats, batch.clone(), &findings).unwrap();
        assert_eq!((split.kept.origin.row(0), split.kept.origin.row(1)), (Some(1), Some(4)));
        assert_eq!((split.kept.rows.num_rows(), split.rows_dropped), (2, 1));
        let quarantined = split.quarantined.unwrap();
        assert_eq!(
            (quarantined.rows.origin.row(0), &quarantined.hits[..]),
            (Some(3), &[vec![(3, 0)]][..])
        );

        let mut tally = Tally::new(&seats);
        tally.add(&batch.origin, &findings);
        assert!(tally.says_no());
        for rule in tally.rules() {
            let counts = rule.reasons[0].counts;
            assert_eq!(counts.passed + counts.failed + counts.skipped, 4, "{}", rule.name);
        }
    }
}
