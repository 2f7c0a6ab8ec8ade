//! What a component may still use in a run, over all its instances: a fresh instance brings no fresh budget.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use crate::component::Limits;
use crate::sandbox::error::Breach;
use crate::sandbox::instance::Deadline;

/// What a row counts as in the amplification limit, beside the bytes given: a component may compute without reading.
const ROW_BYTES: u64 = 16;

/// Output that needs no input.
const FREE_BYTES: u64 = 1 << 20;

/// What an answer at the end of the input costs at least: an endless row of empty ones must end.
pub(super) const ANSWER_BYTES: usize = 4096;

/// Rows returned over rows given, of components that make rows.
const ROWS_FACTOR: u64 = 64;

/// Rows that need no input.
const FREE_ROWS: u64 = 65_536;

/// Counters of one component in one run.
#[derive(Debug)]
pub(super) struct Budget {
    given_bytes: AtomicU64,
    given_rows: AtomicU64,
    returned_bytes: AtomicU64,
    returned_rows: AtomicU64,
    busy_ns: AtomicU64,
    run_time_max: Duration,
    output_max: u64,
    amplification: u64,
}

impl Budget {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            given_bytes: AtomicU64::new(0),
            given_rows: AtomicU64::new(0),
            returned_bytes: AtomicU64::new(0),
            returned_rows: AtomicU64::new(0),
            busy_ns: AtomicU64::new(0),
            run_time_max: Duration::from_millis(limits.run_ms),
            output_max: limits.output_bytes,
            amplification: limits.amplification,
        }
    }

    /// Books what enters.
    pub(super) fn give(&self, bytes: usize, rows: usize) {
        self.given_bytes.fetch_add(bytes as u64 + ROW_BYTES * rows as u64, Ordering::Relaxed);
        self.given_rows.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// Books what came back of one call, before it is decoded.
    pub(super) fn take_back(&self, bytes: usize) -> Result<(), Breach> {
        let bytes = bytes as u64;
        if bytes > self.output_max {
            let allowed = format!("{} bytes a call", self.output_max);
            return Err(Breach::Limit {
                limit: "output_bytes",
                allowed,
                asked: Some(bytes.to_string()),
            });
        }
        let returned =
            self.returned_bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let given = self.given_bytes.load(Ordering::Relaxed);
        let allowed = given.saturating_mul(self.amplification).saturating_add(FREE_BYTES);
        if returned > allowed {
            let allowed = format!("{allowed} bytes for what it was given");
            return Err(Breach::Limit {
                limit: "amplification",
                allowed,
                asked: Some(returned.to_string()),
            });
        }
        Ok(())
    }

    /// Whether rows that are repeated may take so many bytes, where the rows that they repeat take `of`.
    pub(super) fn repeat(&self, bytes: u64, of: u64) -> Result<(), Breach> {
        let allowed = of.saturating_mul(self.amplification).saturating_add(FREE_BYTES);
        if bytes > allowed {
            let allowed = format!("{allowed} bytes of carried columns for this batch");
            return Err(Breach::Limit {
                limit: "amplification",
                allowed,
                asked: Some(bytes.to_string()),
            });
        }
        Ok(())
    }

    /// Rows that may still come back.
    pub(super) fn rows_left(&self) -> usize {
        let given = self.given_rows.load(Ordering::Relaxed);
        let allowed = given.saturating_mul(ROWS_FACTOR).saturating_add(FREE_ROWS);
        let left = allowed.saturating_sub(self.returned_rows.load(Ordering::Relaxed));
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// Books rows that came back.
    pub(super) fn returned(&self, rows: usize) {
        self.returned_rows.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// A call's deadline, cut to what is left of the run's time.
    pub(super) fn within(&self, deadline: Deadline) -> Result<Deadline, Breach> {
        let left = self
            .run_time_max
            .saturating_sub(Duration::from_nanos(self.busy_ns.load(Ordering::Relaxed)));
        if left.is_zero() {
            let allowed = format!("{} ms over all calls of a run", self.run_time_max.as_millis());
            return Err(Breach::Limit { limit: "run_ms", allowed, asked: None });
        }
        Ok(if left < deadline.time { Deadline { limit: "run_ms", time: left } } else { deadline })
    }

    /// Books the time since.
    pub(super) fn spend(&self, since: Instant) {
        let spent = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.busy_ns.fetch_add(spent, Ordering::Relaxed);
    }

    /// Time spent so far.
    pub(super) fn busy_ms(&self) -> u64 {
        self.busy_ns.load(Ordering::Relaxed) / 1_000_000
    }
}
