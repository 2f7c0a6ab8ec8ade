//! Arrow IPC, files and streams: <https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc>.

mod check;

use std::fs::File;
use std::io;
use std::io::BufReader;
use std::io::BufWriter;
use std::io::Read as _;
use std::io::Seek as _;
use std::io::SeekFrom;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow_ipc::CompressionType;
use arrow_ipc::reader::FileReader;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::FileWriter;
use arrow_ipc::writer::IpcWriteOptions;

use crate::flow::ArrowCompression;
use crate::flow::ArrowWrite;
use crate::storage::DataPlace;
use crate::storage::SourceSchema;
use crate::storage::StorageError;
use crate::storage::address::FileRead;
use crate::storage::listing::SourceFile;
use crate::storage::tabular;
use crate::storage::tabular::Batches;
use crate::storage::tabular::Read;

/// What a file begins with; a stream begins with a message.
const MAGIC: &[u8] = b"ARROW1";

/// What a stream ends with, also in the spelling before version 0.15.
const ENDS: [&[u8]; 2] = [&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0], &[0, 0, 0, 0]];

/// The columns of a file or stream, and the rows of all its batches.
///
/// # Errors
/// Where it cannot be opened, or is neither.
pub fn look(file: &SourceFile) -> Result<SourceSchema, StorageError> {
    let (columns, rows, _) = read(file, None)?;
    Ok(SourceSchema { columns, rows: Some(rows) })
}

/// Opens a file or stream for the columns of `schema`; those that it lacks are NULL.
///
/// # Errors
/// As [`look`].
pub fn open(
    file: &SourceFile,
    schema: &SchemaRef,
    batch_rows: usize,
) -> Result<Batches, StorageError> {
    let (_, rows, read) = read(file, Some(schema))?;
    Ok(Batches::new(file, schema, batch_rows, read).due(rows))
}

fn read(
    file: &SourceFile,
    wanted: Option<&SchemaRef>,
) -> Result<(SchemaRef, u64, Read), StorageError> {
    let mut open = file.open()?;
    let io = || StorageError::io(&file.path, "read it");
    let mut begin = [0; MAGIC.len()];
    let is_file = match open.read_exact(&mut begin) {
        Ok(()) => begin == MAGIC,
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(StorageError::data(
                &file.path,
                DataPlace::default(),
                "it is no Arrow file, and too short for a stream",
            ));
        }
        Err(error) => return Err(io()(error)),
    };
    if !is_file && !is_ended(&mut open).map_err(io())? {
        let what = "it is no Arrow file, and no Arrow stream that was ended";
        return Err(StorageError::data(&file.path, DataPlace::default(), what)
            .hint("a stream that lacks its end may lack rows, too: close its writer"));
    }
    let mut input = BufReader::with_capacity(1 << 20, open);
    let checked = match is_file {
        true => check::file(&mut input, file.size),
        false => check::stream(&mut input, file.size),
    };
    let count = checked.map_err(|error| {
        let what = format!("it is no whole Arrow file or stream: {error}");
        StorageError::data(&file.path, DataPlace::default(), what)
    })?;
    input.rewind().map_err(io())?;
    let failed = |error: ArrowError| {
        let what = format!("it is no Arrow file or stream: {error}");
        StorageError::data(&file.path, DataPlace::default(), what)
    };
    if is_file {
        let reader = FileReader::try_new(input, None).map_err(failed)?;
        let own = reader.schema();
        let Some(wanted) = wanted else { return Ok((own, count, rows(reader))) };
        let places = tabular::places(wanted, &own);
        let input = BufReader::with_capacity(1 << 20, file.open()?);
        let reader = FileReader::try_new(input, Some(places)).map_err(failed)?;
        return Ok((own, count, rows(reader)));
    }
    let reader = StreamReader::try_new(input, None).map_err(failed)?;
    Ok((reader.schema(), count, rows(reader)))
}

fn rows(reader: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static) -> Read {
    Box::new(reader.map(|batch| Ok(batch?)))
}

fn is_ended(open: &mut FileRead) -> io::Result<bool> {
    let length = open.seek(SeekFrom::End(0))?;
    let mut tail = vec![0; 8.min(usize::try_from(length).unwrap_or(8))];
    open.seek(SeekFrom::Start(length - tail.len() as u64))?;
    open.read_exact(&mut tail)?;
    Ok(ENDS.iter().any(|end| tail.ends_with(end)))
}

/// An Arrow file that grows.
pub struct IpcFile(FileWriter<BufWriter<File>>);

impl std::fmt::Debug for IpcFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IpcFile").finish_non_exhaustive()
    }
}

impl IpcFile {
    /// Begins a file.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn create(
        file: File,
        schema: &SchemaRef,
        options: &ArrowWrite,
    ) -> Result<Self, ArrowError> {
        let (codec, level) = match options.compression {
            ArrowCompression::None => (None, None),
            ArrowCompression::Lz4 => (Some(CompressionType::LZ4_FRAME), None),
            ArrowCompression::Zstd(level) => (Some(CompressionType::ZSTD), Some(level.into())),
        };
        let options = IpcWriteOptions::default().try_with_compression(codec)?;
        let options = options.try_with_compression_level(level)?;
        FileWriter::try_new_with_options(BufWriter::new(file), schema, options).map(Self)
    }

    /// Adds rows.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        self.0.write(batch)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn finish(self) -> Result<File, ArrowError> {
        let buffer = self.0.into_inner()?;
        buffer.into_inner().map_err(|error| ArrowError::from(error.into_error()))
    }
}
