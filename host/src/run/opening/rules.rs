//! The rules of a chain, opened: conditions beside the rows, then whoever judges.

use std::sync::Arc;

use arrow::datatypes::DataType;
use arrow::datatypes::SchemaRef;
use serde_json::json;

use super::Opening;
use super::of;
use super::refusal::of_component;
use super::refusal::of_standard;
use super::standard;
use super::working;
use crate::flow::Rule;
use crate::plan::facts::ComponentFacts;
use crate::plan::judging::Bench;
use crate::plan::judging::Judging;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::run::error::RunError;
use crate::run::live::Working;
use crate::sandbox::Context;
use crate::sandbox::RulePool;
use crate::sandbox::TransformPool;

impl Opening<'_> {
    /// The conditions of rules, computed beside the rows: the rows with these columns behind them.
    #[expect(clippy::type_complexity, reason = "facts and what is alive, as everywhere here")]
    pub(super) fn conditions(
        &self,
        arranged: &Judging<'_>,
        rules: &[Rule],
        context: &Context,
        rows: &SchemaRef,
        label: String,
    ) -> Result<
        (
            Option<(ComponentFacts<crate::component::OpenedTransform>, Working<TransformPool>)>,
            SchemaRef,
        ),
        RunError,
    > {
        let conditions = &arranged.conditions;
        if conditions.is_empty() {
            return Ok((None, Arc::clone(rows)));
        }
        let known = standard(self.sql)?;
        let steps: Vec<_> = conditions
            .iter()
            .enumerate()
            .map(|(at, condition)| {
                let mut step = json!({
                    "type": "with_column",
                    "column": arranged.condition_column(at),
                    "expression": condition.expression,
                });
                if let Some(when) = condition.when {
                    step["when"] = when.into();
                }
                step
            })
            .collect();
        let place = |index: usize| conditions.get(index).map(|condition| &rules[condition.rule].at);
        let config = json!({ "steps": steps });
        let pool = TransformPool::open(&known.compiled, context, &config, rows)
            .map_err(|error| of_standard(error, "steps", &place))?;
        let judged = Arc::clone(&pool.opened().output);
        let mut problems = Vec::new();
        for (condition, field) in conditions.iter().zip(&judged.fields()[rows.fields().len()..]) {
            if field.data_type() != &DataType::Boolean {
                let at = &rules[condition.rule].at;
                let at = Place { field: format!("{}.{}", at.field, condition.field), ..at.clone() };
                let what = format!(
                    "this is no condition: it gives {} for a row, not true or false",
                    field.data_type()
                );
                problems.push(
                    Problem::new(Code::WrongType, at, what)
                        .hint("compare it with something, as in `a = 1`"),
                );
            }
        }
        if !problems.is_empty() {
            return Err(RunError::Problems(problems));
        }
        let facts = of(known, pool.opened().clone());
        Ok((Some((facts, working(label, known, pool))), judged))
    }

    /// Every rule refuses its configuration or schema by itself, so all refusals are reported together.
    #[expect(clippy::type_complexity, reason = "facts and what is alive, as everywhere here")]
    pub(super) fn benches(
        &self,
        benches: &[Bench<'_>],
        rules: &[Rule],
        context: &Context,
        judged: &SchemaRef,
        label: &dyn Fn(&str) -> String,
    ) -> Result<(Vec<ComponentFacts<crate::component::OpenedRule>>, Vec<Working<RulePool>>), RunError>
    {
        let mut facts = Vec::new();
        let mut pools = Vec::new();
        let mut problems = Vec::new();
        for bench in benches {
            let rule = &rules[bench.rule];
            let known = match bench.component {
                Some(component) => &self.loaded[component],
                None => standard(self.rules)?,
            };
            let references = self.named(&bench.others);
            match RulePool::open_beside(&known.compiled, context, &bench.config, judged, references)
            {
                Ok(pool) => {
                    facts.push(of(known, pool.opened().clone()));
                    let name = bench.component.map_or("rules", |_| rule.name.as_str());
                    pools.push(working(label(name), known, pool));
                }
                Err(error) => {
                    let place =
                        |index: usize| bench.seats.get(index).map(|(rule, _)| &rules[*rule].at);
                    let refused = match bench.component {
                        Some(component) => of_component(error, component, &rule.at),
                        None => of_standard(error, "checks", &place),
                    };
                    match refused {
                        RunError::Problems(more) => problems.extend(more),
                        other => return Err(other),
                    }
                }
            }
        }
        if problems.is_empty() { Ok((facts, pools)) } else { Err(RunError::Problems(problems)) }
    }
}
