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
use arrow_ipc::root_as_message_with_opts;
use flatbuffers::VerifierOptions;

use crate::component::crosses;
use crate::problem::escape;
use crate::sandbox::encode;
use crate::sandbox::error::Breach;
use crate::sandbox::opening::COLUMNS_MAX;
use crate::sandbox::opening::check_name;

/// Nesting that a guest's schema may have.
const DEPTH_MAX: usize = 16;

/// Bytes of a fixed-size value, items of a fixed-size list.
const VALUE_BYTES: std::ops::RangeInclusive<i32> = 1..=1 << 16;

/// Tables of a message's metadata: some for each column.
const TABLES_MAX: usize = 64 * COLUMNS_MAX;

/// Continuation marker and length of an encapsulated message.
const PREFIX_BYTES: usize = 8;

/// The bytes of a batch, as the contract spells them, in place of what `bytes` held.
///
/// # Errors
/// A column type that Arrow cannot encode.
pub(super) fn encode_batch(rows: &RecordBatch, bytes: &mut Vec<u8>) -> Result<(), Breach> {
    encode::encode_batch_into(rows, bytes)
        .map_err(|error| Breach::Load(format!("its input cannot be encoded: {error}")))
}

/// The bytes of a schema.
pub(super) fn encode_schema(schema: &Schema) -> Vec<u8> {
    encode::encode_schema(schema)
}

/// A guest's schema, within the limits and of types that can cross.
pub(super) fn decode_schema(bytes: &[u8]) -> Result<SchemaRef, Breach> {
    let (message, body_start) = message(bytes)?;
    let header = message.header_as_schema();
    let header = header.ok_or_else(|| Breach::protocol("a schema that is no schema message"))?;
    if header.endianness() != Endianness::Little
        || body_start != bytes.len()
        || message.bodyLength() != 0
    {
        return Err(Breach::protocol(
            "a schema message with something after it, or not little-endian",
        ));
    }
    let columns = header.fields().map_or(0, |fields| fields.len());
    if columns > COLUMNS_MAX {
        return Err(Breach::Protocol(format!(
            "a schema of {columns} columns; {COLUMNS_MAX} are allowed"
        )));
    }
    let schema = guarded("a schema", || Ok::<_, ArrowError>(fb_to_schema(header)))?;
    let mut room = COLUMNS_MAX;
    schema.fields().iter().try_for_each(|field| check_field(field, DEPTH_MAX, &mut room))?;
    Ok(Arc::new(schema))
}

/// Holds a column and those below it against what may cross: `levels` of nesting, `room` for columns, values of a bounded size.
fn check_field(field: &Field, levels: usize, room: &mut usize) -> Result<(), Breach> {
    check_name(field.name())?;
    let refuse = |why: &str| {
        Err(Breach::Protocol(format!(
            "a schema whose column `{}` of type {} {why}",
            field.name(),
            escape(&field.data_type().to_string())
        )))
    };
    let Some(left) = room.checked_sub(1) else { return refuse("is one too many") };
    *room = left;
    if levels == 0 {
        return refuse("is nested too deep");
    }
    if !crosses(field.data_type()) {
        return refuse("cannot cross");
    }
    let mut below = |child: &Field| {
        if matches!(child.data_type(), DataType::Null) {
            // No bytes stand behind such items, so that nothing would bound how many there are.
            return refuse("has items without a type");
        }
        check_field(child, levels - 1, room)
    };
    match field.data_type() {
        DataType::FixedSizeBinary(width) if !VALUE_BYTES.contains(width) => {
            refuse("has values of a size that is not allowed")
        }
        DataType::FixedSizeList(_, length) if !VALUE_BYTES.contains(length) => {
            refuse("has values of a size that is not allowed")
        }
        DataType::Struct(children) if children.is_empty() => refuse("has no fields"),
        DataType::List(child)
        | DataType::LargeList(child)
        | DataType::FixedSizeList(child, _)
        | DataType::Map(child, _) => below(child),
        DataType::Struct(children) => children.iter().try_for_each(|child| below(child)),
        _ => Ok(()),
    }
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
    // Buffers that share bytes would be larger than what was paid for them as soon as anything copies them.
    let mut free_from = 0;
    for buffer in header.buffers().into_iter().flatten().filter(|buffer| buffer.length() != 0) {
        let end = buffer.offset().checked_add(buffer.length());
        let fits = end.and_then(|end| usize::try_from(end).ok()).is_some_and(|end| end <= body);
        if buffer.length() < 0 || buffer.offset() < free_from || !fits {
            return Err(Breach::protocol(
                "a batch with a buffer outside its body, or over another one",
            ));
        }
        free_from = buffer.offset() + buffer.length();
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
    // Shared parts are legal in this format, so the size that they would have apart is bounded as well.
    let apparent_max = 16 * metadata.len() + 4096;
    let options = VerifierOptions {
        max_tables: TABLES_MAX,
        max_apparent_size: apparent_max,
        ..VerifierOptions::default()
    };
    let message = root_as_message_with_opts(&options, metadata).map_err(|error| {
        Breach::Protocol(format!("an IPC message that is corrupt: {}", escape(&error.to_string())))
    })?;
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
        Ok(Err(error)) => {
            Err(Breach::Protocol(format!("{what} that is corrupt: {}", escape(&error.to_string()))))
        }
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
