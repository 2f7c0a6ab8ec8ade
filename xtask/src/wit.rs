//! The contract's versions: a text of wit/plugin.wit belongs to one version for ever.
//!
//! wit/versions.lock holds one line a version: `wasmhost:plugin@0.1.0 sha256:…`. Components in the field were built against
//! the text of a committed line, so such a line never changes; a new text gets a new version.
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::repo::{Repo, output};

const CONTRACT: &str = "wit/plugin.wit";
const VERSIONS: &str = "wit/versions.lock";

/// Whether the contract's text is the one recorded for its version.
pub(crate) fn check(repo: &Repo) -> Result<()> {
    let contract = Contract::read(repo)?;
    let recorded = fs::read_to_string(repo.root.join(VERSIONS))
        .with_context(|| format!("cannot read {VERSIONS}; `cargo xtask wit` makes it"))?;
    match digest_of(&contract.version, &recorded) {
        Some(digest) if digest == contract.digest => {
            println!("{} is as recorded in {VERSIONS}", contract.version);
            Ok(())
        }
        Some(_) => bail!(
            "{CONTRACT} is not the text recorded for {}: raise its version, then run `cargo xtask wit`",
            contract.version
        ),
        None => bail!(
            "{} is not in {VERSIONS}: run `cargo xtask wit`, and commit the line",
            contract.version
        ),
    }
}

/// Records the contract's text for its version. A line that is committed already is never changed.
pub(crate) fn record(repo: &Repo) -> Result<()> {
    let Contract { version, digest } = Contract::read(repo)?;
    let committed =
        output(repo.command("git").args(["show", &format!("HEAD:{VERSIONS}")])).unwrap_or_default();
    if digest_of(&version, &committed).is_some_and(|old| old != digest) {
        bail!("{version} is committed with another text: raise the version in {CONTRACT}");
    }
    let path = repo.root.join(VERSIONS);
    let old = fs::read_to_string(&path).unwrap_or_default();
    let mut new = String::new();
    for line in old.lines().filter(|line| digest_of(&version, line).is_none()) {
        writeln!(new, "{line}")?;
    }
    writeln!(new, "{version} {digest}")?;
    fs::write(path, new)?;
    println!("{VERSIONS}: {version} {digest}");
    Ok(())
}

/// What wit/plugin.wit says it is, and what it is.
struct Contract {
    /// `wasmhost:plugin@0.1.0`
    version: String,
    /// `sha256:` and 64 hexadecimal digits, of the file's bytes.
    digest: String,
}

impl Contract {
    fn read(repo: &Repo) -> Result<Self> {
        let text = fs::read_to_string(repo.root.join(CONTRACT))
            .with_context(|| format!("cannot read {CONTRACT}"))?;
        let version = text
            .lines()
            .find_map(|line| line.strip_prefix("package ")?.strip_suffix(';'))
            .with_context(|| format!("{CONTRACT} has no line `package name@version;`"))?
            .to_owned();
        Ok(Self { version, digest: format!("sha256:{:x}", Sha256::digest(text)) })
    }
}

/// The digest that `versions` records for `version`.
fn digest_of<'a>(version: &str, versions: &'a str) -> Option<&'a str> {
    versions.lines().find_map(|line| line.strip_prefix(version)?.strip_prefix(' '))
}
