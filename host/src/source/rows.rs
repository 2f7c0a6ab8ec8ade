//! A source, whatever it is: files, or rows of a database.

use std::sync::Arc;

use arrow::datatypes::FieldRef;
use arrow::datatypes::SchemaRef;

use super::Discovered;
use super::Files;
use super::Passed;
use super::SourceError;
use super::queried;
use super::queried::Queried;
use super::queried::QueryRows;
use crate::batch::Batch;
use crate::flow::ReadFormat;
use crate::flow::Source;

/// What is known of a source before it is read. Plain data, but for what keeps several readers of a database at one.
#[derive(Debug, Clone)]
pub enum Known {
    /// Files, also those of a table.
    Files(Discovered),
    /// A table or a query of a database.
    Query(Queried),
}

/// The rows of a source, read once.
#[derive(Debug)]
pub enum Rows {
    /// Of files.
    Files(Box<Files>),
    /// Of a database.
    Query(Box<QueryRows>),
}

impl Known {
    /// The source's name in the flow.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Files(files) => &files.name,
            Self::Query(query) => &query.name,
        }
    }

    /// The columns wanted, in the order wanted, all nullable.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        match self {
            Self::Files(files) => &files.schema,
            Self::Query(query) => &query.schema,
        }
    }

    /// Whether the source has a filter.
    #[must_use]
    pub fn is_filtered(&self) -> bool {
        match self {
            Self::Files(files) => files.filter().is_some(),
            Self::Query(query) => query.is_filtered(),
        }
    }

    /// The columns that the filter reads, whether they are wanted or not.
    #[must_use]
    pub fn filter_reads(&self) -> Vec<&FieldRef> {
        match self {
            Self::Files(files) => files.filter_reads().collect(),
            Self::Query(query) => query.filter_reads().collect(),
        }
    }

    /// The parts of the filter that a database is asked for, which sends no row for which one of them is not true.
    #[must_use]
    pub fn asked(&self) -> Option<&str> {
        match self {
            // Files do not answer.
            Self::Files(_) => None,
            Self::Query(query) => query.asked(),
        }
    }

    /// The same for several readers: all of them read the same rows, whatever is written meanwhile.
    #[must_use]
    pub fn shared(self) -> Self {
        match self {
            // Files that change are noticed.
            Self::Files(files) => Self::Files(files),
            Self::Query(query) => Self::Query(query.shared()),
        }
    }
}

impl Rows {
    /// Finds out what there is and which columns it has. Blocks; unless the flow limits it, CSV and JSON are read to the end.
    ///
    /// # Errors
    /// Every problem that was found, or what kept it from looking.
    pub fn discover(source: &Source) -> Result<Known, SourceError> {
        match &source.format {
            ReadFormat::Sql(read) => queried::discover(source, read).map(Known::Query),
            _ => Files::discover(source).map(Known::Files),
        }
    }

    /// Opens what was discovered. Nothing is touched before the first batch is asked for.
    #[must_use]
    pub fn open(known: Known, batch_rows: usize) -> Self {
        match known {
            Known::Files(files) => Self::Files(Box::new(Files::open(files, batch_rows))),
            Known::Query(query) => Self::Query(Box::new(QueryRows::open(query, batch_rows))),
        }
    }

    /// What is left out, now and later.
    #[must_use]
    pub fn passed(&self) -> Arc<Passed> {
        match self {
            Self::Files(files) => files.passed(),
            Self::Query(query) => query.passed(),
        }
    }

    /// The same, where nobody but the filter looks at other columns than these: they are NULL, and not read where the source allows
    /// that.
    #[must_use]
    pub fn only(self, columns: &[String]) -> Self {
        match self {
            Self::Files(files) => Self::Files(Box::new(files.only(columns))),
            Self::Query(query) => Self::Query(Box::new(query.only(columns))),
        }
    }

    /// The same, given up with an error once nobody wants rows any more: a server may take long for the next ones.
    #[must_use]
    pub fn while_wanted(self, is_wanted: impl Fn() -> bool + Send + 'static) -> Self {
        match self {
            // Files do not keep anybody waiting.
            Self::Files(files) => Self::Files(files),
            Self::Query(query) => Self::Query(Box::new(query.while_wanted(is_wanted))),
        }
    }

    /// The next rows, at least one and at most as many as a batch takes; `None` at the end.
    ///
    /// # Errors
    /// Where the source cannot be read, has changed since it was discovered, or has a value that is not of its column's type.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, SourceError> {
        match self {
            Self::Files(files) => files.next_batch(),
            Self::Query(query) => query.next_batch(),
        }
    }
}
