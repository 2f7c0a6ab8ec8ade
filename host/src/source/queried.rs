//! A table or a query of a database as a source.

use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::array::RecordBatchOptions;
use arrow::array::new_null_array;
use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::FieldRef;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;

use super::Passed;
use super::SourceError;
use super::discover::at;
use super::discover::wanted;
use super::filter::Filter;
use super::judged;
use super::with_read;
use crate::batch::Batch;
use crate::batch::Origin;
use crate::batch::Positions;
use crate::flow::Source;
use crate::flow::SqlRead;
use crate::flow::SqlRows;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::storage::StorageError;
use crate::storage::postgres;
use crate::storage::postgres::Cell;
use crate::storage::postgres::Described;
use crate::storage::postgres::Found;
use crate::storage::postgres::Reading;
use crate::storage::postgres::Snapshot;
use crate::storage::postgres::Where;

/// What is known of a table or a query before it is read.
#[derive(Debug, Clone)]
pub struct Queried {
    /// The source's name in the flow.
    pub name: String,
    /// What the server says of it.
    pub described: Arc<Described>,
    /// The columns wanted, in the order wanted, all nullable.
    pub schema: SchemaRef,
    /// The source's filter.
    filter: Option<Arc<Filter>>,
    /// What of it the server is asked, and the same as the flow has it.
    narrowed: Where,
    asked: Option<String>,
    /// The columns that batches have before the filter.
    whole: SchemaRef,
    /// Where each of these is among those of the server, and how it is decoded.
    cells: Vec<(usize, Cell)>,
    /// Where the flow says so.
    at: Place,
    /// What several readers read.
    snapshot: Option<Arc<Snapshot>>,
}

impl Queried {
    pub(super) fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }

    /// The columns that the filter reads, whether they are wanted or not.
    pub(super) fn filter_reads(&self) -> impl Iterator<Item = &FieldRef> {
        self.filter.iter().flat_map(|filter| filter.reads())
    }

    /// The parts of the filter that the server is asked for, which sends no row for which one of them is not true.
    #[must_use]
    pub fn asked(&self) -> Option<&str> {
        self.asked.as_deref()
    }

    /// The same for several readers, which read one snapshot.
    pub(super) fn shared(self) -> Self {
        let snapshot = Snapshot::new(self.described.server.clone());
        Self { snapshot: Some(Arc::new(snapshot)), ..self }
    }
}

/// Asks the server what there is.
pub(super) fn discover(source: &Source, read: &SqlRead) -> Result<Queried, SourceError> {
    let described =
        postgres::describe(&read.server, &read.rows).map_err(|error| judged(error, &source.at))?;
    let who = match read.rows {
        SqlRows::Table { .. } => "the table has",
        SqlRows::Query(_) => "the query has",
    };
    let columns = &described.columns;
    let mut problems = repeated(source, &described, who);
    let hint = |name: &str| {
        let hint = source.schema_hints.iter().find(|(hinted, _)| hinted.as_str() == name);
        hint.map(|(_, hint)| hint)
    };
    // Types matter once it is clear which columns are wanted.
    let read: Vec<_> = columns
        .iter()
        .map(|column| column.found.read_as(&column.name, hint(&column.name)))
        .collect();
    let names = columns.iter().map(|column| Field::new(&column.name, DataType::Null, true));
    let places = wanted(source, &Schema::new(names.collect::<Vec<_>>()), who, &mut problems);
    let mut fields = Vec::new();
    for place in places {
        let name = &columns[place].name;
        match &read[place] {
            Ok((_, data_type)) => fields.push(Field::new(name, data_type.clone(), true)),
            Err((what, hint)) => {
                let what = format!("column `{name}`: {what}");
                problems.push(Problem::new(Code::Schema, source.at.clone(), what).hint(hint));
            }
        }
    }
    let has_place = columns.iter().zip(&read).filter_map(|(column, read)| {
        let (_, data_type) = read.as_ref().ok()?;
        Some(Field::new(&column.name, data_type.clone(), true))
    });
    let all = Arc::new(Schema::new(has_place.collect::<Vec<_>>()));
    let filter = source.filter.as_ref().map(|sql| Filter::compile(source, sql, all)).transpose();
    let filter = match filter {
        Err(SourceError::Problems(more)) => {
            problems.extend(more);
            None
        }
        filter => filter?,
    };
    if !problems.is_empty() {
        return Err(SourceError::Problems(problems));
    }
    let schema = Arc::new(Schema::new(fields));
    let whole = with_read(&schema, filter.iter().flat_map(Filter::reads));
    let cells = whole.fields().iter().filter_map(|field| {
        let place = columns.iter().position(|column| column.name == *field.name())?;
        Some((place, read[place].as_ref().ok()?.0.clone()))
    });
    let cells = cells.collect();
    let (narrowed, asked) = narrowed(&described, filter.as_ref());
    Ok(Queried {
        name: source.name.clone(),
        described: Arc::new(described),
        filter: filter.map(Arc::new),
        narrowed,
        asked,
        schema,
        whole,
        cells,
        at: source.at.clone(),
        snapshot: None,
    })
}

