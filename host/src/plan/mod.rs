//! `Plan`: what will happen, nothing left to decide. `resolve` makes it, purely, from a flow and facts; `explain` shows it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use arrow::datatypes::SchemaRef;
use serde::Serialize;
use serde::Serializer;
use serde::ser::SerializeSeq;
use serde_json::Value;

use crate::component::Limits;
use crate::component::Reason;
use crate::component::RowEffect;
use crate::component::Statefulness;
use crate::flow::ByDate;
use crate::flow::DateFolders;
use crate::flow::Layout;
use crate::flow::Load;
use crate::flow::Location;
use crate::flow::PartitionColumn;
use crate::flow::SchemaChange;
use crate::flow::SqlRows;
use crate::flow::WriteFormat;
use crate::name::ColumnName;
use crate::name::DestinationName;
use crate::name::FlowName;
use crate::table::OrderBy;
use crate::table::Severity;
use crate::table::TableChange;

mod chain;
mod changes;
pub mod derived;
mod explain;
pub mod facts;
pub mod judging;
mod layout;
pub mod quarantine;
mod resolve;
pub mod stages;

pub use chain::reasons;
pub use explain::explain;
pub use resolve::resolve;

/// What will happen. It serialises, so that it can be shown and compared.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// The flow.
    pub flow: FlowName,
    /// SHA-256 of the flow file.
    pub flow_digest: String,
    /// What is read.
    pub source: SourcePlan,
    /// Other sources, which steps and rules name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_sources: Vec<SourcePlan>,
    /// The main chain.
    pub main: ChainPlan,
    /// The most rows that may be set apart, as a share of those read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_quarantine_fraction: Option<f64>,
    /// Where hit and rejected rows go; absent where nothing can send any there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<QuarantinePlan>,
    /// Where rows go, in order of commit.
    pub destinations: Vec<DestinationPlan>,
    /// The sandbox's limits in force.
    pub limits: Limits,
}

/// What is read.
#[derive(Debug, Clone, Serialize)]
pub struct SourcePlan {
    /// The source's name.
    pub name: String,
    /// As the flow says it, made absolute or relative to the working folder; of a database, the server without who asks.
    pub path: Location,
    /// The format's name.
    pub format: &'static str,
    /// What the rows are read from.
    #[serde(flatten)]
    pub stock: StockPlan,
    /// Which rows are read; all where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<FilterPlan>,
    /// What its own query makes of them, of a source that steps or rules name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The columns, after the query.
    #[serde(serialize_with = "columns")]
    pub schema: SchemaRef,
    /// Those of them that are read; the others are looked at by nobody.
    pub reads: Vec<String>,
}

/// What rows are read from.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum StockPlan {
    /// Files.
    Files {
        /// In the order in which they are read.
        files: Vec<FilePlan>,
        /// The table's version, where it is a table.
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<u64>,
    },
    /// Rows of a database: `table` or `query`.
    Rows(SqlRows),
}

/// Which rows of a source are read.
#[derive(Debug, Clone, Serialize)]
pub struct FilterPlan {
    /// SQL that is true of them.
    pub sql: String,
    /// Files that cannot have such a row: they are not read, and not among the files.
    pub files_skipped: u64,
    /// The parts of `sql` that the database is asked for: it does not send other rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
}

/// A file that is read.
#[derive(Debug, Clone, Serialize)]
pub struct FilePlan {
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
}

/// Steps and rules, in order.
#[derive(Debug, Clone, Serialize)]
pub struct ChainPlan {
    /// What is done to the rows.
    pub stages: Vec<StagePlan>,
    /// The chain's result.
    #[serde(serialize_with = "columns")]
    pub output: SchemaRef,
    /// What the result has to be.
    pub rules: Vec<RulePlan>,
    /// How rules are judged in the sandbox: each pass sees the rows once.
    pub passes: Vec<PassPlan>,
}

impl ChainPlan {
    /// Whether it does nothing to the rows, and asks nothing of them.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty() && self.rules.is_empty()
    }
}

/// A piece of a chain that runs as one.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum StagePlan {
    /// In the sandbox.
    Component(Box<StepPlan>),
    /// In the host.
    Deduplicate(DeduplicatePlan),
    /// In the host.
    Sort(SortPlan),
    /// In the host.
    Collect(CollectPlan),
}

/// One row of each key stays.
#[derive(Debug, Clone, Serialize)]
pub struct DeduplicatePlan {
    /// Where the flow says so.
    pub label: String,
    /// What makes rows one row.
    pub keys: Vec<ColumnName>,
    /// Which row stays; ties are broken by the whole row.
    pub order_by: Vec<OrderBy>,
}

