//! What is known of a destination before anything is written: facts, read in one go, and the pure question whether rows fit.

mod fit;
mod folder;
mod store;
mod types;

use std::io::ErrorKind;
use std::path::Path;
use std::path::PathBuf;

use arrow::datatypes::SchemaRef;

use super::StorageError;
use super::address::Address;
use super::delta;
use super::store::StoreAddress;
use crate::flow::WriteFormat;
use crate::name::ColumnName;

pub use self::fit::Ask;
pub use self::fit::Landing;
pub use self::fit::fit;
pub use self::folder::STAGING;
pub use self::folder::Survey;
pub use self::folder::rows;
pub use self::folder::survey;

/// A destination as it was found.
#[derive(Debug, Clone)]
pub struct TargetFacts {
    /// Where it is.
    pub path: PathBuf,
    /// What is there.
    pub state: TargetState,
}

/// What is where a destination should be.
#[derive(Debug, Clone)]
pub enum TargetState {
    /// Nothing, or an empty folder.
    Absent,
    /// A Delta table.
    Table(TableFacts),
    /// A folder with files.
    Folder(FolderFacts),
    /// Something that cannot be written to.
    Unusable {
        /// What is there.
        what: String,
        /// The way out.
        hint: String,
    },
}

/// What a Delta table says of itself.
#[derive(Debug, Clone)]
pub struct TableFacts {
    /// Its columns, those of the partitions among them.
    pub schema: SchemaRef,
    /// Its partition columns, outermost first.
    pub partition_columns: Vec<ColumnName>,
    /// Its newest version.
    pub version: u64,
    /// Its rows, where all of its files tell theirs.
    pub rows: Option<u64>,
    /// Whether it takes no removals.
    pub append_only: bool,
    /// Whether it keeps a feed of its changes (`delta.enableChangeDataFeed`), which whoever rewrites files has to write.
    pub change_feed: bool,
    /// What it demands of writers and we do not do, by the names of the protocol.
    pub refusals: Vec<String>,
}

/// What a folder of flat files holds. Names are from the folder on, and lists are cut where they are long.
#[derive(Debug, Clone, Default)]
pub struct FolderFacts {
    /// Whether it is a table to readers: a run has written to it, or a file of the format counts.
    pub is_table: bool,
    /// The columns, of the newest manifest or else of a Parquet file.
    pub schema: Option<SchemaRef>,
    /// How it is split, as the newest manifest says.
    pub split: Option<Split>,
    /// The rows of all data files, where manifests or footers tell.
    pub rows: Option<u64>,
    /// Visible files with another ending than the format's.
    pub other_data: Vec<String>,
    /// Files that an overwrite would remove and that are neither ours nor of the format.
    pub foreign: Vec<String>,
}

/// Which folders the files of a folder lie in.
#[derive(Debug, Clone, Default)]
pub struct Split {
    /// The partition columns, outermost first.
    pub columns: Vec<ColumnName>,
    /// The date folders, as the flow spells them.
    pub date_folders: Option<String>,
}

/// Looks at a destination.
///
/// # Errors
/// Where something is there that cannot be read: a damaged log, a broken manifest, no permission.
pub async fn inspect(address: &Address, format: &WriteFormat) -> Result<TargetFacts, StorageError> {
    let is_mistaken = matches!(format, WriteFormat::Delta(_)) && delta::mistakes(address);
    let state = match address {
        _ if is_mistaken => TargetState::Unusable {
            what: delta::MISTAKES.to_owned(),
            hint: delta::MISTAKES_HINT.to_owned(),
        },
        Address::Disk(path) => on_disk(path, address, format).await?,
        Address::Store(place) => in_store(place, address, format).await?,
    };
    Ok(TargetFacts { path: address.shown().to_owned(), state })
}

async fn on_disk(
    path: &Path,
    address: &Address,
    format: &WriteFormat,
) -> Result<TargetState, StorageError> {
    Ok(match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => TargetState::Absent,
        Err(error) if error.kind() == ErrorKind::NotADirectory => TargetState::Unusable {
            what: "a part of its path is a file, where a folder is needed".to_owned(),
            hint: "name a folder below folders".to_owned(),
        },
        Err(error) => return Err(StorageError::io(path, "look at it")(error)),
        Ok(facts) if !facts.is_dir() => TargetState::Unusable {
            what: "a file is there, where the destination needs a folder".to_owned(),
            hint: "name a folder; the files in it get names of their own".to_owned(),
        },
        Ok(_) => match of_folder(address, format).await? {
            Some(state) => state,
            None => folder::beside_table(path, format)?,
        },
    })
}

async fn in_store(
    place: &StoreAddress,
    address: &Address,
    format: &WriteFormat,
) -> Result<TargetState, StorageError> {
    let is_table = matches!(format, WriteFormat::Delta(_));
    if !is_table && let Some(unusable) = store::not_a_folder(place)? {
        return Ok(unusable);
    }
    match of_folder(address, format).await? {
        Some(state) => Ok(state),
        None => store::beside_table(place),
    }
}

/// What a folder is to a format; `None` where there should be a table and is none.
async fn of_folder(
    address: &Address,
    format: &WriteFormat,
) -> Result<Option<TargetState>, StorageError> {
    match format {
        WriteFormat::Delta(_) => match delta::open(address).await? {
            Some(table) => Ok(Some(TargetState::Table(table.facts()?))),
            None => Ok(None),
        },
        WriteFormat::Parquet(_)
        | WriteFormat::View(_)
        | WriteFormat::Csv(_)
        | WriteFormat::Jsonl(_)
        | WriteFormat::Json(_)
        | WriteFormat::Arrow(_)
        | WriteFormat::Avro(_) => folder::inspect(address, format).map(Some),
    }
}
