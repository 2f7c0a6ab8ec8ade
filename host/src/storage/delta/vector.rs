//! Deletion vectors: which rows of a data file are there no more. A vector that cannot be read whole, with its checksum and the
//! number of rows that the log tells, is an error: without it rows come back that somebody deleted.

use std::fs;
use std::io::ErrorKind;
use std::io::Read as _;
use std::io::Seek as _;
use std::io::SeekFrom;
use std::path::Path;
use std::path::PathBuf;

use deltalake::kernel::DeletionVectorDescriptor;
use deltalake::kernel::StorageType;
use flate2::Crc;
use percent_encoding::percent_decode_str;
use roaring::RoaringTreemap;
use url::Url;

use super::files::is_elsewhere;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::address::Address;

/// What the bytes of a vector begin with, little-endian.
const MAGIC: u32 = 1_681_511_377;

/// The only version of files of vectors.
const VERSION: u8 = 1;

/// Letters that a UUID takes.
const UUID_LETTERS: usize = 20;

/// The alphabet of Z85.
const LETTERS: &[u8; 85] =
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

const HINT: &str = "rows that were deleted would come back without it; bring the table back to a version whose files are whole";

/// The rows of a data file that are hidden, as the log tells where to find them.
#[derive(Debug, Clone)]
pub(super) struct Vector {
    held: Held,
    /// Its bytes.
    bytes: u32,
    /// The rows that it hides.
    pub(super) rows: u64,
}

#[derive(Debug, Clone)]
enum Held {
    /// In the log itself.
    Inline(String),
    /// In a file of vectors, from this byte on.
    File(Address, u64),
}

impl Vector {
    /// What the log says of the vector of a data file `data` of `table`.
    ///
    /// # Errors
    /// Where that makes no sense, and where the vector is outside of the table's folder.
    pub(super) fn of(
        table: &Address,
        data: &Path,
        told: &DeletionVectorDescriptor,
    ) -> Result<Self, StorageError> {
        let text = &told.path_or_inline_dv;
        let wrong = |what: &str| {
            let what = format!("the log's deletion vector `{text}`: {what}");
            StorageError::data(data, DataPlace::default(), what).hint(HINT)
        };
        let bytes = u32::try_from(told.size_in_bytes).map_err(|_| wrong("its size is none"))?;
        let rows = u64::try_from(told.cardinality).map_err(|_| wrong("it counts no rows"))?;
        // The first vector of a file follows the byte of the file's version.
        let offset =
            u64::try_from(told.offset.unwrap_or(1)).map_err(|_| wrong("its place is none"))?;
        let held = match told.storage_type {
            StorageType::Inline => Held::Inline(text.clone()),
            StorageType::UuidRelativePath => {
                let name = relative(text).ok_or_else(|| wrong("it names no file"))?;
                Held::File(table.join(&name), offset)
            }
            StorageType::AbsolutePath => {
                let place = Absolute::read(text, table).ok_or_else(|| match table {
                    Address::Disk(_) => wrong("it names no local file"),
                    Address::Store(_) => wrong("it names no file of the table's store"),
                })?;
                let Some(inner) = place.below(table)? else {
                    return Err(wrong("it lies outside of the table's folder")
                        .hint("it is a shallow clone, or was moved; use a copy of its own"));
                };
                Held::File(table.join(&inner), offset)
            }
        };
        Ok(Self { held, bytes, rows })
    }

    /// The rows that it hides in the data file `data`, which has `rows` of them; the first is 0.
    ///
    /// # Errors
    /// Where it is missing, cut, damaged, or hides other rows than the log and the file know.
    pub(super) fn read(&self, data: &Path, rows: u64) -> Result<RoaringTreemap, StorageError> {
        let (path, bytes) = match &self.held {
            Held::Inline(text) => (data, self.inline(text)),
            Held::File(file, offset) => (file.shown(), self.stored(file, *offset)?),
        };
        let wrong = |what: String| {
            let of = match self.held {
                Held::Inline(_) => "its deletion vector, which is in the log".to_owned(),
                Held::File(_, offset) => {
                    format!("the deletion vector of `{}` at byte {offset}", data.display())
                }
            };
            StorageError::data(path, DataPlace::default(), format!("{of}: {what}")).hint(HINT)
        };
        let bytes = bytes.map_err(|what| wrong(what.to_owned()))?;
        let hidden = bitmap(&bytes).map_err(wrong)?;
        if hidden.len() != self.rows {
            let what = format!("it hides {} rows, {} by the log", hidden.len(), self.rows);
            return Err(wrong(what));
        }
        match hidden.max().filter(|last| *last >= rows) {
            Some(last) => {
                let what = format!("it hides row {}, and the file has {rows}", last + 1);
                Err(wrong(what))
            }
            None => Ok(hidden),
        }
    }

