//! Writers: rows are staged where nobody sees them, a change is prepared against the target, then one commit shows it.
//!
//! All of them write to local disks, and their futures do so on the thread that polls them: run them where waiting is fine.

mod delta;
mod fitting;
mod flat;
mod layout;
mod merge;
mod selected;
mod stage;
mod staged;
mod stored;

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use chrono::DateTime;
use chrono::Utc;
use futures::future::BoxFuture;
use serde_json::Value;
use serde_json::json;

use crate::flow::DateFolders;
use crate::flow::Layout;
use crate::flow::SchemaChange;
use crate::flow::WriteFormat;
use crate::name::ColumnName;
use crate::name::DestinationName;
use crate::name::FlowName;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::storage::Cause;
use crate::storage::StorageError;
use crate::storage::address::Address;
use crate::storage::target;
use crate::storage::target::Ask;
use crate::table::Commit;
use crate::table::Counts;
use crate::table::IfExists;
use crate::table::Missing;
use crate::table::RunId;
use crate::table::Scope;
use crate::table::TableChange;

pub use self::layout::Rewritten;
pub use self::layout::rewrite;

/// One destination being written by one run. Dropped at any point before the commit, nothing of it is visible.
pub trait Writer: Send {
    /// Takes rows of the destination's final schema to files that no reader sees.
    fn stage<'a>(&'a mut self, rows: &'a RecordBatch) -> BoxFuture<'a, Result<(), WriteError>>;

    /// Closes the staged files, reads the target anew, judges the guards of the change and counts. Still nothing is visible.
    ///
    /// On an error what was staged is removed.
    fn prepare(self: Box<Self>) -> BoxFuture<'static, Result<Box<dyn Prepared>, WriteError>>;

    /// Removes what was staged.
    fn abandon(self: Box<Self>) -> BoxFuture<'static, Result<(), WriteError>>;
}

/// A change that can be committed as it is.
pub trait Prepared: Send {
    /// What the commit will do, exact as long as nobody else commits before. Where this run had landed before, all rows are unchanged.
    fn counts(&self) -> Counts;

    /// Makes the change visible, whole or not at all. Again with the same run id: nothing is written twice.
    ///
    /// On an error what was staged is removed, but for [`WriteError::Unknown`].
    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<Commit, WriteError>>;

    /// Removes what was staged.
    fn abandon(self: Box<Self>) -> BoxFuture<'static, Result<(), WriteError>>;
}

/// What is to be written, where, and by which run.
#[derive(Debug, Clone)]
pub struct Target {
    /// A folder.
    pub address: Address,
    /// How rows are written.
    pub format: WriteFormat,
    /// What the commit does to the table.
    pub change: TableChange,
    /// The columns of all rows that are staged.
    pub schema: SchemaRef,
    /// What becomes of columns that the target lacks.
    pub schema_change: SchemaChange,
    /// Properties that a Delta table gets.
    pub table_properties: BTreeMap<String, String>,
    /// What is done to the files after the commit, by [`rewrite`].
    pub layout: Layout,
    /// Bytes of memory that a change may use which looks at stored rows.
    pub memory_bytes: u64,
    /// Columns whose values split the table into folders, outermost first.
    pub partition_columns: Vec<ColumnName>,
    /// Folders by date that flat files are written into; that of the run's start is the one.
    pub date_folders: Option<DateFolders>,
    /// The run.
    pub run: RunMark,
}

impl Target {
    /// The folder, as messages and records show it.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.address.shown()
    }

    fn ask(&self) -> Ask<'_> {
        Ask {
            format: &self.format,
            schema: &self.schema,
            partition_columns: &self.partition_columns,
            date_folders: self.date_folders.as_ref(),
            change: &self.change,
            schema_change: self.schema_change,
        }
    }

    /// The run's folder by date, from the target's on; where there are none, the target's itself.
    fn date_folder(&self) -> PathBuf {
        self.date_folders.as_ref().map_or_else(PathBuf::new, |by| by.folder(self.run.started_at))
    }
}

/// The run that writes.
#[derive(Debug, Clone)]
pub struct RunMark {
    /// Its identity, and that of its retries. One process at a time may use it.
    pub run_id: RunId,
    /// Its flow.
    pub flow: FlowName,
    /// The destination in its flow.
    pub destination: DestinationName,
    /// When it started.
    pub started_at: DateTime<Utc>,
}

