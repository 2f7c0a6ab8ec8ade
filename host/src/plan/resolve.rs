//! The decision: a flow and facts become a plan, or all problems. Pure: the same input gives the same plan, byte for byte.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;

use crate::flow::Destination;
use crate::flow::Flow;
use crate::flow::Source;
use crate::flow::Work;
use crate::plan::ChainPlan;
use crate::plan::DestinationPlan;
use crate::plan::FilePlan;
use crate::plan::FilterPlan;
use crate::plan::Plan;
use crate::plan::QuarantinePlan;
use crate::plan::SourcePlan;
use crate::plan::StagePlan;
use crate::plan::StockPlan;
use crate::plan::TargetState;
use crate::plan::chain::chain;
use crate::plan::derived;
use crate::plan::facts::ChainFacts;
use crate::plan::facts::Facts;
use crate::plan::facts::SourceFacts;
use crate::plan::facts::Stock;
use crate::plan::layout;
use crate::plan::quarantine;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::problem::known_names;
use crate::storage::listing::SourceFile;
use crate::storage::target;
use crate::storage::target::Ask;
use crate::storage::target::TargetFacts;
use crate::storage::target::fit;
use crate::strategy;
use crate::table::Severity;
use crate::table::TableChange;

/// Decides.
///
/// # Errors
/// Every problem of the flow against the facts, in the flow's order.
pub fn resolve(flow: &Flow, facts: &Facts) -> Result<Plan, Vec<Problem>> {
    let mut problems = Vec::new();
    let others: Vec<String> = flow.other_sources.iter().map(|source| source.name.clone()).collect();
    let main =
        chain("transforms", (&flow.transforms, &flow.rules), &others, &facts.main, &mut problems);
    let destinations = flow.destinations.iter().zip(&facts.chains).zip(&facts.targets);
    let destinations: Vec<_> = destinations
        .filter_map(|((to, chain), target)| destination(to, &others, chain, target, &mut problems))
        .collect();
    let quarantine =
        main.as_ref().and_then(|main| set_apart(flow, facts, main, &destinations, &mut problems));
    let Some(main) = main.filter(|_| problems.is_empty()) else { return Err(problems) };
    Ok(Plan {
        flow: flow.name.clone(),
        flow_digest: flow.digest.clone(),
        source: source(&flow.source, &facts.source, Some(&facts.main.reads())),
        other_sources: flow
            .other_sources
            .iter()
            .zip(&facts.others)
            .map(|(other, facts)| source(other, facts, None))
            .collect(),
        main,
        max_quarantine_fraction: flow.max_quarantine_fraction,
        quarantine,
        destinations,
        limits: facts.limits.clone(),
    })
}

fn source(
    source: &Source,
    facts: &SourceFacts,
    reads_of_chain: Option<&BTreeSet<usize>>,
) -> SourcePlan {
    let SourceFacts { stock, schema, filter } = facts;
    let is_filtered = |at: usize| {
        filter.as_ref().is_some_and(|filter| filter.reads.contains(schema.field(at).name()))
    };
    let is_read =
        |at: &usize| reads_of_chain.is_none_or(|reads| reads.contains(at)) || is_filtered(*at);
    let reads = (0..schema.fields().len()).filter(is_read);
    let file = |file: &SourceFile| FilePlan { path: file.path.clone(), bytes: file.size };
    SourcePlan {
        name: source.name.clone(),
        path: source.path.clone(),
        format: source.format.name(),
        stock: match stock {
            Stock::Files { files, version } => {
                StockPlan::Files { files: files.iter().map(file).collect(), version: *version }
            }
            Stock::Query(rows) => StockPlan::Rows(rows.clone()),
        },
        filter: source.filter.as_ref().zip(filter.as_ref()).map(|(sql, facts)| FilterPlan {
            sql: sql.clone(),
            files_skipped: facts.files_skipped,
            asked: facts.asked.clone(),
        }),
        // The main chain has its own as a step.
        query: reads_of_chain.is_none().then(|| query_of(source)).flatten(),
        schema: Arc::clone(schema),
        reads: reads.map(|at| schema.field(at).name().clone()).collect(),
    }
}

fn query_of(source: &Source) -> Option<String> {
    match &source.query.as_ref()?.work {
        Work::Query { query } => Some(query.clone()),
        _ => None,
    }
}

