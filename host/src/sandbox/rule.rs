//! A rule at work: batches in, judgements out. Its world has no way to return rows.

use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use arrow::array::BooleanBufferBuilder;
use arrow::datatypes::SchemaRef;
use serde_json::Value;

use crate::batch::Batch;
use crate::component::OpenedRule;
use crate::component::Statefulness;
use crate::component::findings::Conclusion;
use crate::component::findings::Judgement;
use crate::component::findings::TableFinding;
use crate::component::usage::Usage;
use crate::sandbox::bindings::rule::RulePlugin;
use crate::sandbox::bindings::rule::exports::wasmhost::plugin::rule as wire;
use crate::sandbox::bindings::types;
use crate::sandbox::budget::ANSWER_BYTES;
use crate::sandbox::engine::Compiled;
use crate::sandbox::error::Breach;
use crate::sandbox::error::SandboxError;
use crate::sandbox::exchange::encode_batch;
use crate::sandbox::instance::Instance;
use crate::sandbox::judge::judgements;
use crate::sandbox::opening;
use crate::sandbox::opening::Context;
use crate::sandbox::pool::Pool;
use crate::sandbox::pool::batch_deadline;
use crate::sandbox::pool::end_deadline;
use crate::sandbox::pool::rows_offered;
use crate::sandbox::reference::Reference;
use crate::sandbox::reference::feed;
use crate::sandbox::world;

/// Table findings that the evidence keeps of a reason.
const TABLE_FINDINGS_MAX: usize = 100;

/// Opened instances of a rule.
pub struct RulePool {
    compiled: Compiled,
    opened: OpenedRule,
    pool: Pool<RulePlugin>,
    /// The other inputs, which each instance sees whole.
    references: Vec<Reference>,
    /// Of rules with state: which of all rows each reason has hit at once, so that no late finding can hit one twice.
    hits: Mutex<Vec<BooleanBufferBuilder>>,
}

impl std::fmt::Debug for RulePool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RulePool")
            .field("component", &self.compiled.component.name)
            .finish_non_exhaustive()
    }
}

