//! Fan-out: the result goes to every destination at once, each staging on a task of its own. Nothing is visible before all
//! of them said yes.

use arrow::array::RecordBatch;
use futures::future::join_all;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::task::spawn_blocking;

use crate::plan::DestinationPlan;
use crate::plan::Plan;
use crate::plan::derived::Derived;
use crate::plan::derived::Uncomputed;
use crate::run::error::RunError;
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
    batches: mpsc::Sender<RecordBatch>,
    writer: JoinHandle<(Box<dyn Writer>, Result<(), WriteError>)>,
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
    ) -> Result<Self, RunError> {
        let mut opened = Self { lanes: Vec::new() };
        for destination in &plan.destinations {
            let target = target(plan, destination, mark(destination));
            let derived = Derived::new(&destination.schema, &destination.partition_columns);
            let opening = match derived.map_err(|error| uncomputed(destination, error)) {
                Ok(derived) => writer::open(target).await.map(|writer| (writer, derived)),
                Err(error) => Err(error),
            };
            match opening {
                Ok((writer, derived)) => {
                    opened.lanes.push(Lane::start(destination.clone(), writer, derived));
                }
                Err(error) => {
                    opened.abandon().await;
                    return Err(at(destination)(error));
                }
            }
        }
        Ok(opened)
    }

    /// Hands rows of the main result to every destination, each with its own columns. `false` when one has stopped; `close` says why.
    pub(super) async fn stage(&mut self, rows: &RecordBatch) -> Result<bool, RunError> {
        let mut going = true;
        for lane in &self.lanes {
            let rows = rows
                .project(&lane.plan.projection)
                .map_err(RunError::arrow("a destination's columns"))?;
            going &= lane.batches.send(rows).await.is_ok();
        }
        Ok(going)
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
        let (plans, tasks): (Vec<_>, Vec<_>) =
            self.lanes.into_iter().map(|lane| (lane.plan, lane.writer)).unzip();
        let mut writers = Vec::new();
        let mut failure = None;
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
pub(super) fn target(plan: &Plan, destination: &DestinationPlan, run: RunMark) -> Target {
    Target {
        path: destination.path.clone(),
        format: destination.format.clone(),
        change: destination.change.clone(),
        schema: destination.schema.clone(),
        schema_change: destination.schema_change,
        partition_columns: destination
            .partition_columns
            .iter()
            .map(|column| column.column.clone())
            .collect(),
        table_properties: destination.table_properties.clone(),
        layout: destination.layout.clone(),
        memory_bytes: plan.limits.load_memory_bytes,
        run,
    }
}

impl Lane {
    fn start(plan: DestinationPlan, mut writer: Box<dyn Writer>, derived: Derived) -> Self {
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
        Self { plan, batches, writer }
    }
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
fn uncomputed(plan: &DestinationPlan, error: Uncomputed) -> WriteError {
    let Uncomputed { column, what } = error;
    WriteError::Value { path: plan.path.clone(), column: column.into(), what }
}

/// A write error with its destination.
pub(super) fn at(plan: &DestinationPlan) -> impl Fn(WriteError) -> RunError {
    let destination = plan.name.clone();
    move |source| RunError::Write { destination: destination.clone(), source }
}
