//! Bytes of a file that claims where they are and how many: read without believing it.

use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;

/// So many bytes, and not one allocated before it is there; `short` says what is wrong where there are fewer.
pub(super) fn exactly(input: &mut impl Read, length: u64, short: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(wrong(short)) }
}

/// The same from a place on.
pub(super) fn part(
    input: &mut (impl Read + Seek),
    at: u64,
    length: u64,
    short: &str,
) -> io::Result<Vec<u8>> {
    input.seek(SeekFrom::Start(at))?;
    exactly(input, length, short)
}

/// A claim that does not hold.
pub(super) fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}
