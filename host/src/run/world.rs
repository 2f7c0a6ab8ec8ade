//! The world of a run: clock, ids, the machine. All time and all randomness enter here, so that a run can be repeated exactly.

use std::env;
use std::path::PathBuf;

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

    /// Where machine code of components is kept between runs: the user's cache folder. None in tests, which share nothing.
    #[must_use]
    pub fn code_folder(&self) -> Option<PathBuf> {
        match self {
            Self::Real => {
                let named =
                    |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
                let caches =
                    named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")))?;
                Some(caches.join("wasmhost").join("code"))
            }
            Self::At(_) => None,
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
