//! How files are compressed: the codecs of each format, their levels, and the endings of compressed text.

use std::fmt;
use std::ops::RangeInclusive;

use serde::Serialize;
use serde::Serializer;

use super::open::Fields;
use crate::problem::Code;

/// How Parquet pages are compressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// Snappy: fast, the field's usual default.
    #[default]
    Snappy,
    /// Zstandard, of this level: 1 (the default) to 22.
    Zstd(u8),
    /// Gzip, of this level: 0 to 9, by default 6.
    Gzip(u8),
    /// LZ4, raw frames.
    Lz4,
}

/// How a file of text is compressed, as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextCompression {
    /// Not at all.
    #[default]
    None,
    /// Gzip, of this level: 0 to 9, by default 6.
    Gzip(u8),
    /// Zstandard, of this level: 1 to 22, by default 3.
    Zstd(u8),
    /// Bzip2, of this level: 1 to 9, by default 9.
    Bzip2(u8),
    /// Xz, of this level: 0 to 9, by default 6.
    Xz(u8),
}

/// How the blocks of an Avro file are compressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AvroCompression {
    /// Not at all.
    #[default]
    None,
    /// Deflate.
    Deflate,
    /// Snappy.
    Snappy,
    /// Zstandard.
    Zstd,
    /// Bzip2.
    Bzip2,
    /// Xz.
    Xz,
}

/// How the buffers of an Arrow file are compressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ArrowCompression {
    /// Not at all.
    #[default]
    None,
    /// LZ4, frames.
    Lz4,
    /// Zstandard, of this level: 1 to 22, by default 3.
    Zstd(u8),
}

impl TextCompression {
    /// What follows the format's own ending in the names of such files, without the dot; nothing where they are not compressed.
    #[must_use]
    pub fn ending(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Gzip(_) => Some("gz"),
            Self::Zstd(_) => Some("zst"),
            Self::Bzip2(_) => Some("bz2"),
            Self::Xz(_) => Some("xz"),
        }
    }
}

/// What a codec takes as its level, and what it has where none is said.
struct Levels {
    range: RangeInclusive<u8>,
    default: u8,
}

/// The codecs of a format; the first one is the default.
fn codecs(format: &str) -> &'static [&'static str] {
    match format {
        "delta" | "parquet" => &["snappy", "zstd", "gzip", "lz4", "none"],
        "csv" | "json" | "jsonl" => &["none", "gzip", "zstd", "bzip2", "xz"],
        "avro" => &["none", "deflate", "snappy", "zstd", "bzip2", "xz"],
        "arrow" => &["none", "lz4", "zstd"],
        _ => &[],
    }
}

/// The levels of a codec, where it has some.
fn levels(format: &str, codec: &str) -> Option<Levels> {
    let levels = |range, default| Some(Levels { range, default });
    match (format, codec) {
        // Its library has no say in it.
        ("avro", _) => None,
        ("delta" | "parquet", "zstd") => levels(1..=22, 1),
        (_, "zstd") => levels(1..=22, 3),
        (_, "gzip" | "xz") => levels(0..=9, 6),
        (_, "bzip2") => levels(1..=9, 9),
        _ => None,
    }
}

