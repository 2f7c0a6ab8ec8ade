//! A transform, as the contract sees it.

use crate::bindings::plugin_exports as plugin;
use crate::bindings::transform_exports as wire;
use crate::bindings::types::{Context, NamedInput};
use crate::encode::encode_batch;
use crate::failure::{Failure, Reason};
use crate::findings::pack;
use crate::inputs::Inputs;
use crate::layout::ResolvedLayout;
use crate::transform::{Output, Part, Transform};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use std::marker::PhantomData;

/// A transform that has been opened.
#[derive(Debug)]
pub struct TransformInstance<T> {
    transform: T,
    /// What each input's batches look like.
    schemas: Vec<SchemaRef>,
    computed: SchemaRef,
    row_effect: wire::RowEffect,
    reasons: Vec<Reason>,
}

impl<T: Transform> TransformInstance<T> {
    /// Opens the transform, and says what it wants.
    ///
    /// # Errors
    /// The author's, or that of the layout.
    pub fn open(
        context: &Context,
        config: &str,
        inputs: Vec<NamedInput>,
    ) -> Result<(Self, wire::Opened), Failure> {
        let config = crate::config::parse(config)?;
        let inputs = Inputs::decode(inputs)?;
        let (transform, layout) = T::open(config, &inputs, context)?;
        let ResolvedLayout { opened, computed, schemas } = layout.resolve(&inputs)?;
        let (row_effect, reasons) = (opened.row_effect, opened.reasons.clone());
        Ok((Self { transform, schemas, computed, row_effect, reasons }, opened))
    }

    /// One batch of one input.
    ///
    /// # Errors
    /// The author's, or `internal` for an output that is not as the layout says.
    pub fn process(&mut self, input: u32, batch: Vec<u8>) -> Result<wire::Output, Failure> {
        let (input, batch) = super::decode(input, batch, &self.schemas)?;
        if input > 0 {
            self.transform.reference(input, &batch)?;
            return Ok(wire::Output { batches: Vec::new(), keep: None, rejects: Vec::new() });
        }
        let Output { mut parts, keep, rejects } = self.transform.process(&batch)?;
        let rows = batch.num_rows();
        match self.row_effect {
            wire::RowEffect::Many => {}
            // Nothing computed is nothing to send.
            _ if self.computed.fields().is_empty() => parts.retain(|part| !part.columns.is_empty()),
            _ if parts.len() == 1 && parts[0].origin.is_none() => {}
            _ => {
                return Err(Failure::internal(
                    "output",
                    "this layout needs its computed columns, once and without origin",
                ));
            }
        }
        let fixed_rows = (self.row_effect != wire::RowEffect::Many).then_some(rows);
        let batches = parts
            .into_iter()
            .map(|part| self.encode(part, fixed_rows))
            .collect::<Result<_, _>>()?;
        match &keep {
            Some(_) if self.row_effect != wire::RowEffect::Filter => {
                return Err(Failure::internal("keep", "only a filter may leave rows out"));
            }
            Some(keep) if keep.len() != rows => {
                return Err(Failure::internal(
                    "rows",
                    format!("{} keep bits for a batch of {rows}", keep.len()),
                ));
            }
            _ => {}
        }
        let rejects = rejects.judgements(&self.reasons, rows)?;
        Ok(wire::Output { batches, keep: keep.as_ref().map(pack), rejects })
    }

    /// An input has ended.
    ///
    /// # Errors
    /// The author's.
    pub fn end_input(&mut self, input: u32) -> Result<(), Failure> {
        self.transform.end_input(input as usize)
    }

    /// Rows from the end of the input.
    ///
    /// # Errors
    /// The author's, or `internal` for rows that are not as the layout says.
    pub fn finish(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let Some(columns) = self.transform.finish()? else { return Ok(None) };
        if self.row_effect != wire::RowEffect::Many {
            return Err(Failure::internal(
                "finish",
                "only a layout of many rows may give rows at the end",
            ));
        }
        self.encode(Part { columns, origin: None }, None).map(|batch| Some(batch.computed))
    }

    fn encode(&self, part: Part, fixed_rows: Option<usize>) -> Result<wire::OutputBatch, Failure> {
        let Part { columns, origin } = part;
        let rows = fixed_rows
            .or(origin.as_ref().map(Vec::len))
            .or(columns.first().map(|column| column.len()));
        let batch = self.batch(columns, rows.unwrap_or(0))?;
        Ok(wire::OutputBatch { computed: encode_batch(&batch)?, origin })
    }

    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch, Failure> {
        if let Some(column) = columns.iter().find(|column| column.len() != rows) {
            return Err(Failure::internal(
                "rows",
                format!("a computed column of {} rows, expected {rows}", column.len()),
            ));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.computed.clone(), columns, &options).map_err(
            |error| Failure::internal("output", format!("not the columns of the layout: {error}")),
        )
    }
}

/// A transform that a component exports; [`transform!`](macro@crate::transform) implements it. It lends the one instance that
/// the component has.
pub trait TransformExport: Transform {
    /// Lends the instance, which is none before `open`.
    fn with_instance<R>(use_it: impl FnOnce(&mut Option<TransformInstance<Self>>) -> R) -> R;
}

/// The exports of the transform world, for any transform.
#[derive(Debug)]
pub struct TransformWorld<T>(PhantomData<T>);

impl<T: TransformExport> plugin::Guest for TransformWorld<T> {
    fn describe() -> plugin::Descriptor {
        crate::panic::install();
        T::ABOUT.descriptor::<T::Config>()
    }
}

impl<T: TransformExport> wire::Guest for TransformWorld<T> {
    fn open(
        context: Context,
        config: String,
        inputs: Vec<NamedInput>,
    ) -> Result<wire::Opened, Failure> {
        crate::panic::install();
        let (instance, opened) = TransformInstance::open(&context, &config, inputs)?;
        T::with_instance(|slot| *slot = Some(instance));
        Ok(opened)
    }

    fn process(input: u32, batch: Vec<u8>) -> Result<wire::Output, Failure> {
        T::with_instance(|slot| slot.as_mut().ok_or_else(super::not_open)?.process(input, batch))
    }

    fn end_input(input: u32) -> Result<(), Failure> {
        T::with_instance(|slot| slot.as_mut().ok_or_else(super::not_open)?.end_input(input))
    }

    fn finish() -> Result<Option<Vec<u8>>, Failure> {
        T::with_instance(|slot| slot.as_mut().ok_or_else(super::not_open)?.finish())
    }
}