impl RunMark {
    /// What an entry of a log says of the run.
    fn info(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("wasmhost.run_id", json!(self.run_id)),
            ("wasmhost.flow", json!(self.flow)),
            ("wasmhost.destination", json!(self.destination)),
        ]
    }
}

/// Why a destination is not known to have been written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The target does not take these rows; at least one problem. The user's mistake.
    #[error("{}", list(.0))]
    Refused(Vec<Problem>),
    /// A guard stopped the run before it did what was hardly meant. The user's to decide.
    #[error("{}: {what}\n  hint: {hint}", path.display())]
    Guard {
        /// The target.
        path: PathBuf,
        /// What would have happened.
        what: String,
        /// The setting that allows it.
        hint: String,
    },
    /// A value that the target cannot hold. The user's data.
    #[error("{}: column `{column}`: {what}", path.display())]
    Value {
        /// The target.
        path: PathBuf,
        /// The column.
        column: String,
        /// What is wrong, with the value.
        what: String,
    },
    /// Somebody else has changed the target since it was read. Nothing was written; the run can be repeated.
    #[error("{}: conflict: {what}; run it again", path.display())]
    Conflict {
        /// The target.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// Nobody knows whether the commit landed. The staged files are still there; a retry of the same run id finds out.
    #[error("{}: it is not known whether the commit landed: {source}", path.display())]
    Unknown {
        /// The target.
        path: PathBuf,
        /// What came before.
        source: Cause,
    },
    /// The target could not be read or written. Nothing of the run is visible.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl WriteError {
    /// Whether the user is at fault, not the world.
    #[must_use]
    pub fn is_users(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Guard { .. } | Self::Value { .. } => true,
            Self::Conflict { .. } | Self::Unknown { .. } => false,
            Self::Storage(error) => error.is_users(),
        }
    }
}

/// Looks at the target once more and begins to stage beside it.
///
/// # Errors
/// Where the target cannot be looked at, or does not take such rows.
pub async fn open(target: Target) -> Result<Box<dyn Writer>, WriteError> {
    let facts = target::inspect(&target.address, &target.format).await?;
    let at = Place::field(target.path().display().to_string(), "");
    let landing = target::fit(&facts, &target.ask(), &at).map_err(WriteError::Refused)?;
    match target.format {
        WriteFormat::Delta(_) => delta::open(target, landing).await,
        WriteFormat::Parquet(_)
        | WriteFormat::View(_)
        | WriteFormat::Csv(_)
        | WriteFormat::Jsonl(_)
        | WriteFormat::Json(_)
        | WriteFormat::Arrow(_)
        | WriteFormat::Avro(_) => flat::open(target, &facts.state, landing.rows),
    }
}

fn must_be_new(target: &Target) -> bool {
    target.change == TableChange::Create { if_exists: IfExists::Refuse }
}

/// A table that must be new is there, and not by an earlier try of this run.
fn there_already(target: &Target) -> WriteError {
    let at = Place::field(target.path().display().to_string(), "load_type");
    let problem = Problem::new(Code::Contradiction, at, "there is a table already")
        .hint("name another one, or use a strategy that writes to it");
    WriteError::Refused(vec![problem])
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The guard of every change that removes rows where none come: that is hardly meant.
fn guard_empty(target: &Target, rows: u64) -> Result<(), WriteError> {
    let what = match &target.change {
        TableChange::Replace { allow_empty: false, scope: Scope::All }
            if target.date_folders.is_some() =>
        {
            "there are no rows, and an overwrite with none would leave the run's date folder empty"
        }
        TableChange::Replace {
            allow_empty: false,
            scope: Scope::All | Scope::Partition { .. } | Scope::Predicate(_),
        } => "there are no rows, and an overwrite with none would leave the target empty",
        TableChange::Merge(merge) if !merge.allow_empty => match merge.missing {
            Missing::Keep => return Ok(()),
            Missing::Mark => "there are no rows: every row of the table would be marked as deleted",
            Missing::Close => "there are no rows: every key of the table would be closed",
            Missing::RemoveInPartitions { .. } => {
                "there are no rows, and nothing says which partitions they would replace"
            }
        },
        TableChange::Create { .. }
        | TableChange::Append {}
        | TableChange::Replace { .. }
        | TableChange::Merge(_) => return Ok(()),
    };
    if rows > 0 {
        return Ok(());
    }
    Err(WriteError::Guard {
        path: target.path().to_owned(),
        what: what.to_owned(),
        hint: "`allow_empty: true` on the destination, if that is meant".to_owned(),
    })
}
