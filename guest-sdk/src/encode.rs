//! Arrow IPC messages, written with one copy of the data: from the arrays straight into the answer.
//!
//! Depends on the arrow crates alone, so that the host can compile the very same file.

use arrow_array::cast::AsArray;
use arrow_array::{Array, OffsetSizeTrait, RecordBatch};
use arrow_buffer::{Buffer, ScalarBuffer, ToByteSlice};
use arrow_data::ArrayData;
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use arrow_ipc::{FieldNode, MessageBuilder, MessageHeader, MetadataVersion, RecordBatchBuilder};
use arrow_schema::{ArrowError, DataType, Schema};

/// Every buffer of a body starts at a multiple of this, and so does the body.
const ALIGNMENT: usize = 64;
const PADDING: [u8; ALIGNMENT] = [0; ALIGNMENT];
const CONTINUATION: [u8; 4] = [0xff; 4];
/// The continuation marker and the length of the metadata.
const PREFIX_BYTES: usize = 8;

/// An encapsulated schema message: the start of an IPC stream.
#[must_use]
pub fn encode_schema(schema: &Schema) -> Vec<u8> {
    // The tracker numbers dictionaries in the order in which `encode_batch` would.
    let mut tracker = DictionaryTracker::new(false);
    let encoded = IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(
        schema,
        &mut tracker,
        &IpcWriteOptions::default(),
    );
    let mut bytes = Vec::new();
    message(&encoded.ipc_message, 0, &mut bytes);
    bytes
}

/// The batch as it follows its schema in an IPC stream: uncompressed, bodies aligned to 64 bytes. One message, unless
/// the batch has dictionaries, which come first.
///
/// # Errors
/// A type that the IPC format, or arrow's writer of it, does not know.
pub fn encode_batch(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut bytes = Vec::new();
    encode_batch_into(batch, &mut bytes)?;
    Ok(bytes)
}

/// The same into a vector, in place of what it held: one that is used again needs no fresh memory.
///
/// # Errors
/// As [`encode_batch`].
pub fn encode_batch_into(batch: &RecordBatch, bytes: &mut Vec<u8>) -> Result<(), ArrowError> {
    if !batch.schema_ref().fields().iter().all(|field| is_plain(field.data_type())) {
        *bytes = encode_by_arrow(batch)?;
        return Ok(());
    }
    let mut body = Body::default();
    for column in batch.columns() {
        body.array(column)?;
    }
    body.into_message(batch.num_rows(), bytes);
    Ok(())
}

/// Whether a column of this type is one record batch message by itself: no dictionary, union or run-end encoding,
/// however deep.
#[must_use]
pub fn is_plain(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(..) | DataType::Union(..) | DataType::RunEndEncoded(..) => false,
        DataType::ListView(_) | DataType::LargeListView(_) => false,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => is_plain(item.data_type()),
        DataType::Struct(fields) => fields.iter().all(|field| is_plain(field.data_type())),
        _ => true,
    }
}

/// What `Body` leaves to arrow's own writer.
#[cfg(not(target_arch = "wasm32"))]
fn encode_by_arrow(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    // The writer puts the schema first and the end of the stream last; we want what is between.
    let bytes_about = batch.get_array_memory_size();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(
        Vec::with_capacity(bytes_about),
        batch.schema_ref(),
    )?;
    writer.get_mut().clear();
    writer.write(batch)?;
    Ok(std::mem::take(writer.get_mut()))
}

/// Guests never compute such columns, and arrow's writer would add a fifth to the size of each.
#[cfg(target_arch = "wasm32")]
fn encode_by_arrow(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let types: Vec<&DataType> =
        batch.schema_ref().fields().iter().map(|field| field.data_type()).collect();
    Err(ArrowError::IpcError(format!("a guest cannot return columns of these types: {types:?}")))
}

/// A record batch's body and its table of contents, as it grows.
#[derive(Default)]
struct Body {
    nodes: Vec<FieldNode>,
    buffers: Vec<arrow_ipc::Buffer>,
    variadic_counts: Vec<i64>,
    /// What is copied in the end, in order; each is padded to the alignment.
    segments: Vec<Buffer>,
    bytes: usize,
}

