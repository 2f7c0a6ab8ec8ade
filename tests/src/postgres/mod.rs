//! Rows of a real Postgres: every type at its limits, what is refused and with which words, connections that end early.

mod connecting;
mod filtering;
mod reading;
pub(crate) mod server;
mod types;

use std::path::Path;
use std::time::Duration;

use wasmhost::flow::Host;
use wasmhost::flow::ReadFormat;
use wasmhost::flow::Sensitive;
use wasmhost::flow::Server;
use wasmhost::flow::Source;
use wasmhost::flow::SqlRead;
use wasmhost::flow::SqlRows;
use wasmhost::flow::Tls;

use self::server::PASSWORD;
use self::server::USER;
use self::server::server;
use crate::sources;

/// The tests' server as a flow says it, by its address and without TLS.
fn address() -> Server {
    Server {
        shown: None,
        host: Host::Name("127.0.0.1".to_owned()),
        port: server().port,
        database: "shop".to_owned(),
        user: Sensitive::plain(USER),
        password: Some(Sensitive::plain(PASSWORD)),
        tls: Tls::Disable {},
        connect_time_max: Duration::from_secs(20),
        application_name: "wasmhost tests".to_owned(),
        options: None,
    }
}

fn source(rows: SqlRows) -> Source {
    source_at(address(), rows)
}

fn source_at(server: Server, rows: SqlRows) -> Source {
    let path = server.to_string();
    let format = ReadFormat::Sql(Box::new(SqlRead { server, rows }));
    sources::source(Path::new(&path), format)
}

fn query(text: &str) -> SqlRows {
    SqlRows::Query(text.to_owned())
}

fn table(schema: &str, table: &str) -> SqlRows {
    SqlRows::Table { schema: Some(schema.to_owned()), table: table.to_owned() }
}

/// As `sources::shown`, with `DIR` for the server.
fn shown(source: &Source, batch_rows: usize) -> String {
    let told = sources::shown(source, batch_rows, &source.path.shown());
    assert!(!told.contains(PASSWORD), "{told}");
    told
}

fn check(rows: SqlRows, change: impl FnOnce(&mut Source), right: &str) {
    let mut source = source(rows);
    change(&mut source);
    assert_eq!(shown(&source, 2), right, "{:?}", source.format);
}
