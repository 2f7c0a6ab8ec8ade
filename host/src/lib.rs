//! wasmhost runs data loads whose custom code cannot hurt anyone.
//!
//! Modules in reading order, from the most to the least depended on; `tests/src/layers.rs` keeps the order.

pub mod problem;

pub mod name;

pub mod batch;

pub mod table;

pub mod flow;

pub mod storage;

pub mod source;
pub mod writer;
