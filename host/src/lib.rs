//! wasmhost runs data loads whose custom code cannot hurt anyone.
//!
//! Modules in reading order, from the most to the least depended on; `tests/src/layers.rs` keeps the order.

pub mod problem;

pub mod name;

pub mod batch;

pub mod spelling;

pub mod table;

pub mod flow;

pub mod component;

pub mod expression;

pub mod storage;

pub mod spool;

pub mod strategy;

pub mod plan;

pub mod evidence;
pub mod rules;
pub mod sandbox;
pub mod source;
pub mod writer;

pub mod run;

pub mod cli;
