//! A pool of instances of one opened component: one a core for stateless ones, one in all for the others.
//!
//! Instances are kept between batches and replaced after any breach.

use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use crate::component::Limits;
use crate::component::usage::Usage;
use crate::sandbox::error::Breach;
use crate::sandbox::instance::Deadline;
use crate::sandbox::instance::Instance;

/// Log bytes that a run keeps of one component.
const RUN_LOG_BYTES_MAX: usize = 4 << 20;

/// What a row counts as in the amplification limit, beside the bytes given: a component may compute without reading.
const ROW_BYTES: u64 = 16;

/// Output that needs no input.
const FREE_BYTES: u64 = 1 << 20;

/// Rows returned over rows given, of components that make rows.
pub(super) const ROWS_FACTOR: u64 = 64;

/// An instance and what it was given and gave, for the amplification limit.
pub(super) struct Seat<B> {
    pub(super) instance: Instance<B>,
    given_bytes: u64,
    given_rows: u64,
    returned_bytes: u64,
    returned_rows: u64,
}

impl<B> Seat<B> {
    pub(super) fn new(instance: Instance<B>) -> Self {
        Self { instance, given_bytes: 0, given_rows: 0, returned_bytes: 0, returned_rows: 0 }
    }

    /// Books what enters.
    pub(super) fn give(&mut self, bytes: usize, rows: usize) {
        self.given_bytes += bytes as u64 + ROW_BYTES * rows as u64;
        self.given_rows += rows as u64;
    }

    /// Books what came back of one call, before it is decoded.
    pub(super) fn take_back(&mut self, bytes: usize, limits: &Limits) -> Result<(), Breach> {
        let bytes = bytes as u64;
        if bytes > limits.output_bytes {
            let asked = Some(format!("{bytes}"));
            return Err(Breach::Limit {
                limit: "output_bytes",
                allowed: format!("{} bytes a call", limits.output_bytes),
                asked,
            });
        }
        self.returned_bytes += bytes;
        let allowed =
            self.given_bytes.saturating_mul(limits.amplification).saturating_add(FREE_BYTES);
        if self.returned_bytes > allowed {
            let asked = Some(format!("{}", self.returned_bytes));
            return Err(Breach::Limit {
                limit: "amplification",
                allowed: format!("{allowed} bytes for what it was given"),
                asked,
            });
        }
        Ok(())
    }

    /// Rows that may still come back.
    pub(super) fn rows_left(&self) -> usize {
        let allowed =
            self.given_rows.saturating_mul(ROWS_FACTOR).saturating_add(ROWS_FACTOR * 1024);
        usize::try_from(allowed.saturating_sub(self.returned_rows)).unwrap_or(usize::MAX)
    }

    /// Rows that came back so far; of a rule, rows that it judged.
    pub(super) fn rows_returned(&self) -> u64 {
        self.returned_rows
    }

    /// Books rows that came back.
    pub(super) fn returned(&mut self, rows: usize) {
        self.returned_rows += rows as u64;
    }
}

type Open<B> = dyn Fn() -> Result<Instance<B>, Breach> + Send + Sync;

/// Opened instances of one component in one run.
pub(super) struct Pool<B> {
    open: Box<Open<B>>,
    idle: Mutex<Vec<Seat<B>>>,
    usage: Mutex<Usage>,
    busy_ns: AtomicU64,
    run_time_max: Duration,
}

impl<B> Pool<B> {
    /// A pool whose first instance is opened already.
    pub(super) fn new(first: Instance<B>, limits: &Limits, open: Box<Open<B>>) -> Self {
        let usage = Usage { instances: 1, ..Usage::default() };
        Self {
            open,
            idle: Mutex::new(vec![Seat::new(first)]),
            usage: Mutex::new(usage),
            busy_ns: AtomicU64::new(0),
            run_time_max: Duration::from_millis(limits.run_ms),
        }
    }

