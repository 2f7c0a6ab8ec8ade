//! Sources: files and tables of a database are discovered before anything is planned, then read once, batch by batch, in their order; a
//! source's filter leaves rows out before anybody sees them.

mod discover;
mod filter;
mod folders;
mod listed;
mod queried;
mod rows;
mod table;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use arrow::array::RecordBatch;
use arrow::datatypes::FieldRef;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;

use self::filter::Filter;
use self::folders::Folders;
pub use self::queried::Queried;
pub use self::rows::Known;
pub use self::rows::Rows;
use crate::batch::Batch;
use crate::batch::Origin;
use crate::batch::Positions;
use crate::flow::CsvRead;
use crate::flow::JsonRead;
use crate::flow::ReadFormat;
use crate::flow::Source;
use crate::name::ColumnName;
use crate::problem::Place;
use crate::problem::Problem;
use crate::storage::StorageError;
use crate::storage::Trust;
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
use crate::storage::parquet::Group;
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
    /// The files, sorted by path; empty where none matched and the flow allows that, and where none can have a row that is wanted.
    pub files: Vec<SourceFile>,
    /// Files that are not among them: the source's filter is true of no row of theirs.
    pub files_skipped: u64,
    /// The source's filter.
    filter: Option<Arc<Filter>>,
    /// Columns whose types the flow declares.
    declared: BTreeSet<ColumnName>,
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

impl Discovered {
    /// The source's filter, as the flow has it.
    #[must_use]
    pub fn filter(&self) -> Option<&str> {
        self.filter.as_ref().map(|filter| filter.sql.as_str())
    }

    /// The columns that the filter reads, whether they are wanted or not.
    pub fn filter_reads(&self) -> impl Iterator<Item = &FieldRef> {
        self.filter.iter().flat_map(|filter| filter.reads())
    }

    /// The columns wanted, then those that the filter reads besides.
    fn whole(&self) -> SchemaRef {
        with_read(&self.schema, self.filter_reads())
    }
}

/// The columns wanted, then those that a filter reads besides.
fn with_read<'a>(wanted: &SchemaRef, reads: impl Iterator<Item = &'a FieldRef>) -> SchemaRef {
    let more: Vec<_> = reads.filter(|it| wanted.index_of(it.name()).is_err()).cloned().collect();
    if more.is_empty() {
        return Arc::clone(wanted);
    }
    Arc::new(Schema::new(wanted.fields().iter().cloned().chain(more).collect::<Vec<_>>()))
}

/// Rows of files that nobody is given, counted while others are read.
#[derive(Debug, Default)]
pub struct Passed {
    filtered: AtomicU64,
    skipped: AtomicU64,
}

impl Passed {
    /// Rows that were read, and that the filter has left out.
    #[must_use]
    pub fn filtered(&self) -> u64 {
        self.filtered.load(Ordering::Relaxed)
    }

    /// Rows of files that were opened, of row groups that cannot have one that the filter takes; they were not read.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped.load(Ordering::Relaxed)
    }
}

