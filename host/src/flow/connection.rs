//! Connections, and what a source or destination takes from one: its format, its folder, its options.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::blocks::CONNECTION;
use super::fields::Kind;
use super::fields::Word;
use super::location::Folder;
use super::location::below_base;
use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::options::READ_OPTIONS;
use super::options::WRITE_OPTIONS;
use super::report::Located;
use super::report::Report;
use super::report::Spot;
use super::scalars;
use super::words::PATH_BASED;
use crate::problem::Code;
use crate::problem::known_names;

/// A connection whose own settings were judged.
#[derive(Debug, Clone)]
pub(super) struct Connection<'a> {
    format: Option<Located<&'static Word>>,
    file_format: Option<Located<&'static Word>>,
    connection_type: Option<Located<&'static Word>>,
    /// An error where it is set and cannot be one.
    base_path: Result<Option<Located<PathBuf>>, ()>,
    /// Whether a setting that decides on the format is there but wrong.
    format_is_broken: bool,
    pub(super) read_options: Option<Fields<'a>>,
    pub(super) write_options: Option<Fields<'a>>,
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
        let options = |name, block| {
            let found = fields.get(name)?;
            let options = Fields::open(report, block, found.node, &found.spot)?;
            options.verify_options();
            Some(options)
        };
        let base_path = match fields.get("base_path") {
            None => Ok(None),
            Some(_) => fields
                .text("base_path")
                .and_then(|path| folder.resolve(report, path))
                .map(Some)
                .ok_or(()),
        };
        Some(Self {
            format_is_broken: format_is_broken(&fields),
            format: fields.word("format"),
            file_format: fields.word("file_format"),
            connection_type: fields.word("connection_type"),
            base_path,
            read_options: options("options", &READ_OPTIONS),
            write_options: options("write_options", &WRITE_OPTIONS),
        })
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
            return Self::read(report, found.node, &found.spot, folder).map(Some).ok_or(());
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

/// The one format that a block and its connection agree on, path-based ones replaced by the files' own.
pub(super) fn format(
    report: &Report,
    fields: &Fields<'_>,
    connection: Option<&Connection<'_>>,
) -> Option<Located<&'static str>> {
    let own = |name| fields.word(name);
    // What is set but wrong was told already; falling back to another format would only confuse.
    if format_is_broken(fields) || connection.is_some_and(|connection| connection.format_is_broken)
    {
        return None;
    }
    let declared = own("format").or_else(|| connection?.format.clone());
    let declared_type = own("connection_type").or_else(|| connection?.connection_type.clone());
    let Some(format) = declared.clone().or_else(|| declared_type.clone()) else {
        fields.missing("format");
        return None;
    };
    if let (Some(format), Some(kind)) = (&declared, &declared_type)
        && format.value.name != kind.value.name
        && !(kind.value.name == "file" && PATH_BASED.contains(&format.value.name))
    {
        let what = format!(
            "`connection_type` is `{}` and `format` is `{}`",
            kind.value.name, format.value.name
        );
        report.add_hint(Code::Contradiction, &kind.spot, what, "leave `connection_type` out");
        return None;
    }
    let file_format = own("file_format").or_else(|| connection?.file_format.clone());
    let format = match (format.value.name, file_format) {
        ("file", Some(files)) => files,
        ("file", None) => return Some(format.map(|_| "parquet")),
        (_, None) => format,
        (name, Some(files)) if files.value.name == name => format,
        (name, Some(files)) => {
            let what = format!("`file_format` is `{}` and `format` is `{name}`", files.value.name);
            report.add_hint(
                Code::Contradiction,
                &files.spot,
                what,
                "leave `file_format` out, or write `format: file`",
            );
            return None;
        }
    };
    // The connection's own table knows formats that this side of the flow cannot use.
    let Kind::Word(words) = fields.block.find("format")?.kind else { return None };
    scalars::word(report, &fields.key_of("connection"), "format", format.value.name, words)
        .map(|word| Located { value: word.name, spot: format.spot })
}

fn format_is_broken(fields: &Fields<'_>) -> bool {
    let broken = |name| fields.is_attempted(name) && fields.word(name).is_none();
    ["format", "file_format", "connection_type"].into_iter().any(broken)
}

/// Where a block's data is: its `path`, or `schema` and `table` below the connection's folder.
pub(super) fn location(
    report: &Report,
    fields: &Fields<'_>,
    connection: Option<&Connection<'_>>,
    folder: &Folder,
) -> Option<Located<PathBuf>> {
    let base = match connection.map(|connection| &connection.base_path) {
        Some(Err(())) => return None,
        Some(Ok(base)) => base.as_ref(),
        None => None,
    };
    let (path, schema, table) = (fields.text("path"), fields.text("schema"), fields.text("table"));
    match (fields.get("path"), fields.get("schema"), fields.get("table")) {
        (Some(_), None, None) => {
            let path = path?;
            match base {
                Some(base) => Folder::at(base.value.clone()).resolve(report, path),
                None => folder.resolve(report, path),
            }
        }
        (Some(_), _, _) => {
            let what = "`path` and `schema` with `table` are two ways to say where";
            report.add_hint(Code::Contradiction, &fields.key_of("path"), what, "keep one of them");
            None
        }
        (None, Some(_), Some(_)) => below_base(report, fields, base, schema?, table?),
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
                "or `schema` and `table` with a connection that has a `base_path`",
            );
            None
        }
        (None, set, _) => {
            fields.missing(if set.is_some() {
                "table` beside `schema"
            } else {
                "schema` beside `table"
            });
            None
        }
    }
}
