//! Files whose columns have types of their own (Parquet, Arrow, Avro, ORC): the columns of several files made one, and their rows as
//! plain arrays of those.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::Arc;

use arrow::array::BooleanArray;
use arrow::array::RecordBatch;
use arrow::array::RecordBatchOptions;
use arrow::array::new_null_array;
use arrow::compute::filter_record_batch;
use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use roaring::RoaringTreemap;

use super::Cause;
use super::DataPlace;
use super::SourceSchema;
use super::StorageError;
use super::listing::SourceFile;
use super::parquet::Group;
use super::plain;
use crate::name::ColumnName;

/// The batches of an open file, as its format's library reads them.
pub type Read = Box<dyn Iterator<Item = Result<RecordBatch, Cause>> + Send>;

/// A format of such files.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// Finds a file's columns, and its number of rows where the file tells.
    pub look: fn(&SourceFile) -> Result<SourceSchema, StorageError>,
    /// Opens a file for the columns of a schema, and batches of so many rows; columns that it lacks are NULL.
    pub open: fn(&SourceFile, &SchemaRef, usize) -> Result<Batches, StorageError>,
    /// The same without parts that nobody wants, where files of the format tell of theirs.
    pub open_part: Option<OpenPart>,
}

/// Opens a file without the row groups of which the last argument says no.
pub type OpenPart = fn(&SourceFile, &SchemaRef, usize, Keep<'_>) -> Result<Batches, StorageError>;

/// Whether a row group is wanted.
pub type Keep<'a> = &'a dyn Fn(&Group<'_>) -> bool;

/// Rows of a file that are not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skip {
    /// After so many rows that are read.
    pub after: u64,
    /// So many.
    pub rows: u64,
}

/// The columns of all files. A name has one type in all of them, or a declared one.
///
/// # Errors
/// Where a file is not of the format, where a name has several types and no hint, and where files differ without `merge_schema`.
pub fn infer(
    format: Format,
    files: &[SourceFile],
    merge_schema: bool,
    hints: &BTreeMap<ColumnName, DataType>,
) -> Result<SourceSchema, StorageError> {
    let mut columns: Vec<(Field, &SourceFile)> = Vec::new();
    let mut rows = Some(0_u64);
    for file in files {
        let found = guarded(&file.path, || (format.look)(file))?;
        rows = rows.zip(found.rows).map(|(all, own)| all + own);
        let schema = plain::plain_schema(&found.columns);
        for field in schema.fields() {
            match columns.iter().find(|(known, _)| known.name() == field.name()) {
                None if !merge_schema && file != &files[0] => {
                    let what = format!("`{}` has no such column", files[0].path.display());
                    return Err(differs(file, field.name(), what));
                }
                None => columns.push((field.as_ref().clone().with_nullable(true), file)),
                Some((_, first)) if *first == file => {
                    let what = "the file has two columns of this name";
                    return Err(StorageError::data(
                        &file.path,
                        DataPlace::column(field.name()),
                        what,
                    )
                    .hint("give one of them another name where the file is made"));
                }
                Some((known, first)) => {
                    let hinted = hints.keys().any(|name| name.as_str() == field.name());
                    if known.data_type() != field.data_type() && !hinted {
                        let what = format!(
                            "it is {} here and {} in `{}`",
                            field.data_type(),
                            known.data_type(),
                            first.path.display()
                        );
                        return Err(StorageError::data(&file.path, DataPlace::column(field.name()), what)
                            .hint("declare one type for it in `schema_hints`; values that do not fit are an error"));
                    }
                }
            }
        }
        if !merge_schema
            && let Some((lacking, _)) =
                columns.iter().find(|(known, _)| schema.column_with_name(known.name()).is_none())
        {
            let what = format!("this file lacks it; `{}` has it", files[0].path.display());
            return Err(differs(file, lacking.name(), what));
        }
    }
    let fields = columns.into_iter().map(|(field, _)| {
        let hint = hints
            .iter()
            .find(|(name, _)| name.as_str() == field.name())
            .map(|(_, hint)| hint.clone());
        if let Some(hint) = hint { field.with_data_type(hint) } else { field }
    });
    Ok(SourceSchema { columns: Arc::new(Schema::new(fields.collect::<Vec<_>>())), rows })
}

/// Opens a file for the columns of `schema`; those that it lacks are NULL. Row groups of which `keep` says no are not read, where the
/// format has such.
///
/// # Errors
/// Where it cannot be opened, or is not of the format.
pub fn open(
    format: Format,
    file: &SourceFile,
    schema: &SchemaRef,
    batch_rows: usize,
    keep: Option<Keep<'_>>,
) -> Result<Batches, StorageError> {
    guarded(&file.path, || match (keep, format.open_part) {
        (Some(keep), Some(open_part)) => open_part(file, schema, batch_rows, keep),
        _ => (format.open)(file, schema, batch_rows),
    })
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in a library that reads a file: a panic there becomes an error, so nobody else has to tell of it.
#[must_use]
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// What a library does with a file. Some of them stop at what they did not expect: the file is at fault, and is named.
///
/// # Errors
/// Those of the work, and where it panicked.
pub fn guarded<T>(
    path: &Path,
    work: impl FnOnce() -> Result<T, StorageError>,
) -> Result<T, StorageError> {
    GUARDED.set(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(false);
    done.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason");
        let what = format!("its reader stopped: {said}");
        Err(StorageError::data(path, DataPlace::default(), what)
            .hint("the file is damaged, or of another format than it seems"))
    })
}

fn differs(file: &SourceFile, column: &str, what: String) -> StorageError {
    StorageError::data(&file.path, DataPlace::column(column), what)
        .hint("`merge_schema: true` takes the columns of all files; what a file lacks is NULL")
}

/// Where the wanted columns are among a file's own, ascending and each once; those that it lacks are left out.
#[must_use]
pub fn places(wanted: &Schema, own: &Schema) -> Vec<usize> {
    let mut places: Vec<usize> =
        wanted.fields().iter().filter_map(|field| own.index_of(field.name()).ok()).collect();
    places.sort_unstable();
    places
}

/// The batches of one file, as columns of a schema.
pub struct Batches {
    file: SourceFile,
    schema: SchemaRef,
    read: Read,
    /// What is left of a batch of the library's, which may be as long as the file.
    rest: Option<RecordBatch>,
    batch_rows: usize,
    rows_read: u64,
    rows_due: Option<u64>,
    /// Those that are yet to come.
    skips: VecDeque<Skip>,
    /// Rows that were passed over, hidden ones among them.
    rows_passed: u64,
    /// The same without hidden ones.
    rows_skipped: u64,
    /// Rows of the file that are not to be seen; the first is 0.
    hidden: Option<RoaringTreemap>,
    /// The places of the last batch's rows, where some of the file's are hidden.
    places: Arc<[u64]>,
}

impl std::fmt::Debug for Batches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batches")
            .field("file", &self.file)
            .field("rows_read", &self.rows_read)
            .finish_non_exhaustive()
    }
}

