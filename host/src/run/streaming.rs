//! Rows on their way out of the chain: to the destinations, to the quarantine, into the books.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use tokio::task::spawn_blocking;

use crate::batch::Batch;
use crate::plan::Plan;
use crate::rules;
use crate::rules::Tally;
use crate::run::Event;
use crate::run::Report;
use crate::run::books::Books;
use crate::run::chain;
use crate::run::error::RunError;
use crate::run::fanout::Fanout;
use crate::run::quarantine::Quarantine;
use crate::run::quarantine::Why;
use crate::sandbox::RulePool;

/// Takes every batch to where it belongs.
pub(super) async fn stream(
    plan: &Plan,
    mut judged: BoxStream<'static, Result<chain::Outcome, RunError>>,
    books: &mut Books,
    fanout: &mut Fanout,
    mut quarantine: Option<&mut Quarantine>,
    report: Report<'_>,
) -> Result<(), RunError> {
    while let Some(outcome) = judged.next().await {
        match outcome? {
            chain::Outcome::Filtered(rows) => books.filtered += rows,
            chain::Outcome::Rejected(step, rejection) => {
                books.rejected += rejection.reasons.len() as u64;
                let plan = &plan.steps[step];
                let why = |row: usize| {
                    let mut why = Why::default();
                    for at in &rejection.reasons[row] {
                        why.add(&plan.component, &plan.reasons[*at], &rejection.rows.rows, row);
                    }
                    why
                };
                push(
                    quarantine.as_deref_mut(),
                    &format!("transforms[{step}]"),
                    &rejection.rows,
                    &why,
                )
                .await?;
            }
            chain::Outcome::Judged(batch, findings) => {
                books.tally.add(&batch.origin, &findings);
                let split = rules::split(&books.seats, batch, &findings)
                    .map_err(RunError::arrow("the rules"))?;
                books.dropped += split.rows_dropped;
                if let Some(set_apart) = split.quarantined {
                    books.quarantined += set_apart.hits.len() as u64;
                    let seats = &books.seats;
                    let why = |row: usize| {
                        let mut why = Why::default();
                        for (rule, reason) in &set_apart.hits[row] {
                            let seat = &seats[*rule];
                            why.add(&seat.name, &seat.reasons[*reason], &set_apart.rows.rows, row);
                        }
                        why
                    };
                    push(quarantine.as_deref_mut(), "rules", &set_apart.rows, &why).await?;
                }
                books.main += split.kept.rows.num_rows() as u64;
                if split.kept.rows.num_rows() > 0 && !fanout.stage(&split.kept.rows).await? {
                    books.stopped = true;
                    return Err(RunError::Books("a destination stopped taking rows".to_owned()));
                }
            }
        }
        report(Event::Read(books.read.load(Ordering::Relaxed)));
    }
    Ok(())
}

async fn push(
    quarantine: Option<&mut Quarantine>,
    stage: &str,
    batch: &Batch,
    why: &(dyn Fn(usize) -> Why + Sync),
) -> Result<(), RunError> {
    match quarantine {
        Some(quarantine) => quarantine.push(stage, batch, why).await,
        None => {
            Err(RunError::Books(format!("{stage} set rows apart, but the plan has no quarantine")))
        }
    }
}

pub(super) async fn conclude(pools: &[Arc<RulePool>], tally: &mut Tally) -> Result<(), RunError> {
    for (rule, pool) in pools.iter().enumerate() {
        let pool = Arc::clone(pool);
        let conclusion = spawn_blocking(move || pool.conclude())
            .await
            .map_err(RunError::stopped("a rule"))??;
        tally.conclude(rule, conclusion);
    }
    Ok(())
}
