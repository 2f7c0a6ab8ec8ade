//! A look at a flow's rows after each stage. Everything is read and computed as in a run; nothing is written.

use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;

use arrow::array::RecordBatch;
use futures::StreamExt as _;
use futures::stream;

use crate::batch::Batch;
use crate::flow::Flow;
use crate::plan::ChainPlan;
use crate::plan::DestinationPlan;
use crate::plan::StagePlan;
use crate::plan::derived::Derived;
use crate::plan::resolve;
use crate::run::books::Books;
use crate::run::books::ChainBooks;
use crate::run::chain;
use crate::run::chain::Item;
use crate::run::chain::Items;
use crate::run::chain::Room;
use crate::run::chain::Seen;
use crate::run::error::RunError;
use crate::run::gather::Gathered;
use crate::run::live::LiveChain;
use crate::run::recording;
use crate::run::streaming;
use crate::run::streaming::SetApart;
use crate::run::streaming::Way;
use crate::run::streaming::lock;
use crate::run::world::World;
use crate::spool::Spool;
use crate::table::RuleTally;
use crate::table::RunId;

/// The first rows after a stage.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The stage.
    pub stage: String,
    /// The first rows; none where there is no row.
    pub first: Vec<RecordBatch>,
    /// How many rows there are in all.
    pub rows: u64,
    /// What the rules found, of a stage that judges.
    pub rules: Vec<RuleTally>,
}

/// The first `rows` rows after each stage of the flow.
///
/// # Errors
/// As a run, up to where it would write.
pub async fn preview(
    flow: &Arc<Flow>,
    world: World,
    run_id: &RunId,
    rows: usize,
) -> Result<Vec<Shown>, RunError> {
    let record = recording::begin(flow, run_id.clone(), world.now());
    let Gathered { facts, main, chains, source, before, .. } =
        super::gathered(flow, world, &record).await?;
    let plan = resolve(flow, &facts).map_err(RunError::Problems)?;
    let folder = tempfile::tempdir().map_err(crate::storage::StorageError::io(
        Path::new("the system's folder for temporary files"),
        "hold rows in it",
    ))?;
    let room = Room::new(folder.path().to_owned(), &plan.limits);
    let source_rows = crate::source::Rows::open(source, super::READ_ROWS);
    let books = Books::new(&plan, source_rows.passed());
    let looking = Looking { rows, room: &room };
    let titles =
        std::iter::once(format!("source `{}`", plan.source.name)).chain(stage_titles(&plan.main));
    let looks = Looks::new(titles);
    let first = Arc::clone(&looks);
    let items = chain::source(source_rows, move |batch| first.see(0, &batch.rows, rows));
    let mut held = Spool::new(room.folder.clone(), room.memory_max);
    let tally = |books: &Mutex<ChainBooks>| lock(books).tally.rules().to_vec();
    looking
        .walk(items, &plan.main, &main, &books.main, before.main, (&looks, 1), |batch| {
            Ok(held.push(batch, ())?)
        })
        .await?;
    let mut shown = looks.shown();
    shown.extend(result(&mut held, rows, tally(&books.main))?);
    for (at, (to, live)) in plan.destinations.iter().zip(&chains).enumerate() {
        let looks =
            Looks::new(stage_titles(&to.chain).chain([format!("destination `{}`", to.name)]));
        let mut again = Vec::new();
        for batch in held.replay()? {
            again.push(Ok(Item::Rows(None, batch?.0)));
        }
        let last = to.chain.stages.len();
        let final_rows = Arc::clone(&looks);
        looking
            .walk(
                stream::iter(again).boxed(),
                &to.chain,
                live,
                &books.destinations[at],
                before.destinations.get(&to.name).copied(),
                (&looks, 0),
                |batch| {
                    final_rows.see(last, &finished(to, &batch)?, rows);
                    Ok(())
                },
            )
            .await?;
        let mut more = looks.shown();
        if let Some(last) = more.last_mut() {
            last.rules = tally(&books.destinations[at]);
        }
        shown.extend(more);
    }
    Ok(shown)
}

