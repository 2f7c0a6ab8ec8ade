//! The decision: a flow and facts become a plan, or all problems. Pure: the same input gives the same plan, byte for byte.

use std::sync::Arc;

use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use serde_json::Value;

use crate::component::ColumnSource;
use crate::component::OpenedTransform;
use crate::component::Statefulness;
use crate::flow::Destination;
use crate::flow::Flow;
use crate::flow::Rule;
use crate::name::ComponentName;
use crate::plan::DestinationPlan;
use crate::plan::FilePlan;
use crate::plan::Plan;
use crate::plan::QuarantinePlan;
use crate::plan::RulePlan;
use crate::plan::SourcePlan;
use crate::plan::StepPlan;
use crate::plan::TargetState;
use crate::plan::derived;
use crate::plan::facts::ComponentFacts;
use crate::plan::facts::Facts;
use crate::plan::layout;
use crate::plan::quarantine;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::problem::known_names;
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
    let steps = flow.transforms.iter().filter_map(|step| step.work.component()).zip(&facts.steps);
    let steps: Vec<_> = steps.scan(Arc::clone(&facts.schema), step).collect();
    let main = facts.steps.last().map_or(&facts.schema, |last| &last.opened.output);
    let rules: Vec<_> = flow
        .rules
        .iter()
        .filter_map(|rule| Some((rule, rule.judge.component()?)))
        .zip(&facts.rules)
        .map(|((rule, by), facts)| judge(rule, by, facts, main, &mut problems))
        .collect();
    let destinations = flow.destinations.iter().zip(&facts.targets);
    let destinations: Vec<_> = destinations
        .filter_map(|(to, target)| destination(to, target, main, &mut problems))
        .collect();
    let quarantine = set_apart(flow, facts, &steps, &rules, main, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Plan {
        flow: flow.name.clone(),
        flow_digest: flow.digest.clone(),
        source: SourcePlan {
            name: flow.source.name.clone(),
            path: flow.source.path.clone(),
            format: flow.source.format.name(),
            files: facts
                .files
                .iter()
                .map(|file| FilePlan { path: file.path.clone(), bytes: file.size })
                .collect(),
            schema: Arc::clone(&facts.schema),
        },
        steps,
        main: Arc::clone(main),
        rules,
        quarantine,
        destinations,
        limits: facts.limits.clone(),
    })
}

#[expect(clippy::unnecessary_wraps, reason = "the shape that `scan` takes")]
fn step(
    input: &mut SchemaRef,
    ((component, config), facts): ((&ComponentName, &Value), &ComponentFacts<OpenedTransform>),
) -> Option<StepPlan> {
    let ComponentFacts { digest, descriptor, opened } = facts;
    let carried = opened
        .layout
        .iter()
        .zip(opened.output.fields())
        .filter(|(from, _)| matches!(from, ColumnSource::Input(_)));
    let plan = StepPlan {
        component: component.to_string(),
        digest: digest.clone(),
        described_as: format!("{} {}", descriptor.name, descriptor.version),
        config: config.clone(),
        row_effect: opened.row_effect,
        statefulness: opened.statefulness.clone(),
        enters: names_at(input, &opened.projection),
        computes: opened.computed.fields().iter().map(|field| field.name().clone()).collect(),
        carries: carried.map(|(_, field)| field.name().clone()).collect(),
        reasons: opened.reasons.clone(),
        input: Arc::clone(input),
    };
    *input = Arc::clone(&opened.output);
    Some(plan)
}

fn judge(
    rule: &Rule,
    (component, config): (&ComponentName, &Value),
    facts: &ComponentFacts<crate::component::OpenedRule>,
    main: &SchemaRef,
    problems: &mut Vec<Problem>,
) -> RulePlan {
    let ComponentFacts { digest, descriptor, opened } = facts;
    if rule.severity.removes_rows() && opened.statefulness != Statefulness::Stateless {
        let what = format!(
            "rule `{}`: component `{}` judges rows only when it has seen them all; with severity drop or quarantine that is not offered yet",
            rule.name, component
        );
        let hint = "use severity fail or warn, or a rule that judges each row by itself";
        problems.push(Problem::new(Code::NotOffered, rule.at.clone(), what).hint(hint));
    }
    RulePlan {
        name: rule.name.clone(),
        component: component.to_string(),
        digest: digest.clone(),
        described_as: format!("{} {}", descriptor.name, descriptor.version),
        config: config.clone(),
        severity: rule.severity,
        statefulness: opened.statefulness.clone(),
        enters: names_at(main, &opened.projection),
        reasons: opened.reasons.clone(),
    }
}

/// The final columns of a destination, and what does not fit its target.
fn destination(
    destination: &Destination,
    target: &TargetFacts,
    main: &SchemaRef,
    problems: &mut Vec<Problem>,
) -> Option<DestinationPlan> {
    let before = problems.len();
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
    let Destination { format, load, partition_columns, at, .. } = destination;
    let names: Vec<_> = partition_columns.iter().map(|column| column.column.clone()).collect();
    let change = strategy::change(load, &schema, partition_columns, at)
        .map_err(|more| problems.extend(more))
        .ok()?;
    let ask = Ask {
        format,
        schema: &schema,
        partition_columns: &names,
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
        projection,
        schema,
        partition_columns: partition_columns.clone(),
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
    steps: &[StepPlan],
    rules: &[RulePlan],
    main: &SchemaRef,
    problems: &mut Vec<Problem>,
) -> Option<QuarantinePlan> {
    let rejecting =
        steps.iter().filter(|step| !step.reasons.is_empty()).map(|step| Arc::clone(&step.input));
    let quarantining =
        rules.iter().any(|rule| rule.severity == Severity::Quarantine).then(|| Arc::clone(main));
    let stages: Vec<_> = rejecting.chain(quarantining).collect();
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
        change: &TableChange::Append {},
        schema_change: to.schema_change,
    };
    problems.extend(fit(&facts.quarantine, &ask, at).err().into_iter().flatten());
    Some(QuarantinePlan { path: to.path, format: to.format, schema })
}

fn names_at(schema: &Schema, positions: &[usize]) -> Vec<String> {
    positions.iter().map(|at| schema.field(*at).name().clone()).collect()
}

pub(super) fn inside(at: &Place, field: &str) -> Place {
    Place { field: format!("{}.{field}", at.field), ..at.clone() }
}
