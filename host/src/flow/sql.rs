//! A source of rows of a database: where it is, and which rows.

use super::Sensitive;
use super::Server;
use super::SqlRead;
use super::SqlRows;
use super::connection::Connection;
use super::open::Fields;
use super::places::Folder;
use super::report::Located;
use super::report::Report;
use super::server_url;
use super::server_url::Signing;
use crate::problem::Code;

/// Fields of a connection that say where a database is.
const OF_A_DATABASE: [&str; 3] = ["url", "user", "password"];
/// Fields of a source that files have.
const OF_FILES: [&str; 3] = ["path", "recursive", "path_glob_filter"];
/// The only driver that other tools can name.
const DRIVER: &str = "org.postgresql.Driver";

/// What a source of format `sql` reads. `options` are its own and its connection's.
pub(super) fn read(
    report: &Report,
    fields: &Fields<'_>,
    connection: Option<&Connection<'_>>,
    options: &Fields<'_>,
    folder: &Folder,
) -> Option<SqlRead> {
    for name in OF_FILES {
        if fields.get(name).is_some() {
            let what = format!("`{name}` is of files; `sql` reads a database");
            let hint = "name a `table`, with its `schema` where need be, or write a `query`";
            report.add_hint(Code::Contradiction, &fields.key_of(name), what, hint);
        }
    }
    if let Some(driver) = options.text("driver").filter(|driver| driver.value.trim() != DRIVER) {
        let what = format!("`{}` is no driver that this version has", driver.value);
        let hint = format!("leave it out, or write `{DRIVER}`");
        report.add_hint(Code::NotOffered, &driver.spot, what, hint);
    }
    let server = server(report, fields, connection, options, folder);
    let rows = rows(report, fields, options);
    Some(SqlRead { server: server?, rows: rows? })
}

/// Tells of what a connection says that its format has no use for: databases have no folders, nothing else has a `url`.
pub(super) fn judge_connection(report: &Report, connection: &Fields<'_>, format: Option<&str>) {
    // Also where nothing uses the connection.
    OF_A_DATABASE.into_iter().for_each(|name| drop(connection.sensitive(name)));
    let Some(format) = format else { return };
    if format == "sql" {
        for found in ["base_path", "storage", "date_folder_partitions"]
            .into_iter()
            .filter_map(|name| connection.get(name))
        {
            let what = format!("`{}` is of files; `sql` reads a database", found.key.name());
            report.add_hint(Code::Contradiction, &found.key, what, "say where it is by `url`");
        }
        return;
    }
    for name in OF_A_DATABASE {
        if let Some(found) = connection.get(name) {
            let what = format!("`{}` is of databases; this is `{format}`", found.key.name());
            let hint = "leave it out, or write `format: sql`";
            report.add_hint(Code::Contradiction, &found.key, what, hint);
        }
    }
}

fn server(
    report: &Report,
    fields: &Fields<'_>,
    connection: Option<&Connection<'_>>,
    options: &Fields<'_>,
    folder: &Folder,
) -> Option<Server> {
    let own = connection.map(|connection| &connection.fields);
    let mut is_whole = true;
    let mut said = |name: &'static str| -> Option<Located<Sensitive>> {
        let of_connection = own.filter(|own| own.get(name).is_some());
        match (of_connection, options.get(name)) {
            (Some(own), None) => own.sensitive(name),
            (None, Some(_)) => options.sensitive(name),
            (Some(own), Some(_)) => {
                let (first, second) = (own.key_of(name), options.key_of(name));
                let what =
                    format!("`{}` and `{}` are one field, set twice", first.path, second.path);
                report.add_hint(Code::DuplicateKey, &second, what, "keep one of them");
                is_whole = false;
                None
            }
            (None, None) => None,
        }
    };
    let url = said("url");
    let signing = Signing { user: said("user"), password: said("password") };
    match url {
        Some(url) => server_url::server(report, &url, signing, folder).filter(|_| is_whole),
        None => {
            let is_attempted = |fields: &Fields<'_>| fields.is_attempted("url");
            if !own.is_some_and(is_attempted) && !is_attempted(options) {
                let what = format!("{} of `sql` needs a connection with `url`", fields.block.name);
                let hint = "such as `connection: { format: sql, url: \"postgresql://host:5432/database\", user: …, password: … }`";
                report.add_hint(Code::MissingKey, &fields.spot, what, hint);
            }
            None
        }
    }
}