/// How much is looked at.
struct Looking<'a> {
    rows: usize,
    room: &'a Room,
}

impl Looking<'_> {
    #[expect(clippy::too_many_arguments, reason = "a chain, its books, and who looks")]
    async fn walk(
        &self,
        items: Items,
        plan: &ChainPlan,
        live: &LiveChain,
        books: &Arc<Mutex<ChainBooks>>,
        before: Option<u64>,
        (looks, offset): (&Arc<Looks>, usize),
        mut take: impl FnMut(Batch) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let (own, rows) = (Arc::clone(looks), self.rows);
        let seen: Seen = Arc::new(move |stage, batch| own.see(stage + offset, &batch.rows, rows));
        let way = Way {
            plan: plan.clone(),
            prefix: String::new(),
            judges: Arc::clone(&live.judges),
            books: Arc::clone(books),
            quarantine: SetApart::Counted,
            room: self.room.clone(),
            before,
        };
        let mut kept = streaming::kept(items, live, way, &seen);
        while let Some(batch) = kept.next().await {
            take(batch?)?;
        }
        Ok(())
    }
}

/// What was seen so far, a stage an entry.
struct Looks(Mutex<Vec<Shown>>);

impl Looks {
    fn new(titles: impl Iterator<Item = String>) -> Arc<Self> {
        let none = |stage| Shown { stage, first: Vec::new(), rows: 0, rules: Vec::new() };
        Arc::new(Self(Mutex::new(titles.map(none).collect())))
    }

    fn see(&self, stage: usize, rows: &RecordBatch, wanted: usize) {
        if let Some(shown) = lock(&self.0).get_mut(stage) {
            let missing = wanted.saturating_sub(usize::try_from(shown.rows).unwrap_or(usize::MAX));
            if missing > 0 && rows.num_rows() > 0 {
                shown.first.push(rows.slice(0, missing.min(rows.num_rows())));
            }
            shown.rows += rows.num_rows() as u64;
        }
    }

    fn shown(&self) -> Vec<Shown> {
        lock(&self.0).clone()
    }
}

fn stage_titles(chain: &ChainPlan) -> impl Iterator<Item = String> {
    chain.stages.iter().map(|stage| match stage {
        StagePlan::Component(step) if step.component == "std:sql" => {
            format!("{} {}", step.label, step.steps.join(" → "))
        }
        StagePlan::Component(step) => format!("{} `{}`", step.label, step.component),
        StagePlan::Deduplicate(dedup) => format!("{} deduplicate", dedup.label),
        StagePlan::Sort(sort) => format!("{} sort", sort.label),
        StagePlan::Collect(collect) => format!("{} collect `{}`", collect.label, collect.name),
    })
}

/// The main chain's result, after its rules.
fn result(
    held: &mut Spool<()>,
    rows: usize,
    rules: Vec<RuleTally>,
) -> Result<Vec<Shown>, RunError> {
    let looks = Looks::new(std::iter::once("result".to_owned()));
    for batch in held.replay()? {
        looks.see(0, &batch?.0.rows, rows);
    }
    Ok(looks.shown().into_iter().map(|shown| Shown { rules: rules.clone(), ..shown }).collect())
}

/// A destination's final rows, as they would be written.
fn finished(to: &DestinationPlan, batch: &Batch) -> Result<RecordBatch, RunError> {
    let failed = |error: crate::plan::derived::Uncomputed| {
        super::fanout::at(to)(super::fanout::uncomputed(to, error))
    };
    let derived = Derived::new(&to.schema, &to.partition_columns).map_err(failed)?;
    let rows =
        batch.rows.project(&to.projection).map_err(RunError::arrow("a destination's columns"))?;
    derived.add(rows).map_err(failed)
}
