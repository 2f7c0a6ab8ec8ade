//! Manifests of flat files: `_wasmhost/<run id>.json` says what a run wrote, and that it wrote all of it.
//!
//! A run's files count when its manifest is there; it is written last, and names the files of a part of the target that they
//! replace, which are deleted then. An overwrite of all keeps the manifests of earlier runs in `_wasmhost/past`, so that a late retry
//! of one of them still finds that it is done.

use std::collections::HashMap;
use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::Field;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use chrono::DateTime;
use chrono::Utc;
use serde::Deserialize;
use serde::Serialize;

use super::DataPlace;
use super::StorageError;
use super::listing::SourceFile;
use super::naming;
use super::sync;
use crate::name::DestinationName;
use crate::name::FlowName;
use crate::table::RunId;

/// The folder of manifests below a target.
pub const FOLDER: &str = "_wasmhost";

const PAST: &str = "past";

/// What one run wrote to a folder of flat files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The run.
    pub run_id: RunId,
    /// Its flow.
    pub flow: FlowName,
    /// The destination in its flow.
    pub destination: DestinationName,
    /// When the run started.
    pub started_at: DateTime<Utc>,
    /// The format's name.
    pub format: String,
    /// Whether the run replaced all that was there.
    pub replaced: bool,
    /// Rows of all files.
    pub rows: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// All columns, those of the partitions among them.
    pub columns: Vec<Column>,
    /// The partition columns, outermost first.
    pub partition_columns: Vec<String>,
    /// The date folders that files lie in, as the flow spells them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date_folders: Option<String>,
    /// The files; none where there were no rows.
    pub files: Vec<ManifestFile>,
    /// Files of a part of the target that these replace. They count no more, also while they are still there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<RemovedFile>,
}

/// A column of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its Arrow type, as Arrow spells it.
    #[serde(rename = "type")]
    pub data_type: String,
}

/// A data file of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Where it is, from the target's folder, with `/`.
    pub path: String,
    /// Its rows.
    pub rows: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// A data file that does not count any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedFile {
    /// Where it is or was, from the target's folder, with `/`.
    pub path: String,
    /// Its bytes.
    pub bytes: u64,
    /// When it was last changed, in microseconds since 1970, where that is known.
    pub modified: Option<i64>,
}

impl RemovedFile {
    /// What a manifest says of a file in `folder` that goes.
    #[must_use]
    pub fn of(folder: &Path, file: &SourceFile) -> Self {
        let path = file.path.strip_prefix(folder).unwrap_or(&file.path);
        Self {
            path: path.to_string_lossy().into_owned(),
            bytes: file.size,
            modified: file.modified_micros(),
        }
    }

    /// Whether this is the file, and not one that somebody has put in its place since; our own names are never given twice.
    fn is(&self, file: &SourceFile) -> bool {
        is_ours(&file.path) || (self.bytes, self.modified) == (file.size, file.modified_micros())
    }
}

impl Manifest {
    /// The columns as a schema, where their types can be read back.
    #[must_use]
    pub fn schema(&self) -> Option<SchemaRef> {
        let field =
            |column: &Column| Some(Field::new(&column.name, column.data_type.parse().ok()?, true));
        self.columns
            .iter()
            .map(field)
            .collect::<Option<Vec<_>>>()
            .map(|fields| Arc::new(Schema::new(fields)))
    }

    /// Writes the manifest into `folder`, whole or not at all.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), StorageError> {
        let path = place(folder, &self.run_id);
        let manifests = folder.join(FOLDER);
        fs::create_dir_all(&manifests).map_err(StorageError::io(&manifests, "create it"))?;
        let mut text =
            serde_json::to_vec_pretty(self).map_err(StorageError::library(&path, "spell it"))?;
        text.push(b'\n');
        sync::write_whole(&path, &text)?;
        sync::sync_folder(folder)
    }
}

/// The columns of a schema as manifests keep them.
#[must_use]
pub fn columns(schema: &Schema) -> Vec<Column> {
    let column = |field: &Arc<Field>| Column {
        name: field.name().clone(),
        data_type: field.data_type().to_string(),
    };
    schema.fields().iter().map(column).collect()
}

