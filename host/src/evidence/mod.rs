//! Evidence: one record a run, written once, also when the run failed. Counts in it close.
//!
//! A record is a JSON file `<state>/runs/<flow>/<run id>.json`. Nothing reads it to decide what to write: it is what a person
//! or a machine looks at afterwards.

use std::collections::BTreeMap;

use chrono::DateTime;
use chrono::Utc;
use serde::Deserialize;
use serde::Serialize;

use crate::component::Limits;
use crate::component::usage::Usage;
use crate::name::DestinationName;
use crate::name::FlowName;
use crate::problem::Problem;
use crate::table::Counts;
use crate::table::Optimization;
use crate::table::RuleTally;
use crate::table::RunId;

mod folder;

pub use folder::EvidenceError;
pub use folder::Folder;

/// The version of the record's shape; a reader refuses a newer one.
pub const SHAPE: u32 = 1;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Every destination has the run's rows.
    Succeeded,
    /// There was nothing to write, or this run id had been committed before.
    NothingToDo,
    /// A rule said no: no destination was written, the quarantine was.
    Rejected,
    /// The flow, its data or the world; the error says which.
    Failed,
    /// Whether a destination has the rows is not known.
    Unknown,
}

/// What a run did and found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// The version of this shape.
    pub shape: u32,
    /// The program's version.
    pub wasmhost: String,
    /// The run.
    pub run_id: RunId,
    /// The flow.
    pub flow: FlowName,
    /// The flow file, as the user named it.
    pub flow_file: String,
    /// SHA-256 of the flow file.
    pub flow_digest: String,
    /// The variables in force.
    pub vars: BTreeMap<String, String>,
    /// Begin, UTC; the run's logical time.
    pub started_at: DateTime<Utc>,
    /// End, UTC.
    pub finished_at: DateTime<Utc>,
    /// How it ended.
    pub status: Status,
    /// What was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceRecord>,
    /// Components: their bytes, what they did, what they used. In the order of the chain, then rules.
    pub components: Vec<ComponentRecord>,
    /// The rules' counts, also of rules that nothing hit.
    pub rules: Vec<RuleTally>,
    /// Rows of the source: `rows_read` = the source's own `filter.rows_filtered` + `rows_main` + filtered + rejected + dropped +
    /// quarantined, where no step makes rows.
    pub rows_read: u64,
    /// Rows that filters of the chain left out.
    pub rows_filtered: u64,
    /// Rows that a transform rejected.
    pub rows_rejected: u64,
    /// Rows that a `drop` rule left out.
    pub rows_dropped: u64,
    /// Rows that a `quarantine` rule set apart.
    pub rows_quarantined: u64,
    /// Rows of the main chain's result.
    pub rows_main: u64,
    /// Rows that this attempt made visible, summed over the destinations.
    pub rows_written: u64,
    /// A destination an entry, in order of commit.
    pub destinations: Vec<DestinationRecord>,
    /// Where set-apart rows are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<QuarantineRecord>,
    /// The sandbox's limits in force, once planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorRecord>,
}

/// What was read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SourceRecord {
    /// The source's name.
    pub name: String,
    /// Its path.
    pub path: String,
    /// Its format.
    pub format: String,
    /// The version that was read, where it is a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// What it was read from.
    #[serde(flatten)]
    pub stock: StockRecord,
    /// What its filter has done, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<FilterRecord>,
}

/// What rows were read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StockRecord {
    /// Files.
    Files {
        /// How many.
        files: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// A table of a database.
    Table {
        /// With its schema.
        table: String,
    },
    /// A query of a database.
    Query {
        /// As the flow has it.
        query: String,
    },
}

/// What a source's filter has done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FilterRecord {
    /// The filter.
    pub sql: String,
    /// Rows that were read and that it left out.
    pub rows_filtered: u64,
    /// Rows of files that were opened, of row groups that cannot have one that it takes: they were not read, and are not counted
    /// elsewhere.
    pub rows_skipped: u64,
    /// Files that cannot have one: they were not opened, and are not counted elsewhere.
    pub files_skipped: u64,
    /// The parts of it that a database was asked for. Rows that it did not send for that are not counted anywhere: nobody knows how
    /// many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
}

/// A component in a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ComponentRecord {
    /// `transforms[0]` or the rule's name.
    pub stage: String,
    /// The component, as the flow calls it.
    pub component: String,
    /// Its bytes.
    pub digest: String,
    /// Its own name and version.
    pub described_as: String,
    /// Calls, time, bytes, memory, log.
    pub usage: Usage,
}

/// One destination's end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DestinationRecord {
    /// Its name.
    pub name: DestinationName,
    /// Its format.
    pub format: String,
    /// The strategy.
    pub load_type: String,
    /// Its folder.
    pub path: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Rows of the main chain's result that its own filters left out: `rows_main` = `rows_final` + filtered + rejected + dropped +
    /// quarantined, where none of its steps makes rows.
    #[serde(default)]
    pub rows_filtered: u64,
    /// Rows that one of its own transforms rejected.
    #[serde(default)]
    pub rows_rejected: u64,
    /// Rows that one of its own `drop` rules left out.
    #[serde(default)]
    pub rows_dropped: u64,
    /// Rows that one of its own `quarantine` rules set apart.
    #[serde(default)]
    pub rows_quarantined: u64,
    /// Its final rows.
    #[serde(default)]
    pub rows_final: u64,
    /// The counts of its own rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleTally>,
    /// The counts; zero where nothing was committed.
    #[serde(flatten)]
    pub counts: Counts,
    /// Where the counts come from: the writer counted.
    pub metrics_source: String,
    /// The table's version, where the format has versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// What became of its files afterwards, where the flow asks for that: `optimized`, or `optimize_skipped` with the reason.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub optimization: Option<Optimization>,
}

/// What became of a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The run's rows are visible.
    Committed,
    /// They had been, by an earlier try of this run id.
    AlreadyCommitted,
    /// It was there before, and the strategy leaves it as it is then.
    Skipped,
    /// It is as it was before.
    Untouched,
    /// Nobody knows.
    Unknown,
}

/// Where set-apart rows are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct QuarantineRecord {
    /// The folder.
    pub path: String,
    /// Rows of this run in it.
    pub rows: u64,
}

/// Why a run failed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ErrorRecord {
    /// `user`, `world` or `unknown`: whose move it is.
    pub kind: String,
    /// The message, causes included.
    pub message: String,
    /// Each mistake that the user can fix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}
