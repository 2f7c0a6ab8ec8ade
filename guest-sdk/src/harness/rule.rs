//! Runs a rule.

use super::{Hits, context, named, project};
use crate::bindings::rule_exports::Opened;
use crate::failure::Failure;
use crate::glue::RuleInstance;
use crate::rule::Rule;
use arrow_array::RecordBatch;
use arrow_schema::Schema;

/// A rule that has been opened.
#[derive(Debug)]
pub struct Judging<R> {
    instance: RuleInstance<R>,
    opened: Opened,
}

/// What a rule said of its input.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// For each reason, in the order declared. Late findings are among the rows, but not among those evaluated.
    pub hits: Vec<Hits>,
    /// Verdicts on the whole input: reason, measured, threshold.
    pub tables: Vec<(String, f64, f64)>,
}

impl Judged {
    /// The rows that the reason with this code hit.
    ///
    /// # Panics
    /// Where no such reason was declared.
    #[must_use]
    pub fn rows(&self, code: &str) -> &[usize] {
        let hits = self.hits.iter().find(|hits| hits.reason == code);
        hits.map_or_else(|| panic!("no reason `{code}` was declared"), |hits| &hits.rows)
    }
}

/// Opens a rule with one input.
///
/// # Errors
/// Why the rule cannot be opened.
pub fn rule<R: Rule>(config: impl ToString, schema: &Schema) -> Result<Judging<R>, Failure> {
    rule_with(config, &[("input", schema)])
}

/// Opens a rule with several inputs. `config` is JSON, as text or as a value.
///
/// # Errors
/// Why the rule cannot be opened.
pub fn rule_with<R: Rule>(
    config: impl ToString,
    inputs: &[(&str, &Schema)],
) -> Result<Judging<R>, Failure> {
    let (instance, opened) = RuleInstance::open(&context(), &config.to_string(), named(inputs))?;
    Ok(Judging { instance, opened })
}

impl<R: Rule> Judging<R> {
    /// The answer to `open`, in the contract's words.
    #[must_use]
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// Gives another input whole, by its position.
    ///
    /// # Errors
    /// The rule's.
    pub fn reference(&mut self, input: u32, batches: &[RecordBatch]) -> Result<(), Failure> {
        for batch in batches {
            self.instance.check(input, project(batch, &self.opened.projections[input as usize]))?;
        }
        self.instance.end_input(input)
    }

    /// Gives the first input whole, and ends it.
    ///
    /// # Errors
    /// The rule's.
    ///
    /// # Panics
    /// On an answer that the host would not take.
    pub fn run(mut self, batches: &[RecordBatch]) -> Result<Judged, Failure> {
        let mut hits = Hits::none_of(&self.opened.reasons);
        let mut first = 0;
        for batch in batches {
            let judgements = self.instance.check(0, project(batch, &self.opened.projections[0]))?;
            assert_eq!(judgements.len(), hits.len(), "one judgement a reason");
            for judgement in &judgements {
                hits[usize::from(judgement.reason)].add(judgement, first, batch.num_rows());
            }
            first += batch.num_rows();
        }
        self.instance.end_input(0)?;
        let mut tables = Vec::new();
        while let Some(conclusion) = self.instance.conclude()? {
            for late in conclusion.rows {
                assert!(late.row < first as u64, "a late finding on row {} of {first}", late.row);
                hits[usize::from(late.reason)].rows.push(late.row as usize);
            }
            for table in conclusion.tables {
                let code = hits[usize::from(table.reason)].reason.clone();
                tables.push((code, table.measured, table.threshold));
            }
        }
        Ok(Judged { hits, tables })
    }
}
