//! Opening a chain: its components are told what they will be given, and say what they make of it.

mod refusal;
mod rules;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use self::refusal::of_component;
use self::refusal::of_standard;
use self::refusal::unknown;
use crate::flow::Rule;
use crate::flow::Step;
use crate::flow::Work;
use crate::flow::collected_names;
use crate::flow::with_collected;
use crate::name::ComponentName;
use crate::plan::facts::ChainFacts;
use crate::plan::facts::ComponentFacts;
use crate::plan::judging::judging;
use crate::plan::stages::Stage;
use crate::plan::stages::stages;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::run::bound::Bound;
use crate::run::collect::Collected;
use crate::run::collect::FILLED_BYTES_MAX;
use crate::run::dedup::Dedup;
use crate::run::error::RunError;
use crate::run::joined::Joining;
use crate::run::judges::Judges;
use crate::run::live::LiveChain;
use crate::run::live::LiveStage;
use crate::run::live::Working;
use crate::run::loading::Loaded;
use crate::run::sort::Sort;
use crate::sandbox::Compiled;
use crate::sandbox::Context;
use crate::sandbox::Reference;
use crate::sandbox::TransformPool;

/// What every chain of a flow is opened with.
pub(super) struct Opening<'a> {
    pub(super) loaded: &'a BTreeMap<ComponentName, Loaded>,
    /// `std:sql` and `std:rules`, where the flow needs them.
    pub(super) sql: Option<&'a Loaded>,
    pub(super) rules: Option<&'a Loaded>,
    /// The other sources.
    pub(super) others: &'a [Reference],
    /// Their names.
    pub(super) names: &'a [String],
    pub(super) context: &'a Context,
}

impl Opening<'_> {
    /// Opens steps and rules for rows of schema `input`; `destination` is the one that the chain belongs to, if any. `collected` are
    /// values of the chain before it.
    pub(super) fn chain(
        &self,
        (steps, rules): (&[Step], &[Rule]),
        input: &SchemaRef,
        destination: Option<&str>,
        prefix: &str,
        mut collected: Collected,
    ) -> Result<(ChainFacts, LiveChain), RunError> {
        let context = |stage: &str| Context {
            destination: destination.map(str::to_owned),
            // Each stage draws random values of its own.
            seed: self.context.seed ^ xxh3_64(format!("{prefix}{stage}").as_bytes()),
            ..self.context.clone()
        };
        let mut schema = Arc::clone(input);
        let mut facts = Vec::new();
        let mut live = Vec::new();
        for stage in stages(steps, self.names) {
            let label = stage.label(&format!("{prefix}transforms"), steps);
            match stage {
                Stage::Component { at, component, config } => {
                    let known = &self.loaded[component];
                    let pool = TransformPool::open(
                        &known.compiled,
                        &context(&format!("transforms[{at}]")),
                        config,
                        &schema,
                    )
                    .map_err(|error| of_component(error, component, &steps[at].at))?;
                    schema = Arc::clone(&pool.opened().output);
                    facts.push(Some(of(known, pool.opened().clone())));
                    live.push(LiveStage::Component(working(label, known, pool)));
                }
                Stage::Sql { at, config, others } => {
                    let known = standard(self.sql)?;
                    let references = self.named(&others);
                    let joined = references.first().cloned();
                    let first = at.first().copied().unwrap_or_default();
                    let steps_at: Vec<_> = at.iter().map(|at| steps[*at].at.clone()).collect();
                    let is_bound = !collected_names(&config).is_empty();
                    let open = builtin(
                        &known.compiled,
                        context(&format!("transforms[{first}]")),
                        config,
                        (&schema, references),
                        (steps_at, collected.clone()),
                    );
                    let pool = open()?;
                    let joining = match &steps[first].work {
                        Work::Join { on, .. } => {
                            joined.and_then(|other| Joining::new(&schema, &other, on))
                        }
                        _ => None,
                    };
                    schema = Arc::clone(&pool.opened().output);
                    facts.push(Some(of(known, pool.opened().clone())));
                    let working = working(label, known, pool);
                    live.push(match joining {
                        Some(joining) => LiveStage::Join(working, Arc::new(joining)),
                        None if is_bound => {
                            let bound = Bound::new(working, steps[first].at.clone(), open);
                            LiveStage::Bound(Arc::new(bound))
                        }
                        None => LiveStage::Component(working),
                    });
                }
                Stage::Deduplicate { at, keys, order_by } => {
                    let dedup = Dedup::new(&schema, keys, order_by);
                    let dedup = dedup.map_err(unknown(&steps[at].at))?;
                    facts.push(None);
                    live.push(LiveStage::Deduplicate(Arc::new(dedup)));
                }
                Stage::Sort { at, by } => {
                    let sort = Sort::new(&schema, by).map_err(unknown(&steps[at].at))?;
                    facts.push(None);
                    live.push(LiveStage::Sort(Arc::new(sort)));
                }
                Stage::Collect { at, column, name, max_values } => {
                    let collect =
                        collected.collect(&schema, column, name, max_values, &steps[at].at);
                    let collect = collect.map_err(|problem| RunError::Problems(vec![problem]))?;
                    facts.push(None);
                    live.push(LiveStage::Collect(Arc::new(collect)));
                }
            }
        }
        let arranged = judging(rules, &schema).map_err(RunError::Problems)?;
        let label = |name: &str| format!("{prefix}{name}");
        let (conditions, judged) =
            self.conditions(&arranged, rules, &context("rules"), &schema, label("rules"))?;
        let (passes, benches) =
            self.benches(&arranged.benches, rules, &context("rules"), &judged, &label)?;
        let chain = ChainFacts {
            input: Arc::clone(input),
            stages: facts,
            output: schema,
            conditions: conditions.as_ref().map(|(facts, _)| facts.clone()),
            passes,
        };
        let reasons = crate::plan::reasons(&arranged, &chain);
        let conditions = conditions.map(|(_, pool)| pool);
        let judges = Judges::new(&arranged, rules, reasons, &chain.output, conditions, benches)
            .map_err(RunError::arrow("the rules"))?;
        Ok((chain, LiveChain { stages: live, judges: Arc::new(judges), collected }))
    }

    fn named(&self, names: &[&str]) -> Vec<Reference> {
        let find = |name: &&str| self.others.iter().find(|other| other.name == **name).cloned();
        names.iter().filter_map(find).collect()
    }
}

