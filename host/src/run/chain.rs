//! A chain as a stream: batches in source order, through its stages, to judgements. Stateless components work on one batch a core
//! at once; order is kept. Memory is bounded by what is in flight and by what stages may hold, never by the input.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;

use futures::StreamExt as _;
use futures::TryStreamExt as _;
use futures::stream;
use futures::stream::BoxStream;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::batch::Batch;
use crate::component::Limits;
use crate::component::Statefulness;
use crate::component::findings::Rejection;
use crate::run::bound;
use crate::run::dedup::Deduplicating;
use crate::run::error::RunError;
use crate::run::joined;
use crate::run::judges::Judged;
use crate::run::judges::SharedJudges;
use crate::run::keyed;
use crate::run::live::LiveStage;
use crate::sandbox::SandboxError;
use crate::sandbox::TransformPool;
use crate::source::Rows;

/// Batches that the source may read ahead, and a stage may be ahead of the next one.
const READ_AHEAD: usize = 2;

/// What flows through the chain.
#[derive(Debug)]
pub(super) enum Item {
    /// Rows on their way, and the number of the source's batch that they come from.
    Rows(Option<u64>, Batch),
    /// Rows that a stage (by position) rejected.
    Rejected(usize, Rejection),
    /// Rows that filters left out.
    Filtered(u64),
}

/// What comes out of the chain.
pub(super) enum Outcome {
    /// Rows of the result with what each rule found.
    Judged(Judged),
    /// Rows that a stage (by position) rejected.
    Rejected(usize, Rejection),
    /// Rows that filters left out.
    Filtered(u64),
}

/// What stages may hold, and where the rest goes.
#[derive(Debug, Clone)]
pub(super) struct Room {
    /// Where files without a name are made.
    pub(super) folder: PathBuf,
    /// Bytes that a stage may hold in memory.
    pub(super) memory_max: usize,
}

impl Room {
    /// A quarter of what a load may hold, because stages hold rows at the same time as each other and as writers.
    pub(super) fn new(folder: PathBuf, limits: &Limits) -> Self {
        let memory_max = usize::try_from(limits.load_memory_bytes / 4).unwrap_or(usize::MAX);
        Self { folder, memory_max }
    }
}

/// Who is shown what leaves each stage.
pub(super) type Seen = Arc<dyn Fn(usize, &Batch) + Send + Sync>;

pub(super) type Items = BoxStream<'static, Result<Item, RunError>>;

