//! What the decision needs to know, and nothing that acts: gathered by the run, handed to `resolve`.

use arrow::datatypes::SchemaRef;

use crate::component::Descriptor;
use crate::component::Limits;
use crate::component::OpenedRule;
use crate::component::OpenedTransform;
use crate::storage::listing::SourceFile;
use crate::storage::target::TargetFacts;
use crate::table::RunId;

/// All facts of one flow at one moment.
#[derive(Debug)]
pub struct Facts {
    /// The run that asks.
    pub run_id: RunId,
    /// The files of the source, in order.
    pub files: Vec<SourceFile>,
    /// Their columns, after the projection.
    pub schema: SchemaRef,
    /// A step's component and its answers, in the flow's order.
    pub steps: Vec<ComponentFacts<OpenedTransform>>,
    /// A rule's component and its answers, in the flow's order.
    pub rules: Vec<ComponentFacts<OpenedRule>>,
    /// What is at each destination, in the flow's order.
    pub targets: Vec<TargetFacts>,
    /// What is where the quarantine goes.
    pub quarantine: TargetFacts,
    /// The limits in force.
    pub limits: Limits,
}

/// A component, described and opened.
#[derive(Debug)]
pub struct ComponentFacts<O> {
    /// Its bytes.
    pub digest: String,
    /// What it says of itself.
    pub descriptor: Descriptor,
    /// What it agreed to for its input.
    pub opened: O,
}
