//! A destination, from its block and its connection.

use std::path::Path;

use super::Destination;
use super::Load;
use super::Location;
use super::connection::Connection;
use super::connection::Connections;
use super::connection::format_and_place;
use super::date_folders::by_date;
use super::destinations::DESTINATION;
use super::disk::is_pattern;
use super::layout;
use super::loading::Completeness;
use super::loading::Loading;
use super::loading::load_type;
use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::options::MERGE_OPTIONS;
use super::options::WRITE_OPTIONS;
use super::places::Folder;
use super::projection::Projection;
use super::report::Located;
use super::report::Report;
use super::report::Spot;
use super::rules::rules;
use super::scope::Scope;
use super::steps::steps;
use super::used::tell_left;
use super::writing::write_format;
use crate::name::DestinationName;
use crate::problem::Code;

/// A destination, and where the flow says its name and its path.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) destination: Destination,
    pub(super) name: Spot,
    pub(super) path: Spot,
}

/// All destinations of the flow that can be read.
pub(super) fn destinations<'a>(
    scope: &Scope<'a>,
    flow: &Fields<'a>,
    connections: &Connections<'a>,
    folder: &Folder,
    completeness: Option<Completeness>,
) -> Vec<Written> {
    let report = scope.report;
    let Some(found) = flow.get("destinations") else { return Vec::new() };
    let all = match &found.node.shape {
        Shape::List(items) => {
            if items.is_empty() {
                report.add(Code::WrongValue, &found.spot, "a flow has at least one destination");
            }
            let items = items.iter().enumerate();
            items
                .filter_map(|(index, item)| {
                    let spot = found.spot.item(index, item.at);
                    let name = format!("d{index}");
                    let read = read(scope, item, &spot, &name, connections, folder, completeness);
                    scope.read(read)
                })
                .collect()
        }
        Shape::Map(_) => {
            let spot = flow.key_of("destinations");
            let read = read(scope, found.node, &spot, "d0", connections, folder, completeness);
            scope.read(read).into_iter().collect()
        }
        _ => {
            let what = format!(
                "a destination or a list of destinations is due here; this is {}",
                found.node.kind()
            );
            report.add(Code::WrongType, &found.spot, what);
            Vec::new()
        }
    };
    tell_left(report, connections);
    all
}

/// The flow's own quarantine.
pub(super) fn quarantine<'a>(
    scope: &Scope<'a>,
    flow: &Fields<'a>,
    connections: &Connections<'a>,
    folder: &Folder,
) -> Option<Written> {
    let report = scope.report;
    let found = flow.get("quarantine")?;
    let spot = flow.key_of("quarantine");
    check_quarantine(report, found.node, &spot);
    let written = read(scope, found.node, &spot, "quarantine", connections, folder, None)?;
    match &written.destination.load {
        Load::Append {} => Some(written),
        _ => {
            let what =
                "a quarantine is appended to, so that no run hides what an earlier one set aside";
            report.add_hint(Code::Contradiction, &spot, what, "leave `load_type` out");
            None
        }
    }
}

/// A quarantine's columns are its own, and it is written as it comes.
fn check_quarantine(report: &Report, node: &Node, spot: &Spot) {
    // Reading tells what is wrong with the block itself.
    let untold = Report::new(String::new());
    let Some(mut fields) = Fields::open(&untold, &DESTINATION, node, spot) else { return };
    let options = own_options(&untold, &mut fields, spot);
    let no_part = [
        (&fields, "transforms"),
        (&fields, "rules"),
        (&fields, "columns"),
        (&fields, "partition_columns"),
        (&fields, "optimize_after_write"),
        (&fields, "zorder_columns"),
        (&fields, "table_properties"),
        (&options, "merge_schema"),
    ];
    for (fields, name) in no_part.into_iter().filter(|(fields, name)| fields.get(name).is_some()) {
        let what = format!("`{name}` does not apply to a quarantine");
        report.add_hint(Code::Contradiction, &fields.key_of(name), what, "leave it out");
    }
}

