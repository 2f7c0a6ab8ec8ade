//! A pool of instances of one opened component: one a core for stateless ones, one in all for the others.
//!
//! Instances are kept between batches and replaced after any breach; what the component may use is counted over all of them.

use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use arrow::array::Array;
use wasmtime::Store;

use crate::batch::Batch;
use crate::component::Limits;
use crate::component::usage::Usage;
use crate::sandbox::budget::Budget;
use crate::sandbox::error::Breach;
use crate::sandbox::instance::Deadline;
use crate::sandbox::instance::Guest;
use crate::sandbox::instance::Instance;

/// Log bytes that a run keeps of one component.
const RUN_LOG_BYTES_MAX: usize = 4 << 20;

/// What a line of log counts as beside its text: an empty one takes room as well.
const LOG_LINE_BYTES: usize = 32;

type Open<B> = dyn Fn() -> Result<Instance<B>, Breach> + Send + Sync;

/// Opened instances of one component in one run.
pub(super) struct Pool<B> {
    open: Box<Open<B>>,
    idle: Mutex<Vec<Instance<B>>>,
    ledger: Mutex<Ledger>,
    budget: Budget,
}

#[derive(Default)]
struct Ledger {
    usage: Usage,
    log_bytes: usize,
}

impl<B> Pool<B> {
    /// A pool whose first instance is opened already.
    pub(super) fn new(first: Instance<B>, limits: &Limits, open: Box<Open<B>>) -> Self {
        let usage = Usage { instances: 1, ..Usage::default() };
        Self {
            open,
            idle: Mutex::new(vec![first]),
            ledger: Mutex::new(Ledger { usage, log_bytes: 0 }),
            budget: Budget::new(limits),
        }
    }

    /// What the component may still use.
    pub(super) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Runs `work` on an instance of its own. The instance returns to the pool only if it kept its word.
    pub(super) fn with<T>(
        &self,
        work: impl FnOnce(&mut Instance<B>) -> Result<T, Breach>,
    ) -> Result<T, Breach> {
        let idle = lock(&self.idle).pop();
        let mut instance = match idle {
            Some(instance) => instance,
            None => self.another()?,
        };
        let done = work(&mut instance);
        self.book(&mut instance);
        if done.is_ok() {
            lock(&self.idle).push(instance);
        }
        done
    }

    /// Offers a batch in pieces of at most `rows`, in order. A piece that meets the memory limit is `halved`, down to one row.
    pub(super) fn pieces<T>(
        &self,
        batch: &Batch,
        rows: usize,
        halved: bool,
        work: &impl Fn(&mut Instance<B>, &Batch) -> Result<T, Breach>,
        take: &mut impl FnMut(T),
    ) -> Result<(), Breach> {
        let all = batch.rows.num_rows();
        for start in (0..all).step_by(rows) {
            let piece = batch.slice(start, rows.min(all - start));
            match self.with(|instance| work(instance, &piece)) {
                Ok(done) => take(done),
                Err(breach) if halved && breach.is_memory() && piece.rows.num_rows() > 1 => {
                    self.pieces(&piece, piece.rows.num_rows().div_ceil(2), halved, work, take)?;
                }
                Err(breach) => return Err(breach),
            }
        }
        Ok(())
    }

    /// Lets the instances go, and opens one anew.
    pub(super) fn restart(&self) -> Result<(), Breach> {
        lock(&self.idle).clear();
        let fresh = self.another()?;
        lock(&self.idle).push(fresh);
        Ok(())
    }

    /// Runs `end` on every instance, once, when the input is over. No instance is used afterwards.
    pub(super) fn end(
        &self,
        mut end: impl FnMut(&mut Instance<B>) -> Result<(), Breach>,
    ) -> Result<(), Breach> {
        let instances = std::mem::take(&mut *lock(&self.idle));
        for mut instance in instances {
            let done = end(&mut instance);
            self.book(&mut instance);
            done?;
        }
        Ok(())
    }

    /// Calls an export under its deadline and within the run's time.
    pub(super) fn call<T>(
        &self,
        instance: &mut Instance<B>,
        deadline: Deadline,
        export: impl FnOnce(&mut Store<Guest>, &B) -> wasmtime::Result<T>,
    ) -> Result<T, Breach> {
        let deadline = self.budget.within(deadline)?;
        let started = Instant::now();
        let answer = instance.call(deadline, export);
        self.budget.spend(started);
        answer
    }

    /// Books a batch's way in and out.
    pub(super) fn count(&self, bytes_in: usize, bytes_out: usize) {
        let usage = &mut lock(&self.ledger).usage;
        usage.calls += 1;
        usage.bytes_in += bytes_in as u64;
        usage.bytes_out += bytes_out as u64;
    }

    /// What was used so far.
    pub(super) fn usage(&self) -> Usage {
        Usage { busy_ms: self.budget.busy_ms(), ..lock(&self.ledger).usage.clone() }
    }

    /// A fresh instance; opening it is on the component's time too.
    fn another(&self) -> Result<Instance<B>, Breach> {
        let any = Deadline { limit: "run_ms", time: Duration::MAX };
        self.budget.within(any)?;
        let started = Instant::now();
        let opened = (self.open)();
        self.budget.spend(started);
        let instance = opened?;
        lock(&self.ledger).usage.instances += 1;
        Ok(instance)
    }

    fn book(&self, instance: &mut Instance<B>) {
        let memory = instance.memory_bytes() as u64;
        let (lines, dropped) = instance.log().take();
        let Ledger { usage, log_bytes } = &mut *lock(&self.ledger);
        usage.memory_bytes_peak = usage.memory_bytes_peak.max(memory);
        usage.log_lines_dropped += dropped;
        for line in lines {
            *log_bytes += line.text.len() + LOG_LINE_BYTES;
            if *log_bytes > RUN_LOG_BYTES_MAX {
                usage.log_lines_dropped += 1;
            } else {
                usage.log.push(line);
            }
        }
    }
}

/// A lock whose holder panicked guards plain values here: they are as good as before.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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

/// How many rows of a batch are offered at once: the fewest of what the limits, the component and the bytes that enter allow.
pub(super) fn rows_offered(
    limits: &Limits,
    max_rows: Option<usize>,
    batch: &Batch,
    projection: &[usize],
) -> usize {
    let rows = batch.rows.num_rows();
    let size = |at: &usize| batch.rows.column(*at).to_data().get_slice_memory_size().unwrap_or(0);
    let bytes: usize = projection.iter().map(size).sum();
    let cap = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
    let by_bytes = if bytes as u64 > limits.batch_bytes {
        let share = rows as u128 * u128::from(limits.batch_bytes) / bytes as u128;
        usize::try_from(share).unwrap_or(rows)
    } else {
        rows
    };
    by_bytes.min(cap(limits.batch_rows)).min(max_rows.unwrap_or(usize::MAX)).max(1)
}
