//! One instance of a component: its store, its limits, and the one way to call it.

use std::time::Duration;

use wasmtime::ResourceLimiter;
use wasmtime::Store;
use wasmtime::Trap;
use wasmtime::WasmBacktrace;

use crate::component::Limits;
use crate::problem::escape;
use crate::sandbox::engine::TICK;
use crate::sandbox::error::Breach;
use crate::sandbox::log::CallLog;

/// Core instances, memories and tables a component may have, and elements a table.
const INSTANCES_MAX: usize = 16;
const MEMORIES_MAX: usize = 4;
const TABLES_MAX: usize = 8;
// The engine of `std:sql` has 27,000 functions that are called by pointer.
const TABLE_ELEMENTS_MAX: usize = 40_000;
const HANDLES_MAX: usize = 1_000;

/// What the engine may copy for one call beyond the bytes that a call may return: bitmaps, reasons, texts.
const COPY_SLACK_BYTES: u64 = 4 << 20;

/// How many of the guest's frames an error shows.
const FRAMES_SHOWN: usize = 4;

/// Frames between a panic and the trap that it ends in.
const MACHINERY: [&str; 4] = ["panick", "rust_begin_unwind", "__rust", "wasmhost_guest::panic"];

/// What belongs to one store: what it said and what it holds.
pub(super) struct Guest {
    pub(super) log: CallLog,
    memory: MemoryBudget,
}

/// Sums all memories of an instance, and remembers a refusal: to the guest it looks like any failed allocation.
struct MemoryBudget {
    bytes: usize,
    bytes_max: usize,
    last_growth: usize,
    refused: Option<usize>,
}

impl ResourceLimiter for MemoryBudget {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        // Beyond the memory's own maximum the engine refuses by itself, after asking.
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let growth = desired.saturating_sub(current);
        let wanted = self.bytes.saturating_add(growth);
        if wanted > self.bytes_max {
            self.refused = Some(wanted);
            return Ok(false);
        }
        (self.bytes, self.last_growth) = (wanted, growth);
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.bytes = self.bytes.saturating_sub(std::mem::take(&mut self.last_growth));
        Ok(())
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ELEMENTS_MAX)
    }

    fn instances(&self) -> usize {
        INSTANCES_MAX
    }

    fn tables(&self) -> usize {
        TABLES_MAX
    }

    fn memories(&self) -> usize {
        MEMORIES_MAX
    }
}

/// Which limit a call's time is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    /// The limit's name in flow files.
    pub(super) limit: &'static str,
    /// The time allowed.
    pub(super) time: Duration,
}

/// A component at work. After any error of [`Instance::call`] it must be dropped: a trapped store is garbage.
pub(super) struct Instance<B> {
    store: Store<Guest>,
    bindings: B,
    output_max: u64,
    buffer: Vec<u8>,
    /// Whether it was given its other inputs.
    pub(super) is_fed: bool,
}

impl<B> Instance<B> {
    /// A fresh instance in a store of its own.
    pub(super) fn new(
        engine: &wasmtime::Engine,
        limits: &Limits,
        instantiate: impl FnOnce(&mut Store<Guest>) -> wasmtime::Result<B>,
    ) -> Result<Self, Breach> {
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let memory = MemoryBudget {
            bytes: 0,
            bytes_max: size(limits.memory_bytes),
            last_growth: 0,
            refused: None,
        };
        let mut store = Store::new(engine, Guest { log: CallLog::new(limits), memory });
        store.limiter(|guest| &mut guest.memory);
        store.set_hostcall_fuel(size(limits.output_bytes.saturating_add(COPY_SLACK_BYTES)));
        store.set_max_component_handles(HANDLES_MAX);
        // Start functions of the guest's modules run here.
        let deadline = Deadline { limit: "open_ms", time: Duration::from_millis(limits.open_ms) };
        set_deadline(&mut store, deadline);
        let bindings = instantiate(&mut store)
            .map_err(|error| breach(&store, deadline, &error, Breach::Load))?;
        Ok(Self {
            store,
            bindings,
            output_max: limits.output_bytes,
            buffer: Vec::new(),
            is_fed: false,
        })
    }

