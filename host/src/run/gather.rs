//! All reading that the decision needs, done before it: the source's files and schema, components described and opened,
//! what is at each destination. Nothing is written.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::runtime::Handle;

use crate::component::Limits;
use crate::evidence::DestinationRecord;
use crate::evidence::Folder;
use crate::evidence::Status;
use crate::flow::Destination;
use crate::flow::Flow;
use crate::flow::Judge;
use crate::name::DestinationName;
use crate::plan::facts::Facts;
use crate::plan::facts::FilterFacts;
use crate::plan::facts::SourceFacts;
use crate::plan::facts::Stock;
use crate::plan::quarantine;
use crate::run::READ_ROWS;
use crate::run::asked::Asking;
use crate::run::asked::asked;
use crate::run::collect::Collected;
use crate::run::error::RunError;
use crate::run::live::LiveChain;
use crate::run::loading;
use crate::run::opening::Opening;
use crate::run::world::World;
use crate::sandbox::Context;
use crate::sandbox::Reference;
use crate::source::Discovered;
use crate::source::Known;
use crate::source::Queried;
use crate::source::Rows;
use crate::source::SourceError;
use crate::storage::address::Address;
use crate::storage::target;
use crate::storage::target::TargetFacts;
use crate::table::RunId;

/// The facts, and the live things that were needed to learn them.
pub(super) struct Gathered {
    pub(super) facts: Facts,
    pub(super) main: Arc<LiveChain>,
    /// Each destination's own chain, in the flow's order.
    pub(super) chains: Vec<Arc<LiveChain>>,
    pub(super) source: Known,
    pub(super) before: Before,
    /// The queries of other sources.
    pub(super) asked: Vec<Asking>,
}

/// Rows of the last run that succeeded, for rules that compare.
#[derive(Debug, Default)]
pub(super) struct Before {
    pub(super) main: Option<u64>,
    pub(super) destinations: BTreeMap<DestinationName, u64>,
}

/// Gathers. Blocking: it compiles and reads files.
pub(super) fn gather(flow: &Flow, world: World, context: &Context) -> Result<Gathered, RunError> {
    let limits = Limits::effective(&flow.limits);
    // Components and the source do not depend on each other: the problems of both are reported.
    let loaded = loading::load(flow, world, &limits);
    let discovered = Rows::discover(&flow.source);
    let (loaded, source) = match (loaded, discovered) {
        (Ok(loaded), Ok(source)) => (loaded, source),
        (Err(RunError::Problems(mut problems)), Err(SourceError::Problems(more))) => {
            problems.extend(more);
            return Err(RunError::Problems(problems));
        }
        (Err(error), _) => return Err(error),
        (_, Err(SourceError::Problems(problems))) => return Err(RunError::Problems(problems)),
        (_, Err(error)) => return Err(error.into()),
    };
    let others = flow.other_sources.iter().map(|other| {
        // Each instance reads them anew.
        Rows::discover(other).map(Known::shared).map_err(discovery)
    });
    let others = others.collect::<Result<Vec<_>, _>>()?;
    let batch_rows =
        usize::try_from(limits.batch_rows).map_or(READ_ROWS, |rows| rows.min(READ_ROWS));
    let (mut references, mut asking) = (Vec::new(), Vec::new());
    for (other, source) in others.iter().zip(&flow.other_sources) {
        let whole = reference(other, batch_rows);
        references.push(match &source.query {
            Some(query) => {
                let (asked, by) = asked(whole, query, loaded.sql.as_ref(), context)?;
                asking.push(by);
                asked
            }
            None => whole,
        });
    }
    let names: Vec<String> = others.iter().map(|other| other.name().to_owned()).collect();
    let opening = Opening {
        loaded: &loaded.components,
        sql: loaded.sql.as_ref(),
        rules: loaded.rules.as_ref(),
        others: &references,
        names: &names,
        context,
    };
    let (main, live) = opening.chain(
        (&flow.transforms, &flow.rules),
        source.schema(),
        None,
        "",
        Collected::default(),
    )?;
    let mut chains = Vec::new();
    let mut problems = Vec::new();
    for to in &flow.destinations {
        let own = (to.transforms.as_slice(), to.rules.as_slice());
        let prefix = format!("{}.", to.at.field);
        let collected = live.collected.clone();
        match opening.chain(own, &main.output, Some(to.name.as_str()), &prefix, collected) {
            Ok(chain) => chains.push(chain),
            Err(RunError::Problems(more)) => problems.extend(more),
            Err(error) => return Err(error),
        }
    }
    if !problems.is_empty() {
        return Err(RunError::Problems(problems));
    }
    let (chain_facts, chains): (Vec<_>, Vec<_>) = chains.into_iter().unzip();
    let run_id = &context.run_id;
    let facts = Facts {
        run_id: run_id.clone(),
        source: known(&source),
        others: others
            .iter()
            .zip(&references)
            // Their columns are those of their queries.
            .map(|(other, asked)| SourceFacts { schema: Arc::clone(&asked.schema), ..known(other) })
            .collect(),
        main,
        chains: chain_facts,
        targets: flow.destinations.iter().map(inspect).collect::<Result<_, _>>()?,
        quarantine: inspect(&quarantine::destination(flow, run_id))?,
        limits,
    };
    let chains = chains.into_iter().map(Arc::new).collect();
    let (main, before) = (Arc::new(live), before(flow, run_id)?);
    Ok(Gathered { facts, main, chains, source, before, asked: asking })
}

