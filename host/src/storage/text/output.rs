//! Text files as they are written: compressed as a whole, or not at all.

use std::fs::File;
use std::io;
use std::io::Write;

use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use liblzma::write::XzEncoder;

use crate::flow::TextCompression;

/// A file of text that grows.
pub enum Output {
    /// As it comes.
    Plain(File),
    /// Gzip.
    Gzip(GzEncoder<File>),
    /// Zstandard, a frame with a checksum.
    Zstd(zstd::Encoder<'static, File>),
    /// Bzip2.
    Bzip2(BzEncoder<File>),
    /// Xz.
    Xz(XzEncoder<File>),
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").finish_non_exhaustive()
    }
}

impl Output {
    /// Text to `file`, compressed so.
    ///
    /// # Errors
    /// Where the codec cannot be set up.
    pub fn new(file: File, compression: TextCompression) -> io::Result<Self> {
        Ok(match compression {
            TextCompression::None => Self::Plain(file),
            TextCompression::Gzip(level) => {
                Self::Gzip(GzEncoder::new(file, flate2::Compression::new(level.into())))
            }
            TextCompression::Zstd(level) => {
                let mut encoder = zstd::Encoder::new(file, level.into())?;
                encoder.include_checksum(true)?;
                Self::Zstd(encoder)
            }
            TextCompression::Bzip2(level) => {
                Self::Bzip2(BzEncoder::new(file, bzip2::Compression::new(level.into())))
            }
            TextCompression::Xz(level) => Self::Xz(XzEncoder::new(file, level.into())),
        })
    }

    /// Ends what is compressed; the file is not synced yet.
    ///
    /// # Errors
    /// Where the rest cannot be written.
    pub fn finish(self) -> io::Result<File> {
        match self {
            Self::Plain(file) => Ok(file),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
            Self::Bzip2(encoder) => encoder.finish(),
            Self::Xz(encoder) => encoder.finish(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
            Self::Bzip2(encoder) => encoder.write(bytes),
            Self::Xz(encoder) => encoder.write(bytes),
        }
    }

    /// Hands on what was written; codecs keep what they have not compressed yet, as a flush in the middle costs space.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Gzip(_) | Self::Zstd(_) | Self::Bzip2(_) | Self::Xz(_) => Ok(()),
        }
    }
}

/// Bytes of memory that a codec takes as long as its file is open, roughly and rather too many.
#[must_use]
pub fn memory_bytes(compression: TextCompression) -> usize {
    const MIB: usize = 1 << 20;
    match compression {
        TextCompression::None => 0,
        TextCompression::Gzip(_) => MIB,
        TextCompression::Bzip2(level) => MIB * (1 + usize::from(level)),
        // As `ZSTD_estimateCStreamSize` has it, with the window and the buffers.
        TextCompression::Zstd(level) => match level {
            ..=6 => 8 * MIB,
            7..=11 => 32 * MIB,
            12..=18 => 72 * MIB,
            19 => 96 * MIB,
            20 => 192 * MIB,
            21 => 384 * MIB,
            _ => 768 * MIB,
        },
        // The manual of xz has them.
        TextCompression::Xz(level) => match level {
            0 => 3 * MIB,
            1 => 9 * MIB,
            2 => 17 * MIB,
            3 => 32 * MIB,
            4 => 48 * MIB,
            5 | 6 => 94 * MIB,
            7 => 186 * MIB,
            8 => 370 * MIB,
            _ => 674 * MIB,
        },
    }
}