    /// The file of vectors that it is in; `None` where it is in the log.
    pub(super) fn file(&self) -> Option<&Address> {
        match &self.held {
            Held::Inline(_) => None,
            Held::File(file, _) => Some(file),
        }
    }

    fn inline(&self, text: &str) -> Result<Vec<u8>, &'static str> {
        let mut bytes = z85(text).ok_or("it is no Z85 text")?;
        let due = self.bytes as usize;
        // Z85 knows fours of bytes only.
        if !(due..due + 4).contains(&bytes.len()) {
            return Err("it has another length than the log tells");
        }
        bytes.truncate(due);
        Ok(bytes)
    }

    /// The vector's own bytes: its file has its length before them, and a checksum after them.
    fn stored(
        &self,
        file: &Address,
        offset: u64,
    ) -> Result<Result<Vec<u8>, &'static str>, StorageError> {
        let failed = || StorageError::io(file.shown(), "read a deletion vector in it");
        let open = file.open_read()?;
        let mut file = open.ok_or_else(|| failed()(ErrorKind::NotFound.into()))?;
        let length = file.size().map_err(failed())?;
        let whole = u64::from(self.bytes) + 8;
        if offset == 0 || length < offset + whole {
            return Ok(Err("the file ends before it does"));
        }
        let mut version = [0];
        file.read_exact(&mut version).map_err(failed())?;
        if version != [VERSION] {
            return Ok(Err("the file is no file of deletion vectors, or of a later version"));
        }
        file.seek(SeekFrom::Start(offset)).map_err(failed())?;
        let mut bytes = Vec::new();
        file.take(whole).read_to_end(&mut bytes).map_err(failed())?;
        Ok(self.checked(&bytes))
    }

    fn checked(&self, bytes: &[u8]) -> Result<Vec<u8>, &'static str> {
        let cut = "the file ends before it does";
        let (length, rest) = bytes.split_first_chunk().ok_or(cut)?;
        let (vector, checksum) = rest.split_last_chunk().ok_or(cut)?;
        if u32::from_be_bytes(*length) != self.bytes || vector.len() != self.bytes as usize {
            return Err("it has another length than the log tells");
        }
        let mut crc = Crc::new();
        crc.update(vector);
        match crc.sum() == u32::from_be_bytes(*checksum) {
            true => Ok(vector.to_vec()),
            false => Err("its checksum is wrong"),
        }
    }
}

/// The rows that a vector's bytes name.
fn bitmap(bytes: &[u8]) -> Result<RoaringTreemap, String> {
    let (magic, mut bitmap) =
        bytes.split_first_chunk().ok_or_else(|| "it has no beginning".to_owned())?;
    if u32::from_le_bytes(*magic) != MAGIC {
        return Err("it is of a kind that wasmhost does not know".to_owned());
    }
    let rows = RoaringTreemap::deserialize_from(&mut bitmap).map_err(|error| error.to_string())?;
    match bitmap {
        [] => Ok(rows),
        _ => Err("something follows its rows".to_owned()),
    }
}

/// `ab<uuid>` is the file `ab/deletion_vector_<uuid>.bin` below the table.
fn relative(text: &str) -> Option<String> {
    let (folder, uuid) = text.split_at_checked(text.len().checked_sub(UUID_LETTERS)?)?;
    let hex: String = z85(uuid)?.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    let name = format!("deletion_vector_{}.bin", parts.join("-"));
    let decoded = percent_decode_str(folder).decode_utf8().ok()?;
    if [folder, &decoded].into_iter().any(is_elsewhere) {
        return None;
    }
    Some(if folder.is_empty() { name } else { format!("{folder}/{name}") })
}

/// A place that the log tells from the root on, decoded.
#[derive(Debug, PartialEq, Eq)]
enum Absolute {
    Disk(PathBuf),
    Store(String),
}

impl Absolute {
    /// A path from the root on, or a URL, as a table of that disk or store may have it.
    fn read(text: &str, table: &Address) -> Option<Self> {
        let decoded = || percent_decode_str(text).decode_utf8().ok();
        match table {
            Address::Disk(_) if text.starts_with('/') => {
                Some(Self::Disk(PathBuf::from(decoded()?.as_ref())))
            }
            Address::Disk(_) => Some(Self::Disk(Url::parse(text).ok()?.to_file_path().ok()?)),
            Address::Store(place) => {
                let decoded = decoded()?;
                decoded.starts_with(place.root().0).then(|| Self::Store(decoded.into_owned()))
            }
        }
    }

