//! Fan-out: the result goes to every destination at once, each staging on a task of its own. Nothing is visible before all
//! of them said yes.

use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::StreamExt as _;
use futures::future::join_all;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::task::spawn_blocking;

use crate::batch::Batch;
use crate::plan::DestinationPlan;
use crate::plan::Plan;
use crate::plan::derived::Derived;
use crate::plan::derived::Uncomputed;
use crate::run::chain;
use crate::run::chain::Seen;
use crate::run::error::RunError;
use crate::run::live::LiveChain;
use crate::run::streaming;
use crate::run::streaming::Way;
use crate::storage::address::Address;
use crate::writer;
use crate::writer::Prepared;
use crate::writer::RunMark;
use crate::writer::Target;
use crate::writer::WriteError;
use crate::writer::Writer;

/// Batches that may wait for a destination.
const WAITING: usize = 2;

/// All destinations, staging.
pub(super) struct Fanout {
    lanes: Vec<Lane>,
}

struct Lane {
    plan: DestinationPlan,
    batches: Entry,
    /// The destination's own chain, at work; none where it has none.
    chain: Option<JoinHandle<Result<(), RunError>>>,
    writer: JoinHandle<(Box<dyn Writer>, Result<(), WriteError>)>,
}

/// Where rows of the main result enter a lane.
enum Entry {
    /// Right before the writer.
    Writer(mpsc::Sender<RecordBatch>),
    /// Before its own chain.
    Chain(mpsc::Sender<Batch>),
}

/// A destination's own chain, open, and its way.
pub(super) struct OwnChain {
    pub(super) live: Arc<LiveChain>,
    pub(super) way: Way,
    pub(super) seen: Seen,
}

/// A destination whose change is prepared.
pub(super) struct Ready {
    pub(super) plan: DestinationPlan,
    pub(super) prepared: Box<dyn Prepared>,
}

impl Fanout {
    /// Opens a writer a destination.
    pub(super) async fn open(
        plan: &Plan,
        mark: impl Fn(&DestinationPlan) -> RunMark,
        chains: Vec<OwnChain>,
    ) -> Result<Self, RunError> {
        let mut opened = Self { lanes: Vec::new() };
        for (destination, chain) in plan.destinations.iter().zip(chains) {
            let target = target(plan, destination, mark(destination));
            let derived = Derived::new(&destination.schema, &destination.partition_columns);
            let derived = derived.map_err(|error| uncomputed(destination, error));
            let opening = match target.and_then(|target| Ok((target, derived?))) {
                Ok((target, derived)) => writer::open(target).await.map(|writer| (writer, derived)),
                Err(error) => Err(error),
            };
            match opening {
                Ok((writer, derived)) => {
                    opened.lanes.push(Lane::start(destination.clone(), writer, derived, chain));
                }
                Err(error) => {
                    opened.abandon().await;
                    return Err(at(destination)(error));
                }
            }
        }
        Ok(opened)
    }

    /// Hands rows of the main result to every destination. `false` when one has stopped; `prepare` says why.
    pub(super) async fn stage(&mut self, batch: &Batch) -> Result<bool, RunError> {
        let mut going = true;
        for lane in &self.lanes {
            going &= match &lane.batches {
                Entry::Chain(chain) => chain.send(batch.clone()).await.is_ok(),
                Entry::Writer(writer) => {
                    let rows = projected(&lane.plan, &batch.rows)?;
                    writer.send(rows).await.is_ok()
                }
            };
        }
        Ok(going)
    }

    /// The main result is over: waits until every destination's own chain is, too, and its rules have concluded.
    pub(super) async fn settle(&mut self) -> Result<(), RunError> {
        let mut settled = Ok(());
        for lane in &mut self.lanes {
            // A sender that is gone is the end of the input; a lane without a chain still has its writer's.
            if let Some(chain) = lane.chain.take() {
                lane.batches = Entry::Chain(mpsc::channel(1).0);
                let ended = chain.await.map_err(RunError::stopped("a destination's chain"));
                settled = settled.and(ended.and_then(|ended| ended));
            }
        }
        settled
    }

    /// Waits until everything is staged, then lets every destination judge its change. If one says no, all are abandoned.
    pub(super) async fn prepare(self) -> Result<Vec<Ready>, RunError> {
        let (writers, mut failure) = self.close().await;
        let mut waiting = writers.into_iter();
        let mut ready: Vec<Ready> = Vec::new();
        while failure.is_none()
            && let Some((plan, writer)) = waiting.next()
        {
            match writer.prepare().await {
                Ok(prepared) => ready.push(Ready { plan, prepared }),
                Err(error) => failure = Some(at(&plan)(error)),
            }
        }
        match failure {
            None => Ok(ready),
            Some(failure) => {
                abandon_writers(waiting).await;
                abandon(ready).await;
                Err(failure)
            }
        }
    }