/// The manifest of a run, also of one whose rows a later run replaced.
///
/// # Errors
/// Where it is there and cannot be read.
pub fn find(folder: &Path, run_id: &RunId) -> Result<Option<Manifest>, StorageError> {
    match read(&place(folder, run_id))? {
        Some(manifest) => Ok(Some(manifest)),
        None => read(&folder.join(FOLDER).join(PAST).join(format!("{run_id}.json"))),
    }
}

/// The manifests of the runs whose rows are there, oldest first.
///
/// # Errors
/// Where one is there and cannot be read.
pub fn current(folder: &Path) -> Result<Vec<Manifest>, StorageError> {
    let paths = json_files(&folder.join(FOLDER))?;
    let mut manifests: Vec<_> =
        paths.iter().filter_map(|path| read(path).transpose()).collect::<Result<_, _>>()?;
    manifests.sort_by(|a, b| (a.started_at, &a.run_id).cmp(&(b.started_at, &b.run_id)));
    Ok(manifests)
}

/// Those of a folder's files that count: all but files of runs of ours that never came to their manifest, and those that a run
/// has replaced and not deleted yet.
#[must_use]
pub fn counted(
    folder: &Path,
    manifests: &[Manifest],
    mut files: Vec<SourceFile>,
) -> Vec<SourceFile> {
    let listed: HashSet<PathBuf> = manifests
        .iter()
        .flat_map(|it| it.files.iter().map(|file| folder.join(&file.path)))
        .collect();
    let removed = removed(folder, manifests);
    files.retain(|file| {
        let is_removed = removed.get(&file.path).is_some_and(|it| it.iter().any(|it| it.is(file)));
        !is_removed && (listed.contains(&file.path) || !is_ours(&file.path))
    });
    files
}

/// Those of a folder's files that a run has replaced and not deleted yet.
#[must_use]
pub fn replaced<'a>(
    folder: &Path,
    manifests: &[Manifest],
    files: &'a [SourceFile],
) -> Vec<&'a SourceFile> {
    let removed = removed(folder, manifests);
    let is_removed = |file: &&SourceFile| {
        removed.get(&file.path).is_some_and(|it| it.iter().any(|it| it.is(file)))
    };
    files.iter().filter(is_removed).collect()
}

/// By path; somebody else may give a name again, and a run remove it again.
fn removed<'a>(folder: &Path, manifests: &'a [Manifest]) -> HashMap<PathBuf, Vec<&'a RemovedFile>> {
    let mut removed: HashMap<_, Vec<_>> = HashMap::new();
    for file in manifests.iter().flat_map(|manifest| &manifest.removed) {
        removed.entry(folder.join(&file.path)).or_default().push(file);
    }
    removed
}

fn is_ours(file: &Path) -> bool {
    file.file_name().is_some_and(|name| naming::is_ours(&name.to_string_lossy()))
}

/// Keeps the manifests of `old` among the past ones of `new`.
///
/// # Errors
/// Where one cannot be copied.
pub fn keep_past(old: &Path, new: &Path) -> Result<(), StorageError> {
    let past = new.join(FOLDER).join(PAST);
    let (now, before) = (json_files(&old.join(FOLDER))?, json_files(&old.join(FOLDER).join(PAST))?);
    if now.is_empty() && before.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(&past).map_err(StorageError::io(&past, "create it"))?;
    for path in before.iter().chain(&now) {
        let kept = past.join(path.file_name().unwrap_or_default());
        fs::copy(path, &kept).map_err(StorageError::io(path, "copy it"))?;
        let file = fs::File::open(&kept).map_err(StorageError::io(&kept, "open it"))?;
        sync::sync_file(&file, &kept)?;
    }
    sync::sync_branches([past.join(PAST).as_path()].into_iter(), new)
}

fn place(folder: &Path, run_id: &RunId) -> PathBuf {
    folder.join(FOLDER).join(format!("{run_id}.json"))
}

fn read(path: &Path) -> Result<Option<Manifest>, StorageError> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.map_err(StorageError::io(path, "read it"))?,
    };
    serde_json::from_slice(&text).map(Some).map_err(|error| {
        StorageError::data(path, DataPlace::default(), format!("it is no manifest of ours: {error}"))
            .hint("a run's rows count by its manifest; restore it, or move the file away if its rows do not matter")
    })
}

fn json_files(folder: &Path) -> Result<Vec<PathBuf>, StorageError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(StorageError::io(folder, "list it"))?,
    };
    let paths: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(StorageError::io(folder, "list it"))?;
    let hidden =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json") && !hidden(path));
    Ok(paths)
}
