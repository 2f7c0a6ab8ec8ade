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
mod told;
mod travel;
mod vector;

use std::fs;
use std::path::Path;
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
use deltalake::logstore::LogStore;
use deltalake::logstore::LogStoreFactory;
use deltalake::logstore::ObjectStoreRef;
use deltalake::logstore::StorageConfig;
use deltalake::logstore::default_logstore;
use deltalake::logstore::logstore_factories;
use url::Url;

use self::columns::Columns;
use self::files::told;
use super::DataPlace;
use super::StorageError;
use super::address::Address;
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
pub use self::log::log_files;
pub use self::rewrite::Rewrite;
pub use self::rewrite::rewrite;
pub use self::rows::OpenFile;
pub use self::rows::Piece;
pub use self::rows::PieceRows;
pub use self::scan::Scan;
pub use self::stats::stats;
pub use self::told::FileStats;
pub use self::travel::Detail;
pub use self::travel::Stored;
pub use self::travel::read;

/// A table as of its newest version when it was opened.
#[derive(Debug)]
pub struct Snapshot {
    address: Address,
    table: DeltaTable,
}

/// Opens the table at an address; `None` where there is no log.
///
/// # Errors
/// Where there is a log that cannot be read, or that power loss has cut.
pub async fn open(address: &Address) -> Result<Option<Snapshot>, StorageError> {
    if !log::is_there(address)? {
        return Ok(None);
    }
    let table = loaded(address, builder(address)?).await?;
    Ok(Some(Snapshot { address: address.clone(), table }))
}

/// Whether a table is there.
///
/// # Errors
/// Where that cannot be found out, and where power loss has cut its log.
pub fn is_there(address: &Address) -> Result<bool, StorageError> {
    // A file has nothing below it.
    match address {
        Address::Disk(path) if !path.join(log::LOG).is_dir() => Ok(false),
        _ => log::is_there(address),
    }
}

/// Reads the log.
async fn loaded(address: &Address, table: DeltaTableBuilder) -> Result<DeltaTable, StorageError> {
    let failed = StorageError::library(address.shown(), "read the table's log");
    table.load().await.map_err(|error| damage::found(address).unwrap_or_else(|| failed(error)))
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
        let failed = || StorageError::library(self.address.shown(), "read the table's metadata");
        let state = self.table.snapshot().map_err(failed())?;
        let names = state.metadata().partition_columns().iter();
        let names: Result<Vec<_>, _> = names.map(|name| ColumnName::new(name.clone())).collect();
        let properties = state.metadata().configuration();
        let is_true = |key| {
            properties.get(key).is_some_and(|value: &String| value.eq_ignore_ascii_case("true"))
        };
        Ok(TableFacts {
            schema: plain::plain_schema(&state.snapshot().arrow_schema()),
            partition_columns: names.map_err(|what| {
                StorageError::data(self.address.shown(), DataPlace::default(), what)
            })?,
            version: self.version(),
            rows: self.rows()?,
            append_only: is_true("delta.appendOnly"),
            change_feed: is_true("delta.enableChangeDataFeed"),
            refusals: self.refusals().map_err(failed())?,
        })
    }

    /// The rows of all files, where each tells its own; rows that deletion vectors hide are not counted.
    fn rows(&self) -> Result<Option<u64>, StorageError> {
        let failed = StorageError::library(self.address.shown(), "read the table's list of files");
        let files = self
            .table
            .snapshot()
            .and_then(|state| state.snapshot().try_log_data())
            .map_err(failed)?;
        let mut rows = Some(0);
        for file in files.iter() {
            let inner = self.address.join(&file.path());
            let hidden = told(inner.shown(), &file)?.map_or(0, |vector| vector.cardinality);
            let all = file.num_records().and_then(|all| i64::try_from(all).ok());
            let seen = all.and_then(|all| u64::try_from(all - hidden).ok());
            rows = rows.zip(seen).map(|(rows, seen)| rows + seen);
        }
        Ok(rows)
    }

    /// How its columns are found in its files, and what it demands of readers and is not done.
    fn columns(&self) -> Result<(Columns, Vec<String>), StorageError> {
        let failed = StorageError::library(self.address.shown(), "read the table's metadata");
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
pub fn mistakes(address: &Address) -> bool {
    let whole = match address {
        Address::Disk(path) => fs::canonicalize(path).or_else(|_| std::path::absolute(path)),
        Address::Store(place) => Ok(place.shown().to_owned()),
    };
    let odd = |c: char| c.is_control() || c == '%' || c == '\\';
    whole.is_ok_and(|whole| whole.to_string_lossy().contains(odd))
}

fn builder(address: &Address) -> Result<DeltaTableBuilder, StorageError> {
    let failed = || StorageError::library(address.shown(), "open the table");
    let no_url = || StorageError::library(address.shown(), "make a URL of its place");
    match address {
        Address::Disk(path) => DeltaTableBuilder::from_url(url(path)?).map_err(failed()),
        Address::Store(place) => {
            let (root, store) = place.root();
            let mut url = Url::parse(root).map_err(no_url())?;
            let parts = place.key().split('/').filter(|part| !part.is_empty());
            match url.path_segments_mut() {
                Ok(mut path) => path.extend(parts),
                Err(()) => {
                    let what = "its place cannot be written as a URL";
                    return Err(StorageError::data(place.shown(), DataPlace::default(), what));
                }
            };
            // What a log is does not depend on the store: an entry is an object that is put where none was.
            let scheme = Url::parse(&format!("{}://", url.scheme())).map_err(no_url())?;
            logstore_factories().entry(scheme).or_insert_with(|| Arc::new(Log));
            let builder = DeltaTableBuilder::from_url(url.clone()).map_err(failed())?;
            Ok(builder.with_storage_backend(store, url))
        }
    }
}

/// The log of a table in a store.
struct Log;

impl LogStoreFactory for Log {
    fn with_options(
        &self,
        prefixed_store: ObjectStoreRef,
        root_store: ObjectStoreRef,
        location: &Url,
        options: &StorageConfig,
    ) -> Result<Arc<dyn LogStore>, DeltaTableError> {
        Ok(default_logstore(prefixed_store, root_store, location, options))
    }
}

fn url(path: &Path) -> Result<Url, StorageError> {
    let whole = fs::canonicalize(path).map_err(StorageError::io(path, "find it"))?;
    Url::from_directory_path(&whole).map_err(|()| {
        StorageError::data(path, DataPlace::default(), "its path cannot be written as a URL")
    })
}
