//! A real Postgres for the tests: one a test process, on the loopback address, gone with the process whichever way that ends.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::Duration;
use std::time::Instant;

use tokio::runtime::Builder;
use tokio_postgres::Client;
use tokio_postgres::Config;
use tokio_postgres::NoTls;

/// Who reads. The password has what a URL has to encode, and an error must never have any of it.
pub(crate) const USER: &str = "reader";
pub(crate) const PASSWORD: &str = "Sesame/@:7 ?#%";
/// The same in a URL.
pub(crate) const PASSWORD_ENCODED: &str = "Sesame%2F%40%3A7%20%3F%23%25";

/// Who Postgres runs as where the tests run as root, which it refuses: `nobody`.
const NOBODY: u32 = 65_534;

/// The server.
pub(crate) struct Server {
    pub(crate) port: u16,
    /// Where its socket is.
    pub(crate) folder: PathBuf,
    /// Stops the server when its input ends, with this process.
    _watch: Child,
}

/// The server of this process, begun by whoever asks first.
pub(crate) fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(Server::start)
}

impl Server {
    /// Where the tests' database is, without who asks.
    pub(crate) fn url(&self) -> String {
        format!("postgresql://127.0.0.1:{}/shop", self.port)
    }

    /// Runs statements as the server's owner.
    pub(crate) fn does(&self, statements: &str) {
        self.ask(async |client| client.batch_execute(statements).await.unwrap());
    }

    /// Runs a query that gives one number.
    pub(crate) fn count(&self, query: &str) -> i64 {
        self.ask(async |client| client.query_one(query, &[]).await.unwrap().get(0))
    }

    fn ask<T>(&self, work: impl AsyncFnOnce(&Client) -> T) -> T {
        Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let (client, connection) = self.config("shop").connect(NoTls).await.unwrap();
            let connection = tokio::spawn(connection);
            let done = work(&client).await;
            drop(client);
            connection.await.unwrap().unwrap();
            done
        })
    }

    fn config(&self, database: &str) -> Config {
        let mut config = Config::new();
        config.host_path(&self.folder).port(self.port).user("postgres").dbname(database);
        config
    }

    fn start() -> Self {
        let programs = programs();
        // Another process may take the port before the server does.
        for _ in 0..5 {
            if let Some(server) = Self::try_start(&programs) {
                server.prepare();
                return server;
            }
        }
        panic!("Postgres does not start: no port stays free");
    }

    fn try_start(programs: &Path) -> Option<Self> {
        let folder = tempfile::Builder::new().prefix("wasmhost-pg").tempdir().unwrap().keep();
        let data = folder.join("data");
        let log = folder.join("log");
        let as_nobody = fs::metadata(&folder).unwrap().uid() == 0;
        if as_nobody {
            chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let command = |program: &Path| {
            let mut command = Command::new(program);
            command.current_dir(&folder).env("LC_ALL", "C").env("TZ", "America/New_York");
            if as_nobody {
                command.uid(NOBODY).gid(NOBODY);
            }
            command
        };
        let made = command(&programs.join("initdb"))
            .args([
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
            ])
            .arg(format!("--pgdata={}", data.display()))
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        put(
            &data,
            "pg_hba.conf",
            0o600,
            "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n",
        );
        for name in ["server.crt", "server.key"] {
            put(&data, name, 0o600, &fs::read_to_string(fixture(name)).unwrap());
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let watch = "\"$@\" & server=$!; cat; kill -INT $server; wait $server; rm -rf \"$PWD\"";
        let mut shell = command(Path::new("/bin/sh"));
        shell.args(["-c", watch, "sh"]).arg(programs.join("postgres")).arg("-D").arg(&data);
        for setting in [
            format!("port={port}"),
            "listen_addresses=127.0.0.1".to_owned(),
            format!("unix_socket_directories={}", folder.display()),
            "fsync=off".to_owned(),
            "ssl=on".to_owned(),
            "max_connections=60".to_owned(),
            "shared_buffers=32MB".to_owned(),
        ] {
            shell.args(["-c", &setting]);
        }
        let said = fs::File::create(&log).unwrap();
        // In a group of its own: whoever interrupts the tests ends this process, and by that the server.
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(said).process_group(0);
        let server = Self { port, folder, _watch: shell.spawn().unwrap() };
        let begun = Instant::now();
        loop {
            if server.answers() {
                return Some(server);
            }
            let said = fs::read_to_string(&log).unwrap();
            if said.contains("Address already in use") {
                return None;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "Postgres does not start: {said}");
            sleep(Duration::from_millis(50));
        }
    }

    fn answers(&self) -> bool {
        Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(async { self.config("postgres").connect(NoTls).await.is_ok() })
    }

    fn prepare(&self) {
        Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let (client, connection) = self.config("postgres").connect(NoTls).await.unwrap();
            tokio::spawn(connection);
            let password = PASSWORD.replace('\'', "''");
            client
                .batch_execute(&format!("CREATE ROLE {USER} LOGIN PASSWORD '{password}'"))
                .await
                .unwrap();
            client.batch_execute("CREATE DATABASE shop").await.unwrap();
        });
        self.does(&format!("GRANT pg_read_all_data TO {USER}"));
    }
}

/// A file of the tests' own.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/postgres").join(name)
}

/// A file that belongs to whoever owns the folder: the server is particular about its key.
fn put(folder: &Path, name: &str, mode: u32, text: &str) {
    let (path, owner) = (folder.join(name), fs::metadata(folder).unwrap());
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
}

/// The folder of Postgres' programs: on the `PATH`, or where Debian keeps them.
fn programs() -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = env::split_paths(&path).collect();
    match fs::read_dir("/usr/lib/postgresql") {
        Ok(versions) => {
            let mut versions: Vec<_> = versions.map(|version| version.unwrap().path()).collect();
            versions.sort();
            folders.extend(versions.into_iter().rev().map(|version| version.join("bin")));
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound),
    }
    let found = folders
        .into_iter()
        .find(|folder| ["initdb", "postgres"].iter().all(|program| folder.join(program).is_file()));
    found.expect("there is no Postgres: run `cargo xtask setup`, or install it (Debian: apt-get install postgresql)")
}