/// The source's batches, read on a thread of their own.
pub(super) fn source(rows: Rows, mut seen: impl FnMut(&Batch) + Send + 'static) -> Items {
    let (sender, mut receiver) = mpsc::channel(READ_AHEAD);
    let listening = sender.clone();
    let mut rows = rows.while_wanted(move || !listening.is_closed());
    let reader = spawn_blocking(move || {
        loop {
            let batch = match rows.next_batch() {
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

/// Batches that another chain hands over.
pub(super) fn handed(mut batches: mpsc::Receiver<Batch>) -> Items {
    let batches = stream::poll_fn(move |context| batches.poll_recv(context));
    batches.enumerate().map(|(number, batch)| Ok(Item::Rows(Some(number as u64), batch))).boxed()
}

/// The stages, in order; `seen` is shown what leaves each of them.
pub(super) fn transformed(
    mut items: Items,
    stages: &[LiveStage],
    room: &Room,
    seen: &Seen,
) -> Items {
    for (index, stage) in stages.iter().enumerate() {
        items = match stage {
            LiveStage::Component(working) => {
                component(items, index, Arc::clone(&working.pool), room)
            }
            LiveStage::Bound(bound) => bound::step(items, index, Arc::clone(bound), room),
            LiveStage::Join(working, joining) => {
                joined::step(items, index, Arc::clone(&working.pool), Arc::clone(joining), room)
            }
            LiveStage::Deduplicate(dedup) => {
                held(items, "deduplicate", Deduplicating::new(Arc::clone(dedup), room))
            }
            LiveStage::Sort(sort) => held(items, "sort", sort.begin(room)),
            LiveStage::Collect(collect) => match collect.begin(room) {
                Ok(collecting) => held(items, "collect", collecting),
                Err(error) => stream::once(async move { Err(error) }).boxed(),
            },
        };
        let seen = Arc::clone(seen);
        items = items
            .inspect_ok(move |item| {
                if let Item::Rows(_, batch) = item {
                    seen(index, batch);
                }
            })
            .boxed();
    }
    items
}

/// The rules, all of them on each batch.
pub(super) fn judged(
    items: Items,
    judges: SharedJudges,
) -> BoxStream<'static, Result<Outcome, RunError>> {
    let width = width(judges.is_stateless());
    let tasks = items.map(move |item| {
        let judges = Arc::clone(&judges);
        async move {
            match item? {
                Item::Rows(number, batch) => {
                    let judging = spawn_blocking(move || judges.check(number, batch));
                    let judged = judging.await.map_err(RunError::stopped("a rule"))??;
                    Ok(Outcome::Judged(judged))
                }
                Item::Rejected(step, rejection) => Ok(Outcome::Rejected(step, rejection)),
                Item::Filtered(rows) => Ok(Outcome::Filtered(rows)),
            }
        }
    });
    tasks.buffered(width).boxed()
}

/// What a task sends, and after it the error that it ended with.
pub(super) fn produced<T: Send + 'static, W>(
    stage: &'static str,
    work: impl FnOnce(mpsc::Sender<T>) -> W,
) -> BoxStream<'static, Result<T, RunError>>
where
    W: Future<Output = Result<(), RunError>> + Send + 'static,
{
    let (sender, mut receiver) = mpsc::channel(READ_AHEAD);
    let task = tokio::spawn(work(sender));
    let sent = stream::poll_fn(move |context| receiver.poll_recv(context)).map(Ok);
    let ended = stream::once(async move { task.await.map_err(RunError::stopped(stage))? });
    sent.chain(ended.filter_map(|ended| async move { ended.err().map(Err) })).boxed()
}

/// A component, its input spread as it agreed to.
pub(super) fn component(
    items: Items,
    index: usize,
    pool: Arc<TransformPool>,
    room: &Room,
) -> Items {
    match pool.opened().statefulness.clone() {
        Statefulness::Keyed(keys) => keyed::step(items, index, pool, keys, room),
        Statefulness::Stateless | Statefulness::WholeInput => step(items, index, pool),
    }
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
            let working = spawn_blocking(move || answers(&pool, index, number, &batch));
            Ok::<_, RunError>(working.await.map_err(RunError::stopped("a transform"))??)
        }
    });
    let answers = tasks
        .buffered(width)
        .map_ok(|items: Vec<Item>| stream::iter(items.into_iter().map(Ok)))
        .try_flatten();
    answers.chain(stream::once(async move { kept_back(last) }).flatten()).boxed()
}

/// What a step makes of a batch.
pub(super) fn answers(
    pool: &TransformPool,
    index: usize,
    number: Option<u64>,
    batch: &Batch,
) -> Result<Vec<Item>, SandboxError> {
    let done = pool.process(number, batch)?;
    let rows = done.batches.into_iter().map(|batch| Item::Rows(number, batch));
    let rejected = done.rejected.into_iter().map(|rejection| Item::Rejected(index, rejection));
    let filtered = (done.rows_filtered > 0).then_some(Item::Filtered(done.rows_filtered));
    Ok(rows.chain(rejected).chain(filtered).collect())
}

/// What a step kept back until the input was over, batch by batch.
fn kept_back(pool: Arc<TransformPool>) -> Items {
    produced("a transform", |sender| async move {
        let finishing = spawn_blocking(move || {
            pool.finish(&mut |batch| sender.blocking_send(Item::Rows(None, batch)).is_ok())
        });
        Ok(finishing.await.map_err(RunError::stopped("a transform"))??)
    })
}

/// A stage of the host's own, which answers once the input is over.
pub(super) trait Holding: Send + 'static {
    /// Takes a batch in.
    fn push(&mut self, batch: Batch) -> Result<(), RunError>;

    /// Gives rows to `take`, which says whether it wants more, batch by batch; and tells how many it leaves out.
    fn finish(self, take: &mut dyn FnMut(Batch) -> bool) -> Result<u64, RunError>;
}

fn held(mut items: Items, stage: &'static str, mut holding: impl Holding) -> Items {
    produced(stage, move |sender| async move {
        while let Some(item) = items.next().await {
            match item? {
                Item::Rows(_, batch) => holding.push(batch)?,
                other => {
                    if sender.send(other).await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
        let finishing = spawn_blocking(move || {
            let left_out = holding
                .finish(&mut |batch| sender.blocking_send(Item::Rows(None, batch)).is_ok())?;
            if left_out > 0 {
                let _ = sender.blocking_send(Item::Filtered(left_out));
            }
            Ok(())
        });
        finishing.await.map_err(RunError::stopped(stage))?
    })
}

/// Batches at work at once.
fn width(stateless: bool) -> usize {
    if stateless { available_parallelism().map_or(1, usize::from) } else { 1 }
}
