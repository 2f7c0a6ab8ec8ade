//! Words that no format and no stage owns: run ids, table changes, commits, counts, verdict counts.

mod change;

use std::fmt;

use serde::Deserialize;
use serde::Serialize;

pub use self::change::*;

/// Identity of one run, and of its retries: the same id writes nothing twice.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

impl RunId {
    /// Checks the text: letters, digits, `_` and `-`, at most 64; it becomes part of file names.
    ///
    /// # Errors
    /// Why it cannot be one, in words.
    pub fn new(text: impl Into<String>) -> Result<Self, String> {
        let text = text.into();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if text.is_empty() || text.len() > 64 || !text.chars().all(plain) {
            return Err(format!("`{text}` is no run id: 1 to 64 letters, digits, `_` or `-`"));
        }
        Ok(Self(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RunId {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::new(text)
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a commit will do or has done, in rows. Counted by the writer, never read back from a log's own counters.
///
/// They close: `rows_written` = inserted + updated + unchanged + ignored as late + unmatched by the condition + duplicates
/// dropped + deleting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Rows handed to the destination: its final rows.
    pub rows_written: u64,
    /// Rows that are new in the table, versions among them.
    pub rows_inserted: u64,
    /// Incoming rows that changed a stored row in place.
    pub rows_updated: u64,
    /// Rows that were in the table and are not any more, or are marked as deleted; `None` where the target does not tell.
    pub rows_deleted: Option<u64>,
    /// Incoming rows that are in the table already, or that an existing table made superfluous.
    pub rows_unchanged: u64,
    /// Incoming rows older than the stored ones.
    pub rows_ignored_late: u64,
    /// Incoming rows whose stored row fails the merge condition.
    pub rows_unmatched_by_condition: u64,
    /// Incoming rows that another row of the same key stands for.
    pub duplicates_dropped: u64,
    /// Incoming rows that ask for the deletion of their key, whether there was something to delete or not.
    pub rows_deleting: u64,
    /// Deletions that are kept as rows by this commit, new ones or of a higher sequence; some of `rows_deleting`.
    pub deletions_stored: u64,
    /// Versions that begin in this commit.
    pub versions_opened: u64,
    /// Current versions that end in this commit.
    pub versions_closed: u64,
    /// Versions that had ended and end earlier now, for a late row.
    pub versions_split: u64,
}

impl Counts {
    /// The incoming rows that are accounted for; all of them, where the books close.
    #[must_use]
    pub fn accounted(&self) -> u64 {
        self.rows_inserted
            + self.rows_updated
            + self.rows_unchanged
            + self.rows_ignored_late
            + self.rows_unmatched_by_condition
            + self.duplicates_dropped
            + self.rows_deleting
    }

    /// Whether the table is as it was before.
    #[must_use]
    pub fn is_no_change(&self) -> bool {
        let changes = self.rows_inserted
            + self.rows_updated
            + self.deletions_stored
            + self.versions_closed
            + self.versions_split;
        changes == 0 && self.rows_deleted == Some(0)
    }
}

/// How a commit ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Commit {
    /// It is visible, with these counts; the table's version where the format has versions.
    Applied(Counts, Option<u64>),
    /// The target was there, and the change leaves it as it is then.
    Skipped,
    /// This run id had been committed before; nothing was written now.
    AlreadyApplied(Option<u64>),
}

/// What became of a table's files after a commit, in a commit of its own that changes no row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Optimization {
    /// Files were put together or ordered.
    #[serde(rename = "optimized")]
    Done {
        /// Files that went.
        files_removed: u64,
        /// Files that hold their rows now.
        files_added: u64,
        /// The version of the commit.
        version: u64,
    },
    /// All files stay as they are, and why.
    #[serde(rename = "optimize_skipped")]
    Skipped(String),
}

/// What hitting a rule leads to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nothing is written.
    #[default]
    Fail,
    /// Counted and reported; the rows go on.
    Warn,
    /// The rows are left out and counted.
    Drop,
    /// The rows go to the quarantine instead.
    Quarantine,
}

impl Severity {
    /// Whether a row that is hit leaves the main chain.
    #[must_use]
    pub fn removes_rows(self) -> bool {
        match self {
            Self::Drop | Self::Quarantine => true,
            Self::Fail | Self::Warn => false,
        }
    }
}

/// One reason's counts over a run: `passed + failed + skipped` is the number of rows offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictCounts {
    /// Rows judged.
    pub evaluated: u64,
    /// Judged rows that were not hit.
    pub passed: u64,
    /// Judged rows that were hit.
    pub failed: u64,
    /// Judged rows whose value was NULL; part of passed or failed.
    pub null: u64,
    /// Rows that were not judged.
    pub skipped: u64,
}

/// One rule's counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuleTally {
    /// The rule's name.
    pub name: String,
    /// What a hit leads to.
    pub severity: Severity,
    /// One entry a reason, in the order declared.
    pub reasons: Vec<ReasonTally>,
}

/// One reason's counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReasonTally {
    /// The reason.
    pub code: String,
    /// The columns that it is about.
    pub columns: Vec<String>,
    /// Its counts of rows.
    #[serde(flatten)]
    pub counts: VerdictCounts,
    /// Verdicts on the whole input that hit: (measured, threshold).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub table_findings: Vec<(f64, f64)>,
    /// The first rows that were hit: file, and row in it from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<(String, Option<u64>)>,
}

impl RuleTally {
    /// Whether any row, or the input as a whole, was hit.
    #[must_use]
    pub fn is_hit(&self) -> bool {
        self.reasons
            .iter()
            .any(|reason| reason.counts.failed > 0 || !reason.table_findings.is_empty())
    }
}
