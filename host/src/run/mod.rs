//! A run: the whole path in one place. Gather, decide, stream, stage, judge, commit, record.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::FutureExt as _;
use tokio::task::spawn_blocking;

use crate::component::Descriptor;
use crate::component::Limits;
use crate::evidence::DestinationRecord;
use crate::evidence::EvidenceError;
use crate::evidence::Folder;
use crate::evidence::Record;
use crate::evidence::Status;
use crate::flow::Flow;
use crate::name::DestinationName;
use crate::plan::Plan;
use crate::plan::resolve;
use crate::run::books::Books;
use crate::run::fanout::Fanout;
use crate::run::gather::Gathered;
use crate::run::gather::gather;
use crate::run::quarantine::Quarantine;
use crate::sandbox::Context;
use crate::table::RunId;
use crate::writer::RunMark;

mod books;
mod chain;
mod error;
mod fanout;
mod gather;
mod landing;
mod layout;
mod offered;
mod quarantine;
mod recording;
mod streaming;
mod world;

pub use error::RunError;
pub use error::Whose;
pub use world::World;

/// Rows of a batch as it is read. Several batches are on their way at once, so this sets the memory that a run needs; crossing the
/// sandbox costs some microseconds a batch, which do not show at this size.
const READ_ROWS: usize = 8_192;