    /// Calls an export under a deadline.
    pub(super) fn call<T>(
        &mut self,
        deadline: Deadline,
        export: impl FnOnce(&mut Store<Guest>, &B) -> wasmtime::Result<T>,
    ) -> Result<T, Breach> {
        set_deadline(&mut self.store, deadline);
        self.store.data_mut().memory.refused = None;
        let answer = export(&mut self.store, &self.bindings);
        let output_max = self.output_max;
        answer.map_err(|error| {
            // The engine has no type of its own for an answer that is too large; where its words say so, it is the limit.
            if format!("{error:#}").contains("fuel allocated for hostcalls has been exhausted") {
                let allowed = format!("{output_max} bytes a call");
                return Breach::Limit { limit: "output_bytes", allowed, asked: None };
            }
            let other = |what| {
                Breach::Protocol(format!(
                    "{what} (the limit `output_bytes` allows {output_max} bytes a call)"
                ))
            };
            breach(&self.store, deadline, &error, other)
        })
    }

    /// A vector for the bytes of a batch; the one that was kept, so that each batch needs no fresh memory.
    pub(super) fn take_buffer(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buffer)
    }

    /// Keeps the vector for the next batch.
    pub(super) fn keep_buffer(&mut self, buffer: Vec<u8>) {
        self.buffer = buffer;
    }

    /// The log since the last time.
    pub(super) fn log(&mut self) -> &mut CallLog {
        &mut self.store.data_mut().log
    }

    /// Bytes that all memories of the instance hold.
    pub(super) fn memory_bytes(&self) -> usize {
        self.store.data().memory.bytes
    }
}

fn set_deadline(store: &mut Store<Guest>, deadline: Deadline) {
    // One tick more: the running tick is partly over already.
    let ticks = deadline.time.as_nanos().div_ceil(TICK.as_nanos()) + 1;
    store.set_epoch_deadline(u64::try_from(ticks).unwrap_or(u64::MAX));
}

/// What an error of the engine means in our words. `other` names what is neither a trap nor a limit.
fn breach(
    store: &Store<Guest>,
    deadline: Deadline,
    error: &wasmtime::Error,
    other: impl Fn(String) -> Breach,
) -> Breach {
    let guest = store.data();
    let trap = error.downcast_ref::<Trap>();
    if trap == Some(&Trap::Interrupt) {
        return Breach::Limit {
            limit: deadline.limit,
            allowed: format!("{} ms", deadline.time.as_millis()),
            asked: None,
        };
    }
    if trap == Some(&Trap::StackOverflow) {
        return Breach::Limit {
            limit: "wasm_stack_bytes",
            allowed: "no deeper stack".to_owned(),
            asked: None,
        };
    }
    if let Some(asked) = guest.memory.refused {
        let allowed = format!("{} bytes", guest.memory.bytes_max);
        return Breach::Limit { limit: "memory_bytes", allowed, asked: Some(format!("{asked}")) };
    }
    let Some(trap) = trap else { return other(escape(&format!("{error:#}"))) };
    let frames = frames(error);
    let what = match (guest.log.panic(), trap) {
        (Some(panic), _) => panic.to_owned(),
        // Compilers keep part of the stack in the guest's own memory, where running over it is an access out of bounds.
        (None, Trap::MemoryOutOfBounds) if recurses(&frames) => {
            format!("its stack ran over in endless recursion ({trap})")
        }
        (None, _) => trap.to_string(),
    };
    let place = if frames.is_empty() {
        String::new()
    } else {
        format!(" (in {})", frames.join(", called by "))
    };
    Breach::Trap(format!("{what}{place}"))
}

/// Whether the innermost frames are all of one function.
fn recurses(frames: &[String]) -> bool {
    frames.len() == FRAMES_SHOWN && frames.iter().all(|frame| *frame == frames[0])
}

/// The guest's innermost named frames, without those that every panic has.
fn frames(error: &wasmtime::Error) -> Vec<String> {
    let Some(trace) = error.downcast_ref::<WasmBacktrace>() else { return Vec::new() };
    let machinery = |name: &str| MACHINERY.iter().any(|part| name.contains(part));
    // `{:#}` leaves the compiler's hash out.
    let names = trace
        .frames()
        .iter()
        .filter_map(|frame| Some(format!("{:#}", rustc_demangle::demangle(frame.func_name()?))));
    names.filter(|name| !machinery(name)).map(|name| escape(&name)).take(FRAMES_SHOWN).collect()
}
