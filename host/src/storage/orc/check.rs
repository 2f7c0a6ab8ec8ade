//! The types of a file's footer, before the library reads them: it follows them from each to its parts, and a damaged file that names a
//! type as a part of itself would end the process.

use std::io;
use std::io::Read;
use std::io::Seek;

use flate2::read::DeflateDecoder;
use orc_rust::proto::CompressionKind;
use orc_rust::proto::Footer;
use orc_rust::proto::PostScript;
use prost::Message as _;

use crate::storage::claims::part;
use crate::storage::claims::wrong;

const SHORT: &str = "it ends early";

/// How deep types may nest.
const DEPTH_MAX: usize = 64;

/// Bytes of a footer, unpacked.
const FOOTER_BYTES_MAX: u64 = 256 << 20;

/// Every type's parts come behind it, and not too many of them within each other.
pub(super) fn types(input: &mut (impl Read + Seek), size: u64) -> io::Result<()> {
    let end = size.checked_sub(1).ok_or_else(|| wrong("it is empty"))?;
    let length = u64::from(part(input, end, 1, SHORT)?[0]);
    let begin =
        end.checked_sub(length).ok_or_else(|| wrong("its postscript is longer than itself"))?;
    let postscript = PostScript::decode(part(input, begin, length, SHORT)?.as_slice())?;
    let length = postscript.footer_length.unwrap_or_default();
    let begin =
        begin.checked_sub(length).ok_or_else(|| wrong("its footer is longer than itself"))?;
    let packed = part(input, begin, length, SHORT)?;
    let footer = Footer::decode(unpacked(postscript.compression(), &packed)?.as_slice())?;
    let mut depths = vec![0_usize; footer.types.len()];
    for (at, of) in footer.types.iter().enumerate() {
        for child in &of.subtypes {
            let child = *child as usize;
            if child <= at || child >= depths.len() {
                return Err(wrong("a type of its footer is a part of itself, or of none"));
            }
            depths[child] = depths[at] + 1;
            if depths[child] > DEPTH_MAX {
                return Err(wrong("its types nest too deep"));
            }
        }
    }
    Ok(())
}

/// The chunks of a footer, each with its length and whether it is packed at all.
fn unpacked(kind: CompressionKind, mut packed: &[u8]) -> io::Result<Vec<u8>> {
    if kind == CompressionKind::None {
        return Ok(packed.to_vec());
    }
    let mut all = Vec::new();
    while let Some((head, rest)) = packed.split_at_checked(3) {
        let head = u32::from_le_bytes([head[0], head[1], head[2], 0]);
        let (chunk, rest) = rest
            .split_at_checked((head >> 1) as usize)
            .ok_or_else(|| wrong("a part of its footer ends behind it"))?;
        let room = FOOTER_BYTES_MAX.saturating_sub(all.len() as u64);
        match kind {
            _ if head & 1 == 1 => all.extend_from_slice(chunk),
            CompressionKind::Zlib => {
                DeflateDecoder::new(chunk).take(room).read_to_end(&mut all)?;
            }
            CompressionKind::Zstd => {
                zstd::Decoder::new(chunk)?.take(room).read_to_end(&mut all)?;
            }
            CompressionKind::Snappy if snap::raw::decompress_len(chunk)? as u64 <= room => {
                all.extend(snap::raw::Decoder::new().decompress_vec(chunk)?);
            }
            other => {
                let what =
                    format!("it is compressed by {}, which is not read", other.as_str_name());
                return Err(wrong(&what));
            }
        }
        packed = rest;
    }
    Ok(all)
}