impl Fields<'_> {
    /// Tells of a codec that the format does not have, and takes it out.
    pub(super) fn keep_codec_of(&mut self, format: &str) {
        let known = codecs(format);
        let Some(word) = self.word("compression") else { return };
        if known.is_empty() || known.contains(&word.value.name) {
            return;
        }
        let what = format!("`{format}` files have no compression `{}`", word.value.name);
        let all: Vec<_> = known.iter().map(|codec| format!("`{codec}`")).collect();
        let hint = format!("`{format}` takes {}", all.join(", "));
        self.report.add_hint(Code::WrongValue, &word.spot, what, hint);
        self.found.remove("compression");
        // A level of a codec that is not there says nothing more.
        self.found.remove("compression_level");
    }

    /// The codec in force, and its level where it has one.
    fn codec(&self, format: &str) -> (&'static str, u8) {
        let default = codecs(format).first().copied().unwrap_or("none");
        let word = self.word("compression");
        let codec = word.as_ref().map_or(default, |word| word.value.name);
        let levels = levels(format, codec);
        let default = levels.as_ref().map_or(0, |levels| levels.default);
        let is_read = word.is_some() || self.get("compression").is_none();
        let asked = self.get("compression_level").filter(|_| is_read);
        let Some(asked) = asked.and_then(|_| self.whole("compression_level")) else {
            return (codec, default);
        };
        let (code, what, hint) = match levels {
            None => {
                let with: Vec<_> = codecs(format)
                    .iter()
                    .filter(|codec| self::levels(format, codec).is_some())
                    .map(|codec| format!("`{codec}`"))
                    .collect();
                let what =
                    format!("`compression_level` says nothing to `{codec}`, which has no levels");
                let hint =
                    format!("leave it out; codecs of `{format}` with levels: {}", with.join(", "));
                (Code::Contradiction, what, hint)
            }
            Some(Levels { range, default }) => {
                if let Ok(level) = u8::try_from(asked.value)
                    && range.contains(&level)
                {
                    return (codec, level);
                }
                let what = format!(
                    "`compression_level` is {}; `{codec}` has {} to {}",
                    asked.value,
                    range.start(),
                    range.end()
                );
                (Code::WrongValue, what, format!("the default is {default}"))
            }
        };
        self.report.add_hint(code, &asked.spot, what, hint);
        (codec, default)
    }

    /// `compression` and `compression_level` of Parquet files.
    pub(super) fn compression(&self, format: &str) -> Compression {
        match self.codec(format) {
            ("none", _) => Compression::None,
            ("zstd", level) => Compression::Zstd(level),
            ("gzip", level) => Compression::Gzip(level),
            ("lz4", _) => Compression::Lz4,
            _ => Compression::Snappy,
        }
    }

    /// The same of text.
    pub(super) fn text_compression(&self, format: &str) -> TextCompression {
        match self.codec(format) {
            ("gzip", level) => TextCompression::Gzip(level),
            ("zstd", level) => TextCompression::Zstd(level),
            ("bzip2", level) => TextCompression::Bzip2(level),
            ("xz", level) => TextCompression::Xz(level),
            _ => TextCompression::None,
        }
    }

    /// The same of Avro files, whose codecs have no levels.
    pub(super) fn avro_compression(&self) -> AvroCompression {
        match self.codec("avro").0 {
            "deflate" => AvroCompression::Deflate,
            "snappy" => AvroCompression::Snappy,
            "zstd" => AvroCompression::Zstd,
            "bzip2" => AvroCompression::Bzip2,
            "xz" => AvroCompression::Xz,
            _ => AvroCompression::None,
        }
    }

    /// The same of Arrow files.
    pub(super) fn arrow_compression(&self) -> ArrowCompression {
        match self.codec("arrow") {
            ("lz4", _) => ArrowCompression::Lz4,
            ("zstd", level) => ArrowCompression::Zstd(level),
            _ => ArrowCompression::None,
        }
    }
}

/// A codec's word, and its level where that is not the default.
fn spelt(codec: (&str, Option<u8>), format: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (codec, level) = codec;
    let default = levels(format, codec).map(|levels| levels.default);
    match level.filter(|level| Some(*level) != default) {
        Some(level) => write!(f, "{codec} {level}"),
        None => f.write_str(codec),
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let codec = match *self {
            Self::None => ("none", None),
            Self::Snappy => ("snappy", None),
            Self::Zstd(level) => ("zstd", Some(level)),
            Self::Gzip(level) => ("gzip", Some(level)),
            Self::Lz4 => ("lz4", None),
        };
        spelt(codec, "parquet", f)
    }
}

impl fmt::Display for TextCompression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let codec = match *self {
            Self::None => ("none", None),
            Self::Gzip(level) => ("gzip", Some(level)),
            Self::Zstd(level) => ("zstd", Some(level)),
            Self::Bzip2(level) => ("bzip2", Some(level)),
            Self::Xz(level) => ("xz", Some(level)),
        };
        spelt(codec, "csv", f)
    }
}

impl fmt::Display for ArrowCompression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let codec = match *self {
            Self::None => ("none", None),
            Self::Lz4 => ("lz4", None),
            Self::Zstd(level) => ("zstd", Some(level)),
        };
        spelt(codec, "arrow", f)
    }
}

impl Serialize for Compression {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for TextCompression {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for ArrowCompression {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
