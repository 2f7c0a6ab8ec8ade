//! Sources: files are discovered before anything is planned, then read once, batch by batch, in file order.

mod discover;
mod folders;

use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::FieldRef;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;

use self::folders::Folders;
use crate::batch::Batch;
use crate::batch::Origin;
use crate::batch::Positions;
use crate::flow::CsvRead;
use crate::flow::JsonRead;
use crate::flow::ReadFormat;
use crate::flow::Source;
use crate::problem::Place;
use crate::problem::Problem;
use crate::storage::StorageError;
use crate::storage::avro;
use crate::storage::binary;
use crate::storage::csv::CsvBatches;
use crate::storage::delta::Scan;
use crate::storage::ipc;
use crate::storage::json::JsonBatches;
use crate::storage::json::JsonLayout;
use crate::storage::listing::SourceFile;
use crate::storage::orc;
use crate::storage::parquet;
use crate::storage::tabular;
use crate::storage::tabular::Batches;

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
    /// All columns of the files, without those that folders name.
    pub all_columns: SchemaRef,
    /// What folders name.
    folders: Folders,
    /// The number of rows, where discovery saw them all.
    pub rows: Option<u64>,
    /// The table's version, where it is one.
    pub version: Option<u64>,
    /// How the rows of a table's files are read, where it is one.
    scan: Option<Arc<Scan>>,
}

/// The rows of discovered files. Holds one open file and one batch.
#[derive(Debug)]
pub struct Files {
    discovered: Discovered,
    /// The columns that are read off files; the others are NULL.
    read: SchemaRef,
    batch_rows: usize,
    next_file: usize,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    file: Arc<str>,
    /// Its place among the files.
    place: usize,
    reader: Reader,
    rows_read: u64,
}

#[derive(Debug)]
enum Reader {
    Csv(CsvBatches),
    Typed(Batches),
    Json(JsonBatches),
    /// Reads all columns, so that keys that nobody has seen are noticed, and keeps those at these places.
    JsonPart(JsonBatches, Vec<usize>),
}

impl Files {
    /// Lists the files and finds out their columns. Blocks; unless the flow limits it, CSV and JSON are read to the end.
    ///
    /// # Errors
    /// Every problem that was found, or what kept it from looking.
    pub fn discover(source: &Source) -> Result<Discovered, SourceError> {
        discover::discover(source)
    }

    /// Opens what was discovered. No file is touched before the first batch is asked for.
    #[must_use]
    pub fn open(discovered: Discovered, batch_rows: usize) -> Self {
        let read = discovered.folders.without(&discovered.schema);
        Self { discovered, read, batch_rows: batch_rows.max(1), next_file: 0, open: None }
    }

    /// The same, where nobody looks at other columns than these: they are NULL, and not read where the format allows that.
    #[must_use]
    pub fn only(self, columns: &[String]) -> Self {
        let is_wanted = |field: &&FieldRef| columns.contains(field.name());
        let wanted: Vec<_> = self.read.fields().iter().filter(is_wanted).cloned().collect();
        // Rows are counted by a column.
        let counted = self.read.fields().first().filter(|_| wanted.is_empty()).cloned();
        let read = Arc::new(Schema::new(wanted.into_iter().chain(counted).collect::<Vec<_>>()));
        Self { read, ..self }
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
                    let reader = self.reader(self.next_file, file).map_err(wrong)?;
                    let (file, place) = (Arc::from(file.path.to_string_lossy()), self.next_file);
                    self.next_file += 1;
                    self.open.insert(Open { file, place, reader, rows_read: 0 })
                }
            };
            match open.reader.next_batch().map_err(wrong)? {
                Some(rows) if rows.num_rows() > 0 => {
                    let places = match open.reader.places() {
                        Some(places) => Positions::Each(places),
                        None => Positions::From(open.rows_read + 1),
                    };
                    open.rows_read += rows.num_rows() as u64;
                    let Discovered { folders, schema, .. } = &self.discovered;
                    let rows = folders.beside(open.place, rows, schema);
                    let rows = rows
                        .map_err(StorageError::library(Path::new(&*open.file), "name its folders"))
                        .map_err(wrong)?;
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

    fn reader(&self, place: usize, file: &SourceFile) -> Result<Reader, StorageError> {
        let Discovered { format, all_columns, scan, .. } = &self.discovered;
        let schema = &self.read;
        if let Some(scan) = scan {
            return Ok(Reader::Typed(scan.open(place, file, schema, self.batch_rows)?));
        }
        Ok(match kind(format) {
            Kind::Csv(options) => {
                Reader::Csv(CsvBatches::open(file, options, schema, self.batch_rows)?)
            }
            Kind::Typed(format) => {
                Reader::Typed(tabular::open(format, file, schema, self.batch_rows)?)
            }
            // Discovery has seen all keys, so those that are not wanted need not be decoded.
            Kind::Json(layout, options) if options.infer_schema_rows.is_none() => {
                Reader::Json(JsonBatches::open(file, layout, schema, false, self.batch_rows)?)
            }
            Kind::Json(layout, _) => {
                let places = schema
                    .fields()
                    .iter()
                    .filter_map(|field| all_columns.index_of(field.name()).ok());
                let reader = JsonBatches::open(file, layout, all_columns, true, self.batch_rows)?;
                Reader::JsonPart(reader, places.collect())
            }
        })
    }
}

/// How the files of a format are read.
enum Kind<'a> {
    Csv(&'a CsvRead),
    Json(JsonLayout, &'a JsonRead),
    /// Columns have types of their own.
    Typed(tabular::Format),
}

fn kind(format: &ReadFormat) -> Kind<'_> {
    let typed = |look, open| Kind::Typed(tabular::Format { look, open });
    match format {
        ReadFormat::Csv(options) => Kind::Csv(options),
        ReadFormat::Jsonl(options) => Kind::Json(JsonLayout::Lines, options),
        ReadFormat::Json(options) => Kind::Json(JsonLayout::Document, options),
        ReadFormat::Parquet {} | ReadFormat::View {} | ReadFormat::Delta(_) => {
            typed(parquet::look, parquet::open)
        }
        ReadFormat::Arrow {} => typed(ipc::look, ipc::open),
        ReadFormat::Avro {} => typed(avro::look, avro::open),
        ReadFormat::Orc {} => typed(orc::look, orc::open),
        ReadFormat::Binary {} => typed(binary::look, binary::open),
    }
}

impl Reader {
    /// The places of the last rows in their file, where some of it do not come.
    fn places(&self) -> Option<Arc<[u64]>> {
        match self {
            Self::Typed(reader) => reader.places(),
            Self::Csv(_) | Self::Json(_) | Self::JsonPart(..) => None,
        }
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, StorageError> {
        match self {
            Self::Csv(reader) => reader.next_batch(),
            Self::Typed(reader) => reader.next_batch(),
            Self::Json(reader) => reader.next_batch(),
            Self::JsonPart(reader, places) => {
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
