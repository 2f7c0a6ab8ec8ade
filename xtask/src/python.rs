//! Python environments of our own: of readers that are not ours, and of servers for tests.
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::repo::{Repo, output, run as run_command, succeeds};

/// The environment of readers that are not ours.
pub(crate) const READERS: &str = "verify-venv";
/// The environment of the tests' servers.
const SERVERS: &str = "servers-venv";

/// The interpreter that the tests' S3 server runs in.
pub(crate) fn servers(repo: &Repo) -> Result<PathBuf> {
    python(repo, SERVERS, &["moto[server,s3]==5.2.5"])
}

/// The interpreter of an environment with these packages, as pip names them; made when it lacks one.
pub(crate) fn python(repo: &Repo, name: &str, packages: &[&str]) -> Result<PathBuf> {
    let module =
        |package: &&str| package.split(['[', '=', '<', '>']).next().unwrap_or_default().to_owned();
    let import = format!("import {}", packages.iter().map(module).collect::<Vec<_>>().join(", "));
    let venv = repo.target.join(name);
    let python = venv.join("bin/python");
    if succeeds(repo.command(&python).args(["-c", &import])) {
        return Ok(python);
    }
    if !succeeds(repo.command(&python).arg("--version")) {
        has_venv(repo)?;
        run_command(repo.command("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
    }
    run_command(repo.command(&python).args(["-m", "pip", "install", "--quiet"]).args(packages))?;
    if !succeeds(repo.command(&python).args(["-c", &import])) {
        bail!("{} cannot `{import}`, though pip installed it", python.display());
    }
    Ok(python)
}

/// Sees to it that python3 can make environments.
fn has_venv(repo: &Repo) -> Result<()> {
    let can = || succeeds(repo.command("python3").args(["-c", "import venv, ensurepip"]));
    if can() {
        return Ok(());
    }
    let is_root = output(repo.command("id").arg("-u")).is_some_and(|user| user == "0");
    if is_root && succeeds(repo.command("apt-get").arg("--version")) {
        run_command(repo.command("apt-get").arg("update"))?;
        let mut apt = repo.command("apt-get");
        apt.args(["install", "--yes", "--no-install-recommends", "python3-venv"]);
        run_command(apt.env("DEBIAN_FRONTEND", "noninteractive"))?;
    }
    if !can() {
        bail!("python3 with venv is missing; install it, as in: apt-get install python3-venv");
    }
    Ok(())
}
