//! The engine's settings: the sandbox's walls; the reason of each stands beside it.
//!
//! The build of the standard library compiles this very file, so that machine code made there fits the engine here.

use wasmtime::Config;
use wasmtime::OptLevel;

/// The stack of a guest where a flow asks for no other. Machine code does not depend on it.
pub const STACK_BYTES: usize = 1 << 20;

/// The settings of an engine whose guests have so many bytes of stack.
pub fn config(stack: usize) -> Config {
    let mut config = Config::new();
    config
        // Component-model async: more host code per call, and a batch needs none of it.
        .concurrency_support(false)
        // Epochs, not fuel: all we need is a deadline, and counting instructions taxes every batch.
        .epoch_interruption(true)
        .max_wasm_stack(stack)
        .cranelift_opt_level(OptLevel::Speed)
        .wasm_simd(true)
        // Off: what differs between machines, what shares memory, what our guests have no use for.
        .wasm_relaxed_simd(false)
        .wasm_threads(false)
        .shared_memory(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_gc(false)
        .wasm_function_references(false)
        .wasm_exceptions(false)
        .wasm_tail_call(false)
        .wasm_wide_arithmetic(false);
    config
}
