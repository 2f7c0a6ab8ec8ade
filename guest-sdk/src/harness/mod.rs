//! Runs a component natively, in `cargo test`: the same code as in the sandbox, from the bytes of the configuration to
//! the bytes of the answer, and what the host makes of them. Without the sandbox, and so without its limits.

mod rule;
mod transform;

pub use rule::{Judged, Judging, rule, rule_with};
pub use transform::{Transformed, Transforming, transform, transform_with};

use crate::Context;
use crate::bindings::types::{Judgement, NamedInput};
use crate::encode::encode_schema;
use crate::failure::Reason;
use crate::log::Level;
use arrow_array::RecordBatch;
use arrow_buffer::BooleanBuffer;
use arrow_schema::Schema;

/// The surroundings of a component under test; always the same.
#[must_use]
pub fn context() -> Context {
    Context {
        run_id: "test-run".to_owned(),
        flow: "test".to_owned(),
        destination: None,
        split: "0".to_owned(),
        attempt: 1,
        logical_time_ns: 1_700_000_000_000_000_000,
        seed: 42,
    }
}

/// What this thread's components have logged since the last call.
#[must_use]
pub fn logs() -> Vec<(Level, String)> {
    crate::log::captured::take()
}

/// The rows that one reason hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hits {
    /// The reason's code.
    pub reason: String,
    /// The rows hit, counted over all batches.
    pub rows: Vec<usize>,
    /// How many rows were judged.
    pub evaluated: usize,
    /// Of those, how many were judged on a NULL.
    pub nulls: usize,
}

impl Hits {
    fn none_of(reasons: &[Reason]) -> Vec<Self> {
        let none = |reason: &Reason| Self {
            reason: reason.code.clone(),
            rows: Vec::new(),
            evaluated: 0,
            nulls: 0,
        };
        reasons.iter().map(none).collect()
    }

    /// Adds the judgement of a batch that starts at row `first`, after checking it as the host does.
    fn add(&mut self, judgement: &Judgement, first: usize, rows: usize) {
        let bits = bits(&judgement.hits, rows);
        let hits = bits.count_set_bits();
        let (evaluated, nulls) = (judgement.evaluated as usize, judgement.nulls as usize);
        assert!(
            hits <= evaluated && evaluated <= rows && nulls <= evaluated,
            "counts that cannot be: {judgement:?}"
        );
        self.rows.extend(bits.set_indices().map(|row| first + row));
        self.evaluated += evaluated;
        self.nulls += nulls;
    }
}

/// A row bitmap from a guest, checked as the host checks it.
fn bits(bytes: &[u8], rows: usize) -> BooleanBuffer {
    assert_eq!(bytes.len(), rows.div_ceil(8), "a bitmap for {rows} rows");
    let all = BooleanBuffer::new(bytes.to_vec().into(), 0, bytes.len() * 8);
    assert!(all.set_indices().all(|bit| bit < rows), "padding bits are set");
    all.slice(0, rows)
}

fn named(inputs: &[(&str, &Schema)]) -> Vec<NamedInput> {
    let named = |(name, schema): &(&str, &Schema)| NamedInput {
        name: (*name).into(),
        schema: encode_schema(schema),
    };
    inputs.iter().map(named).collect()
}

/// The batch with the wanted columns alone, as the host sends it.
fn project(batch: &RecordBatch, projection: &[u32]) -> Vec<u8> {
    let positions: Vec<usize> = projection.iter().map(|position| *position as usize).collect();
    let sent = batch.project(&positions).and_then(|batch| crate::encode::encode_batch(&batch));
    sent.unwrap_or_else(|error| panic!("a batch that is not of the schema given at first: {error}"))
}
