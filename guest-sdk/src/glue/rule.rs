//! A rule, as the contract sees it.

use crate::bindings::plugin_exports as plugin;
use crate::bindings::rule_exports as wire;
use crate::bindings::types::{Context, Judgement, NamedInput};
use crate::failure::{Failure, Reason};
use crate::inputs::Inputs;
use crate::rule::{Conclusion, Rule};
use arrow_schema::SchemaRef;
use std::borrow::Cow;
use std::marker::PhantomData;

/// A rule that has been opened.
#[derive(Debug)]
pub struct RuleInstance<R> {
    rule: R,
    /// What each input's batches look like.
    schemas: Vec<SchemaRef>,
    reasons: Vec<Reason>,
}

impl<R: Rule> RuleInstance<R> {
    /// Opens the rule, and says what it wants.
    ///
    /// # Errors
    /// The author's, or that of the columns wanted.
    pub fn open(
        context: &Context,
        config: &str,
        inputs: Vec<NamedInput>,
    ) -> Result<(Self, wire::Opened), Failure> {
        let config = crate::config::parse(config)?;
        let inputs = Inputs::decode(inputs)?;
        let (rule, checks) = R::open(config, &inputs, context)?;
        let (opened, schemas) = checks.resolve(&inputs)?;
        Ok((Self { rule, schemas, reasons: opened.reasons.clone() }, opened))
    }

    /// One batch of one input.
    ///
    /// # Errors
    /// The author's, or `internal` for findings that do not fit the batch.
    pub fn check(&mut self, input: u32, batch: Vec<u8>) -> Result<Vec<Judgement>, Failure> {
        let (input, batch) = super::decode(input, batch, &self.schemas)?;
        if input > 0 {
            self.rule.reference(input, &batch)?;
            return Ok(Vec::new());
        }
        self.rule.check(&batch)?.all_judgements(&self.reasons, batch.num_rows())
    }

    /// An input has ended.
    ///
    /// # Errors
    /// The author's.
    pub fn end_input(&mut self, input: u32) -> Result<(), Failure> {
        self.rule.end_input(input as usize)
    }

    /// Verdicts from the end of the input.
    ///
    /// # Errors
    /// The author's, or `internal` for a reason that was not declared.
    pub fn conclude(&mut self) -> Result<Option<wire::Conclusion>, Failure> {
        let Some(Conclusion { tables, rows }) = self.rule.conclude()? else { return Ok(None) };
        let reason = |code: &str| match self.reasons.iter().position(|reason| reason.code == code) {
            Some(at) => Ok(at as u16),
            None => Err(Failure::internal("reason", format!("no reason `{code}` was declared"))),
        };
        let table = |(code, measured, threshold): (Cow<'static, str>, f64, f64)| {
            Ok(wire::TableFinding { reason: reason(&code)?, measured, threshold })
        };
        let row = |(code, row): (Cow<'static, str>, u64)| {
            Ok(wire::LateFinding { reason: reason(&code)?, row })
        };
        Ok(Some(wire::Conclusion {
            tables: tables.into_iter().map(table).collect::<Result<_, Failure>>()?,
            rows: rows.into_iter().map(row).collect::<Result<_, Failure>>()?,
        }))
    }
}

/// A rule that a component exports; [`rule!`](macro@crate::rule) implements it. It lends the one instance that the component
/// has.
pub trait RuleExport: Rule {
    /// Lends the instance, which is none before `open`.
    fn with_instance<T>(use_it: impl FnOnce(&mut Option<RuleInstance<Self>>) -> T) -> T;
}

/// The exports of the rule world, for any rule.
#[derive(Debug)]
pub struct RuleWorld<R>(PhantomData<R>);

impl<R: RuleExport> plugin::Guest for RuleWorld<R> {
    fn describe() -> plugin::Descriptor {
        crate::panic::install();
        R::ABOUT.descriptor::<R::Config>()
    }
}

impl<R: RuleExport> wire::Guest for RuleWorld<R> {
    fn open(
        context: Context,
        config: String,
        inputs: Vec<NamedInput>,
    ) -> Result<wire::Opened, Failure> {
        crate::panic::install();
        let (instance, opened) = RuleInstance::open(&context, &config, inputs)?;
        R::with_instance(|slot| *slot = Some(instance));
        Ok(opened)
    }

    fn check(input: u32, batch: Vec<u8>) -> Result<Vec<Judgement>, Failure> {
        R::with_instance(|slot| slot.as_mut().ok_or_else(super::not_open)?.check(input, batch))
    }

    fn end_input(input: u32) -> Result<(), Failure> {
        R::with_instance(|slot| slot.as_mut().ok_or_else(super::not_open)?.end_input(input))
    }

    fn conclude() -> Result<Option<wire::Conclusion>, Failure> {
        R::with_instance(|slot| slot.as_mut().ok_or_else(super::not_open)?.conclude())
    }
}
