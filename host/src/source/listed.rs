//! The files of a source: those that its path means, less those of flat targets that do not count.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use crate::flow::Location;
use crate::flow::ReadFormat;
use crate::flow::Source;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::address::Address;
use crate::storage::delta;
use crate::storage::listing;
use crate::storage::listing::Listing;
use crate::storage::listing::SourceFile;
use crate::storage::manifest::Within;

/// The files, sorted by path.
///
/// # Errors
/// Where the path is of nothing that is there, unless that is allowed; of a table; of a file that does not count; or cannot be listed.
pub(super) fn listed(source: &Source, address: &Address) -> Result<Vec<SourceFile>, StorageError> {
    let Source { recursive, path_glob_filter, allow_missing, .. } = source;
    let path = address.shown();
    if let ReadFormat::View {} = source.format
        && !path.exists()
    {
        return Err(no_such_view(path));
    }
    let is_there = || matches!(address, Address::Disk(path) if path.exists());
    let list = || match listing::list(Listing {
        address,
        recursive: *recursive,
        name_filter: path_glob_filter.as_deref(),
    }) {
        Err(StorageError::Missing { .. }) if *allow_missing && !is_there() => Ok(Vec::new()),
        other => other,
    };
    let object = match address {
        Address::Store(place) if listing::store_root(place) == *place => place.look()?,
        Address::Store(_) | Address::Disk(_) => None,
    };
    // Nothing lies below an object, and many a public one may be read where nothing may be listed. One without bytes may be how Data Lake
    // Storage shows a folder.
    let is_object = object.as_ref().is_some_and(|facts| facts.size > 0);
    let (files, left_out) = counted(source, address, object.is_some(), is_object, list)?;
    if !is_object && delta::is_there(address)? {
        let what = "a Delta table is there, whose folder also holds files of rows that are gone";
        let error = StorageError::data(path, DataPlace::default(), what);
        return Err(error.hint("read it with `format: delta`, or name a folder of plain files"));
    }
    if let Some(Location::Disk(base)) = &source.base {
        stays_below(base, files.iter().map(|file| file.path.as_path()))?;
    }
    if files.is_empty() && !allow_missing {
        let what = match left_out {
            0 => "no data file matches".to_owned(),
            some => format!(
                "no data file counts: {some} that match are of runs that have not ended, or were replaced"
            ),
        };
        return Err(StorageError::Missing {
            path: path.to_owned(),
            what,
            hint: "names that start with `.` or `_`, and unfinished files, are no data; `allow_missing: true` takes no file \
                   as an empty input"
                .to_owned(),
        });
    }
    Ok(files)
}

/// Those of the listed files that count by the manifests of the target that they are in, and how many do not. In a store, whether an
/// object was named that is there, and one that nothing can lie below.
fn counted(
    source: &Source,
    address: &Address,
    is_there: bool,
    is_object: bool,
    list: impl Fn() -> Result<Vec<SourceFile>, StorageError>,
) -> Result<(Vec<SourceFile>, usize), StorageError> {
    let (place, is_named) = match address {
        Address::Disk(path) if path.is_file() => (address.clone(), true),
        Address::Disk(_) => (Address::Disk(listing::root(address)), false),
        Address::Store(place) => (Address::Store(listing::store_root(place)), is_there),
    };
    let base = source.base.as_ref();
    let within = match &place {
        Address::Store(object) if is_object => Within::above(object, base)?,
        Address::Store(_) | Address::Disk(_) => Within::nearest(&place, base)?,
    };
    let within = match within {
        Some(within) => within,
        // Nothing tells a copy from a file of a run that has not come to its first manifest. Those lie among the others in a store,
        // where patterns must not take them either.
        None if is_named || matches!(address, Address::Disk(path) if !path.is_dir()) => {
            return Ok((list()?, 0));
        }
        None => Within::from(place),
    };
    let (files, left_out) = within.counted(list)?;
    if is_named && left_out > 0 {
        let what = format!(
            "it is not, or no longer, part of `{}`: the run that wrote it has not ended, or a later one has replaced it",
            within.target().display()
        );
        return Err(StorageError::data(address.shown(), DataPlace::default(), what)
            .hint("name the folder: its files count by the manifests of the runs"));
    }
    Ok((files, left_out))
}

/// Refuses files that links lead to from the connection's folder out of it.
pub(super) fn stays_below<'a>(
    base: &Path,
    files: impl Iterator<Item = &'a Path>,
) -> Result<(), StorageError> {
    let real = |path: &Path| fs::canonicalize(path).map_err(StorageError::io(path, "find it"));
    let mut files = files.peekable();
    if files.peek().is_none() {
        return Ok(());
    }
    let base = real(base)?;
    for file in files {
        if !real(file)?.starts_with(&base) {
            let what = "a link leads out of the connection's `base_path` here";
            return Err(StorageError::data(file, DataPlace::default(), what)
                .hint("name the place itself, by a connection without a `base_path`"));
        }
    }
    Ok(())
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
