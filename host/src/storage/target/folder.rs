//! What a folder of flat files holds: our data, other data, other people's files.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use super::FolderFacts;
use super::Split;
use super::TargetState;
use super::store;
use crate::flow::WriteFormat;
use crate::name::ColumnName;
use crate::storage::StorageError;
use crate::storage::address::Address;
use crate::storage::delta;
use crate::storage::encode::Endings;
use crate::storage::listing::SourceFile;
use crate::storage::listing::is_data_name;
use crate::storage::manifest;
use crate::storage::manifest::Manifest;
use crate::storage::manifest::ManifestFile;
use crate::storage::manifest::Manifests;
use crate::storage::naming;
use crate::storage::parquet;

/// How the hidden folders begin in which runs stage their files.
pub const STAGING: &str = ".wasmhost-";

/// How many names an error lists.
const NAMES_MAX: usize = 5;

/// All files of a folder, by what they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// Visible files of the format, sorted.
    pub data: Vec<SourceFile>,
    /// Visible files of other formats.
    pub other_data: Vec<PathBuf>,
    /// Hidden files, links, and whatever else is not ours.
    pub others: Vec<PathBuf>,
    /// Those of them that are visible links to files of the format, or to folders: readers follow them.
    pub links: Vec<PathBuf>,
}

impl Survey {
    /// Whether a reader finds a table there, with these manifests.
    #[must_use]
    pub fn is_table(&self, manifests: &[Manifest], counted: &[SourceFile]) -> bool {
        manifest::is_table(manifests, counted) || !self.links.is_empty()
    }
}

/// Looks through a folder. Manifests and staging folders of ours are passed over; links are not followed.
///
/// # Errors
/// Where a folder cannot be read.
pub fn survey(folder: &Address, endings: Endings) -> Result<Survey, StorageError> {
    let mut found = Survey::default();
    match folder {
        Address::Disk(folder) => walk(folder, endings, true, true, &mut found)?,
        Address::Store(place) => store::survey(place, endings, &mut found)?,
    }
    found.data.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn walk(
    folder: &Path,
    endings: Endings,
    top: bool,
    visible: bool,
    found: &mut Survey,
) -> Result<(), StorageError> {
    let failed = || StorageError::io(folder, "list it");
    for entry in fs::read_dir(folder).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if top && (name == manifest::FOLDER || name.starts_with(STAGING)) {
            continue;
        }
        let kind = entry.file_type().map_err(StorageError::io(&path, "look at it"))?;
        let visible = visible && is_data_name(&name);
        if kind.is_dir() {
            walk(&path, endings, false, visible, found)?;
        } else if !visible || !kind.is_file() {
            if visible && kind.is_symlink() && is_followed(&path, endings.stripped_from(&name)) {
                found.links.push(path.clone());
            }
            found.others.push(path);
        } else if endings.stripped_from(&name).is_some() {
            found.data.push(SourceFile::look(path)?);
        } else {
            found.other_data.push(path);
        }
    }
    Ok(())
}

/// Whether a reader finds data behind a link: a file of the format, by its name, or a folder.
fn is_followed(link: &Path, of_format: Option<&str>) -> bool {
    // One that leads nowhere leads to no data.
    fs::metadata(link).is_ok_and(|facts| facts.is_dir() || of_format.is_some())
}

