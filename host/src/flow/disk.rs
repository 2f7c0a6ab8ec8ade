//! Places on a disk: paths that differ only in spelling are one place.

use std::ffi::OsStr;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

/// The path without `.` parts, as users write them.
pub(super) fn tidy(path: &Path) -> PathBuf {
    let parts: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    if parts.as_os_str().is_empty() { PathBuf::from(".") } else { parts }
}

/// The place on disk that a path means: absolute, links of what exists resolved. Paths that differ only in spelling are equal.
pub(super) fn physical(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut existing = absolute.as_path();
    let mut missing: Vec<&OsStr> = Vec::new();
    loop {
        if let Ok(real) = existing.canonicalize() {
            return lexical(&missing.iter().rev().fold(real, |path, part| path.join(part)));
        }
        let Some(parent) = existing.parent() else { return lexical(&absolute) };
        // `..` has no file name; it is kept and resolved below.
        missing
            .push(existing.components().next_back().map_or(OsStr::new(""), Component::as_os_str));
        existing = parent;
    }
}

/// `..` resolved by the text alone.
pub(super) fn lexical(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(result.pop()),
            Component::CurDir => {}
            other => result.push(other),
        }
    }
    result
}

/// The part of a pattern before its first wildcard, as a folder; the whole path where it has none.
pub(super) fn fixed_part(path: &Path) -> PathBuf {
    path.components().take_while(|part| !is_pattern(part.as_os_str())).collect()
}

/// Whether a path's part has a wildcard.
pub(super) fn is_pattern(part: &OsStr) -> bool {
    part.to_string_lossy().contains(['*', '?', '[', '{'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_place_are_one_place() {
        let here = physical(Path::new("."));
        assert_eq!(physical(Path::new("no/../such/./x")), here.join("such/x"));
        assert_eq!(physical(Path::new("such/x")), here.join("such/x"));
        assert_eq!(tidy(Path::new("./a/./b")), Path::new("a/b"));
        assert_eq!(fixed_part(Path::new("data/2013-*/x.csv")), Path::new("data"));
    }
}
