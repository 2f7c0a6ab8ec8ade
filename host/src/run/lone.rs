//! A component of which one instance works at a time, on a thread of its own.

use std::sync::Arc;

use futures::StreamExt as _;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::batch::Batch;
use crate::run::chain::Item;
use crate::run::chain::Items;
use crate::run::chain::answers;
use crate::run::chain::produced;
use crate::run::error::RunError;
use crate::sandbox::SandboxError;
use crate::sandbox::TransformPool;

/// Batches that may wait for the instance.
const WAITING: usize = 2;

/// The rows that come.
pub(super) struct Coming(mpsc::Receiver<(Option<u64>, Batch)>);

/// The component, and where its answers go.
pub(super) struct Lone {
    pub(super) pool: Arc<TransformPool>,
    index: usize,
    sender: mpsc::Sender<Item>,
}

/// What `work` makes of the rows among the items; others pass it by. `index` is the stage's place in its chain.
pub(super) fn lone(
    mut items: Items,
    index: usize,
    pool: Arc<TransformPool>,
    work: impl FnOnce(&Lone, Coming) -> Result<(), RunError> + Send + 'static,
) -> Items {
    produced("a transform", move |sender| async move {
        let (rows, waiting) = mpsc::channel(WAITING);
        let lone = Lone { pool, index, sender: sender.clone() };
        let working = spawn_blocking(move || work(&lone, Coming(waiting)));
        while let Some(item) = items.next().await {
            let going = match item? {
                Item::Rows(number, batch) => rows.send((number, batch)).await.is_ok(),
                other => sender.send(other).await.is_ok(),
            };
            // Whoever stopped listening says why.
            if !going {
                break;
            }
        }
        drop(rows);
        working.await.map_err(RunError::stopped("a transform"))?
    })
}

impl Coming {
    /// The next batch, and its number; waits for it.
    pub(super) fn next(&mut self) -> Option<(Option<u64>, Batch)> {
        self.0.blocking_recv()
    }
}

impl Lone {
    /// What the instance answers to a batch.
    pub(super) fn answers(
        &self,
        number: Option<u64>,
        batch: &Batch,
    ) -> Result<Vec<Item>, SandboxError> {
        answers(&self.pool, self.index, number, batch)
    }

    /// Whether the next stage wants more.
    pub(super) fn send(&self, items: Vec<Item>) -> bool {
        items.into_iter().all(|item| self.sender.blocking_send(item).is_ok())
    }

    /// Works on rows to their end. Whether the next stage wants more.
    pub(super) fn through(
        &self,
        rows: impl Iterator<Item = Result<Batch, RunError>>,
    ) -> Result<bool, RunError> {
        for batch in rows {
            if !self.send(self.answers(None, &batch?)?) {
                return Ok(false);
            }
        }
        let mut going = true;
        self.pool.finish(&mut |batch| {
            going = self.send(vec![Item::Rows(None, batch)]);
            going
        })?;
        Ok(going)
    }
}
