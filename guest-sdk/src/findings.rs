//! Judging rows: bits, counts and the rules that hold between them, kept right by construction.

use crate::bindings::types::Judgement;
use crate::failure::{Failure, Reason};
use arrow_array::{Array, BooleanArray};
use arrow_buffer::BooleanBuffer;
use std::borrow::Cow;

/// What one reason says of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Judged, and fine.
    Pass,
    /// Judged, and hit.
    Hit,
    /// Not judged: counts neither as passed nor as hit.
    Skip,
}

impl From<bool> for Verdict {
    /// `true` is what should be.
    fn from(fine: bool) -> Self {
        if fine { Self::Pass } else { Self::Hit }
    }
}

/// What becomes of the NULLs in a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// They are not judged.
    Skip,
    /// They are judged, and pass.
    Pass,
    /// They are judged, and hit.
    Hit,
}

/// One reason's judgement of a batch, as it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judge {
    rows: usize,
    hits: Vec<u8>,
    evaluated: u32,
    nulls: u32,
}

impl Judge {
    /// No row of `rows` judged so far.
    #[must_use]
    pub fn new(rows: usize) -> Self {
        Self { rows, hits: vec![0; rows.div_ceil(8)], evaluated: 0, nulls: 0 }
    }

    /// Judges all rows at once: `true` is a hit.
    #[must_use]
    pub fn of_mask(hits: &BooleanArray, on_null: Nulls) -> Self {
        let rows = hits.len();
        let nulls = hits.null_count();
        let bits = match (hits.nulls(), on_null) {
            (None, _) => hits.values().clone(),
            (Some(valid), Nulls::Skip | Nulls::Pass) => hits.values() & valid.inner(),
            (Some(valid), Nulls::Hit) => &(hits.values() & valid.inner()) | &!valid.inner(),
        };
        let judged_nulls = if on_null == Nulls::Skip { 0 } else { nulls };
        Self {
            rows,
            hits: pack(&bits),
            evaluated: (rows - nulls + judged_nulls) as u32,
            nulls: judged_nulls as u32,
        }
    }

    /// Judges one row, once.
    ///
    /// # Panics
    /// On a row that the batch does not have.
    pub fn judge(&mut self, row: usize, verdict: impl Into<Verdict>) {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        match verdict.into() {
            Verdict::Skip => {}
            Verdict::Pass => self.evaluated += 1,
            Verdict::Hit => {
                self.evaluated += 1;
                self.hits[row / 8] |= 1 << (row % 8);
            }
        }
    }

    /// Judges one row, once, on a NULL.
    ///
    /// # Panics
    /// On a row that the batch does not have.
    pub fn judge_on_null(&mut self, row: usize, verdict: impl Into<Verdict>) {
        let before = self.evaluated;
        self.judge(row, verdict);
        self.nulls += self.evaluated - before;
    }

    /// Whether the row was hit.
    #[must_use]
    pub fn is_hit(&self, row: usize) -> bool {
        self.hits.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1)
    }

    /// How many rows were hit.
    #[must_use]
    pub fn hits(&self) -> u32 {
        self.hits.iter().map(|byte| byte.count_ones()).sum()
    }
}

/// What all reasons say of a batch. A reason that is left out has judged no row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings(Vec<(Cow<'static, str>, Judge)>);

impl Findings {
    /// Nothing found yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the judgement of the reason with this code, as declared in `open`.
    #[must_use]
    pub fn with(mut self, code: impl Into<Cow<'static, str>>, judge: Judge) -> Self {
        self.0.push((code.into(), judge));
        self
    }

    /// In the order of the reasons, and for those that were judged.
    pub(crate) fn judgements(
        self,
        reasons: &[Reason],
        rows: usize,
    ) -> Result<Vec<Judgement>, Failure> {
        let mut judged: Vec<Option<Judge>> = vec![None; reasons.len()];
        for (code, judge) in self.0 {
            let Some(at) = reasons.iter().position(|reason| reason.code == code) else {
                return Err(Failure::internal(
                    "reason",
                    format!("no reason `{code}` was declared"),
                ));
            };
            if judge.rows != rows {
                let message =
                    format!("reason `{code}` judged {} rows of a batch of {rows}", judge.rows);
                return Err(Failure::internal("rows", message));
            }
            if judged[at].replace(judge).is_some() {
                return Err(Failure::internal(
                    "reason",
                    format!("reason `{code}` was judged twice"),
                ));
            }
        }
        let judgement = |(at, judge): (usize, Option<Judge>)| {
            let Judge { hits, evaluated, nulls, .. } = judge?;
            Some(Judgement { reason: at as u16, hits, evaluated, nulls })
        };
        Ok(judged.into_iter().enumerate().filter_map(judgement).collect())
    }

