//! The standard rules, as the host sees them: from the bytes of a configuration to judgements, natively.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

mod config;
mod exactness;
mod freshness;
mod meaning;
mod reference;
mod refusals;
mod support;
mod types;
