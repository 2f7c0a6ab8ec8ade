//! Why a run ended early, and whose move it is.

use crate::evidence::EvidenceError;
use crate::name::DestinationName;
use crate::problem::Problem;
use crate::sandbox::Breach;
use crate::sandbox::SandboxError;
use crate::source::SourceError;
use crate::storage::StorageError;
use crate::writer::WriteError;

/// Why a run ended before its last commit.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Mistakes that the user can fix.
    #[error("{}", Lines(.0))]
    Problems(Vec<Problem>),
    /// A component did not do what the contract says.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The source cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A file or table cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A destination cannot be written.
    #[error("destination `{destination}`: {source}")]
    Write {
        /// The destination.
        destination: DestinationName,
        /// Why.
        source: WriteError,
    },
    /// Rows cannot be put together; a bug of ours.
    #[error("{stage}: {source}")]
    Arrow {
        /// The stage.
        stage: &'static str,
        /// What Arrow says.
        source: arrow::error::ArrowError,
    },
    /// A task of ours panicked; a bug of ours, kept to its stage.
    #[error("{stage} stopped: {what}")]
    Stopped {
        /// The stage.
        stage: &'static str,
        /// The panic's message.
        what: String,
    },
    /// The counts do not close; nothing was written.
    #[error("the counts do not add up, so nothing was written: {0}")]
    Books(String),
    /// The evidence of earlier runs, which a rule asks for, cannot be listed.
    #[error(transparent)]
    Evidence(EvidenceError),
    /// The sandbox cannot start on this machine.
    #[error("the sandbox cannot start: {0}")]
    Engine(String),
}

/// Whose move it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The flow or its data is wrong.
    User,
    /// Storage, a conflict, a limit.
    World,
    /// Nobody knows whether the rows are there.
    Unknown,
}

impl RunError {
    /// Whose move it is.
    #[must_use]
    pub fn whose(&self) -> Whose {
        match self {
            Self::Problems(_) => Whose::User,
            Self::Sandbox(error) => match error.breach {
                Breach::Limit { .. } => Whose::World,
                Breach::Trap(_)
                | Breach::Protocol(_)
                | Breach::Failed(_)
                | Breach::FailedAt { .. }
                | Breach::Refused(_)
                | Breach::Input { .. }
                | Breach::Load(_) => Whose::User,
            },
            Self::Source(SourceError::Problems(_)) => Whose::User,
            Self::Source(SourceError::Storage(error)) | Self::Storage(error)
                if error.is_users() =>
            {
                Whose::User
            }
            Self::Write { source, .. } => match source {
                WriteError::Unknown { .. } => Whose::Unknown,
                error if error.is_users() => Whose::User,
                _ => Whose::World,
            },
            Self::Source(_)
            | Self::Storage(_)
            | Self::Arrow { .. }
            | Self::Stopped { .. }
            | Self::Books(_)
            | Self::Evidence(_)
            | Self::Engine(_) => Whose::World,
        }
    }

    /// The mistakes that the user can fix, where it is that.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Problems(problems) => problems,
            Self::Sandbox(SandboxError { breach: Breach::Refused(problems), .. }) => problems,
            _ => &[],
        }
    }

    /// The way out of what is no problem of the flow, where one is known.
    #[must_use]
    pub fn way_out(&self) -> Option<&str> {
        match self {
            Self::Storage(error)
            | Self::Source(SourceError::Storage(error))
            | Self::Write { source: WriteError::Storage(error), .. } => error.way_out(),
            _ => None,
        }
    }

    /// What a task's end without an answer means.
    pub(super) fn stopped(stage: &'static str) -> impl Fn(tokio::task::JoinError) -> Self {
        move |error| Self::Stopped { stage, what: error.to_string() }
    }

    /// What a panic outside any task means.
    pub(super) fn panicked(panic: &(dyn std::any::Any + Send)) -> Self {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        Self::Stopped { stage: "the run", what: text.unwrap_or("it panicked").to_owned() }
    }

    /// An error of Arrow's at a stage.
    pub(super) fn arrow(stage: &'static str) -> impl Fn(arrow::error::ArrowError) -> Self {
        move |source| Self::Arrow { stage, source }
    }
}

struct Lines<'a>(&'a [Problem]);

impl std::fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n" };
            write!(f, "{gap}{problem}")?;
        }
        Ok(())
    }
}
