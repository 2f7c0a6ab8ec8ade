//! The benchmark of the sandbox, in a release build of what it needs: minutes, where the whole host takes three quarters of an hour.
use anyhow::Result;

use crate::guests;
use crate::repo::{Repo, run as run_command};
use crate::setup;

/// Sets up, builds the guests and the benchmark, runs it.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    setup::run(repo)?;
    guests::build(repo)?;
    let mut cargo = repo.cargo();
    cargo.args(["run", "--release", "--locked", "--package", "wasmhost-bench"]);
    cargo.env("WASMHOST_GUESTS", repo.guests());
    run_command(&mut cargo)
}