/// A folder that is to hold flat files.
pub(super) fn inspect(folder: &Address, format: &WriteFormat) -> Result<TargetState, StorageError> {
    let path = folder.shown();
    let is_table = match folder {
        Address::Disk(path) => path.join("_delta_log").is_dir(),
        Address::Store(_) => delta::is_there(folder)?,
    };
    if is_table {
        return Ok(TargetState::Unusable {
            what: format!(
                "a Delta table is there; {} files among its own are no part of it",
                format.name()
            ),
            hint: "write it as `delta`, or to another folder".to_owned(),
        });
    }
    let look = || survey(folder, Endings::of(format));
    let (Manifests { current: manifests, .. }, mut found) = manifest::beside(folder, look)?;
    found.data = manifest::counted(path, &manifests, found.data);
    if found == Survey::default() && manifests.is_empty() {
        return Ok(TargetState::Absent);
    }
    let newest = manifests.last();
    let schema = match (newest, format, found.data.first()) {
        (Some(newest), _, _) => newest.schema(),
        (None, WriteFormat::Parquet(_) | WriteFormat::View(_), Some(file)) => {
            Some(parquet::schema(file)?)
        }
        (None, _, _) => None,
    };
    let split = |newest: &Manifest| {
        let names = newest.partition_columns.iter();
        let columns = names.filter_map(|name| ColumnName::new(name.clone()).ok()).collect();
        Split { columns, date_folders: newest.date_folders.clone() }
    };
    let few = |files: &[PathBuf]| {
        files.iter().take(NAMES_MAX).map(|file| below(path, file)).collect::<Vec<_>>()
    };
    let foreign = [found.others.as_slice(), found.other_data.as_slice()].concat();
    Ok(TargetState::Folder(FolderFacts {
        is_table: found.is_table(&manifests, &found.data),
        schema,
        split: newest.map(split),
        rows: rows(path, format, &found.data, &manifests)?,
        other_data: few(&found.other_data),
        foreign: few(&foreign),
    }))
}

/// Rows of these data files: as the manifests tell that list them, or as their footers do; `None` where one is not known.
///
/// # Errors
/// Where a footer cannot be read.
pub fn rows(
    path: &Path,
    format: &WriteFormat,
    files: &[SourceFile],
    manifests: &[Manifest],
) -> Result<Option<u64>, StorageError> {
    let listed = manifests.iter().flat_map(|it| &it.files);
    let listed: HashMap<PathBuf, &ManifestFile> =
        listed.map(|file| (path.join(&file.path), file)).collect();
    let rows = files.iter().map(|file| {
        match listed.get(&file.path).filter(|listed| listed.bytes == file.size) {
            Some(listed) => Ok(Some(listed.rows)),
            None if has_footers(format) => parquet::rows(file).map(Some),
            None => Ok(None),
        }
    });
    rows.sum()
}

fn has_footers(format: &WriteFormat) -> bool {
    matches!(format, WriteFormat::Parquet(_) | WriteFormat::View(_))
}

/// A folder without a Delta log that is to become a table: it may hold what a run of ours left, and nothing else.
pub(super) fn beside_table(path: &Path, format: &WriteFormat) -> Result<TargetState, StorageError> {
    let found = survey(&Address::Disk(path.to_owned()), Endings::of(format))?;
    let ours = |file: &SourceFile| {
        file.path.file_name().is_some_and(|name| naming::is_ours(&name.to_string_lossy()))
    };
    let data = found.data.iter().filter(|file| !ours(file)).map(|file| &file.path);
    // An unfinished log entry is a leftover, too.
    let others = found
        .others
        .iter()
        .chain(&found.other_data)
        .filter(|file| !file.starts_with(path.join("_delta_log")));
    let names: Vec<_> =
        data.chain(others).take(NAMES_MAX).map(|file| format!("`{}`", below(path, file))).collect();
    let flat = path.join(manifest::FOLDER).exists();
    if names.is_empty() && !flat {
        return Ok(TargetState::Absent);
    }
    let what = match flat {
        true => "the folder is no Delta table, but holds flat files that wasmhost wrote".to_owned(),
        false => {
            format!("the folder is no Delta table, but holds other files: {}", names.join(", "))
        }
    };
    Ok(TargetState::Unusable {
        what,
        hint: "name an empty or new folder, or the table's own".to_owned(),
    })
}

fn below(path: &Path, file: &Path) -> String {
    file.strip_prefix(path).unwrap_or(file).to_string_lossy().into_owned()
}