impl Batches {
    /// The rows of `file` as columns of `schema`, found by name; those that the file lacks are NULL.
    #[must_use]
    pub fn new(file: &SourceFile, schema: &SchemaRef, batch_rows: usize, read: Read) -> Self {
        let (file, schema) = (file.clone(), Arc::clone(schema));
        let batch_rows = batch_rows.max(1);
        Self {
            file,
            schema,
            read,
            rest: None,
            batch_rows,
            rows_read: 0,
            rows_due: None,
            skips: VecDeque::new(),
            rows_passed: 0,
            rows_skipped: 0,
            hidden: None,
            places: Arc::default(),
        }
    }

    /// The same without these rows, of which the first is 0. Nobody looks at their values.
    #[must_use]
    pub fn without(self, hidden: RoaringTreemap) -> Self {
        Self { hidden: Some(hidden), ..self }
    }

    /// The places in the file of the rows that came last, from 1; `None` where all rows of the file come, in their order.
    #[must_use]
    pub fn places(&self) -> Option<Arc<[u64]>> {
        self.hidden.as_ref().map(|_| Arc::clone(&self.places))
    }

    /// The same, where the file tells how many rows there are: fewer are an error.
    #[must_use]
    pub fn due(self, rows: u64) -> Self {
        Self { rows_due: Some(rows), ..self }
    }

