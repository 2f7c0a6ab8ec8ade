//! Files and tables as they lie on disk, and rows of a server: listing, formats both ways, targets. The only place that names a
//! format's library.
//!
//! Nothing here knows of runs, strategies or batches' origins.

pub mod address;
pub mod avro;
pub mod binary;
pub mod bounds;
mod claims;
pub mod csv;
pub mod delta;
pub mod encode;
pub mod ipc;
pub mod json;
pub mod listing;
pub mod manifest;
pub mod naming;
pub mod orc;
pub mod parquet;
pub mod partition;
pub mod plain;
pub mod postgres;
pub mod store;
pub mod sync;
pub mod tabular;
pub mod target;
pub mod text;

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use arrow::datatypes::SchemaRef;

use crate::name::ColumnName;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;

/// The cause of an error, whatever its type.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why a file or a table could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The operating system said no.
    #[error("{}: cannot {doing}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, as a verb phrase.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// There is nothing where something is due.
    #[error("{}: {what}", path.display())]
    Missing {
        /// The file, folder or pattern.
        path: PathBuf,
        /// What is missing.
        what: String,
        /// The way out.
        hint: String,
    },
    /// The contents are not what they should be.
    #[error("{}{at}: {what}", path.display())]
    Data {
        /// The file.
        path: PathBuf,
        /// Where in it.
        at: Box<DataPlace>,
        /// What is wrong, with the value.
        what: String,
        /// The way out, where one is known.
        hint: Option<String>,
    },
    /// A server does not give what the flow asks of it.
    #[error("{server}: {what}")]
    Refused {
        /// The server.
        server: String,
        /// What it says.
        what: String,
        /// The way out, where one is known.
        hint: Option<String>,
    },
    /// A format's library failed, on a damaged file or for want of a feature.
    #[error("{}: cannot {doing}: {source}", path.display())]
    Library {
        /// The file or table.
        path: PathBuf,
        /// What was tried, as a verb phrase.
        doing: &'static str,
        /// What the library said.
        source: Cause,
    },
}

/// Text of a batch, in bytes, after which it ends however few rows it has: long values must neither fill the memory nor run over the
/// 2 GiB that a column of text holds.
const BATCH_TEXT_BYTES: usize = 16 << 20;

/// A place within a file: any part may be unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DataPlace {
    /// Line of the text, from 1.
    pub line: Option<u64>,
    /// Data row, from 1, a header not counted.
    pub row: Option<u64>,
    /// The column or key.
    pub column: Option<String>,
}

impl DataPlace {
    /// A line of text.
    #[must_use]
    pub fn line(line: u64) -> Self {
        Self { line: Some(line), ..Self::default() }
    }

    /// A column, wherever its rows.
    pub fn column(name: impl Into<String>) -> Self {
        Self { column: Some(name.into()), ..Self::default() }
    }
}

impl fmt::Display for DataPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(row) = self.row {
            write!(f, ": row {row}")?;
        }
        match &self.column {
            Some(column) if self.row.is_some() => write!(f, ", column `{column}`"),
            Some(column) => write!(f, ": column `{column}`"),
            None => Ok(()),
        }
    }
}

impl StorageError {
    /// An I/O error at `path` while `doing` something.
    pub fn io(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, doing, source }
    }

    /// A library's error at `path` while `doing` something.
    pub fn library<E: Into<Cause>>(path: &Path, doing: &'static str) -> impl FnOnce(E) -> Self {
        let path = path.to_owned();
        move |source| Self::Library { path, doing, source: source.into() }
    }

    /// Contents that are wrong as a whole.
    pub fn data(path: &Path, at: DataPlace, what: impl Into<String>) -> Self {
        Self::Data { path: path.to_owned(), at: Box::new(at), what: what.into(), hint: None }
    }

    /// The same with a way out; errors of the system and of libraries have none.
    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        match &mut self {
            Self::Missing { hint, .. } => *hint = text.into(),
            Self::Data { hint, .. } | Self::Refused { hint, .. } => *hint = Some(text.into()),
            Self::Io { .. } | Self::Library { .. } => {}
        }
        self
    }

    /// The way out, where one is known.
    #[must_use]
    pub fn way_out(&self) -> Option<&str> {
        match self {
            Self::Missing { hint, .. } => Some(hint),
            Self::Data { hint, .. } | Self::Refused { hint, .. } => hint.as_deref(),
            Self::Io { .. } | Self::Library { .. } => None,
        }
    }

    /// Whether the user's data or settings are at fault, not the world.
    #[must_use]
    pub fn is_users(&self) -> bool {
        match self {
            Self::Missing { .. } | Self::Data { .. } | Self::Refused { .. } => true,
            Self::Io { .. } | Self::Library { .. } => false,
        }
    }

    /// The problem that a user can fix, where it is one. `at` is where the flow names the path.
    ///
    /// # Errors
    /// The error itself, where the world is at fault.
    pub fn into_problem(self, at: &Place) -> Result<Problem, Self> {
        match self {
            Self::Missing { path, what, hint } => Ok(Problem::new(
                Code::NotFound,
                at.clone(),
                format!("`{}`: {what}", path.display()),
            )
            .hint(hint)),
            Self::Data { path, at, what, hint } => {
                let row = at.row.map(|row| format!("row {row}: ")).unwrap_or_default();
                let file = path.display().to_string();
                let place = Place {
                    file,
                    line: at.line,
                    column: None,
                    field: at.column.unwrap_or_default(),
                };
                let problem = Problem::new(Code::Data, place, format!("{row}{what}"));
                Ok(match hint {
                    Some(hint) => problem.hint(hint),
                    None => problem,
                })
            }
            Self::Refused { server, what, hint } => {
                let what = format!("`{server}`: {what}");
                let problem = Problem::new(Code::WrongValue, at.clone(), what);
                Ok(match hint {
                    Some(hint) => problem.hint(hint),
                    None => problem,
                })
            }
            Self::Io { .. } | Self::Library { .. } => Err(self),
        }
    }
}

/// How far the types of a text's columns can be relied on when it is read.
#[derive(Debug, Clone, Copy)]
pub struct Trust<'a> {
    /// Whether only some of the rows were looked at: others may have anything.
    pub is_sampled: bool,
    /// The columns whose types somebody declared.
    pub declared: &'a BTreeSet<ColumnName>,
}

impl Trust<'_> {
    /// Whether somebody declared the column's type.
    #[must_use]
    pub fn is_declared(&self, column: &str) -> bool {
        self.declared.iter().any(|declared| declared.as_str() == column)
    }
}

/// What is known of a source's files before any row is read for good.
#[derive(Debug, Clone)]
pub struct SourceSchema {
    /// All columns, in the order of the first file that has them.
    pub columns: SchemaRef,
    /// The number of rows, where all of them were looked at.
    pub rows: Option<u64>,
}
