//! Steps whose SQL names collected values: opened at first with what stands in for them, and anew when the values are known.

use std::sync::Arc;
use std::sync::OnceLock;

use arrow::datatypes::SchemaRef;
use futures::StreamExt as _;
use futures::stream;
use tokio::task::spawn_blocking;

use crate::batch::Batch;
use crate::component::usage::Usage;
use crate::evidence::ComponentRecord;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::run::chain;
use crate::run::chain::Item;
use crate::run::chain::Items;
use crate::run::chain::Room;
use crate::run::error::RunError;
use crate::run::live::Working;
use crate::sandbox::Breach;
use crate::sandbox::SandboxError;
use crate::sandbox::TransformPool;

/// How the steps are opened with the values that are known by then.
type Open = dyn Fn() -> Result<TransformPool, RunError> + Send + Sync;

/// A stage that waits for values.
pub(super) struct Bound {
    /// Opened with what stands in for the values; no row enters it.
    planned: Working<TransformPool>,
    open: Box<Open>,
    /// Where the flow has its first step.
    at: Place,
    pool: OnceLock<Arc<TransformPool>>,
}

impl Bound {
    pub(super) fn new(planned: Working<TransformPool>, at: Place, open: Box<Open>) -> Self {
        Self { planned, open, at, pool: OnceLock::new() }
    }

    /// What it has used.
    pub(super) fn record(&self) -> ComponentRecord {
        let usage = self.pool.get().map_or_else(Usage::default, |pool| pool.usage());
        self.planned.record(usage)
    }

    /// Opens the steps with the values.
    fn bind(&self) -> Result<Arc<TransformPool>, RunError> {
        let pool = Arc::new((self.open)().map_err(|error| self.beyond(error))?);
        let (planned, opened) = (self.planned.pool.opened(), pool.opened());
        let columns = |schema: &SchemaRef| {
            let fields = schema.fields().iter();
            fields
                .map(|field| format!("{} {}", field.name(), field.data_type()))
                .collect::<Vec<_>>()
        };
        let (before, now) = (columns(&planned.output), columns(&opened.output));
        if before != now
            || (&planned.reasons, planned.row_effect) != (&opened.reasons, opened.row_effect)
        {
            let differ = |all: &[String], others: &[String]| {
                let own = all.iter().filter(|column| !others.contains(column)).cloned();
                own.collect::<Vec<_>>().join(", ")
            };
            let what = format!(
                "with the collected values it gives other columns than were planned: {}, not {}",
                differ(&now, &before),
                differ(&before, &now)
            );
            let hint = "cast what is computed of them, as in `CAST(… AS BIGINT)`";
            return Err(self.wrong(what, hint));
        }
        Ok(Arc::clone(self.pool.get_or_init(|| pool)))
    }

    /// A limit that the values have broken is a matter of the step that names them.
    fn beyond(&self, error: RunError) -> RunError {
        match &error {
            RunError::Sandbox(SandboxError { breach: breach @ Breach::Limit { .. }, .. }) => {
                let what = format!("with the collected values, {breach}");
                self.wrong(what, "collect fewer, or join instead")
            }
            _ => error,
        }
    }

    fn wrong(&self, what: String, hint: &str) -> RunError {
        let problem = Problem::new(Code::Data, self.at.clone(), what).hint(hint);
        RunError::Problems(vec![problem])
    }
}

/// The stage at work: it opens when the first rows come or all have come, for then the values are there.
pub(super) fn step(mut items: Items, index: usize, bound: Arc<Bound>, room: &Room) -> Items {
    let room = room.clone();
    let output = Arc::clone(&bound.planned.pool.opened().output);
    let worked = chain::produced("a transform", move |sender| async move {
        let first = loop {
            match items.next().await {
                Some(Ok(rows @ Item::Rows(..))) => break Some(rows),
                Some(Ok(other)) => {
                    if sender.send(other).await.is_err() {
                        return Ok(());
                    }
                }
                Some(Err(error)) => return Err(error),
                None => break None,
            }
        };
        let binding = spawn_blocking(move || bound.bind());
        let pool = binding.await.map_err(RunError::stopped("a transform"))??;
        let items = stream::iter(first.map(Ok)).chain(items).boxed();
        let mut worked = chain::component(items, index, pool, &room);
        while let Some(item) = worked.next().await {
            if sender.send(item?).await.is_err() {
                break;
            }
        }
        Ok(())
    });
    worked.map(move |item| planned(item?, &output)).boxed()
}

/// Rows by the schema that was planned: with values, a column may be found never to be NULL.
fn planned(item: Item, output: &SchemaRef) -> Result<Item, RunError> {
    let Item::Rows(number, Batch { rows, origin }) = item else { return Ok(item) };
    let rows = rows.with_schema(Arc::clone(output)).map_err(RunError::arrow("a transform"))?;
    Ok(Item::Rows(number, Batch { rows, origin }))
}
