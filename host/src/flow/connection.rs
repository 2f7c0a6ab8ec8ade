//! Connections, and what a source or destination takes from one: its format, its folder, its options.

use std::collections::BTreeMap;

use super::DateFolders;
use super::Location;
use super::base;
use super::blocks::CONNECTION;
use super::date_folders::date_folders;
use super::format::Declared;
use super::format::format;
use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::options::MERGE_OPTIONS;
use super::options::READ_OPTIONS;
use super::options::WRITE_OPTIONS;
use super::places::Folder;
use super::report::Located;
use super::report::Report;
use super::report::Spot;
use super::sql;
use super::store;
use super::used::Left;
use crate::problem::Code;
use crate::problem::known_names;

/// A connection whose own settings were judged.
#[derive(Debug, Clone)]
pub(super) struct Connection<'a> {
    /// Everything that it sets.
    pub(super) fields: Fields<'a>,
    /// An error where its format is set and cannot be one.
    pub(super) format: Result<Declared, ()>,
    /// An error where it is set and cannot be one.
    base_path: Result<Option<Located<Location>>, ()>,
    /// How to get into its object store.
    pub(super) storage: Option<Fields<'a>>,
    pub(super) read_options: Option<Fields<'a>>,
    /// Those of merging among them.
    pub(super) write_options: Option<Fields<'a>>,
    /// Which of them some destinations have no use for.
    pub(super) left: Left,
    /// Whether it stands in the block that uses it, and serves nobody else.
    pub(super) is_own: bool,
    /// An error where they are set and cannot be any.
    pub(super) date_folders: Result<Option<Located<DateFolders>>, ()>,
}

/// Connections by name.
pub(super) type Connections<'a> = BTreeMap<String, Option<Connection<'a>>>;

/// All connections of the flow. One that could not be read is there by name, so that its users are not blamed.
pub(super) fn connections<'a>(
    report: &'a Report,
    flow: &Fields<'a>,
    folder: &Folder,
) -> Connections<'a> {
    let mut connections = Connections::new();
    let Some(found) = flow.get("connections") else { return connections };
    let Shape::Map(entries) = &found.node.shape else {
        let what = format!(
            "`connections` is a map from name to connection; this is {}",
            found.node.kind()
        );
        report.add(Code::WrongType, &found.spot, what);
        return connections;
    };
    for entry in entries {
        let spot = found.spot.key(&entry.key, entry.at);
        connections
            .insert(entry.key.clone(), Connection::read(report, &entry.value, &spot, folder));
    }
    connections
}

impl<'a> Connection<'a> {
    fn read(report: &'a Report, node: &'a Node, spot: &Spot, folder: &Folder) -> Option<Self> {
        let fields = Fields::open(report, &CONNECTION, node, spot)?;
        let format = Declared::read(report, &fields);
        let options = |name, block| {
            let found = fields.get(name)?;
            let mut options = Fields::open(report, block, found.node, &found.spot)?;
            options.verify();
            // Also where nothing uses the connection.
            if let Some(format) = format.as_ref().ok().and_then(Declared::alone) {
                options.keep_used_by(format);
                if block.find("compression").is_some() {
                    options.keep_codec_of(format);
                }
            }
            Some(options)
        };
        let read_options = options("options", &READ_OPTIONS);
        let merge_options = options("merge_options", &MERGE_OPTIONS);
        let write_options = match (options("write_options", &WRITE_OPTIONS), merge_options) {
            (None, None) => None,
            (writing, merging) => {
                let writing = writing.unwrap_or_else(|| Fields::none(report, &WRITE_OPTIONS, spot));
                Some(merging.into_iter().fold(writing, Fields::beside))
            }
        };
        let storage = fields.get("storage").and_then(|found| store::storage(report, found));
        let base_path = match fields.get("base_path") {
            None => Ok(None),
            Some(_) => fields
                .text("base_path")
                .and_then(|path| folder.locate(report, path, storage.as_ref()))
                .map(Some)
                .ok_or(()),
        };
        let alone = format.as_ref().ok().and_then(Declared::alone);
        sql::judge_connection(report, &fields, alone);
        let date_folders = date_folders(report, &fields);
        Some(Self {
            fields,
            format,
            base_path,
            storage,
            read_options,
            write_options,
            left: Left::default(),
            is_own: false,
            date_folders,
        })
    }

