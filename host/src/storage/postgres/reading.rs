//! Rows, batch by batch. A thread reads them off the connection and makes columns of them; it is at most a batch ahead of whoever
//! takes them, and the server waits meanwhile, so memory is bounded whatever the table.
//!
//! One statement in one transaction of one snapshot: no portal or cursor, with which the server neither works in parallel nor sends
//! the next rows before it was asked.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::FieldRef;
use futures::TryStreamExt as _;
use futures::future::Either;
use futures::future::select;
use tokio::sync::oneshot;
use tokio_postgres::Client;

use super::asking::Where;
use super::connect::Session;
use super::describe;
use super::describe::Column;
use super::describe::Described;
use super::failure;
use super::making::Making;
use super::select as statements;
use super::snapshot::Snapshot;
use super::thread;
use super::types::Cell;
use crate::storage::DataPlace;
use crate::storage::StorageError;

/// How often somebody who waits is asked whether it still does.
const ASK_EVERY: Duration = Duration::from_millis(200);

/// What is read, and how.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The table or query.
    pub described: Arc<Described>,
    /// Its columns that are read, by place, in the order wanted: how each is decoded, and what it is made then. None counts rows.
    pub wanted: Vec<(usize, Cell, FieldRef)>,
    /// What the server is asked to leave out: rows for which this is not true.
    pub asked: Where,
    /// The snapshot that is read; one of its own where nobody else reads the same rows.
    pub snapshot: Option<Arc<Snapshot>>,
    /// The most rows of a batch, from 1. Long values end batches earlier.
    pub batch_rows: usize,
}

/// The rows of a table or query. Dropping it cancels what still runs at the server.
#[derive(Debug)]
pub struct Rows {
    batches: Option<Receiver<Sent>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    reading: Reading,
}

/// A batch; `None` after the last one, so that a thread that stopped is never taken for the end.
type Sent = Result<Option<RecordBatch>, StorageError>;

impl Rows {
    /// Begins to read.
    ///
    /// # Errors
    /// Where there is no thread for it. Whatever the server says comes with the first batch.
    pub fn open(reading: Reading) -> Result<Self, StorageError> {
        let (sender, batches) = mpsc::sync_channel(1);
        let (stop, stopped) = oneshot::channel();
        let own = reading.clone();
        let thread = std::thread::Builder::new()
            .spawn(move || read(&own, &sender, stopped))
            .map_err(thread::no_thread(&reading.described.server))?;
        Ok(Self { batches: Some(batches), stop: Some(stop), thread: Some(thread), reading })
    }

    /// The next rows, at least one; `None` at the end. A server may take its time for them: `is_wanted` is asked now and then
    /// whether somebody still waits.
    ///
    /// # Errors
    /// What the server says, a connection that ended, a value that is not of its column's type, and rows that nobody wants.
    pub fn next_batch(
        &mut self,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Option<RecordBatch>, StorageError> {
        let Some(batches) = &self.batches else { return Ok(None) };
        let stopped = |what: &str| {
            let Described { server, rows, .. } = &*self.reading.described;
            let place = failure::rows_of(server, rows);
            StorageError::library(&place, "read its rows")(what.to_owned())
        };
        let sent = loop {
            match batches.recv_timeout(ASK_EVERY) {
                Ok(sent) => break sent,
                Err(RecvTimeoutError::Timeout) if is_wanted() => {}
                Err(RecvTimeoutError::Timeout) => break Err(stopped("nobody waits for them")),
                Err(RecvTimeoutError::Disconnected) => break Err(stopped("its reader stopped")),
            }
        };
        if !matches!(sent, Ok(Some(_))) {
            self.batches = None;
        }
        sent
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        // In this order: the thread may wait for somebody to take a batch.
        self.batches.take();
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // What it ended with does not matter any more.
            let _ = thread.join();
        }
    }
}

/// Everything that the thread does.
fn read(reading: &Reading, sender: &SyncSender<Sent>, stopped: oneshot::Receiver<()>) {
    let ended = thread::runtime(&reading.described.server)
        .and_then(|runtime| runtime.block_on(until(stopped, reading, sender)));
    match ended {
        Ok(Ended::Whole) => drop(sender.send(Ok(None))),
        Ok(Ended::GivenUp) => {}
        Err(error) => drop(sender.send(Err(error))),
    }
}

/// How reading ended.
enum Ended {
    /// Every row was taken.
    Whole,
    /// Nobody wants more.
    GivenUp,
}

