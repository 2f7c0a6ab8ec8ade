//! What a transform's author implements.

use crate::failure::Failure;
use crate::findings::{Findings, Judge};
use crate::inputs::Inputs;
use crate::layout::Layout;
use crate::{About, Context};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::BooleanBuffer;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// A transform: batches in, computed columns out. Export it with [`transform!`](macro@crate::transform).
pub trait Transform: Sized + 'static {
    /// The configuration, as a flow's author writes it.
    type Config: DeserializeOwned + JsonSchema;

    /// What the component is, whatever its configuration.
    const ABOUT: About;

    /// Starts an instance, and says what it wants and what its output looks like.
    ///
    /// # Errors
    /// [`Failure::bad_config`] for a configuration that cannot work; columns that the layout names and the inputs lack
    /// are reported for it.
    fn open(
        config: Self::Config,
        inputs: &Inputs,
        context: &Context,
    ) -> Result<(Self, Layout), Failure>;

    /// Transforms one batch of the first input, which has the wanted columns, in the order wanted.
    ///
    /// # Errors
    /// [`Failure::bad_batch`] where the batch as a whole cannot be processed. For single rows, see [`Output::reject`].
    fn process(&mut self, batch: &RecordBatch) -> Result<Output, Failure>;

    /// Takes in one batch of another input, by the input's position. All of them come before the first
    /// [`Self::process`]. By default a failure, as by default no other input is wanted.
    ///
    /// # Errors
    /// As [`Self::process`].
    fn reference(&mut self, input: usize, _batch: &RecordBatch) -> Result<(), Failure> {
        Err(Failure::internal(
            "reference",
            format!("input {input} is wanted, but nothing takes it in"),
        ))
    }

    /// An input, by position, has ended.
    ///
    /// # Errors
    /// Where what came cannot be all.
    fn end_input(&mut self, _input: usize) -> Result<(), Failure> {
        Ok(())
    }

    /// Rows that only the end of the input shows; called until it gives none. Only [`Layout::many`] may give rows, and
    /// then all columns must be computed: one array a computed column.
    ///
    /// # Errors
    /// Where the rows cannot be made.
    fn finish(&mut self) -> Result<Option<Vec<ArrayRef>>, Failure> {
        Ok(None)
    }
}

/// What became of a batch.
#[derive(Clone, Debug, Default)]
pub struct Output {
    pub(crate) parts: Vec<Part>,
    pub(crate) keep: Option<BooleanBuffer>,
    pub(crate) rejects: Findings,
}

/// Some rows of the output.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) columns: Vec<ArrayRef>,
    pub(crate) origin: Option<Vec<u32>>,
}

impl Output {
    /// Nothing computed; for [`Layout::many`] no rows, otherwise for layouts that compute no column.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }

    /// The computed columns, in the layout's order. [`Layout::one_to_one`] and [`Layout::filter`]: a value for each row
    /// of the batch, also for rows that are left out or rejected.
    #[must_use]
    pub fn columns(columns: impl IntoIterator<Item = ArrayRef>) -> Self {
        Self::default().with_part(columns, None)
    }

    /// [`Layout::many`]: the computed columns, and for each row the row of the batch that it comes from.
    #[must_use]
    pub fn rows(columns: impl IntoIterator<Item = ArrayRef>, origin: Vec<u32>) -> Self {
        Self::default().with_part(columns, Some(origin))
    }

    /// [`Layout::many`]: further rows, for outputs too big for one batch.
    #[must_use]
    pub fn and_rows(self, columns: impl IntoIterator<Item = ArrayRef>, origin: Vec<u32>) -> Self {
        self.with_part(columns, Some(origin))
    }

    /// [`Layout::many`]: further rows that come from no single row of the batch; all columns must be computed then.
    #[must_use]
    pub fn and_columns(self, columns: impl IntoIterator<Item = ArrayRef>) -> Self {
        self.with_part(columns, None)
    }

    fn with_part(
        mut self,
        columns: impl IntoIterator<Item = ArrayRef>,
        origin: Option<Vec<u32>>,
    ) -> Self {
        self.parts.push(Part { columns: columns.into_iter().collect(), origin });
        self
    }

    /// [`Layout::filter`]: keeps the rows whose bit is set.
    #[must_use]
    pub fn keep(self, rows: BooleanBuffer) -> Self {
        Self { keep: Some(rows), ..self }
    }

    /// Rejects the rows hit: the host takes them out of the output and diverts them. `code` is that of a reason of the
    /// layout.
    #[must_use]
    pub fn reject(self, code: impl Into<Cow<'static, str>>, judge: Judge) -> Self {
        Self { rejects: self.rejects.with(code, judge), ..self }
    }
}