/// The table or the query.
fn rows(report: &Report, fields: &Fields<'_>, options: &Fields<'_>) -> Option<SqlRows> {
    let ways: Vec<_> = [fields.get("query"), fields.get("table"), options.get("dbtable")]
        .into_iter()
        .flatten()
        .collect();
    let is_blank = |text: &Located<String>| text.value.trim().is_empty();
    let schema = fields.text("schema");
    let is_without_schema = schema.as_ref().is_some_and(is_blank);
    let query = fields.sql("query");
    let (table, dbtable) = (fields.text("table"), options.text("dbtable"));
    match ways.as_slice() {
        [] => {
            if !["query", "table"].into_iter().any(|name| fields.is_attempted(name)) {
                let what = format!("{} of `sql` needs `table` or `query`", fields.block.name);
                report.add(Code::MissingKey, &fields.spot, what);
            }
            return None;
        }
        [first, second, ..] => {
            let what = format!(
                "`{}` and `{}` are two ways to say which rows",
                first.key.name(),
                second.key.name()
            );
            report.add_hint(Code::Contradiction, &second.key, what, "keep one of them");
            return None;
        }
        [way]
            if fields.get("schema").is_some()
                && !is_without_schema
                && way.field.name != "table" =>
        {
            let what = format!("`schema` goes with `table`; here is `{}`", way.key.name());
            let hint = "name the schema before the table, as in `shop.orders`";
            report.add_hint(Code::Contradiction, &fields.key_of("schema"), what, hint);
            return None;
        }
        [_] => {}
    }
    if let Some(dbtable) = dbtable {
        return of_dbtable(report, &dbtable);
    }
    if let Some(query) = query {
        return Some(SqlRows::Query(query.value));
    }
    if fields.get("schema").is_some() && schema.is_none() {
        return None;
    }
    let schema = schema.filter(|schema| !is_blank(schema)).map(|schema| schema.value);
    table.map(|table| SqlRows::Table { schema, table: table.value })
}

/// `orders`, `shop.orders`, `"Shop"."Orders"`: names as SQL has them, so without quotes they are of small letters.
fn of_dbtable(report: &Report, text: &Located<String>) -> Option<SqlRows> {
    let mut rest = text.value.trim();
    let mut names = Vec::new();
    loop {
        let name = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (name, after) = quoted.split_once('"')?;
                rest = after;
                name.to_owned()
            }
            None => {
                let end = rest.find('.').unwrap_or(rest.len());
                let (name, after) = rest.split_at(end);
                rest = after;
                name.to_lowercase()
            }
        };
        names.push(name);
        match rest.strip_prefix('.') {
            Some(more) => rest = more,
            None => break,
        }
    }
    let is_plain =
        |name: &String| !name.is_empty() && !name.contains(['(', ')', ';', ' ', '"', '\0']);
    let names = Some(names).filter(|names| rest.is_empty() && names.iter().all(is_plain));
    match names.as_deref() {
        Some([table]) => Some(SqlRows::Table { schema: None, table: table.clone() }),
        Some([schema, table]) => {
            Some(SqlRows::Table { schema: Some(schema.clone()), table: table.clone() })
        }
        _ => {
            let what = "`dbtable` is the name of a table, such as `orders` or `shop.orders`";
            report.add_hint(Code::WrongValue, &text.spot, what, "write a query as `query`");
            None
        }
    }
}
