//! What becomes of the table: edits of stored rows, by their place, and rows that are new.

use crate::table::Counts;
use crate::writer::stored::At;

/// What happens to a stored row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edit {
    /// It takes the values of this staged row.
    Take(u32),
    /// The same, and it is marked as deleted.
    Bury(u32),
    /// It is marked as deleted and keeps its values.
    Mark,
    /// It goes.
    Remove,
    /// Its version ends, at this one of the decision's ends; perhaps it takes the values of a staged row before.
    End { end: u32, takes: Option<u32> },
}

impl Edit {
    /// The staged row whose values it takes.
    pub(super) fn takes(self) -> Option<u32> {
        match self {
            Self::Take(staged) | Self::Bury(staged) => Some(staged),
            Self::End { takes, .. } => takes,
            Self::Mark | Self::Remove => None,
        }
    }
}

/// A row that is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Insert {
    /// The staged row whose values it has.
    pub(super) staged: u32,
    pub(super) state: State,
}

/// What the columns of the change itself say of a new row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It holds.
    Live,
    /// It is there to say that its key is deleted.
    Buried,
    /// It is a version that ended, at this one of the decision's ends.
    Ended(u32),
}

/// What becomes of the table.
#[derive(Debug, Default)]
pub(super) struct Decision {
    /// By place.
    pub(super) edits: Vec<(At, Edit)>,
    /// By staged row, ascending.
    pub(super) inserts: Vec<Insert>,
    /// Moments at which versions end, in bytes of the effective column.
    pub(super) ends: Vec<Box<[u8]>>,
    pub(super) counts: Counts,
}