fn known(source: &Known) -> SourceFacts {
    let (stock, files_skipped) = match source {
        Known::Files(Discovered { files, files_skipped, version, .. }) => {
            (Stock::Files { files: files.clone(), version: *version }, *files_skipped)
        }
        Known::Query(Queried { described, .. }) => (Stock::Query(described.rows.clone()), 0),
    };
    let filter = source.is_filtered().then(|| FilterFacts {
        reads: source.filter_reads().into_iter().map(|field| field.name().clone()).collect(),
        files_skipped,
        asked: source.asked().map(str::to_owned),
    });
    SourceFacts { stock, schema: Arc::clone(source.schema()), filter }
}

fn discovery(error: SourceError) -> RunError {
    match error {
        SourceError::Problems(problems) => RunError::Problems(problems),
        error => error.into(),
    }
}

/// Another source as components are given it: read from its beginning each time.
fn reference(source: &Known, batch_rows: usize) -> Reference {
    let discovered = source.clone();
    Reference {
        name: source.name().to_owned(),
        schema: Arc::clone(source.schema()),
        open: Arc::new(move || {
            let mut rows = Rows::open(discovered.clone(), batch_rows);
            let next = move || rows.next_batch().transpose();
            Box::new(std::iter::from_fn(next).map(|batch| Ok(batch.map_err(Box::new)?.rows)))
        }),
    }
}

/// Looks the last run up, where a rule asks for it.
fn before(flow: &Flow, run_id: &RunId) -> Result<Before, RunError> {
    let mut rules = flow.rules.iter().chain(flow.destinations.iter().flat_map(|to| &to.rules));
    if !rules.any(|rule| matches!(rule.judge, Judge::RowCountChange { .. })) {
        return Ok(Before::default());
    }
    let records = Folder::of(&flow.state).list(&flow.name).map_err(RunError::Evidence)?;
    let mut before = Before::default();
    // What cannot be read is no run to compare with; `wasmhost runs` tells of it.
    for record in records.into_iter().flatten() {
        let counts = matches!(record.status, Status::Succeeded | Status::NothingToDo);
        if counts && record.run_id != *run_id {
            // Rows as the rules saw them.
            before.main = Some(record.rows_main + record.rows_dropped + record.rows_quarantined);
            let judged = |to: DestinationRecord| {
                let rows = to.rows_final + to.rows_dropped + to.rows_quarantined;
                (to.name, rows)
            };
            let rows = record.destinations.into_iter().map(judged);
            before.destinations.extend(rows);
        }
    }
    Ok(before)
}

/// What is at a destination now. Runs on a thread of the run's runtime that may block.
fn inspect(to: &Destination) -> Result<TargetFacts, RunError> {
    Ok(Handle::current().block_on(target::inspect(&Address::open(&to.path)?, &to.format))?)
}
