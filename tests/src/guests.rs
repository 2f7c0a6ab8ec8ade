//! The test guests, built by `cargo xtask guests`, compiled once a test process.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::OnceLock;

use wasmhost::component::Component;
use wasmhost::component::Limits;
use wasmhost::component::admit::admit;
use wasmhost::flow::ComponentSource;
use wasmhost::problem::Place;
use wasmhost::sandbox::Compiled;
use wasmhost::sandbox::Context;
use wasmhost::sandbox::Engine;
use wasmhost::table::RunId;

/// A guest's file, by its package's name.
pub(crate) fn path(package: &str) -> PathBuf {
    let path = folder().join(format!("{}.wasm", package.replace('-', "_")));
    assert!(path.exists(), "{}: no such guest; `cargo xtask guests` builds it", path.display());
    path
}

/// A guest, admitted.
pub(crate) fn admitted(package: &str) -> Component {
    let source = ComponentSource { path: path(package), digest: None, at: Place::default() };
    admit(package, &source, 64 << 20).unwrap()
}

/// A guest, compiled, under these limits.
pub(crate) fn compiled(package: &str, limits: Limits) -> Compiled {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    static CODE: Mutex<Option<HashMap<String, Compiled>>> = Mutex::new(None);
    let mut code = CODE.lock().unwrap();
    let code = code.get_or_insert_default().entry(package.to_owned()).or_insert_with(|| {
        let engine =
            ENGINE.get_or_init(|| Engine::new(Limits::default().wasm_stack_bytes, None).unwrap());
        engine.compile(admitted(package), Arc::new(Limits::default())).unwrap()
    });
    code.under(Arc::new(limits))
}

/// A context like a run's.
pub(crate) fn context() -> Context {
    let (run_id, flow) = (RunId::new("test").unwrap(), "test".to_owned());
    Context { run_id, flow, destination: None, logical_time_ns: 0, seed: 1 }
}

/// Where the guests are.
pub(crate) fn folder() -> PathBuf {
    std::env::var_os("WASMHOST_GUESTS").map_or_else(built, PathBuf::from)
}

fn built() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| PathBuf::from("../target"), PathBuf::from);
    target.join("guests/wasm32-unknown-unknown/release")
}
