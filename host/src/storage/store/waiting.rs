//! Waiting for a store on threads that may wait. Requests run on threads of their own: connections outlive whoever asked first.

use std::future::Future;
use std::io;
use std::sync::OnceLock;
use std::sync::mpsc;

use object_store::Error;
use object_store::Result;
use tokio::runtime::Builder;
use tokio::runtime::Handle;
use tokio::runtime::Runtime;

/// Threads that talk to stores; they wait most of the time.
const THREADS: usize = 2;

/// The threads that talk to stores.
pub(super) fn threads() -> Result<Handle> {
    static THREADS_OF_STORES: OnceLock<io::Result<Runtime>> = OnceLock::new();
    let start = || {
        Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("object-store")
            .enable_all()
            .build()
    };
    match THREADS_OF_STORES.get_or_init(start) {
        Ok(runtime) => Ok(runtime.handle().clone()),
        Err(error) => Err(broken(format!("its threads cannot be started: {error}"))),
    }
}

/// Waits until the work is done. It must not wait for other work of this kind.
///
/// # Errors
/// The work's own, and where it stopped without an end.
pub fn wait<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let (tell, told) = mpsc::sync_channel(1);
    threads()?.spawn(async move {
        // Whoever asked may have gone.
        let _ = tell.send(work.await);
    });
    told.recv().unwrap_or_else(|_| Err(broken("a request stopped without an answer".to_owned())))
}

pub(super) fn broken(what: String) -> Error {
    Error::Generic { store: "object store", source: what.into() }
}
