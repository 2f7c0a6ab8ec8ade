//! Discovery: which files a source has, and which columns they have. Every name that the flow gives is checked here.

use std::sync::Arc;

use arrow::compute::can_cast_types;
use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::FieldRef;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

use super::Discovered;
use super::Folders;
use super::Kind;
use super::SourceError;
use super::filter;
use super::filter::Filter;
use super::judged;
use super::kind;
use super::listed::listed;
use super::table::TableStats;
use super::table::table;
use crate::flow::ReadFormat;
use crate::flow::Source;
use crate::name::ColumnName;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::problem::known_names;
use crate::storage::SourceSchema;
use crate::storage::StorageError;
use crate::storage::address::Address;
use crate::storage::bounds::Told;
use crate::storage::csv;
use crate::storage::delta::Scan;
use crate::storage::json;
use crate::storage::listing;
use crate::storage::listing::SourceFile;
use crate::storage::tabular;

/// All columns that are not named beside it.
const ALL: &str = "*";

pub(super) fn discover(source: &Source) -> Result<Discovered, SourceError> {
    let found = found(source).map_err(|error| judged(error, &source.at))?;
    let (filter, mistakes) = match compiled(source, &found) {
        Ok(filter) => (filter, Vec::new()),
        Err(SourceError::Problems(problems)) => (None, problems),
        Err(error) => return Err(error),
    };
    let Found { mut files, columns, mut folders, rows, version, stats, mut scan, skipped, .. } =
        found;
    let mut files_skipped = skipped;
    if let Some(filter) = &filter {
        let told = |file: usize, field: &FieldRef| match stats.get(file) {
            Some(stats) => stats.told(field),
            None => Told::default(),
        };
        let kept = |file| filter.may_be_in_file(&folders, file, |field| told(file, field));
        let kept: Vec<bool> = (0..files.len()).map(kept).collect();
        files_skipped += keep(&kept, &mut files, &mut folders);
        if let Some(scan) = &mut scan {
            scan.retain(&kept);
        }
    }
    let mut problems = Vec::new();
    for (name, data_type) in &source.schema_hints {
        if columns.column_with_name(name.as_str()).is_some() && !readable(&source.format, data_type)
        {
            let at = at(source, &format!("schema_hints.{name}"));
            let what = format!("{} cannot be read as {data_type}", source.format.name());
            problems.push(
                Problem::new(Code::WrongValue, at, what).hint("text can be read as any plain type"),
            );
        }
    }
    let wanted = wanted(source, &columns, "the files have", &mut problems);
    problems.extend(mistakes);
    if !problems.is_empty() {
        return Err(SourceError::Problems(problems));
    }
    let schema = match source.columns {
        Some(_) => Arc::new(columns.project(&wanted).map_err(|error| arrow(source, error))?),
        None => Arc::clone(&columns),
    };
    let (name, format) = (source.name.clone(), source.format.clone());
    let all_columns = folders.without(&columns);
    let filter = filter.map(Arc::new);
    Ok(Discovered {
        name,
        format,
        files,
        files_skipped,
        filter,
        declared: source.schema_hints.keys().cloned().collect(),
        schema,
        all_columns,
        folders,
        rows,
        version,
        scan: scan.map(Arc::new),
    })
}

/// The places of the columns that a source wants, in the order wanted, among those that it has. Names that it does not have are
/// problems, also those of hints; `who` begins what they say.
pub(super) fn wanted(
    source: &Source,
    columns: &Schema,
    who: &str,
    problems: &mut Vec<Problem>,
) -> Vec<usize> {
    let unknown = |field: String, name: &ColumnName| {
        let known: Vec<_> = columns.fields().iter().map(|field| field.name().as_str()).collect();
        let what = format!("{who} no column `{name}`");
        Problem::new(Code::UnknownName, at(source, &field), what)
            .hint(known_names(name.as_str(), known))
    };
    for name in source.schema_hints.keys() {
        if columns.column_with_name(name.as_str()).is_none() {
            problems.push(unknown(format!("schema_hints.{name}"), name));
        }
    }
    let Some(names) = &source.columns else { return (0..columns.fields().len()).collect() };
    let mut wanted = Vec::new();
    for (index, name) in names.iter().enumerate() {
        if name.as_str() == ALL && columns.column_with_name(ALL).is_none() {
            // Those that are named have their own places.
            let is_named = |place: &usize| {
                let found = columns.field(*place).name();
                names.iter().any(|named| named.as_str() == found)
            };
            wanted.extend((0..columns.fields().len()).filter(|place| !is_named(place)));
            continue;
        }
        match columns.index_of(name.as_str()) {
            Ok(place) if wanted.contains(&place) => {
                problems.push(Problem::new(
                    Code::DuplicateKey,
                    at(source, &format!("columns[{index}]")),
                    format!("column `{name}` is named twice"),
                ));
            }
            Ok(place) => wanted.push(place),
            Err(_) => problems.push(unknown(format!("columns[{index}]"), name)),
        }
    }
    wanted
}

/// What is there, before anybody asks for columns.
pub(super) struct Found {
    pub(super) files: Vec<SourceFile>,
    /// Those that the flow may name.
    pub(super) columns: SchemaRef,
    /// Those that its filter may name, too.
    pub(super) all: SchemaRef,
    /// Whether there is nothing to look at, so that the columns are what the flow says.
    pub(super) is_declared: bool,
    pub(super) folders: Folders,
    pub(super) rows: Option<u64>,
    pub(super) version: Option<u64>,
    /// How the rows of a table's files are read, where it is one.
    pub(super) scan: Option<Scan>,
    /// Of a table, what its log tells of each file.
    pub(super) stats: Vec<TableStats>,
    /// Files that the filter leaves out by their folders' names.
    pub(super) skipped: u64,
}

