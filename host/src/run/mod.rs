//! A run: the whole path in one place. Gather, decide, stream, stage, judge, commit, record.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt as _;
use futures::StreamExt as _;
use tokio::sync::Mutex;
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
use crate::plan::ChainPlan;
use crate::plan::Plan;
use crate::plan::resolve;
use crate::run::books::Books;
use crate::run::books::ChainBooks;
use crate::run::chain::Room;
use crate::run::chain::Seen;
use crate::run::fanout::Fanout;
use crate::run::fanout::OwnChain;
use crate::run::gather::Gathered;
use crate::run::gather::gather;
use crate::run::live::LiveChain;
use crate::run::quarantine::Quarantine;
use crate::run::streaming::SetApart;
use crate::run::streaming::Way;
use crate::sandbox::Context;
use crate::table::RunId;
use crate::writer::RunMark;

mod asked;
mod books;
mod bound;
mod chain;
mod collect;
mod dedup;
mod error;
mod fanout;
mod gather;
mod joined;
mod judges;
mod keyed;
mod landing;
mod late;
mod layout;
mod live;
mod loading;
mod lone;
mod opening;
mod parts;
mod preview;
mod quarantine;
mod recording;
mod sort;
mod streaming;
mod world;

pub use error::RunError;
pub use error::Whose;
pub use preview::Shown;
pub use preview::preview;
pub use world::World;

type SharedBooks = Arc<std::sync::Mutex<ChainBooks>>;

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
    let loaded = loading::load(flow, world, &Limits::effective(&flow.limits))?;
    Ok(loaded.components.into_values().map(|known| known.descriptor).collect())
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
    let Gathered { source, main, chains, before, asked, .. } = gathered;
    let quarantine = match &plan.quarantine {
        Some(to) => {
            let quarantine = Quarantine::open(to, mark(&DestinationName::quarantine())).await?;
            SetApart::To(Arc::new(Mutex::new(quarantine)))
        }
        None => SetApart::Never,
    };
    let rows = crate::source::Rows::open(
        source,
        usize::try_from(plan.limits.batch_rows).map_or(READ_ROWS, |rows| rows.min(READ_ROWS)),
    );
    let rows = rows.only(&plan.source.reads);
    let books = Books::new(&plan, rows.passed());
    let room = Room::new(flow.state.clone(), &plan.limits);
    let way =
        |chain: &ChainPlan, live: &LiveChain, books: &SharedBooks, prefix: String, before| Way {
            plan: chain.clone(),
            prefix,
            judges: Arc::clone(&live.judges),
            books: Arc::clone(books),
            quarantine: quarantine.clone(),
            room: room.clone(),
            before,
        };
    let own =
        plan.destinations.iter().zip(&chains).zip(&books.destinations).zip(&flow.destinations);
    let own = own.map(|(((to, live), books), written)| OwnChain {
        live: Arc::clone(live),
        way: way(
            &to.chain,
            live,
            books,
            format!("{}.", written.at.field),
            before.destinations.get(&to.name).copied(),
        ),
        seen: Arc::new(|_, _| {}),
    });
    let own = own.collect();
    let mut fanout = match Fanout::open(&plan, |destination| mark(&destination.name), own).await {
        Ok(fanout) => fanout,
        Err(error) => {
            set_aside(quarantine).await;
            return Err(error);
        }
    };
    let read = Arc::clone(&books.read);
    let batches = chain::source(rows, move |batch| {
        read.fetch_add(batch.rows.num_rows() as u64, Ordering::Relaxed);
    });
    let seen: Seen = Arc::new(|_, _| {});
    let main_way = way(&plan.main, &main, &books.main, String::new(), before.main);
    let mut kept = streaming::kept(batches, &main, main_way, &seen);
    let mut streamed = Ok(());
    let mut stopped = false;
    while let Some(batch) = kept.next().await {
        let staged = match batch {
            Ok(batch) => fanout.stage(&batch).await,
            Err(error) => Err(error),
        };
        match staged {
            Ok(true) => report(Event::Read(books.rows_read())),
            Ok(false) => {
                stopped = true;
                streamed = Err(RunError::Books("a destination stopped taking rows".to_owned()));
            }
            Err(error) => streamed = Err(error),
        }
        if streamed.is_err() {
            break;
        }
    }
    drop(kept);
    if streamed.is_ok() {
        streamed = fanout.settle().await;
    }
    books.settle(&plan);
    let asked = asked.iter().map(asked::record);
    let chains = std::iter::once(&main).chain(&chains).flat_map(|chain| chain.components());
    record.components = asked.chain(chains).collect();
    books.record(&plan, record);
    if let Err(error) = streamed.and_then(|()| books.close(&plan)) {
        // Where a destination stopped taking rows, its own error is the reason.
        let error = if stopped {
            fanout.prepare().await.err().unwrap_or(error)
        } else {
            abandoned(fanout, error).await
        };
        set_aside(quarantine).await;
        return Err(error);
    }
    if books.says_no(&plan) {
        fanout.abandon().await;
        landing::set_apart(&plan, alone(quarantine).await, record).await?;
        return Ok(Status::Rejected);
    }
    if let Err(error) = books.complete(&plan) {
        set_aside(quarantine).await;
        return Err(abandoned(fanout, error).await);
    }
    let ready = match fanout.prepare().await {
        Ok(ready) => ready,
        Err(error) => {
            set_aside(quarantine).await;
            return Err(error);
        }
    };
    report(Event::Prepared);
    let final_rows = books.final_rows();
    let status =
        landing::commit(&plan, ready, alone(quarantine).await, &final_rows, record, report).await?;
    layout::optimize(&plan, mark, record).await;
    Ok(status)
}

/// The quarantine, once no chain sends rows there any more: one that was given up ends with the batch that it is at.
async fn alone(quarantine: SetApart) -> Option<Quarantine> {
    let SetApart::To(mut shared) = quarantine else { return None };
    loop {
        match Arc::try_unwrap(shared) {
            Ok(alone) => return Some(alone.into_inner()),
            Err(still) => shared = still,
        }
        // Where even this cannot be waited for, the next round asks again.
        let _ = spawn_blocking(|| std::thread::sleep(Duration::from_millis(1))).await;
    }
}

/// Removes what was staged for the quarantine; the failure that led here is the one to report.
async fn set_aside(quarantine: SetApart) {
    if let Some(quarantine) = alone(quarantine).await {
        quarantine.abandon().await;
    }
}

async fn abandoned(fanout: Fanout, error: RunError) -> RunError {
    fanout.abandon().await;
    error
}
