//! A data file that grows, in whatever format is asked for.

use std::fs::File;
use std::path::Path;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::StorageError;
use super::avro::AvroFile;
use super::csv::CsvFile;
use super::ipc::IpcFile;
use super::json::JsonFile;
use super::json::JsonLayout;
use super::parquet::ParquetFile;
use super::parquet::Written;
use super::text::output;
use crate::flow::JsonWrite;
use crate::flow::TextCompression;
use crate::flow::WriteFormat;

/// An open data file. Nothing of it is promised to last before it is sealed.
#[derive(Debug)]
pub struct Encoder {
    path: PathBuf,
    rows: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Arrow(Box<IpcFile>),
    Avro(Box<AvroFile>),
    Csv(Box<CsvFile>),
    Json(Box<JsonFile>),
    Parquet(Box<ParquetFile>),
}

/// A data file that is complete and on the disk.
#[derive(Debug)]
pub struct Sealed {
    /// Where it is.
    pub path: PathBuf,
    /// Its rows.
    pub rows: u64,
    /// Its bytes.
    pub bytes: u64,
    /// When it was complete, in milliseconds since 1970.
    pub written_at: i64,
    /// What Parquet says of its columns.
    pub footer: Option<Footer>,
}

/// The footer of a Parquet file.
pub type Footer = parquet::file::metadata::ParquetMetaData;

/// The endings of a format's data files, without the dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endings {
    /// That of the format.
    of_format: &'static str,
    /// Whether its files may be compressed as a whole, which adds an ending.
    is_text: bool,
    /// That of compressed files, where new ones are compressed.
    of_codec: Option<&'static str>,
}

impl Endings {
    /// Those of files of this format, new ones as its options say.
    #[must_use]
    pub fn of(format: &WriteFormat) -> Self {
        let (of_format, text) = match format {
            WriteFormat::Delta(_) | WriteFormat::Parquet(_) | WriteFormat::View(_) => {
                ("parquet", None)
            }
            WriteFormat::Csv(options) => ("csv", Some(options.compression)),
            WriteFormat::Jsonl(options) => ("jsonl", Some(options.compression)),
            WriteFormat::Json(options) => ("json", Some(options.compression)),
            WriteFormat::Arrow(_) => ("arrow", None),
            WriteFormat::Avro(_) => ("avro", None),
        };
        let of_codec = text.and_then(TextCompression::ending);
        Self { of_format, is_text: text.is_some(), of_codec }
    }

    /// A name with the ending of a new file.
    #[must_use]
    pub fn added_to(&self, name: &str) -> String {
        match self.of_codec {
            None => format!("{name}.{}", self.of_format),
            Some(codec) => format!("{name}.{}.{codec}", self.of_format),
        }
    }

    /// A file's name without its ending, if that is one that files of the format have: compressed in another way, or not at all,
    /// text is of the same format.
    #[must_use]
    pub fn stripped_from<'a>(&self, name: &'a str) -> Option<&'a str> {
        let (rest, last) = name.rsplit_once('.')?;
        if last == self.of_format {
            return Some(rest);
        }
        if !self.is_text || !CODEC_ENDINGS.contains(&last) {
            return None;
        }
        rest.strip_suffix(self.of_format)?.strip_suffix('.')
    }
}

/// The endings that compressed text has.
const CODEC_ENDINGS: &[&str] = &["gz", "zst", "bz2", "xz"];

/// Bytes of memory that an open file of this format takes, whatever it holds.
#[must_use]
pub fn memory_bytes_open(format: &WriteFormat) -> usize {
    match format {
        WriteFormat::Csv(options) => output::memory_bytes(options.compression),
        WriteFormat::Jsonl(options) | WriteFormat::Json(options) => {
            output::memory_bytes(options.compression)
        }
        WriteFormat::Delta(_)
        | WriteFormat::Parquet(_)
        | WriteFormat::View(_)
        | WriteFormat::Arrow(_)
        | WriteFormat::Avro(_) => 0,
    }
}

fn json(
    path: &Path,
    file: File,
    layout: JsonLayout,
    options: &JsonWrite,
) -> Result<JsonFile, StorageError> {
    JsonFile::create(file, layout, options).map_err(StorageError::io(path, "begin it"))
}