/// The flow's filter over all columns. Where no file is there, nobody knows all columns, and there is no row to judge.
fn compiled(source: &Source, found: &Found) -> Result<Option<Filter>, SourceError> {
    match &source.filter {
        Some(sql) if !found.is_declared => {
            Filter::compile(source, sql, Arc::clone(&found.all)).map(Some)
        }
        _ => Ok(None),
    }
}

/// Leaves files out, a flag for each. How many those are.
fn keep(kept: &[bool], files: &mut Vec<SourceFile>, folders: &mut Folders) -> u64 {
    let before = files.len();
    let mut flags = kept.iter();
    files.retain(|_| flags.next().copied().unwrap_or_default());
    folders.retain(kept);
    (before - files.len()) as u64
}

fn found(source: &Source) -> Result<Found, StorageError> {
    let address = Address::open(&source.path)?;
    if let ReadFormat::Delta(as_of) = source.format {
        return table(source, &address, as_of);
    }
    let mut files = listed(source, &address)?;
    let Some(first) = files.first().cloned() else {
        return Ok(beside(source, files, declared(source), Folders::default()));
    };
    let mut folders = Folders::read(source, &listing::root(&address), &files)?;
    let kept = by_folders(source, &folders, &files);
    let is_kept = |at: &usize| kept.get(*at).copied().unwrap_or(true);
    let wanted: Vec<SourceFile> = match (0..files.len()).filter(is_kept).collect::<Vec<_>>() {
        // What no row is read of has columns all the same.
        none if none.is_empty() => files.clone(),
        some => some.into_iter().map(|at| files[at].clone()).collect(),
    };
    let mut own = inferred(source, &wanted)?;
    // A file's own column goes before the one of its name that tells where rows come from.
    let is_lineage = |field: &FieldRef| Folders::is_lineage(field.name());
    let mut skipped = 0;
    if kept.is_empty() || own.columns.fields().iter().any(is_lineage) {
        if wanted.len() < files.len() {
            own = inferred(source, &files)?;
        }
    } else {
        skipped = keep(&kept, &mut files, &mut folders);
    }
    folders.check_apart(&own.columns, &first)?;
    let found = beside(source, files, own, folders);
    Ok(Found { skipped, is_declared: false, ..found })
}

/// Which files the filter may take rows of, as far as their folders and they themselves tell from outside; empty where all are wanted.
fn by_folders(source: &Source, folders: &Folders, files: &[SourceFile]) -> Vec<bool> {
    let Some(sql) = &source.filter else { return Vec::new() };
    let mut outside = folders.clone();
    outside.add_lineage(source, files, &Schema::empty());
    filter::by_folders(sql, &outside, files.len())
}

/// Files' own columns, then those of their folders, then where rows come from.
pub(super) fn beside(
    source: &Source,
    files: Vec<SourceFile>,
    SourceSchema { columns: own, rows }: SourceSchema,
    mut folders: Folders,
) -> Found {
    folders.add_lineage(source, &files, &own);
    let all = own.fields().iter().cloned().chain(folders.columns.iter().cloned().map(Arc::new));
    let all = Arc::new(Schema::new(all.collect::<Vec<_>>()));
    Found {
        columns: shown(source, &all),
        all,
        is_declared: true,
        files,
        folders,
        rows,
        version: None,
        scan: None,
        stats: Vec::new(),
        skipped: 0,
    }
}

/// The columns that the flow may name.
pub(super) fn shown(source: &Source, all: &SchemaRef) -> SchemaRef {
    let is_shown = |field: &&FieldRef| Folders::is_shown(source, field.name());
    Arc::new(Schema::new(all.fields().iter().filter(is_shown).cloned().collect::<Vec<_>>()))
}

fn inferred(source: &Source, files: &[SourceFile]) -> Result<SourceSchema, StorageError> {
    let Source { schema_hints: hints, merge_schema, .. } = source;
    match kind(&source.format) {
        Kind::Csv(options) => csv::infer(files, options, *merge_schema, hints),
        Kind::Json(layout, options) => json::infer(files, layout, options, hints),
        Kind::Typed(format) => tabular::infer(format, files, *merge_schema, hints),
    }
}

/// The columns of no file at all: those that the flow names, text where it declares no type.
pub(super) fn declared(source: &Source) -> SourceSchema {
    let field = |name, data_type: Option<&DataType>| {
        Field::new(name, data_type.cloned().unwrap_or(DataType::Utf8), true)
    };
    let by_position = match &source.format {
        ReadFormat::Csv(csv) => csv.names.as_ref(),
        _ => None,
    };
    let named = by_position
        .or(source.columns.as_ref())
        .into_iter()
        .flatten()
        .filter(|name| name.as_str() != ALL && !Folders::is_lineage(name.as_str()))
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
    match kind(format) {
        Kind::Csv(_) => !data_type.is_nested() && can_cast_types(&DataType::Utf8, data_type),
        Kind::Json(..) => data_type.is_nested() || can_cast_types(&DataType::Utf8, data_type),
        Kind::Typed(_) => true,
    }
}

pub(super) fn at(source: &Source, field: &str) -> Place {
    let gap = if source.at.field.is_empty() { "" } else { "." };
    Place { field: format!("{}{gap}{field}", source.at.field), ..source.at.clone() }
}

fn arrow(source: &Source, error: ArrowError) -> SourceError {
    SourceError::Storage(StorageError::library(&source.path.shown(), "choose its columns")(error))
}
