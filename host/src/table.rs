//! Words that no format and no stage owns: run ids, table changes, commits, counts, verdict counts.

use std::fmt;

use serde::Deserialize;
use serde::Serialize;

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

/// What a commit does to a table. A strategy makes it, a writer carries it out, whole or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "change")]
pub enum TableChange {
    /// Adds the staged rows.
    Append {},
    /// The staged rows become the table's only rows.
    Replace {
        /// Whether no staged row at all may empty the table.
        allow_empty: bool,
    },
}

/// What a commit will do or has done, in rows. Counted by the writer, never read back from a log's own counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Rows handed to the destination: its final rows.
    pub rows_written: u64,
    /// Rows that are new in the table.
    pub rows_inserted: u64,
    /// Rows that were in the table and are not any more; `None` where the target does not tell.
    pub rows_deleted: Option<u64>,
}

/// How a commit ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Commit {
    /// It is visible; the table's version where the format has versions.
    Applied(Option<u64>),
    /// This run id had been committed before; nothing was written now.
    AlreadyApplied(Option<u64>),
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
