//! How the steps of a chain are run: neighbours of one kind (single rows, or many at once) enter the sandbox together.

use serde_json::Value;
use serde_json::json;

use crate::flow::Step;
use crate::flow::Work;
use crate::name::ColumnName;
use crate::name::ComponentName;
use crate::table::OrderBy;

/// A piece of a chain that runs as one.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage<'a> {
    /// A component of the flow.
    Component {
        /// The step's place in its chain.
        at: usize,
        /// Its name.
        component: &'a ComponentName,
        /// Its configuration.
        config: &'a Value,
    },
    /// Built-in steps, run by `std:sql`.
    Sql {
        /// The steps' places in their chain, ascending.
        at: Vec<usize>,
        /// The configuration for the component.
        config: Value,
        /// The other sources that they name, in the flow's order.
        others: Vec<&'a str>,
    },
    /// A step of the host's own: it names columns and computes nothing, and rows keep their places of origin.
    Deduplicate {
        /// The step's place in its chain.
        at: usize,
        /// What makes rows one row; all columns where it is empty.
        keys: &'a [ColumnName],
        /// Which row stays.
        order_by: &'a [OrderBy],
    },
    /// Another one, for the same reasons; and rows are ordered beyond memory.
    Sort {
        /// The step's place in its chain.
        at: usize,
        /// The order, foremost first.
        by: &'a [OrderBy],
    },
    /// Another one: rows wait until all values are known, and pass as they came.
    Collect {
        /// The step's place in its chain.
        at: usize,
        /// The column.
        column: &'a ColumnName,
        /// What later SQL calls the values.
        name: &'a str,
        /// More different ones are an error.
        max_values: u64,
    },
}

impl Stage<'_> {
    /// Its place in a chain that is called `label`, such as `transforms[0]`, or `transforms[0..2]` for neighbours; the source's query,
    /// which the flow does not write among its steps, has its own.
    #[must_use]
    pub fn label(&self, label: &str, steps: &[Step]) -> String {
        let query = steps.first().filter(|step| matches!(step.work, Work::Query { .. }));
        let number = |at: &usize| at - usize::from(query.is_some());
        match self {
            Self::Component { at, .. }
            | Self::Deduplicate { at, .. }
            | Self::Sort { at, .. }
            | Self::Collect { at, .. } => format!("{label}[{}]", number(at)),
            Self::Sql { at, .. } => match (at.as_slice(), query) {
                ([0], Some(query)) => format!("{}.query", query.at.field),
                ([first, .., last], _) => format!("{label}[{}..{}]", number(first), number(last)),
                ([one], _) => format!("{label}[{}]", number(one)),
                ([], _) => label.to_owned(),
            },
        }
    }
}

/// The stages of a chain; `others` are all sources beside the main one, which a query may name.
#[must_use]
pub fn stages<'a>(steps: &'a [Step], others: &'a [String]) -> Vec<Stage<'a>> {
    let mut stages = Vec::new();
    let mut run: Vec<usize> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        match &step.work {
            Work::Checkpoint {} => {}
            Work::Component { component, config } => {
                stages.extend(sql(steps, std::mem::take(&mut run), others));
                stages.push(Stage::Component { at, component, config });
            }
            Work::Deduplicate { keys, order_by } => {
                stages.extend(sql(steps, std::mem::take(&mut run), others));
                stages.push(Stage::Deduplicate { at, keys, order_by });
            }
            Work::Sort { by } => {
                stages.extend(sql(steps, std::mem::take(&mut run), others));
                stages.push(Stage::Sort { at, by });
            }
            Work::Collect { column, name, max_values } => {
                stages.extend(sql(steps, std::mem::take(&mut run), others));
                stages.push(Stage::Collect { at, column, name, max_values: *max_values });
            }
            work => {
                // Steps of single rows run by themselves, in their order: a query may evaluate a condition before one that guards
                // it, and says not how many rows a filter left out. What has a state for each key comes alone, so that it can be
                // parted by key.
                let ends = run.last().is_some_and(|last| {
                    let last = &steps[*last].work;
                    is_row_wise(last) != is_row_wise(work) || is_alone(last) || is_alone(work)
                });
                if ends {
                    stages.extend(sql(steps, std::mem::take(&mut run), others));
                }
                run.push(at);
            }
        }
    }
    stages.extend(sql(steps, run, others));
    stages
}

fn sql<'a>(steps: &'a [Step], at: Vec<usize>, all: &'a [String]) -> Option<Stage<'a>> {
    if at.is_empty() {
        return None;
    }
    let works = || at.iter().map(|at| &steps[*at].work);
    let named = |name: &&str| works().any(|work| work.names_source(name));
    let others = all.iter().map(String::as_str).filter(named).collect();
    let steps: Vec<&Work> = works().collect();
    Some(Stage::Sql { config: json!({ "steps": steps }), others, at })
}

/// Whether rows of different keys have nothing to do with each other; or it has a place of its own in the flow.
fn is_alone(work: &Work) -> bool {
    matches!(work, Work::GroupBy { .. } | Work::Join { .. } | Work::Query { .. })
}

/// Whether each row is judged and computed by itself.
fn is_row_wise(work: &Work) -> bool {
    !matches!(
        work,
        Work::GroupBy { .. }
            | Work::Join { .. }
            | Work::Union { .. }
            | Work::Sql { .. }
            | Work::Query { .. }
    )
}
