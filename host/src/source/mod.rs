//! Sources: files are discovered before anything is planned, then read once, batch by batch, in file order.

use std::collections::HashSet;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::can_cast_types;
use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

use crate::batch::Batch;
use crate::batch::Origin;
use crate::batch::Positions;
use crate::flow::ReadFormat;
use crate::flow::Source;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::problem::known_names;
use crate::storage::DataPlace;
use crate::storage::SourceSchema;
use crate::storage::StorageError;
use crate::storage::csv;
use crate::storage::csv::CsvBatches;
use crate::storage::jsonl;
use crate::storage::jsonl::JsonlBatches;
use crate::storage::listing;
use crate::storage::listing::Listing;
use crate::storage::listing::SourceFile;
use crate::storage::manifest;
use crate::storage::naming;
use crate::storage::parquet;
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
        let files = listed(source).map_err(|error| judged(error, &source.at))?;
        let SourceSchema { columns, rows } = match files.is_empty() {
            true => declared(source),
            false => inferred(source, &files).map_err(|error| judged(error, &source.at))?,
        };
        let mut problems = Vec::new();
        let known = || columns.fields().iter().map(|field| field.name().as_str());
        for (name, data_type) in &source.schema_hints {
            let at = at(source, &format!("schema_hints.{name}"));
            if columns.column_with_name(name.as_str()).is_none() {
                let problem = Problem::new(
                    Code::UnknownName,
                    at,
                    format!("the files have no column `{name}`"),
                );
                problems
                    .push(problem.hint(known_names(name.as_str(), known().collect::<Vec<_>>())));
            } else if !readable(&source.format, data_type) {
                let what = format!("{} cannot be read as {data_type}", source.format.name());
                problems.push(
                    Problem::new(Code::WrongValue, at, what)
                        .hint("text can be read as any plain type"),
                );
            }
        }
        let mut wanted = Vec::new();
        for (index, name) in source.columns.iter().flatten().enumerate() {
            let at = at(source, &format!("columns[{index}]"));
            match columns.index_of(name.as_str()) {
                Ok(place) if wanted.contains(&place) => {
                    problems.push(Problem::new(
                        Code::DuplicateKey,
                        at,
                        format!("column `{name}` is named twice"),
                    ));
                }
                Ok(place) => wanted.push(place),
                Err(_) => {
                    let problem = Problem::new(
                        Code::UnknownName,
                        at,
                        format!("the files have no column `{name}`"),
                    );
                    problems.push(
                        problem.hint(known_names(name.as_str(), known().collect::<Vec<_>>())),
                    );
                }
            }
        }
        if !problems.is_empty() {
            return Err(SourceError::Problems(problems));
        }
        let schema = match source.columns {
            Some(_) => Arc::new(columns.project(&wanted).map_err(|error| arrow(source, error))?),
            None => Arc::clone(&columns),
        };
        let (name, format) = (source.name.clone(), source.format.clone());
        Ok(Discovered { name, format, files, schema, all_columns: columns, rows })
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
            ReadFormat::Parquet {} => {
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

fn listed(source: &Source) -> Result<Vec<SourceFile>, StorageError> {
    let Source { path, recursive, path_glob_filter, allow_missing, .. } = source;
    let files = match listing::list(Listing {
        path,
        recursive: *recursive,
        name_filter: path_glob_filter.as_deref(),
    }) {
        Err(StorageError::Missing { .. }) if *allow_missing && !path.exists() => Vec::new(),
        other => other?,
    };
    if path.join("_delta_log").is_dir() {
        let what = "a Delta table is there, whose folder also holds files of rows that are gone";
        let error = StorageError::data(path, DataPlace::default(), what);
        return Err(error.hint("this version reads no Delta tables; name a folder of plain files"));
    }
    let files = complete(path, files)?;
    if files.is_empty() && !allow_missing {
        return Err(StorageError::Missing {
            path: path.clone(),
            what: "no data file matches".to_owned(),
            hint: "names that start with `.` or `_`, and unfinished files, are no data; `allow_missing: true` takes no file \
                   as an empty input"
                .to_owned(),
        });
    }
    Ok(files)
}

/// Without files of our own runs that never came to their manifest: those do not count.
fn complete(path: &Path, mut files: Vec<SourceFile>) -> Result<Vec<SourceFile>, StorageError> {
    if path.join(manifest::FOLDER).is_dir() {
        let manifests = manifest::current(path)?;
        let listed: HashSet<PathBuf> = manifests
            .iter()
            .flat_map(|it| it.files.iter().map(|file| path.join(&file.path)))
            .collect();
        let ours = |file: &Path| {
            file.file_name().is_some_and(|name| naming::is_ours(&name.to_string_lossy()))
        };
        files.retain(|file| listed.contains(&file.path) || !ours(&file.path));
    }
    Ok(files)
}

fn inferred(source: &Source, files: &[SourceFile]) -> Result<SourceSchema, StorageError> {
    match &source.format {
        ReadFormat::Csv(options) => {
            csv::infer(files, options, source.merge_schema, &source.schema_hints)
        }
        ReadFormat::Parquet {} => parquet::infer(files, source.merge_schema, &source.schema_hints),
        ReadFormat::Jsonl(options) => jsonl::infer(files, options, &source.schema_hints),
    }
}

/// The columns of no file at all: those that the flow names, text where it declares no type.
fn declared(source: &Source) -> SourceSchema {
    let field = |name, data_type: Option<&DataType>| {
        Field::new(name, data_type.cloned().unwrap_or(DataType::Utf8), true)
    };
    let named = source
        .columns
        .iter()
        .flatten()
        .map(|name| field(name.as_str(), source.schema_hints.get(name)));
    let named: Vec<_> = named.collect();
    let hinted = source
        .schema_hints
        .iter()
        .filter(|(name, _)| named.iter().all(|field| field.name() != name.as_str()));
    let hinted: Vec<_> =
        hinted.map(|(name, data_type)| field(name.as_str(), Some(data_type))).collect();
    let columns = Arc::new(Schema::new(named.into_iter().chain(hinted).collect::<Vec<_>>()));
    SourceSchema { columns, rows: Some(0) }
}

fn readable(format: &ReadFormat, data_type: &DataType) -> bool {
    match format {
        ReadFormat::Csv(_) => !data_type.is_nested() && can_cast_types(&DataType::Utf8, data_type),
        ReadFormat::Jsonl(_) => data_type.is_nested() || can_cast_types(&DataType::Utf8, data_type),
        ReadFormat::Parquet {} => true,
    }
}

fn at(source: &Source, field: &str) -> Place {
    let gap = if source.at.field.is_empty() { "" } else { "." };
    Place { field: format!("{}{gap}{field}", source.at.field), ..source.at.clone() }
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

fn arrow(source: &Source, error: ArrowError) -> SourceError {
    SourceError::Storage(StorageError::library(&source.path, "choose its columns")(error))
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
