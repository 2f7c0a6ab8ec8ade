//! A rule at work: batches in, judgements out. Its world has no way to return rows.

use std::sync::Arc;

use arrow::array::Array;
use arrow::datatypes::SchemaRef;
use serde_json::Value;

use crate::batch::Batch;
use crate::component::OpenedRule;
use crate::component::Statefulness;
use crate::component::findings::Conclusion;
use crate::component::findings::Judged;
use crate::component::findings::Judgement;
use crate::component::findings::LateFinding;
use crate::component::findings::TableFinding;
use crate::component::usage::Usage;
use crate::sandbox::bindings::rule::RulePlugin;
use crate::sandbox::bindings::rule::exports::wasmhost::plugin::rule as wire;
use crate::sandbox::bindings::types;
use crate::sandbox::engine::Code;
use crate::sandbox::engine::Compiled;
use crate::sandbox::error::Breach;
use crate::sandbox::error::SandboxError;
use crate::sandbox::exchange::encode_batch;
use crate::sandbox::exchange::encode_schema;
use crate::sandbox::instance::Instance;
use crate::sandbox::judge::judgements;
use crate::sandbox::opening;
use crate::sandbox::opening::Context;
use crate::sandbox::pool::Pool;
use crate::sandbox::pool::Seat;
use crate::sandbox::pool::batch_deadline;
use crate::sandbox::pool::end_deadline;
use crate::sandbox::pool::open_deadline;
use crate::sandbox::pool::rows_offered;

/// Opened instances of a rule.
pub struct RulePool {
    compiled: Compiled,
    opened: OpenedRule,
    pool: Pool<RulePlugin>,
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
        let at = |breach: Breach| breach.at(&compiled.component.name, "open", None);
        opening::check_input(input).map_err(at)?;
        let opener = Opener {
            compiled: compiled.clone(),
            context: context.wire(),
            config: config.to_string(),
            input: Arc::clone(input),
        };
        let (first, opened) = opener.open().map_err(at)?;
        let agreed = opened.clone();
        let open = Box::new(move || match opener.open()? {
            (instance, again) if again == agreed => Ok(instance),
            _ => Err(Breach::protocol("another answer to the same `open`")),
        });
        Ok(Self {
            compiled: compiled.clone(),
            opened,
            pool: Pool::new(first, &compiled.limits, open),
        })
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

    /// Judges a batch; `number` counts batches from 0, for messages. May be called from many threads at once if stateless.
    ///
    /// # Errors
    /// Any breach of the contract or of a limit.
    pub fn check(&self, number: u64, batch: &Batch) -> Result<Vec<Judged>, SandboxError> {
        let rows = batch.rows.num_rows();
        let bytes = self
            .opened
            .projection
            .iter()
            .map(|at| batch.rows.column(*at).to_data().get_slice_memory_size().unwrap_or(0))
            .sum();
        let step = rows_offered(&self.compiled.limits, self.opened.max_rows, rows, bytes);
        let mut done = Vec::new();
        for start in (0..rows).step_by(step) {
            let length = step.min(rows - start);
            let piece = self.piece(batch, start, length, &mut done);
            piece.map_err(|breach| {
                breach.at(&self.compiled.component.name, "check", Some(number))
            })?;
        }
        Ok(done)
    }

    /// Tells every instance that the input is over, and hears what only the whole input shows.
    ///
    /// # Errors
    /// Any breach of the contract or of a limit.
    pub fn conclude(&self) -> Result<Conclusion, SandboxError> {
        let mut conclusion = Conclusion::default();
        let done = self.pool.end(|seat| self.end(seat, &mut conclusion));
        done.map_err(|breach| breach.at(&self.compiled.component.name, "conclude", None))?;
        Ok(conclusion)
    }

    fn piece(
        &self,
        batch: &Batch,
        start: usize,
        rows: usize,
        done: &mut Vec<Judged>,
    ) -> Result<(), Breach> {
        match self.pool.with(|seat| self.call(seat, &batch.slice(start, rows))) {
            Ok(judgements) => {
                done.push(Judged { start, rows, judgements });
                Ok(())
            }
            Err(breach)
                if breach.is_memory()
                    && self.opened.statefulness == Statefulness::Stateless
                    && rows > 1 =>
            {
                self.piece(batch, start, rows / 2, done)?;
                self.piece(batch, start + rows / 2, rows - rows / 2, done)
            }
            Err(breach) => Err(breach),
        }
    }

