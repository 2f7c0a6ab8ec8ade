//! Where things are, and how a command is run: from the root, in a clean environment, said before it starts.
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The guests' target; the host runs nothing else.
pub(crate) const GUEST_TARGET: &str = "wasm32-unknown-unknown";

/// The target of `std:sql`, whose engine wants a clock and random bytes; the host's build makes it.
pub(crate) const ENGINE_TARGET: &str = "wasm32-wasip1";

/// The manifest of its workspace, from the root.
pub(crate) const ENGINE_MANIFEST: &str = "components/Cargo.toml";

/// The manifest of the guests' workspace, from the root.
pub(crate) const GUEST_MANIFEST: &str = "guest-sdk/Cargo.toml";

/// This clone and its builds. Both paths are absolute.
#[derive(Debug)]
pub(crate) struct Repo {
    pub(crate) root: PathBuf,
    /// Where the host is built: `$CARGO_TARGET_DIR`, or `target` in the root.
    pub(crate) target: PathBuf,
}

impl Repo {
    /// The clone that this program was started in, whatever the current folder.
    pub(crate) fn find() -> Result<Self> {
        // Asked at run time: where clones share a target folder, the binary may have been built in another one.
        let manifest_dir =
            env::var_os("CARGO_MANIFEST_DIR").context("start me by `cargo xtask`")?;
        let root =
            Path::new(&manifest_dir).parent().context("xtask/ has no parent folder")?.to_path_buf();
        let target = match env::var_os("CARGO_TARGET_DIR") {
            Some(dir) if !dir.is_empty() => env::current_dir()?.join(dir),
            _ => root.join("target"),
        };
        Ok(Self { root, target })
    }

    /// Where the guests are built: a folder of their own, so that neither build waits for the other's lock.
    pub(crate) fn guest_target(&self) -> PathBuf {
        self.target.join("guests")
    }

    /// The folder of all guests' `.wasm` files.
    pub(crate) fn guests(&self) -> PathBuf {
        self.guest_target().join(GUEST_TARGET).join("release")
    }

    /// Cargo on the host's workspace.
    pub(crate) fn cargo(&self) -> Command {
        let mut cargo = self.command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.env("CARGO_TARGET_DIR", &self.target);
        cargo
    }

    /// Cargo for the guests' workspace; the caller names its manifest.
    ///
    /// Flags meant for the host's compiler would replace those that .cargo/config.toml sets for the guests.
    pub(crate) fn guest_cargo(&self) -> Command {
        let mut cargo = self.cargo();
        cargo.env("CARGO_TARGET_DIR", self.guest_target());
        for flags in
            ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_BUILD_TARGET"]
        {
            cargo.env_remove(flags);
        }
        cargo
    }

    /// Any program, run in the root.
    pub(crate) fn command(&self, program: impl Into<OsString>) -> Command {
        let mut command = Command::new(program.into());
        command.current_dir(&self.root);
        // What `cargo run` told about xtask: build scripts that watch these would run again, and with them all that depends on them.
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        command
    }
}

/// The compiler that the user wants for the guests, if any.
pub(crate) fn guest_rustc() -> Option<OsString> {
    ["WASMHOST_GUEST_RUSTC", "RUSTC"]
        .into_iter()
        .find_map(|name| env::var_os(name).filter(|value| !value.is_empty()))
}

/// Says what is run, runs it, and fails unless it succeeds. Its output is the user's to see.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = line(command);
    println!("+ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Whether a command succeeds; its output is dropped. A program that is not there did not succeed.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// What a successful command prints, trimmed; `None` when it fails or is not there.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// The command as a person would type it in the root.
fn line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
