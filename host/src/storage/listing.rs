//! Which files a path means: one file, a folder, or a glob. Hidden, unfinished and bookkeeping names are never data.

use std::fs;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use chrono::DateTime;
use chrono::Utc;
use globset::GlobBuilder;
use globset::GlobMatcher;

use super::StorageError;
use super::address::Address;
use super::address::FileRead;
use super::store::ObjectFacts;
use super::store::StoreAddress;

/// A data file as it was listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Where it is, spelt as the source's path was.
    pub path: PathBuf,
    /// Bytes.
    pub size: u64,
    /// When it was last changed, where the file system tells.
    pub modified: Option<SystemTime>,
    /// Where it is in a store, and what tells its contents from later ones; on a disk where `None`.
    object: Option<(StoreAddress, Option<String>)>,
}

/// What to list.
#[derive(Debug, Clone, Copy)]
pub struct Listing<'a> {
    /// A file, a folder or a glob.
    pub address: &'a Address,
    /// Whether folders are searched below their first level.
    pub recursive: bool,
    /// Which file names of a folder or a glob are taken.
    pub name_filter: Option<&'a str>,
}

/// Endings of files that their writers had not finished.
const UNFINISHED: &[&str] =
    &[".tmp", ".temp", ".part", ".partial", ".inprogress", ".crdownload", ".swp", "~"];

impl SourceFile {
    /// The file as it is now.
    ///
    /// # Errors
    /// Where it is not there or cannot be looked at.
    pub fn look(path: PathBuf) -> Result<Self, StorageError> {
        let facts = fs::metadata(&path).map_err(StorageError::io(&path, "look at it"))?;
        Ok(Self::on_disk(path, facts.len(), facts.modified().ok()))
    }

    /// A file of a disk as it was listed.
    #[must_use]
    pub fn on_disk(path: PathBuf, size: u64, modified: Option<SystemTime>) -> Self {
        Self { path, size, modified, object: None }
    }

    /// An object as a store has listed it, or as a table's log tells of it; nothing is asked.
    #[must_use]
    pub fn in_store(
        address: StoreAddress,
        size: u64,
        modified: DateTime<Utc>,
        e_tag: Option<String>,
    ) -> Self {
        let path = address.shown().to_owned();
        Self { path, size, modified: Some(modified.into()), object: Some((address, e_tag)) }
    }

    /// Where it is in a store, and what tells its contents from later ones, where the store has that; `None` on a disk.
    #[must_use]
    pub fn object(&self) -> Option<(&StoreAddress, Option<&str>)> {
        self.object.as_ref().map(|(place, e_tag)| (place, e_tag.as_deref()))
    }

    /// When it was last changed, in microseconds since 1970 in UTC, where that is known and fits.
    #[must_use]
    pub fn modified_micros(&self) -> Option<i64> {
        let at = self.modified?;
        match at.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_micros()).ok(),
            Err(before) => i64::try_from(before.duration().as_micros()).ok().map(|micros| -micros),
        }
    }

    /// Opens the file, if it is still the one that was listed.
    ///
    /// # Errors
    /// Where it cannot be opened, and where its size or time has changed since.
    pub fn open(&self) -> Result<FileRead, StorageError> {
        if let Some((address, e_tag)) = &self.object {
            return Ok(FileRead::Store(address.open_read(self.size, e_tag.as_deref())));
        }
        let now = Self::look(self.path.clone())?;
        if now.size != self.size || now.modified != self.modified {
            let what =
                format!("changed since it was listed ({} bytes then, {} now)", self.size, now.size);
            return Err(StorageError::data(&self.path, super::DataPlace::default(), what)
                .hint("start the run again when the file is complete"));
        }
        let file = fs::File::open(&self.path).map_err(StorageError::io(&self.path, "open it"))?;
        Ok(FileRead::Disk(file))
    }
}

