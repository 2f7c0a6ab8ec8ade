//! The command line: one command a file. Everything that is printed is printed here.

use std::process::ExitCode;

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

/// Stack of the threads that call guests: the guest's own (at most 4 MiB) and the host's below it.
const THREAD_STACK_BYTES: usize = 8 << 20;

/// Runs the command that the arguments name.
#[must_use]
pub fn main() -> ExitCode {
    // Wrong arguments are the user's mistake, exit code 2, which clap uses as well.
    let Call { command } = Call::parse();
    match command {
        Command::Run(call) => run::run(call),
        Command::Check(call) => check::check(&call),
        Command::Explain(call) => explain::explain(&call),
        Command::Runs(call) => runs::runs(&call),
        Command::Schema => schema::schema(),
    }
}

/// The threads that a run works on.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().thread_stack_size(THREAD_STACK_BYTES).build()
}