fn read<'a>(
    scope: &Scope<'a>,
    node: &'a Node,
    spot: &Spot,
    default_name: &str,
    connections: &Connections<'a>,
    folder: &Folder,
    completeness: Option<Completeness>,
) -> Option<Written> {
    let report = scope.report;
    let mut fields = Fields::open(report, &DESTINATION, node, spot)?;
    let connection = Connection::of(report, &fields, connections, folder);
    fields.verify();
    let own = own_options(report, &mut fields, spot);
    own.verify();
    let name = name(report, &fields, default_name);
    let transforms = scope.apart(|| steps(scope, &fields));
    let rules = rules(scope, &fields);
    let columns = fields.names("columns");
    let partition_columns = fields.partitions("partition_columns");
    let (format, path) = format_and_place(report, &fields, &connection, folder);
    let format = format.map(|format| format.value);
    let load_type = load_type(report, &fields, format);
    let path = path.filter(|path| is_folder(report, path, format));
    let connected = connection.as_ref().ok().and_then(Option::as_ref);
    let under = connected.and_then(|found| match &found.write_options {
        Some(options) if !found.is_own => Some(options.used_by_load(load_type, &found.left)),
        options => options.clone(),
    });
    let mut options = own.over(under.as_ref());
    // Whether these count is for the load strategy to say, not for the format.
    let merging = options.take(&MERGE_OPTIONS);
    let format = format?;
    options.keep_used_by(format);
    options.keep_codec_of(format);
    let loading = load_type.map(|load_type| Loading {
        report,
        fields: &fields,
        merging: &merging,
        load_type,
        format,
        partition_columns: match &partition_columns {
            Some(columns) => Some(columns.value.as_slice()),
            None if fields.is_attempted("partition_columns") => None,
            None => Some(&[]),
        },
        completeness,
    });
    let load = loading.as_ref().and_then(Loading::read);
    let by_date = by_date(report, &fields, connected, format, partition_columns.as_ref());
    let projection = Projection {
        columns: columns.as_ref(),
        partitions: partition_columns.as_ref(),
        load: load.as_ref(),
    };
    projection.check(report, &fields, &merging, load_type);
    let layout = layout::layout(report, &fields, format, partition_columns.as_ref());
    let schema_change = layout::schema_change(report, &fields, &options, load_type);
    let table_properties = layout::table_properties(report, &fields, format, load_type);
    let write_format = write_format(report, format, &options);
    let path = path?;
    let destination = Destination {
        name: name?,
        path: path.value,
        format: write_format?,
        transforms,
        rules,
        load: load?,
        columns: columns.map(|columns| columns.value),
        partition_columns: partition_columns.map(|columns| columns.value).unwrap_or_default(),
        by_date: by_date?,
        schema_change,
        layout,
        table_properties,
        at: report.place(spot),
    };
    Some(Written { destination, name: fields.key_of("name"), path: path.spot })
}

/// `write_options`, `options` and `merge_options`, and what the block itself says of merging; no option twice.
fn own_options<'a>(report: &'a Report, fields: &mut Fields<'a>, spot: &Spot) -> Fields<'a> {
    let merging = fields.take(&MERGE_OPTIONS);
    let mut all = Fields::none(report, &WRITE_OPTIONS, spot).beside(merging);
    for (name, block) in [
        ("write_options", &WRITE_OPTIONS),
        ("options", &WRITE_OPTIONS),
        ("merge_options", &MERGE_OPTIONS),
    ] {
        let found = fields.get(name);
        if let Some(options) =
            found.and_then(|found| Fields::open(report, block, found.node, &found.spot))
        {
            all = all.beside(options);
        }
    }
    all
}

fn name(report: &Report, fields: &Fields<'_>, default: &str) -> Option<DestinationName> {
    let (text, spot) = match fields.text("name") {
        Some(name) => (name.value, name.spot),
        None if fields.get("name").is_some() => return None,
        None => (default.to_owned(), fields.spot.clone()),
    };
    DestinationName::new(text).map_err(|what| report.add(Code::WrongValue, &spot, what)).ok()
}

/// A destination is a folder that files are written into.
fn is_folder(report: &Report, path: &Located<Location>, format: Option<&str>) -> bool {
    let shown = path.value.shown();
    if shown.components().any(|part| is_pattern(part.as_os_str())) {
        let what = format!("`{}` has a wildcard; a destination is one folder", path.value);
        report.add(Code::WrongValue, &path.spot, what);
        return false;
    }
    let extension =
        |path: &Path| path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    let compressed = extension(&shown)
        .is_some_and(|extension| ["gz", "zst", "bz2", "xz"].contains(&extension.as_str()));
    let file = if compressed { shown.with_extension("") } else { shown.clone() };
    if let (Some(extension), Some(format)) = (extension(&file), format)
        && extension == format
        && format != "delta"
    {
        let what = format!("`{}` looks like a file; a destination is a folder", path.value);
        let folder = file.with_extension("");
        report.add_hint(
            Code::WrongValue,
            &path.spot,
            what,
            format!("write `{}`", folder.display()),
        );
        return false;
    }
    true
}
