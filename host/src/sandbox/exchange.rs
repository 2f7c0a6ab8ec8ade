//! Bytes and batches: what goes in is ours, what comes back is hostile.
//!
//! A batch that comes back is decoded against the schema agreed in `open`: sizes against the bytes present, no compression,
//! no dictionaries, nothing missing and nothing trailing; Arrow's own validation is never skipped.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow_ipc::Endianness;
use arrow_ipc::Message;
use arrow_ipc::MessageHeader;
use arrow_ipc::MetadataVersion;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::RecordBatchDecoder;
use arrow_ipc::root_as_message;

use crate::component::crosses;
use crate::sandbox::encode;
use crate::sandbox::error::Breach;

/// Columns and nesting that a guest's schema may have.
const COLUMNS_MAX: usize = 2_000;
const DEPTH_MAX: usize = 16;

/// Continuation marker and length of an encapsulated message.
const PREFIX_BYTES: usize = 8;

/// The bytes of a batch, as the contract spells them.
///
/// # Errors
/// A column type that Arrow cannot encode.
pub(super) fn encode_batch(rows: &RecordBatch) -> Result<Vec<u8>, Breach> {
    encode::encode_batch(rows)
        .map_err(|error| Breach::Load(format!("its input cannot be encoded: {error}")))
}

/// The bytes of a schema.
pub(super) fn encode_schema(schema: &Schema) -> Vec<u8> {
    encode::encode_schema(schema)
}

/// A guest's schema, within the limits and of types that can cross.
pub(super) fn decode_schema(bytes: &[u8]) -> Result<SchemaRef, Breach> {
    let (message, body_start) = message(bytes)?;
    let header = message
        .header_as_schema()
        .ok_or_else(|| Breach::protocol("a schema that is no schema message"))?;
    if header.endianness() != Endianness::Little
        || body_start != bytes.len()
        || message.bodyLength() != 0
    {
        return Err(Breach::protocol(
            "a schema message with something after it, or not little-endian",
        ));
    }
    let schema = guarded("its schema", || Ok::<_, ArrowError>(fb_to_schema(header)))?;
    if schema.fields().len() > COLUMNS_MAX {
        let what =
            format!("a schema of {} columns; {COLUMNS_MAX} are allowed", schema.fields().len());
        return Err(Breach::Protocol(what));
    }
    for field in schema.fields() {
        if depth(field) > DEPTH_MAX || !crosses(field.data_type()) {
            let what = format!(
                "a schema whose column `{}` has the type {}, which cannot cross",
                field.name(),
                field.data_type()
            );
            return Err(Breach::Protocol(what));
        }
    }
    Ok(Arc::new(schema))
}

/// A guest's batch of exactly `schema`; `rows` is how many it must have, or the most it may have.
pub(super) fn decode_batch(
    bytes: Vec<u8>,
    schema: &SchemaRef,
    rows: Rows,
) -> Result<RecordBatch, Breach> {
    let bytes = Buffer::from_vec(bytes);
    let (message, body_start) = message(&bytes)?;
    if message.version() != MetadataVersion::V5 {
        return Err(Breach::protocol("a batch that is not of IPC version 5"));
    }
    let header = message.header_as_record_batch().ok_or_else(|| {
        Breach::Protocol(format!(
            "a batch whose message is {}",
            message.header_type().variant_name().unwrap_or("unknown")
        ))
    })?;
    let body = bytes.len() - body_start;
    if usize::try_from(message.bodyLength()).ok() != Some(body) {
        return Err(Breach::Protocol(format!(
            "a batch that says {} body bytes and brings {body}",
            message.bodyLength()
        )));
    }
    rows.judge(header.length())?;
    if header.compression().is_some()
        || header.variadicBufferCounts().is_some_and(|counts| !counts.is_empty())
    {
        return Err(Breach::protocol("a compressed batch, or one of view arrays"));
    }
    let nodes = header.nodes().map_or(0, |nodes| nodes.len());
    let buffers = header.buffers().map_or(0, |buffers| buffers.len());
    let (nodes_due, buffers_due) = shape(schema.fields().iter().map(AsRef::as_ref));
    if (nodes, buffers) != (nodes_due, buffers_due) {
        let what = format!(
            "a batch of {nodes} arrays and {buffers} buffers; its schema has {nodes_due} and {buffers_due}"
        );
        return Err(Breach::Protocol(what));
    }
    for node in header.nodes().into_iter().flatten() {
        if node.length() < 0 || node.null_count() < 0 || node.null_count() > node.length() {
            return Err(Breach::protocol(
                "a batch with an array of impossible length or null count",
            ));
        }
    }
    for buffer in header.buffers().into_iter().flatten() {
        let end = buffer.offset().checked_add(buffer.length());
        let fits = end.and_then(|end| usize::try_from(end).ok()).is_some_and(|end| end <= body);
        if buffer.offset() < 0 || buffer.length() < 0 || !fits {
            return Err(Breach::protocol("a batch with a buffer outside its body"));
        }
    }
    let data = bytes.slice(body_start);
    guarded("a batch", || {
        RecordBatchDecoder::try_new(
            &data,
            header,
            Arc::clone(schema),
            &HashMap::new(),
            &MetadataVersion::V5,
        )?
        .read_record_batch()
    })
}

