//! What a table or a query has, before a row of it is read.

use tokio_postgres::Client;
use tokio_postgres::Statement;
use tokio_postgres::types::Type;

use super::connect::Session;
use super::failure;
use super::select;
use super::thread;
use super::types;
use super::types::Found;
use crate::flow::Server;
use crate::flow::SqlRows;
use crate::storage::StorageError;

/// A table or query that the server knows. Plain data: nothing is connected.
#[derive(Debug, Clone)]
pub struct Described {
    /// Where it is.
    pub server: Server,
    /// What it is; a table has its schema now.
    pub rows: SqlRows,
    /// Its columns, in its order; names may repeat.
    pub columns: Vec<Column>,
    /// Whether the server can be asked for some of the columns only.
    pub(super) foldable: bool,
    /// Whether its rows are just there, and are not computed as those of a query or a view are.
    pub(super) is_stored: bool,
    /// Whether the server keeps text as it is sent.
    pub(super) is_utf8: bool,
}

/// A column of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What its type is to us.
    pub found: Found,
    /// The type as the server names it, and what the column adds to it.
    pub(super) type_name: String,
    pub(super) modifier: i32,
    /// The type as which the server compares it just as we do.
    pub(super) compared: Option<Type>,
}

/// Asks the server for the columns of `rows`. Nothing is read. Blocks.
///
/// # Errors
/// Where there is no connection, and where the server does not take the query or has no such table.
pub fn describe(server: &Server, rows: &SqlRows) -> Result<Described, StorageError> {
    thread::on_its_own(server, || async {
        let session = Session::connect(server).await?;
        let described = described(&session.client, server, rows).await;
        session.close().await;
        described
    })
}

async fn described(
    client: &Client,
    server: &Server,
    rows: &SqlRows,
) -> Result<Described, StorageError> {
    let query = match rows {
        SqlRows::Query(query) => Some(query.as_str()),
        SqlRows::Table { .. } => None,
    };
    let statement = client
        .prepare(&select::all(rows))
        .await
        .map_err(|error| failure::undescribed(server, &error, query))?;
    if !statement.params().is_empty() {
        let hint = "put values into the text: `{{ name }}` is a variable of the flow";
        return Err(failure::refused(server, "the query has parameters, such as `$1`", Some(hint)));
    }
    let columns = columns(&statement);
    if columns.is_empty() {
        let what = match rows {
            SqlRows::Query(_) => "the query gives no rows: it is no SELECT",
            SqlRows::Table { .. } => "the table has no columns",
        };
        return Err(failure::refused(server, what, None));
    }
    // A command such as SHOW gives rows, and cannot stand where a table does.
    let foldable = match rows {
        SqlRows::Table { .. } => true,
        SqlRows::Query(_) => match client.prepare(&select::folded(rows)).await {
            Ok(folded) => self::columns(&folded) == columns,
            Err(error) if error.as_db_error().is_some() => false,
            Err(error) => return Err(failure::undescribed(server, &error, None)),
        },
    };
    let (is_stored, is_utf8) = kept(client, server, rows).await?;
    let rows = match rows {
        SqlRows::Table { schema: None, table } => {
            SqlRows::Table { schema: schema(client, server, table).await?, table: table.clone() }
        }
        rows => rows.clone(),
    };
    Ok(Described { server: server.clone(), rows, columns, foldable, is_stored, is_utf8 })
}

pub(super) fn columns(statement: &Statement) -> Vec<Column> {
    let column = |column: &tokio_postgres::Column| Column {
        name: column.name().to_owned(),
        found: types::found(column.type_(), column.type_modifier()),
        type_name: column.type_().to_string(),
        modifier: column.type_modifier(),
        compared: types::compared(column.type_(), column.type_modifier()),
    };
    statement.columns().iter().map(column).collect()
}

/// The schema that the search path finds the table in: each reader has a connection of its own, and reads the same table.
async fn schema(
    client: &Client,
    server: &Server,
    table: &str,
) -> Result<Option<String>, StorageError> {
    const SCHEMA: &str = "SELECT space.nspname FROM pg_catalog.pg_class AS class \
        JOIN pg_catalog.pg_namespace AS space ON space.oid = class.relnamespace \
        WHERE class.oid = pg_catalog.to_regclass($1)";
    let row = client.query_opt(SCHEMA, &[&select::quoted(table)]).await;
    let row = row.map_err(|error| failure::undescribed(server, &error, None))?;
    let found = row.map(|row| row.try_get(0)).transpose();
    found.map_err(|error| failure::undescribed(server, &error, None))
}

/// Whether the rows are those of a table with nothing but tables below it, and whether the database is in UTF-8.
async fn kept(
    client: &Client,
    server: &Server,
    rows: &SqlRows,
) -> Result<(bool, bool), StorageError> {
    const KEPT: &str = "WITH RECURSIVE part AS ( \
            SELECT pg_catalog.to_regclass($1)::pg_catalog.oid AS oid \
            UNION SELECT below.inhrelid FROM pg_catalog.pg_inherits AS below JOIN part ON below.inhparent = part.oid) \
        SELECT pg_catalog.bool_and(class.oid IS NOT NULL AND class.relkind IN ('r', 'p', 'm')), \
            pg_catalog.current_setting('server_encoding') = 'UTF8' \
        FROM part LEFT JOIN pg_catalog.pg_class AS class ON class.oid = part.oid";
    let name = match rows {
        SqlRows::Table { .. } => Some(select::table(rows)),
        SqlRows::Query(_) => None,
    };
    let row = client.query_one(KEPT, &[&name]).await;
    let found = row.and_then(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
    found.map_err(|error| failure::undescribed(server, &error, None))
}
