//! What a rule's author implements.

use crate::bindings::rule_exports::Opened;
use crate::failure::Failure;
use crate::findings::Findings;
use crate::inputs::Inputs;
use crate::opening::{Opening, opening_methods};
use crate::{About, Context};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// A rule: batches in, judgements out; it cannot change data. Export it with [`rule!`](macro@crate::rule).
pub trait Rule: Sized + 'static {
    /// The configuration, as a flow's author writes it.
    type Config: DeserializeOwned + JsonSchema;

    /// What the component is, whatever its configuration.
    const ABOUT: About;

    /// Starts an instance, and says which columns it wants and what it may find.
    ///
    /// # Errors
    /// [`Failure::bad_config`] for a configuration that cannot work; columns that are wanted and missing are reported
    /// for it.
    fn open(
        config: Self::Config,
        inputs: &Inputs,
        context: &Context,
    ) -> Result<(Self, Checks), Failure>;

    /// Judges one batch of the first input, which has the wanted columns, in the order wanted.
    ///
    /// # Errors
    /// [`Failure::bad_batch`] where the batch cannot be judged at all.
    fn check(&mut self, batch: &RecordBatch) -> Result<Findings, Failure>;

    /// Takes in one batch of another input, by the input's position. All of them come before the first
    /// [`Self::check`]. By default a failure, as by default no other input is wanted.
    ///
    /// # Errors
    /// As [`Self::check`].
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

    /// What only the end of the input shows; called until it gives none.
    ///
    /// # Errors
    /// Where no verdict can be given.
    fn conclude(&mut self) -> Result<Option<Conclusion>, Failure> {
        Ok(None)
    }
}

/// A rule's answer to `open`: which columns it wants and why rows may be hit. Starts out stateless.
#[derive(Clone, Debug)]
pub struct Checks {
    opening: Opening,
}

impl Default for Checks {
    fn default() -> Self {
        Self::new()
    }
}

impl Checks {
    /// Wants nothing, finds nothing, and lets the host split the input as it likes.
    #[must_use]
    pub fn new() -> Self {
        Self { opening: Opening::new() }
    }

    opening_methods!();

    /// The answer in the contract's words, and what each input's batches look like.
    pub(crate) fn resolve(&self, inputs: &Inputs) -> Result<(Opened, Vec<SchemaRef>), Failure> {
        let mut problems = Vec::new();
        let opening = self.opening.resolve(inputs, &mut problems)?;
        if !problems.is_empty() {
            return Err(Failure::BadSchema(problems));
        }
        let opened = Opened {
            statefulness: opening.statefulness,
            reasons: opening.reasons,
            projections: opening.projections,
            max_rows: opening.max_rows,
        };
        Ok((opened, opening.schemas))
    }
}

/// A verdict on the whole input, by the codes of the reasons declared in `open`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conclusion {
    pub(crate) tables: Vec<(Cow<'static, str>, f64, f64)>,
    pub(crate) rows: Vec<(Cow<'static, str>, u64)>,
}

impl Conclusion {
    /// Nothing found yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The table as a whole is hit: what was measured, and what it should have kept to.
    #[must_use]
    pub fn table(
        mut self,
        code: impl Into<Cow<'static, str>>,
        measured: f64,
        threshold: f64,
    ) -> Self {
        self.tables.push((code.into(), measured, threshold));
        self
    }

    /// A row is hit after all: its position among all rows that this instance was given, from 0.
    #[must_use]
    pub fn row(mut self, code: impl Into<Cow<'static, str>>, row: u64) -> Self {
        self.rows.push((code.into(), row));
        self
    }
}
