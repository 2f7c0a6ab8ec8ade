//! The sandbox: runs components, trusts nothing that comes back.
//!
//! A guest reaches nothing but a capped log. Every call has a deadline, every instance a memory limit, every byte that
//! comes back is judged against what was agreed in `open`. After any failure the instance is dropped, never reused.

mod bindings;
mod budget;
mod cache;
#[expect(dead_code, unreachable_pub, reason = "the guest SDK exports it, and uses more of it")]
#[path = "../../../guest-sdk/src/encode.rs"]
mod encode;
mod engine;
mod error;
mod exchange;
mod instance;
mod judge;
mod log;
mod opening;
mod pool;
mod reference;
mod rule;
#[expect(
    unreachable_pub,
    dead_code,
    reason = "the standard library's build compiles it, and uses more of it"
)]
mod settings;
mod transform;
mod weight;
mod world;

pub use cache::Cache;
pub use engine::Compiled;
pub use engine::Engine;
pub use error::Breach;
pub use error::SandboxError;
pub use opening::Context;
pub use reference::Cause;
pub use reference::Reference;
pub use reference::References;
pub use rule::RulePool;
pub use transform::TransformPool;
pub use transform::Transformed;
