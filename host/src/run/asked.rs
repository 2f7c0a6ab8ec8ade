//! The query of a source that steps and rules name: each time its rows are asked for, they go through the sandbox first.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;
use std::thread::JoinHandle;

use arrow::array::RecordBatch;
use serde_json::json;
use xxhash_rust::xxh3::xxh3_64;

use crate::batch::Batch;
use crate::batch::Origin;
use crate::component::usage::Usage;
use crate::evidence::ComponentRecord;
use crate::flow::Step;
use crate::problem::Place;
use crate::run::collect::Collected;
use crate::run::error::RunError;
use crate::run::live::Working;
use crate::run::loading::Loaded;
use crate::run::opening::builtin;
use crate::run::opening::standard;
use crate::run::opening::working;
use crate::run::streaming::lock;
use crate::sandbox::Cause;
use crate::sandbox::Context;
use crate::sandbox::Reference;
use crate::sandbox::TransformPool;

/// Batches of the answer that may wait.
const READ_AHEAD: usize = 2;

/// A query, and what all of its openings have used.
pub(super) type Asking = Working<Mutex<Usage>>;

type Answer = Result<RecordBatch, Cause>;

/// Where the flow has the query that failed.
#[derive(Debug, thiserror::Error)]
#[error("{at}: {source}")]
struct Failed {
    at: Place,
    source: Cause,
}

/// What the record says of the query.
pub(super) fn record(asking: &Asking) -> ComponentRecord {
    asking.record(lock(&asking.pool).clone())
}

/// What the query makes of another source's rows.
pub(super) fn asked(
    whole: Reference,
    query: &Step,
    sql: Option<&Loaded>,
    context: &Context,
) -> Result<(Reference, Asking), RunError> {
    let known = standard(sql)?;
    let field = format!("{}.query", query.at.field);
    let context = Context { seed: context.seed ^ xxh3_64(field.as_bytes()), ..context.clone() };
    let open = builtin(
        &known.compiled,
        context,
        json!({ "steps": [query.work] }),
        (&whole.schema, Vec::new()),
        (vec![query.at.clone()], Collected::default()),
    );
    let planned = open()?;
    let schema = Arc::clone(&planned.opened().output);
    let asking = working(field.clone(), known, Mutex::new(planned.usage()));
    let name = whole.name.clone();
    let at = Place { field, ..query.at.clone() };
    let (open, whole, used) = (Arc::new(open), Arc::new(whole), Arc::clone(&asking.pool));
    let rows = move || {
        let (sender, receiver) = mpsc::sync_channel(READ_AHEAD);
        let wanted = Arc::new(AtomicBool::new(true));
        let asker = Asker { sender, wanted: Arc::clone(&wanted) };
        let (open, whole, used, at) =
            (Arc::clone(&open), Arc::clone(&whole), Arc::clone(&used), at.clone());
        let working = thread::spawn(move || {
            let answered = open().map_err(Cause::from).and_then(|pool| {
                let answered = asker.answer(&pool, &whole);
                lock(&used).add(pool.usage());
                answered
            });
            if let Err(source) = answered {
                // Whoever does not listen any more has failed, and says why.
                let _ = asker.sender.send(Err(Cause::from(Failed { at, source })));
            }
        });
        Box::new(Answers { receiver, working: Some(working), wanted }) as _
    };
    Ok((Reference { name, schema, open: Arc::new(rows) }, asking))
}

/// The rows of the answer as they come.
struct Answers {
    receiver: mpsc::Receiver<Answer>,
    working: Option<JoinHandle<()>>,
    /// Whether anybody asks for more.
    wanted: Arc<AtomicBool>,
}

impl Iterator for Answers {
    type Item = Answer;

    fn next(&mut self) -> Option<Answer> {
        if let Ok(answer) = self.receiver.recv() {
            return Some(answer);
        }
        // A thread that panicked just stops sending: its rows must not be missing without a word.
        let stopped = self.working.take()?.join().is_err();
        stopped.then(|| Err(Cause::from("its query stopped")))
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.wanted.store(false, Ordering::Relaxed);
    }
}

struct Asker {
    sender: mpsc::SyncSender<Answer>,
    wanted: Arc<AtomicBool>,
}

impl Asker {
    /// Sends the rows of the answer, as long as somebody wants them.
    fn answer(&self, pool: &TransformPool, whole: &Reference) -> Result<(), Cause> {
        for rows in (whole.open)() {
            // A query that gives little reads for long.
            if !self.wanted.load(Ordering::Relaxed) {
                return Ok(());
            }
            let done = pool.process(None, &Batch { rows: rows?, origin: Origin::unknown() })?;
            for batch in done.batches {
                if self.sender.send(Ok(batch.rows)).is_err() {
                    return Ok(());
                }
            }
        }
        Ok(pool.finish(&mut |batch| self.sender.send(Ok(batch.rows)).is_ok())?)
    }
}
