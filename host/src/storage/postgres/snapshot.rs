//! A snapshot of a database for several readers: rows that are read more than once are the same rows each time.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc;
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::connect::Session;
use super::failure;
use super::thread;
use crate::flow::Server;
use crate::storage::StorageError;

/// Taken when it is first asked for, and kept by a transaction of its own as long as this is there.
#[derive(Debug)]
pub struct Snapshot {
    server: Server,
    kept: Mutex<Option<Kept>>,
}

#[derive(Debug)]
struct Kept {
    id: String,
    /// Dropping it ends the transaction.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Snapshot {
    /// None is taken yet.
    #[must_use]
    pub fn new(server: Server) -> Self {
        Self { server, kept: Mutex::default() }
    }

    /// What other connections know it by.
    ///
    /// # Errors
    /// Where it cannot be taken.
    pub(super) fn id(&self) -> Result<String, StorageError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = &*kept {
            return Ok(kept.id.clone());
        }
        let taken = Kept::take(&self.server)?;
        Ok(kept.insert(taken).id.clone())
    }
}

impl Kept {
    fn take(server: &Server) -> Result<Self, StorageError> {
        let (tell, told) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let own = server.clone();
        let keep = move || {
            // Where there is none, the channel's end tells.
            let Ok(runtime) = thread::runtime(&own) else { return };
            runtime.block_on(async {
                let session = match Session::connect(&own).await {
                    Ok(session) => session,
                    Err(error) => return drop(tell.send(Err(error))),
                };
                let id = export(&session, &own).await;
                let is_kept = id.is_ok();
                if tell.send(id).is_ok() && is_kept {
                    // Ends when the other side is dropped, too.
                    let _ = stopped.await;
                }
                session.close().await;
            });
        };
        let thread = std::thread::Builder::new().spawn(keep).map_err(thread::no_thread(server))?;
        let lost = |_| {
            let what = "the transaction that keeps it ended".to_owned();
            StorageError::library(&failure::place(server), "take a snapshot")(what)
        };
        let id = told.recv().map_err(lost)??;
        Ok(Self { id, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // What it ended with does not matter any more.
            let _ = thread.join();
        }
    }
}

async fn export(session: &Session, server: &Server) -> Result<String, StorageError> {
    let failed = |error| failure::failed(server, "take a snapshot", &error);
    let client = &session.client;
    // It waits for as long as others read.
    client
        .batch_execute(
            "SET idle_in_transaction_session_timeout = 0; BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
        )
        .await
        .map_err(failed)?;
    let row = client.query_one("SELECT pg_catalog.pg_export_snapshot()", &[]).await;
    row.and_then(|row| row.try_get(0)).map_err(failed)
}
