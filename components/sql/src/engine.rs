//! The engine: a session whose clock stands at the run's logical time.

use chrono::{DateTime, Utc};
use datafusion::execution::context::SessionContext;
use datafusion::execution::session_state::SessionState;
use wasmhost_guest::Context;

use crate::session;

/// A session for one run of steps.
pub(crate) struct Engine {
    pub(crate) context: SessionContext,
    started: DateTime<Utc>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("started", &self.started).finish_non_exhaustive()
    }
}

impl Engine {
    pub(crate) fn new(context: &Context) -> Self {
        let nanoseconds = i64::try_from(context.logical_time_ns).unwrap_or(i64::MAX);
        Self {
            context: session::session(context.seed),
            started: DateTime::from_timestamp_nanos(nanoseconds),
        }
    }

    /// The session as it is now. `now()` is the run's time, whatever clock there is.
    pub(crate) fn state(&self) -> SessionState {
        let mut state = self.context.state();
        state.execution_props_mut().query_execution_start_time = Some(self.started);
        state
    }
}
