//! A connection: made within a time, driven by the runtime that it is made on, ended with its query cancelled.

use std::path::PathBuf;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::CancelToken;
use tokio_postgres::Client;
use tokio_postgres::Config;
use tokio_postgres::Error;
use tokio_postgres::NoTls;
use tokio_postgres::Socket;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::failure;
use super::tls;
use crate::flow::Host;
use crate::flow::Server;
use crate::flow::Tls;
use crate::storage::StorageError;

/// After so long without a byte the server is asked whether it is there; long queries are silent.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 6;

/// The longest that a reader that is given up waits for its query to be cancelled.
const CANCEL_TIME_MAX: Duration = Duration::from_secs(5);

/// The longest that closing a connection waits for what is still on its way.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(1);

/// A connection and how another one like it begins.
pub(super) struct Session {
    pub(super) client: Client,
    driver: JoinHandle<()>,
    tls: Option<MakeRustlsConnect>,
}

impl Session {
    /// Connects. The runtime that this is awaited on drives the connection.
    ///
    /// # Errors
    /// Where the server is not there, does not answer in time, or refuses who asks.
    pub(super) async fn connect(server: &Server) -> Result<Self, StorageError> {
        let tls = tls::connector(server)?;
        let connecting = async {
            match &tls {
                Some(tls) => begin(&config(server), tls.clone()).await,
                None => begin(&config(server), NoTls).await,
            }
        };
        match timeout(server.connect_time_max, connecting).await {
            Ok(Ok((client, driver))) => Ok(Self { client, driver, tls }),
            Ok(Err(error)) => Err(failure::unconnected(server, &error)),
            Err(_) => {
                let what =
                    format!("there is no answer within {} s", server.connect_time_max.as_secs());
                Err(StorageError::library(&PathBuf::from(server.to_string()), "connect")(what))
            }
        }
    }

    /// Says goodbye, so that the server's log has no word of it.
    pub(super) async fn close(self) {
        drop(self.client);
        // Whoever is not done by then is cut off with the runtime.
        let _ = timeout(CLOSE_TIME_MAX, self.driver).await;
    }

    /// What cancels the query that runs.
    pub(super) fn cancel(&self) -> Cancel {
        Cancel { token: self.client.cancel_token(), tls: self.tls.clone() }
    }
}

/// Cancels the query of a connection, from beside it.
pub(super) struct Cancel {
    token: CancelToken,
    tls: Option<MakeRustlsConnect>,
}

impl Cancel {
    /// Asks the server to stop. It need not answer: the connection is closed next in any case.
    pub(super) async fn ask(self) {
        let asking = async {
            match self.tls {
                Some(tls) => self.token.cancel_query(tls).await,
                None => self.token.cancel_query(NoTls).await,
            }
        };
        let _ = timeout(CANCEL_TIME_MAX, asking).await;
    }
}

async fn begin<T>(config: &Config, tls: T) -> Result<(Client, JoinHandle<()>), Error>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, connection) = config.connect(tls).await?;
    // What ends the connection is told to whoever waits for an answer.
    let driver = tokio::spawn(async move { drop(connection.await) });
    Ok((client, driver))
}

fn config(server: &Server) -> Config {
    let Server { host, port, database, user, password, tls, application_name, options, .. } =
        server;
    let mut config = Config::new();
    config
        .port(*port)
        .dbname(database)
        .user(user.reveal())
        .application_name(application_name)
        .connect_timeout(server.connect_time_max)
        .keepalives_idle(KEEPALIVE_IDLE)
        .keepalives_interval(KEEPALIVE_INTERVAL)
        .keepalives_retries(KEEPALIVE_RETRIES)
        .ssl_mode(match tls {
            Tls::Disable {} => SslMode::Disable,
            Tls::Prefer {} => SslMode::Prefer,
            Tls::Require {} | Tls::VerifyCa(_) | Tls::VerifyFull(_) => SslMode::Require,
        });
    match host {
        Host::Name(name) => config.host(name),
        Host::Socket(folder) => config.host_path(folder).ssl_mode(SslMode::Disable),
    };
    if let Some(password) = password {
        config.password(password.reveal());
    }
    if let Some(options) = options {
        config.options(options);
    }
    config
}
