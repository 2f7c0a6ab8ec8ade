//! What `.ci/run` runs: every rule that a tool can keep, cheapest first, then all tests.
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::guests;
use crate::repo::{
    ENGINE_MANIFEST, GUEST_MANIFEST, GUEST_TARGET, Repo, guest_rustc, run as run_command,
};
use crate::setup;
use crate::test;
use crate::wit;

/// A step's name and what it does.
type Step = (&'static str, fn(&Repo) -> Result<()>);

/// Cheapest first, so that a slip shows early.
const STEPS: &[Step] = &[
    ("setup", prerequisites),
    ("lock files", lock_files),
    ("format", format),
    ("contract version", wit::check),
    ("licences, bans, sources", deny),
    ("lint guests", lint_guests),
    ("build guests", guests::build),
    ("test guests natively", test::guests_natively),
    ("lint host", lint_host),
    ("document", document),
    ("build host and its tests", test::build_host),
];

/// Runs all steps, stops at the first that fails, and says what each took. The host's tests come after that summary,
/// so that the output ends with theirs.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    let mut times = Vec::new();
    for (name, step) in STEPS {
        println!("\n== {name}");
        let start = Instant::now();
        step(repo)
            .with_context(|| format!("step `{name}` failed after {:.0?}", start.elapsed()))?;
        times.push((name, start.elapsed()));
        println!("== {name}: {:.1} s", start.elapsed().as_secs_f64());
    }
    println!("\n== times");
    for (name, time) in &times {
        println!("{:>8.1} s  {name}", time.as_secs_f64());
    }
    println!(
        "{:>8.1} s  before the tests",
        times.iter().map(|(_, time)| *time).sum::<Duration>().as_secs_f64()
    );
    println!("\n== test host");
    test::host(repo).context("step `test host` failed")
}

fn prerequisites(repo: &Repo) -> Result<()> {
    setup::for_tests(repo)?;
    setup::rust_tools(repo)?;
    setup::cargo_deny(repo).map(drop)
}

/// Whether both lock files say what the manifests ask for. Every later step holds them to it by `--locked`.
fn lock_files(repo: &Repo) -> Result<()> {
    for manifest in ["Cargo.toml", GUEST_MANIFEST, ENGINE_MANIFEST] {
        let mut cargo = repo.cargo();
        cargo
            .args(["metadata", "--locked", "--format-version", "1", "--manifest-path", manifest])
            .stdout(Stdio::null());
        run_command(&mut cargo)
            .context("a Cargo.lock is not up to date: build without --locked, and commit it")?;
    }
    Ok(())
}

fn format(repo: &Repo) -> Result<()> {
    let workspaces = [
        ("Cargo.toml", ["--all"].as_slice()),
        (GUEST_MANIFEST, &["--all"]),
        // All would be the SDK as well, which is reached by a link here.
        (ENGINE_MANIFEST, &["--package", "std-sql"]),
    ];
    for (manifest, which) in workspaces {
        let mut fmt = repo.cargo();
        fmt.args(["fmt", "--manifest-path", manifest]).args(which).args(["--", "--check"]);
        run_command(&mut fmt).context("run `cargo fmt --all` in that workspace")?;
    }
    Ok(())
}

fn deny(repo: &Repo) -> Result<()> {
    let program = setup::cargo_deny(repo)?;
    let check = |manifest: &str| {
        let mut deny = repo.command(&program);
        deny.args([
            "--locked",
            "--manifest-path",
            manifest,
            "--config",
            "deny.toml",
            "check",
            "bans",
            "licenses",
            "sources",
        ]);
        deny
    };
    run_command(&mut check("Cargo.toml"))?;
    // The guests need fewer licences than the list allows.
    [GUEST_MANIFEST, ENGINE_MANIFEST].iter().try_for_each(|manifest| {
        run_command(check(manifest).args([
            "--allow",
            "license-not-encountered",
            "--allow",
            "license-exception-not-encountered",
        ]))
    })
}

/// Natively with tests, and for the sandbox, since code for the sandbox alone is not seen natively.
///
/// Not `std:sql`: clippy would check its whole engine anew, for minutes, and the host's tests run every line of it.
fn lint_guests(repo: &Repo) -> Result<()> {
    let clippy = ["clippy", "--locked", "--workspace", "--manifest-path", GUEST_MANIFEST];
    run_command(repo.guest_cargo().args(clippy).args(["--all-targets", "--", "-D", "warnings"]))?;
    if guest_rustc().is_some() {
        println!(
            "lint for the sandbox is left out: clippy is not the compiler that builds the guests here"
        );
        return Ok(());
    }
    run_command(repo.guest_cargo().args(clippy).args([
        "--target",
        GUEST_TARGET,
        "--",
        "-D",
        "warnings",
    ]))
}

fn lint_host(repo: &Repo) -> Result<()> {
    run_command(repo.cargo().args([
        "clippy",
        "--locked",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))
}

fn document(repo: &Repo) -> Result<()> {
    let doc = ["doc", "--locked", "--workspace", "--no-deps", "--document-private-items"];
    run_command(repo.cargo().args(doc).env("RUSTDOCFLAGS", "-Dwarnings"))?;
    run_command(
        repo.guest_cargo()
            .args(doc)
            .args(["--manifest-path", GUEST_MANIFEST])
            .env("RUSTDOCFLAGS", "-Dwarnings"),
    )
}
