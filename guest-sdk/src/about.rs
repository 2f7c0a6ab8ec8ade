//! What a component says of itself before it is configured.

use crate::bindings::plugin_exports::Descriptor;
use schemars::JsonSchema;

/// A component's description; see [`about!`](macro@crate::about) for one that Cargo fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The component's name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// One sentence on what it does.
    pub summary: &'static str,
    /// Whether the same input, configuration and context always give the same answer.
    pub deterministic: bool,
}

impl About {
    pub(crate) fn descriptor<C: JsonSchema>(self) -> Descriptor {
        let Self { name, version, summary, deterministic } = self;
        Descriptor {
            name: name.to_owned(),
            version: version.to_owned(),
            summary: summary.to_owned(),
            config_schema: schemars::schema_for!(C).as_value().to_string(),
            deterministic,
        }
    }
}

/// The [`About`] of a deterministic component, from the name, version and description in its `Cargo.toml`.
#[macro_export]
macro_rules! about {
    () => {
        $crate::About {
            name: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            summary: env!("CARGO_PKG_DESCRIPTION"),
            deterministic: true,
        }
    };
}
