//! A flow as it was written: typed, aliases lowered, variables rendered, connections merged, every problem reported at once.
//!
//! `read` is the only way in. Reading opens the flow file and nothing else: no data, no component.

mod age;
mod base;
mod blocks;
mod check;
mod collected;
mod columns;
mod comparing;
mod components;
mod compression;
mod connection;
mod date_folders;
mod destination;
mod destinations;
mod disk;
mod endpoint;
mod expressions;
mod family;
mod fields;
mod format;
mod formats;
mod json;
mod judges;
mod layout;
pub mod limits;
mod literals;
mod load;
mod loading;
mod location;
mod merging;
mod node;
mod open;
mod options;
mod order;
mod pairs;
mod places;
mod projection;
mod properties;
mod read;
mod report;
mod reserved;
mod rule;
mod rule_blocks;
mod rules;
mod scalars;
mod schema;
mod schema_parts;
mod scope;
mod sensitive;
mod server;
mod server_url;
mod source;
mod sources;
mod sql;
mod step;
mod step_blocks;
mod steps;
mod store;
mod template;
mod types;
mod url_parts;
mod used;
mod values;
mod vars;
mod verify;
mod words;
mod writing;
mod yaml;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;

use arrow::datatypes::DataType;
use serde::Serialize;

pub use self::collected::collected_names;
pub use self::collected::with_collected;
pub use self::compression::ArrowCompression;
pub use self::compression::AvroCompression;
pub use self::compression::Compression;
pub use self::compression::TextCompression;
pub use self::date_folders::BadPattern;
pub use self::date_folders::ByDate;
pub use self::date_folders::DateFolders;
pub use self::endpoint::is_endpoint;
pub use self::endpoint::is_region;
pub use self::endpoint::is_tenant;
pub use self::formats::*;
pub use self::load::*;
pub use self::location::Location;
pub use self::location::StoreLocation;
pub use self::read::ReadContext;
pub use self::read::read;
pub use self::read::read_vars;
pub use self::rule::*;
pub use self::schema::json_schema;
pub use self::sensitive::SECRET_VARIABLE;
pub use self::sensitive::Secrets;
pub use self::sensitive::Sensitive;
pub use self::server::*;
pub use self::step::*;
pub use self::store::StoreKind;
pub use self::store::StoreOption;
pub use self::store::StoreSettings;
use crate::name::ColumnName;
use crate::name::ComponentName;
use crate::name::DestinationName;
use crate::name::FlowName;
use crate::problem::Place;

/// One batch job: sources, transforms, rules, destinations.
#[derive(Debug, Clone)]
pub struct Flow {
    /// The flow's name.
    pub name: FlowName,
    /// The file it was read from, as the user named it; relative paths were resolved against its folder.
    pub file: PathBuf,
    /// SHA-256 of the file's bytes, hexadecimal.
    pub digest: String,
    /// The variables in force, after `--var`.
    pub vars: BTreeMap<String, String>,
    /// Components by the name that the flow gives them.
    pub components: BTreeMap<ComponentName, ComponentSource>,
    /// Where the rows of the main chain come from.
    pub source: Source,
    /// Sources that steps and rules name, in the file's order; each of them is named by one.
    pub other_sources: Vec<Source>,
    /// The main chain, in order.
    pub transforms: Vec<Step>,
    /// Rules on the main chain's result.
    pub rules: Vec<Rule>,
    /// The largest share of the rows read that may be set aside before the run fails, from 0 to 1.
    pub max_quarantine_fraction: Option<f64>,
    /// Where rows of `quarantine` rules and rejected rows go; `None` means Parquet in the state folder.
    pub quarantine: Option<Destination>,
    /// At least one, names unique.
    pub destinations: Vec<Destination>,
    /// What the flow asks of the sandbox, by the limits' names; checked against the known limits.
    pub limits: BTreeMap<String, u64>,
    /// Where evidence and the default quarantine live.
    pub state: PathBuf,
}

