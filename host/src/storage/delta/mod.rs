//! Delta tables: opening, what a table says of itself, and the one commit. The only place that names `deltalake`.

mod columns;
mod commit;
mod damage;
mod demands;
mod files;
mod log;
mod protocol;
mod rewrite;
mod rows;
mod scan;
mod stats;
mod travel;
mod vector;

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use deltalake::DeltaTable;
use deltalake::DeltaTableBuilder;
use deltalake::DeltaTableError;
use deltalake::kernel::StructTypeExt;
use deltalake::kernel::engine::arrow_conversion::TryIntoArrow;
use deltalake::kernel::engine::arrow_conversion::TryIntoKernel;
use deltalake::kernel::schema::StructType;
use deltalake::kernel::transaction::PROTOCOL;
use deltalake::kernel::transaction::TransactionError;
use url::Url;

use self::columns::Columns;
use self::files::told;
use super::DataPlace;
use super::StorageError;
use super::plain;
use super::target::TableFacts;
use crate::name::ColumnName;

pub use self::commit::Base;
pub use self::commit::CommitError;
pub use self::commit::DataFile;
pub use self::commit::Landed;
pub use self::commit::LogChange;
pub use self::commit::Mark;
pub use self::commit::Removal;
pub use self::commit::commit;
pub use self::commit::landed_before;
pub use self::files::StoredFile;
pub use self::rewrite::Rewrite;
pub use self::rewrite::rewrite;
pub use self::rows::OpenFile;
pub use self::rows::Piece;
pub use self::rows::PieceRows;
pub use self::scan::Scan;
pub use self::stats::stats;
pub use self::travel::Stored;
pub use self::travel::read;

/// A table as of its newest version when it was opened.
#[derive(Debug)]
pub struct Snapshot {
    path: PathBuf,
    table: DeltaTable,
}

/// Opens the table at `path`; `None` where the folder has no log.
///
/// # Errors
/// Where there is a log that cannot be read, or that power loss has cut.
pub async fn open(path: &Path) -> Result<Option<Snapshot>, StorageError> {
    if log::newest_entry(path)?.is_none() && !path.join("_delta_log/_last_checkpoint").exists() {
        return Ok(None);
    }
    let table = loaded(path, builder(path)?).await?;
    Ok(Some(Snapshot { path: path.to_owned(), table }))
}

/// Reads the log.
async fn loaded(path: &Path, table: DeltaTableBuilder) -> Result<DeltaTable, StorageError> {
    let failed = StorageError::library(path, "read the table's log");
    table.load().await.map_err(|error| damage::found(path).unwrap_or_else(|| failed(error)))
}