impl Encoder {
    /// Begins a file that was not there before.
    ///
    /// # Errors
    /// Where it cannot be created, or the schema does not suit the format.
    pub fn create(
        path: PathBuf,
        schema: &SchemaRef,
        format: &WriteFormat,
    ) -> Result<Self, StorageError> {
        let file = File::create_new(&path).map_err(StorageError::io(&path, "create it"))?;
        let kind = match format {
            WriteFormat::Delta(options)
            | WriteFormat::Parquet(options)
            | WriteFormat::View(options) => {
                let begun = ParquetFile::create(file, SchemaRef::clone(schema), options);
                Kind::Parquet(Box::new(begun.map_err(StorageError::library(&path, "begin it"))?))
            }
            WriteFormat::Csv(options) => {
                let begun = CsvFile::create(file, schema, options);
                Kind::Csv(Box::new(begun.map_err(StorageError::io(&path, "write it"))?))
            }
            WriteFormat::Jsonl(options) => {
                Kind::Json(Box::new(json(&path, file, JsonLayout::Lines, options)?))
            }
            WriteFormat::Json(options) => {
                Kind::Json(Box::new(json(&path, file, JsonLayout::Document, options)?))
            }
            WriteFormat::Arrow(options) => {
                let begun = IpcFile::create(file, schema, options);
                Kind::Arrow(Box::new(begun.map_err(StorageError::library(&path, "begin it"))?))
            }
            WriteFormat::Avro(options) => {
                let begun = AvroFile::create(file, schema, options);
                Kind::Avro(Box::new(begun.map_err(StorageError::library(&path, "begin it"))?))
            }
        };
        Ok(Self { path, rows: 0, kind })
    }

    /// Adds rows of the file's columns; true where the file is as large as it should be.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<bool, StorageError> {
        self.rows += batch.num_rows() as u64;
        match &mut self.kind {
            Kind::Parquet(parquet) => {
                return parquet.write(batch).map_err(StorageError::library(&self.path, "write it"));
            }
            Kind::Arrow(arrow) => {
                arrow.write(batch).map_err(StorageError::library(&self.path, "write it"))?;
            }
            Kind::Avro(avro) => {
                avro.write(batch).map_err(StorageError::library(&self.path, "write it"))?;
            }
            Kind::Csv(csv) => {
                csv.write(batch).map_err(StorageError::library(&self.path, "write it"))?;
            }
            Kind::Json(json) => {
                json.write(batch).map_err(StorageError::library(&self.path, "write it"))?;
            }
        }
        Ok(false)
    }

    /// Bytes of memory that rows not yet written out take.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match &self.kind {
            Kind::Parquet(parquet) => parquet.memory_bytes(),
            Kind::Arrow(_) | Kind::Avro(_) | Kind::Csv(_) | Kind::Json(_) => 0,
        }
    }

    /// Writes out what is held in memory.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn flush(&mut self) -> Result<(), StorageError> {
        match &mut self.kind {
            Kind::Parquet(parquet) => {
                parquet.flush().map_err(StorageError::library(&self.path, "write it"))
            }
            Kind::Arrow(_) | Kind::Avro(_) | Kind::Csv(_) | Kind::Json(_) => Ok(()),
        }
    }

    /// Ends the file and waits until it is on the disk.
    ///
    /// # Errors
    /// Where it cannot be written or synced.
    pub fn seal(self) -> Result<Sealed, StorageError> {
        let Self { path, rows, kind } = self;
        let (file, footer) = match kind {
            Kind::Csv(csv) => (csv.finish().map_err(StorageError::io(&path, "write it"))?, None),
            Kind::Json(json) => {
                (json.finish().map_err(StorageError::library(&path, "write it"))?, None)
            }
            Kind::Arrow(arrow) => {
                (arrow.finish().map_err(StorageError::library(&path, "write it"))?, None)
            }
            Kind::Avro(avro) => {
                (avro.finish().map_err(StorageError::library(&path, "write it"))?, None)
            }
            Kind::Parquet(parquet) => {
                let Written { file, footer } =
                    parquet.finish().map_err(StorageError::library(&path, "end it"))?;
                (file, Some(footer))
            }
        };
        super::sync::sync_file(&file, &path)?;
        let looked = StorageError::io(&path, "look at it");
        let (bytes, modified) = file
            .metadata()
            .and_then(|facts| Ok((facts.len(), facts.modified()?)))
            .map_err(looked)?;
        let since = modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let written_at = i64::try_from(since).unwrap_or(i64::MAX);
        Ok(Sealed { path, rows, bytes, written_at, footer })
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::CsvWrite;
    use crate::flow::ParquetWrite;

    #[test]
    fn compressed_text_is_of_its_format_and_nothing_else_is() {
        let compression = TextCompression::Zstd(3);
        let csv = Endings::of(&WriteFormat::Csv(CsvWrite { compression, ..CsvWrite::default() }));
        assert_eq!(csv.added_to("a.b"), "a.b.csv.zst");
        for (name, right) in [
            ("a.csv", Some("a")),
            ("a.csv.gz", Some("a")),
            ("a.csv.xz", Some("a")),
            ("a.csv.csv.bz2", Some("a.csv")),
            (".csv", Some("")),
            ("a.csv.lz4", None),
            ("a.json.gz", None),
            ("acsv.gz", None),
            ("a.gz", None),
            ("csv", None),
        ] {
            assert_eq!(csv.stripped_from(name), right, "{name}");
        }
        let parquet = Endings::of(&WriteFormat::Parquet(ParquetWrite::default()));
        assert_eq!(parquet.stripped_from("a.parquet"), Some("a"));
        assert_eq!(parquet.stripped_from("a.parquet.gz"), None);
    }
}