    /// The path below the table's folder; `None` where it is not below.
    fn below(&self, table: &Address) -> Result<Option<String>, StorageError> {
        let shown = table.shown();
        let inner = match self {
            Self::Store(place) => {
                let below = place.strip_prefix(shown.to_string_lossy().trim_end_matches('/'));
                below.and_then(|below| below.strip_prefix('/')).map(str::to_owned)
            }
            Self::Disk(path) => {
                let whole = fs::canonicalize(shown).map_err(StorageError::io(shown, "find it"))?;
                let named = std::path::absolute(shown);
                let named = named.map_err(StorageError::io(shown, "find it"))?;
                let below = path.strip_prefix(whole).or_else(|_| path.strip_prefix(named));
                below.ok().and_then(Path::to_str).map(str::to_owned)
            }
        };
        Ok(inner.filter(|inner| !inner.is_empty() && !is_elsewhere(inner)))
    }
}

/// Fours of bytes, each written as five letters.
fn z85(text: &str) -> Option<Vec<u8>> {
    let (fives, rest) = text.as_bytes().as_chunks::<5>();
    if !rest.is_empty() {
        return None;
    }
    let four = |five: &[u8; 5]| {
        let value = five.iter().try_fold(0_u64, |value, letter| {
            let place = LETTERS.iter().position(|known| known == letter)?;
            Some(value * 85 + place as u64)
        });
        u32::try_from(value?).ok().map(u32::to_be_bytes)
    };
    let fours: Option<Vec<_>> = fives.iter().map(four).collect();
    Some(fours?.concat())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// Six rows. (The protocol's own example of a vector in the log is of a kind that the protocol does not describe.)
    const INLINE: &str = "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L";
    const OF_PROTOCOL: &str = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L";

    fn vector(held: Held, bytes: u32, rows: u64) -> Vector {
        Vector { held, bytes, rows }
    }

    #[test]
    fn rows_and_names_of_files_are_what_others_take_them_for() {
        let found = vector(Held::Inline(INLINE.to_owned()), 44, 6);
        let rows = found.read(Path::new("a.parquet"), 30).unwrap();
        assert_eq!(rows.iter().collect::<Vec<_>>(), [3, 4, 7, 11, 18, 29]);
        assert_eq!(
            relative("ab^-aqEH.-t@S}K{vb[*k^").unwrap(),
            "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
        );
    }

    #[test]
    fn what_is_cut_or_counts_otherwise_is_no_vector() {
        let read = |text: &str, bytes, rows, of| {
            let read =
                vector(Held::Inline(text.to_owned()), bytes, rows).read(Path::new("a.parquet"), of);
            read.unwrap_err().to_string()
        };
        for (text, bytes, rows, of, right) in [
            (INLINE, 44, 5, 30, "it hides 6 rows, 5 by the log"),
            (INLINE, 44, 6, 29, "it hides row 30, and the file has 29"),
            (INLINE, 48, 6, 30, "another length"),
            (INLINE, 40, 6, 30, "another length"),
            (&INLINE[..50], 40, 6, 30, "fill whole buffer"),
            (&INLINE[..54], 44, 6, 30, "no Z85"),
            (&INLINE.replace('B', "C"), 44, 6, 30, "a kind that wasmhost does not know"),
            (OF_PROTOCOL, 40, 6, 30, "a kind that wasmhost does not know"),
            (&format!("{INLINE}00000"), 48, 6, 30, "something follows"),
            ("", 0, 0, 30, "no beginning"),
            ("#####", 4, 0, 30, "no Z85"),
            ("ü0000", 4, 0, 30, "no Z85"),
        ] {
            let said = read(text, bytes, rows, of);
            assert!(said.starts_with("a.parquet") && said.contains(right), "{text}: {said}");
        }
    }

    #[test]
    fn names_stay_below_the_table() {
        for bad in [
            "",
            "short",
            "../^-aqEH.-t@S}K{vb[*k^",
            "a/..^-aqEH.-t@S}K{vb[*k^",
            "..%2F^-aqEH.-t@S}K{vb[*k^",
            "%2e%2E^-aqEH.-t@S}K{vb[*k^",
            "%2Fa^-aqEH.-t@S}K{vb[*k^",
            "file:/a^-aqEH.-t@S}K{vb[*k^",
            "/^-aqEH.-t@S}K{vb[*k^",
            "ü-aqEH.-t@S}K{vb[*k^",
        ] {
            assert_eq!(relative(bad), None, "{bad}");
        }
        let folder = tempfile::tempdir().unwrap();
        let table = Address::Disk(folder.path().to_owned());
        let below = |text: &str| Absolute::read(text, &table).unwrap().below(&table).unwrap();
        let url = Url::from_file_path(folder.path().join("a b.bin")).unwrap();
        assert_eq!(below(url.as_str()).as_deref(), Some("a b.bin"));
        let up = |rest: &str| format!("{}{rest}", folder.path().display());
        for bad in [
            "/elsewhere/a.bin".to_owned(),
            up("/../a.bin"),
            up("/%2E%2e/a.bin"),
            up("/..%2Fa.bin"),
            up("x/a.bin"),
            up(""),
        ] {
            assert_eq!(below(&bad), None, "{bad}");
        }
        assert_eq!(Absolute::read("s3://bucket/a.bin", &table), None);
    }
}
