//! What the decision needs to know, and nothing that acts: gathered by the run, handed to `resolve`.

use std::collections::BTreeSet;

use arrow::datatypes::SchemaRef;

use crate::component::ColumnSource;
use crate::component::Descriptor;
use crate::component::Limits;
use crate::component::OpenedRule;
use crate::component::OpenedTransform;
use crate::component::Statefulness;
use crate::flow::SqlRows;
use crate::storage::listing::SourceFile;
use crate::storage::target::TargetFacts;
use crate::table::RunId;

/// All facts of one flow at one moment.
#[derive(Debug)]
pub struct Facts {
    /// The run that asks.
    pub run_id: RunId,
    /// The source that is transformed.
    pub source: SourceFacts,
    /// The other sources.
    pub others: Vec<SourceFacts>,
    /// The main chain.
    pub main: ChainFacts,
    /// Each destination's own chain, in the flow's order.
    pub chains: Vec<ChainFacts>,
    /// What is at each destination, in the flow's order.
    pub targets: Vec<TargetFacts>,
    /// What is where the quarantine goes.
    pub quarantine: TargetFacts,
    /// The limits in force.
    pub limits: Limits,
}

/// A source.
#[derive(Debug)]
pub struct SourceFacts {
    /// What it is read from.
    pub stock: Stock,
    /// The columns, after the projection.
    pub schema: SchemaRef,
    /// Its filter, where it has one.
    pub filter: Option<FilterFacts>,
}

/// What a source is read from.
#[derive(Debug)]
pub enum Stock {
    /// Files.
    Files {
        /// In order.
        files: Vec<SourceFile>,
        /// The table's version, where it is a table.
        version: Option<u64>,
    },
    /// Rows of a database.
    Query(SqlRows),
}

/// A source's filter.
#[derive(Debug)]
pub struct FilterFacts {
    /// The columns that it reads, whether they are wanted or not.
    pub reads: Vec<String>,
    /// Files that it rules out without a look at their rows.
    pub files_skipped: u64,
    /// The parts of it that a database is asked for, which sends no row for which one of them is not true.
    pub asked: Option<String>,
}

/// Steps and rules, opened.
#[derive(Debug)]
pub struct ChainFacts {
    /// The rows that it is given.
    pub input: SchemaRef,
    /// A stage's component and its answers, in the order of [`stages`](super::stages::stages); none for the host's own.
    pub stages: Vec<Option<ComponentFacts<OpenedTransform>>>,
    /// The rows that it makes.
    pub output: SchemaRef,
    /// What is computed beside the rows for the rules.
    pub conditions: Option<ComponentFacts<OpenedTransform>>,
    /// A pass's component and its answers, in the order of [`Judging::benches`](super::judging::Judging::benches).
    pub passes: Vec<ComponentFacts<OpenedRule>>,
}

impl ChainFacts {
    /// Which columns of its input, by position, anybody looks at: a stage, its rejected rows, or the result. What stages leave out
    /// unseen need not be read.
    #[must_use]
    pub fn reads(&self) -> BTreeSet<usize> {
        let mut width = self.input.fields().len();
        let mut stages = Vec::new();
        for stage in &self.stages {
            stages.push((stage, width));
            width = stage.as_ref().map_or(width, |stage| stage.opened.output.fields().len());
        }
        let all = |width: usize| (0..width).collect::<BTreeSet<_>>();
        stages.into_iter().rev().fold(all(width), |needed, (stage, width)| match stage {
            // Rows are told apart and held as they are.
            None => all(width),
            Some(stage) if !stage.opened.reasons.is_empty() => all(width),
            Some(ComponentFacts { opened, .. }) => {
                let carried = needed.iter().filter_map(|at| match opened.layout.get(*at) {
                    Some(ColumnSource::Input(from)) => Some(*from),
                    _ => None,
                });
                let keys = match &opened.statefulness {
                    Statefulness::Keyed(keys) => keys.as_slice(),
                    Statefulness::Stateless | Statefulness::WholeInput => &[],
                };
                carried.chain(opened.projection.iter().chain(keys).copied()).collect()
            }
        })
    }
}

/// A component, described and opened.
#[derive(Debug, Clone)]
pub struct ComponentFacts<O> {
    /// Its bytes.
    pub digest: String,
    /// What it says of itself.
    pub descriptor: Descriptor,
    /// What it agreed to for its input.
    pub opened: O,
}