    /// The same, where rows between those that are read are not; in the file's order.
    #[must_use]
    pub fn skipping(self, skips: Vec<Skip>) -> Self {
        Self { skips: skips.into(), ..self }
    }

    /// Rows that were skipped before the rows of the last batch, without hidden ones; at the end, all of them.
    #[must_use]
    pub fn rows_skipped(&self) -> u64 {
        self.rows_skipped
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// Where the file is damaged, and where a value does not fit its column's declared type.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, StorageError> {
        while let Some(skip) = self.skips.pop_front_if(|skip| skip.after == self.rows_read) {
            let first = self.rows_read + self.rows_passed;
            self.rows_passed += skip.rows;
            self.rows_skipped += skip.rows - self.hidden_in(first..first + skip.rows);
        }
        let path = &self.file.path;
        let batch = match self.rest.take() {
            Some(rest) => rest,
            None => match guarded(path, || Ok(self.read.next()))? {
                Some(batch) => batch.map_err(StorageError::library(path, "read its rows"))?,
                None => return self.ended(),
            },
        };
        // A batch ends where rows are skipped, so that its rows follow each other in the file.
        let together = self.skips.front().map_or(u64::MAX, |skip| skip.after - self.rows_read);
        let together = usize::try_from(together).unwrap_or(usize::MAX);
        let rows = self.batch_rows.min(batch.num_rows()).min(together);
        if rows < batch.num_rows() {
            self.rest = Some(batch.slice(rows, batch.num_rows() - rows));
        }
        let first = self.rows_read + self.rows_passed;
        let places = first..first + rows as u64;
        self.rows_read += rows as u64;
        let batch = match &self.hidden {
            None => batch.slice(0, rows),
            Some(hidden) => {
                let is_seen = |row: &u64| !hidden.contains(*row);
                let seen: BooleanArray = places.clone().map(|row| Some(is_seen(&row))).collect();
                self.places = places.filter(is_seen).map(|row| row + 1).collect();
                filter_record_batch(&batch.slice(0, rows), &seen)
                    .map_err(StorageError::library(path, "leave out hidden rows"))?
            }
        };
        let place = |index: usize| match &self.hidden {
            None => Some(first + index as u64 + 1),
            Some(_) => self.places.get(index).copied(),
        };
        let rows = batch.num_rows();
        let columns = self.schema.fields().iter().map(|field| {
            let Some(column) = batch.column_by_name(field.name()) else {
                return Ok(new_null_array(field.data_type(), rows));
            };
            plain::cast_exact(column, field.data_type()).map_err(|misfit| {
                let row = place(misfit.index);
                let at = DataPlace { line: None, row, column: Some(field.name().clone()) };
                StorageError::data(path, at, misfit.what)
                    .hint("declare a type in `schema_hints` that holds all values")
            })
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let rows = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &rows)
            .map(Some)
            .map_err(StorageError::library(path, "make a batch of its rows"))
    }

    /// How many of these rows are hidden; the first of the file is 0.
    fn hidden_in(&self, rows: Range<u64>) -> u64 {
        self.hidden.as_ref().map_or(0, |hidden| hidden.range_cardinality(rows))
    }

    fn ended(&self) -> Result<Option<RecordBatch>, StorageError> {
        match self.rows_due {
            Some(due) if due != self.rows_read => {
                let what = format!("it says that it has {due} rows, and has {}", self.rows_read);
                Err(StorageError::data(&self.file.path, DataPlace::default(), what))
            }
            _ => Ok(None),
        }
    }
}
