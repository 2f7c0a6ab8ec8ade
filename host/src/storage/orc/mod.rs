//! ORC, read only: <https://orc.apache.org/specification/ORCv1/>.

mod check;

use std::io;
use std::io::BufReader;
use std::io::Read as _;
use std::io::Seek as _;
use std::io::SeekFrom;

use arrow::datatypes::SchemaRef;
use orc_rust::arrow_reader::ArrowReaderBuilder;
use orc_rust::projection::ProjectionMask;
use orc_rust::reader::ChunkReader;
use orc_rust::schema::TimestampPrecision;

use crate::storage::DataPlace;
use crate::storage::SourceSchema;
use crate::storage::StorageError;
use crate::storage::address::FileRead;
use crate::storage::listing::SourceFile;
use crate::storage::tabular;
use crate::storage::tabular::Batches;

/// The columns of a file, and its number of rows.
///
/// # Errors
/// Where it cannot be opened, or is no ORC.
pub fn look(file: &SourceFile) -> Result<SourceSchema, StorageError> {
    let builder = builder(file)?;
    let rows = Some(builder.file_metadata().number_of_rows());
    Ok(SourceSchema { columns: builder.schema(), rows })
}

/// Opens a file for the columns of `schema`; those that it lacks are NULL, and the others are not read.
///
/// # Errors
/// As [`look`].
pub fn open(
    file: &SourceFile,
    schema: &SchemaRef,
    batch_rows: usize,
) -> Result<Batches, StorageError> {
    let builder = builder(file)?;
    let own = builder.schema();
    let names: Vec<&str> = tabular::places(schema, &own)
        .into_iter()
        .map(|place| own.field(place).name().as_str())
        .collect();
    let metadata = builder.file_metadata();
    let rows = metadata.number_of_rows();
    let mask = ProjectionMask::named_roots(metadata.root_data_type(), &names);
    let reader = builder.with_projection(mask).with_batch_size(batch_rows).build();
    let read = reader.map(|batch| Ok(batch?));
    Ok(Batches::new(file, schema, batch_rows, Box::new(read)).due(rows))
}

fn builder(file: &SourceFile) -> Result<ArrowReaderBuilder<Chunks>, StorageError> {
    let mut open = file.open()?;
    check::types(&mut open, file.size).map_err(|error| no_orc(file, &error.to_string()))?;
    let chunks = Chunks { file: open, size: file.size };
    // In nanoseconds, years beyond 2262 would be an error.
    let micros = |builder: ArrowReaderBuilder<_>| {
        builder.with_timestamp_precision(TimestampPrecision::Microsecond)
    };
    ArrowReaderBuilder::try_new(chunks)
        .map(micros)
        .map_err(|error| no_orc(file, &error.to_string()))
}

fn no_orc(file: &SourceFile, what: &str) -> StorageError {
    let what = format!("it is no ORC file: {what}");
    StorageError::data(&file.path, DataPlace::default(), what)
        .hint("a file that is still being written has no footer yet")
}

/// The bytes of a file. A damaged file asks for more than there is.
struct Chunks {
    file: FileRead,
    size: u64,
}

impl ChunkReader for Chunks {
    type T = BufReader<FileRead>;

    fn len(&self) -> u64 {
        self.size
    }

    fn get_read(&self, offset_from_start: u64) -> io::Result<Self::T> {
        let mut file = self.file.again()?;
        file.seek(SeekFrom::Start(offset_from_start))?;
        Ok(BufReader::new(file))
    }

    fn get_bytes(&self, offset_from_start: u64, length: u64) -> io::Result<bytes::Bytes> {
        if length > self.size.saturating_sub(offset_from_start) {
            let what = format!("{length} bytes at {offset_from_start} of {}", self.size);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        let mut bytes = Vec::new();
        self.get_read(offset_from_start)?.take(length).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }
}
