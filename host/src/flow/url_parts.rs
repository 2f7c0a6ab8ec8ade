//! The text of a database's URL, taken apart. No message has any part of it but names of parameters that are known: a password with a
//! `/` in it looks like a host.

use percent_encoding::percent_decode_str;

use super::report::Report;
use super::report::Spot;
use crate::problem::Code;
use crate::problem::known_names;

/// Other databases whose URLs people have.
const OTHER_DATABASES: &[&str] = &[
    "mysql",
    "mariadb",
    "sqlserver",
    "mssql",
    "oracle",
    "sqlite",
    "db2",
    "redshift",
    "snowflake",
    "clickhouse",
    "mongodb",
    "h2",
    "derby",
    "hive2",
    "spark",
    "databricks",
    "duckdb",
    "trino",
];

/// Parameters that change nothing of what is read; how they are spelt, and by which tool.
const PARAMETERS: &[(&str, &[&str])] = &[
    ("user", &[]),
    ("password", &[]),
    ("host", &[]),
    ("port", &[]),
    ("dbname", &[]),
    ("sslmode", &[]),
    ("sslrootcert", &[]),
    ("ssl", &[]),
    ("connect_timeout", &["connectTimeout", "loginTimeout"]),
    ("application_name", &["ApplicationName"]),
    ("options", &[]),
];

/// Parameters of libpq and of JDBC that say something which is not done.
const NOT_OFFERED: &[&str] = &[
    "sslcert",
    "sslkey",
    "sslpassword",
    "sslcrl",
    "sslcrldir",
    "sslfactory",
    "sslhostnameverifier",
    "sslnegotiation",
    "hostaddr",
    "passfile",
    "service",
    "target_session_attrs",
    "targetServerType",
    "load_balance_hosts",
    "loadBalanceHosts",
    "channel_binding",
    "channelBinding",
    "gssencmode",
    "gssEncMode",
    "krbsrvname",
    "kerberosServerName",
    "currentSchema",
    "socketTimeout",
    "socketFactory",
    "client_encoding",
    "replication",
    "keepalives",
    "tcpKeepAlive",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_count",
    "tcp_user_timeout",
    "requirepeer",
    "fetchsize",
    "defaultRowFetchSize",
    "prepareThreshold",
    "preferQueryMode",
    "binaryTransfer",
    "readOnly",
    "stringtype",
    "reWriteBatchedInserts",
    "currentUser",
];

/// A URL that is being read.
pub(super) struct Reading<'a> {
    pub(super) report: &'a Report,
    pub(super) spot: &'a Spot,
    /// Whether nothing was told so far.
    pub(super) is_whole: bool,
}

/// What a URL says; each part may be missing.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) database: Option<String>,
    /// By their names, in order, decoded.
    pub(super) parameters: Vec<(&'static str, String)>,
}

/// A port's number.
pub(super) fn port_of(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port| *port > 0)
}

impl Reading<'_> {
    pub(super) fn wrong(&mut self, what: impl Into<String>, hint: &str) {
        self.tell(Code::WrongValue, what, hint);
    }

    pub(super) fn tell(&mut self, code: Code, what: impl Into<String>, hint: &str) {
        self.is_whole = false;
        self.report.add_hint(code, self.spot, what, hint);
    }

    /// Takes the text apart, unless it is no URL of Postgres.
    pub(super) fn parts(&mut self, text: &str) -> Option<Parts> {
        const SHAPE: &str =
            "write `postgresql://host:5432/database`, and `user` and `password` beside it";
        const ESCAPE: &str = "write characters of a user or password that are no letters and digits percent-encoded, or `user` and `password` beside `url`";
        let plain = text.strip_prefix("jdbc:").unwrap_or(text);
        let scheme = plain.split(':').next().unwrap_or_default().to_lowercase();
        if let Some(other) = OTHER_DATABASES.iter().find(|other| **other == scheme) {
            let what = format!("`{other}` is a database that this version does not read");
            self.tell(Code::NotOffered, what, "`sql` reads Postgres");
            return None;
        }
        let is_postgres = matches!(scheme.as_str(), "postgresql" | "postgres");
        let Some((_, rest)) = plain.split_once("://").filter(|_| is_postgres) else {
            self.wrong("`url` is no address of a Postgres server", SHAPE);
            return None;
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        if rest.contains(['@', '#']) {
            self.wrong("`url` has a `@` or `#` where none can be", ESCAPE);
            return None;
        }
        let (signing, host) = match authority.rsplit_once('@') {
            Some((signing, host)) => (Some(signing), host),
            None => (None, authority),
        };
        if host.contains(',') {
            self.tell(Code::NotOffered, "`url` names several hosts", "name the one to read from");
            return None;
        }
        let (host, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, port)) => {
                (address, port.strip_prefix(':').or(Some(port).filter(|port| !port.is_empty())))
            }
            None => host.split_once(':').map_or((host, None), |(host, port)| (host, Some(port))),
        };
        let port = match port.filter(|port| !port.is_empty()).map(port_of) {
            Some(None) => {
                self.wrong("the port in `url` is no number from 1 to 65535", ESCAPE);
                return None;
            }
            Some(port) => port,
            None => None,
        };
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (user, password) = signing.map_or((None, None), |signing| {
            signing
                .split_once(':')
                .map_or((Some(signing), None), |(user, password)| (Some(user), Some(password)))
        });
        let is_jdbc = text.len() != plain.len();
        let mut part = |text: Option<&str>| {
            text.filter(|text| !text.is_empty()).map(|text| self.decoded(text, false))
        };
        let mut parts = Parts {
            user: part(user),
            password: part(password),
            host: part(Some(host)),
            port,
            database: part(path.strip_prefix('/')),
            parameters: Vec::new(),
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let Some(name) = self.parameter(name, is_jdbc) else { continue };
            let value = self.decoded(value, is_jdbc);
            parts.parameters.push((name, value));
        }
        Some(parts)
    }

    /// The parameter of this spelling; others are told.
    fn parameter(&mut self, spelt: &str, is_jdbc: bool) -> Option<&'static str> {
        let known =
            PARAMETERS.iter().find(|(name, others)| *name == spelt || others.contains(&spelt));
        match known {
            // JDBC's word for what `sslmode` says better.
            Some(("ssl", _)) if !is_jdbc => {}
            Some((name, _)) => return Some(name),
            None => {}
        }
        let names = || PARAMETERS.iter().map(|(name, _)| *name);
        match NOT_OFFERED.iter().chain(&["ssl"]).find(|name| **name == spelt) {
            Some(name) => {
                let what =
                    format!("`url` has the parameter `{name}`, which this version does not have");
                let hint = match *name {
                    "currentSchema" => "name the `schema` at the source".to_owned(),
                    "ssl" => "write `sslmode`".to_owned(),
                    "hostaddr" => "`host` may be an address".to_owned(),
                    other => known_names(other, names().collect::<Vec<_>>()),
                };
                self.tell(Code::NotOffered, what, &hint);
            }
            None => {
                let known = names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                self.tell(
                    Code::UnknownKey,
                    "`url` has a parameter that is not known",
                    &format!("known: {known}"),
                );
            }
        }
        None
    }

    fn decoded(&mut self, text: &str, plus_is_blank: bool) -> String {
        let text = if plus_is_blank { text.replace('+', " ") } else { text.to_owned() };
        match percent_decode_str(&text).decode_utf8() {
            Ok(text) => text.into_owned(),
            Err(_) => {
                self.wrong(
                    "`url` has percent-encoded bytes that are no UTF-8",
                    "encode its text as UTF-8",
                );
                String::new()
            }
        }
    }
}
