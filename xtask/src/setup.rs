//! What a build needs beyond cargo itself: found, installed, or named in one line.
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::python;
use crate::repo::{
    ENGINE_TARGET, GUEST_TARGET, Repo, guest_rustc, output, run as run_command, succeeds,
};

/// The version whose configuration deny.toml is written in; it builds with the workspace's rust-version.
const CARGO_DENY: &str = "0.20.2";

/// Checks the C compiler and the guests' targets; installs a target when it is missing.
///
/// # Errors
/// The first thing that is missing, and what to install.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    c_compiler(repo)?;
    [GUEST_TARGET, ENGINE_TARGET].iter().try_for_each(|target| guest_target(repo, target))
}

/// The same, and what only tests need: servers of their own.
///
/// # Errors
/// The first thing that is missing, and what to install.
pub(crate) fn for_tests(repo: &Repo) -> Result<()> {
    run(repo)?;
    python::servers(repo)?;
    println!("setup: the S3 server for tests is there");
    postgres(repo)
}

/// Checks that the tools which ship with rustup's default profile are there.
pub(crate) fn rust_tools(repo: &Repo) -> Result<()> {
    for tool in ["fmt", "clippy"] {
        if !succeeds(repo.cargo().args([tool, "--version"])) {
            bail!("cargo {tool} is missing; install it: rustup component add rustfmt clippy");
        }
    }
    Ok(())
}

/// The cargo-deny to run, built first when it is missing (about 100 seconds of CPU).
pub(crate) fn cargo_deny(repo: &Repo) -> Result<PathBuf> {
    let root = repo.target.join("tools");
    let program = root.join("bin/cargo-deny");
    let wanted = format!("cargo-deny {CARGO_DENY}");
    if output(repo.command(&program).arg("--version")).is_some_and(|found| found == wanted) {
        return Ok(program);
    }
    // Unoptimised: it checks a graph in seconds all the same, and an optimised build would take several times as long.
    let build = root.join("build");
    let mut install = repo.cargo();
    install
        .args([
            "install",
            "cargo-deny",
            "--locked",
            "--debug",
            "--force",
            "--version",
            CARGO_DENY,
            "--root",
        ])
        .arg(&root);
    install
        .env("CARGO_TARGET_DIR", &build)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "0");
    run_command(&mut install)?;
    fs::remove_dir_all(build)?;
    Ok(program)
}

fn c_compiler(repo: &Repo) -> Result<()> {
    let name = env::var_os("CC").filter(|name| !name.is_empty()).unwrap_or_else(|| "cc".into());
    // $CC may carry flags; whether those are right is its owner's business.
    let name = name.to_string_lossy().split_whitespace().next().unwrap_or("cc").to_owned();
    if !succeeds(repo.command(&name).arg("--version")) {
        bail!(
            "there is no C compiler `{name}`; install one: apt-get install gcc libc6-dev (Debian), xcode-select --install (macOS)"
        );
    }
    println!("setup: C compiler `{name}` is there");
    Ok(())
}

/// The tests start a server of their own; nothing of the system's has to run, and nothing is left running.
fn postgres(repo: &Repo) -> Result<()> {
    if let Some(folder) = postgres_programs()? {
        println!("setup: Postgres is there, in {}", folder.display());
        return Ok(());
    }
    let is_root = output(repo.command("id").arg("-u")).is_some_and(|user| user == "0");
    if !is_root || !succeeds(repo.command("apt-get").arg("--version")) {
        bail!(
            "there is no Postgres for the tests; install it: apt-get install postgresql (Debian), brew install postgresql (macOS)"
        );
    }
    let install = |package: &str| {
        let mut apt = repo.command("apt-get");
        apt.args(["install", "--yes", "--no-install-recommends", package]);
        run_command(apt.env("DEBIAN_FRONTEND", "noninteractive"))
    };
    run_command(repo.command("apt-get").arg("update"))?;
    // Debian's package makes and starts a server unless this says otherwise before it is installed.
    install("postgresql-common")?;
    let settings = Path::new("/etc/postgresql-common/createcluster.conf");
    let text = fs::read_to_string(settings).unwrap_or_default();
    let others = text.lines().filter(|line| !line.trim_start().starts_with("create_main_cluster"));
    let text: String =
        others.chain(["create_main_cluster = false"]).flat_map(|line| [line, "\n"]).collect();
    fs::write(settings, text)?;
    install("postgresql")?;
    if postgres_programs()?.is_none() {
        bail!("Postgres was installed, and its programs are in none of the usual folders");
    }
    println!("setup: Postgres was installed");
    Ok(())
}

/// The folder of `initdb` and `postgres`: on the `PATH`, or where Debian keeps them.
fn postgres_programs() -> Result<Option<PathBuf>> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = env::split_paths(&path).collect();
    if let Ok(versions) = fs::read_dir("/usr/lib/postgresql") {
        for version in versions {
            folders.push(version?.path().join("bin"));
        }
    }
    let has_all = |folder: &PathBuf| {
        ["initdb", "postgres"].iter().all(|program| folder.join(program).is_file())
    };
    Ok(folders.into_iter().find(has_all))
}

fn guest_target(repo: &Repo, target: &str) -> Result<()> {
    let rustc = guest_rustc().unwrap_or_else(|| "rustc".into());
    let has_target = || has_core(repo.command(&rustc), target);
    if !has_target() {
        if guest_rustc().is_some() {
            bail!(
                "{} has no target {target}; unset WASMHOST_GUEST_RUSTC and RUSTC, or name a compiler that has it",
                rustc.display()
            );
        }
        if !succeeds(repo.command("rustup").arg("--version")) {
            bail!(
                "rustc has no target {target}; install rustup (https://rustup.rs), or your system's package of that target"
            );
        }
        run_command(repo.command("rustup").args(["target", "add", target]))?;
        if !has_target() {
            bail!("rustc still has no target {target}: is it rustup's? try `rustup show`");
        }
    }
    println!("setup: target {target} is there");
    Ok(())
}

/// Asks for the library itself: a compiler knows targets whose library it does not have.
fn has_core(mut rustc: Command, target: &str) -> bool {
    let Some(dir) = output(rustc.args(["--print", "target-libdir", "--target", target])) else {
        return false;
    };
    let Ok(files) = fs::read_dir(dir) else {
        return false;
    };
    files.flatten().any(|file| file.file_name().to_string_lossy().starts_with("libcore-"))
}
