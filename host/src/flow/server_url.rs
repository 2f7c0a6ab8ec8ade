//! The address of a database server, from `url`, `user` and `password`.

use std::path::PathBuf;
use std::time::Duration;

use super::Host;
use super::Roots;
use super::Sensitive;
use super::Server;
use super::Tls;
use super::places::Folder;
use super::report::Located;
use super::report::Report;
use super::url_parts::Parts;
use super::url_parts::Reading;
use super::url_parts::port_of;
use crate::problem::Code;
use crate::problem::known_names;

const DEFAULT_PORT: u16 = 5432;
const CONNECT_TIME_MAX: Duration = Duration::from_secs(30);
const APPLICATION_NAME: &str = "wasmhost";

/// Who asks, where it is said beside the URL.
#[derive(Debug, Default)]
pub(super) struct Signing {
    pub(super) user: Option<Located<Sensitive>>,
    pub(super) password: Option<Located<Sensitive>>,
}

/// The server that `url` means.
pub(super) fn server(
    report: &Report,
    url: &Located<Sensitive>,
    signing: Signing,
    folder: &Folder,
) -> Option<Server> {
    let mut reading = Reading { report, spot: &url.spot, is_whole: true };
    let parts = reading.parts(url.value.reveal().trim())?;
    let server = reading.server(parts, signing, folder);
    // What a secret says of the server is one as well.
    let shown = url.value.names_secrets().then(|| url.value.to_string());
    server.filter(|_| reading.is_whole).map(|server| Server { shown, ..server })
}

impl Reading<'_> {
    fn server(&mut self, parts: Parts, signing: Signing, folder: &Folder) -> Option<Server> {
        let Parts { mut user, mut password, mut host, mut port, mut database, parameters } = parts;
        let mut others: Vec<(&'static str, String)> = Vec::new();
        for (name, value) in parameters {
            let is_new = match name {
                "user" => user.replace(value).is_none(),
                "password" => password.replace(value).is_none(),
                "host" => host.replace(value).is_none(),
                "dbname" => database.replace(value).is_none(),
                "port" => {
                    let parsed = port_of(&value);
                    if parsed.is_none() {
                        self.wrong("`port` is a number from 1 to 65535", "leave it out for 5432");
                    }
                    let old = port;
                    port = parsed;
                    old.is_none()
                }
                _ => {
                    let is_new = others.iter().all(|(other, _)| *other != name);
                    others.push((name, value));
                    is_new
                }
            };
            if !is_new {
                let what = format!("`url` says `{name}` twice");
                self.tell(Code::DuplicateKey, what, "keep one of them");
            }
        }
        let user = self.signing("user", user, signing.user);
        let password = self.signing("password", password, signing.password);
        if user.is_none() {
            let what = "nobody is said to connect: there is no `user`";
            self.tell(
                Code::MissingKey,
                what,
                "write `user` beside `url`; nothing is taken from the environment",
            );
        }
        if database.is_none() {
            let what = "`url` names no database";
            self.tell(Code::MissingKey, what, "write `postgresql://host:5432/database`");
        }
        let host = match host {
            Some(folder) if folder.starts_with('/') => Host::Socket(PathBuf::from(folder)),
            Some(name) => Host::Name(name),
            None => {
                let what = "`url` names no host";
                self.tell(
                    Code::MissingKey,
                    what,
                    "write `postgresql://host:5432/database`; `?host=/folder` is a socket",
                );
                return None;
            }
        };
        let other = |name: &str| {
            others.iter().find(|(other, _)| *other == name).map(|(_, value)| value.as_str())
        };
        let tls = self.tls(&host, other("sslmode"), other("ssl"), other("sslrootcert"), folder);
        let connect_time_max = match other("connect_timeout").map(str::parse::<u64>) {
            None => CONNECT_TIME_MAX,
            Some(Ok(seconds)) if (1..=86_400).contains(&seconds) => Duration::from_secs(seconds),
            Some(_) => {
                self.wrong(
                    "`connect_timeout` is a number of seconds from 1",
                    "leave it out for 30 seconds",
                );
                CONNECT_TIME_MAX
            }
        };
        Some(Server {
            shown: None,
            host,
            port: port.unwrap_or(DEFAULT_PORT),
            database: database?,
            user: user?,
            password,
            tls,
            connect_time_max,
            application_name: other("application_name").unwrap_or(APPLICATION_NAME).to_owned(),
            options: other("options").map(str::to_owned),
        })
    }

    fn signing(
        &mut self,
        name: &str,
        within: Option<String>,
        beside: Option<Located<Sensitive>>,
    ) -> Option<Sensitive> {
        match (within, beside) {
            (Some(_), Some(beside)) => {
                self.is_whole = false;
                let what = format!("`{name}` is said here and in `url`");
                self.report.add_hint(Code::DuplicateKey, &beside.spot, what, "keep one of them");
                None
            }
            (within, beside) => {
                beside.map(|beside| beside.value).or(within.map(|within| hidden(&within)))
            }
        }
    }

    fn tls(
        &mut self,
        host: &Host,
        mode: Option<&str>,
        jdbc: Option<&str>,
        root: Option<&str>,
        folder: &Folder,
    ) -> Tls {
        const MODES: [&str; 5] = ["disable", "prefer", "require", "verify-ca", "verify-full"];
        let roots = match root {
            None | Some("system") => Roots::System {},
            Some(file) => Roots::File(folder.join(file)),
        };
        let default = match (jdbc, host.is_this_machine()) {
            // As JDBC's driver has it.
            (Some("true" | ""), _) => "verify-full",
            (None | Some("false"), false) => "verify-full",
            (None | Some("false"), true) if root.is_none() => "prefer",
            (None | Some("false"), true) => "verify-full",
            (Some(_), _) => {
                self.wrong("`ssl` is true or false", "`sslmode` says more");
                "verify-full"
            }
        };
        match mode.unwrap_or(default) {
            mode @ ("disable" | "prefer") => {
                if root.is_some() {
                    let what = format!(
                        "`sslmode={mode}` looks at no certificate, so `sslrootcert` is of no use"
                    );
                    self.tell(Code::Contradiction, what, "write `sslmode=verify-full`");
                }
                if mode == "disable" { Tls::Disable {} } else { Tls::Prefer {} }
            }
            // As libpq has it.
            "require" if root.is_some() => Tls::VerifyCa(roots),
            "require" => Tls::Require {},
            "verify-ca" => Tls::VerifyCa(roots),
            "verify-full" => Tls::VerifyFull(roots),
            "allow" => {
                let what = "`sslmode=allow` is not in this version";
                self.tell(Code::NotOffered, what, "`prefer` encrypts where it can");
                Tls::Require {}
            }
            other => {
                let what = "`sslmode` of `url` is no mode that is known";
                self.wrong(what, &known_names(other, MODES));
                Tls::Require {}
            }
        }
    }
}

/// A part of a URL that is secret, whatever it looks like.
fn hidden(text: &str) -> Sensitive {
    Sensitive::new("***", text, [text.to_owned()])
}
