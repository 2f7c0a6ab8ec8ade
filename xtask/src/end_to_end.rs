//! The benchmarks of the command end to end, each by a script: load strategies beside Python's `deltalake` and polars, built-in steps
//! and rules beside Polars and DuckDB, a large file copied in little memory beside DuckDB; on the same rows.
use anyhow::Result;

use crate::python::{READERS, python};
use crate::repo::{Repo, run as run_command};

/// Builds the command as fast as loads need it, and measures what the script `name` says; `args` are the script's.
pub(crate) fn run(repo: &Repo, name: &str, args: &[&str]) -> Result<()> {
    let python = python(repo, READERS, &["deltalake", "duckdb", "polars"])?;
    let build = ["build", "--locked", "--profile", "speed", "--workspace", "--bin", "wasmhost"];
    run_command(repo.cargo().args(build))?;
    let script = repo.root.join("xtask").join(name).with_extension("py");
    let wasmhost = repo.target.join("speed/wasmhost");
    let work = repo.target.join(name);
    run_command(repo.command(&python).arg(script).arg("measure").args([wasmhost, work]).args(args))
}