/// Something that happened, for whoever watches.
#[derive(Debug)]
pub enum Event<'a> {
    /// The decision is made; rows begin to flow.
    Planned(&'a Plan),
    /// So many rows were read so far.
    Read(u64),
    /// Everything is staged and every destination said yes.
    Prepared,
    /// A destination's commit.
    Committed(&'a DestinationRecord),
}

/// Who is told what happens.
pub type Report<'a> = &'a (dyn Fn(Event<'_>) + Send + Sync);

/// A run's end.
#[derive(Debug)]
pub struct Ended {
    /// What the evidence says, whether or not it could be kept.
    pub record: Record,
    /// Why it ended early.
    pub error: Option<RunError>,
    /// Where the evidence lies, or why it does not.
    pub evidence: Result<std::path::PathBuf, EvidenceError>,
}

/// Runs a flow to its end. The evidence is written before this returns, also for a failed run.
pub async fn run(flow: &Arc<Flow>, world: World, run_id: RunId, report: Report<'_>) -> Ended {
    let mut record = recording::begin(flow, run_id, world.now());
    // A panic of ours is an error of the run: its evidence is written all the same.
    let ended = AssertUnwindSafe(attempt(flow, world, &mut record, report)).catch_unwind().await;
    let ended = ended.unwrap_or_else(|panic| Err(RunError::panicked(panic.as_ref())));
    record.finished_at = world.now();
    let error = match ended {
        Ok(status) => {
            record.status = status;
            None
        }
        Err(error) => {
            recording::fail(&mut record, &error);
            Some(error)
        }
    };
    let evidence = Folder::of(&flow.state).put(&record);
    Ended { record, error, evidence }
}

/// Everything but the data: admits and describes each component, and holds configurations against their schemas.
///
/// # Errors
/// All problems, or what keeps the sandbox from starting.
pub fn check(flow: &Flow, world: World) -> Result<Vec<Descriptor>, RunError> {
    let loaded = gather::load(flow, world, &Limits::effective(&flow.limits))?;
    Ok(loaded.into_values().map(|known| known.descriptor).collect())
}

/// The plan of a run that would start now. Reads the source's files and the targets; writes nothing.
///
/// # Errors
/// All problems, or what cannot be read.
pub async fn plan(flow: &Arc<Flow>, world: World, run_id: &RunId) -> Result<Plan, RunError> {
    let record = recording::begin(flow, run_id.clone(), world.now());
    let gathered = gathered(flow, world, &record).await?;
    resolve(flow, &gathered.facts).map_err(RunError::Problems)
}

async fn gathered(flow: &Arc<Flow>, world: World, record: &Record) -> Result<Gathered, RunError> {
    let context = Context {
        run_id: record.run_id.clone(),
        flow: flow.name.to_string(),
        destination: None,
        logical_time_ns: record
            .started_at
            .timestamp_nanos_opt()
            .and_then(|time| u64::try_from(time).ok())
            .unwrap_or(0),
        seed: recording::seed(&record.run_id),
    };
    let flow = Arc::clone(flow);
    spawn_blocking(move || gather(&flow, world, &context))
        .await
        .map_err(RunError::stopped("gathering facts"))?
}

async fn attempt(
    flow: &Arc<Flow>,
    world: World,
    record: &mut Record,
    report: Report<'_>,
) -> Result<Status, RunError> {
    let gathered = gathered(flow, world, record).await?;
    let plan = resolve(flow, &gathered.facts).map_err(RunError::Problems)?;
    recording::planned(record, &plan);
    report(Event::Planned(&plan));

    let (run_id, started_at) = (record.run_id.clone(), record.started_at);
    let mark = |destination: &DestinationName| RunMark {
        run_id: run_id.clone(),
        flow: plan.flow.clone(),
        destination: destination.clone(),
        started_at,
    };
    let mut fanout = Fanout::open(&plan, |destination| mark(&destination.name)).await?;
    let mut quarantine = match &plan.quarantine {
        Some(to) => match Quarantine::open(to, mark(&DestinationName::quarantine())).await {
            Ok(quarantine) => Some(quarantine),
            Err(error) => return Err(abandoned(fanout, error).await),
        },
        None => None,
    };

    let Gathered { source, steps, rules, .. } = gathered;
    let mut books = Books::new(&plan);
    let files = crate::source::Files::open(
        source,
        usize::try_from(plan.limits.batch_rows).map_or(READ_ROWS, |rows| rows.min(READ_ROWS)),
    );
    let read = Arc::clone(&books.read);
    let batches = chain::source(files, move |batch| {
        read.fetch_add(batch.rows.num_rows() as u64, Ordering::Relaxed);
    });
    let judged = chain::judged(chain::transformed(batches, &steps), &rules);
    let streamed =
        streaming::stream(&plan, judged, &mut books, &mut fanout, quarantine.as_mut(), report)
            .await;
    let concluded = match streamed {
        Ok(()) => streaming::conclude(&rules, &mut books.tally).await,
        Err(error) => Err(error),
    };
    recording::usage(
        record,
        steps.iter().map(|pool| pool.usage()).chain(rules.iter().map(|pool| pool.usage())),
    );
    books.record(record);
    if let Err(error) = concluded.and_then(|()| books.close(&plan)) {
        // Where a destination stopped taking rows, its own error is the reason.
        let error = if books.stopped {
            fanout.prepare().await.err().unwrap_or(error)
        } else {
            abandoned(fanout, error).await
        };
        if let Some(quarantine) = quarantine {
            quarantine.abandon().await;
        }
        return Err(error);
    }
    if books.tally.says_no() {
        fanout.abandon().await;
        landing::set_apart(&plan, quarantine, record).await?;
        return Ok(Status::Rejected);
    }
    if let Err(error) = books.complete(&plan) {
        if let Some(quarantine) = quarantine {
            quarantine.abandon().await;
        }
        return Err(abandoned(fanout, error).await);
    }
    let ready = match fanout.prepare().await {
        Ok(ready) => ready,
        Err(error) => {
            if let Some(quarantine) = quarantine {
                quarantine.abandon().await;
            }
            return Err(error);
        }
    };
    report(Event::Prepared);
    let status = landing::commit(&plan, ready, quarantine, books.main, record, report).await?;
    layout::optimize(&plan, mark, record).await;
    Ok(status)
}

async fn abandoned(fanout: Fanout, error: RunError) -> RunError {
    fanout.abandon().await;
    error
}
