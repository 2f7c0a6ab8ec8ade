//! From the host's bytes to Arrow, without copying: the vector that the host filled becomes the arrays' memory.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_data::UnsafeFlag;
use arrow_ipc::reader::RecordBatchDecoder;
use arrow_ipc::{Message, MessageHeader, root_as_message};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::collections::HashMap;
use std::sync::Arc;

const CONTINUATION: [u8; 4] = [0xff; 4];
/// The continuation marker and the length of the metadata.
const PREFIX_BYTES: usize = 8;
/// What flatbuffers need.
const ALIGNMENT: usize = 8;

/// Reads an encapsulated schema message.
///
/// # Errors
/// Bytes that are no schema message.
pub fn decode_schema(bytes: &[u8]) -> Result<Schema, ArrowError> {
    arrow_ipc::convert::try_schema_from_ipc_buffer(bytes)
}

/// Reads one batch: the dictionaries it needs, then its columns. Columns are not copied, unless the bytes lie at an
/// address that their type cannot use; see `alloc.rs` for how that is avoided.
///
/// Inside the sandbox the data is not validated, which would take five times as long as the rest: it comes from the host,
/// and the host is the one who would suffer least if it were wrong. Natively it is.
///
/// # Errors
/// Bytes that are no batch of this schema.
pub fn decode_batch(bytes: Vec<u8>, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let mut rest = aligned(bytes);
    let mut dictionaries: HashMap<i64, ArrayRef> = HashMap::new();
    loop {
        let (head, after) = head(&rest)?;
        let message = root_as_message(head.as_slice())
            .map_err(|error| ArrowError::IpcError(error.to_string()))?;
        let body_bytes = usize::try_from(message.bodyLength())
            .map_err(|_| broken("a body of negative length"))?;
        if after + body_bytes > rest.len() {
            return Err(broken("a body longer than the bytes present"));
        }
        let body = rest.slice_with_length(after, body_bytes);
        match message.header_type() {
            MessageHeader::DictionaryBatch => {
                read_dictionary(&message, &body, schema, &mut dictionaries)?
            }
            MessageHeader::RecordBatch => {
                return read_batch(&message, &body, schema, &dictionaries);
            }
            other => {
                return Err(broken(&format!(
                    "a message of type {other:?} where a batch was expected"
                )));
            }
        }
        rest = rest.slice(after + body_bytes);
    }
}

/// Reads a dictionary's values. Arrow's own reader of dictionaries also adds to earlier ones, and the code for that would
/// be half of a guest; the contract has no additions.
fn read_dictionary(
    message: &Message<'_>,
    body: &Buffer,
    schema: &Schema,
    dictionaries: &mut HashMap<i64, ArrayRef>,
) -> Result<(), ArrowError> {
    let batch = message
        .header_as_dictionary_batch()
        .ok_or_else(|| broken("a dictionary message without one"))?;
    let (Some(values), false) = (batch.data(), batch.isDelta()) else {
        return Err(broken("an addition to a dictionary"));
    };
    #[expect(
        deprecated,
        reason = "ids are how messages name dictionaries, and only fields know them"
    )]
    let fields = schema.fields_with_dict_id(batch.id());
    let Some(DataType::Dictionary(_, value_type)) = fields.first().map(|field| field.data_type())
    else {
        return Err(broken("a dictionary that no column uses"));
    };
    let schema =
        Arc::new(Schema::new(vec![Field::new("values", value_type.as_ref().clone(), true)]));
    let values =
        RecordBatchDecoder::try_new(body, values, schema, dictionaries, &message.version())?
            .with_skip_validation(trust())
            .read_record_batch()?;
    dictionaries.insert(batch.id(), values.column(0).clone());
    Ok(())
}

fn read_batch(
    message: &Message<'_>,
    body: &Buffer,
    schema: &SchemaRef,
    dictionaries: &HashMap<i64, ArrayRef>,
) -> Result<RecordBatch, ArrowError> {
    let batch =
        message.header_as_record_batch().ok_or_else(|| broken("a batch message without one"))?;
    let batch =
        RecordBatchDecoder::try_new(body, batch, schema.clone(), dictionaries, &message.version())?
            .with_skip_validation(trust())
            .read_record_batch()?;
    debug_assert!(batch.columns().iter().all(|column| column.len() == batch.num_rows()));
    Ok(batch)
}

/// Whether arrow may believe the bytes.
fn trust() -> UnsafeFlag {
    let mut flag = UnsafeFlag::new();
    // SAFETY: inside the sandbox the bytes come from the host's own encoder. Natively, where anyone may call, the flag
    // stays down.
    unsafe { flag.set(cfg!(target_arch = "wasm32")) };
    flag
}

/// The bytes as a buffer, copied only where even the flatbuffers in it could not be read in place.
fn aligned(bytes: Vec<u8>) -> Buffer {
    match bytes.as_ptr().align_offset(ALIGNMENT) {
        0 => Buffer::from_vec(bytes),
        _ => {
            let mut copy = MutableBuffer::new(bytes.len());
            copy.extend_from_slice(&bytes);
            copy.into()
        }
    }
}

/// The metadata of the message that `bytes` start with, and where its body starts.
fn head(bytes: &Buffer) -> Result<(Buffer, usize), ArrowError> {
    let Some((marker, length)) =
        bytes.first_chunk::<PREFIX_BYTES>().and_then(|prefix| prefix.split_first_chunk())
    else {
        return Err(broken("the end where a message was expected"));
    };
    if *marker != CONTINUATION {
        return Err(broken("no continuation marker"));
    }
    let length = length.iter().rev().fold(0_usize, |length, byte| length << 8 | usize::from(*byte));
    if length > bytes.len() - PREFIX_BYTES {
        return Err(broken("metadata longer than the bytes present"));
    }
    Ok((bytes.slice_with_length(PREFIX_BYTES, length), PREFIX_BYTES + length))
}

fn broken(what: &str) -> ArrowError {
    ArrowError::IpcError(format!("broken batch: {what}"))
}

#[cfg(test)]
mod tests;
