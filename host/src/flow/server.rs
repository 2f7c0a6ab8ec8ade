//! A database server as a flow says it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde::Serializer;

use super::Sensitive;

/// Rows of a Postgres server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SqlRead {
    /// Where they are.
    pub server: Server,
    /// Which they are.
    pub rows: SqlRows,
}

/// Which rows of a database are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SqlRows {
    /// Those of a table or a view, by its exact names.
    Table {
        /// Its schema; the first of the server's search path that has the table where it is `None`.
        schema: Option<String>,
        /// Its name.
        table: String,
    },
    /// Those of a query, as it is written.
    Query(String),
}

impl SqlRows {
    /// What errors and the places of rows call them.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Table { schema: Some(schema), table } => format!("{schema}.{table}"),
            Self::Table { schema: None, table } => table.clone(),
            Self::Query(_) => "query".to_owned(),
        }
    }
}

/// A Postgres server and how it is reached. It shows as `postgresql://host:port/database`, never with who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// What it shows as instead: what the flow says, where that names secrets.
    pub shown: Option<String>,
    /// Where it listens.
    pub host: Host,
    /// Its port; part of the file's name for a socket.
    pub port: u16,
    /// The database.
    pub database: String,
    /// Who asks.
    pub user: Sensitive,
    /// How that is proven, where the server wants it.
    pub password: Option<Sensitive>,
    /// What is encrypted, and what is asked of the server's certificate. Nothing on a socket.
    pub tls: Tls,
    /// The longest that connecting may take, signing on included.
    pub connect_time_max: Duration,
    /// What the server calls the connection.
    pub application_name: String,
    /// Settings that the connection begins with, such as `-c statement_timeout=60000`.
    pub options: Option<String>,
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A name or an address.
    Name(String),
    /// The folder of a socket on this machine.
    Socket(PathBuf),
}

/// TLS by libpq's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tls {
    /// Never.
    Disable {},
    /// Where the server offers it; its certificate is not looked at.
    Prefer {},
    /// In any case; its certificate is not looked at.
    Require {},
    /// In any case; one of these has signed the certificate.
    VerifyCa(Roots),
    /// In any case; one of these has signed the certificate, and it is for this host.
    VerifyFull(Roots),
}

/// Whom to trust to sign a server's certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Roots {
    /// Whom the system trusts.
    System {},
    /// Those of a file, as PEM.
    File(PathBuf),
}

impl Host {
    /// Whether nobody is on the way to it.
    #[must_use]
    pub fn is_this_machine(&self) -> bool {
        match self {
            Self::Socket(_) => true,
            Self::Name(name) => {
                name.eq_ignore_ascii_case("localhost")
                    || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
            }
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shown, host, port, database, .. } = self;
        if let Some(shown) = shown {
            return f.write_str(shown);
        }
        match host {
            Host::Name(name) if name.contains(':') => {
                write!(f, "postgresql://[{name}]:{port}/{database}")
            }
            Host::Name(name) => write!(f, "postgresql://{name}:{port}/{database}"),
            Host::Socket(folder) => {
                write!(f, "postgresql:///{database}?host={}&port={port}", folder.display())
            }
        }
    }
}

/// All but who asks.
impl Serialize for Server {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            url: String,
            tls: &'a Tls,
            connect_seconds_max: u64,
            application_name: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            options: Option<&'a str>,
        }
        let shown = Shown {
            url: self.to_string(),
            tls: &self.tls,
            connect_seconds_max: self.connect_time_max.as_secs(),
            application_name: &self.application_name,
            options: self.options.as_deref(),
        };
        shown.serialize(serializer)
    }
}
