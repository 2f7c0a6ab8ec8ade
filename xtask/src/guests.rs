//! Guests: built for the sandbox, and put where the example's flow and the tests look for them.
use std::fs;

use anyhow::{Context, Result};

use crate::repo::{GUEST_MANIFEST, GUEST_TARGET, Repo, guest_rustc, run as run_command};
use crate::setup;

/// The components that examples/flights/flow.yaml names.
const EXAMPLE: [&str; 2] = ["tidy_flights.wasm", "possible_air_time.wasm"];

/// Sets up and builds.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    setup::run(repo)?;
    build(repo)
}

/// Builds all guests and copies the example's components to examples/flights/components.
pub(crate) fn build(repo: &Repo) -> Result<()> {
    // The SDK is a library; on its own it makes no component.
    let mut cargo = repo.guest_cargo();
    cargo.args([
        "build",
        "--release",
        "--locked",
        "--target",
        GUEST_TARGET,
        "--manifest-path",
        GUEST_MANIFEST,
    ]);
    cargo.args(["--workspace", "--exclude", "wasmhost-guest"]);
    if let Some(rustc) = guest_rustc() {
        cargo.env("RUSTC", rustc);
    }
    // A panic shows where it happened; folders of this machine have no place there, nor in a component's digest.
    let cargo_home = std::env::var("CARGO_HOME")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))?;
    let root = repo.root.display();
    let flags = format!(
        "-Ctarget-feature=+simd128 --remap-path-prefix={root}=wasmhost --remap-path-prefix={cargo_home}=cargo"
    );
    cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", flags);
    run_command(&mut cargo)?;
    println!("guests: {}", repo.guests().display());

    let components = repo.root.join("examples/flights/components");
    fs::create_dir_all(&components)?;
    for name in EXAMPLE {
        let built = repo.guests().join(name);
        let bytes = fs::copy(&built, components.join(name))
            .with_context(|| format!("cannot copy {}", built.display()))?;
        println!("guests: examples/flights/components/{name} ({} KiB)", bytes.div_ceil(1024));
    }
    Ok(())
}
