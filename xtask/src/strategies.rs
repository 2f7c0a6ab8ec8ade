//! The benchmark of the load strategies: the command end to end, beside Python's `deltalake` and polars on the same rows.
use anyhow::Result;

use crate::repo::{Repo, run as run_command};
use crate::verify;

/// Builds the command as fast as loads need it, and measures; `args` are the script's.
pub(crate) fn run(repo: &Repo, args: &[&str]) -> Result<()> {
    let python = verify::python(repo, &["deltalake", "duckdb", "polars"])?;
    let build = ["build", "--locked", "--profile", "speed", "--workspace", "--bin", "wasmhost"];
    run_command(repo.cargo().args(build))?;
    let script = repo.root.join("xtask/strategies.py");
    let wasmhost = repo.target.join("speed/wasmhost");
    let work = repo.target.join("strategies");
    run_command(repo.command(&python).arg(script).arg("measure").args([wasmhost, work]).args(args))
}
