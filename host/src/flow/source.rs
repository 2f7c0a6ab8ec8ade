//! A source, from its block and its connection.

use std::collections::BTreeMap;

use arrow::datatypes::DataType;
use chrono::DateTime;
use chrono::NaiveDate;
use chrono::NaiveDateTime;
use chrono::Utc;
use encoding_rs::Encoding;
use encoding_rs::UTF_8;

use super::AsOf;
use super::CsvRead;
use super::JsonRead;
use super::Location;
use super::ReadFormat;
use super::Source;
use super::Step;
use super::Work;
use super::blocks::SOURCE;
use super::blocks::SOURCE_READ;
use super::connection::Connection;
use super::connection::Connections;
use super::connection::format_and_place;
use super::node::Node;
use super::open::Fields;
use super::options::READ_OPTIONS;
use super::places::Folder;
use super::report::Located;
use super::report::Report;
use super::report::Spot;
use super::sql;
use super::types::ColumnTypes;
use crate::name::ColumnName;
use crate::problem::Code;
use crate::problem::Place;

/// Reads one source.
pub(super) fn read<'a>(
    report: &'a Report,
    name: String,
    node: &'a Node,
    spot: &Spot,
    connections: &Connections<'a>,
    folder: &Folder,
) -> Option<Source> {
    let fields = Fields::open(report, &SOURCE, node, spot)?;
    // All that can be judged is judged, so that one problem does not hide another.
    let connection = Connection::of(report, &fields, connections, folder);
    let connected = connection.as_ref().ok().and_then(Option::as_ref);
    let own = match fields.get("options") {
        Some(found) => Fields::open(report, &READ_OPTIONS, found.node, &found.spot),
        None => None,
    };
    if let Some(own) = &own {
        own.verify();
    }
    let source_complete = source_complete(report, &fields);
    let filter = fields.sql("filter");
    if source_complete && fields.get("filter").is_some() {
        let what =
            "`filter` leaves rows out, and `source_complete: true` says that none is missing";
        report.add_hint(Code::Contradiction, &fields.key_of("filter"), what, "keep one of them");
    }
    let columns = fields.names("columns");
    let hints = fields.types("schema_hints");
    let recursive = fields.flag("recursive");
    let path_glob_filter = fields.text("path_glob_filter");
    if let Some(glob) = &path_glob_filter
        && let Err(error) = globset::Glob::new(&glob.value)
    {
        report.add(
            Code::WrongValue,
            &glob.spot,
            format!("`{}` is no pattern: {}", glob.value, error.kind()),
        );
    }
    let (format, path) = format_and_place(report, &fields, &connection, folder);
    let under = connected.and_then(|connection| connection.read_options.as_ref());
    let mut options = own.unwrap_or_else(|| Fields::none(report, &READ_OPTIONS, spot)).over(under);
    let format = format?.value;
    options.keep_used_by(format);
    let schema_hints = schema_hints(report, hints, &options);
    let as_of = as_of(report, &fields, format);
    let query = query(report, &fields, format, spot);
    let (format, path) = match format {
        "sql" => {
            let read = sql::read(report, &fields, connected, &options, folder)?;
            let place = Location::Server(read.server.to_string());
            (ReadFormat::Sql(Box::new(read)), place)
        }
        "delta" => (ReadFormat::Delta(as_of), path?.value),
        format => {
            let path = path?.value;
            (read_format(report, format, &options)?, path)
        }
    };
    Some(Source {
        name,
        path,
        base: connected.and_then(Connection::base),
        format,
        columns: columns.map(|columns| columns.value),
        schema_hints,
        merge_schema: options.flag("merge_schema").is_some_and(|flag| flag.value),
        allow_missing: options.flag("allow_missing").is_some_and(|flag| flag.value),
        recursive: recursive.is_none_or(|flag| flag.value),
        path_glob_filter: path_glob_filter.map(|glob| glob.value),
        filter: filter.map(|sql| sql.value),
        source_complete,
        query,
        at: report.place(spot),
    })
}

