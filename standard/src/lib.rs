//! The standard library: components that every wasmhost has, compiled to machine code when it was built.
//!
//! They are guests like any other: built from `components/`, against the same contract, run in the same sandbox under the
//! same limits. What is special is only that their machine code comes with the command, so that nobody waits for it.

/// A component of the standard library.
#[derive(Debug, Clone, Copy)]
pub struct Standard {
    /// What flows call it.
    pub name: &'static str,
    /// `sha256:` and the hexadecimal digest of the component's bytes.
    pub digest: &'static str,
    /// How many bytes the component has.
    pub component_bytes: u64,
    /// Its machine code, as the engine of this very build serialises it.
    pub code: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/standard.rs"));
