//! A transform at work: batches in, batches and rejected rows out, every answer judged against what `open` agreed.

use std::sync::Arc;
use std::sync::Mutex;

use arrow::array::BooleanArray;
use arrow::array::RecordBatch;
use arrow::array::RecordBatchOptions;
use arrow::array::UInt32Array;
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use serde_json::Value;

use crate::batch::Batch;
use crate::batch::Origin;
use crate::component::ColumnSource;
use crate::component::OpenedTransform;
use crate::component::RowEffect;
use crate::component::Statefulness;
use crate::component::findings::Rejection;
use crate::component::usage::Usage;
use crate::sandbox::bindings::transform::TransformPlugin;
use crate::sandbox::bindings::transform::exports::wasmhost::plugin::transform as wire;
use crate::sandbox::budget::ANSWER_BYTES;
use crate::sandbox::engine::Compiled;
use crate::sandbox::error::Breach;
use crate::sandbox::error::SandboxError;
use crate::sandbox::exchange::Rows;
use crate::sandbox::exchange::decode_batch;
use crate::sandbox::exchange::encode_batch;
use crate::sandbox::instance::Instance;
use crate::sandbox::judge::bits;
use crate::sandbox::judge::judgements;
use crate::sandbox::opening;
use crate::sandbox::opening::Context;
use crate::sandbox::pool::Pool;
use crate::sandbox::pool::batch_deadline;
use crate::sandbox::pool::end_deadline;
use crate::sandbox::pool::lock;
use crate::sandbox::pool::rows_offered;
use crate::sandbox::reference::Reference;
use crate::sandbox::reference::feed;
use crate::sandbox::weight;
use crate::sandbox::world;

/// What became of a batch.
#[derive(Debug, Clone, Default)]
pub struct Transformed {
    /// The rows that go on, in order.
    pub batches: Vec<Batch>,
    /// Rows that could not be transformed.
    pub rejected: Vec<Rejection>,
    /// Rows that a filter left out.
    pub rows_filtered: u64,
}

/// Opened instances of a transform.
pub struct TransformPool {
    compiled: Compiled,
    opened: OpenedTransform,
    pool: Pool<TransformPlugin>,
    /// The other inputs, which each instance sees whole.
    references: Mutex<Arc<[Reference]>>,
}

impl std::fmt::Debug for TransformPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TransformPool")
            .field("component", &self.compiled.component.name)
            .finish_non_exhaustive()
    }
}

impl TransformPool {
    /// Opens a transform for rows of schema `input`.
    ///
    /// # Errors
    /// A component of the other world, one that refuses its configuration or the schema, or one that breaks the contract.
    pub fn open(
        compiled: &Compiled,
        context: &Context,
        config: &Value,
        input: &SchemaRef,
    ) -> Result<Self, SandboxError> {
        Self::open_beside(compiled, context, config, input, Vec::new())
    }