impl Body {
    /// Adds a column and its children, depth first.
    fn array(&mut self, array: &dyn Array) -> Result<(), ArrowError> {
        let data_type = array.data_type();
        let rows = array.len();
        if matches!(data_type, DataType::Null) {
            // All its values are NULL, and it has no buffers to say so.
            self.nodes.push(FieldNode::new(rows as i64, rows as i64));
            return Ok(());
        }
        self.nodes.push(FieldNode::new(rows as i64, array.null_count() as i64));
        match array.nulls() {
            Some(nulls) if nulls.null_count() > 0 => self.push(nulls.inner().sliced()),
            _ => self.push(Buffer::default()),
        }
        match data_type {
            DataType::Boolean => self.push(array.as_boolean().values().sliced()),
            DataType::Utf8 | DataType::Binary => self.texts::<i32>(&array.to_data()),
            DataType::LargeUtf8 | DataType::LargeBinary => self.texts::<i64>(&array.to_data()),
            DataType::Utf8View | DataType::BinaryView => {
                let data = array.to_data();
                self.fixed(&data, size_of::<u128>());
                let texts = &data.buffers()[1..];
                self.variadic_counts.push(texts.len() as i64);
                texts.iter().for_each(|text| self.push(text.clone()));
            }
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                self.list(list.offsets().inner(), list.values())?;
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                self.list(list.offsets().inner(), list.values())?;
            }
            DataType::Map(..) => {
                let map = array.as_map();
                self.list(map.offsets().inner(), map.entries())?;
            }
            DataType::FixedSizeList(..) => {
                let list = array.as_fixed_size_list();
                self.array(&list.values().slice(0, rows * list.value_length() as usize))?;
            }
            DataType::Struct(_) => {
                for column in array.as_struct().columns() {
                    self.array(column)?;
                }
            }
            DataType::FixedSizeBinary(width) => self.fixed(&array.to_data(), *width as usize),
            other => match other.primitive_width() {
                Some(width) => self.fixed(&array.to_data(), width),
                None => {
                    return Err(ArrowError::IpcError(format!(
                        "cannot write a column of type {other}"
                    )));
                }
            },
        }
        Ok(())
    }

    fn fixed(&mut self, data: &ArrayData, width: usize) {
        self.push(data.buffers()[0].slice_with_length(data.offset() * width, data.len() * width));
    }

    fn texts<O: OffsetSizeTrait>(&mut self, data: &ArrayData) {
        let offsets = match data.is_empty() {
            // An empty array may lack even the first offset.
            true => ScalarBuffer::from(vec![O::default()]),
            false => ScalarBuffer::new(data.buffers()[0].clone(), data.offset(), data.len() + 1),
        };
        let (start, end) = self.offsets(&offsets);
        self.push(data.buffers()[1].slice_with_length(start, end - start));
    }

    fn list<O: OffsetSizeTrait>(
        &mut self,
        offsets: &ScalarBuffer<O>,
        items: &dyn Array,
    ) -> Result<(), ArrowError> {
        let (start, end) = self.offsets(offsets);
        self.array(&items.slice(start, end - start))
    }

    /// Adds offsets, moved to start at 0 as the values that a slice leaves out are not sent. Returns the range of
    /// values that is.
    fn offsets<O: OffsetSizeTrait>(&mut self, offsets: &ScalarBuffer<O>) -> (usize, usize) {
        let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
        self.push(match first.as_usize() {
            0 => offsets.inner().clone(),
            _ => offsets
                .iter()
                .map(|offset| *offset - first)
                .collect::<ScalarBuffer<O>>()
                .into_inner(),
        });
        (first.as_usize(), last.as_usize())
    }

    fn push(&mut self, segment: Buffer) {
        self.buffers.push(arrow_ipc::Buffer::new(self.bytes as i64, segment.len() as i64));
        self.bytes += segment.len().next_multiple_of(ALIGNMENT);
        self.segments.push(segment);
    }

    fn into_message(self, rows: usize, out: &mut Vec<u8>) {
        let Self { nodes, buffers, variadic_counts, segments, bytes } = self;
        // Only arrow-ipc names the flatbuffers crate; this is how to get a builder from it.
        let mut builder = IpcSchemaEncoder::new().schema_to_fb(&Schema::empty());
        builder.reset();
        let buffers = builder.create_vector(&buffers);
        let nodes = builder.create_vector(&nodes);
        let counts = (!variadic_counts.is_empty()).then(|| builder.create_vector(&variadic_counts));
        let mut batch = RecordBatchBuilder::new(&mut builder);
        batch.add_length(rows as i64);
        batch.add_nodes(nodes);
        batch.add_buffers(buffers);
        if let Some(counts) = counts {
            batch.add_variadicBufferCounts(counts);
        }
        let header = batch.finish().as_union_value();
        let mut head = MessageBuilder::new(&mut builder);
        head.add_version(MetadataVersion::V5);
        head.add_header_type(MessageHeader::RecordBatch);
        head.add_bodyLength(bytes as i64);
        head.add_header(header);
        let root = head.finish();
        builder.finish(root, None);

        message(builder.finished_data(), bytes, out);
        for segment in segments {
            out.extend_from_slice(&segment);
            pad(out);
        }
    }
}

/// The message without its body, with exactly the room for it: a vector with room to spare would be copied once more
/// on its way out of the guest.
fn message(metadata: &[u8], body_bytes: usize, bytes: &mut Vec<u8>) {
    let head_bytes = (PREFIX_BYTES + metadata.len()).next_multiple_of(ALIGNMENT);
    bytes.clear();
    bytes.reserve_exact(head_bytes + body_bytes);
    bytes.extend_from_slice(&CONTINUATION);
    bytes.extend_from_slice(((head_bytes - PREFIX_BYTES) as i32).to_le_bytes().to_byte_slice());
    bytes.extend_from_slice(metadata);
    pad(bytes);
}

fn pad(bytes: &mut Vec<u8>) {
    let missing = bytes.len().next_multiple_of(ALIGNMENT) - bytes.len();
    bytes.extend_from_slice(&PADDING[..missing]);
}
