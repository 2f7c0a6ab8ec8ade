//! Builds the standard library's components for their target, makes components of the modules, and compiles them with the
//! very settings of the sandbox's engine.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wit_component::ComponentEncoder;

/// The one owner of these settings is the sandbox.
#[expect(unreachable_pub, reason = "another module compiles it as well")]
#[path = "../host/src/sandbox/settings.rs"]
mod settings;

/// A component to build.
struct Source {
    /// What flows call it.
    name: &'static str,
    /// The constant's name.
    constant: &'static str,
    package: &'static str,
    /// The manifest of its workspace.
    manifest: &'static str,
    target: &'static str,
    /// Modules that stand in for what it imports, by the name that it imports them by.
    adapters: &'static [(&'static str, &'static str)],
}

const SOURCES: [Source; 2] = [
    Source {
        name: "std:sql",
        constant: "SQL",
        package: "std-sql",
        manifest: "components/Cargo.toml",
        target: "wasm32-wasip1",
        adapters: &[
            ("wasi_snapshot_preview1", "components/sql/no-wasi.wat"),
            ("env", "components/sql/no-zstd.wat"),
        ],
    },
    Source {
        name: "std:rules",
        constant: "RULES",
        package: "std-rules",
        manifest: "guest-sdk/Cargo.toml",
        target: "wasm32-unknown-unknown",
        adapters: &[],
    },
];

fn main() -> Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("..").canonicalize()?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // Beside the builds of all profiles, as authors' guests are: `target/guests`.
    let target =
        out.ancestors().nth(4).context("OUT_DIR is not in a target folder")?.join("guests");
    for watched in [
        "components",
        "guest-sdk/src",
        "guest-sdk/Cargo.toml",
        "guest-sdk/Cargo.lock",
        "wit",
        "host/src/sandbox/settings.rs",
    ] {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    println!("cargo::rerun-if-env-changed=WASMHOST_GUEST_RUSTC");
    let engine = Engine::new(&settings::config(settings::STACK_BYTES)).map_err(engine_error)?;
    let mut text = String::new();
    for source in SOURCES {
        let module = build(&root, &target, &source)?;
        let component = component(&root, module, &source)?;
        let code = engine.precompile_component(&component).map_err(engine_error)?;
        let file = out.join(format!("{}.code", source.package));
        fs::write(&file, code)?;
        let digest: String =
            Sha256::digest(&component).iter().map(|byte| format!("{byte:02x}")).collect();
        let Source { name, constant, .. } = source;
        text += &format!(
            "/// `{name}`.\npub static {constant}: Standard = Standard {{ name: {name:?}, digest: \"sha256:{digest}\", component_bytes: {}, code: include_bytes!({file:?}) }};\n",
            component.len()
        );
    }
    fs::write(out.join("standard.rs"), text)?;
    Ok(())
}

fn engine_error(error: wasmtime::Error) -> anyhow::Error {
    anyhow::anyhow!("{error:#}")
}

/// Runs cargo on the components' own workspace.
fn build(root: &Path, target: &Path, source: &Source) -> Result<Vec<u8>> {
    let Source { package, manifest, target: triple, .. } = source;
    let mut cargo = Command::new(env::var("CARGO")?);
    // What the host's build told this script is not meant for the guests' compiler.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let is_ours =
            name.starts_with("CARGO") && name != "CARGO_HOME" && name != "CARGO_NET_OFFLINE";
        if is_ours
            || name.starts_with("RUSTC")
            || name.starts_with("RUSTFLAGS")
            || name.starts_with("DEP_")
        {
            cargo.env_remove(&name);
        }
    }
    if let Some(rustc) = env::var_os("WASMHOST_GUEST_RUSTC").filter(|value| !value.is_empty()) {
        cargo.env("RUSTC", rustc);
    }
    let cargo_home = env::var("CARGO_HOME")
        .or_else(|_| env::var("HOME").map(|home| format!("{home}/.cargo")))?;
    // SIMD is what makes Arrow's loops fast; folders of this machine have no place in a component. The clone's own folder is not
    // among the flags: another clone would compile the whole engine anew. Paths in a workspace are relative anyway.
    let flags = format!("-Ctarget-feature=+simd128 --remap-path-prefix={cargo_home}=cargo");
    let variable = format!("CARGO_TARGET_{}_RUSTFLAGS", triple.to_uppercase().replace('-', "_"));
    cargo
        .current_dir(root)
        .env(variable, flags)
        .env("CARGO_TARGET_DIR", target)
        .args(["build", "--release", "--locked", "--quiet", "--target", triple])
        .args(["--manifest-path", manifest, "--package", package]);
    let status = cargo.status().context("cannot start cargo")?;
    if !status.success() {
        bail!(
            "building {package} failed ({status}); it needs the target: rustup target add {triple}"
        );
    }
    let module =
        target.join(triple).join("release").join(package.replace('-', "_")).with_extension("wasm");
    fs::read(&module).with_context(|| format!("cannot read {}", module.display()))
}

fn component(root: &Path, module: Vec<u8>, source: &Source) -> Result<Vec<u8>> {
    let mut encoder = ComponentEncoder::default().validate(true).module(&module)?;
    for (name, file) in source.adapters {
        encoder = encoder.adapter(name, &wat::parse_file(root.join(file))?)?;
    }
    encoder.encode().with_context(|| format!("{} does not become a component", source.package))
}