/// The final columns of a destination, and what does not fit its target.
fn destination(
    destination: &Destination,
    others: &[String],
    facts: &ChainFacts,
    target: &TargetFacts,
    problems: &mut Vec<Problem>,
) -> Option<DestinationPlan> {
    let before = problems.len();
    let label = format!("{}.transforms", destination.at.field);
    let own = (destination.transforms.as_slice(), destination.rules.as_slice());
    let chain = chain(&label, own, others, facts, problems)?;
    let main = &chain.output;
    let known = || main.fields().iter().map(|field| field.name().as_str());
    let projection = match &destination.columns {
        None => (0..main.fields().len()).collect(),
        Some(columns) => {
            let found = columns.iter().filter_map(|column| {
                let position = main.index_of(column.as_str()).ok();
                if position.is_none() {
                    let what = format!("`columns` names `{column}`, which the rows do not have");
                    let at = inside(&destination.at, "columns");
                    problems.push(
                        Problem::new(Code::UnknownName, at, what)
                            .hint(known_names(column.as_str(), known())),
                    );
                }
                position
            });
            found.collect::<Vec<_>>()
        }
    };
    if problems.len() > before {
        return None;
    }
    let projected = main.project(&projection).map(Arc::new);
    let schema = derived::schema(&projected.ok()?, &destination.partition_columns, &destination.at)
        .map_err(|more| problems.extend(more))
        .ok()?;
    for field in schema.fields().iter().filter(|field| field.data_type().is_null()) {
        let what = format!("column `{}` is NULL in each row, so it has no type", field.name());
        let hint = "give it one: CAST(NULL AS TEXT)";
        problems.push(Problem::new(Code::Schema, destination.at.clone(), what).hint(hint));
    }
    let Destination { format, load, partition_columns, at, .. } = destination;
    let names: Vec<_> = partition_columns.iter().map(|column| column.column.clone()).collect();
    let change = strategy::change(load, &schema, partition_columns, at)
        .map_err(|more| problems.extend(more))
        .ok()?;
    let ask = Ask {
        format,
        schema: &schema,
        partition_columns: &names,
        date_folders: destination.by_date.folders(),
        change: &change,
        schema_change: destination.schema_change,
    };
    match fit(target, &ask, at) {
        Ok(landing) => problems.extend(layout::problems(&destination.layout, &landing.table, at)),
        Err(more) => problems.extend(more),
    }
    (problems.len() == before).then(|| DestinationPlan {
        name: destination.name.clone(),
        path: destination.path.clone(),
        format: destination.format.clone(),
        load: load.clone(),
        change,
        chain,
        projection,
        schema,
        partition_columns: partition_columns.clone(),
        by_date: destination.by_date.clone(),
        schema_change: destination.schema_change,
        layout: destination.layout.clone(),
        table_properties: destination.table_properties.clone(),
        target: match &target.state {
            target::TargetState::Absent => TargetState::New,
            target::TargetState::Table(table) => TargetState::Exists(Some(table.version)),
            target::TargetState::Folder(_) | target::TargetState::Unusable { .. } => {
                TargetState::Exists(None)
            }
        },
    })
}

fn set_apart(
    flow: &Flow,
    facts: &Facts,
    main: &ChainPlan,
    destinations: &[DestinationPlan],
    problems: &mut Vec<Problem>,
) -> Option<QuarantinePlan> {
    let chains = std::iter::once(main).chain(destinations.iter().map(|to| &to.chain));
    let stages: Vec<_> = chains.flat_map(setting_apart).collect();
    if stages.is_empty() {
        return None;
    }
    let schema = quarantine::schema(&stages);
    let to = quarantine::destination(flow, &facts.run_id);
    let Destination { format, at, .. } = &to;
    let ask = Ask {
        format,
        schema: &schema,
        partition_columns: &[],
        date_folders: to.by_date.folders(),
        change: &TableChange::Append {},
        schema_change: to.schema_change,
    };
    problems.extend(fit(&facts.quarantine, &ask, at).err().into_iter().flatten());
    let date_folders = to.by_date.folders().cloned();
    Some(QuarantinePlan { path: to.path, format: to.format, date_folders, schema })
}

/// The rows of a chain that may be set apart, as they are then.
fn setting_apart(chain: &ChainPlan) -> Vec<SchemaRef> {
    let rejecting = chain.stages.iter().filter_map(|stage| match stage {
        StagePlan::Component(step) if !step.reasons.is_empty() => Some(Arc::clone(&step.input)),
        StagePlan::Component(_)
        | StagePlan::Deduplicate(_)
        | StagePlan::Sort(_)
        | StagePlan::Collect(_) => None,
    });
    let quarantining = chain.rules.iter().any(|rule| rule.severity == Severity::Quarantine);
    rejecting.chain(quarantining.then(|| Arc::clone(&chain.output))).collect()
}

pub(super) fn inside(at: &Place, field: &str) -> Place {
    Place { field: format!("{}.{field}", at.field), ..at.clone() }
}
