//! The rules of a chain at work: a batch's conditions are computed, every pass judges it, and keys are read off for the end.

use std::sync::Arc;

use arrow::array::Array as _;
use arrow::array::AsArray as _;
use arrow::array::BooleanArray;
use arrow::array::RecordBatch;
use arrow::buffer::BooleanBuffer;
use arrow::buffer::NullBuffer;
use arrow::compute::SortOptions;
use arrow::compute::concat_batches;
use arrow::compute::prep_null_mask_filter;
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow_row::Rows;

use crate::batch::Batch;
use crate::component::Reason;
use crate::component::Statefulness;
use crate::component::findings::Judgement;
use crate::evidence::ComponentRecord;
use crate::flow::Keep;
use crate::flow::OnNull;
use crate::flow::Rule;
use crate::plan::judging::Judging;
use crate::plan::judging::Total;
use crate::rules::Seat;
use crate::run::error::RunError;
use crate::run::live::Working;
use crate::sandbox::RulePool;
use crate::sandbox::TransformPool;
use crate::spool::RowBytes;
use crate::spool::seed;
use crate::spool::terms;

/// The rules of a chain.
pub(super) struct Judges {
    pub(super) seats: Vec<Seat>,
    conditions: Option<Working<TransformPool>>,
    pub(super) benches: Vec<Bench>,
    pub(super) unique: Vec<Unique>,
    pub(super) totals: Vec<(usize, Total, Option<usize>)>,
    /// How many columns the rows have; conditions stand behind them.
    columns: usize,
}

/// A pass of a component.
pub(super) struct Bench {
    pub(super) working: Working<RulePool>,
    /// The condition that rows must meet.
    pub(super) mask: Option<usize>,
    /// Whose each reason is: rule, and place among its reasons.
    pub(super) seats: Vec<(usize, usize)>,
    /// Whether it may hit rows when it has seen all of them; the standard rules do not.
    pub(super) hits_late: bool,
}

/// Columns in which no two rows may be the same.
pub(super) struct Unique {
    pub(super) rule: usize,
    pub(super) keep: Keeping,
    key: RowBytes,
    /// What orders the rows of a key; none where all of them are hit.
    order: Option<RowBytes>,
    on_null: OnNull,
    mask: Option<usize>,
    seed: u64,
}

/// Which row of several is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeping {
    None,
    First,
    Last,
}

/// A batch that every rule has seen.
pub(super) struct Judged {
    pub(super) batch: Batch,
    /// An entry a rule, in it one a reason.
    pub(super) findings: Vec<Vec<Judgement>>,
    /// For each `unique_key`, the keys of the rows.
    pub(super) keys: Vec<Keys>,
    /// For each judgement on the whole, how many rows count.
    pub(super) counted: Vec<u64>,
    /// For each pass with a condition, the rows that meet it.
    pub(super) seen: Vec<Option<BooleanBuffer>>,
}

/// What rows share with others, known only at the end.
pub(super) struct Keys {
    /// None for rows that are not compared.
    pub(super) digests: Vec<Option<u128>>,
    pub(super) orders: Option<Rows>,
}