    fn call(&self, seat: &mut Seat<RulePlugin>, piece: &Batch) -> Result<Vec<Judgement>, Breach> {
        let limits = &self.compiled.limits;
        let rows = piece.rows.num_rows();
        let wanted = piece.rows.project(&self.opened.projection);
        let bytes =
            encode_batch(&wanted.map_err(|error| {
                Breach::Load(format!("its input cannot be projected: {error}"))
            })?)?;
        seat.give(bytes.len(), rows);
        let answer = seat.instance.call(batch_deadline(limits, rows), |store, bindings| {
            bindings.wasmhost_plugin_rule().call_check(store, 0, &bytes)
        })?;
        let raw = answer.map_err(opening::failure)?;
        let returned =
            raw.iter().map(|judgement| judgement.hits.len() + size_of::<types::Judgement>()).sum();
        seat.take_back(returned, limits)?;
        seat.returned(rows);
        self.pool.count(bytes.len(), returned);
        let mut judged = judgements(raw, &self.opened.reasons, rows)?;
        if judged.len() != self.opened.reasons.len() {
            let what = format!(
                "{} judgements of a batch; it declared {} reasons",
                judged.len(),
                self.opened.reasons.len()
            );
            return Err(Breach::Protocol(what));
        }
        judged.sort_by_key(|judgement| judgement.reason);
        Ok(judged)
    }

    fn end(&self, seat: &mut Seat<RulePlugin>, conclusion: &mut Conclusion) -> Result<(), Breach> {
        let limits = &self.compiled.limits;
        let deadline = end_deadline(limits);
        let answer = seat.instance.call(deadline, |store, bindings| {
            bindings.wasmhost_plugin_rule().call_end_input(store, 0)
        })?;
        answer.map_err(opening::failure)?;
        loop {
            let answer = seat.instance.call(deadline, |store, bindings| {
                bindings.wasmhost_plugin_rule().call_conclude(store)
            })?;
            let Some(found) = answer.map_err(opening::failure)? else { return Ok(()) };
            let bytes = size_of::<wire::Conclusion>()
                + found.tables.len() * size_of::<wire::TableFinding>()
                + found.rows.len() * size_of::<wire::LateFinding>();
            seat.take_back(bytes, limits)?;
            if self.opened.statefulness == Statefulness::Stateless
                && !(found.tables.is_empty() && found.rows.is_empty())
            {
                return Err(Breach::protocol(
                    "findings from `conclude`, though it says that it keeps no state",
                ));
            }
            self.collect(found, seat.rows_returned(), conclusion)?;
        }
    }

    fn collect(
        &self,
        found: wire::Conclusion,
        rows: u64,
        conclusion: &mut Conclusion,
    ) -> Result<(), Breach> {
        let known = |reason: u16| match usize::from(reason) {
            reason if reason < self.opened.reasons.len() => Ok(reason),
            reason => Err(Breach::Protocol(format!(
                "a finding for reason {reason} of {}",
                self.opened.reasons.len()
            ))),
        };
        for table in found.tables {
            if !(table.measured.is_finite() && table.threshold.is_finite()) {
                return Err(Breach::protocol("a table finding whose measure is not a number"));
            }
            let reason = known(table.reason)?;
            conclusion.tables.push(TableFinding {
                reason,
                measured: table.measured,
                threshold: table.threshold,
            });
        }
        for late in found.rows {
            if late.row >= rows {
                return Err(Breach::Protocol(format!(
                    "a finding about row {} of {rows}",
                    late.row
                )));
            }
            conclusion.rows.push(LateFinding { reason: known(late.reason)?, row: late.row });
        }
        Ok(())
    }
}

/// All that is needed to open another instance.
struct Opener {
    compiled: Compiled,
    context: types::Context,
    config: String,
    input: SchemaRef,
}

impl Opener {
    fn open(&self) -> Result<(Instance<RulePlugin>, OpenedRule), Breach> {
        let Compiled { engine, code, limits, .. } = &self.compiled;
        let Code::Rule(pre) = code else {
            return Err(Breach::Load("a transform, where a rule is due".to_owned()));
        };
        let mut instance = Instance::new(engine, limits, |store| pre.instantiate(store))?;
        let inputs =
            [types::NamedInput { name: "input".to_owned(), schema: encode_schema(&self.input) }];
        let answer = instance.call(open_deadline(limits), |store, bindings| {
            bindings.wasmhost_plugin_rule().call_open(store, &self.context, &self.config, &inputs)
        })?;
        let opened = opening::rule(answer.map_err(opening::failure)?, &self.input, limits)?;
        Ok((instance, opened))
    }
}
