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
    Csv(CsvFile),
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

/// The ending of data files of this format, without the dot.
#[must_use]
pub fn ending(format: &WriteFormat) -> &'static str {
    match format {
        WriteFormat::Delta(_) | WriteFormat::Parquet(_) | WriteFormat::View(_) => "parquet",
        WriteFormat::Csv(_) => "csv",
        WriteFormat::Jsonl {} => "jsonl",
        WriteFormat::Json {} => "json",
        WriteFormat::Arrow {} => "arrow",
        WriteFormat::Avro {} => "avro",
    }
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
            WriteFormat::Csv(options) => Kind::Csv(
                CsvFile::create(file, schema, options)
                    .map_err(StorageError::io(&path, "write it"))?,
            ),
            WriteFormat::Jsonl {} => {
                Kind::Json(Box::new(JsonFile::create(file, JsonLayout::Lines)))
            }
            WriteFormat::Json {} => {
                Kind::Json(Box::new(JsonFile::create(file, JsonLayout::Document)))
            }
            WriteFormat::Arrow {} => {
                let begun = IpcFile::create(file, schema);
                Kind::Arrow(Box::new(begun.map_err(StorageError::library(&path, "begin it"))?))
            }
            WriteFormat::Avro {} => {
                let begun = AvroFile::create(file, schema);
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
