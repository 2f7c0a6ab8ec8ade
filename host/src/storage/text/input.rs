//! Text files as they are read: decompressed by what they begin with, whatever their name, and decoded to UTF-8.

use std::io;
use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Read;

use bzip2::read::MultiBzDecoder;
use encoding_rs::Decoder;
use encoding_rs::DecoderResult;
use encoding_rs::Encoding;
use encoding_rs::UTF_8;
use flate2::read::MultiGzDecoder;
use liblzma::read::XzDecoder;

use crate::storage::StorageError;
use crate::storage::listing::SourceFile;

/// The text of a file.
pub struct Input(Box<dyn Read + Send>);

impl Input {
    /// Any text in UTF-8.
    pub fn new(read: impl Read + Send + 'static) -> Self {
        Self(Box::new(read))
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input").finish_non_exhaustive()
    }
}

/// What compressed files begin with.
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
const BZIP2: &[u8] = b"BZh";
/// What bzip2 has behind its level: a block, or nothing at all.
const BZIP2_BLOCKS: [&[u8]; 2] =
    [&[0x31, 0x41, 0x59, 0x26, 0x53, 0x59], &[0x17, 0x72, 0x45, 0x38, 0x50, 0x90]];

const BUFFER_BYTES: usize = 256 * 1024;

/// Opens a file of text in UTF-8.
///
/// # Errors
/// Where it cannot be opened.
pub fn open(file: &SourceFile) -> Result<Input, StorageError> {
    let mut input = BufReader::with_capacity(BUFFER_BYTES, file.open()?);
    let begin = input.fill_buf().map_err(StorageError::io(&file.path, "read it"))?;
    let is_bzip2 = begin.strip_prefix(BZIP2).and_then(|rest| rest.get(1..)).is_some_and(|rest| {
        // A file that was cut may have a part of it only.
        let is_block = |block: &&[u8]| rest.starts_with(block) || block.starts_with(rest);
        !rest.is_empty() && BZIP2_BLOCKS.iter().any(is_block)
    });
    // Several of them one after the other are one text, as their tools take them.
    Ok(match begin {
        begin if begin.starts_with(GZIP) => Input::new(MultiGzDecoder::new(input)),
        begin if begin.starts_with(ZSTD) => {
            let decoder = zstd::Decoder::with_buffer(input);
            Input::new(decoder.map_err(StorageError::io(&file.path, "decompress it"))?)
        }
        begin if begin.starts_with(XZ) => Input::new(XzDecoder::new_multi_decoder(input)),
        _ if is_bzip2 => Input::new(MultiBzDecoder::new(input)),
        _ => Input::new(input),
    })
}

/// The same, in an encoding of the [Encoding Standard](https://encoding.spec.whatwg.org/#names-and-labels); a byte-order mark wins.
///
/// # Errors
/// As [`open`].
pub fn open_encoded(file: &SourceFile, encoding: &'static Encoding) -> Result<Input, StorageError> {
    let input = open(file)?;
    if encoding == UTF_8 {
        return Ok(input);
    }
    Ok(Input::new(Decoded {
        input,
        decoder: encoding.new_decoder(),
        bytes: vec![0; BUFFER_BYTES],
        bytes_at: 0..0,
        is_over: false,
        // A character of text takes up to three bytes for each byte of it.
        text: vec![0; 3 * BUFFER_BYTES + 16],
        text_at: 0..0,
    }))
}

/// Text on its way to UTF-8. What is none in its encoding is an error, not a replacement character.
struct Decoded {
    input: Input,
    decoder: Decoder,
    bytes: Vec<u8>,
    bytes_at: std::ops::Range<usize>,
    is_over: bool,
    text: Vec<u8>,
    text_at: std::ops::Range<usize>,
}

impl Decoded {
    fn fill(&mut self) -> io::Result<()> {
        while self.text_at.is_empty() && !(self.is_over && self.bytes_at.is_empty()) {
            if self.bytes_at.is_empty() {
                let read = self.input.read(&mut self.bytes)?;
                self.bytes_at = 0..read;
                self.is_over = read == 0;
            }
            let bytes = &self.bytes[self.bytes_at.clone()];
            let (result, read, written) = self.decoder.decode_to_utf8_without_replacement(
                bytes,
                &mut self.text,
                self.is_over,
            );
            if let DecoderResult::Malformed(..) = result {
                let what = format!("the text is not {}", self.decoder.encoding().name());
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            self.bytes_at.start += read;
            self.text_at = 0..written;
        }
        Ok(())
    }
}

impl Read for Decoded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.fill()?;
        let length = buffer.len().min(self.text_at.len());
        let from = self.text_at.start;
        buffer[..length].copy_from_slice(&self.text[from..from + length]);
        self.text_at.start += length;
        Ok(length)
    }
}
