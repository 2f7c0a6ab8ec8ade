//! Tests that cross module borders: one binary, data-driven, unhappy paths first.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod differential;
mod flows;
mod formats;
mod guests;
mod layers;
mod model;
mod paths;
mod postgres;
mod random;
mod run;
mod sandbox;
mod sources;
mod writers;
