//! Sources: files are discovered before anything is planned, then read once, batch by batch, in file order.

mod discover;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use crate::batch::Batch;
use crate::batch::Origin;
use crate::batch::Positions;
use crate::flow::ReadFormat;
use crate::flow::Source;
use crate::problem::Place;
use crate::problem::Problem;
use crate::storage::StorageError;
use crate::storage::csv::CsvBatches;
use crate::storage::jsonl::JsonlBatches;
use crate::storage::listing::SourceFile;
use crate::storage::parquet::ParquetBatches;

/// Why a source could not be discovered or read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Mistakes of the flow or of the data; at least one.
    #[error("{}", list(.0))]
    Problems(Vec<Problem>),
    /// The world failed: a file could not be opened or read.
    #[error(transparent)]
    Storage(StorageError),
}

/// A source's files and columns. Plain data: planning looks at it, and opening it needs nothing else.
#[derive(Debug, Clone)]
pub struct Discovered {
    /// The source's name in the flow.
    pub name: String,
    /// How the files are read.
    pub format: ReadFormat,
    /// The files, sorted by path; empty where none matched and the flow allows that.
    pub files: Vec<SourceFile>,
    /// The columns wanted, in the order wanted, all nullable.
    pub schema: SchemaRef,
    /// All columns of the files.
    pub all_columns: SchemaRef,
    /// The number of rows, where discovery saw them all.
    pub rows: Option<u64>,
}

/// The rows of discovered files. Holds one open file and one batch.
#[derive(Debug)]
pub struct Files {
    discovered: Discovered,
    batch_rows: usize,
    next_file: usize,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    file: Arc<str>,
    reader: Reader,
    rows_read: u64,
}

#[derive(Debug)]
enum Reader {
    Csv(CsvBatches),
    Parquet(ParquetBatches),
    Jsonl(JsonlBatches),
    /// Reads all columns, so that keys that nobody has seen are noticed, and keeps those at these places.
    JsonlPart(JsonlBatches, Vec<usize>),
}

impl Files {
    /// Lists the files and finds out their columns. Blocks; unless the flow limits it, CSV and JSON lines are read to the end.
    ///
    /// # Errors
    /// Every problem that was found, or what kept it from looking.
    pub fn discover(source: &Source) -> Result<Discovered, SourceError> {
        discover::discover(source)
    }

    /// Opens what was discovered. No file is touched before the first batch is asked for.
    #[must_use]
    pub fn open(discovered: Discovered, batch_rows: usize) -> Self {
        Self { discovered, batch_rows: batch_rows.max(1), next_file: 0, open: None }
    }

    /// The next rows of one file, at least one and at most as many as a batch takes; `None` when all files are read.
    ///
    /// # Errors
    /// Where a file cannot be read, has changed since it was listed, or has a value that is not of its column's type.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, SourceError> {
        loop {
            let open = match &mut self.open {
                Some(open) => open,
                None => {
                    let Some(file) = self.discovered.files.get(self.next_file) else {
                        return Ok(None);
                    };
                    let reader = self.reader(file).map_err(wrong)?;
                    self.next_file += 1;
                    let file = Arc::from(file.path.to_string_lossy());
                    self.open.insert(Open { file, reader, rows_read: 0 })
                }
            };
            match open.reader.next_batch().map_err(wrong)? {
                Some(rows) if rows.num_rows() > 0 => {
                    let places = Positions::From(open.rows_read + 1);
                    open.rows_read += rows.num_rows() as u64;
                    return Ok(Some(Batch {
                        rows,
                        origin: Origin { file: Arc::clone(&open.file), rows: places },
                    }));
                }
                Some(_) => {}
                None => self.open = None,
            }
        }
    }

    fn reader(&self, file: &SourceFile) -> Result<Reader, StorageError> {
        let Discovered { format, schema, all_columns, .. } = &self.discovered;
        match format {
            ReadFormat::Csv(options) => {
                CsvBatches::open(file, options, schema, self.batch_rows).map(Reader::Csv)
            }
            ReadFormat::Parquet {} | ReadFormat::View {} => {
                ParquetBatches::open(file, schema, self.batch_rows).map(Reader::Parquet)
            }
            // Discovery has seen all keys, so those that are not wanted need not be decoded.
            ReadFormat::Jsonl(options) if options.infer_schema_rows.is_none() => {
                JsonlBatches::open(file, schema, false, self.batch_rows).map(Reader::Jsonl)
            }
            ReadFormat::Jsonl(_) => {
                let places = schema
                    .fields()
                    .iter()
                    .filter_map(|field| all_columns.index_of(field.name()).ok());
                let reader = JsonlBatches::open(file, all_columns, true, self.batch_rows)?;
                Ok(Reader::JsonlPart(reader, places.collect()))
            }
        }
    }
}

impl Reader {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, StorageError> {
        match self {
            Self::Csv(reader) => reader.next_batch(),
            Self::Parquet(reader) => reader.next_batch(),
            Self::Jsonl(reader) => reader.next_batch(),
            Self::JsonlPart(reader, places) => {
                let batch = reader.next_batch()?;
                let projected = batch.map(|batch| batch.project(places)).transpose();
                projected.map_err(StorageError::library(reader.path(), "choose its columns"))
            }
        }
    }
}

fn judged(error: StorageError, at: &Place) -> SourceError {
    match error.into_problem(at) {
        Ok(problem) => SourceError::Problems(vec![problem]),
        Err(error) => SourceError::Storage(error),
    }
}

/// A problem found while reading: its place is in the data.
fn wrong(error: StorageError) -> SourceError {
    judged(error, &Place::default())
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
