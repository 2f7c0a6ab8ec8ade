//! The command line: one command a file. Everything that is printed is printed here.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;

mod call;
mod check;
mod explain;
mod outcome;
mod render;
mod run;
mod runs;
mod schema;

use call::Call;
use call::Command;
use call::FlowFile;
use outcome::Exit;

use crate::flow::Flow;
use crate::run::World;
use crate::storage::tabular;
use crate::table::RunId;

/// Stack of the threads that call guests: the guest's own (at most 4 MiB) and the host's below it.
const THREAD_STACK_BYTES: usize = 8 << 20;

/// Runs the command that the arguments name.
#[must_use]
pub fn main() -> ExitCode {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !tabular::is_guarded() {
            tell(panic);
        }
    }));
    // Wrong arguments are the user's mistake, exit code 2, which clap uses as well.
    let Call { command } = Call::parse();
    let ended = match command {
        Command::Run(call) => run::run(&call),
        Command::Check(call) => check::check(&call),
        Command::Explain(call) => explain::explain(&call),
        Command::Runs(call) => runs::runs(&call),
        Command::Schema => Ok(schema::schema()),
    };
    ended.unwrap_or_else(|early| early).into()
}

/// The flow as a run of this id would see it; its problems are told.
fn read(flow: &FlowFile, world: World, run_id: &RunId, as_json: bool) -> Result<Arc<Flow>, Exit> {
    flow.read(world, run_id).map_err(|problems| {
        render::problems(&problems, as_json);
        Exit::User
    })
}

/// The threads that a run works on; why there are none is told.
fn runtime() -> Result<tokio::runtime::Runtime, Exit> {
    let started =
        tokio::runtime::Builder::new_multi_thread().thread_stack_size(THREAD_STACK_BYTES).build();
    started.map_err(|error| {
        render::err(&format!("error: no threads to work on: {error}"));
        Exit::World
    })
}
