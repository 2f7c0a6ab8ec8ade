//! What can go wrong with a guest: one error, naming component, call, batch and what was broken.

use std::fmt;

use crate::batch::Batch;
use crate::problem::Problem;
use crate::sandbox::reference::Cause;

/// A guest did not do what the contract says. The instance is gone; the host is as before.
#[derive(Debug, thiserror::Error)]
#[error("component `{component}`, {call}{}: {breach}", Place(.batch))]
pub struct SandboxError {
    /// The component, as the flow calls it.
    pub component: String,
    /// The call, as the contract spells it.
    pub call: &'static str,
    /// The batch, from 0 in source order, where the call had one.
    pub batch: Option<u64>,
    /// What was broken.
    pub breach: Breach,
}

/// What was broken.
#[derive(Debug, thiserror::Error)]
pub enum Breach {
    /// A limit, by its name in flow files.
    #[error("the limit `{limit}` allows {allowed}{}", Asked(.asked))]
    Limit {
        /// The limit's name.
        limit: &'static str,
        /// What is allowed.
        allowed: String,
        /// What the guest asked for, where that is known.
        asked: Option<String>,
    },
    /// The guest trapped; a panic's text and place where it had one, else the trap and the guest's innermost frames.
    #[error("trapped: {0}")]
    Trap(String),
    /// An answer that the contract does not allow.
    #[error("broke the contract: {0}")]
    Protocol(String),
    /// The guest says that this batch cannot be processed, or that it found itself broken.
    #[error("failed: {0}")]
    Failed(String),
    /// The same, of one row of the batch that it was given, from 0.
    #[error("failed: {what} (row {row} of the batch)")]
    FailedAt {
        /// What the guest says.
        what: String,
        /// The row.
        row: usize,
    },
    /// The guest refuses its configuration or its input.
    #[error("refuses: {}", Lines(.0))]
    Refused(Vec<Problem>),
    /// Another input, which it has to see whole, cannot be read.
    #[error("its other input `{name}`: {source}")]
    Input {
        /// The source's name.
        name: String,
        /// Why.
        source: Cause,
    },
    /// It does not fit the contract's types, so it cannot be instantiated, or the machine cannot compile it.
    #[error("cannot be loaded: {0}")]
    Load(String),
}

impl Breach {
    /// A breach of the contract.
    pub(super) fn protocol(what: impl Into<String>) -> Self {
        Self::Protocol(what.into())
    }

    /// Says where the row was read, where the guest named one and that is known.
    pub(super) fn of_row_in(self, batch: &Batch) -> Self {
        match self {
            Self::FailedAt { what, row } => match batch.origin.row(row) {
                Some(number) => {
                    Self::Failed(format!("{what} ({} row {number})", batch.origin.file))
                }
                None => Self::FailedAt { what, row },
            },
            other => other,
        }
    }

    /// Whether smaller batches may help.
    #[must_use]
    pub fn is_memory(&self) -> bool {
        matches!(self, Self::Limit { limit: "memory_bytes", .. })
    }

    /// The error, with its place.
    pub(super) fn at(
        self,
        component: &str,
        call: &'static str,
        batch: Option<u64>,
    ) -> SandboxError {
        SandboxError { component: component.to_owned(), call, batch, breach: self }
    }
}

struct Place<'a>(&'a Option<u64>);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |batch| write!(f, ", batch {batch}"))
    }
}

struct Asked<'a>(&'a Option<String>);

impl fmt::Display for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |asked| write!(f, ", asked were {asked}"))
    }
}

struct Lines<'a>(&'a [Problem]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("; "))
    }
}
