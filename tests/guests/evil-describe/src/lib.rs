//! A transform for tests that never says what it is. The rest of it is never reached.

use wasmhost_guest::Failure;
use wasmhost_guest::bindings::plugin_exports::{Descriptor, Guest as Plugin};
use wasmhost_guest::bindings::transform_exports::{Guest, Opened, Output};
use wasmhost_guest::bindings::types::{Context, NamedInput};

/// The component.
#[derive(Debug)]
pub struct Evil;

impl Plugin for Evil {
    fn describe() -> Descriptor {
        loop {
            std::hint::black_box(());
        }
    }
}

fn unreached() -> Failure {
    Failure::internal("unreached", "`describe` came back")
}

impl Guest for Evil {
    fn open(_: Context, _: String, _: Vec<NamedInput>) -> Result<Opened, Failure> {
        Err(unreached())
    }

    fn process(_: u32, _: Vec<u8>) -> Result<Output, Failure> {
        Err(unreached())
    }

    fn end_input(_: u32) -> Result<(), Failure> {
        Err(unreached())
    }

    fn finish() -> Result<Option<Vec<u8>>, Failure> {
        Err(unreached())
    }
}

wasmhost_guest::export_transform!(Evil);