impl Snapshot {
    /// The version.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.table.version().unwrap_or_default()
    }

    /// What the table says of itself.
    ///
    /// # Errors
    /// Where its schema or its list of files cannot be read.
    pub fn facts(&self) -> Result<TableFacts, StorageError> {
        let failed = || StorageError::library(&self.path, "read the table's metadata");
        let state = self.table.snapshot().map_err(failed())?;
        let names = state.metadata().partition_columns().iter();
        let names: Result<Vec<_>, _> = names.map(|name| ColumnName::new(name.clone())).collect();
        let properties = state.metadata().configuration();
        let is_true = |key| {
            properties.get(key).is_some_and(|value: &String| value.eq_ignore_ascii_case("true"))
        };
        Ok(TableFacts {
            schema: plain::plain_schema(&state.snapshot().arrow_schema()),
            partition_columns: names
                .map_err(|what| StorageError::data(&self.path, DataPlace::default(), what))?,
            version: self.version(),
            rows: self.rows()?,
            append_only: is_true("delta.appendOnly"),
            change_feed: is_true("delta.enableChangeDataFeed"),
            refusals: self.refusals().map_err(failed())?,
        })
    }

    /// The rows of all files, where each tells its own; rows that deletion vectors hide are not counted.
    fn rows(&self) -> Result<Option<u64>, StorageError> {
        let failed = StorageError::library(&self.path, "read the table's list of files");
        let files = self
            .table
            .snapshot()
            .and_then(|state| state.snapshot().try_log_data())
            .map_err(failed)?;
        let mut rows = Some(0);
        for file in files.iter() {
            let path = self.path.join(&*file.path());
            let hidden = told(&path, &file)?.map_or(0, |vector| vector.cardinality);
            let all = file.num_records().and_then(|all| i64::try_from(all).ok());
            let seen = all.and_then(|all| u64::try_from(all - hidden).ok());
            rows = rows.zip(seen).map(|(rows, seen)| rows + seen);
        }
        Ok(rows)
    }

    /// How its columns are found in its files, and what it demands of readers and is not done.
    fn columns(&self) -> Result<(Columns, Vec<String>), StorageError> {
        let failed = StorageError::library(&self.path, "read the table's metadata");
        let state = self.table.snapshot().map_err(failed)?;
        let schema = state.schema();
        let (mapping, refusals) = demands::of_readers(state.protocol(), state.metadata(), &schema);
        Ok((Columns::new(mapping, schema), refusals))
    }

    /// What we would have to do as writers of the table and do not: features, by the protocol's names, and rules for its rows.
    fn refusals(&self) -> Result<Vec<String>, DeltaTableError> {
        let state = self.table.snapshot()?;
        let mut refusals = Vec::new();
        match PROTOCOL.can_write_to(state.snapshot()) {
            Err(TransactionError::UnsupportedTableFeatures(features)) => {
                refusals.extend(features.iter().map(|feature| format!("the feature `{feature}`")));
            }
            other => other?,
        }
        refusals.sort();
        let properties = state.metadata().configuration();
        if properties.get("delta.columnMapping.mode").is_some_and(|mode| mode != "none") {
            refusals.push("column mapping (`delta.columnMapping.mode`)".to_owned());
        }
        let mut constraints: Vec<_> =
            properties.keys().filter(|key| key.starts_with("delta.constraints.")).collect();
        constraints.sort();
        refusals.extend(constraints.into_iter().map(|key| format!("the check constraint `{key}`")));
        let schema = state.schema();
        let generated = schema.get_generated_columns()?;
        refusals.extend(
            generated.iter().map(|column| format!("the generated column `{}`", column.name)),
        );
        let invariants = schema.get_invariants()?;
        refusals.extend(
            invariants
                .iter()
                .map(|invariant| format!("the invariant of column `{}`", invariant.field_name)),
        );
        Ok(refusals)
    }
}

/// The columns as a table gives them back: what lists and maps call their parts is Delta's choice.
///
/// # Errors
/// Where Delta has no type for a column.
pub fn canonical(path: &Path, schema: &Schema) -> Result<SchemaRef, StorageError> {
    let kernel: StructType =
        schema.try_into_kernel().map_err(StorageError::library(path, "find Delta's types"))?;
    let arrow: Schema =
        (&kernel).try_into_arrow().map_err(StorageError::library(path, "find Delta's types"))?;
    Ok(Arc::new(arrow))
}

/// What is told of such a path, and the way out.
pub const MISTAKES: &str =
    "Delta's libraries mistake paths with `%`, a backslash or control characters";
/// See [`MISTAKES`].
pub const MISTAKES_HINT: &str = "name a folder without them, also above it";

/// Whether the path is one that `deltalake` mistakes: it decodes `%20` once too often, writing to one folder and reading from
/// another, and refuses control characters only when it commits.
#[must_use]
pub fn mistakes(path: &Path) -> bool {
    let whole = fs::canonicalize(path).or_else(|_| std::path::absolute(path));
    let odd = |c: char| c.is_control() || c == '%' || c == '\\';
    whole.is_ok_and(|whole| whole.to_string_lossy().contains(odd))
}

fn builder(path: &Path) -> Result<DeltaTableBuilder, StorageError> {
    DeltaTableBuilder::from_url(url(path)?).map_err(StorageError::library(path, "open the table"))
}

fn url(path: &Path) -> Result<Url, StorageError> {
    let whole = fs::canonicalize(path).map_err(StorageError::io(path, "find it"))?;
    Url::from_directory_path(&whole).map_err(|()| {
        StorageError::data(path, DataPlace::default(), "its path cannot be written as a URL")
    })
}