/// The query over a table, as a step; files have steps for that.
fn query(report: &Report, fields: &Fields<'_>, format: &str, spot: &Spot) -> Option<Step> {
    let query = fields.sql("query")?;
    // A database answers its own.
    if format == "sql" {
        return None;
    }
    if format != "delta" {
        let what = format!("`query` asks tables; `{format}` is none");
        let hint = "a `sql` step does the same for files; it calls their rows `input`";
        report.add_hint(Code::NotOffered, &fields.key_of("query"), what, hint);
        return None;
    }
    let at = Place { field: spot.path.clone(), ..report.place(&query.spot) };
    Some(Step { work: Work::Query { query: query.value }, at })
}

/// Which version of the table is asked for; files have one only.
fn as_of(report: &Report, fields: &Fields<'_>, format: &str) -> AsOf {
    let version = fields.whole("version_as_of");
    let time = fields.text("timestamp_as_of");
    for name in ["version_as_of", "timestamp_as_of"] {
        if format != "delta" && fields.get(name).is_some() {
            let what = format!("`{format}` has no versions");
            let hint = "leave it out; Delta tables have versions";
            report.add_hint(Code::Contradiction, &fields.key_of(name), what, hint);
        }
    }
    match (version, time) {
        (Some(_), Some(time)) => {
            let what = "`version_as_of` and `timestamp_as_of` are two ways to say which version";
            report.add_hint(Code::Contradiction, &time.spot, what, "keep one of them");
            AsOf::Newest {}
        }
        (Some(version), None) => AsOf::Version(version.value),
        (None, Some(time)) => match moment(&time.value) {
            Some(at) => AsOf::Timestamp(at),
            None => {
                let what = format!("`{}` is no time", time.value);
                let hint = "such as `2026-08-01`, `2026-08-01 12:00:00` (both UTC) or `2026-08-01T12:00:00+02:00`";
                report.add_hint(Code::WrongValue, &time.spot, what, hint);
                AsOf::Newest {}
            }
        },
        (None, None) => AsOf::Newest {},
    }
}

/// A day's first moment, or a moment; in UTC where no zone is said.
fn moment(text: &str) -> Option<DateTime<Utc>> {
    let text = text.trim();
    if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return Some(at.to_utc());
    }
    let day =
        NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().and_then(|day| day.and_hms_opt(0, 0, 0));
    let at = ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f"]
        .iter()
        .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok());
    day.or(at).map(|at| at.and_utc())
}

/// Whether the source holds the full current state, as it says itself.
fn source_complete<'a>(report: &'a Report, fields: &Fields<'a>) -> bool {
    let flag = fields.flag("source_complete");
    let inner = fields
        .get("read")
        .and_then(|found| Fields::open(report, &SOURCE_READ, found.node, &found.spot));
    let Some(inner) = inner else { return flag.is_some_and(|flag| flag.value) };
    let inner_flag = inner.flag("source_complete");
    if let (Some(_), Some(_)) = (&flag, &inner_flag) {
        let what = "`source_complete` and `read.source_complete` are one field, set twice";
        let hint = "keep one; the canonical name is `source_complete`";
        report.add_hint(Code::DuplicateKey, &inner.key_of("source_complete"), what, hint);
    }
    flag.or(inner_flag).is_some_and(|flag| flag.value)
}

/// `schema_hints` and the option `schema` together; they may not disagree.
fn schema_hints(
    report: &Report,
    hints: Option<Located<ColumnTypes>>,
    options: &Fields<'_>,
) -> BTreeMap<ColumnName, DataType> {
    let mut types = BTreeMap::new();
    let declared = options.types_or_names("schema").map(|schema| schema.value).unwrap_or_default();
    let declared = declared.into_iter().filter_map(|(column, of)| Some((column, of?)));
    let hints = hints.map(|types| types.value).unwrap_or_default();
    for (column, data_type) in hints.into_iter().chain(declared) {
        if let Some(other) = types.insert(column.value.clone(), data_type.clone())
            && other != data_type
        {
            let what =
                format!("`{}` has two types: `schema_hints` and `schema` disagree", column.value);
            report.add(Code::Contradiction, &column.spot, what);
        }
    }
    types
}