impl Judges {
    /// Puts the arranged rules and their open components together.
    pub(super) fn new(
        arranged: &Judging<'_>,
        rules: &[Rule],
        reasons: Vec<Vec<Reason>>,
        rows: &Schema,
        conditions: Option<Working<TransformPool>>,
        pools: Vec<Working<RulePool>>,
    ) -> Result<Self, ArrowError> {
        let seats: Vec<Seat> = rules
            .iter()
            .zip(reasons)
            .map(|(rule, reasons)| Seat {
                name: rule.name.clone(),
                severity: rule.severity,
                reasons,
            })
            .collect();
        let benches = arranged.benches.iter().zip(pools).map(|(bench, working)| {
            let own = || {
                (0..seats[bench.rule].reasons.len()).map(|reason| (bench.rule, reason)).collect()
            };
            let is_own = bench.component.is_some();
            let places = if is_own { own() } else { bench.seats.clone() };
            let has_state = working.pool.opened().statefulness != Statefulness::Stateless;
            Bench { working, mask: bench.mask, seats: places, hits_late: is_own && has_state }
        });
        let benches = benches.collect();
        let unique = arranged.unique.iter().map(|unique| {
            let names: Vec<String> = unique.columns.iter().map(ToString::to_string).collect();
            let (keep, order_by) = match unique.keep {
                Keep::None => (Keeping::None, None),
                Keep::First(by) => (Keeping::First, Some(by)),
                Keep::Last(by) => (Keeping::Last, Some(by)),
            };
            let order = order_by.map(|by| {
                // The whole row decides where the order does not, so that arrival never does.
                let all = rows
                    .fields()
                    .iter()
                    .map(|field| (field.name().clone(), SortOptions::default()));
                RowBytes::new(rows, terms(by).chain(all))
            });
            Ok(Unique {
                rule: unique.rule,
                keep,
                key: RowBytes::ascending(rows, &names)?,
                order: order.transpose()?,
                on_null: unique.on_null,
                mask: unique.mask,
                seed: seed(),
            })
        });
        let unique = unique.collect::<Result<_, ArrowError>>()?;
        let totals = arranged.totals.clone();
        Ok(Self { seats, conditions, benches, unique, totals, columns: rows.fields().len() })
    }

    /// Whether batches may be judged side by side.
    pub(super) fn is_stateless(&self) -> bool {
        let pools = self.benches.iter().map(|bench| &bench.working.pool);
        let passes = pools.map(|pool| &pool.opened().statefulness);
        let conditions = self.conditions.iter().map(|working| &working.pool.opened().statefulness);
        passes.chain(conditions).all(|statefulness| *statefulness == Statefulness::Stateless)
    }

    /// Whether rows may have to be taken out for what only the end shows.
    pub(super) fn takes_out_late(&self) -> bool {
        let unique = self.unique.iter().map(|unique| unique.rule);
        let late = self.benches.iter().filter(|bench| bench.hits_late);
        let mut rules =
            unique.chain(late.flat_map(|bench| bench.seats.iter().map(|(rule, _)| *rule)));
        rules.any(|rule| self.seats[rule].severity.removes_rows())
    }

    pub(super) fn components(&self) -> Vec<ComponentRecord> {
        let recorded = |working: &Working<TransformPool>| working.record(working.pool.usage());
        let conditions = self.conditions.iter().map(recorded);
        let benches = self.benches.iter().map(|bench| &bench.working);
        conditions.chain(benches.map(|working| working.record(working.pool.usage()))).collect()
    }

    /// Judges a batch; `number` counts batches from 0 in source order, for messages.
    pub(super) fn check(&self, number: Option<u64>, batch: Batch) -> Result<Judged, RunError> {
        let failed = || RunError::arrow("the rules");
        let rows = batch.rows.num_rows();
        let wide = self.widened(number, &batch)?;
        let mut findings: Vec<Vec<Judgement>> = self
            .seats
            .iter()
            .map(|seat| (0..seat.reasons.len()).map(|at| silent(at, rows)).collect())
            .collect();
        let mut seen = Vec::new();
        for bench in &self.benches {
            let pool = &bench.working.pool;
            let mask = bench.mask.map(|mask| self.mask(&wide.rows, mask));
            seen.push(mask.as_ref().map(|mask| mask.values().clone()));
            let judgements = match mask {
                None => pool.check(number, &wide)?,
                Some(mask) => {
                    let offered = wide.filter(&mask).map_err(failed())?;
                    let judged = pool.check(number, &offered)?;
                    judged.into_iter().map(|one| spread(one, &mask)).collect()
                }
            };
            for (judgement, (rule, reason)) in judgements.into_iter().zip(&bench.seats) {
                findings[*rule][*reason] = Judgement { reason: *reason, ..judgement };
            }
        }
        let mut keys = Vec::new();
        for unique in &self.unique {
            let mask = unique.mask.map(|mask| self.mask(&wide.rows, mask));
            let (judgement, read) = unique.read(&batch.rows, mask.as_ref()).map_err(failed())?;
            findings[unique.rule][0] = judgement;
            keys.push(read);
        }
        let counted = self.totals.iter().map(|(_, _, mask)| match mask {
            None => rows as u64,
            Some(mask) => self.mask(&wide.rows, *mask).true_count() as u64,
        });
        let counted = counted.collect();
        Ok(Judged { batch, findings, keys, counted, seen })
    }

