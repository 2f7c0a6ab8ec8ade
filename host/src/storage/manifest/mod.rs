//! Manifests of flat files: `_wasmhost/<run id>.json` says what a run wrote, and that it wrote all of it.
//!
//! A run's files count when its manifest is there; it is written last, and names the files of a part of the target that they
//! replace, which are deleted then. An overwrite of all keeps the manifests of earlier runs in `_wasmhost/past`, so that a late retry
//! of one of them still finds that it is done.
//!
//! A store cannot put a folder in another one's place. There, an overwrite names all files that it replaces, and the runs, whose
//! manifests stay where they are. What replaces files is `_wasmhost/replaced/<number>.json`: the number is the next one of those that
//! were there when the run looked, and is put only where none is, so that no two runs replace the same files. So is the manifest of a
//! run that makes the target, of which there is one.

mod look;
mod nearest;

use std::collections::HashMap;
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::Field;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use chrono::DateTime;
use chrono::Utc;
use serde::Deserialize;
use serde::Serialize;

use super::StorageError;
use super::listing::SourceFile;
use super::naming;
use super::store::Created;
use super::store::StoreAddress;
use super::sync;
use crate::name::DestinationName;
use crate::name::FlowName;
use crate::table::RunId;

pub use self::look::beside;
pub use self::look::find;
pub use self::look::keep_past;
pub use self::nearest::Within;

/// The folder of manifests below a target.
pub const FOLDER: &str = "_wasmhost";

const PAST: &str = "past";

/// The folder, below that of manifests, of those in a store that replace files.
const REPLACED: &str = "replaced/";

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
    /// Earlier runs that an overwrite in a store leaves nothing of. Their manifests count no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced_runs: Vec<RunId>,
}

/// What the manifests of a folder say together.
#[derive(Debug, Clone, Default)]
pub struct Manifests {
    /// Those of the runs whose rows are there, oldest first.
    pub current: Vec<Manifest>,
    /// The number of the next one in a store that replaces files, or makes the target.
    pub next: u64,
}

/// Which name a manifest gets in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// The run's own: its rows come beside all others.
    Run,
    /// A number: it replaces files, or makes the target, and nobody may have done so since that was decided.
    Replacing(u64),
}

/// What came of putting a manifest into a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Put {
    /// It is there.
    Landed,
    /// Another one has its name. Nothing was put.
    Taken,
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
    /// What told its contents from others, where a store has that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e_tag: Option<String>,
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
            e_tag: e_tag(file),
        }
    }

    /// Whether this is the file, and not one that somebody has put in its place since; our own names are never given twice.
    fn is(&self, file: &SourceFile) -> bool {
        let is_same = || {
            (self.bytes, self.modified) == (file.size, file.modified_micros())
                && self.e_tag == e_tag(file)
        };
        is_ours(&file.path) || is_same()
    }
}

fn e_tag(file: &SourceFile) -> Option<String> {
    file.object().and_then(|(_, e_tag)| e_tag.map(str::to_owned))
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
        sync::write_whole(&path, &self.text(&path)?)?;
        sync::sync_folder(folder)
    }

    /// Puts the manifest into a store, if nobody has that name yet. Again with the same manifest, it has landed.
    ///
    /// # Errors
    /// Where it cannot be written, or nobody knows whether it was: [`find`] tells.
    pub fn put(&self, folder: &StoreAddress, slot: Slot) -> Result<Put, StorageError> {
        let place = folder.join(FOLDER).join(&match slot {
            Slot::Run => format!("{}.json", self.run_id),
            Slot::Replacing(number) => format!("{REPLACED}{number:020}.json"),
        });
        let text = Bytes::from(self.text(place.shown())?);
        Ok(match place.create(text.clone())? {
            Created::Now => Put::Landed,
            // The store may have acted, and the client asked again for want of an answer.
            Created::Taken if place.read()? == Some(text) => Put::Landed,
            Created::Taken => Put::Taken,
        })
    }

    fn text(&self, path: &Path) -> Result<Vec<u8>, StorageError> {
        let mut text =
            serde_json::to_vec_pretty(self).map_err(StorageError::library(path, "spell it"))?;
        text.push(b'\n');
        Ok(text)
    }

    /// Whether it takes files away that counted.
    fn replaces(&self) -> bool {
        self.replaced || !self.removed.is_empty()
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
    let is_removed = removed(folder, manifests);
    files.retain(|file| !is_removed(file) && (listed.contains(&file.path) || !is_ours(&file.path)));
    files
}

/// Whether a folder is a table to readers: a run of ours has written to it, if only no rows, or a file counts in it.
#[must_use]
pub fn is_table(manifests: &[Manifest], counted: &[SourceFile]) -> bool {
    !manifests.is_empty() || !counted.is_empty()
}

/// Those of a folder's files that a run has replaced and not deleted yet.
#[must_use]
pub fn replaced<'a>(
    folder: &Path,
    manifests: &[Manifest],
    files: &'a [SourceFile],
) -> Vec<&'a SourceFile> {
    let is_removed = removed(folder, manifests);
    files.iter().filter(|file| is_removed(file)).collect()
}

/// Whether a run has replaced a file. Somebody else may give a name again, and a run remove it again.
fn removed(folder: &Path, manifests: &[Manifest]) -> impl Fn(&SourceFile) -> bool {
    let mut removed: HashMap<_, Vec<&RemovedFile>> = HashMap::new();
    for file in manifests.iter().flat_map(|manifest| &manifest.removed) {
        removed.entry(folder.join(&file.path)).or_default().push(file);
    }
    move |file| removed.get(&file.path).is_some_and(|it| it.iter().any(|it| it.is(file)))
}

fn is_ours(file: &Path) -> bool {
    file.file_name().is_some_and(|name| naming::is_ours(&name.to_string_lossy()))
}

fn place(folder: &Path, run_id: &RunId) -> PathBuf {
    folder.join(FOLDER).join(format!("{run_id}.json"))
}
