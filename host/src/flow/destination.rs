//! A destination, from its block and its connection.

use super::Compression;
use super::CsvWrite;
use super::Destination;
use super::Layout;
use super::Load;
use super::ParquetWrite;
use super::PartitionColumn;
use super::WriteFormat;
use super::connection::Connection;
use super::connection::Connections;
use super::connection::location;
use super::destinations::DESTINATION;
use super::format::format;
use super::loading::check_schema_change;
use super::loading::load;
use super::loading::schema_change;
use super::location::Folder;
use super::location::is_pattern;
use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::options::WRITE_OPTIONS;
use super::report::Located;
use super::report::Report;
use super::report::Spot;
use crate::name::ColumnName;
use crate::name::DestinationName;
use crate::problem::Code;

/// Bytes after which a new file is begun, unless the flow says otherwise.
pub(super) const TARGET_FILE_SIZE: u64 = 128 << 20;

/// A destination, and where the flow says its name and its path.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) destination: Destination,
    pub(super) name: Spot,
    pub(super) path: Spot,
}

/// All destinations of the flow that can be read.
pub(super) fn destinations<'a>(
    report: &'a Report,
    flow: &Fields<'a>,
    connections: &Connections<'a>,
    folder: &Folder,
) -> Vec<Written> {
    let Some(found) = flow.get("destinations") else { return Vec::new() };
    match &found.node.shape {
        Shape::List(items) => {
            if items.is_empty() {
                report.add(Code::WrongValue, &found.spot, "a flow has at least one destination");
            }
            let items = items.iter().enumerate();
            items
                .filter_map(|(index, item)| {
                    let spot = found.spot.item(index, item.at);
                    read(report, item, &spot, &format!("d{index}"), connections, folder)
                })
                .collect()
        }
        Shape::Map(_) => {
            read(report, found.node, &flow.key_of("destinations"), "d0", connections, folder)
                .into_iter()
                .collect()
        }
        _ => {
            let what = format!(
                "a destination or a list of destinations is due here; this is {}",
                found.node.kind()
            );
            report.add(Code::WrongType, &found.spot, what);
            Vec::new()
        }
    }
}

/// The flow's own quarantine.
pub(super) fn quarantine<'a>(
    report: &'a Report,
    flow: &Fields<'a>,
    connections: &Connections<'a>,
    folder: &Folder,
) -> Option<Written> {
    let found = flow.get("quarantine")?;
    let spot = flow.key_of("quarantine");
    let written = read(report, found.node, &spot, "quarantine", connections, folder)?;
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

fn read<'a>(
    report: &'a Report,
    node: &'a Node,
    spot: &Spot,
    default_name: &str,
    connections: &Connections<'a>,
    folder: &Folder,
) -> Option<Written> {
    let fields = Fields::open(report, &DESTINATION, node, spot)?;
    let connection = Connection::of(report, &fields, connections, folder);
    let own = own_options(report, &fields, spot);
    own.verify_options();
    let name = name(report, &fields, default_name);
    let columns = fields.names("columns");
    let partition_columns = fields.names("partition_columns");
    check_columns(report, columns.as_ref(), partition_columns.as_ref());
    let (format, path) = match &connection {
        Ok(connection) => (
            format(report, &fields, connection.as_ref().map(|connection| &connection.format)),
            location(report, &fields, connection.as_ref(), folder),
        ),
        Err(()) => (None, None),
    };
    let load = load(report, &fields, format.as_ref().map(|format| format.value));
    let path =
        path.filter(|path| is_folder(report, path, format.as_ref().map(|format| format.value)));
    let under = connection
        .as_ref()
        .ok()
        .and_then(Option::as_ref)
        .and_then(|found| found.write_options.as_ref());
    let mut options = own.over(under);
    let format = format?.value;
    options.keep_used_by(format);
    let path = path?;
    let (load, schema_change) = (load?, schema_change(report, &options)?);
    check_schema_change(report, &options, &load, schema_change)?;
    let destination = Destination {
        name: name?,
        path: path.value,
        format: write_format(format, &options)?,
        load,
        columns: columns.map(|columns| columns.value),
        partition_columns: partition_columns
            .map(|columns| columns.value)
            .unwrap_or_default()
            .into_iter()
            .map(|column| PartitionColumn { column, expression: None })
            .collect(),
        schema_change,
        layout: Layout::default(),
        table_properties: std::collections::BTreeMap::new(),
        at: report.place(spot),
    };
    Some(Written { destination, name: fields.key_of("name"), path: path.spot })
}

