//! All reading that the decision needs, done before it: the source's files and schema, components described and opened,
//! what is at each destination. Nothing is written.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use serde_json::Value;
use tokio::runtime::Handle;

use crate::component::Component;
use crate::component::Descriptor;
use crate::component::Kind;
use crate::component::Limits;
use crate::component::admit::admit;
use crate::component::config;
use crate::flow::Destination;
use crate::flow::Flow;
use crate::name::ComponentName;
use crate::plan::facts::ComponentFacts;
use crate::plan::facts::Facts;
use crate::plan::quarantine;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::run::error::RunError;
use crate::run::offered;
use crate::run::world::World;
use crate::sandbox::Breach;
use crate::sandbox::Cache;
use crate::sandbox::Compiled;
use crate::sandbox::Context;
use crate::sandbox::Engine;
use crate::sandbox::RulePool;
use crate::sandbox::SandboxError;
use crate::sandbox::TransformPool;
use crate::source::Discovered;
use crate::source::Files;
use crate::source::SourceError;
use crate::storage::target;
use crate::storage::target::TargetFacts;

/// The facts, and the live things that were needed to learn them.
pub(super) struct Gathered {
    pub(super) facts: Facts,
    pub(super) steps: Vec<Arc<TransformPool>>,
    pub(super) rules: Vec<Arc<RulePool>>,
    pub(super) source: Discovered,
}

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

/// Gathers. Blocking: it compiles and reads files.
pub(super) fn gather(flow: &Flow, world: World, context: &Context) -> Result<Gathered, RunError> {
    let limits = Limits::effective(&flow.limits);
    // Components and the source do not depend on each other: the problems of both are reported.
    let loaded = load(flow, world, &limits);
    let discovered = Files::discover(&flow.source);
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
    let mut schema = Arc::clone(&source.schema);
    let mut steps = Vec::new();
    let mut step_facts = Vec::new();
    for step in steps_of(flow) {
        let known = &loaded[step.component];
        let pool = TransformPool::open(&known.compiled, context, step.config, &schema)
            .map_err(|error| refusal(error, step))?;
        schema = Arc::clone(&pool.opened().output);
        step_facts.push(facts(known, pool.opened().clone()));
        steps.push(Arc::new(pool));
    }
    let rules = open_rules(flow, &loaded, context, &schema)?;
    let rule_facts = rules_of(flow)
        .zip(&rules)
        .map(|(rule, pool)| facts(&loaded[rule.component], pool.opened().clone()));
    let run_id = &context.run_id;
    let facts = Facts {
        run_id: run_id.clone(),
        files: source.files.clone(),
        schema: Arc::clone(&source.schema),
        steps: step_facts,
        rules: rule_facts.collect(),
        targets: flow.destinations.iter().map(inspect).collect::<Result<_, _>>()?,
        quarantine: inspect(&quarantine::destination(flow, run_id))?,
        limits,
    };
    Ok(Gathered { facts, steps, rules, source })
}

/// What is at a destination now. Runs on a thread of the run's runtime that may block.
fn inspect(to: &Destination) -> Result<TargetFacts, RunError> {
    Ok(Handle::current().block_on(target::inspect(&to.path, &to.format))?)
}

/// Every rule refuses its configuration or schema by itself, so all refusals are reported together.
fn open_rules(
    flow: &Flow,
    loaded: &BTreeMap<ComponentName, Loaded>,
    context: &Context,
    schema: &SchemaRef,
) -> Result<Vec<Arc<RulePool>>, RunError> {
    let mut pools = Vec::new();
    let mut problems = Vec::new();
    for rule in rules_of(flow) {
        match RulePool::open(&loaded[rule.component].compiled, context, rule.config, schema) {
            Ok(pool) => pools.push(Arc::new(pool)),
            Err(error) => match refusal(error, rule) {
                RunError::Problems(more) => problems.extend(more),
                other => return Err(other),
            },
        }
    }
    if problems.is_empty() { Ok(pools) } else { Err(RunError::Problems(problems)) }
}

/// Compiles and describes every component that the flow uses, and holds each step's configuration against its schema.
pub(super) fn load(
    flow: &Flow,
    world: World,
    limits: &Limits,
) -> Result<BTreeMap<ComponentName, Loaded>, RunError> {
    offered::check(flow).map_err(RunError::Problems)?;
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
    if problems.is_empty() { Ok(loaded) } else { Err(RunError::Problems(problems)) }
}

fn steps_of(flow: &Flow) -> impl Iterator<Item = Use<'_>> {
    flow.transforms.iter().filter_map(|step| {
        let (component, config) = step.work.component()?;
        Some(Use { component, config, at: &step.at })
    })
}

fn rules_of(flow: &Flow) -> impl Iterator<Item = Use<'_>> {
    flow.rules.iter().filter_map(|rule| {
        let (component, config) = rule.judge.component()?;
        Some(Use { component, config, at: &rule.at })
    })
}

fn describe(
    engine: &Engine,
    component: Component,
    limits: &Arc<Limits>,
) -> Result<Loaded, SandboxError> {
    let compiled = engine.compile(component, Arc::clone(limits))?;
    let descriptor = compiled.describe()?;
    Ok(Loaded { compiled, descriptor })
}

fn facts<O>(known: &Loaded, opened: O) -> ComponentFacts<O> {
    let digest = known.compiled.component().digest.clone();
    ComponentFacts { digest, descriptor: known.descriptor.clone(), opened }
}

/// A component's refusal as problems of the step that uses it; anything else as the sandbox's error.
fn refusal(error: SandboxError, step: Use<'_>) -> RunError {
    match error.breach {
        Breach::Refused(problems) => {
            RunError::Problems(problems.into_iter().map(|problem| placed(problem, step)).collect())
        }
        Breach::Load(what) => {
            let what = format!("component `{}`: {what}", step.component);
            RunError::Problems(vec![Problem::new(Code::NotAdmitted, step.at.clone(), what)])
        }
        _ => error.into(),
    }
}

fn placed(problem: Problem, step: Use<'_>) -> Problem {
    let field = format!("{}.{}", step.at.field, problem.at.field);
    let what = format!("component `{}` refuses: {}", step.component, problem.what);
    Problem { at: Place { field, ..step.at.clone() }, what, ..problem }
}
