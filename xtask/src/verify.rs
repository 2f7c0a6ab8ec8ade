//! What wasmhost wrote, held against an independent computation: DuckDB over the same CSV, Python `deltalake` over the table.
//! Not part of CI: it installs from a registry, and a year of flights takes a while in a debug build.
use std::env;
use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use crate::guests;
use crate::python::{READERS, python};
use crate::repo::{Repo, run as run_command};
use crate::setup;

/// What is verified unless a file is named.
const JANUARY: &str = "examples/flights/data/flights-2013-01.csv";

/// Sets up, builds, runs a flow over the flights in `file`, and compares what it wrote.
///
/// # Errors
/// The first number that differs, or what is missing.
pub(crate) fn run(repo: &Repo, file: Option<&str>) -> Result<()> {
    let input = match file {
        Some(file) => env::current_dir()?.join(file),
        None => repo.root.join(JANUARY),
    };
    if !input.is_file() {
        bail!("{}: no such file", input.display());
    }
    let python = python(repo, READERS, &["deltalake", "duckdb", "pyarrow"])?;
    setup::run(repo)?;
    guests::build(repo)?;
    run_command(repo.cargo().args(["build", "--locked", "--workspace"]))?;

    let work = repo.target.join("verify");
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    fs::create_dir_all(&work)?;
    let script = repo.root.join("xtask/verify.py");
    run_command(repo.command(&python).arg(&script).arg("prepare").arg(&input).arg(&work))?;
    fs::write(work.join("flow.yaml"), flow(&repo.guests()))?;
    let wasmhost = repo.target.join("debug/wasmhost");
    run_command(
        repo.command(&wasmhost).arg("run").arg(work.join("flow.yaml")).args(["--run-id", "verify"]),
    )?;
    run_command(repo.command(&python).arg(&script).arg("compare").arg(&work))?;
    strategies(repo, &python)
}

/// Tables of all load strategies, as the model's random sequences leave them, read by others.
fn strategies(repo: &Repo, python: &Path) -> Result<()> {
    let kept = repo.target.join("verify-model");
    if kept.exists() {
        fs::remove_dir_all(&kept)?;
    }
    fs::create_dir_all(&kept)?;
    run_command(
        repo.cargo()
            .args(["test", "--locked", "--workspace", "--", "--quiet", "model::sequences"])
            .env("WASMHOST_GUESTS", repo.guests())
            .env("WASMHOST_MODEL_KEEP", &kept)
            .env("WASMHOST_MODEL_SEQUENCES", "3"),
    )?;
    run_command(repo.command(python).arg(repo.root.join("tests/readers/model.py")).arg(&kept))
}

/// The example's flow, with every column of every flight in all three formats.
fn flow(guests: &Path) -> String {
    let guests = guests.display();
    format!(
        "\
name: verify
components:
  tidy: {{ path: {guests}/tidy_flights.wasm }}
  air_time: {{ path: {guests}/possible_air_time.wasm }}
source: {{ format: csv, path: flights.csv, options: {{ null_values: ['', NA] }} }}
transforms: [{{ type: component, component: tidy }}]
rules: [{{ type: component, component: air_time, severity: quarantine }}]
quarantine: {{ format: parquet, path: out/quarantine }}
destinations:
  - {{ name: lake, format: delta, path: out/lake, load_type: overwrite, partition_columns: [origin] }}
  - {{ name: csv, format: csv, path: out/csv, load_type: overwrite }}
  - {{ name: parquet, format: parquet, path: out/parquet }}
state: state
"
    )
}
