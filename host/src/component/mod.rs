//! What a component is: bytes that were admitted, and what they answered when asked.
//!
//! Nothing here runs a guest. `admit` reads bytes; the sandbox asks `describe` and `open`, and its answers are the types below.

use std::sync::Arc;

use arrow::datatypes::DataType;
use arrow::datatypes::SchemaRef;
use serde::Serialize;

pub mod admit;
pub mod config;
pub mod findings;
pub mod limits;
pub mod usage;

pub use limits::Limits;

/// A component that the sandbox may run: its imports are on the allow-list, its exports make it one of the two kinds.
#[derive(Debug, Clone)]
pub struct Component {
    /// What the flow calls it.
    pub name: String,
    /// `sha256:` and the hexadecimal digest of the file's bytes.
    pub digest: String,
    /// A component binary; a core module was encoded on the way.
    pub bytes: Arc<[u8]>,
    /// Which world it was built for.
    pub kind: Kind,
}

/// The two worlds of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Computes columns, leaves rows out, makes rows.
    Transform,
    /// Judges rows; has no way to change them.
    Rule,
}

impl Kind {
    /// The word for messages.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Transform => "transform",
            Self::Rule => "rule",
        }
    }
}

/// A component's answer to `describe`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Descriptor {
    /// The component's own name for itself.
    pub name: String,
    /// Its version, as its author counts.
    pub version: String,
    /// One line.
    pub summary: String,
    /// JSON Schema of its configuration.
    pub config_schema: serde_json::Value,
    /// Whether the same batch and configuration always give the same answer.
    pub deterministic: bool,
}

impl Descriptor {
    /// Its own name and version, as plans and records show it.
    #[must_use]
    pub fn described_as(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

/// How input may be spread over instances.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Statefulness {
    /// Any split, any order: one instance a core.
    Stateless,
    /// Rows of equal key columns (by position) to one instance.
    Keyed(Vec<usize>),
    /// Everything, in order, to one instance.
    WholeInput,
}

/// Why a row or the whole input is hit; declared in `open`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// Short and stable.
    pub code: String,
    /// The columns that it is about.
    pub columns: Vec<String>,
    /// A sentence.
    pub message: String,
}

/// What a transform's call does to the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowEffect {
    /// Every row stays, but for rejected ones.
    OneToOne,
    /// Rows may be left out.
    Filter,
    /// Rows may be left out, repeated, made.
    Many,
}

/// Where an output column comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnSource {
    /// Carried past the guest: position in the input.
    Input(usize),
    /// Computed by the guest: position in the computed batch.
    Computed(usize),
}

/// A transform's answer to `open`, checked against the input: every position is in range, every name is unique.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedTransform {
    /// What a call does to the rows.
    pub row_effect: RowEffect,
    /// How the input may be spread.
    pub statefulness: Statefulness,
    /// Why rows may be rejected.
    pub reasons: Vec<Reason>,
    /// The columns that come back from the guest.
    pub computed: SchemaRef,
    /// Each output column's origin, in order.
    pub layout: Vec<ColumnSource>,
    /// The output: carried and computed columns.
    pub output: SchemaRef,
    /// Columns of the input that enter the guest.
    pub projection: Vec<usize>,
    /// Of each other input, the columns that enter.
    pub others: Vec<Vec<usize>>,
    /// The largest batch wanted.
    pub max_rows: Option<usize>,
}

/// A rule's answer to `open`, checked against the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedRule {
    /// How the input may be spread.
    pub statefulness: Statefulness,
    /// What it judges; at least one.
    pub reasons: Vec<Reason>,
    /// Columns of the input that enter the guest.
    pub projection: Vec<usize>,
    /// Of each other input, the columns that enter.
    pub others: Vec<Vec<usize>>,
    /// The largest batch wanted.
    pub max_rows: Option<usize>,
}

/// A type that can cross into a guest: plain layouts only; dictionaries and views are unpacked where data is read.
#[must_use]
pub fn crosses(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(..)
        | DataType::RunEndEncoded(..)
        | DataType::Union(..)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::Utf8View
        | DataType::BinaryView => false,
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => crosses(field.data_type()),
        DataType::Struct(fields) => fields.iter().all(|field| crosses(field.data_type())),
        _ => true,
    }
}