/// What of a filter the server can be asked, and the same as the flow has it.
fn narrowed(described: &Described, filter: Option<&Filter>) -> (Where, Option<String>) {
    let mut narrowed = Where::default();
    let mut asked = Vec::new();
    let Some(filter) = filter else { return (narrowed, None) };
    // A column that `schema_hints` makes another of compares otherwise, and one that the whole filter has no need of may not be read.
    let place = |at: usize| {
        let field = filter.column(at);
        filter.reads().find(|read| read.name() == field.name())?;
        let place = described.columns.iter().position(|column| column.name == *field.name())?;
        match &described.columns[place].found {
            Found::Exact(cell) if cell.data_type() == *field.data_type() => Some(place),
            _ => None,
        }
    };
    for part in filter.asking() {
        if narrowed.ask(described, &part.condition, &place) {
            asked.push(part.sql.as_str());
        }
    }
    (narrowed, (!asked.is_empty()).then(|| asked.join(" AND ")))
}

/// Names that several columns of a query have.
fn repeated(source: &Source, described: &Described, who: &str) -> Vec<Problem> {
    let names: Vec<_> = described.columns.iter().map(|column| column.name.as_str()).collect();
    let is_second = |at: &usize| {
        let before = names[..*at].iter().filter(|name| **name == names[*at]).count();
        before == 1
    };
    let second = (0..names.len()).filter(is_second);
    let problem = |at_name: usize| {
        let what = format!("{who} several columns of the name `{}`", names[at_name]);
        Problem::new(Code::Schema, at(source, "query"), what)
            .hint("give each a name of its own, as in `SELECT a.id AS a_id, b.id AS b_id`")
    };
    second.map(problem).collect()
}

/// Whether anybody still wants rows.
struct Wanted(Box<dyn Fn() -> bool + Send>);

impl std::fmt::Debug for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wanted")
    }
}

/// The rows of a table or a query.
#[derive(Debug)]
pub struct QueryRows {
    query: Queried,
    /// Which columns are read; the others are NULL.
    read: Vec<usize>,
    passed: Arc<Passed>,
    batch_rows: usize,
    is_wanted: Wanted,
    rows: Option<postgres::Rows>,
    file: Arc<str>,
    rows_read: u64,
}

impl QueryRows {
    pub(super) fn open(query: Queried, batch_rows: usize) -> Self {
        let read = (0..query.cells.len()).collect();
        let file = Arc::from(query.described.rows.label());
        let batch_rows = batch_rows.max(1);
        let passed = Arc::default();
        let is_wanted = Wanted(Box::new(|| true));
        Self { query, read, passed, batch_rows, is_wanted, rows: None, file, rows_read: 0 }
    }

    pub(super) fn passed(&self) -> Arc<Passed> {
        Arc::clone(&self.passed)
    }

    pub(super) fn while_wanted(self, is_wanted: impl Fn() -> bool + Send + 'static) -> Self {
        Self { is_wanted: Wanted(Box::new(is_wanted)), ..self }
    }

    pub(super) fn only(self, columns: &[String]) -> Self {
        let filtered: Vec<_> = self.query.filter_reads().map(|field| field.name()).collect();
        let is_wanted = |at: &usize| {
            let name = self.query.whole.field(*at).name();
            columns.contains(name) || filtered.contains(&name)
        };
        Self { read: self.read.iter().copied().filter(is_wanted).collect(), ..self }
    }

    pub(super) fn next_batch(&mut self) -> Result<Option<Batch>, SourceError> {
        let at = self.query.at.clone();
        self.next().map_err(|error| judged(error, &at))
    }

    fn next(&mut self) -> Result<Option<Batch>, StorageError> {
        loop {
            let rows = match &mut self.rows {
                Some(rows) => rows,
                None => {
                    let rows = postgres::Rows::open(self.reading())?;
                    self.rows.insert(rows)
                }
            };
            let Some(batch) = rows.next_batch(&*self.is_wanted.0)? else { return Ok(None) };
            let places = Positions::From(self.rows_read + 1);
            self.rows_read += batch.num_rows() as u64;
            let origin = Origin { file: Arc::clone(&self.file), rows: places };
            let batch = Batch { rows: self.beside(&batch)?, origin };
            let batch = match &self.query.filter {
                Some(filter) => filter.leave(batch, &self.query.schema, &self.passed)?,
                None => batch,
            };
            if batch.rows.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }

    fn reading(&self) -> Reading {
        let Queried { described, whole, cells, narrowed, snapshot, .. } = &self.query;
        let wanted = self.read.iter().map(|at| {
            let (place, cell) = &cells[*at];
            (*place, cell.clone(), Arc::clone(&whole.fields()[*at]))
        });
        Reading {
            described: Arc::clone(described),
            wanted: wanted.collect(),
            asked: narrowed.clone(),
            snapshot: snapshot.clone(),
            batch_rows: self.batch_rows,
        }
    }

    /// All columns, those that were not read as NULL.
    fn beside(&self, batch: &RecordBatch) -> Result<RecordBatch, StorageError> {
        let schema = &self.query.whole;
        let column = |(at, field): (usize, &FieldRef)| match self.read.binary_search(&at) {
            Ok(read) => Arc::clone(batch.column(read)),
            Err(_) => new_null_array(field.data_type(), batch.num_rows()),
        };
        let columns = schema.fields().iter().enumerate().map(column).collect();
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(schema), columns, &rows)
            .map_err(StorageError::library(Path::new(&*self.file), "make a batch of its rows"))
    }
}