impl RulePool {
    /// Opens a rule for rows of schema `input`.
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
            world::open::<RulePlugin>(compiled, context, config, input, &references)?;
        Ok(Self { compiled: compiled.clone(), opened, pool, references, hits: Mutex::default() })
    }

    /// What was agreed.
    #[must_use]
    pub fn opened(&self) -> &OpenedRule {
        &self.opened
    }

    /// What was used so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.pool.usage()
    }

    /// Judges a batch: one judgement a reason, in the order declared. `number` counts batches from 0 in source order, for messages.
    /// May be called from many threads at once if stateless.
    ///
    /// # Errors
    /// Any breach of the contract or of a limit.
    pub fn check(
        &self,
        number: impl Into<Option<u64>>,
        batch: &Batch,
    ) -> Result<Vec<Judgement>, SandboxError> {
        let Self { compiled, opened, pool, .. } = self;
        let mut whole: Vec<_> =
            opened.reasons.iter().map(|_| Growing::new(batch.rows.num_rows())).collect();
        let rows = rows_offered(&compiled.limits, opened.max_rows, batch, &opened.projection);
        let stateless = opened.statefulness == Statefulness::Stateless;
        let offered = pool.pieces(
            batch,
            rows,
            stateless,
            &|instance, piece| self.call(instance, piece),
            &mut |judgements: Vec<Judgement>| {
                whole
                    .iter_mut()
                    .zip(judgements)
                    .for_each(|(whole, judgement)| whole.append(&judgement));
            },
        );
        offered.map_err(|breach| breach.at(&compiled.component.name, "check", number.into()))?;
        let judgements: Vec<_> =
            whole.into_iter().enumerate().map(|(reason, one)| one.judgement(reason)).collect();
        if !stateless {
            let mut hits = self.hits();
            hits.resize_with(judgements.len(), || BooleanBufferBuilder::new(0));
            hits.iter_mut()
                .zip(&judgements)
                .for_each(|(all, judgement)| all.append_buffer(&judgement.hits));
        }
        Ok(judgements)
    }

    /// Tells every instance that the input is over, and hears what only the whole input shows.
    ///
    /// # Errors
    /// Any breach of the contract or of a limit.
    pub fn conclude(&self) -> Result<Conclusion, SandboxError> {
        let mut tables = Vec::new();
        let rows = self.hits().first().map_or(0, BooleanBufferBuilder::len);
        let unset = || {
            let mut bits = BooleanBufferBuilder::new(rows);
            bits.append_n(rows, false);
            bits
        };
        let mut late: Vec<_> = self.opened.reasons.iter().map(|_| unset()).collect();
        let done = self.pool.end(|instance| self.end(instance, &mut tables, &mut late));
        done.map_err(|breach| breach.at(&self.compiled.component.name, "conclude", None))?;
        let late_hits = late.iter_mut().map(BooleanBufferBuilder::finish).collect();
        Ok(Conclusion { tables, late_hits })
    }

    fn call(
        &self,
        instance: &mut Instance<RulePlugin>,
        piece: &Batch,
    ) -> Result<Vec<Judgement>, Breach> {
        self.feed(instance)?;
        let rows = piece.rows.num_rows();
        let wanted = piece.rows.project(&self.opened.projection);
        let wanted = wanted
            .map_err(|error| Breach::Load(format!("its input cannot be projected: {error}")))?;
        let mut bytes = instance.take_buffer();
        encode_batch(&wanted, &mut bytes)?;
        self.pool.budget().give(bytes.len(), rows);
        let answer = self.pool.call(
            instance,
            batch_deadline(&self.compiled.limits, rows),
            |store, bindings| bindings.wasmhost_plugin_rule().call_check(store, 0, &bytes),
        )?;
        let entered = bytes.len();
        instance.keep_buffer(bytes);
        let raw = answer.map_err(|failure| opening::failure(failure).of_row_in(piece))?;
        let (found, due) = (raw.len(), self.opened.reasons.len());
        let returned =
            raw.iter().map(|judgement| judgement.hits.len() + size_of::<types::Judgement>()).sum();
        self.pool.budget().take_back(returned)?;
        self.pool.count(entered, returned);
        let mut judged = judgements(raw, &self.opened.reasons, rows)?;
        if found != due {
            return Err(Breach::Protocol(format!(
                "{found} judgements of a batch; it declared {due} reasons"
            )));
        }
        judged.sort_by_key(|judgement| judgement.reason);
        Ok(judged)
    }

    fn end(
        &self,
        instance: &mut Instance<RulePlugin>,
        tables: &mut Vec<TableFinding>,
        late: &mut [BooleanBufferBuilder],
    ) -> Result<(), Breach> {
        self.feed(instance)?;
        let deadline = end_deadline(&self.compiled.limits);
        let answer = self.pool.call(instance, deadline, |store, bindings| {
            bindings.wasmhost_plugin_rule().call_end_input(store, 0)
        })?;
        answer.map_err(opening::failure)?;
        loop {
            let answer = self.pool.call(instance, deadline, |store, bindings| {
                bindings.wasmhost_plugin_rule().call_conclude(store)
            })?;
            let Some(found) = answer.map_err(opening::failure)? else { return Ok(()) };
            let is_empty = found.tables.is_empty() && found.rows.is_empty();
            if self.opened.statefulness == Statefulness::Stateless && !is_empty {
                return Err(Breach::protocol(
                    "findings from `conclude`, though it says that it keeps no state",
                ));
            }
            let bytes = found.tables.len() * size_of::<wire::TableFinding>()
                + found.rows.len() * size_of::<wire::LateFinding>();
            self.pool.budget().take_back(bytes.max(ANSWER_BYTES))?;
            self.collect(found, tables, late)?;
        }
    }

    fn feed(&self, instance: &mut Instance<RulePlugin>) -> Result<(), Breach> {
        let Self { compiled, opened, pool, references, .. } = self;
        feed(pool, instance, &compiled.limits, references, &opened.others)
    }

    fn hits(&self) -> MutexGuard<'_, Vec<BooleanBufferBuilder>> {
        self.hits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn collect(
        &self,
        found: wire::Conclusion,
        tables: &mut Vec<TableFinding>,
        late: &mut [BooleanBufferBuilder],
    ) -> Result<(), Breach> {
        let reasons = self.opened.reasons.len();
        let known = |reason: u16| match usize::from(reason) {
            reason if reason < reasons => Ok(reason),
            reason => Err(Breach::Protocol(format!("a finding for reason {reason} of {reasons}"))),
        };
        for table in found.tables {
            if !(table.measured.is_finite() && table.threshold.is_finite()) {
                return Err(Breach::protocol("a table finding whose measure is not a number"));
            }
            let reason = known(table.reason)?;
            if tables.iter().filter(|known| known.reason == reason).count() >= TABLE_FINDINGS_MAX {
                return Err(Breach::Protocol(format!(
                    "more than {TABLE_FINDINGS_MAX} table findings for one reason"
                )));
            }
            let (measured, threshold) = (table.measured, table.threshold);
            tables.push(TableFinding { reason, measured, threshold });
        }
        let hits = self.hits();
        for finding in found.rows {
            let reason = known(finding.reason)?;
            let late = &mut late[reason];
            let row = usize::try_from(finding.row).ok().filter(|row| *row < late.len());
            let Some(row) = row else {
                let (row, rows) = (finding.row, late.len());
                return Err(Breach::Protocol(format!("a finding about row {row} of {rows}")));
            };
            if hits[reason].get_bit(row) || late.get_bit(row) {
                return Err(Breach::Protocol(format!(
                    "a finding about row {row}, which was hit before"
                )));
            }
            late.set_bit(row, true);
        }
        Ok(())
    }
}

/// The judgement of a batch, put together from those of its pieces.
struct Growing {
    hits: BooleanBufferBuilder,
    evaluated: usize,
    nulls: usize,
}

impl Growing {
    fn new(rows: usize) -> Self {
        Self { hits: BooleanBufferBuilder::new(rows), evaluated: 0, nulls: 0 }
    }

    fn append(&mut self, piece: &Judgement) {
        self.hits.append_buffer(&piece.hits);
        self.evaluated += piece.evaluated;
        self.nulls += piece.nulls;
    }

    fn judgement(mut self, reason: usize) -> Judgement {
        Judgement { reason, hits: self.hits.finish(), evaluated: self.evaluated, nulls: self.nulls }
    }
}
