//! A chain of the flow and its facts as what will happen.

use std::sync::Arc;

use arrow::datatypes::Schema;
use serde_json::Value;

use crate::component::ColumnSource;
use crate::component::OpenedRule;
use crate::component::OpenedTransform;
use crate::component::Reason;
use crate::flow::Rule;
use crate::flow::Step;
use crate::flow::with_collected;
use crate::plan::ChainPlan;
use crate::plan::CollectPlan;
use crate::plan::DeduplicatePlan;
use crate::plan::PassPlan;
use crate::plan::RulePlan;
use crate::plan::SortPlan;
use crate::plan::StagePlan;
use crate::plan::StepPlan;
use crate::plan::facts::ChainFacts;
use crate::plan::facts::ComponentFacts;
use crate::plan::judging::Bench;
use crate::plan::judging::Judging;
use crate::plan::judging::judging;
use crate::plan::stages::Stage;
use crate::plan::stages::stages;
use crate::problem::Problem;

/// A chain, decided. Its steps are called by `label`, such as `transforms`; `others` are the sources that they may name.
pub(super) fn chain(
    label: &str,
    (steps, rules): (&[Step], &[Rule]),
    others: &[String],
    facts: &ChainFacts,
    problems: &mut Vec<Problem>,
) -> Option<ChainPlan> {
    let arranged = judging(rules, &facts.output).map_err(|more| problems.extend(more)).ok()?;
    let passes = arranged.benches.iter().zip(&facts.passes);
    let judged = facts.conditions.as_ref().map_or(&facts.output, |facts| &facts.opened.output);
    Some(ChainPlan {
        stages: planned(label, steps, others, facts),
        output: Arc::clone(&facts.output),
        rules: reasons(&arranged, facts)
            .into_iter()
            .zip(rules)
            .map(|(reasons, rule)| RulePlan {
                name: rule.name.clone(),
                judge: rule.judge.type_name(),
                severity: rule.severity,
                filter: rule.filter.clone(),
                reasons,
            })
            .collect(),
        passes: passes.map(|(bench, facts)| pass(bench, facts, rules, judged)).collect(),
    })
}

/// The reasons of each rule, whoever declares them.
#[must_use]
pub fn reasons(arranged: &Judging<'_>, facts: &ChainFacts) -> Vec<Vec<Reason>> {
    let mut reasons = arranged.reasons.clone();
    for (bench, pass) in arranged.benches.iter().zip(&facts.passes) {
        if bench.component.is_some() {
            reasons[bench.rule].clone_from(&pass.opened.reasons);
        }
    }
    reasons
}

fn planned(label: &str, steps: &[Step], others: &[String], facts: &ChainFacts) -> Vec<StagePlan> {
    let mut input = Arc::clone(&facts.input);
    let mut sandboxed = |label,
                         steps,
                         others,
                         config: &Value,
                         facts: &ComponentFacts<OpenedTransform>,
                         name| {
        let ComponentFacts { digest, descriptor, opened } = facts;
        let carried = opened
            .layout
            .iter()
            .zip(opened.output.fields())
            .filter(|(from, _)| matches!(from, ColumnSource::Input(_)));
        let plan = StepPlan {
            label,
            steps,
            others,
            component: name,
            digest: digest.clone(),
            described_as: descriptor.described_as(),
            // As the flow spells it: nobody knows the values yet.
            config: with_collected(config, &|name| Some(format!("{{{{ {name} }}}}"))),
            row_effect: opened.row_effect,
            statefulness: opened.statefulness.clone(),
            enters: names_at(&input, &opened.projection),
            computes: opened.computed.fields().iter().map(|field| field.name().clone()).collect(),
            carries: carried.map(|(_, field)| field.name().clone()).collect(),
            reasons: opened.reasons.clone(),
            input: Arc::clone(&input),
        };
        input = Arc::clone(&opened.output);
        StagePlan::Component(Box::new(plan))
    };
    let stages = stages(steps, others).into_iter().zip(&facts.stages);
    stages
        .map(|(stage, facts)| (stage.label(label, steps), stage, facts))
        .filter_map(|(label, stage, facts)| match (stage, facts) {
            (Stage::Deduplicate { keys, order_by, .. }, _) => {
                Some(StagePlan::Deduplicate(DeduplicatePlan {
                    label,
                    keys: keys.to_vec(),
                    order_by: order_by.to_vec(),
                }))
            }
            (Stage::Sort { by, .. }, _) => {
                Some(StagePlan::Sort(SortPlan { label, by: by.to_vec() }))
            }
            (Stage::Collect { column, name, max_values, .. }, _) => {
                let (column, name) = (column.clone(), name.to_owned());
                Some(StagePlan::Collect(CollectPlan { label, column, name, max_values }))
            }
            (Stage::Component { component, config, .. }, Some(facts)) => Some(sandboxed(
                label,
                vec!["component"],
                Vec::new(),
                config,
                facts,
                component.to_string(),
            )),
            (Stage::Sql { at, config, others }, Some(facts)) => {
                let names = at.iter().map(|at| steps[*at].work.type_name()).collect();
                let others = others.into_iter().map(str::to_owned).collect();
                Some(sandboxed(label, names, others, &config, facts, "std:sql".to_owned()))
            }
            // Only the host's own stages have no component.
            (Stage::Component { .. } | Stage::Sql { .. }, None) => None,
        })
        .collect()
}

fn pass(
    bench: &Bench<'_>,
    facts: &ComponentFacts<OpenedRule>,
    rules: &[Rule],
    judged: &Schema,
) -> PassPlan {
    let mut names: Vec<String> = match bench.seats.as_slice() {
        [] => vec![rules[bench.rule].name.clone()],
        seats => seats.iter().map(|(rule, _)| rules[*rule].name.clone()).collect(),
    };
    names.dedup();
    let ComponentFacts { digest, descriptor, opened } = facts;
    PassPlan {
        rules: names,
        component: bench.component.map_or_else(|| "std:rules".to_owned(), ToString::to_string),
        digest: digest.clone(),
        described_as: descriptor.described_as(),
        config: bench.config.clone(),
        statefulness: opened.statefulness.clone(),
        enters: names_at(judged, &opened.projection),
    }
}

fn names_at(schema: &Schema, positions: &[usize]) -> Vec<String> {
    positions.iter().map(|at| schema.field(*at).name().clone()).collect()
}
