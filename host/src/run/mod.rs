//! A run: the whole path in one place. Gather, decide, stream, stage, judge, commit, record.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use futures::FutureExt as _;
use futures::StreamExt as _;
use tokio::task::spawn_blocking;

use crate::component::Descriptor;
use crate::component::Limits;
use crate::component::RowEffect;
use crate::evidence::DestinationRecord;
use crate::evidence::EvidenceError;
use crate::evidence::Folder;
use crate::evidence::Outcome;
use crate::evidence::QuarantineRecord;
use crate::evidence::Record;
use crate::evidence::Status;
use crate::flow::Flow;
use crate::name::DestinationName;
use crate::plan::Plan;
use crate::plan::resolve;
use crate::rules;
use crate::rules::Tally;
use crate::run::fanout::Fanout;
use crate::run::gather::Gathered;
use crate::run::gather::gather;
use crate::run::quarantine::Quarantine;
use crate::run::quarantine::Why;
use crate::sandbox::Context;
use crate::table::Commit;
use crate::table::Counts;
use crate::table::RunId;
use crate::writer::RunMark;
use crate::writer::WriteError;

mod chain;
mod error;
mod fanout;
mod gather;
mod quarantine;
mod recording;
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
        stream(&plan, judged, &mut books, &mut fanout, quarantine.as_mut(), report).await;
    let concluded = match streamed {
        Ok(()) => conclude(&rules, &mut books.tally).await,
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
        set_apart(&plan, quarantine, record).await?;
        return Ok(Status::Rejected);
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
    commit(&plan, ready, quarantine, books.main, record, report).await
}

/// Takes every batch to where it belongs.
async fn stream(
    plan: &Plan,
    mut judged: futures::stream::BoxStream<'static, Result<chain::Outcome, RunError>>,
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
    batch: &crate::batch::Batch,
    why: &(dyn Fn(usize) -> Why + Sync),
) -> Result<(), RunError> {
    match quarantine {
        Some(quarantine) => quarantine.push(stage, batch, why).await,
        None => {
            Err(RunError::Books(format!("{stage} set rows apart, but the plan has no quarantine")))
        }
    }
}

async fn conclude(
    pools: &[Arc<crate::sandbox::RulePool>],
    tally: &mut Tally,
) -> Result<(), RunError> {
    for (rule, pool) in pools.iter().enumerate() {
        let pool = Arc::clone(pool);
        let conclusion = spawn_blocking(move || pool.conclude())
            .await
            .map_err(RunError::stopped("a rule"))??;
        tally.conclude(rule, conclusion);
    }
    Ok(())
}

async fn abandoned(fanout: Fanout, error: RunError) -> RunError {
    fanout.abandon().await;
    error
}

/// Quarantine first, then each destination in the flow's order. What committed before a failure stays, and the record says so.
async fn commit(
    plan: &Plan,
    ready: Vec<fanout::Ready>,
    quarantine: Option<Quarantine>,
    rows_main: u64,
    record: &mut Record,
    report: Report<'_>,
) -> Result<Status, RunError> {
    if let Some(wrong) =
        ready.iter().find(|ready| ready.prepared.counts().rows_written != rows_main)
    {
        let counted = wrong.prepared.counts().rows_written;
        let what =
            format!("destination `{}` staged {counted} rows of {rows_main}", wrong.plan.name);
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
        let counts = prepared.counts();
        let entry = record.destinations.iter_mut().find(|entry| entry.name == plan.name);
        let Some(entry) = entry else {
            return Err(RunError::Books(format!("no entry for destination `{}`", plan.name)));
        };
        match prepared.commit().await {
            Ok(Commit::Applied(version)) => {
                (entry.outcome, entry.counts, entry.version) =
                    (Outcome::Committed, counts, version);
                record.rows_written += counts.rows_written;
                news |= counts != Counts { rows_deleted: Some(0), ..Counts::default() };
            }
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

async fn set_apart(
    plan: &Plan,
    quarantine: Option<Quarantine>,
    record: &mut Record,
) -> Result<(), RunError> {
    let (Some(quarantine), Some(to)) = (quarantine, &plan.quarantine) else { return Ok(()) };
    let rows = quarantine.commit().await?;
    record.quarantine = Some(QuarantineRecord { path: to.path.display().to_string(), rows });
    Ok(())
}

/// A run's counts while rows flow.
struct Books {
    read: Arc<AtomicU64>,
    filtered: u64,
    rejected: u64,
    dropped: u64,
    quarantined: u64,
    main: u64,
    seats: Vec<rules::Seat>,
    tally: Tally,
    stopped: bool,
}

impl Books {
    fn new(plan: &Plan) -> Self {
        let seat = |rule: &crate::plan::RulePlan| rules::Seat {
            name: rule.name.clone(),
            severity: rule.severity,
            reasons: rule.reasons.clone(),
        };
        let seats: Vec<_> = plan.rules.iter().map(seat).collect();
        let tally = Tally::new(&seats);
        let read = Arc::new(AtomicU64::new(0));
        Self {
            read,
            filtered: 0,
            rejected: 0,
            dropped: 0,
            quarantined: 0,
            main: 0,
            seats,
            tally,
            stopped: false,
        }
    }

    /// Rows that went in are rows that came out, wherever they went; every rule judged or skipped every row.
    fn close(&self, plan: &Plan) -> Result<(), RunError> {
        let judged = self.main + self.dropped + self.quarantined;
        let read = self.read.load(Ordering::Relaxed);
        let out = judged + self.filtered + self.rejected;
        if plan.steps.iter().all(|step| step.row_effect != RowEffect::Many) && read != out {
            return Err(RunError::Books(format!("{read} rows were read, {out} are accounted for")));
        }
        for rule in self.tally.rules() {
            for reason in &rule.reasons {
                let counted = reason.counts.passed + reason.counts.failed + reason.counts.skipped;
                if counted != judged {
                    let what = format!(
                        "rule `{}`, reason `{}`: {counted} rows counted of {judged}",
                        rule.name, reason.code
                    );
                    return Err(RunError::Books(what));
                }
            }
        }
        Ok(())
    }

    fn record(&self, record: &mut Record) {
        record.rows_read = self.read.load(Ordering::Relaxed);
        record.rows_filtered = self.filtered;
        record.rows_rejected = self.rejected;
        record.rows_dropped = self.dropped;
        record.rows_quarantined = self.quarantined;
        record.rows_main = self.main;
        record.rules = self.tally.rules().to_vec();
    }
}
