//! The query of a source that steps and rules name: each time its rows are asked for, they go through the sandbox first.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use arrow::array::RecordBatch;
use serde_json::json;
use xxhash_rust::xxh3::xxh3_64;

use crate::batch::Batch;
use crate::batch::Origin;
use crate::flow::Step;
use crate::run::collect::Collected;
use crate::run::error::RunError;
use crate::run::loading::Loaded;
use crate::run::opening::builtin;
use crate::run::opening::standard;
use crate::sandbox::Cause;
use crate::sandbox::Context;
use crate::sandbox::Reference;
use crate::sandbox::TransformPool;

/// Batches of the answer that may wait.
const READ_AHEAD: usize = 2;

type Answer = Result<RecordBatch, Cause>;

/// What the query makes of another source's rows.
pub(super) fn asked(
    whole: Reference,
    query: &Step,
    sql: Option<&Loaded>,
    context: &Context,
) -> Result<Reference, RunError> {
    let context =
        Context { seed: context.seed ^ xxh3_64(query.at.field.as_bytes()), ..context.clone() };
    let open = builtin(
        &standard(sql)?.compiled,
        context,
        json!({ "steps": [query.work] }),
        (&whole.schema, Vec::new()),
        (vec![query.at.clone()], Collected::default()),
    );
    let schema = Arc::clone(&open()?.opened().output);
    let name = whole.name.clone();
    let (open, whole) = (Arc::new(open), Arc::new(whole));
    let rows = move || {
        let (sender, receiver) = mpsc::sync_channel(READ_AHEAD);
        let (open, whole) = (Arc::clone(&open), Arc::clone(&whole));
        let working = thread::spawn(move || {
            let opened = open().map_err(Cause::from);
            if let Err(cause) = opened.and_then(|pool| answer(&pool, &whole, &sender)) {
                // Whoever does not listen any more has failed, and says why.
                let _ = sender.send(Err(cause));
            }
        });
        let mut working = Some(working);
        // A thread that panicked just stops sending: its rows must not be missing without a word.
        let ended = std::iter::from_fn(move || {
            let stopped = working.take()?.join().is_err();
            stopped.then(|| Err(Cause::from("its query stopped")))
        });
        Box::new(receiver.into_iter().chain(ended)) as _
    };
    Ok(Reference { name, schema, open: Arc::new(rows) })
}

/// Sends the rows of the answer, as long as somebody wants them.
fn answer(
    pool: &TransformPool,
    whole: &Reference,
    sender: &mpsc::SyncSender<Answer>,
) -> Result<(), Cause> {
    for rows in (whole.open)() {
        let done = pool.process(None, &Batch { rows: rows?, origin: Origin::unknown() })?;
        for batch in done.batches {
            if sender.send(Ok(batch.rows)).is_err() {
                return Ok(());
            }
        }
    }
    Ok(pool.finish(&mut |batch| sender.send(Ok(batch.rows)).is_ok())?)
}
