//! The world of a run: clock and ids. All time and all randomness enter here, so that a run can be repeated exactly.

use chrono::DateTime;
use chrono::SubsecRound as _;
use chrono::Utc;
use uuid::Uuid;

use crate::table::RunId;

/// Where time and ids come from.
#[derive(Debug, Clone, Copy, Default)]
pub enum World {
    /// The machine's.
    #[default]
    Real,
    /// A clock that stands still; for tests.
    At(DateTime<Utc>),
}

impl World {
    /// Now, UTC, to the microsecond: what every format can hold.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        match self {
            Self::Real => Utc::now().trunc_subsecs(6),
            Self::At(time) => *time,
        }
    }

    /// A fresh run id: ids of later runs sort after those of earlier ones.
    #[must_use]
    pub fn run_id(&self) -> RunId {
        let id = Uuid::now_v7().simple().to_string();
        // Hexadecimal digits are a run id.
        RunId::new(id).unwrap_or_else(|_| unreachable!("an UUID is a run id"))
    }
}
