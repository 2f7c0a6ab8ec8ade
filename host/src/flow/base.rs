//! Places below the folder of a connection, which nothing leaves: not by `..`, an absolute path, a link or another bucket.

use std::path::Path;

use super::Location;
use super::StoreLocation;
use super::connection::Connection;
use super::disk::fixed_part;
use super::disk::lexical;
use super::disk::physical;
use super::open::Fields;
use super::places::Folder;
use super::places::is_key;
use super::report::Located;
use super::report::Report;
use super::report::Spot;
use crate::problem::Code;

/// The place that `path` means.
pub(super) fn below(
    report: &Report,
    folder: &Folder,
    connection: Option<&Connection<'_>>,
    base: Option<&Located<Location>>,
    path: Located<String>,
) -> Option<Located<Location>> {
    let storage = connection.and_then(|connection| connection.storage.as_ref());
    let Some(base) = base else { return folder.locate(report, path, storage) };
    let spelt = path.value.clone();
    let found = match &base.value {
        Location::Disk(base) => Folder::at(base.clone()).locate(report, path, storage)?,
        Location::Store(_) if spelt.contains("://") => folder.locate(report, path, storage)?,
        Location::Store(place) if spelt.starts_with('/') => Located {
            value: Location::Store(StoreLocation { key: spelt.clone(), ..place.clone() }),
            spot: path.spot,
        },
        // No connection of a server has a folder.
        Location::Server(_) => return folder.locate(report, path, storage),
        Location::Store(_) => {
            let inner = spelt.strip_prefix("./").unwrap_or(&spelt).trim_end_matches('/');
            let inner = if inner == "." { "" } else { inner };
            if !is_key(report, inner, &spelt, &path.spot) {
                return None;
            }
            Located { value: base.value.join(inner), spot: path.spot }
        }
    };
    stays(report, &base.value, &found.value, &spelt, &found.spot).then_some(found)
}

/// The folder `schema/table`; the folder `table` where the schema is blank or absent.
pub(super) fn table(
    report: &Report,
    fields: &Fields<'_>,
    base: Option<&Located<Location>>,
    schema: Option<Located<String>>,
    table: Located<String>,
) -> Option<Located<Location>> {
    let mut plain = true;
    for name in schema.iter().chain([&table]) {
        let text = name.value.as_str();
        if text.starts_with('.') || text.contains(['/', '\\', '\0']) || text.contains("://") {
            let what = format!("`{text}` is no single folder name");
            report.add_hint(Code::WrongValue, &name.spot, what, "use `path` for other places");
            plain = false;
        }
    }
    let Some(base) = base else {
        let (what, at) = match schema {
            Some(_) => ("`schema` and `table` are", "schema"),
            None => ("`table` is", "table"),
        };
        let what = format!("{what} below a connection's `base_path`; there is none here");
        let hint = "give the connection a `base_path`, or use `path`";
        report.add_hint(Code::MissingKey, &fields.key_of(at), what, hint);
        return None;
    };
    let (folder, spelt) = match schema {
        Some(schema) => {
            (base.value.join(&schema.value), format!("{}/{}", schema.value, table.value))
        }
        None => (base.value.clone(), table.value.clone()),
    };
    let value = folder.join(&table.value);
    (plain && stays(report, &base.value, &value, &spelt, &table.spot))
        .then_some(Located { value, spot: table.spot })
}

/// Whether a place is below the connection's folder; that it is not is told.
fn stays(report: &Report, base: &Location, place: &Location, spelt: &str, spot: &Spot) -> bool {
    let is_below = match (base, place) {
        (Location::Disk(base), Location::Disk(path)) => {
            let absolute = |path: &Path| {
                lexical(&std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()))
            };
            // Both: what is spelt, and what is there.
            absolute(path).starts_with(absolute(base))
                && physical(&fixed_part(path)).starts_with(physical(base))
        }
        (Location::Store(base), Location::Store(place)) => {
            // A bucket of this name may be another account's.
            (base.kind, &base.bucket, &base.settings)
                == (place.kind, &place.bucket, &place.settings)
                && Path::new(&place.key).starts_with(&base.key)
        }
        _ => false,
    };
    if !is_below {
        let what = format!("`{spelt}` leaves the connection's `base_path`, `{base}`");
        let hint = "name a place below it, or use a connection without a `base_path`";
        report.add_hint(Code::NotAllowed, spot, what, hint);
    }
    is_below
}
