//! Admission: which bytes may become a guest at all. Imports are an allow-list; everything else is refused by name.

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use sha2::Digest;
use sha2::Sha256;
use wit_component::ComponentEncoder;
use wit_parser::Resolve;
use wit_parser::WorldId;
use wit_parser::decoding::DecodedWasm;

use crate::component::Component;
use crate::component::Kind;
use crate::flow::ComponentSource;
use crate::problem::Code;
use crate::problem::Problem;

/// Package, major and minor version of the contract: minor versions below 1.0 may differ in meaning.
const CONTRACT: &str = "wasmhost:plugin";
const VERSION: &str = "0.1.";

/// The interfaces of the contract that a guest may import; `types` holds no function.
const IMPORTS: [&str; 2] = ["log", "types"];

/// Reads a component's file and judges it.
///
/// # Errors
/// A file that cannot be read, is larger than `bytes_max`, has another digest than the flow says, is no WebAssembly,
/// imports what no guest may reach, or exports neither of the contract's worlds.
pub fn admit(
    name: &str,
    source: &ComponentSource,
    bytes_max: u64,
) -> Result<Component, Vec<Problem>> {
    let refuse = |code, what: String| vec![Problem::new(code, source.at.clone(), what)];
    let bytes = read(&source.path, bytes_max)
        .map_err(|(code, what)| refuse(code, format!("component `{name}`: {what}")))?;
    let digest = format!("sha256:{}", hex(&Sha256::digest(&bytes)));
    if let Some(expected) = source.digest.as_ref().filter(|expected| **expected != digest) {
        let what = format!(
            "component `{name}`: {} has the digest {digest}, but the flow says {expected}",
            source.path.display()
        );
        return Err(refuse(Code::NotAdmitted, what));
    }
    // Parsers of foreign bytes run behind an unwind barrier: a panic in one of them is a refusal, not the host's end.
    let inspected = catch_unwind(|| inspect(bytes))
        .unwrap_or_else(|_| Err(vec!["its bytes cannot be parsed".to_owned()]));
    let (bytes, kind) = inspected.map_err(|whats| {
        whats
            .into_iter()
            .map(|what| {
                Problem::new(
                    Code::NotAdmitted,
                    source.at.clone(),
                    format!("component `{name}`: {what}"),
                )
            })
            .collect::<Vec<_>>()
    })?;
    Ok(Component { name: name.to_owned(), digest, bytes: bytes.into(), kind })
}

/// Lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(path: &Path, bytes_max: u64) -> Result<Vec<u8>, (Code, String)> {
    let shown = path.display();
    let failed = |error| (Code::NotFound, format!("{shown}: {error}"));
    let size = fs::metadata(path).map_err(failed)?.len();
    if size > bytes_max {
        let what =
            format!("{shown} has {size} bytes; the limit `component_bytes` allows {bytes_max}");
        return Err((Code::NotAdmitted, what));
    }
    fs::read(path).map_err(failed)
}

/// A component binary and its kind, from a component or a core module with embedded component types.
fn inspect(bytes: Vec<u8>) -> Result<(Vec<u8>, Kind), Vec<String>> {
    let one = |what: String| vec![what];
    if !bytes.starts_with(b"\0asm") {
        return Err(one("not a WebAssembly file".to_owned()));
    }
    // The encoder below expects a valid module, and panics on some that are cut off.
    wasmparser::Validator::new()
        .validate_all(&bytes)
        .map_err(|error| one(format!("not valid WebAssembly: {error}")))?;
    // Bytes 4..8 are version and layer; layer 0 is a core module, 1 a component.
    let is_module = bytes.get(6) == Some(&0);
    let bytes = if is_module { encode(&bytes).map_err(one)? } else { bytes };
    let decoded = wit_parser::decoding::decode(&bytes)
        .map_err(|error| one(format!("not a valid component: {error:#}")))?;
    let DecodedWasm::Component(resolve, world) = decoded else {
        return Err(one("a WIT package, not a component".to_owned()));
    };
    let refused = refused_imports(&resolve, world);
    if !refused.is_empty() {
        return Err(refused);
    }
    let kind = kind(&resolve, world).map_err(one)?;
    Ok((bytes, kind))
}

fn encode(module: &[u8]) -> Result<Vec<u8>, String> {
    let encoder = ComponentEncoder::default().validate(true).module(module);
    encoder.and_then(|mut encoder| encoder.encode()).map_err(|error| {
        format!("a core module that does not become a component: {error:#}. Build it with the guest SDK's macro line, for wasm32-unknown-unknown")
    })
}

fn refused_imports(resolve: &Resolve, world: WorldId) -> Vec<String> {
    let allowed = |import: &str| IMPORTS.iter().any(|interface| is_ours(import, interface));
    let imports = resolve.worlds[world].imports.keys().map(|key| resolve.name_world_key(key));
    imports
        .filter(|import| !allowed(import))
        .map(|import| {
            let why = if import.starts_with("wasi:") {
                "; no guest reaches files, network, clock or environment. Build it for wasm32-unknown-unknown"
            } else {
                ""
            };
            format!("imports `{import}`, which the sandbox does not offer{why}")
        })
        .collect()
}

fn kind(resolve: &Resolve, world: WorldId) -> Result<Kind, String> {
    let exports: Vec<_> =
        resolve.worlds[world].exports.keys().map(|key| resolve.name_world_key(key)).collect();
    let has = |interface| exports.iter().any(|export| is_ours(export, interface));
    match (has("plugin"), has("transform"), has("rule")) {
        (true, true, false) => Ok(Kind::Transform),
        (true, false, true) => Ok(Kind::Rule),
        _ => Err(format!(
            "exports {}; a component exports `{CONTRACT}/plugin@{VERSION}x` and one of `transform` and `rule`",
            if exports.is_empty() { "nothing".to_owned() } else { exports.join(", ") }
        )),
    }
}

fn is_ours(name: &str, interface: &str) -> bool {
    let rest = name.strip_prefix(CONTRACT).and_then(|rest| rest.strip_prefix('/'));
    let version =
        rest.and_then(|rest| rest.strip_prefix(interface)).and_then(|rest| rest.strip_prefix('@'));
    version.is_some_and(|version| version.starts_with(VERSION))
}