    /// As [`Self::judgements`], with one judgement for each reason.
    pub(crate) fn all_judgements(
        mut self,
        reasons: &[Reason],
        rows: usize,
    ) -> Result<Vec<Judgement>, Failure> {
        for reason in reasons {
            if !self.0.iter().any(|(code, _)| *code == reason.code) {
                self.0.push((reason.code.clone().into(), Judge::new(rows)));
            }
        }
        self.judgements(reasons, rows)
    }
}

/// The bits as the contract wants them: from bit 0, padding bits zero.
pub(crate) fn pack(bits: &BooleanBuffer) -> Vec<u8> {
    let bytes = bits.len().div_ceil(8);
    let mut packed = bits.sliced().as_slice()[..bytes].to_vec();
    if let (Some(last), used @ 1..) = (packed.last_mut(), bits.len() % 8) {
        *last &= (1 << used) - 1;
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons() -> Vec<Reason> {
        ["odd", "late"].map(|code| Reason::new(code, ["x"], "{x} is not right")).into()
    }

    fn only(judge: Judge, rows: usize) -> Judgement {
        let mut judgements =
            Findings::new().with("late", judge).judgements(&reasons(), rows).unwrap_or_default();
        assert_eq!(judgements.len(), 1);
        judgements.remove(0)
    }

    #[test]
    fn rows_are_judged_one_by_one() {
        let mut judge = Judge::new(10);
        judge.judge(0, Verdict::Hit);
        judge.judge(1, true);
        judge.judge(2, Verdict::Skip);
        judge.judge_on_null(3, Verdict::Skip);
        judge.judge_on_null(8, Verdict::Hit);
        judge.judge_on_null(9, Verdict::Pass);
        assert_eq!(judge.hits(), 2);
        assert!(judge.is_hit(8) && !judge.is_hit(9) && !judge.is_hit(100));
        let expected = Judgement { reason: 1, hits: vec![0b1, 0b1], evaluated: 4, nulls: 2 };
        assert_eq!(only(judge, 10), expected);
    }

    #[test]
    fn padding_bits_are_zero_even_of_a_slice() {
        let mask = BooleanArray::from(vec![true; 64]).slice(3, 11);
        let judgement = only(Judge::of_mask(&mask, Nulls::Skip), 11);
        assert_eq!(judgement.hits, [0xff, 0b111]);
        assert_eq!(pack(&BooleanBuffer::new_set(16)), [0xff, 0xff]);
        assert_eq!(pack(&BooleanBuffer::new_set(0)), [0_u8; 0]);
        assert_eq!(pack(&!&BooleanBuffer::new_unset(3)), [0b111]);
    }

    #[test]
    fn nulls_in_a_mask_go_where_they_are_told() {
        let mask = BooleanArray::from(vec![Some(true), None, Some(false), None]);
        let judge = |on_null| only(Judge::of_mask(&mask, on_null), 4);
        assert_eq!(
            judge(Nulls::Skip),
            Judgement { reason: 1, hits: vec![0b0001], evaluated: 2, nulls: 0 }
        );
        assert_eq!(
            judge(Nulls::Pass),
            Judgement { reason: 1, hits: vec![0b0001], evaluated: 4, nulls: 2 }
        );
        assert_eq!(
            judge(Nulls::Hit),
            Judgement { reason: 1, hits: vec![0b1011], evaluated: 4, nulls: 2 }
        );
    }

    #[test]
    fn a_reason_left_out_has_judged_nothing() {
        let judgements = Findings::new().all_judgements(&reasons(), 9).unwrap_or_default();
        let nothing = |reason| Judgement { reason, hits: vec![0, 0], evaluated: 0, nulls: 0 };
        assert_eq!(judgements, [nothing(0), nothing(1)]);
    }

    #[test]
    fn mistakes_are_internal_failures() {
        let unknown = Findings::new().with("early", Judge::new(3)).judgements(&reasons(), 3);
        let short = Findings::new().with("odd", Judge::new(2)).judgements(&reasons(), 3);
        let twice = Findings::new()
            .with("odd", Judge::new(3))
            .with("odd", Judge::new(3))
            .judgements(&reasons(), 3);
        for result in [unknown, short, twice] {
            assert!(matches!(result, Err(Failure::Internal(_))), "{result:?}");
        }
    }
}
