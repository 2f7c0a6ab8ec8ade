//! The oracle: what every load strategy does to a table, in memory, written from the documents by somebody who had not seen the
//! strategies at work; random sequences of batches; and the comparison with the real table, whole after each run.

mod cases;
mod check;
mod draw;
mod invariants;
mod oracle;
mod real;
mod sequences;
mod setup;
mod truth;
mod value;
mod variants;
