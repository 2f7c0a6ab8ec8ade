//! A thread with a runtime of its own, for one connection.

use std::future::Future;
use std::io;
use std::thread;

use tokio::runtime::Builder;
use tokio::runtime::Runtime;

use super::failure;
use crate::flow::Server;
use crate::storage::StorageError;

/// Does `work` to its end, on a thread of its own. Blocks.
///
/// # Errors
/// What `work` ends with, and where there is no thread for it.
pub(super) fn on_its_own<T: Send, W>(
    server: &Server,
    work: impl FnOnce() -> W + Send,
) -> Result<T, StorageError>
where
    W: Future<Output = Result<T, StorageError>>,
{
    thread::scope(|scope| {
        let worker =
            thread::Builder::new().spawn_scoped(scope, || runtime(server)?.block_on(work()));
        let worker = worker.map_err(no_thread(server))?;
        worker.join().unwrap_or_else(|panic| Err(failure::stopped(server, panic.as_ref())))
    })
}

/// The runtime of the thread that this is called on.
pub(super) fn runtime(server: &Server) -> Result<Runtime, StorageError> {
    Builder::new_current_thread().enable_all().build().map_err(no_thread(server))
}

pub(super) fn no_thread(server: &Server) -> impl FnOnce(io::Error) -> StorageError + use<> {
    let path = failure::place(server);
    move |source| StorageError::Io { path, doing: "start a thread to read it", source }
}
