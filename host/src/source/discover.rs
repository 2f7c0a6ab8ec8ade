//! Discovery: which files a source has, and which columns they have. Every name that the flow gives is checked here.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
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
use super::judged;
use super::kind;
use crate::flow::AsOf;
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
use crate::storage::delta;
use crate::storage::delta::Scan;
use crate::storage::json;
use crate::storage::listing;
use crate::storage::listing::Listing;
use crate::storage::listing::SourceFile;
use crate::storage::manifest;
use crate::storage::tabular;

/// All columns that are not named beside it.
const ALL: &str = "*";

pub(super) fn discover(source: &Source) -> Result<Discovered, SourceError> {
    let Found { files, columns, folders, rows, version, scan } =
        found(source).map_err(|error| judged(error, &source.at))?;
    let mut problems = Vec::new();
    let known = || columns.fields().iter().map(|field| field.name().as_str());
    for (name, data_type) in &source.schema_hints {
        let at = at(source, &format!("schema_hints.{name}"));
        if columns.column_with_name(name.as_str()).is_none() {
            let problem =
                Problem::new(Code::UnknownName, at, format!("the files have no column `{name}`"));
            problems.push(problem.hint(known_names(name.as_str(), known().collect::<Vec<_>>())));
        } else if !readable(&source.format, data_type) {
            let what = format!("{} cannot be read as {data_type}", source.format.name());
            problems.push(
                Problem::new(Code::WrongValue, at, what).hint("text can be read as any plain type"),
            );
        }
    }
    let mut wanted = Vec::new();
    for (index, name) in source.columns.iter().flatten().enumerate() {
        let at = at(source, &format!("columns[{index}]"));
        if name.as_str() == ALL && columns.column_with_name(ALL).is_none() {
            // Those that are named have their own places.
            let is_named = |place: &usize| {
                let found = columns.field(*place).name();
                source.columns.iter().flatten().any(|named| named.as_str() == found)
            };
            wanted.extend((0..columns.fields().len()).filter(|place| !is_named(place)));
            continue;
        }
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
                problems
                    .push(problem.hint(known_names(name.as_str(), known().collect::<Vec<_>>())));
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
    let all_columns = folders.without(&columns);
    Ok(Discovered { name, format, files, schema, all_columns, folders, rows, version, scan })
}

/// What is there, before anybody asks for columns.
struct Found {
    files: Vec<SourceFile>,
    columns: SchemaRef,
    folders: Folders,
    rows: Option<u64>,
    version: Option<u64>,
    scan: Option<Arc<Scan>>,
}

fn found(source: &Source) -> Result<Found, StorageError> {
    if let ReadFormat::Delta(as_of) = source.format {
        return table(source, as_of);
    }
    let files = listed(source)?;
    let SourceSchema { columns, rows } = match files.is_empty() {
        true => declared(source),
        false => inferred(source, &files)?,
    };
    let folders = Folders::read(source, &listing::root(&source.path), &files, &columns)?;
    Ok(beside(source, files, columns, folders, rows))
}

/// Files' own columns, then those of their folders, then where rows come from.
fn beside(
    source: &Source,
    files: Vec<SourceFile>,
    own: SchemaRef,
    mut folders: Folders,
    rows: Option<u64>,
) -> Found {
    folders.add_lineage(source, &files, &own);
    let all = own.fields().iter().cloned().chain(folders.columns.iter().cloned().map(Arc::new));
    let columns = Arc::new(Schema::new(all.collect::<Vec<_>>()));
    Found { files, columns, folders, rows, version: None, scan: None }
}

/// A table tells its files and columns itself.
fn table(source: &Source, as_of: AsOf) -> Result<Found, StorageError> {
    let path = &source.path;
    let Some(stored) = delta::read(path, as_of)? else {
        if source.allow_missing {
            let SourceSchema { columns, rows } = declared(source);
            return Ok(beside(source, Vec::new(), columns, Folders::default(), rows));
        }
        return Err(StorageError::Missing {
            path: path.clone(),
            what: "there is no Delta table".to_owned(),
            hint: "`allow_missing: true` takes it as an empty input".to_owned(),
        });
    };
    let hinted = |field: &FieldRef| {
        let hint = source.schema_hints.iter().find(|(name, _)| name.as_str() == field.name());
        let data_type = hint.map_or(field.data_type(), |(_, hint)| hint).clone();
        Field::new(field.name(), data_type, true)
    };
    let fields: Vec<_> = stored.columns.fields().iter().map(hinted).collect();
    let (kept, own): (Vec<_>, Vec<_>) = fields.iter().cloned().partition(|field| {
        stored.partition_columns.iter().any(|column| column.as_str() == field.name())
    });
    let files: Vec<SourceFile> = stored
        .files
        .iter()
        .map(|file| SourceFile::look(file.path.clone()))
        .collect::<Result<_, _>>()?;
    let values = stored.files.iter().map(|file| file.values.clone()).collect();
    // The log has their values in its own order of partition columns.
    let order = stored.partition_columns.iter().map(|column| {
        let field = kept.iter().find(|field| field.name() == column.as_str());
        field.cloned().ok_or_else(|| {
            let what = format!("the table is split by `{column}`, which is none of its columns");
            StorageError::data(path, DataPlace::default(), what)
        })
    });
    let partitions: Vec<Field> = order.collect::<Result<_, _>>()?;
    let split = partitions.len();
    let mut folders = Folders::of_table(partitions, values, &files)?;
    folders.add_lineage(source, &files, &Schema::new(own));
    let lineage = folders.columns.iter().skip(split).cloned();
    let columns = Arc::new(Schema::new(fields.into_iter().chain(lineage).collect::<Vec<_>>()));
    let rows = stored.files.iter().map(|file| file.rows).sum();
    let (version, scan) = (Some(stored.version), Some(Arc::new(stored.scan)));
    Ok(Found { files, columns, folders, rows, version, scan })
}

fn listed(source: &Source) -> Result<Vec<SourceFile>, StorageError> {
    let Source { path, recursive, path_glob_filter, allow_missing, .. } = source;
    if let ReadFormat::View {} = source.format
        && !path.exists()
    {
        return Err(no_such_view(path));
    }
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
        return Err(error.hint("read it with `format: delta`, or name a folder of plain files"));
    }
    let files = match path.is_dir() {
        true => manifest::counted(path, &manifest::current(path)?, files),
        false => files,
    };
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

/// A view that nobody has written; those that are there are named.
fn no_such_view(path: &Path) -> StorageError {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let there = path.parent().and_then(|views| fs::read_dir(views).ok());
    let mut known: Vec<String> = there
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| format!("`{}`", name(&entry.path())))
        .collect();
    known.sort();
    let hint = match known.as_slice() {
        [] => "no view is there: a flow before this one in the same `wasmhost run` has to write it (`format: view`)".to_owned(),
        known => format!("there is {}", known.join(", ")),
    };
    StorageError::Missing {
        path: PathBuf::from(name(path)),
        what: "there is no such view".to_owned(),
        hint,
    }
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
fn declared(source: &Source) -> SourceSchema {
    let field = |name, data_type: Option<&DataType>| {
        Field::new(name, data_type.cloned().unwrap_or(DataType::Utf8), true)
    };
    let named = source
        .columns
        .iter()
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

fn at(source: &Source, field: &str) -> Place {
    let gap = if source.at.field.is_empty() { "" } else { "." };
    Place { field: format!("{}{gap}{field}", source.at.field), ..source.at.clone() }
}

fn arrow(source: &Source, error: ArrowError) -> SourceError {
    SourceError::Storage(StorageError::library(&source.path, "choose its columns")(error))
}
