//! Other inputs of a component: each instance is given all of them before its first batch.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use crate::batch::Batch;
use crate::batch::Origin;
use crate::component::Limits;
use crate::sandbox::error::Breach;
use crate::sandbox::exchange::encode_batch;
use crate::sandbox::instance::Instance;
use crate::sandbox::opening;
use crate::sandbox::pool::Pool;
use crate::sandbox::pool::batch_deadline;
use crate::sandbox::pool::end_deadline;
use crate::sandbox::pool::rows_offered;
use crate::sandbox::world::World;

/// Why another input cannot be read.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The batches of another input, or why one cannot be read.
pub type References = Box<dyn Iterator<Item = Result<RecordBatch, Cause>>>;

/// Another input of a component.
#[derive(Clone)]
pub struct Reference {
    /// Its name in the flow.
    pub name: String,
    /// Its columns.
    pub schema: SchemaRef,
    /// Begins to read it, anew for each instance.
    pub open: Arc<dyn Fn() -> References + Send + Sync>,
}

impl std::fmt::Debug for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reference").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Reference {
    /// Its rows, from the first one.
    pub(super) fn rows(&self) -> impl Iterator<Item = Result<RecordBatch, Breach>> {
        let name = self.name.clone();
        let unread = move |source| Breach::Input { name: name.clone(), source };
        (self.open)().map(move |rows| rows.map_err(&unread))
    }
}

/// Gives an instance its other inputs, once; `projections` are the columns that it wants of each.
pub(super) fn feed<W: World>(
    pool: &Pool<W>,
    instance: &mut Instance<W>,
    limits: &Limits,
    references: &[Reference],
    projections: &[Vec<usize>],
) -> Result<(), Breach> {
    if std::mem::replace(&mut instance.is_fed, true) {
        return Ok(());
    }
    for (at, (reference, projection)) in references.iter().zip(projections).enumerate() {
        // The first input is the one that is transformed or judged.
        let input = u32::try_from(at + 1).unwrap_or(u32::MAX);
        for rows in reference.rows() {
            let batch = Batch { rows: rows?, origin: Origin::unknown() };
            let piece_rows = rows_offered(limits, None, &batch, projection);
            let all = batch.rows.num_rows();
            for start in (0..all).step_by(piece_rows) {
                let piece = batch.rows.slice(start, piece_rows.min(all - start));
                let wanted = piece.project(projection).map_err(|error| {
                    Breach::Load(format!("its input cannot be projected: {error}"))
                })?;
                let mut bytes = Vec::new();
                encode_batch(&wanted, &mut bytes)?;
                pool.budget().give(bytes.len(), wanted.num_rows());
                pool.count(bytes.len(), 0);
                let deadline = batch_deadline(limits, wanted.num_rows());
                let answer = pool
                    .call(instance, deadline, |store, world| world.take_in(store, input, &bytes))?;
                if answer.map_err(opening::failure)? {
                    return Err(Breach::protocol(
                        "rows or judgements for a batch of another input",
                    ));
                }
            }
        }
        let answer = pool
            .call(instance, end_deadline(limits), |store, world| world.end_input(store, input))?;
        answer.map_err(opening::failure)?;
    }
    Ok(())
}
