//! Ends into exit codes; the one place where that is decided.

use std::process::ExitCode;

use crate::evidence::Status;
use crate::run::Ended;
use crate::run::RunError;
use crate::run::Whose;

/// How the command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// Done, or nothing to do.
    Done = 0,
    /// A rule said no.
    Rejected = 1,
    /// The flow or its data is wrong.
    User = 2,
    /// Storage, a conflict, a limit.
    World = 3,
    /// Nobody knows whether the rows are there.
    Unknown = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl Exit {
    /// An error's end.
    pub(super) fn of_error(error: &RunError) -> Self {
        match error.whose() {
            Whose::User => Self::User,
            Whose::World => Self::World,
            Whose::Unknown => Self::Unknown,
        }
    }

    /// A run's end. Evidence that could not be kept does not undo a commit, so it is a warning, not another exit code.
    pub(super) fn of_run(ended: &Ended) -> Self {
        match (&ended.error, ended.record.status) {
            (Some(error), _) => Self::of_error(error),
            (None, Status::Rejected) => Self::Rejected,
            (None, Status::Succeeded | Status::NothingToDo) => Self::Done,
            (None, Status::Failed) => Self::World,
            (None, Status::Unknown) => Self::Unknown,
        }
    }
}
