//! All tests, the host's last, so that the output ends with their summary.
use anyhow::Result;

use crate::guests;
use crate::python;
use crate::repo::{GUEST_MANIFEST, Repo, run as run_command};
use crate::setup;

/// Sets up, builds what the tests need, and runs them all.
///
/// # Errors
/// Also when a single test failed; the guests' failing tests keep the host's from running.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    setup::for_tests(repo)?;
    guests::build(repo)?;
    guests_natively(repo)?;
    build_host(repo)?;
    host(repo)
}

/// The guests' own tests: the same code, without Wasm.
pub(crate) fn guests_natively(repo: &Repo) -> Result<()> {
    run_command(repo.guest_cargo().args([
        "test",
        "--locked",
        "--no-fail-fast",
        "--workspace",
        "--manifest-path",
        GUEST_MANIFEST,
    ]))
}

/// Builds the command, which tests may start, and the tests.
pub(crate) fn build_host(repo: &Repo) -> Result<()> {
    run_command(repo.cargo().args(["build", "--locked", "--workspace"]))?;
    run_command(repo.cargo().args(["test", "--locked", "--workspace", "--no-run"]))
}

/// The host's tests; they find the guests by `WASMHOST_GUESTS`.
pub(crate) fn host(repo: &Repo) -> Result<()> {
    run_command(
        repo.cargo()
            .args(["test", "--locked", "--no-fail-fast", "--workspace"])
            .env("WASMHOST_GUESTS", repo.guests())
            .env("WASMHOST_TEST_PYTHON", python::servers(repo)?),
    )
}
