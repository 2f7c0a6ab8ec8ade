//! The main chain as a stream: batches in source order, through the sandbox, to verdicts. Stateless components work on one
//! batch a core at once; order is kept. Memory is bounded by what is in flight, never by the input.

use std::sync::Arc;
use std::thread::available_parallelism;

use futures::StreamExt as _;
use futures::TryStreamExt as _;
use futures::stream;
use futures::stream::BoxStream;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::batch::Batch;
use crate::component::Statefulness;
use crate::component::findings::Judgement;
use crate::component::findings::Rejection;
use crate::run::error::RunError;
use crate::sandbox::RulePool;
use crate::sandbox::SandboxError;
use crate::sandbox::TransformPool;
use crate::source::Files;

/// Batches that the source may read ahead.
const READ_AHEAD: usize = 2;

/// What flows through the chain.
#[derive(Debug)]
pub(super) enum Item {
    /// Rows on their way, and the number of the source's batch that they come from.
    Rows(Option<u64>, Batch),
    /// Rows that a step (by position) rejected.
    Rejected(usize, Rejection),
    /// Rows that filters left out.
    Filtered(u64),
}

/// What comes out of the chain.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Rows of the result with what each rule found.
    Judged(Batch, Vec<Vec<Judgement>>),
    /// Rows that a step (by position) rejected.
    Rejected(usize, Rejection),
    /// Rows that filters left out.
    Filtered(u64),
}

type Items = BoxStream<'static, Result<Item, RunError>>;

/// The source's batches, read on a thread of their own.
pub(super) fn source(mut files: Files, mut seen: impl FnMut(&Batch) + Send + 'static) -> Items {
    let (sender, mut receiver) = mpsc::channel(READ_AHEAD);
    let reader = spawn_blocking(move || {
        loop {
            let batch = match files.next_batch() {
                Ok(Some(batch)) => Ok(batch),
                Ok(None) => return,
                Err(error) => Err(RunError::from(error)),
            };
            // Nobody listens any more when the run has failed elsewhere.
            let last = batch.is_err();
            if sender.blocking_send(batch).is_err() || last {
                return;
            }
        }
    });
    let batches = stream::poll_fn(move |context| receiver.poll_recv(context));
    let batches = batches.enumerate().map(move |(number, batch)| {
        let batch = batch?;
        seen(&batch);
        Ok(Item::Rows(Some(number as u64), batch))
    });
    // A reader that panicked just stops sending: without this, its rows would be missing without a word.
    let ended =
        stream::once(async move { reader.await.map_err(RunError::stopped("the source's reader")) });
    let ended = ended.filter_map(|ended| async move { ended.err().map(Err) });
    batches.chain(ended).boxed()
}

/// The steps, in order.
pub(super) fn transformed(mut items: Items, steps: &[Arc<TransformPool>]) -> Items {
    for (index, pool) in steps.iter().enumerate() {
        items = step(items, index, Arc::clone(pool));
    }
    items
}

/// The rules, all of them on each batch.
pub(super) fn judged(
    items: Items,
    rules: &[Arc<RulePool>],
) -> BoxStream<'static, Result<Outcome, RunError>> {
    let width =
        width(rules.iter().all(|rule| rule.opened().statefulness == Statefulness::Stateless));
    let rules: Arc<[_]> = rules.into();
    let tasks = items.map(move |item| {
        let rules = Arc::clone(&rules);
        async move {
            match item? {
                Item::Rows(number, batch) => {
                    let judging = spawn_blocking(move || {
                        let findings = rules.iter().map(|rule| rule.check(number, &batch));
                        let findings = findings.collect::<Result<_, _>>()?;
                        Ok::<_, SandboxError>(Outcome::Judged(batch, findings))
                    });
                    Ok(judging.await.map_err(RunError::stopped("a rule"))??)
                }
                Item::Rejected(step, rejection) => Ok(Outcome::Rejected(step, rejection)),
                Item::Filtered(rows) => Ok(Outcome::Filtered(rows)),
            }
        }
    });
    tasks.buffered(width).boxed()
}

/// One step: what it answers to each batch, then what it kept back.
fn step(items: Items, index: usize, pool: Arc<TransformPool>) -> Items {
    let width = width(pool.opened().statefulness == Statefulness::Stateless);
    let last = Arc::clone(&pool);
    let tasks = items.map(move |item| {
        let pool = Arc::clone(&pool);
        async move {
            let (number, batch) = match item? {
                Item::Rows(number, batch) => (number, batch),
                other @ (Item::Rejected(..) | Item::Filtered(_)) => return Ok(vec![other]),
            };
            let working = spawn_blocking(move || pool.process(number, &batch));
            let done = working.await.map_err(RunError::stopped("a transform"))??;
            let rows = done.batches.into_iter().map(|batch| Item::Rows(number, batch));
            let rejected =
                done.rejected.into_iter().map(|rejection| Item::Rejected(index, rejection));
            let filtered = (done.rows_filtered > 0).then_some(Item::Filtered(done.rows_filtered));
            Ok::<_, RunError>(rows.chain(rejected).chain(filtered).collect())
        }
    });
    let answers = tasks
        .buffered(width)
        .map_ok(|items: Vec<Item>| stream::iter(items.into_iter().map(Ok)))
        .try_flatten();
    answers.chain(stream::once(async move { kept_back(last) }).flatten()).boxed()
}

/// What a step kept back until the input was over, batch by batch.
fn kept_back(pool: Arc<TransformPool>) -> Items {
    let (sender, mut receiver) = mpsc::channel(READ_AHEAD);
    let finishing =
        spawn_blocking(move || pool.finish(&mut |batch| sender.blocking_send(batch).is_ok()));
    let batches = stream::poll_fn(move |context| receiver.poll_recv(context))
        .map(|batch| Ok(Item::Rows(None, batch)));
    let ended = stream::once(async move {
        finishing.await.map_err(RunError::stopped("a transform"))?.map_err(RunError::from)
    });
    batches.chain(ended.filter_map(|ended| async move { ended.err().map(Err) })).boxed()
}

/// Batches at work at once.
fn width(stateless: bool) -> usize {
    if stateless { available_parallelism().map_or(1, usize::from) } else { 1 }
}
