//! Components, compiled and described: those of the flow, and those of the standard library that it needs.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use wasmhost_standard::Standard;

use crate::component::Component;
use crate::component::Descriptor;
use crate::component::Kind;
use crate::component::Limits;
use crate::component::admit::admit;
use crate::component::config;
use crate::flow::Flow;
use crate::flow::Judge;
use crate::flow::Rule;
use crate::flow::Step;
use crate::flow::Work;
use crate::name::ComponentName;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::run::error::RunError;
use crate::run::world::World;
use crate::sandbox::Breach;
use crate::sandbox::Cache;
use crate::sandbox::Compiled;
use crate::sandbox::Engine;
use crate::sandbox::SandboxError;

/// A component at work: a step's, or a rule's.
#[derive(Clone, Copy)]
struct Use<'a> {
    component: &'a ComponentName,
    config: &'a Value,
    at: &'a Place,
}

/// A component that is compiled and described.
pub(super) struct Loaded {
    pub(super) compiled: Compiled,
    pub(super) descriptor: Descriptor,
}

/// What a flow runs on.
pub(super) struct Components {
    pub(super) components: BTreeMap<ComponentName, Loaded>,
    pub(super) sql: Option<Loaded>,
    pub(super) rules: Option<Loaded>,
}

/// Compiles and describes every component that the flow uses, and holds each step's configuration against its schema.
pub(super) fn load(flow: &Flow, world: World, limits: &Limits) -> Result<Components, RunError> {
    let cache = world.code_folder().and_then(|folder| Cache::open(&folder));
    let engine = Engine::new(limits.wasm_stack_bytes, cache).map_err(RunError::Engine)?;
    let limits = Arc::new(limits.clone());
    let mut loaded = BTreeMap::new();
    let mut tried = BTreeSet::new();
    let mut problems = Vec::new();
    let transforms = steps_of(flow).map(|step| (step, Kind::Transform));
    let rules = rules_of(flow).map(|rule| (rule, Kind::Rule));
    let uses: Vec<(Use<'_>, Kind)> = transforms.chain(rules).collect();
    for (step, _) in &uses {
        let name = step.component;
        if !tried.insert(name) {
            continue;
        }
        let Some(source) = flow.components.get(name) else {
            let what = format!("`{name}` is not among the flow's components");
            problems.push(Problem::new(Code::UnknownName, step.at.clone(), what));
            continue;
        };
        match admit(name.as_str(), source, limits.component_bytes) {
            Err(more) => problems.extend(more),
            Ok(component) => match describe(&engine, component, &limits) {
                Ok(known) => drop(loaded.insert(name.clone(), known)),
                Err(SandboxError { breach: Breach::Load(what), .. }) => {
                    let what = format!("component `{name}`: {what}");
                    problems.push(Problem::new(Code::NotAdmitted, source.at.clone(), what));
                }
                Err(error) => return Err(error.into()),
            },
        }
    }
    for (step, due) in uses {
        let Some(known) = loaded.get(step.component) else { continue };
        let is = known.compiled.component().kind;
        if is == due {
            problems.extend(config::check(step.config, &known.descriptor, step.at));
        } else {
            let what = format!(
                "component `{}` is a {}, where a {} is due",
                step.component,
                is.word(),
                due.word()
            );
            problems.push(Problem::new(Code::NotAdmitted, step.at.clone(), what));
        }
    }
    if !problems.is_empty() {
        return Err(RunError::Problems(problems));
    }
    let standard = |is_needed: bool, standard: &Standard, kind| {
        is_needed.then(|| known(engine.standard(standard, kind, Arc::clone(&limits))?)).transpose()
    };
    Ok(Components {
        components: loaded,
        sql: standard(needs_sql(flow), &wasmhost_standard::SQL, Kind::Transform)?,
        rules: standard(needs_rules(flow), &wasmhost_standard::RULES, Kind::Rule)?,
    })
}

/// All steps of a flow: the main chain's, then each destination's own.
fn all_steps(flow: &Flow) -> impl Iterator<Item = &Step> {
    flow.transforms.iter().chain(flow.destinations.iter().flat_map(|to| &to.transforms))
}

/// All rules of a flow, in the same order.
fn all_rules(flow: &Flow) -> impl Iterator<Item = &Rule> {
    flow.rules.iter().chain(flow.destinations.iter().flat_map(|to| &to.rules))
}

fn needs_sql(flow: &Flow) -> bool {
    let by_step = all_steps(flow).any(|step| {
        !matches!(
            step.work,
            Work::Component { .. }
                | Work::Deduplicate { .. }
                | Work::Sort { .. }
                | Work::Collect { .. }
                | Work::Checkpoint {}
        )
    });
    by_step
        || flow.other_sources.iter().any(|source| source.query.is_some())
        || all_rules(flow)
            .any(|rule| rule.filter.is_some() || matches!(rule.judge, Judge::Expression { .. }))
}

fn needs_rules(flow: &Flow) -> bool {
    all_rules(flow).any(|rule| match rule.judge {
        Judge::NotNull { .. }
        | Judge::AcceptedValues { .. }
        | Judge::Range { .. }
        | Judge::Pattern { .. }
        | Judge::Length { .. }
        | Judge::Expression { .. }
        | Judge::Freshness { .. }
        | Judge::Reference { .. } => true,
        Judge::Component { .. }
        | Judge::RequiredColumns { .. }
        | Judge::UniqueKey { .. }
        | Judge::MinRows { .. }
        | Judge::MaxRows { .. }
        | Judge::RowCountChange { .. } => false,
    })
}

fn steps_of(flow: &Flow) -> impl Iterator<Item = Use<'_>> {
    all_steps(flow).filter_map(|step| {
        let (component, config) = step.work.component()?;
        Some(Use { component, config, at: &step.at })
    })
}

fn rules_of(flow: &Flow) -> impl Iterator<Item = Use<'_>> {
    all_rules(flow).filter_map(|rule| {
        let (component, config) = rule.judge.component()?;
        Some(Use { component, config, at: &rule.at })
    })
}

fn describe(
    engine: &Engine,
    component: Component,
    limits: &Arc<Limits>,
) -> Result<Loaded, SandboxError> {
    known(engine.compile(component, Arc::clone(limits))?)
}

fn known(compiled: Compiled) -> Result<Loaded, SandboxError> {
    let descriptor = compiled.describe()?;
    Ok(Loaded { compiled, descriptor })
}