    /// Removes whatever was staged. What cannot be removed is hidden from readers anyway.
    pub(super) async fn abandon(self) {
        let (writers, _) = self.close().await;
        abandon_writers(writers).await;
    }

    async fn close(self) -> (Vec<(DestinationPlan, Box<dyn Writer>)>, Option<RunError>) {
        let mut writers = Vec::new();
        let mut failure = None;
        let (mut plans, mut tasks) = (Vec::new(), Vec::new());
        for Lane { plan, batches, chain, writer } in self.lanes {
            drop(batches);
            if let Some(chain) = chain {
                let ended = chain.await.map_err(RunError::stopped("a destination's chain"));
                failure = failure.or(ended.and_then(|ended| ended).err());
            }
            plans.push(plan);
            tasks.push(writer);
        }
        for (plan, ended) in plans.into_iter().zip(join_all(tasks).await) {
            match ended {
                Ok((writer, staged)) => {
                    failure = failure.or(staged.err().map(at(&plan)));
                    writers.push((plan, writer));
                }
                Err(panicked) => {
                    failure = failure
                        .or_else(|| Some(RunError::stopped("a destination's writer")(panicked)))
                }
            }
        }
        (writers, failure)
    }
}

/// What the writer of a destination has to do.
pub(super) fn target(
    plan: &Plan,
    destination: &DestinationPlan,
    run: RunMark,
) -> Result<Target, WriteError> {
    Ok(Target {
        address: Address::open(&destination.path)?,
        format: destination.format.clone(),
        change: destination.change.clone(),
        schema: destination.schema.clone(),
        schema_change: destination.schema_change,
        partition_columns: destination
            .partition_columns
            .iter()
            .map(|column| column.column.clone())
            .collect(),
        date_folders: destination.by_date.folders().cloned(),
        table_properties: destination.table_properties.clone(),
        layout: destination.layout.clone(),
        memory_bytes: plan.limits.load_memory_bytes,
        run,
    })
}

impl Lane {
    fn start(
        plan: DestinationPlan,
        mut writer: Box<dyn Writer>,
        derived: Derived,
        own: OwnChain,
    ) -> Self {
        let (batches, mut waiting) = mpsc::channel::<RecordBatch>(WAITING);
        let to = plan.clone();
        // Writers work on the thread that polls them, so each gets one that may block.
        let runtime = Handle::current();
        let writer = spawn_blocking(move || {
            let mut staged = Ok(());
            while let Some(rows) = waiting.blocking_recv() {
                let rows = derived.add(rows).map_err(|error| uncomputed(&to, error));
                staged = rows.and_then(|rows| runtime.block_on(writer.stage(&rows)));
                if staged.is_err() {
                    break;
                }
            }
            (writer, staged)
        });
        if plan.chain.is_empty() {
            return Self { plan, batches: Entry::Writer(batches), chain: None, writer };
        }
        let (sender, receiver) = mpsc::channel::<Batch>(WAITING);
        let to = plan.clone();
        let chain = tokio::spawn(async move {
            let OwnChain { live, way, seen } = own;
            let mut kept = streaming::kept(chain::handed(receiver), &live, way, &seen);
            while let Some(batch) = kept.next().await {
                // A writer that has stopped says why itself.
                if batches.send(projected(&to, &batch?.rows)?).await.is_err() {
                    break;
                }
            }
            Ok(())
        });
        Self { plan, batches: Entry::Chain(sender), chain: Some(chain), writer }
    }
}

/// A destination's columns.
fn projected(plan: &DestinationPlan, rows: &RecordBatch) -> Result<RecordBatch, RunError> {
    rows.project(&plan.projection).map_err(RunError::arrow("a destination's columns"))
}

/// Removes what prepared destinations have staged.
pub(super) async fn abandon(ready: Vec<Ready>) {
    for destination in ready.into_iter().rev() {
        // The failure that led here is the one to report.
        let _ = destination.prepared.abandon().await;
    }
}

/// The last one first, so that a folder that one of them made is empty when its turn comes.
async fn abandon_writers(
    writers: impl IntoIterator<Item = (DestinationPlan, Box<dyn Writer>), IntoIter: DoubleEndedIterator>,
) {
    for (_, writer) in writers.into_iter().rev() {
        let _ = writer.abandon().await;
    }
}

/// A partition column that cannot be computed is the user's data, like a value that does not fit.
pub(super) fn uncomputed(plan: &DestinationPlan, error: Uncomputed) -> WriteError {
    let Uncomputed { column, what } = error;
    WriteError::Value { path: plan.path.shown(), column: column.into(), what }
}

/// A write error with its destination.
pub(super) fn at(plan: &DestinationPlan) -> impl Fn(WriteError) -> RunError {
    let destination = plan.name.clone();
    move |source| RunError::Write { destination: destination.clone(), source }
}
