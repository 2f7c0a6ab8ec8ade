//! What the driver and the server say, as errors that name the server and never who asks.

use std::any::Any;
use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use tokio_postgres::error::DbError;
use tokio_postgres::error::ErrorPosition;

use crate::flow::Server;
use crate::flow::SqlRows;
use crate::storage::DataPlace;
use crate::storage::StorageError;

/// What errors call the server.
pub(super) fn place(server: &Server) -> PathBuf {
    PathBuf::from(server.to_string())
}

/// What errors call the rows.
pub(super) fn rows_of(server: &Server, rows: &SqlRows) -> PathBuf {
    PathBuf::from(format!("{} of {server}", rows.label()))
}

/// Why there is no connection.
pub(super) fn unconnected(server: &Server, error: &tokio_postgres::Error) -> StorageError {
    if let Some(said) = error.as_db_error() {
        let code = said.code().code();
        let hint = match code {
            "28P01" => Some("`user` and `password` have to be those of the server"),
            "28000" => Some("the server's pg_hba.conf says who may connect from where, and how"),
            "3D000" => Some("the part of `url` after the last `/` names the database"),
            _ => None,
        };
        return match is_flows_fault(code) {
            true => refused(
                server,
                format!("the server refuses the connection: {}", said.message()),
                hint,
            ),
            false => failed(server, "connect", error),
        };
    }
    if let Some(why) = no_tls(error) {
        return refused(server, why.0, Some(why.1));
    }
    match error.to_string().as_str() {
        "invalid configuration" | "authentication error" => {
            let what = format!("the server asks for what the flow does not give: {}", told(error));
            refused(server, what, Some("give the connection a `password`, best as a secret"))
        }
        _ => failed(server, "connect", error),
    }
}

/// Why TLS was not begun, and the way out, where that is the reason.
fn no_tls(error: &tokio_postgres::Error) -> Option<(String, &'static str)> {
    let cause = error.source()?;
    if cause.to_string() == "server does not support TLS" {
        let hint = "have TLS switched on there; `sslmode=disable` sends everything readable for all on the way";
        return Some(("the server does not offer TLS".to_owned(), hint));
    }
    let inner = cause.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref::<rustls::Error>()?;
    let hint = match inner {
        rustls::Error::InvalidCertificate(rustls::CertificateError::NotValidForNameContext {
            ..
        }) => {
            "connect by a name that the certificate is for; `sslmode=verify-ca` asks only who signed it"
        }
        rustls::Error::InvalidCertificate(_) => {
            "`sslrootcert=FILE` names the certificates of who signs the server's; `sslmode=require` encrypts without asking who answers"
        }
        _ => return None,
    };
    Some((format!("the server's certificate is not trusted: {inner}"), hint))
}

/// Why a statement is not taken: the flow's fault, or the world's. `query` is the statement where a user wrote it.
pub(super) fn undescribed(
    server: &Server,
    error: &tokio_postgres::Error,
    query: Option<&str>,
) -> StorageError {
    let Some(said) = error.as_db_error().filter(|said| is_flows_fault(said.code().code())) else {
        return failed(server, "describe its rows", error);
    };
    let mut what = format!("Postgres says: {}", said.message());
    if let (Some(query), Some(ErrorPosition::Original(position))) = (query, said.position()) {
        let before: String = query.chars().take(*position as usize - 1).collect();
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        // Writing to a String cannot fail.
        let _ = write!(what, " (line {line}, character {column} of the query)");
    }
    more(&mut what, said);
    refused(server, what, said.hint())
}

/// Why rows do not come, while they are read.
pub(super) fn unread(
    server: &Server,
    rows: &SqlRows,
    error: &tokio_postgres::Error,
) -> StorageError {
    let place = rows_of(server, rows);
    match error.as_db_error().filter(|said| is_flows_fault(said.code().code())) {
        Some(said) => {
            let mut what = format!("Postgres says: {}", said.message());
            more(&mut what, said);
            let error = StorageError::data(&place, DataPlace::default(), redacted(server, &what));
            match said.hint() {
                Some(hint) => error.hint(redacted(server, hint)),
                None => error,
            }
        }
        None => StorageError::library(&place, "read its rows")(redacted(server, &told(error))),
    }
}

fn more(what: &mut String, said: &DbError) {
    if let Some(detail) = said.detail() {
        let _ = write!(what, " ({detail})");
    }
}

/// A failure that is not the flow's fault.
pub(super) fn failed(
    server: &Server,
    doing: &'static str,
    error: &tokio_postgres::Error,
) -> StorageError {
    StorageError::library(&place(server), doing)(redacted(server, &told(error)))
}

/// What the flow asks is not to be had.
pub(super) fn refused(server: &Server, what: impl AsRef<str>, hint: Option<&str>) -> StorageError {
    StorageError::Refused {
        server: server.to_string(),
        what: redacted(server, what.as_ref()),
        hint: hint.map(|hint| redacted(server, hint)),
    }
}

/// A panic of ours on the connection's thread.
pub(super) fn stopped(server: &Server, panic: &(dyn Any + Send)) -> StorageError {
    let said = panic.downcast_ref::<String>().map(String::as_str);
    let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason");
    StorageError::library(&place(server), "read it")(format!("its reader stopped: {said}"))
}

/// Classes of SQLSTATE for what the flow says: who connects, to what, and what is asked. The rest is the world's.
fn is_flows_fault(code: &str) -> bool {
    // Memory, disk and connections run out in class 53, an operator steps in in 57: not here.
    ["0A", "21", "22", "23", "25", "26", "28", "2F", "38", "39", "3D", "3F", "42", "44", "P0"]
        .iter()
        .any(|class| code.starts_with(class))
}

/// An error with its causes.
fn told(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return format!("{} ({})", said.message(), said.code().code());
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        // Writing to a String cannot fail.
        let _ = write!(text, ": {inner}");
        cause = inner.source();
    }
    text
}

/// A text of the server's or the driver's without who asks.
fn redacted(server: &Server, text: &str) -> String {
    let text = match &server.password {
        Some(password) => password.redact(text),
        None => text.to_owned(),
    };
    // Users and databases may be called as words are; where a message has them they stand in quotes.
    let text = text.replace(&format!("\"{}\"", server.user.reveal()), "(the user)");
    match &server.shown {
        Some(_) => text.replace(&format!("\"{}\"", server.database), "(the database)"),
        None => text,
    }
}
