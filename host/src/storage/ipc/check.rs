//! What a file claims about its lengths, before the library believes it: it allocates what it is told, and a process that cannot
//! have that ends at once.

use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;

use arrow_ipc::Block;
use arrow_ipc::RecordBatch;
use arrow_ipc::root_as_footer;
use arrow_ipc::root_as_message;

use crate::storage::claims::part;
use crate::storage::claims::wrong;

const SHORT: &str = "it ends within a message";

/// Bytes of a value's length that stand before compressed values.
const LENGTH_BYTES: i64 = 8;

/// The footer's length and the magic at the end of a file.
const TRAILER_BYTES: u64 = 10;

/// The magic at the beginning of a file, padded.
const FILE_HEAD_BYTES: u64 = 8;

/// Where the first message of a file begins at the latest.
const FILE_PADDING_MAX: u64 = 4_096;

/// What stands before each message since version 0.15.
const CONTINUATION: u32 = u32::MAX;

/// Every block that a file's footer names lies within the file, and its values are no longer than columns can be. The rows of all.
pub(super) fn file(input: &mut (impl Read + Seek), size: u64) -> io::Result<u64> {
    let end = size.checked_sub(TRAILER_BYTES).ok_or_else(|| wrong("it is too short"))?;
    input.seek(SeekFrom::Start(end))?;
    let length = u64::from(number(input)?);
    let begin = end.checked_sub(length).ok_or_else(|| wrong("its footer is longer than itself"))?;
    let footer = part(input, begin, length, SHORT)?;
    let footer = root_as_footer(&footer).map_err(|error| wrong(&format!("its footer: {error}")))?;
    let blocks = footer.dictionaries().into_iter().chain(footer.recordBatches());
    let mut rows = 0;
    for block in blocks.flat_map(|blocks| blocks.iter()) {
        rows += file_block(input, block, begin)?;
    }
    // A damaged footer may name fewer blocks than there are.
    let mut first = FILE_HEAD_BYTES;
    // Writers fill up to where their first message is aligned.
    while first < begin.min(FILE_PADDING_MAX) && part(input, first, 4, SHORT)? == [0; 4] {
        first += 4;
    }
    let walked = walk(input, first, begin)?.0;
    if walked != rows {
        return Err(wrong(&format!("its footer names {rows} rows, its blocks have {walked}")));
    }
    Ok(rows)
}

fn file_block(input: &mut (impl Read + Seek), block: &Block, end: u64) -> io::Result<u64> {
    let count = |value: i64| u64::try_from(value).ok();
    let lengths =
        (count(block.offset()), count(block.metaDataLength().into()), count(block.bodyLength()));
    let (Some(offset), Some(head), Some(body)) = lengths else {
        return Err(wrong("a block lies before the file"));
    };
    let whole = offset.checked_add(head).and_then(|at| at.checked_add(body));
    if whole.is_none_or(|whole| whole > end) {
        return Err(wrong("a block ends behind the file"));
    }
    input.seek(SeekFrom::Start(offset))?;
    let (length, at) = message_length(input, offset)?;
    // The library looks for the values behind the head as the footer has it.
    if at + length != offset + head {
        return Err(wrong("a message's head is not as long as the footer says"));
    }
    message(input, at, length, offset + head + body).map(|(_, rows)| rows)
}

/// Every message of a stream lies within it, and its values are no longer than columns can be. The rows of all.
pub(super) fn stream(input: &mut (impl Read + Seek), size: u64) -> io::Result<u64> {
    let (rows, end) = walk(input, 0, size)?;
    match end == size {
        true => Ok(rows),
        false => Err(wrong("there is more behind the end of the stream")),
    }
}

/// The rows of all messages from `at` on, and where they end: behind the marker, or at `end`.
fn walk(input: &mut (impl Read + Seek), mut at: u64, end: u64) -> io::Result<(u64, u64)> {
    let mut rows = 0;
    while at < end {
        input.seek(SeekFrom::Start(at))?;
        let (length, begin) = message_length(input, at)?;
        if length == 0 {
            return Ok((rows, begin));
        }
        let (after, more) = message(input, begin, length, end)?;
        (at, rows) = (after, rows + more);
    }
    Ok((rows, at))
}

/// How long a message's head is, and where it begins.
fn message_length(input: &mut impl Read, at: u64) -> io::Result<(u64, u64)> {
    match number(input)? {
        CONTINUATION => Ok((u64::from(number(input)?), at + 8)),
        length => Ok((u64::from(length), at + 4)),
    }
}

/// Where the message ends, whose head begins at `at`, and the rows that it brings; all of it is before `end`.
fn message(
    input: &mut (impl Read + Seek),
    at: u64,
    length: u64,
    end: u64,
) -> io::Result<(u64, u64)> {
    let body = at.checked_add(length).filter(|body| *body <= end);
    let body = body.ok_or_else(|| wrong("a message ends behind the file"))?;
    let head = part(input, at, length, SHORT)?;
    let message = root_as_message(&head).map_err(|error| wrong(&format!("a message: {error}")))?;
    let after =
        u64::try_from(message.bodyLength()).ok().and_then(|length| body.checked_add(length));
    let after = after.filter(|after| *after <= end);
    let after = after.ok_or_else(|| wrong("a message's rows end behind the file"))?;
    let mut rows = 0;
    if let Some(batch) = message.header_as_record_batch() {
        values(input, &batch, body, after)?;
        rows = batch.length().unsigned_abs();
    } else if let Some(batch) = message.header_as_dictionary_batch().and_then(|it| it.data()) {
        values(input, &batch, body, after)?;
    } else if message.header_as_schema().is_none() {
        // The library takes it for the end.
        return Err(wrong("a message is neither a schema nor rows nor a dictionary"));
    }
    Ok((after, rows))
}

fn values(
    input: &mut (impl Read + Seek),
    rows: &RecordBatch<'_>,
    body: u64,
    end: u64,
) -> io::Result<()> {
    let most = i64::from(i32::MAX);
    let mut nodes = rows.nodes().into_iter().flat_map(|nodes| nodes.iter());
    let is_length = |length: i64| (0..=most).contains(&length);
    if !is_length(rows.length()) || !nodes.all(|node| is_length(node.length())) {
        return Err(wrong("a batch has more rows than columns can"));
    }
    if rows.compression().is_none() {
        return Ok(());
    }
    for buffer in rows.buffers().into_iter().flat_map(|buffers| buffers.iter()) {
        let at = u64::try_from(buffer.offset()).ok().and_then(|offset| body.checked_add(offset));
        if buffer.length() < LENGTH_BYTES {
            continue;
        }
        let at = at.filter(|at| *at + LENGTH_BYTES.unsigned_abs() <= end);
        let at = at.ok_or_else(|| wrong("values lie behind their message"))?;
        let mut length = [0; 8];
        input.seek(SeekFrom::Start(at))?;
        input.read_exact(&mut length)?;
        // -1 stands before values that are not compressed after all.
        if !(-1..=most).contains(&i64::from_le_bytes(length)) {
            return Err(wrong("compressed values claim to be longer than a column can be"));
        }
    }
    Ok(())
}

fn number(input: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    input.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}
