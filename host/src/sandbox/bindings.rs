//! Typed bindings of both worlds, generated from the one contract. The shared types are generated once.
#![expect(unreachable_pub, reason = "generated; the documentation is in wit/plugin.wit")]

pub mod transform {
    wasmtime::component::bindgen!({ path: "../wit", world: "transform-plugin" });
}

pub mod rule {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "rule-plugin",
        with: {
            "wasmhost:plugin/types": crate::sandbox::bindings::transform::wasmhost::plugin::types,
            "wasmhost:plugin/log": crate::sandbox::bindings::transform::wasmhost::plugin::log,
        },
    });
}

pub use transform::wasmhost::plugin::log;
pub use transform::wasmhost::plugin::types;
