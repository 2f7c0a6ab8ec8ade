//! What wit-bindgen makes of `wit/plugin.wit`.
//!
//! Each exported interface has a world of its own here, because both worlds of the contract export `plugin`, and its
//! macros can only be defined once. A component exports two of them; their union is the contract's world.
#![allow(
    missing_docs,
    unreachable_pub,
    missing_debug_implementations,
    clippy::allow_attributes_without_reason,
    clippy::undocumented_unsafe_blocks,
    clippy::use_self,
    reason = "generated; the contract is documented in wit/plugin.wit"
)]

/// What every component exports, and the words that all share.
pub mod plugin {
    wit_bindgen::generate!({
        path: "../wit",
        inline: "
            package wasmhost:guest-plugin;
            world guest-plugin { import wasmhost:plugin/log@0.1.0; export wasmhost:plugin/plugin@0.1.0; }
        ",
        pub_export_macro: true,
        export_macro_name: "export_plugin_world",
        default_bindings_module: "wasmhost_guest::bindings::plugin",
        additional_derives: [PartialEq],
        generate_all,
        generate_unused_types: true,
    });
}

/// What a transform exports besides.
pub mod transform {
    wit_bindgen::generate!({
        path: "../wit",
        inline: "
            package wasmhost:guest-transform;
            world guest-transform { export wasmhost:plugin/transform@0.1.0; }
        ",
        pub_export_macro: true,
        export_macro_name: "export_transform_world",
        default_bindings_module: "wasmhost_guest::bindings::transform",
        additional_derives: [PartialEq],
        with: { "wasmhost:plugin/types@0.1.0": crate::bindings::types },
    });
}

/// What a rule exports besides.
pub mod rule {
    wit_bindgen::generate!({
        path: "../wit",
        inline: "
            package wasmhost:guest-rule;
            world guest-rule { export wasmhost:plugin/rule@0.1.0; }
        ",
        pub_export_macro: true,
        export_macro_name: "export_rule_world",
        default_bindings_module: "wasmhost_guest::bindings::rule",
        additional_derives: [PartialEq],
        with: { "wasmhost:plugin/types@0.1.0": crate::bindings::types },
    });
}

pub use plugin::exports::wasmhost::plugin::plugin as plugin_exports;
pub use plugin::wasmhost::plugin::{log, types};
pub use rule::exports::wasmhost::plugin::rule as rule_exports;
pub use transform::exports::wasmhost::plugin::transform as transform_exports;