    /// Its folder.
    pub(super) fn base(&self) -> Option<Location> {
        Some(self.base_path.as_ref().ok()?.as_ref()?.value.clone())
    }

    /// The connection that a source or destination names or holds.
    ///
    /// # Errors
    /// Where it names or holds one that cannot be read; the problem is told.
    pub(super) fn of(
        report: &'a Report,
        fields: &Fields<'a>,
        connections: &Connections<'a>,
        folder: &Folder,
    ) -> Result<Option<Self>, ()> {
        let Some(found) = fields.get("connection") else { return Ok(None) };
        if let Shape::Map(_) = found.node.shape {
            let own = Self::read(report, found.node, &found.spot, folder);
            return own.map(|own| Some(Self { is_own: true, ..own })).ok_or(());
        }
        let name = fields.text("connection").ok_or(())?;
        match connections.get(name.value.trim()) {
            Some(connection) => connection.clone().map(Some).ok_or(()),
            None => {
                let hint = known_names(&name.value, connections.keys().map(String::as_str));
                report.add_hint(
                    Code::UnknownName,
                    &name.spot,
                    format!("there is no connection `{}`", name.value),
                    hint,
                );
                Err(())
            }
        }
    }
}

/// What a block's data is and where: a view by its name, a database nowhere, anything else below the connection's folder.
///
/// A connection that cannot be read leaves both unknown; it was told why.
pub(super) fn format_and_place(
    report: &Report,
    fields: &Fields<'_>,
    connection: &Result<Option<Connection<'_>>, ()>,
    folder: &Folder,
) -> (Option<Located<&'static str>>, Option<Located<Location>>) {
    let Ok(connection) = connection else { return (None, None) };
    let connection = connection.as_ref();
    let format = format(report, fields, connection.map(|connection| &connection.format));
    if let (Some(format), Some(connection)) = (&format, connection) {
        sql::judge_connection(report, &connection.fields, Some(format.value));
    }
    let path = match &format {
        Some(format) if format.value == "view" => {
            folder.view(report, fields).map(|path| path.map(Location::Disk))
        }
        // A database is no place among files.
        Some(format) if format.value == "sql" => None,
        _ => location(report, fields, connection, folder),
    };
    (format, path)
}

/// Where a block's data is: its `path`, or `table` below the connection's folder, in the folder `schema` where there is one.
fn location(
    report: &Report,
    fields: &Fields<'_>,
    connection: Option<&Connection<'_>>,
    folder: &Folder,
) -> Option<Located<Location>> {
    let base = match connection.map(|connection| &connection.base_path) {
        Some(Err(())) => return None,
        Some(Ok(base)) => base.as_ref(),
        None => None,
    };
    let (path, schema, table) = (fields.text("path"), fields.text("schema"), fields.text("table"));
    // A blank schema is none.
    let is_blank = schema.as_ref().is_some_and(|schema| schema.value.trim().is_empty());
    let schema_set = fields.get("schema").filter(|_| !is_blank);
    match (fields.get("path"), schema_set, fields.get("table")) {
        (Some(_), None, None) => base::below(report, folder, connection, base, path?),
        (Some(_), _, _) => {
            let what = "`path` and `schema` with `table` are two ways to say where";
            report.add_hint(Code::Contradiction, &fields.key_of("path"), what, "keep one of them");
            None
        }
        (None, Some(_), Some(_)) => base::table(report, fields, base, Some(schema?), table?),
        (None, None, Some(_)) => base::table(report, fields, base, None, table?),
        (None, None, None)
            if ["path", "schema", "table"].into_iter().any(|name| fields.is_attempted(name)) =>
        {
            None
        }
        (None, None, None) => {
            report.add_hint(
                Code::MissingKey,
                &fields.spot,
                format!("{} needs `path`", fields.block.name),
                "or `table`, with its `schema` where need be, and a connection that has a `base_path`",
            );
            None
        }
        (None, Some(_), None) => {
            fields.missing("table` beside `schema");
            None
        }
    }
}