fn read_format(report: &Report, format: &str, options: &Fields<'_>) -> Option<ReadFormat> {
    let infer_schema_rows = options
        .count("infer_schema_rows")
        .map(|rows| usize::try_from(rows.value).unwrap_or(usize::MAX));
    Some(match format {
        "csv" => {
            let header = options.flag("header").is_none_or(|flag| flag.value);
            let csv = CsvRead {
                header,
                names: column_names(report, options, header),
                delimiter: options.character("delimiter").map_or(b',', |c| c.value),
                quote: options.character("quote").map_or(b'"', |c| c.value),
                escape: options.character("escape").map(|c| c.value),
                encoding: encoding(report, options),
                null_values: options
                    .texts("null_values")
                    .map(|texts| texts.value)
                    .unwrap_or_default(),
                infer_schema_rows: match infer_schema(report, options) {
                    true => infer_schema_rows,
                    false => Some(0),
                },
            };
            if csv.delimiter == csv.quote {
                let what = "`delimiter` and `quote` are the same character";
                report.add(Code::Contradiction, &options.key_of("delimiter"), what);
            }
            ReadFormat::Csv(csv)
        }
        "parquet" => ReadFormat::Parquet {},
        "view" => ReadFormat::View {},
        "jsonl" => ReadFormat::Jsonl(JsonRead { infer_schema_rows }),
        "json" => ReadFormat::Json(JsonRead { infer_schema_rows }),
        "arrow" => ReadFormat::Arrow {},
        "avro" => ReadFormat::Avro {},
        "orc" => ReadFormat::Orc {},
        "binary" => ReadFormat::Binary {},
        _ => return None,
    })
}

/// Whether columns get the types that their values have.
fn infer_schema(report: &Report, options: &Fields<'_>) -> bool {
    let is_wanted = options.flag("infer_schema").is_none_or(|flag| flag.value);
    if !is_wanted && options.get("infer_schema_rows").is_some() {
        let what = "`infer_schema: false` looks at no row, `infer_schema_rows` at some";
        let spot = options.key_of("infer_schema_rows");
        report.add_hint(Code::Contradiction, &spot, what, "keep one of them");
    }
    is_wanted
}

/// What `schema` calls the columns of files that do not say it themselves.
fn column_names(report: &Report, options: &Fields<'_>, header: bool) -> Option<Vec<ColumnName>> {
    let schema = options.types_or_names("schema")?;
    if header {
        if schema.value.iter().all(|(_, data_type)| data_type.is_none()) {
            let what = "`schema` says no type, and the header names the columns";
            let hint =
                "write `header: false` where files have none, or types as in `{ id: int64 }`";
            report.add_hint(Code::Contradiction, &options.key_of("schema"), what, hint);
        }
        return None;
    }
    if schema.value.is_empty() {
        report.add(Code::WrongValue, &schema.spot, "`schema` names no column");
        return None;
    }
    Some(schema.value.into_iter().map(|(column, _)| column.value).collect())
}

/// `encoding`, UTF-8 where nothing is said or it is wrong.
fn encoding(report: &Report, options: &Fields<'_>) -> &'static Encoding {
    let Some(label) = options.text("encoding") else { return UTF_8 };
    Encoding::for_label(label.value.as_bytes()).unwrap_or_else(|| {
        let what = format!("`{}` is no encoding that is known", label.value);
        let hint = "such as `utf-8`, `windows-1252`, `iso-8859-15`, `utf-16le`, `shift_jis`";
        report.add_hint(Code::WrongValue, &label.spot, what, hint);
        UTF_8
    })
}
