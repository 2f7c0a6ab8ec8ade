//! A chain from its first batch to its last: rows that stay go on, others to where they belong, all of them into the books.

use std::sync::Arc;

use arrow::buffer::BooleanBuffer;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use tokio::sync::Mutex;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::batch::Batch;
use crate::component::findings::Judgement;
use crate::component::findings::Rejection;
use crate::plan::ChainPlan;
use crate::plan::StagePlan;
use crate::rules;
use crate::run::books::ChainBooks;
use crate::run::chain;
use crate::run::chain::Items;
use crate::run::chain::Outcome;
use crate::run::chain::Room;
use crate::run::chain::Seen;
use crate::run::error::RunError;
use crate::run::judges::Judged;
use crate::run::judges::SharedJudges;
use crate::run::late::Late;
use crate::run::live::LiveChain;
use crate::run::quarantine::Quarantine;
use crate::run::quarantine::Why;
use crate::spool::Spool;

/// Where rows go that are set apart.
#[derive(Clone)]
pub(super) enum SetApart {
    /// Nowhere: the plan says that there are none.
    Never,
    /// They are counted, and nothing is written.
    Counted,
    /// The quarantine, which all chains share.
    To(Arc<Mutex<Quarantine>>),
}

/// A chain's way through a run.
pub(super) struct Way {
    pub(super) plan: ChainPlan,
    /// What stands before the names of its stages in the quarantine: nothing, or the destination.
    pub(super) prefix: String,
    pub(super) judges: SharedJudges,
    pub(super) books: Arc<std::sync::Mutex<ChainBooks>>,
    pub(super) quarantine: SetApart,
    pub(super) room: Room,
    /// Rows of the last run, for rules that compare.
    pub(super) before: Option<u64>,
}

/// The rows of a chain's result that stay, batch by batch. When the stream has ended, the rules have concluded.
pub(super) fn kept(
    items: Items,
    chain: &LiveChain,
    way: Way,
    seen: &Seen,
) -> BoxStream<'static, Result<Batch, RunError>> {
    let items = chain::transformed(items, &chain.stages, &way.room, seen);
    let judged = chain::judged(items, Arc::clone(&way.judges));
    chain::produced("the rules", |sender| way.walk(judged, sender))
}

impl Way {
    async fn walk(
        self,
        mut judged: BoxStream<'static, Result<Outcome, RunError>>,
        sender: mpsc::Sender<Batch>,
    ) -> Result<(), RunError> {
        let Room { folder, memory_max } = &self.room;
        let mut late = Late::new(&self.judges, folder, memory_max / 2);
        let mut held: Option<Spool<Vec<Vec<Judgement>>>> =
            self.judges.takes_out_late().then(|| Spool::new(folder.clone(), memory_max / 2));
        while let Some(outcome) = judged.next().await {
            match outcome? {
                Outcome::Filtered(rows) => self.books().filtered += rows,
                Outcome::Rejected(stage, rejection) => self.reject(stage, &rejection).await?,
                Outcome::Judged(judged) => {
                    late.push(&judged)?;
                    let Judged { batch, findings, .. } = judged;
                    self.books().tally.add(&batch.origin, &findings);
                    match &mut held {
                        Some(held) => held.push(batch, findings)?,
                        None => {
                            if !self.split(batch, &findings, &sender).await? {
                                return Ok(());
                            }
                        }
                    }
                }
            }
        }
        let (judges, books, before) =
            (Arc::clone(&self.judges), Arc::clone(&self.books), self.before);
        let concluding = spawn_blocking(move || {
            // The tally is lent: nobody else counts any more.
            let mut tally = lock(&books).tally.clone();
            let hits = late.conclude(&judges, &mut tally, before)?;
            lock(&books).tally = tally;
            Ok::<_, RunError>(hits)
        });
        let hits = concluding.await.map_err(RunError::stopped("a rule"))??;
        let Some(held) = held else { return Ok(()) };
        let mut number = 0;
        for batch in held.drain()? {
            let (batch, mut findings) = batch?;
            let rows = batch.rows.num_rows();
            for late in &hits {
                let judgement = &mut findings[late.rule][late.reason];
                let bits: BooleanBuffer = late.rows.slice(number, rows);
                judgement.hits = &judgement.hits | &bits;
            }
            number += rows as u64;
            if !self.split(batch, &findings, &sender).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Sends rows to where they belong; whether more are wanted.
    async fn split(
        &self,
        batch: Batch,
        findings: &[Vec<Judgement>],
        sender: &mpsc::Sender<Batch>,
    ) -> Result<bool, RunError> {
        let seats = &self.judges.seats;
        let split = rules::split(seats, batch, findings).map_err(RunError::arrow("the rules"))?;
        {
            let mut books = self.books();
            books.dropped += split.rows_dropped;
            books.quarantined +=
                split.quarantined.as_ref().map_or(0, |apart| apart.hits.len() as u64);
            books.left += split.kept.rows.num_rows() as u64;
        }
        if let Some(set_apart) = split.quarantined {
            let why = |row: usize| {
                let mut why = Why::default();
                for (rule, reason) in &set_apart.hits[row] {
                    let seat = &seats[*rule];
                    why.add(&seat.name, &seat.reasons[*reason], &set_apart.rows.rows, row);
                }
                why
            };
            self.push(&format!("{}rules", self.prefix), &set_apart.rows, &why).await?;
        }
        Ok(split.kept.rows.num_rows() == 0 || sender.send(split.kept).await.is_ok())
    }

    async fn reject(&self, stage: usize, rejection: &Rejection) -> Result<(), RunError> {
        self.books().rejected += rejection.reasons.len() as u64;
        let Some(StagePlan::Component(step)) = self.plan.stages.get(stage) else {
            return Err(RunError::Books(format!(
                "stage {stage} rejected rows, and has no reasons"
            )));
        };
        let why = |row: usize| {
            let mut why = Why::default();
            for at in &rejection.reasons[row] {
                why.add(&step.component, &step.reasons[*at], &rejection.rows.rows, row);
            }
            why
        };
        self.push(&step.label, &rejection.rows, &why).await
    }

    async fn push(
        &self,
        stage: &str,
        batch: &Batch,
        why: &(dyn Fn(usize) -> Why + Sync),
    ) -> Result<(), RunError> {
        match &self.quarantine {
            SetApart::To(quarantine) => quarantine.lock().await.push(stage, batch, why).await,
            SetApart::Counted => Ok(()),
            SetApart::Never => Err(RunError::Books(format!(
                "{stage} set rows apart, but the plan has no quarantine"
            ))),
        }
    }

    fn books(&self) -> std::sync::MutexGuard<'_, ChainBooks> {
        lock(&self.books)
    }
}

/// Books whose holder panicked are as good as before: the run fails anyway.
pub(super) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
