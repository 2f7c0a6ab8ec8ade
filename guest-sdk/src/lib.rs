//! Write rules and transforms for wasmhost.
//!
//! A component is a crate of type `cdylib` for `wasm32-unknown-unknown` that depends on this one. It is one function and
//! one macro line, [`rule_fn!`] or [`transform_fn!`]:
//!
//! ```
//! fn positive(amount: f64) -> bool {
//!     amount > 0.0
//! }
//!
//! wasmhost_guest::rule_fn!(Positive = positive(amount: f64), "amount {amount} is not above zero");
//! # fn main() {}
//! ```
//!
//! or, where that is not enough, a type that implements [`Rule`] or [`Transform`] and [`rule!`] or [`transform!`]. Either
//! way `cargo test` runs it natively with the [`harness`].
//!
//! The guest has Arrow data, a [`log`], and nothing else: no clock, no files, no network. What it may know of its
//! surroundings is in [`Context`].

#[cfg(all(target_arch = "wasm32", feature = "allocator"))]
mod alloc;

mod about;
pub mod bindings;
pub mod config;
pub mod decode;
pub mod encode;
mod failure;
mod findings;
mod function_macros;
pub mod functions;
pub mod glue;
#[cfg(not(target_arch = "wasm32"))]
pub mod harness;
mod inputs;
mod layout;
pub mod log;
mod macros;
mod opening;
mod panic;
mod rule;
mod transform;

pub use about::About;
pub use bindings::types::Context;
pub use failure::{Diagnostic, Failure, Reason};
pub use findings::{Findings, Judge, Nulls, Verdict};
pub use functions::{NoConfig, column};
pub use inputs::{Accept, Input, Inputs};
pub use layout::Layout;
pub use rule::{Checks, Conclusion, Rule};
pub use transform::{Output, Transform};

// The Arrow that the traits speak.
pub use arrow_array;
pub use arrow_buffer;
pub use arrow_schema;

/// Makes panics of this component readable in the host's log. The macros do it; bare components may.
pub fn install_panic_hook() {
    panic::install();
}