/// All rows in order.
#[derive(Debug, Clone, Serialize)]
pub struct SortPlan {
    /// Where the flow says so.
    pub label: String,
    /// Foremost first; rows that it does not tell apart stay in the order in which they come.
    pub by: Vec<OrderBy>,
}

/// Values of a column for later SQL.
#[derive(Debug, Clone, Serialize)]
pub struct CollectPlan {
    /// Where the flow says so.
    pub label: String,
    /// The column.
    pub column: ColumnName,
    /// What later SQL calls the values.
    pub name: String,
    /// More different ones are an error.
    pub max_values: u64,
}

/// A component at work in the chain.
#[derive(Debug, Clone, Serialize)]
pub struct StepPlan {
    /// The steps of the chain, such as `transforms[0]` or `transforms[1..3]`.
    pub label: String,
    /// What the steps are.
    pub steps: Vec<&'static str>,
    /// The other sources that it is given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// The component, as the flow calls it.
    pub component: String,
    /// Its bytes.
    pub digest: String,
    /// Its own name and version.
    pub described_as: String,
    /// Its configuration.
    pub config: Value,
    /// What it does to the rows.
    pub row_effect: RowEffect,
    /// How the input is spread over instances.
    pub statefulness: Statefulness,
    /// Columns that enter the sandbox.
    pub enters: Vec<String>,
    /// Columns that the guest computes.
    pub computes: Vec<String>,
    /// Columns carried past the guest.
    pub carries: Vec<String>,
    /// Why it may reject rows.
    pub reasons: Vec<Reason>,
    /// The rows it is given.
    #[serde(skip)]
    pub input: SchemaRef,
}

/// What rows have to be.
#[derive(Debug, Clone, Serialize)]
pub struct RulePlan {
    /// The rule's name.
    pub name: String,
    /// Its type in flow files.
    pub judge: &'static str,
    /// What a hit leads to.
    pub severity: Severity,
    /// The rows that it judges; all where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// What it judges.
    pub reasons: Vec<Reason>,
}

/// A component that judges.
#[derive(Debug, Clone, Serialize)]
pub struct PassPlan {
    /// The rules that it judges.
    pub rules: Vec<String>,
    /// The component, as the flow calls it.
    pub component: String,
    /// Its bytes.
    pub digest: String,
    /// Its own name and version.
    pub described_as: String,
    /// Its configuration.
    pub config: Value,
    /// How the input is spread over instances.
    pub statefulness: Statefulness,
    /// Columns that enter the sandbox.
    pub enters: Vec<String>,
}

/// Where rows go.
#[derive(Debug, Clone, Serialize)]
pub struct DestinationPlan {
    /// Its name.
    pub name: DestinationName,
    /// Its folder.
    pub path: Location,
    /// How rows are written.
    pub format: WriteFormat,
    /// The strategy, as the flow says it.
    pub load: Load,
    /// What the strategy makes of it.
    pub change: TableChange,
    /// What is done to the main chain's result for this destination alone.
    pub chain: ChainPlan,
    /// Its columns, as positions in its chain's result; the computed ones follow them.
    pub projection: Vec<usize>,
    /// Its final rows.
    #[serde(serialize_with = "columns")]
    pub schema: SchemaRef,
    /// The columns that split it into folders.
    pub partition_columns: Vec<PartitionColumn>,
    /// Folders by date.
    #[serde(skip_serializing_if = "ByDate::is_no")]
    pub by_date: ByDate,
    /// What becomes of columns that the target lacks.
    pub schema_change: SchemaChange,
    /// What is done to the files after the rows are written.
    pub layout: Layout,
    /// Properties that the table gets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub table_properties: BTreeMap<String, String>,
    /// What is there now.
    pub target: TargetState,
}

/// What is at a destination before the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetState {
    /// Nothing: the run creates it.
    New,
    /// It is there; the version where the format has versions.
    Exists(Option<u64>),
}

/// Where hit and rejected rows go.
#[derive(Debug, Clone, Serialize)]
pub struct QuarantinePlan {
    /// Its folder.
    pub path: Location,
    /// How rows are written.
    pub format: WriteFormat,
    /// Folders by date that it is written into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date_folders: Option<DateFolders>,
    /// Its columns: where a row comes from and why it is here, then the row.
    #[serde(serialize_with = "columns")]
    pub schema: SchemaRef,
}

/// A schema as a list of columns.
fn columns<S: Serializer>(schema: &SchemaRef, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Column<'a> {
        name: &'a str,
        r#type: String,
        nullable: bool,
    }
    let mut list = serializer.serialize_seq(Some(schema.fields().len()))?;
    for field in schema.fields() {
        let column = Column {
            name: field.name(),
            r#type: field.data_type().to_string(),
            nullable: field.is_nullable(),
        };
        list.serialize_element(&column)?;
    }
    list.end()
}