async fn until(
    stopped: oneshot::Receiver<()>,
    reading: &Reading,
    sender: &SyncSender<Sent>,
) -> Result<Ended, StorageError> {
    let mut stopped = pin!(stopped);
    let session = match first(Session::connect(&reading.described.server), stopped.as_mut()).await {
        Some(session) => session?,
        None => return Ok(Ended::GivenUp),
    };
    let cancel = session.cancel();
    let ended = first(stream(&session.client, reading, sender), stopped).await;
    let ended = ended.unwrap_or(Ok(Ended::GivenUp));
    // Also where a value was wrong, the server goes on sending.
    if !matches!(ended, Ok(Ended::Whole)) {
        cancel.ask().await;
    }
    session.close().await;
    ended
}

/// What `work` makes, unless the reader is dropped first.
async fn first<T>(work: impl Future<Output = T>, stopped: impl Future + Unpin) -> Option<T> {
    match select(pin!(work), stopped).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(_) => None,
    }
}

async fn stream(
    client: &Client,
    reading: &Reading,
    sender: &SyncSender<Sent>,
) -> Result<Ended, StorageError> {
    let Described { server, rows, .. } = &*reading.described;
    let unread = |error| failure::unread(server, rows, &error);
    client
        .batch_execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        .await
        .map_err(unread)?;
    if let Some(snapshot) = &reading.snapshot {
        // Ids are hexadecimal digits and dashes.
        let import = format!("SET TRANSACTION SNAPSHOT '{}'", snapshot.id()?);
        let imported = client.batch_execute(&import).await;
        imported.map_err(|error| failure::failed(server, "read it as other readers do", &error))?;
    }
    let Asked { statement, due, places } = asked(reading);
    let mut statement = client.prepare(&statement).await.map_err(unread)?;
    unchanged(reading, &due, &describe::columns(&statement))?;
    // The columns stay as they are now until the transaction ends.
    if let Some(narrower) = narrower(reading, &due) {
        let types = reading.asked.types();
        statement = client.prepare_typed(&narrower, &types).await.map_err(unread)?;
        unchanged(reading, &due, &describe::columns(&statement))?;
    }
    let values = reading.asked.values();
    let mut sent = pin!(client.query_raw(&statement, values).await.map_err(unread)?);
    let mut batch = Making::new(reading, places);
    while let Some(row) = sent.try_next().await.map_err(unread)? {
        batch.push(&row)?;
        if batch.is_full() && sender.send(Ok(Some(batch.finish()?))).is_err() {
            return Ok(Ended::GivenUp);
        }
    }
    if batch.rows > 0 && sender.send(Ok(Some(batch.finish()?))).is_err() {
        return Ok(Ended::GivenUp);
    }
    // Commands such as SHOW count nothing.
    let told = sent.rows_affected().filter(|_| reading.described.foldable);
    if let Some(told) = told.filter(|told| *told != batch.rows_before) {
        let what = format!("the server says that it sent {told} rows; {} came", batch.rows_before);
        return Err(StorageError::library(&failure::rows_of(server, rows), "read its rows")(what));
    }
    client.batch_execute("COMMIT").await.map_err(unread)?;
    Ok(Ended::Whole)
}

/// What the server is asked.
struct Asked<'a> {
    statement: String,
    /// The columns that have to come.
    due: Vec<&'a Column>,
    /// Where each wanted column is among them.
    places: Vec<usize>,
}

fn asked(reading: &Reading) -> Asked<'_> {
    let Described { rows, columns, foldable, .. } = &*reading.described;
    if *foldable {
        let due: Vec<_> = reading.wanted.iter().map(|(place, ..)| &columns[*place]).collect();
        let statement = statements::only(rows, due.iter().map(|column| column.name.as_str()));
        return Asked { statement, places: (0..due.len()).collect(), due };
    }
    let places = reading.wanted.iter().map(|(place, ..)| *place).collect();
    Asked { statement: statements::all(rows), due: columns.iter().collect(), places }
}

/// The statement with what the server is asked to leave out.
fn narrower(reading: &Reading, due: &[&Column]) -> Option<String> {
    let Described { rows, is_stored, .. } = &*reading.described;
    let condition = reading.asked.sql()?;
    let columns = due.iter().map(|column| column.name.as_str());
    Some(statements::only_where(rows, columns, *is_stored, &condition))
}

/// Columns may have changed since they were described.
fn unchanged(reading: &Reading, due: &[&Column], found: &[Column]) -> Result<(), StorageError> {
    if due.iter().copied().eq(found) {
        return Ok(());
    }
    let Described { server, rows, .. } = &*reading.described;
    let differs = due.iter().zip(found).find(|(due, found)| *due != found);
    let (at, what) = match differs {
        Some((due, found)) if due.name == found.name => (
            DataPlace::column(&due.name),
            format!("it was {} when the run began, and is {} now", due.type_name, found.type_name),
        ),
        _ => (
            DataPlace::default(),
            "its columns are not those that it had when the run began".to_owned(),
        ),
    };
    Err(StorageError::data(&failure::rows_of(server, rows), at, what).hint("run the flow again"))
}