/// How many rows an answer may have.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rows {
    Exactly(usize),
    AtMost(usize),
}

impl Rows {
    fn judge(self, found: i64) -> Result<(), Breach> {
        let found = usize::try_from(found)
            .map_err(|_| Breach::protocol("a batch of a negative number of rows"))?;
        match self {
            Self::Exactly(due) if found != due => {
                Err(Breach::Protocol(format!("a batch of {found} rows for an input of {due}")))
            }
            Self::AtMost(most) if found > most => Err(Breach::Limit {
                limit: "amplification",
                allowed: format!("{most} rows"),
                asked: Some(found.to_string()),
            }),
            Self::Exactly(_) | Self::AtMost(_) => Ok(()),
        }
    }
}

/// The message at the front of the bytes, verified, and where its body starts.
fn message(bytes: &[u8]) -> Result<(Message<'_>, usize), Breach> {
    let short =
        || Breach::Protocol(format!("an IPC message that is cut off ({} bytes)", bytes.len()));
    let prefix = bytes.get(..PREFIX_BYTES).ok_or_else(short)?;
    let word = |at: usize| {
        prefix.get(at..at + 4).and_then(|word| <[u8; 4]>::try_from(word).ok()).ok_or_else(short)
    };
    if word(0)? != [0xff; 4] {
        return Err(Breach::protocol("an IPC message without its continuation marker"));
    }
    let length = usize::try_from(i32::from_le_bytes(word(4)?)).map_err(|_| short())?;
    let body_start = PREFIX_BYTES.checked_add(length).ok_or_else(short)?;
    let metadata = bytes.get(PREFIX_BYTES..body_start).ok_or_else(short)?;
    let message = root_as_message(metadata)
        .map_err(|error| Breach::Protocol(format!("an IPC message that is corrupt: {error}")))?;
    if message.header_type() == MessageHeader::NONE {
        return Err(Breach::protocol("an IPC message without a header"));
    }
    Ok((message, body_start))
}

/// Runs a decoder of foreign bytes: its errors and its panics are the guest's breach.
fn guarded<T, E: std::fmt::Display>(
    what: &str,
    decode: impl FnOnce() -> Result<T, E>,
) -> Result<T, Breach> {
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(Ok(decoded)) => Ok(decoded),
        Ok(Err(error)) => Err(Breach::Protocol(format!("{what} that is corrupt: {error}"))),
        Err(_) => Err(Breach::Protocol(format!("{what} that no decoder can read"))),
    }
}

/// Arrays and buffers that the fields have in the IPC format.
/// <https://arrow.apache.org/docs/format/Columnar.html#buffer-listing-for-each-layout>
fn shape<'a>(fields: impl Iterator<Item = &'a Field>) -> (usize, usize) {
    fields.fold((0, 0), |(nodes, buffers), field| {
        let child = |field: &'a Field| shape(std::iter::once(field));
        let (below, own) = match field.data_type() {
            DataType::Null => ((0, 0), 0),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => {
                ((0, 0), 3)
            }
            DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
                (child(item), 2)
            }
            DataType::FixedSizeList(item, _) => (child(item), 1),
            DataType::Struct(children) => (shape(children.iter().map(AsRef::as_ref)), 1),
            _ => ((0, 0), 2),
        };
        (nodes + 1 + below.0, buffers + own + below.1)
    })
}

fn depth(field: &Field) -> usize {
    1 + match field.data_type() {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => depth(item),
        DataType::Struct(children) => children.iter().map(|child| depth(child)).max().unwrap_or(0),
        _ => 0,
    }
}
