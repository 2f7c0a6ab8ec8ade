//! Which manifests a folder has, and what they say together.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use super::FOLDER;
use super::Manifest;
use super::Manifests;
use super::PAST;
use super::REPLACED;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::address::Address;
use crate::storage::sync;
use crate::table::RunId;

/// How often a folder is looked at whose files are replaced meanwhile.
const LOOKS_MAX: usize = 5;

impl Manifests {
    fn of(names: &[String], mut all: Vec<Manifest>) -> Self {
        let past: HashSet<RunId> = all.iter().flat_map(|it| it.replaced_runs.clone()).collect();
        all.retain(|manifest| !past.contains(&manifest.run_id));
        all.sort_by(|a, b| (a.started_at, &a.run_id).cmp(&(b.started_at, &b.run_id)));
        let numbers = names
            .iter()
            .filter_map(|name| name.strip_prefix(REPLACED)?.strip_suffix(".json")?.parse().ok());
        let newest: Option<u64> = numbers.max();
        Self { current: all, next: newest.map_or(0, |newest| newest + 1) }
    }
}

/// The manifest of a run, also of one whose rows a later run replaced.
///
/// # Errors
/// Where it is there and cannot be read.
pub fn find(folder: &Address, run_id: &RunId) -> Result<Option<Manifest>, StorageError> {
    let manifests = folder.join(FOLDER);
    for name in [format!("{run_id}.json"), format!("{PAST}/{run_id}.json")] {
        let place = manifests.join(&name);
        if let Some(text) = place.read()? {
            return read(place.shown(), &text).map(Some);
        }
    }
    let mut names = names(folder)?;
    names.retain(|name| name.starts_with(REPLACED));
    Ok(read_each(folder, &names)?.into_iter().find(|manifest| manifest.run_id == *run_id))
}

/// The manifests of a folder, and what else is found in it, as they were together: where a run has replaced files meanwhile, `look`
/// looks again, so that a reader has the old files or the new ones.
///
/// # Errors
/// Those of `look`; where a manifest is there and cannot be read; where runs replace files there all the time.
pub fn beside<T>(
    folder: &Address,
    mut look: impl FnMut() -> Result<T, StorageError>,
) -> Result<(Manifests, T), StorageError> {
    for _ in 0..LOOKS_MAX {
        let before = names(folder)?;
        let manifests = read_each(folder, &before)?;
        let seen = look()?;
        if is_as_before(folder, &before, names(folder)?)? {
            return Ok((Manifests::of(&before, manifests), seen));
        }
    }
    let error = std::io::Error::other(format!("runs replaced files there {LOOKS_MAX} times"));
    Err(StorageError::io(folder.shown(), "list it as it is at one moment")(error))
}

/// Whether nothing was replaced between two looks at the names of manifests. Rows that came may be seen later.
fn is_as_before(
    folder: &Address,
    before: &[String],
    now: Vec<String>,
) -> Result<bool, StorageError> {
    let (kept, new): (Vec<_>, Vec<_>) = now.into_iter().partition(|name| before.contains(name));
    // A folder that was put in this one's place has past manifests elsewhere.
    if kept.len() < before.len() || new.iter().any(|name| name.starts_with(REPLACED)) {
        return Ok(false);
    }
    Ok(!read_each(folder, &new)?.iter().any(Manifest::replaces))
}

/// Keeps the manifests of `old` among the past ones of `new`.
///
/// # Errors
/// Where one cannot be copied.
pub fn keep_past(old: &Path, new: &Path) -> Result<(), StorageError> {
    let (folder, past) = (Address::Disk(old.join(FOLDER)), new.join(FOLDER).join(PAST));
    let mut names = names(&Address::Disk(old.to_owned()))?;
    let before = folder.join(PAST).names()?.into_iter().filter(|name| is_json(name));
    names.splice(0..0, before.map(|name| format!("{PAST}/{name}")));
    if names.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(&past).map_err(StorageError::io(&past, "create it"))?;
    for name in &names {
        let place = folder.join(name);
        let Some(text) = place.read()? else { continue };
        // By its run, also where it has a number: a folder may have been copied from a store.
        let name = match name.strip_prefix(REPLACED) {
            Some(_) => format!("{}.json", read(place.shown(), &text)?.run_id),
            None => name.rsplit('/').next().unwrap_or(name).to_owned(),
        };
        sync::write_whole(&past.join(name), &text)?;
    }
    sync::sync_branches([past.join(PAST).as_path()].into_iter(), new)
}

fn read(path: &Path, text: &[u8]) -> Result<Manifest, StorageError> {
    serde_json::from_slice(text).map_err(|error| {
        StorageError::data(path, DataPlace::default(), format!("it is no manifest of ours: {error}"))
            .hint("a run's rows count by its manifest; restore it, or move the file away if its rows do not matter")
    })
}

/// The manifests of these names that are there.
fn read_each(folder: &Address, names: &[String]) -> Result<Vec<Manifest>, StorageError> {
    let manifests = folder.join(FOLDER);
    let texts = match &manifests {
        Address::Disk(_) => {
            names.iter().map(|name| manifests.join(name).read()).collect::<Result<Vec<_>, _>>()?
        }
        Address::Store(place) => place.read_each(names)?,
    };
    let found = names
        .iter()
        .zip(texts)
        .filter_map(|(name, text)| text.map(|text| read(manifests.join(name).shown(), &text)));
    found.collect()
}

/// The names of the manifests in a folder, but for the past ones, from their own folder on, sorted.
fn names(folder: &Address) -> Result<Vec<String>, StorageError> {
    let manifests = folder.join(FOLDER);
    let mut names: Vec<String> = match &manifests {
        Address::Disk(_) => {
            let numbered = manifests.join(REPLACED).names()?.into_iter();
            let numbered = numbered.map(|name| format!("{REPLACED}{name}"));
            manifests.names()?.into_iter().chain(numbered).collect()
        }
        Address::Store(place) => place.list()?.into_iter().map(|facts| facts.below).collect(),
    };
    names.retain(|name| {
        let name = name.strip_prefix(REPLACED).unwrap_or(name);
        !name.contains('/') && is_json(name)
    });
    names.sort();
    Ok(names)
}

fn is_json(name: &str) -> bool {
    name.ends_with(".json") && !name.starts_with('.')
}
