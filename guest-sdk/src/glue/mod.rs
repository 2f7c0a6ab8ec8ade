//! Between the contract's words and the author's traits. The same code runs in the sandbox and in the harness.

mod rule;
mod transform;

pub use rule::{RuleExport, RuleInstance, RuleWorld};
pub use transform::{TransformExport, TransformInstance, TransformWorld};

use crate::decode::decode_batch;
use crate::failure::Failure;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

/// A call that the contract does not allow before `open`.
fn not_open() -> Failure {
    Failure::internal("not-open", "called before `open` succeeded")
}

/// Reads a batch of one of the inputs, and says which one.
fn decode(
    input: u32,
    batch: Vec<u8>,
    schemas: &[SchemaRef],
) -> Result<(usize, RecordBatch), Failure> {
    let input = input as usize;
    let Some(schema) = schemas.get(input) else {
        return Err(Failure::internal(
            "input",
            format!("a batch of input {input}, of {}", schemas.len()),
        ));
    };
    let batch = decode_batch(batch, schema)
        .map_err(|error| Failure::internal("decode", error.to_string()))?;
    Ok((input, batch))
}