/// The rows of discovered files. Holds one open file and one batch.
#[derive(Debug)]
pub struct Files {
    discovered: Discovered,
    /// The columns that batches have before the filter.
    whole: SchemaRef,
    /// The columns that are read off files; the others are NULL.
    read: SchemaRef,
    passed: Arc<Passed>,
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
    rows_skipped: u64,
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
        let whole = discovered.whole();
        let read = discovered.folders.without(&whole);
        let (batch_rows, passed) = (batch_rows.max(1), Arc::default());
        Self { discovered, whole, read, passed, batch_rows, next_file: 0, open: None }
    }

    /// What is left out, now and later.
    #[must_use]
    pub fn passed(&self) -> Arc<Passed> {
        Arc::clone(&self.passed)
    }

    /// The same, where nobody but the filter looks at other columns than these: they are NULL, and not read where the format allows
    /// that.
    #[must_use]
    pub fn only(self, columns: &[String]) -> Self {
        let filtered: Vec<_> = self.discovered.filter_reads().map(|field| field.name()).collect();
        let is_wanted =
            |field: &&FieldRef| columns.contains(field.name()) || filtered.contains(&field.name());
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
                    self.open.insert(Open { file, place, reader, rows_read: 0, rows_skipped: 0 })
                }
            };
            let rows = open.reader.next_batch().map_err(wrong)?;
            let skipped = open.reader.rows_skipped();
            self.passed.skipped.fetch_add(skipped - open.rows_skipped, Ordering::Relaxed);
            open.rows_skipped = skipped;
            match rows {
                Some(rows) if rows.num_rows() > 0 => {
                    let places = match open.reader.places() {
                        Some(places) => Positions::Each(places),
                        None => Positions::From(open.rows_read + open.rows_skipped + 1),
                    };
                    open.rows_read += rows.num_rows() as u64;
                    let rows = self.discovered.folders.beside(open.place, rows, &self.whole);
                    let rows = rows
                        .map_err(StorageError::library(Path::new(&*open.file), "name its folders"))
                        .map_err(wrong)?;
                    let origin = Origin { file: Arc::clone(&open.file), rows: places };
                    let batch = self.filtered(Batch { rows, origin }).map_err(wrong)?;
                    if batch.rows.num_rows() > 0 {
                        return Ok(Some(batch));
                    }
                }
                Some(_) => {}
                None => self.open = None,
            }
        }
    }

    /// The rows that the filter leaves, and their columns that are wanted.
    fn filtered(&self, batch: Batch) -> Result<Batch, StorageError> {
        match &self.discovered.filter {
            Some(filter) => filter.leave(batch, &self.discovered.schema, &self.passed),
            None => Ok(batch),
        }
    }

    fn reader(&self, at: usize, file: &SourceFile) -> Result<Reader, StorageError> {
        let Discovered { format, all_columns, folders, filter, declared, scan, .. } =
            &self.discovered;
        let trust = |sample: Option<usize>| Trust { is_sampled: sample.is_some(), declared };
        let schema = &self.read;
        let is_wanted = filter
            .as_ref()
            .map(|filter| move |group: &Group<'_>| filter.may_be_in_group(folders, at, group));
        let keep = is_wanted.as_ref().map(|is_wanted| is_wanted as tabular::Keep<'_>);
        if let Some(scan) = scan {
            return Ok(Reader::Typed(scan.open(at, file, schema, self.batch_rows, keep)?));
        }
        Ok(match kind(format) {
            Kind::Csv(options) => {
                let trust = trust(options.infer_schema_rows);
                Reader::Csv(CsvBatches::open(file, options, schema, trust, self.batch_rows)?)
            }
            Kind::Typed(format) => {
                Reader::Typed(tabular::open(format, file, schema, self.batch_rows, keep)?)
            }
            // Discovery has seen all keys, so those that are not wanted need not be decoded.
            Kind::Json(layout, options) if options.infer_schema_rows.is_none() => {
                Reader::Json(JsonBatches::open(file, layout, schema, trust(None), self.batch_rows)?)
            }
            Kind::Json(layout, options) => {
                let trust = trust(options.infer_schema_rows);
                let places = schema
                    .fields()
                    .iter()
                    .filter_map(|field| all_columns.index_of(field.name()).ok());
                let reader = JsonBatches::open(file, layout, all_columns, trust, self.batch_rows)?;
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
    let typed = |look, open| Kind::Typed(tabular::Format { look, open, open_part: None });
    match format {
        ReadFormat::Csv(options) => Kind::Csv(options),
        ReadFormat::Jsonl(options) => Kind::Json(JsonLayout::Lines, options),
        ReadFormat::Json(options) => Kind::Json(JsonLayout::Document, options),
        ReadFormat::Parquet {} | ReadFormat::View {} | ReadFormat::Delta(_) => {
            Kind::Typed(tabular::Format {
                look: parquet::look,
                open: parquet::open,
                open_part: Some(parquet::open_part),
            })
        }
        ReadFormat::Arrow {} => typed(ipc::look, ipc::open),
        ReadFormat::Avro {} => typed(avro::look, avro::open),
        ReadFormat::Orc {} => typed(orc::look, orc::open),
        ReadFormat::Binary {} => typed(binary::look, binary::open),
        // `Rows` tells them apart before anybody asks here.
        ReadFormat::Sql(_) => unreachable!("rows of a database are in no files"),
    }
}

impl Reader {
    /// The places of the last rows in their file, where some of it are hidden.
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

    /// Rows that were passed over so far.
    fn rows_skipped(&self) -> u64 {
        match self {
            Self::Typed(reader) => reader.rows_skipped(),
            Self::Csv(_) | Self::Json(_) | Self::JsonPart(..) => 0,
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