/// `write_options` and `options`, which mean the same here.
fn own_options<'a>(report: &'a Report, fields: &Fields<'a>, spot: &Spot) -> Fields<'a> {
    let open = |name| {
        let found = fields.get(name)?;
        Fields::open(report, &WRITE_OPTIONS, found.node, &found.spot)
    };
    match (open("write_options"), open("options")) {
        (Some(first), Some(second)) => first.beside(second),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => Fields::none(report, &WRITE_OPTIONS, spot),
    }
}

fn name(report: &Report, fields: &Fields<'_>, default: &str) -> Option<DestinationName> {
    let (text, spot) = match fields.text("name") {
        Some(name) => (name.value, name.spot),
        None if fields.get("name").is_some() => return None,
        None => (default.to_owned(), fields.spot.clone()),
    };
    DestinationName::new(text).map_err(|what| report.add(Code::WrongValue, &spot, what)).ok()
}

fn check_columns(
    report: &Report,
    columns: Option<&Located<Vec<ColumnName>>>,
    partitions: Option<&Located<Vec<ColumnName>>>,
) {
    let (Some(columns), Some(partitions)) = (columns, partitions) else { return };
    for partition in &partitions.value {
        if !columns.value.contains(partition) {
            let what = format!("the partition column `{partition}` is not among `columns`");
            report.add_hint(Code::Contradiction, &partitions.spot, what, "add it to `columns`");
        }
    }
    if columns.value.iter().all(|column| partitions.value.contains(column)) {
        let what = "all columns are partition columns; no column would be left for the files";
        report.add(Code::Contradiction, &partitions.spot, what);
    }
}

/// A destination is a folder that files are written into.
fn is_folder(report: &Report, path: &Located<std::path::PathBuf>, format: Option<&str>) -> bool {
    if path.value.components().any(|part| is_pattern(part.as_os_str())) {
        let what =
            format!("`{}` has a wildcard; a destination is one folder", path.value.display());
        report.add(Code::WrongValue, &path.spot, what);
        return false;
    }
    let extension =
        path.value.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    if let (Some(extension), Some(format)) = (extension, format)
        && extension == format
        && format != "delta"
    {
        let what =
            format!("`{}` looks like a file; a destination is a folder", path.value.display());
        let folder = path.value.with_extension("");
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

fn write_format(format: &str, options: &Fields<'_>) -> Option<WriteFormat> {
    let parquet = || ParquetWrite {
        compression: match options.word("compression").map(|word| word.value.name) {
            Some("none") => Compression::None,
            Some("zstd") => Compression::Zstd,
            Some("gzip") => Compression::Gzip,
            Some("lz4") => Compression::Lz4,
            _ => Compression::Snappy,
        },
        target_file_size: options
            .bytes("target_file_size")
            .map_or(TARGET_FILE_SIZE, |bytes| bytes.value),
    };
    Some(match format {
        "delta" => WriteFormat::Delta(parquet()),
        "parquet" => WriteFormat::Parquet(parquet()),
        "csv" => WriteFormat::Csv(CsvWrite {
            header: options.flag("header").is_none_or(|flag| flag.value),
            delimiter: options.character("delimiter").map_or(b',', |c| c.value),
            null_value: options.text("null_value").map(|text| text.value).unwrap_or_default(),
        }),
        "jsonl" => WriteFormat::Jsonl {},
        _ => return None,
    })
}
