//! Runs a transform, and puts its output together as the host does.

use super::{Hits, bits, context, named, project};
use crate::bindings::transform_exports::{ColumnSource, Opened, Output, RowEffect};
use crate::decode::{decode_batch, decode_schema};
use crate::failure::Failure;
use crate::glue::TransformInstance;
use crate::transform::Transform;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use std::sync::Arc;

/// A transform that has been opened.
#[derive(Debug)]
pub struct Transforming<T> {
    instance: TransformInstance<T>,
    opened: Opened,
    input: SchemaRef,
    computed: SchemaRef,
}

/// What a transform made of its input.
#[derive(Clone, Debug, PartialEq)]
pub struct Transformed {
    /// The whole output: computed and carried columns, without rows left out or rejected.
    pub output: RecordBatch,
    /// For each reason, in the order declared.
    pub rejects: Vec<Hits>,
}

/// Opens a transform with one input.
///
/// # Errors
/// Why the transform cannot be opened.
pub fn transform<T: Transform>(
    config: impl ToString,
    schema: &Schema,
) -> Result<Transforming<T>, Failure> {
    transform_with(config, &[("input", schema)])
}

/// Opens a transform with several inputs. `config` is JSON, as text or as a value.
///
/// # Errors
/// Why the transform cannot be opened.
pub fn transform_with<T: Transform>(
    config: impl ToString,
    inputs: &[(&str, &Schema)],
) -> Result<Transforming<T>, Failure> {
    let (instance, opened) =
        TransformInstance::open(&context(), &config.to_string(), named(inputs))?;
    let computed = Arc::new(decode_schema(&opened.computed_schema)?);
    Ok(Transforming { instance, opened, input: Arc::new(inputs[0].1.clone()), computed })
}

impl<T: Transform> Transforming<T> {
    /// The answer to `open`, in the contract's words.
    #[must_use]
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// The schema of the output.
    #[must_use]
    pub fn output_schema(&self) -> SchemaRef {
        let field = |(name, source): &(String, ColumnSource)| match source {
            ColumnSource::Input(position) => {
                self.input.field(*position as usize).clone().with_name(name)
            }
            ColumnSource::Computed(position) => {
                self.computed.field(*position as usize).clone().with_name(name)
            }
        };
        Arc::new(Schema::new(self.opened.layout.iter().map(field).collect::<Vec<Field>>()))
    }

    /// Gives another input whole, by its position.
    ///
    /// # Errors
    /// The transform's.
    pub fn reference(&mut self, input: u32, batches: &[RecordBatch]) -> Result<(), Failure> {
        for batch in batches {
            self.instance
                .process(input, project(batch, &self.opened.projections[input as usize]))?;
        }
        self.instance.end_input(input)
    }

    /// Gives the first input whole, and ends it.
    ///
    /// # Errors
    /// The transform's.
    ///
    /// # Panics
    /// On an answer that the host would not take.
    pub fn run(mut self, batches: &[RecordBatch]) -> Result<Transformed, Failure> {
        let mut rejects = Hits::none_of(&self.opened.reasons);
        let mut parts = Vec::new();
        let mut first = 0;
        for batch in batches {
            let output = self.instance.process(0, project(batch, &self.opened.projections[0]))?;
            for judgement in &output.rejects {
                rejects[usize::from(judgement.reason)].add(judgement, first, batch.num_rows());
            }
            parts.extend(self.assemble(batch, output)?);
            first += batch.num_rows();
        }
        self.instance.end_input(0)?;
        while let Some(computed) = self.instance.finish()? {
            let computed = decode_batch(computed, &self.computed)?;
            let nothing = RecordBatch::new_empty(self.input.clone());
            parts.push(self.rows(&computed, &nothing)?);
        }
        Ok(Transformed {
            output: arrow_select::concat::concat_batches(&self.output_schema(), &parts)?,
            rejects,
        })
    }

    /// The output's rows that come from one batch.
    fn assemble(&self, batch: &RecordBatch, output: Output) -> Result<Vec<RecordBatch>, Failure> {
        let rows = batch.num_rows();
        if self.opened.row_effect == RowEffect::Many {
            assert!(output.keep.is_none(), "keep bits with a layout of many rows");
            let part = |part: crate::bindings::transform_exports::OutputBatch| {
                let computed = decode_batch(part.computed, &self.computed)?;
                let carried = match part.origin {
                    None => RecordBatch::new_empty(batch.schema()),
                    Some(origin) => {
                        assert_eq!(origin.len(), computed.num_rows(), "one origin a row");
                        arrow_select::take::take_record_batch(batch, &UInt32Array::from(origin))?
                    }
                };
                self.rows(&computed, &carried)
            };
            return Ok(output.batches.into_iter().map(part).collect::<Result<_, _>>()?);
        }
        let none = RecordBatchOptions::new().with_row_count(Some(rows));
        let computed = match output.batches.into_iter().next() {
            Some(only) => decode_batch(only.computed, &self.computed)?,
            None => RecordBatch::try_new_with_options(self.computed.clone(), Vec::new(), &none)?,
        };
        assert_eq!(computed.num_rows(), rows, "a computed row for each row");
        let mut keep = match &output.keep {
            Some(keep) => bits(keep, rows),
            None => BooleanBuffer::new_set(rows),
        };
        for reject in &output.rejects {
            keep = &keep & &!&bits(&reject.hits, rows);
        }
        let whole = self.rows(&computed, batch)?;
        Ok(vec![arrow_select::filter::filter_record_batch(&whole, &BooleanArray::new(keep, None))?])
    }

    /// Computed and carried columns, in the order of the layout.
    fn rows(
        &self,
        computed: &RecordBatch,
        carried: &RecordBatch,
    ) -> Result<RecordBatch, ArrowError> {
        let column = |(_, source): &(String, ColumnSource)| -> ArrayRef {
            match source {
                ColumnSource::Input(position) => carried.column(*position as usize).clone(),
                ColumnSource::Computed(position) => computed.column(*position as usize).clone(),
            }
        };
        let columns: Vec<ArrayRef> = self.opened.layout.iter().map(column).collect();
        let rows = columns.first().map_or(computed.num_rows(), |column| column.len());
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.output_schema(), columns, &options)
    }
}