    /// The rows with the conditions behind them.
    fn widened(&self, number: Option<u64>, batch: &Batch) -> Result<Batch, RunError> {
        let Some(conditions) = &self.conditions else { return Ok(batch.clone()) };
        let done = conditions.pool.process(number, batch)?;
        // Pieces, where the batch was too big for one call.
        let pieces: Vec<RecordBatch> = done.batches.into_iter().map(|batch| batch.rows).collect();
        let rows_due = batch.rows.num_rows();
        if pieces.iter().map(RecordBatch::num_rows).sum::<usize>() != rows_due {
            return Err(RunError::Books(format!(
                "conditions of rules for fewer rows than {rows_due}"
            )));
        }
        let schema = &conditions.pool.opened().output;
        let rows = match pieces.as_slice() {
            [one] => one.clone(),
            _ => concat_batches(schema, &pieces).map_err(RunError::arrow("the rules"))?,
        };
        Ok(Batch { rows, origin: batch.origin.clone() })
    }

    fn mask(&self, wide: &RecordBatch, condition: usize) -> BooleanArray {
        let values = wide.column(self.columns + condition).as_boolean();
        if values.null_count() > 0 { prep_null_mask_filter(values) } else { values.clone() }
    }
}

impl Unique {
    fn read(
        &self,
        rows: &RecordBatch,
        mask: Option<&BooleanArray>,
    ) -> Result<(Judgement, Keys), ArrowError> {
        let count = rows.num_rows();
        let seen = mask.map_or_else(|| BooleanBuffer::new_set(count), |mask| mask.values().clone());
        let names = self.key.columns().iter();
        let valid = names.filter_map(|name| rows.column_by_name(name)).fold(
            None,
            |all: Option<NullBuffer>, column| {
                NullBuffer::union(all.as_ref(), column.logical_nulls().as_ref())
            },
        );
        let nulls = match valid {
            None => BooleanBuffer::new_unset(count),
            Some(valid) => &seen & &!valid.inner(),
        };
        let compared = &seen & &!&nulls;
        let digests = self.key.digests(rows, self.seed)?;
        let digests = digests
            .into_iter()
            .enumerate()
            .map(|(at, digest)| compared.value(at).then_some(digest));
        let judged_nulls = if self.on_null == OnNull::Skip { 0 } else { nulls.count_set_bits() };
        let judgement = Judgement {
            reason: 0,
            evaluated: compared.count_set_bits() + judged_nulls,
            nulls: judged_nulls,
            hits: if self.on_null == OnNull::Fail {
                nulls
            } else {
                BooleanBuffer::new_unset(count)
            },
        };
        let orders = self.order.as_ref().map(|order| order.rows(rows)).transpose()?;
        Ok((judgement, Keys { digests: digests.collect(), orders }))
    }
}

/// Nobody has judged yet.
fn silent(reason: usize, rows: usize) -> Judgement {
    Judgement { reason, hits: BooleanBuffer::new_unset(rows), evaluated: 0, nulls: 0 }
}

/// A judgement of the rows of a mask, as one of all rows.
fn spread(judgement: Judgement, mask: &BooleanArray) -> Judgement {
    let mut hits = vec![false; mask.len()];
    for (seen, at) in mask.values().set_indices().enumerate() {
        hits[at] = judgement.hits.value(seen);
    }
    Judgement { hits: BooleanBuffer::from(hits), ..judgement }
}

impl std::fmt::Debug for Judges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Judges").field("seats", &self.seats).finish_non_exhaustive()
    }
}

/// Shared by the tasks that judge.
pub(super) type SharedJudges = Arc<Judges>;
