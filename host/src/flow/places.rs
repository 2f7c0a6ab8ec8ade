//! The places that fields mean: paths against a folder, and URLs.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use percent_encoding::percent_decode_str;

use super::Location;
use super::StoreKind;
use super::StoreLocation;
use super::StoreOption;
use super::StoreSettings;
use super::disk::tidy;
use super::open::Fields;
use super::report::Located;
use super::report::Report;
use super::report::Spot;
use super::sensitive::Sensitive;
use super::store;
use crate::name::FlowName;
use crate::problem::Code;

/// Schemes of stores and services that another version may have.
const NOT_YET: &[&str] = &["adl", "wasb", "wasbs", "http", "https", "hdfs", "dbfs", "memory"];

/// How hosts of Azure's public cloud end.
const AZURE_HOSTS: &[&str] = &[
    ".dfs.core.windows.net",
    ".blob.core.windows.net",
    ".dfs.fabric.microsoft.com",
    ".blob.fabric.microsoft.com",
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
        let of_places = [("schema", "name it by `path`"), ("table", "name it by `path`")];
        let of_folders = ["recursive", "path_glob_filter", "partition_columns"]
            .map(|name| (name, "leave it out: a view is in memory, and has no folders"));
        for (name, hint) in of_places.into_iter().chain(of_folders) {
            if let Some(found) = fields.all().find(|found| found.field.name == name) {
                let what = format!("`{name}` does not apply to a view");
                report.add_hint(Code::Contradiction, &found.key, what, hint);
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

    /// The local path that a field means.
    pub(super) fn resolve(
        &self,
        report: &Report,
        path: Located<String>,
    ) -> Option<Located<PathBuf>> {
        let located = self.locate(report, path, None)?;
        match located.value {
            Location::Disk(path) => Some(Located { value: path, spot: located.spot }),
            // Nothing that is spelt is a server.
            Location::Store(_) | Location::Server(_) => {
                let what =
                    format!("`{}` is in an object store; a local path is due here", located.value);
                report.add(Code::WrongValue, &located.spot, what);
                None
            }
        }
    }

    /// The place that a field means, on a disk or in a store, which is told how to get in by the connection's `storage`.
    pub(super) fn locate(
        &self,
        report: &Report,
        path: Located<String>,
        storage: Option<&Fields<'_>>,
    ) -> Option<Located<Location>> {
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
            Some((scheme, rest)) => {
                if let Some(kind) = StoreKind::of(scheme) {
                    let place = in_store(report, kind, rest, &spot, storage)?;
                    return Some(Located { value: Location::Store(place), spot });
                }
                if NOT_YET.contains(&scheme.to_lowercase().as_str()) {
                    let what = format!("`{scheme}://` is no store of this version");
                    let hint = "it has local paths, `s3://`, `gs://` and `az://`";
                    report.add_hint(Code::NotOffered, &spot, what, hint);
                } else {
                    let what = format!("`{scheme}://` is no kind of place that is known");
                    report.add(Code::WrongValue, &spot, what);
                }
                return None;
            }
        };
        if local.contains('\0') {
            report.add(Code::WrongValue, &spot, "a path cannot have a NUL character");
            return None;
        }
        Some(Located { value: Location::Disk(tidy(&self.path.join(local))), spot })
    }
}

/// The place that a URL of a store means, after its scheme. Keys are as they are spelt: nothing is decoded.
fn in_store(
    report: &Report,
    kind: StoreKind,
    rest: &str,
    spot: &Spot,
    storage: Option<&Fields<'_>>,
) -> Option<StoreLocation> {
    let mut settings = match storage {
        Some(storage) => store::settings(report, storage, kind)?,
        None => StoreSettings::default(),
    };
    let (authority, key) = rest.split_once('/').unwrap_or((rest, ""));
    let (mut bucket, mut account) = (authority, None);
    if kind == StoreKind::Azure
        && let Some((container, host)) = authority.split_once('@')
    {
        // Azure's own spelling: `abfss://container@account.dfs.core.windows.net/path`.
        (bucket, account) = (container, host.split('.').next());
        let is_public = AZURE_HOSTS.iter().any(|end| host.ends_with(end));
        if !is_public && !settings.options.contains_key(&StoreOption::Endpoint) {
            let what = format!("`{host}` is no host of Azure's public cloud");
            let hint = "say where the account is by `endpoint`, and write `az://container/path`";
            report.add_hint(Code::WrongValue, spot, what, hint);
            return None;
        }
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if bucket.is_empty() || !bucket.chars().all(plain) {
        let hint = format!(
            "write `{}://bucket/path`; credentials go to the connection's `storage`",
            kind.scheme()
        );
        report.add_hint(Code::WrongValue, spot, "the URL names no bucket", hint);
        return None;
    }
    if let Some(account) = account {
        let known = settings
            .options
            .entry(StoreOption::AccountName)
            .or_insert_with(|| Sensitive::open(account));
        if known.reveal() != account {
            let what = format!("the URL's account is `{account}`, and `storage` names another");
            report.add_hint(Code::Contradiction, spot, what, "keep one of them");
            return None;
        }
    }
    let key = key.trim_end_matches('/').to_owned();
    let spelt = format!("{}://{rest}", kind.scheme());
    is_key(report, &key, &spelt, spot).then(|| StoreLocation {
        kind,
        bucket: bucket.to_owned(),
        key,
        settings: Arc::new(settings),
    })
}

/// Whether the text can be a place in a store: its parts are names, not ways.
pub(super) fn is_key(report: &Report, key: &str, spelt: &str, spot: &Spot) -> bool {
    let wrong = |part: &str| matches!(part, "" | "." | "..") || part.contains(char::is_control);
    let is_key = key.is_empty() || !key.split('/').any(wrong);
    if !is_key {
        let what = format!("`{}` is no place in a store", spelt.escape_debug());
        let hint = "its parts are names between single `/`, none of them `.` or `..`";
        report.add_hint(Code::WrongValue, spot, what, hint);
    }
    is_key
}
