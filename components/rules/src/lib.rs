//! The standard rules on rows: all checks of one flow, judged in one pass over its batches.
//!
//! The configuration lists the checks; each is one reason, declared in that order under its own code and message:
//!
//! ```json
//! { "checks": [
//!   { "code": "not_null:id", "message": "{id} is missing", "column": "id", "on_null": "fail", "check": { "type": "not_null" } },
//!   { "code": "range:delay", "message": "{delay} is out of range", "column": "delay", "on_null": "pass",
//!     "check": { "type": "range", "min": -120, "max": 1440 } },
//!   { "code": "reference:carrier", "message": "{carrier} is unknown", "on_null": "skip",
//!     "check": { "type": "reference", "columns": ["carrier"], "source": "airlines", "source_columns": ["code"] } } ] }
//! ```
//!
//! [`Check`] says what each type of check takes and what it passes. NULLs go where `on_null` says, whatever the check: `fail`
//! and `pass` evaluate them, and count them as NULLs; `skip` does not evaluate them at all.
//!
//! The input may be split over instances, unless a freshness check is among the checks: the newest value of a part says
//! nothing of the whole. Instances without a row judge freshness too: no value at all is too old, by [`f64::MAX`] seconds.
//!
//! A configuration that cannot be kept to is refused in `open`, with all of its mistakes at once, each at its place.

mod accepted;
mod column;
mod config;
mod freshness;
mod key_set;
mod keys;
mod length;
mod number;
mod open;
mod pattern;
mod range;
mod reference;
mod time;
mod truth;
mod values;

pub use config::{Check, Config, Entry, OnNull, Scalar};

use crate::column::Kernel;
use crate::freshness::{Freshness, Stale};
use crate::reference::{KeyColumns, Source};
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use wasmhost_guest::{
    About, Checks, Conclusion, Context, Failure, Findings, Inputs, Judge, Nulls, Rule, about,
};

/// The rule that judges all checks.
#[derive(Debug)]
pub struct Rules {
    judged: Vec<Judged>,
    /// Other inputs' keys, for the checks that look rows up in them.
    sources: Vec<Source>,
    /// The run's logical time.
    now_ns: u64,
    is_concluded: bool,
}

/// One reason.
#[derive(Debug)]
struct Judged {
    code: String,
    on_null: Nulls,
    test: Test,
}

/// What is held against each batch; columns are named by their position in it.
#[derive(Debug)]
enum Test {
    NotNull(usize),
    Column(usize, Kernel),
    Freshness(usize, Freshness),
    /// With the position of the source.
    Reference(KeyColumns, usize),
}

impl Rule for Rules {
    type Config = Config;

    const ABOUT: About = about!();

    fn open(config: Config, inputs: &Inputs, context: &Context) -> Result<(Self, Checks), Failure> {
        open::open(config, inputs, context)
    }

    fn reference(&mut self, input: usize, batch: &RecordBatch) -> Result<(), Failure> {
        self.sources
            .iter_mut()
            .filter(|source| source.input == input)
            .try_for_each(|source| source.add(batch))
    }

    fn check(&mut self, batch: &RecordBatch) -> Result<Findings, Failure> {
        let Self { judged, sources, .. } = self;
        let findings = judged.iter_mut().fold(Findings::new(), |findings, judged| {
            let Judged { code, on_null, test } = judged;
            let hits = match test {
                Test::NotNull(at) => no_hits(batch.column(*at)),
                Test::Column(at, kernel) => kernel.hits(batch.column(*at)),
                Test::Freshness(at, freshness) => freshness.hits(batch.column(*at)),
                Test::Reference(columns, source) => sources[*source].hits(columns, batch),
            };
            findings.with(code.clone(), Judge::of_mask(&hits, *on_null))
        });
        Ok(findings)
    }

    fn conclude(&mut self) -> Result<Option<Conclusion>, Failure> {
        if std::mem::replace(&mut self.is_concluded, true) {
            return Ok(None);
        }
        let stale = self.judged.iter().filter_map(|judged| match &judged.test {
            Test::Freshness(_, freshness) => Some((&judged.code, freshness.stale_at(self.now_ns)?)),
            Test::NotNull(_) | Test::Column(..) | Test::Reference(..) => None,
        });
        let conclusion = stale
            .fold(Conclusion::new(), |found, (code, Stale { age_s, max_age_s })| {
                found.table(code.clone(), age_s, max_age_s)
            });
        Ok(Some(conclusion))
    }
}

/// Every value passes, and NULLs stay NULL.
fn no_hits(column: &dyn Array) -> BooleanArray {
    BooleanArray::new(BooleanBuffer::new_unset(column.len()), column.logical_nulls())
}

wasmhost_guest::rule!(Rules);