/// The files of a listing, sorted by path; empty where nothing matches.
///
/// # Errors
/// Where the path of a file or folder is not there, a pattern is none, or a folder cannot be read.
pub fn list(listing: Listing<'_>) -> Result<Vec<SourceFile>, StorageError> {
    let Listing { address, recursive, name_filter } = listing;
    let shown = address.shown();
    let filter = name_filter.map(|filter| matcher(shown, filter)).transpose()?;
    let path = match address {
        Address::Disk(path) => path,
        Address::Store(place) => return in_store(place, recursive, filter.as_ref()),
    };
    let mut found = Vec::new();
    match fs::metadata(path) {
        Ok(facts) if facts.is_dir() => {
            let mut taken =
                |_: &Path, name: &str| filter.as_ref().is_none_or(|filter| filter.is_match(name));
            walk(path, recursive, &mut taken, &mut found)?;
        }
        Ok(_) => found.push(SourceFile::look(path.to_owned())?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && has_glob(path) => {
            let (root, pattern) = (glob_root(path), path_matcher(path)?);
            if root.is_dir() {
                let mut taken = |file: &Path, name: &str| {
                    pattern.is_match(file)
                        && filter.as_ref().is_none_or(|filter| filter.is_match(name))
                };
                walk(&root, true, &mut taken, &mut found)?;
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(nothing(path));
        }
        Err(error) => return Err(StorageError::io(path, "look at it")(error)),
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// The objects that a place in a store means: that of its key, those below it, or those that a pattern matches.
fn in_store(
    place: &StoreAddress,
    recursive: bool,
    filter: Option<&GlobMatcher>,
) -> Result<Vec<SourceFile>, StorageError> {
    let file = |address, facts: ObjectFacts| {
        SourceFile::in_store(address, facts.size, facts.modified, facts.e_tag)
    };
    if let Some(facts) = place.look()? {
        return Ok(vec![file(place.clone(), facts)]);
    }
    let (root, key) = (store_root(place), Path::new(place.key()));
    let is_pattern = has_glob(key);
    let pattern = match is_pattern {
        false => None,
        true => {
            let pattern = key.strip_prefix(root.key()).unwrap_or(key);
            Some(matcher(place.shown(), &pattern.to_string_lossy())?)
        }
    };
    let listed = root.list()?;
    let is_taken = |facts: &ObjectFacts, next: Option<&ObjectFacts>| {
        let mut names = facts.below.rsplit('/');
        let name = names.next().unwrap_or_default();
        // Some tools mark folders by objects without bytes.
        let is_folder = facts.size == 0
            && next.is_some_and(|next| {
                next.below.strip_prefix(&facts.below).is_some_and(|rest| rest.starts_with('/'))
            });
        let is_found = match &pattern {
            Some(pattern) => pattern.is_match(&facts.below),
            None => recursive || !facts.below.contains('/'),
        };
        is_found
            && !is_folder
            && facts.below.split('/').all(is_data_name)
            && filter.is_none_or(|filter| filter.is_match(name))
    };
    let mut taken = Vec::new();
    for (at, facts) in listed.iter().enumerate() {
        let address = root.join(&facts.below);
        // An empty folder's mark is an object of another key than the one that it is listed by.
        if is_taken(facts, listed.get(at + 1)) && (facts.size > 0 || address.look()?.is_some()) {
            taken.push(file(address, facts.clone()));
        }
    }
    match listed.is_empty() && !is_pattern {
        true => Err(nothing(place.shown())),
        false => Ok(taken),
    }
}

fn nothing(path: &Path) -> StorageError {
    StorageError::Missing {
        path: path.to_owned(),
        what: "there is no such file or folder".to_owned(),
        hint: "`allow_missing: true` takes it as an empty input".to_owned(),
    }
}

/// Whether a name below a folder can be data.
#[must_use]
pub fn is_data_name(name: &str) -> bool {
    let unfinished = || {
        UNFINISHED
            .iter()
            .any(|end| name.len() > end.len() && name.to_ascii_lowercase().ends_with(end))
    };
    !name.starts_with('.') && !name.starts_with('_') && !unfinished()
}

fn walk(
    folder: &Path,
    recursive: bool,
    taken: &mut dyn FnMut(&Path, &str) -> bool,
    found: &mut Vec<SourceFile>,
) -> Result<(), StorageError> {
    let failed = || StorageError::io(folder, "list it");
    for entry in fs::read_dir(folder).map_err(failed())? {
        let path = entry.map_err(failed())?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if !is_data_name(name) {
            continue;
        }
        // Links are followed: a folder of links to the day's files is a common hand-over.
        let facts = fs::metadata(&path).map_err(StorageError::io(&path, "look at it"))?;
        if facts.is_dir() {
            if recursive {
                walk(&path, recursive, taken, found)?;
            }
        } else if taken(&path, name) {
            let modified = facts.modified().ok();
            found.push(SourceFile::on_disk(path, facts.len(), modified));
        }
    }
    Ok(())
}

fn has_glob(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '[', '{'])
}

/// The folder that a listing begins in: the path itself, or what is above its first wildcard. A file's own where it is one.
#[must_use]
pub fn root(address: &Address) -> PathBuf {
    let path = match address {
        Address::Disk(path) => path,
        // A folder and a file that is named alone begin alike: nothing between such a root and its file can be a folder.
        Address::Store(place) => return glob_root(place.shown()),
    };
    match fs::metadata(path) {
        Ok(facts) if facts.is_dir() => path.to_owned(),
        Ok(_) => path.parent().unwrap_or(path).to_owned(),
        Err(_) => glob_root(path),
    }
}

/// Where a listing of a store begins: at the place itself, or above its first wildcard.
#[must_use]
pub fn store_root(place: &StoreAddress) -> StoreAddress {
    let key = Path::new(place.key());
    if !has_glob(key) {
        return place.clone();
    }
    let root = glob_root(key);
    let root = if root.as_os_str() == "." { PathBuf::new() } else { root };
    place.moved(&root.to_string_lossy())
}

/// The folder above the first component with a wildcard.
fn glob_root(path: &Path) -> PathBuf {
    let plain =
        |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{']);
    let root: PathBuf = path.components().take_while(plain).collect();
    if root.as_os_str().is_empty() { PathBuf::from(".") } else { root }
}

/// The matcher of a path with wildcards, spelt as the walk spells what it finds.
fn path_matcher(path: &Path) -> Result<GlobMatcher, StorageError> {
    let text = path.to_string_lossy();
    match glob_root(path).as_os_str() == "." && !text.starts_with("./") {
        true => matcher(path, &format!("./{text}")),
        false => matcher(path, &text),
    }
}

fn matcher(path: &Path, pattern: &str) -> Result<GlobMatcher, StorageError> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| StorageError::Missing {
            path: path.to_owned(),
            what: format!("`{pattern}` is no pattern: {error}"),
            hint: "`*` and `?` stay within a name, `**` crosses folders, `{a,b}` is either"
                .to_owned(),
        })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn names_of_unfinished_hidden_and_bookkeeping_files_are_no_data() {
        for bad in [".a.csv", "_tmp.parquet", "_SUCCESS", "a.csv.tmp", "a.PART", "a.csv~"] {
            assert!(!is_data_name(bad), "{bad}");
        }
        for good in ["a.csv", "a_b", "part-0.parquet", "k=.v", "tmp"] {
            assert!(is_data_name(good), "{good}");
        }
    }

    #[test]
    fn patterns_are_rooted_where_their_first_wildcard_is() {
        assert_eq!(glob_root(Path::new("/a/b*/c")), Path::new("/a"));
        assert_eq!(glob_root(Path::new("*.csv")), Path::new("."));
        for (pattern, file, right) in [
            ("*.csv", "./x.csv", true),
            ("**/x.csv", "./a/b/x.csv", true),
            ("/a/*.csv", "/a/b/x.csv", false),
            ("/a/**/*.csv", "/a/b/c/x.csv", true),
            ("d/*.csv", "d/x.csv", true),
        ] {
            assert_eq!(
                path_matcher(Path::new(pattern)).unwrap().is_match(file),
                right,
                "{pattern} {file}"
            );
        }
    }
}