    /// Runs `work` on an instance of its own, under the run's time limit. The instance returns to the pool only if it kept its word.
    pub(super) fn with<T>(
        &self,
        work: impl FnOnce(&mut Seat<B>) -> Result<T, Breach>,
    ) -> Result<T, Breach> {
        if Duration::from_nanos(self.busy_ns.load(Ordering::Relaxed)) > self.run_time_max {
            let allowed = format!("{} ms over all calls of a run", self.run_time_max.as_millis());
            return Err(Breach::Limit { limit: "run_ms", allowed, asked: None });
        }
        let idle = lock(&self.idle).pop();
        let mut seat = match idle {
            Some(seat) => seat,
            None => {
                let seat = Seat::new((self.open)()?);
                lock(&self.usage).instances += 1;
                seat
            }
        };
        let started = Instant::now();
        let done = work(&mut seat);
        self.spend(started);
        self.book(&mut seat);
        if done.is_ok() {
            lock(&self.idle).push(seat);
        }
        done
    }

    /// Runs `end` on every instance, once, when the input is over. No instance is used afterwards.
    pub(super) fn end(
        &self,
        mut end: impl FnMut(&mut Seat<B>) -> Result<(), Breach>,
    ) -> Result<(), Breach> {
        let seats = std::mem::take(&mut *lock(&self.idle));
        for mut seat in seats {
            let started = Instant::now();
            let done = end(&mut seat);
            self.spend(started);
            self.book(&mut seat);
            done?;
        }
        Ok(())
    }

    /// Books a batch's way in and out.
    pub(super) fn count(&self, bytes_in: usize, bytes_out: usize) {
        let mut usage = lock(&self.usage);
        usage.calls += 1;
        usage.bytes_in += bytes_in as u64;
        usage.bytes_out += bytes_out as u64;
    }

    /// What was used so far.
    pub(super) fn usage(&self) -> Usage {
        let busy_ms = self.busy_ns.load(Ordering::Relaxed) / 1_000_000;
        Usage { busy_ms, ..lock(&self.usage).clone() }
    }

    fn spend(&self, started: Instant) {
        let spent = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.busy_ns.fetch_add(spent, Ordering::Relaxed);
    }

    fn book(&self, seat: &mut Seat<B>) {
        let memory = seat.instance.memory_bytes() as u64;
        let (lines, dropped) = seat.instance.log().take();
        let mut usage = lock(&self.usage);
        usage.memory_bytes_peak = usage.memory_bytes_peak.max(memory);
        usage.log_lines_dropped += dropped;
        let mut bytes: usize =
            if lines.is_empty() { 0 } else { usage.log.iter().map(|line| line.text.len()).sum() };
        for line in lines {
            bytes += line.text.len();
            if bytes > RUN_LOG_BYTES_MAX {
                usage.log_lines_dropped += 1;
            } else {
                usage.log.push(line);
            }
        }
    }
}

/// A lock whose holder panicked guards plain values here: they are as good as before.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The deadline of a call with a batch.
pub(super) fn batch_deadline(limits: &Limits, rows: usize) -> Deadline {
    Deadline { limit: "process_ms", time: limits.process_time(rows) }
}

/// The deadline of `end-input`, `finish` and `conclude`.
pub(super) fn end_deadline(limits: &Limits) -> Deadline {
    Deadline { limit: "finish_ms", time: Duration::from_millis(limits.finish_ms) }
}

/// The deadline of `describe` and `open`.
pub(super) fn open_deadline(limits: &Limits) -> Deadline {
    Deadline { limit: "open_ms", time: Duration::from_millis(limits.open_ms) }
}

/// How many rows of a batch are offered at once: the smallest of what the limits, the component and the bytes allow.
pub(super) fn rows_offered(
    limits: &Limits,
    max_rows: Option<usize>,
    rows: usize,
    bytes: usize,
) -> usize {
    let cap = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
    let by_bytes = if bytes as u64 > limits.batch_bytes {
        let share = rows as u128 * u128::from(limits.batch_bytes) / bytes as u128;
        usize::try_from(share).unwrap_or(rows)
    } else {
        rows
    };
    by_bytes.min(cap(limits.batch_rows)).min(max_rows.unwrap_or(usize::MAX)).max(1)
}