/// How built-in steps are opened: with what is known of collected values by then.
pub(super) fn builtin(
    compiled: &Compiled,
    context: Context,
    config: Value,
    (input, references): (&SchemaRef, Vec<Reference>),
    (steps, collected): (Vec<Place>, Collected),
) -> Box<dyn Fn() -> Result<TransformPool, RunError> + Send + Sync> {
    let (compiled, input) = (compiled.clone(), Arc::clone(input));
    Box::new(move || {
        // Counted before it is built.
        let bytes: usize =
            collected_names(&config).into_iter().map(|name| collected.bytes(name)).sum();
        if let Some(at) = steps.first().filter(|_| bytes > FILLED_BYTES_MAX) {
            let what = format!(
                "the collected values that it names have {bytes} bytes of SQL; at most {FILLED_BYTES_MAX} are allowed"
            );
            let hint = "name them less often, or join instead";
            let problem = Problem::new(Code::Data, at.clone(), what).hint(hint);
            return Err(RunError::Problems(vec![problem]));
        }
        let config = with_collected(&config, &|name| collected.sql(name));
        let references = references.clone();
        TransformPool::open_beside(&compiled, &context, &config, &input, references)
            .map_err(|error| of_standard(error, "steps", &|index| steps.get(index)))
    })
}

fn of<O>(known: &Loaded, opened: O) -> ComponentFacts<O> {
    let digest = known.compiled.component().digest.clone();
    ComponentFacts { digest, descriptor: known.descriptor.clone(), opened }
}

pub(super) fn working<P>(label: String, known: &Loaded, pool: P) -> Working<P> {
    let component = known.compiled.component();
    Working {
        label,
        component: component.name.clone(),
        digest: component.digest.clone(),
        described_as: known.descriptor.described_as(),
        pool: Arc::new(pool),
    }
}

/// Whoever needs the standard library has said so before.
pub(super) fn standard(loaded: Option<&Loaded>) -> Result<&Loaded, RunError> {
    loaded.ok_or_else(|| RunError::Engine("the standard library was not loaded".to_owned()))
}
