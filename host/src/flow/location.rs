//! Local paths of a flow: resolved against a folder, URLs told apart, compared as places on disk.

use std::ffi::OsStr;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use super::open::Fields;
use super::report::Located;
use super::report::Report;
use crate::name::FlowName;
use crate::problem::Code;

/// Schemes that mean an object store or a service, and so another version.
const STORES: &[&str] = &[
    "s3", "s3a", "s3n", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl", "wasb", "wasbs",
    "http", "https", "hdfs", "dbfs", "memory",
];

/// The folder that relative paths begin at.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    path: PathBuf,
    /// The folder of the process's views.
    views: PathBuf,
}

impl Folder {
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path, views: PathBuf::new() }
    }

    /// The folder of the flow file.
    pub(super) fn of(file: &Path, views: &Path) -> Self {
        let path = file.parent().map(Path::to_path_buf).unwrap_or_default();
        Self { path, views: views.to_owned() }
    }

    /// Where the view is that a block names by its `path`.
    pub(super) fn view(&self, report: &Report, fields: &Fields<'_>) -> Option<Located<PathBuf>> {
        for name in ["schema", "table"] {
            if fields.get(name).is_some() {
                let what = format!("`{name}` does not apply to a view");
                report.add_hint(
                    Code::Contradiction,
                    &fields.key_of(name),
                    what,
                    "name it by `path`",
                );
            }
        }
        let Some(name) = fields.text("path") else {
            if !fields.is_attempted("path") {
                fields.missing("path");
            }
            return None;
        };
        if let Err(what) = FlowName::new(name.value.as_str()) {
            let what = format!("the name of a view is like a flow's: {what}");
            report.add(Code::WrongValue, &name.spot, what);
            return None;
        }
        Some(Located { value: self.views.join(name.value), spot: name.spot })
    }

    /// A path below the folder that no user spelt.
    pub(super) fn join(&self, path: &str) -> PathBuf {
        self.path.join(path)
    }

    /// The path that a field means; a URL that is not local is told.
    pub(super) fn resolve(
        &self,
        report: &Report,
        path: Located<String>,
    ) -> Option<Located<PathBuf>> {
        let Located { value: text, spot } = path;
        let local = match text.split_once("://") {
            None => text.clone(),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => {
                match percent_decode_str(rest).decode_utf8() {
                    Ok(path) if path.starts_with('/') => path.into_owned(),
                    _ => {
                        report.add_hint(
                            Code::WrongValue,
                            &spot,
                            format!("`{text}` is no local path"),
                            "write `file:///absolute/path`",
                        );
                        return None;
                    }
                }
            }
            Some((scheme, _)) if STORES.contains(&scheme.to_lowercase().as_str()) => {
                let what = format!(
                    "`{text}` is not a local path; this version reads and writes local files only"
                );
                report.add(Code::NotOffered, &spot, what);
                return None;
            }
            Some((scheme, _)) => {
                report.add(
                    Code::WrongValue,
                    &spot,
                    format!("`{scheme}://` is no kind of place that is known"),
                );
                return None;
            }
        };
        if local.contains('\0') {
            report.add(Code::WrongValue, &spot, "a path cannot have a NUL character");
            return None;
        }
        Some(Located { value: tidy(&self.path.join(local)), spot })
    }
}

/// The folder `schema/table` below a connection's folder.
pub(super) fn below_base(
    report: &Report,
    fields: &Fields<'_>,
    base: Option<&Located<PathBuf>>,
    schema: Located<String>,
    table: Located<String>,
) -> Option<Located<PathBuf>> {
    let mut plain = true;
    for name in [&schema, &table] {
        let text = name.value.as_str();
        if text.starts_with('.') || text.contains(['/', '\\', '\0']) || text.contains("://") {
            let what = format!("`{text}` is no single folder name");
            report.add_hint(Code::WrongValue, &name.spot, what, "use `path` for other places");
            plain = false;
        }
    }
    let Some(base) = base else {
        let what = "`schema` and `table` are below a connection's `base_path`; there is none here";
        report.add_hint(
            Code::MissingKey,
            &fields.key_of("schema"),
            what,
            "give the connection a `base_path`, or use `path`",
        );
        return None;
    };
    plain.then(|| Located {
        value: base.value.join(&schema.value).join(&table.value),
        spot: table.spot,
    })
}

/// The path without `.` parts, as users write them.
fn tidy(path: &Path) -> PathBuf {
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
fn lexical(path: &Path) -> PathBuf {
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
