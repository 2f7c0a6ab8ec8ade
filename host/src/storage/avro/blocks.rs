//! The blocks of a file, before the library reads them: each has to be there to its end, to hold just the records that it claims, and to
//! be no bomb. (The library takes a cut file for its end, reads a block of too many records for ever, and unpacks whatever comes.)

use std::io;
use std::io::BufRead;
use std::io::Read;
use std::io::Seek;

use bzip2::read::BzDecoder;
use flate2::read::DeflateDecoder;
use liblzma::read::XzDecoder;

use super::shape::COUNT_MAX;
use super::shape::Shapes;
use crate::storage::claims::exactly;
use crate::storage::claims::wrong;

const SHORT: &str = "it ends within a block";

const MAGIC: &[u8; 4] = b"Obj\x01";

/// The mark between blocks.
const SYNC_BYTES: usize = 16;

/// Bytes of a block, unpacked.
const BLOCK_BYTES_MAX: u64 = 1 << 30;

/// The rows of all blocks of a file of so many bytes.
pub(super) fn check(input: &mut (impl BufRead + Seek), size: u64) -> io::Result<u64> {
    let mut magic = [0; 4];
    input.read_exact(&mut magic)?;
    if magic != *MAGIC {
        return Err(wrong("it begins otherwise"));
    }
    let (mut schema, mut codec) = (None, b"null".to_vec());
    // The head is a map of text to bytes, in blocks; a negative number of entries has their bytes behind it.
    loop {
        let mut entries = long(input)?;
        if entries == 0 {
            break;
        }
        if entries < 0 {
            (entries, _) = (entries.saturating_neg(), long(input)?);
        }
        for _ in 0..entries {
            let key = counted(input, size)?;
            let value = counted(input, size)?;
            match key.as_slice() {
                b"avro.schema" => schema = Some(value),
                b"avro.codec" => codec = value,
                _ => {}
            }
        }
    }
    let shapes = Shapes::read(&schema.ok_or_else(|| wrong("it has no schema"))?)?;
    let mut sync = [0; SYNC_BYTES];
    input.read_exact(&mut sync)?;
    let mut rows = 0_u64;
    while !input.fill_buf()?.is_empty() {
        let count = long(input)?;
        if !(0..=COUNT_MAX).contains(&count) {
            return Err(wrong("a block claims more records than columns hold"));
        }
        let block = unpacked(&codec, &counted(input, size)?)?;
        if !shapes.skip(count, &block)?.is_empty() {
            return Err(wrong("a block holds more than the records that it claims"));
        }
        rows += count.unsigned_abs();
        let mut mark = [0; SYNC_BYTES];
        input.read_exact(&mut mark)?;
        if mark != sync {
            return Err(wrong("a block does not end with the file's mark"));
        }
    }
    Ok(rows)
}

fn unpacked(codec: &[u8], packed: &[u8]) -> io::Result<Vec<u8>> {
    match codec {
        b"null" => Ok(packed.to_vec()),
        b"deflate" => all(DeflateDecoder::new(packed)),
        b"bzip2" => all(BzDecoder::new(packed)),
        b"xz" => all(XzDecoder::new(packed)),
        b"zstandard" => all(zstd::Decoder::new(packed)?),
        b"snappy" => {
            // A checksum of four bytes is behind it.
            let end = packed.len().checked_sub(4).ok_or_else(|| wrong("a block is too short"))?;
            let length = snap::raw::decompress_len(&packed[..end])?;
            if length as u64 > BLOCK_BYTES_MAX {
                return Err(too_long());
            }
            Ok(snap::raw::Decoder::new().decompress_vec(&packed[..end])?)
        }
        other => {
            let what = format!("it is packed by `{}`", String::from_utf8_lossy(other));
            Err(wrong(&format!("{what}; known are deflate, snappy, zstandard, bzip2, xz")))
        }
    }
}

fn all(read: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read.take(BLOCK_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BLOCK_BYTES_MAX { Err(too_long()) } else { Ok(bytes) }
}

/// Bytes with their length before them, which is no longer than the file.
fn counted(input: &mut impl Read, size: u64) -> io::Result<Vec<u8>> {
    let length = u64::try_from(long(input)?).ok().filter(|length| *length <= size);
    let length = length.ok_or_else(|| wrong(SHORT))?;
    exactly(input, length, SHORT)
}

/// A number of variable length, its sign in the lowest bit.
pub(super) fn long(input: &mut impl Read) -> io::Result<i64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let mut byte = [0];
        input.read_exact(&mut byte)?;
        value |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] & 0x80 == 0 {
            return Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
        }
    }
    Err(wrong("a number is too long"))
}

fn too_long() -> io::Error {
    wrong(&format!("a block is longer than {BLOCK_BYTES_MAX} bytes when it is unpacked"))
}
