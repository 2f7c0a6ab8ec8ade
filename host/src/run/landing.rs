//! The end of a run: everything is prepared, now it becomes visible, in an order that loses nothing.

use crate::evidence::Outcome;
use crate::evidence::QuarantineRecord;
use crate::evidence::Record;
use crate::evidence::Status;
use crate::plan::Plan;
use crate::run::Event;
use crate::run::Report;
use crate::run::error::RunError;
use crate::run::fanout;
use crate::run::quarantine::Quarantine;
use crate::table::Commit;
use crate::table::Counts;
use crate::writer::WriteError;

/// Quarantine first, then each destination in the flow's order. What committed before a failure stays, and the record says so.
pub(super) async fn commit(
    plan: &Plan,
    ready: Vec<fanout::Ready>,
    quarantine: Option<Quarantine>,
    final_rows: &[u64],
    record: &mut Record,
    report: Report<'_>,
) -> Result<Status, RunError> {
    let closes =
        |counts: Counts, rows: u64| (counts.rows_written, counts.accounted()) == (rows, rows);
    let mut all = ready.iter().zip(final_rows);
    if let Some((wrong, rows)) = all.find(|(ready, rows)| !closes(ready.prepared.counts(), **rows))
    {
        let counts = wrong.prepared.counts();
        let what = format!(
            "destination `{}` staged {} rows of {rows} and accounts for {}",
            wrong.plan.name,
            counts.rows_written,
            counts.accounted()
        );
        fanout::abandon(ready).await;
        if let Some(quarantine) = quarantine {
            quarantine.abandon().await;
        }
        return Err(RunError::Books(what));
    }
    if let Err(error) = set_apart(plan, quarantine, record).await {
        fanout::abandon(ready).await;
        return Err(error);
    }
    let mut waiting = ready.into_iter();
    let mut news = record.quarantine.as_ref().is_some_and(|quarantine| quarantine.rows > 0);
    while let Some(fanout::Ready { plan, prepared }) = waiting.next() {
        let entry = record.destinations.iter_mut().find(|entry| entry.name == plan.name);
        let Some(entry) = entry else {
            return Err(RunError::Books(format!("no entry for destination `{}`", plan.name)));
        };
        match prepared.commit().await {
            Ok(Commit::Applied(counts, version)) => {
                (entry.outcome, entry.counts, entry.version) =
                    (Outcome::Committed, counts, version);
                record.rows_written += counts.rows_written;
                news |= !counts.is_no_change();
            }
            Ok(Commit::Skipped) => entry.outcome = Outcome::Skipped,
            Ok(Commit::AlreadyApplied(version)) => {
                (entry.outcome, entry.version) = (Outcome::AlreadyCommitted, version)
            }
            Err(error) => {
                if matches!(error, WriteError::Unknown { .. }) {
                    entry.outcome = Outcome::Unknown;
                }
                fanout::abandon(waiting.collect()).await;
                return Err(fanout::at(&plan)(error));
            }
        }
        report(Event::Committed(entry));
    }
    Ok(if news { Status::Succeeded } else { Status::NothingToDo })
}

pub(super) async fn set_apart(
    plan: &Plan,
    quarantine: Option<Quarantine>,
    record: &mut Record,
) -> Result<(), RunError> {
    let (Some(quarantine), Some(to)) = (quarantine, &plan.quarantine) else { return Ok(()) };
    let rows = quarantine.commit().await?;
    record.quarantine = Some(QuarantineRecord { path: to.path.to_string(), rows });
    Ok(())
}
