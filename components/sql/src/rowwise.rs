//! Steps that judge and compute each row by itself, at work: only the columns that they read enter, only what they compute
//! leaves.

use std::collections::BTreeMap;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{filter, take};
use arrow::datatypes::DataType;
use wasmhost_guest::{Failure, Judge, Nulls, Output, Reason};

use crate::compiled::{Compiled, held};
use crate::plain;

/// Compiled steps.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) ops: Vec<Op>,
    /// How many columns of the input enter.
    pub(crate) entering: usize,
    /// The registers that leave, with their plain types.
    pub(crate) leaving: Vec<(usize, DataType)>,
    /// Registers that an op after the one of that index, or the output, still reads.
    pub(crate) needed: Vec<Vec<usize>>,
    /// Whether rows may be left out or rejected.
    pub(crate) filters: bool,
}

/// A move over registers: the first ones hold the columns that enter, each computed column gets the next.
#[derive(Debug)]
pub(crate) enum Op {
    Reject(Reason, Compiled),
    Filter(Compiled),
    Compute(Compiled),
}

impl Program {
    /// Runs the steps over one batch of the columns that enter.
    ///
    /// # Errors
    /// A value for which an expression fails, with its row.
    pub(crate) fn run(&self, batch: &RecordBatch) -> Result<Output, Failure> {
        let rows = batch.num_rows();
        let mut registers: Vec<Option<ArrayRef>> =
            batch.columns().iter().cloned().map(Some).collect();
        debug_assert_eq!(registers.len(), self.entering);
        // Positions of the rows that are still on their way; all of them where there is no list.
        let mut left: Option<Vec<u32>> = None;
        let mut rejected: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (op, needed) in self.ops.iter().zip(&self.needed) {
            let now = left.as_ref().map_or(rows, Vec::len);
            match op {
                Op::Compute(compiled) => {
                    let values = compiled.evaluate(&registers, now).map_err(|error| {
                        compiled.failure(&registers, now, left.as_deref(), &error)
                    })?;
                    registers.push(Some(values));
                }
                Op::Filter(compiled) => {
                    let keep = compiled.truth(&registers, now, left.as_deref())?;
                    thin_out(&mut registers, needed, &mut left, &keep, rows)?;
                }
                Op::Reject(reason, compiled) => {
                    let hit = compiled.truth(&registers, now, left.as_deref())?;
                    if hit.true_count() > 0 {
                        let at = hit.values().set_indices();
                        let places = at.map(|at| left.as_ref().map_or(at as u32, |left| left[at]));
                        rejected.entry(&reason.code).or_default().extend(places);
                        let keep = BooleanArray::new(!hit.values(), None);
                        thin_out(&mut registers, needed, &mut left, &keep, rows)?;
                    }
                }
            }
        }
        self.output(&registers, rows, left, &rejected)
    }

    fn output(
        &self,
        registers: &[Option<ArrayRef>],
        rows: usize,
        left: Option<Vec<u32>>,
        rejected: &BTreeMap<&str, Vec<u32>>,
    ) -> Result<Output, Failure> {
        // A value for each row of the batch, also for those that are gone.
        let spread = left.as_ref().map(|left| {
            let mut places: Vec<Option<u32>> = vec![None; rows];
            for (at, place) in left.iter().enumerate() {
                places[*place as usize] = Some(at as u32);
            }
            UInt32Array::from(places)
        });
        let mut columns = Vec::with_capacity(self.leaving.len());
        for (at, of) in &self.leaving {
            let values = held(registers, *at)?;
            let values = plain::unpacked(&values, of)?;
            columns.push(match &spread {
                None => values,
                Some(places) => take(&values, places, None)?,
            });
        }
        let mut output =
            if columns.is_empty() { Output::nothing() } else { Output::columns(columns) };
        if self.filters {
            let mut keep = vec![left.is_none(); rows];
            let stays = left.iter().flatten().chain(rejected.values().flatten());
            stays.for_each(|place| keep[*place as usize] = true);
            output = output.keep(BooleanBuffer::from(keep));
        }
        for op in &self.ops {
            let Op::Reject(reason, _) = op else { continue };
            let mut hits = vec![false; rows];
            let places = rejected.get(reason.code.as_str());
            places.into_iter().flatten().for_each(|place| hits[*place as usize] = true);
            output = output.reject(
                reason.code.clone(),
                Judge::of_mask(&BooleanArray::from(hits), Nulls::Pass),
            );
        }
        Ok(output)
    }
}

/// Leaves rows out of the registers that are still read.
fn thin_out(
    registers: &mut [Option<ArrayRef>],
    needed: &[usize],
    left: &mut Option<Vec<u32>>,
    keep: &BooleanArray,
    rows: usize,
) -> Result<(), Failure> {
    if keep.true_count() == keep.len() {
        return Ok(());
    }
    for (at, register) in registers.iter_mut().enumerate() {
        *register = match register.take() {
            Some(values) if needed.contains(&at) => Some(filter(&values, keep)?),
            _ => None,
        };
    }
    let all = || (0..rows as u32).collect::<Vec<_>>();
    let before = left.take().unwrap_or_else(all);
    *left = Some(keep.values().set_indices().map(|at| before[at]).collect());
    Ok(())
}