impl Flow {
    /// The passwords of its sources.
    pub fn passwords(&self) -> impl Iterator<Item = &Sensitive> {
        let sources = std::iter::once(&self.source).chain(&self.other_sources);
        sources.filter_map(|source| match &source.format {
            ReadFormat::Sql(read) => read.server.password.as_ref(),
            _ => None,
        })
    }
}

/// Where a component's bytes are.
#[derive(Debug, Clone)]
pub struct ComponentSource {
    /// A component, or a core module with embedded component types.
    pub path: PathBuf,
    /// `sha256:…`; other bytes are refused.
    pub digest: Option<String>,
    /// Where the flow says so.
    pub at: Place,
}

/// What to read. `columns` names the projection, in order; all columns where it is `None`.
#[derive(Debug, Clone)]
pub struct Source {
    /// The source's name: `main`, or the flow's own.
    pub name: String,
    /// A file, a folder or a glob; of a database, what errors and records call it.
    pub path: Location,
    /// The connection's folder, which the files may not leave.
    pub base: Option<Location>,
    /// How the files are read.
    pub format: ReadFormat,
    /// The columns wanted, in this order.
    pub columns: Option<Vec<ColumnName>>,
    /// Types where inference would guess wrong.
    pub schema_hints: BTreeMap<ColumnName, DataType>,
    /// Whether files may lack columns of other files (they are NULL then).
    pub merge_schema: bool,
    /// Whether no file at all is an empty input instead of an error.
    pub allow_missing: bool,
    /// Whether folders are searched below their first level.
    pub recursive: bool,
    /// Which file names of a folder are read.
    pub path_glob_filter: Option<String>,
    /// SQL over all columns of the source, also those that are not wanted: the rows for which it is true are read.
    pub filter: Option<String>,
    /// Whether it holds the full current state, so that what it lacks is gone.
    pub source_complete: bool,
    /// What its own query makes of its rows; of the source that is transformed it is the first step of the chain.
    pub query: Option<Step>,
    /// Where the flow says so.
    pub at: Place,
}

/// Where rows go.
#[derive(Debug, Clone)]
pub struct Destination {
    /// Its name, unique in the flow.
    pub name: DestinationName,
    /// A folder.
    pub path: Location,
    /// How rows are written.
    pub format: WriteFormat,
    /// Its own steps, from the main chain's result on; none at a quarantine.
    pub transforms: Vec<Step>,
    /// Rules on the result of its own steps; none at a quarantine.
    pub rules: Vec<Rule>,
    /// The load strategy.
    pub load: Load,
    /// The columns written, in this order; all where `None`.
    pub columns: Option<Vec<ColumnName>>,
    /// Columns whose values split the table into folders, outermost first.
    pub partition_columns: Vec<PartitionColumn>,
    /// Folders by date.
    pub by_date: ByDate,
    /// What becomes of columns that the target lacks.
    pub schema_change: SchemaChange,
    /// What is done to the files after the rows are written.
    pub layout: Layout,
    /// `table_properties`, of Delta tables.
    pub table_properties: BTreeMap<String, String>,
    /// Where the flow says so.
    pub at: Place,
}

/// A column whose values split a table into folders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartitionColumn {
    /// Its name.
    pub column: ColumnName,
    /// SQL over the destination's rows that computes it; a column of the rows where `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
}

/// Columns that the target lacks, or has in another type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaChange {
    /// Are refused.
    #[default]
    Refuse,
    /// `merge_schema`: new columns are added, and types of stored columns stay.
    Merge,
    /// `overwrite_schema`: the target gets the rows' columns and types; only where all rows are replaced.
    Overwrite,
}

/// What is done to the files after the rows are written, in a commit that changes no row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Layout {
    /// `optimize_after_write`: small files are put together.
    pub optimize: bool,
    /// `zorder_columns`: rows near in all of these columns are put near each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zorder: Vec<ColumnName>,
}