    /// The same, with other inputs that it may name.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_beside(
        compiled: &Compiled,
        context: &Context,
        config: &Value,
        input: &SchemaRef,
        references: Vec<Reference>,
    ) -> Result<Self, SandboxError> {
        let (opened, pool) =
            world::open::<TransformPlugin>(compiled, context, config, input, &references)?;
        let references = Mutex::new(references.into());
        Ok(Self { compiled: compiled.clone(), opened, pool, references })
    }

    /// Begins anew with other inputs of the same schemas, in an instance that is there even if no batch comes.
    ///
    /// # Errors
    /// Where there can be no further instance.
    pub fn restart(&self, references: Vec<Reference>) -> Result<(), SandboxError> {
        *lock(&self.references) = references.into();
        let begun = self.pool.restart();
        begun.map_err(|breach| breach.at(&self.compiled.component.name, "open", None))
    }

    /// The rows of another input, for whoever parts it first.
    pub fn rows_of(
        &self,
        reference: &Reference,
    ) -> impl Iterator<Item = Result<RecordBatch, SandboxError>> {
        let unread = |breach: Breach| breach.at(&self.compiled.component.name, "process", None);
        reference.rows().map(move |rows| rows.map_err(unread))
    }

    /// What was agreed.
    #[must_use]
    pub fn opened(&self) -> &OpenedTransform {
        &self.opened
    }

    /// What was used so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.pool.usage()
    }

    /// Transforms a batch; `number` counts batches from 0 in source order, for messages. May be called from many threads at once if
    /// stateless.
    ///
    /// # Errors
    /// Any breach of the contract or of a limit.
    pub fn process(
        &self,
        number: impl Into<Option<u64>>,
        batch: &Batch,
    ) -> Result<Transformed, SandboxError> {
        let Self { compiled, opened, pool, .. } = self;
        let mut done = Transformed::default();
        // Columns that are only left out, renamed or put in order never enter.
        if opened.row_effect == RowEffect::OneToOne
            && opened.computed.fields().is_empty()
            && opened.reasons.is_empty()
            && opened.statefulness == Statefulness::Stateless
        {
            let rows = self.assemble(&batch.rows, &batch.rows);
            let rows = rows
                .map_err(|breach| breach.at(&compiled.component.name, "process", number.into()))?;
            done.batches.push(Batch { rows, origin: batch.origin.clone() });
            return Ok(done);
        }
        let rows = rows_offered(&compiled.limits, opened.max_rows, batch, &opened.projection);
        let stateless = opened.statefulness == Statefulness::Stateless;
        let offered = pool.pieces(
            batch,
            rows,
            stateless,
            &|instance, piece| self.call(instance, piece),
            &mut |one: Transformed| {
                done.batches.extend(one.batches);
                done.rejected.extend(one.rejected);
                done.rows_filtered += one.rows_filtered;
            },
        );
        offered.map_err(|breach| breach.at(&compiled.component.name, "process", number.into()))?;
        Ok(done)
    }

    /// Tells every instance that the input is over; what a transform with state kept back comes now, batch by batch. `take` says
    /// whether it wants more.
    ///
    /// # Errors
    /// Any breach of the contract or of a limit.
    pub fn finish(&self, take: &mut dyn FnMut(Batch) -> bool) -> Result<(), SandboxError> {
        let done = self.pool.end(|instance| self.end(instance, take));
        done.map_err(|breach| breach.at(&self.compiled.component.name, "finish", None))
    }

    fn call(
        &self,
        instance: &mut Instance<TransformPlugin>,
        piece: &Batch,
    ) -> Result<Transformed, Breach> {
        self.feed(instance)?;
        let rows = piece.rows.num_rows();
        let wanted = piece.rows.project(&self.opened.projection).map_err(internal)?;
        let mut bytes = instance.take_buffer();
        encode_batch(&wanted, &mut bytes)?;
        self.pool.budget().give(bytes.len(), rows);
        let deadline = batch_deadline(&self.compiled.limits, rows);
        let answer = self.pool.call(instance, deadline, |store, bindings| {
            bindings.wasmhost_plugin_transform().call_process(store, 0, &bytes)
        })?;
        let entered = bytes.len();
        instance.keep_buffer(bytes);
        let output = answer.map_err(|failure| opening::failure(failure).of_row_in(piece))?;
        let origins =
            |batch: &wire::OutputBatch| batch.origin.as_ref().map_or(0, |origin| 4 * origin.len());
        let returned =
            output.batches.iter().map(|batch| batch.computed.len() + origins(batch)).sum();
        self.pool.budget().take_back(returned)?;
        self.pool.count(entered, returned);
        self.judge(piece, output)
    }

    fn feed(&self, instance: &mut Instance<TransformPlugin>) -> Result<(), Breach> {
        let references = Arc::clone(&*lock(&self.references));
        feed(&self.pool, instance, &self.compiled.limits, &references, &self.opened.others)
    }

    /// Holds an answer against the contract, and puts carried and computed columns together.
    fn judge(&self, piece: &Batch, output: wire::Output) -> Result<Transformed, Breach> {
        let rows = piece.rows.num_rows();
        let wire::Output { batches, keep, rejects } = output;
        let keep = match (keep, self.opened.row_effect) {
            (None, _) => BooleanBuffer::new_set(rows),
            (Some(keep), RowEffect::Filter) => bits(keep, rows, "a `keep` bitmap")?,
            (Some(_), RowEffect::OneToOne | RowEffect::Many) => {
                return Err(Breach::protocol(
                    "a `keep` bitmap from a transform that is not a filter",
                ));
            }
        };
        let rejects = judgements(rejects, &self.opened.reasons, rows)?;
        let rejected = Rejection::of(piece, &rejects).map_err(internal)?;
        let stays = rejects.iter().fold(keep.clone(), |stays, reject| &stays & &!&reject.hits);
        let rejected_rows = rejected.as_ref().map_or(0, |rejected| rejected.reasons.len());
        let rows_filtered = (rows - stays.count_set_bits() - rejected_rows) as u64;
        let batches = match self.opened.row_effect {
            RowEffect::OneToOne | RowEffect::Filter => {
                let computed = self.one_batch(batches, rows)?;
                let whole = Batch {
                    rows: self.assemble(&piece.rows, &computed)?,
                    origin: piece.origin.clone(),
                };
                vec![whole.filter(&BooleanArray::new(stays, None)).map_err(internal)?]
            }
            RowEffect::Many => batches
                .into_iter()
                .map(|batch| self.made(piece, batch))
                .collect::<Result<_, _>>()?,
        };
        let batches = batches.into_iter().filter(|batch| batch.rows.num_rows() > 0).collect();
        Ok(Transformed { batches, rejected: rejected.into_iter().collect(), rows_filtered })
    }

    /// The computed columns of a transform that answers row by row: one batch, or none where nothing is computed.
    fn one_batch(
        &self,
        mut batches: Vec<wire::OutputBatch>,
        rows: usize,
    ) -> Result<RecordBatch, Breach> {
        let computed = &self.opened.computed;
        match (batches.pop(), batches.len()) {
            (Some(batch), 0) if batch.origin.is_none() => {
                decode_batch(batch.computed, computed, Rows::Exactly(rows))
            }
            (Some(_), 0) => {
                Err(Breach::protocol("an `origin` from a transform that does not make rows"))
            }
            (None, _) if computed.fields().is_empty() => {
                let options = RecordBatchOptions::new().with_row_count(Some(rows));
                RecordBatch::try_new_with_options(Arc::clone(computed), Vec::new(), &options)
                    .map_err(internal)
            }
            (last, others) => {
                let found = others + usize::from(last.is_some());
                Err(Breach::Protocol(format!(
                    "{found} batches for one; a transform that does not make rows answers with one"
                )))
            }
        }
    }

    /// A batch of a transform that makes rows; carried columns and places follow `origin`.
    fn made(&self, piece: &Batch, batch: wire::OutputBatch) -> Result<Batch, Breach> {
        let computed = decode_batch(
            batch.computed,
            &self.opened.computed,
            Rows::AtMost(self.pool.budget().rows_left()),
        )?;
        self.pool.budget().returned(computed.num_rows());
        let Some(origin) = batch.origin else {
            return Ok(Batch {
                rows: self.assemble_computed(&computed)?,
                origin: Origin::unknown(),
            });
        };
        if origin.len() != computed.num_rows() {
            let what = format!(
                "an `origin` of {} rows for a batch of {}",
                origin.len(),
                computed.num_rows()
            );
            return Err(Breach::Protocol(what));
        }
        if let Some(outside) = origin.iter().find(|row| **row as usize >= piece.rows.num_rows()) {
            let what = format!("an `origin` that names row {outside} of {}", piece.rows.num_rows());
            return Err(Breach::Protocol(what));
        }
        let carried = self.opened.layout.iter().filter_map(|source| match source {
            ColumnSource::Input(at) => Some(*at),
            ColumnSource::Computed(_) => None,
        });
        let weights = weight::rows(&piece.rows, carried);
        let repeated = origin.iter().map(|row| weights[*row as usize]).sum();
        self.pool.budget().repeat(repeated, weights.iter().sum())?;
        let carried = piece.take(&UInt32Array::from(origin)).map_err(internal)?;
        Ok(Batch { rows: self.assemble(&carried.rows, &computed)?, origin: carried.origin })
    }

    fn assemble(&self, input: &RecordBatch, computed: &RecordBatch) -> Result<RecordBatch, Breach> {
        let columns = self.opened.layout.iter().map(|source| match source {
            ColumnSource::Input(at) => Arc::clone(input.column(*at)),
            ColumnSource::Computed(at) => Arc::clone(computed.column(*at)),
        });
        RecordBatch::try_new(Arc::clone(&self.opened.output), columns.collect()).map_err(internal)
    }

    fn assemble_computed(&self, computed: &RecordBatch) -> Result<RecordBatch, Breach> {
        if self.opened.layout.iter().any(|source| matches!(source, ColumnSource::Input(_))) {
            return Err(Breach::protocol(
                "made rows without `origin`, though its layout carries columns of the input",
            ));
        }
        self.assemble(computed, computed)
    }

    fn end(
        &self,
        instance: &mut Instance<TransformPlugin>,
        take: &mut dyn FnMut(Batch) -> bool,
    ) -> Result<(), Breach> {
        self.feed(instance)?;
        let deadline = end_deadline(&self.compiled.limits);
        let answer = self.pool.call(instance, deadline, |store, bindings| {
            bindings.wasmhost_plugin_transform().call_end_input(store, 0)
        })?;
        answer.map_err(opening::failure)?;
        loop {
            let answer = self.pool.call(instance, deadline, |store, bindings| {
                bindings.wasmhost_plugin_transform().call_finish(store)
            })?;
            let Some(bytes) = answer.map_err(opening::failure)? else { return Ok(()) };
            if self.opened.row_effect != RowEffect::Many
                || self.opened.statefulness == Statefulness::Stateless
            {
                let what = "rows from `finish`, which only a transform with state that makes rows may return";
                return Err(Breach::protocol(what));
            }
            self.pool.budget().take_back(bytes.len().max(ANSWER_BYTES))?;
            self.pool.count(0, bytes.len());
            let most = Rows::AtMost(self.pool.budget().rows_left());
            let computed = decode_batch(bytes, &self.opened.computed, most)?;
            self.pool.budget().returned(computed.num_rows());
            let made =
                Batch { rows: self.assemble_computed(&computed)?, origin: Origin::unknown() };
            if !take(made) {
                return Ok(());
            }
        }
    }
}

/// An error of Arrow's on data that was judged: a bug of ours, shown as what it is.
fn internal(error: ArrowError) -> Breach {
    Breach::Load(format!("the host cannot put its batch together: {error}"))
}
