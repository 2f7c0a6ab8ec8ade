//! What crossing the sandbox costs: `cargo xtask bench`.
//!
//! The host's lower rows (see the import law) are compiled into this program by path, without formats and tables: they depend on
//! nothing else of the host, and a release build of them takes minutes.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![expect(
    clippy::duplicate_mod,
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "the host's modules have more users than this one"
)]

#[path = "../../host/src/batch.rs"]
mod batch;
#[path = "../../host/src/component/mod.rs"]
mod component;
#[path = "../../host/src/flow/mod.rs"]
mod flow;
#[path = "../../host/src/name.rs"]
mod name;
#[path = "../../host/src/problem.rs"]
mod problem;
#[path = "../../host/src/sandbox/mod.rs"]
mod sandbox;
#[path = "../../host/src/table/mod.rs"]
mod table;

// Once more, as the sandbox keeps its own to itself.
#[path = "../../guest-sdk/src/encode.rs"]
mod encode;
#[path = "../../tests/guests/echo/src/kernel.rs"]
mod kernel;

mod crossing;
mod measure;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(guests) = std::env::var_os("WASMHOST_GUESTS").map(PathBuf::from) else {
        println!(
            "WASMHOST_GUESTS must name the folder of the built guests; `cargo xtask bench` sets it"
        );
        return ExitCode::FAILURE;
    };
    match crossing::run(&guests.join("guest_echo.wasm")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("the benchmark stopped: {error}");
            ExitCode::FAILURE
        }
    }
}
