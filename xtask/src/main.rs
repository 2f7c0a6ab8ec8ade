//! `cargo xtask …`: what a person or CI runs, on top of cargo. Each command builds what it needs.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this program talks to a person")]

mod bench;
mod ci;
mod demo;
mod end_to_end;
mod guests;
mod python;
mod repo;
mod setup;
mod test;
mod verify;
mod wit;

use std::env;
use std::process::ExitCode;

use crate::repo::Repo;

const USAGE: &str = "\
usage: cargo xtask <command>

  setup    check what builds and tests need, and install the guests' targets and Postgres when they are missing
  guests   build all guests for the sandbox, and put the example's components where its flow looks for them
  demo     set up, build, run the example flow, and show what was written and where
  test     set up, build, run all tests: the guests' native ones, then the host's
  verify   run the example's flow, and compare what it wrote with what DuckDB and Python's deltalake make of the same flights;
           `verify FILE.csv[.gz]` takes other flights of the same columns. Needs python3; not part of ci
  bench    measure what crossing the sandbox costs, in a release build;
           `bench strategies` measures loads of 5 million rows beside Python's deltalake and polars: `--rounds N` (3),
           `--only LOAD…`, `--orders N`; `bench steps` measures built-in steps and rules on as many, beside Polars and DuckDB:
           `--rounds N`, `--orders N`; `bench big_copy` copies 30 million rows in a limited memory, beside DuckDB:
           `--rounds N`, `--orders N`, `--memory-mib N`, `--group-mib N`, `--keep`. All need python3
  ci       what .ci/run runs: format, lints, docs, licences, contract version, then all tests
  wit      record the text of wit/plugin.wit as that of its version (refused for a version that is already committed)

Builds go to $CARGO_TARGET_DIR, or to target/ in the repository.
Guests are built with the compiler that $WASMHOST_GUEST_RUSTC or $RUSTC names, or with rustc.";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    // The commands that take arguments.
    match words[..] {
        ["verify"] | ["verify", _] => {
            return ended(Repo::find().and_then(|repo| verify::run(&repo, words.get(1).copied())));
        }
        ["bench", name @ ("strategies" | "steps" | "big_copy"), ref args @ ..] => {
            return ended(Repo::find().and_then(|repo| end_to_end::run(&repo, name, args)));
        }
        _ => {}
    }
    let command = match words[..] {
        ["setup"] => setup::for_tests,
        ["guests"] => guests::run,
        ["demo"] => demo::run,
        ["test"] => test::run,
        ["bench"] => bench::run,
        ["ci"] => ci::run,
        ["wit"] => wit::record,
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("xtask: `{}` is not a command\n\n{USAGE}", args.join(" "));
            return ExitCode::from(2);
        }
    };
    ended(Repo::find().and_then(|repo| command(&repo)))
}

fn ended(done: anyhow::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
