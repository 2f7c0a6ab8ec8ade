//! `freshness`: how old the newest value of the whole input is.

use crate::column::{Column, Mistake};
use crate::time::SECOND_NS;
use crate::values::time_unit_ns;
use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, PrimitiveArray};

/// The age of an input without any value: a finding's measure must be a number, and this is the largest.
const NO_VALUE_AGE_S: f64 = f64::MAX;

const MILLISECOND_NS: i128 = SECOND_NS / 1_000;

/// The newest value so far.
#[derive(Debug)]
pub(crate) struct Freshness {
    unit_ns: i128,
    max_age_ms: u64,
    newest: Option<i64>,
}

/// An input that is too old, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stale {
    pub(crate) age_s: f64,
    pub(crate) max_age_s: f64,
}

impl Freshness {
    /// # Errors
    /// A column of neither dates nor timestamps.
    pub(crate) fn new(column: Column<'_>, max_age_ms: u64) -> Result<Self, Vec<Mistake>> {
        match time_unit_ns(column.data_type) {
            Some(unit_ns) => Ok(Self { unit_ns, max_age_ms, newest: None }),
            None => Err(vec![column.refuse("freshness", "dates and timestamps")]),
        }
    }

    /// Takes a batch in; row by row, every value passes.
    pub(crate) fn hits(&mut self, column: &dyn Array) -> BooleanArray {
        let newest = newest(column);
        self.newest = self.newest.max(newest);
        crate::no_hits(column)
    }

    /// None where the newest value is new enough at this time, or later than it.
    pub(crate) fn stale_at(&self, now_ns: u64) -> Option<Stale> {
        let max_age_ns = i128::from(self.max_age_ms) * MILLISECOND_NS;
        let age_ns =
            self.newest.map(|newest| i128::from(now_ns) - i128::from(newest) * self.unit_ns);
        let is_stale = age_ns.is_none_or(|age_ns| age_ns > max_age_ns);
        let seconds = |ns: i128| ns as f64 / SECOND_NS as f64;
        let age_s = age_ns.map_or(NO_VALUE_AGE_S, seconds);
        is_stale.then(|| Stale { age_s, max_age_s: seconds(max_age_ns) })
    }
}

fn newest(column: &dyn Array) -> Option<i64> {
    fn of<T: arrow_array::ArrowPrimitiveType<Native: Ord + Into<i64>>>(
        column: &PrimitiveArray<T>,
    ) -> Option<i64> {
        let newest = match column.null_count() {
            0 => column.values().iter().copied().max(),
            _ => column.iter().flatten().max(),
        };
        newest.map(Into::into)
    }
    use arrow_array::types::*;
    use arrow_schema::{DataType, TimeUnit};
    match column.data_type() {
        DataType::Date32 => of(column.as_primitive::<Date32Type>()),
        DataType::Date64 => of(column.as_primitive::<Date64Type>()),
        DataType::Timestamp(TimeUnit::Second, _) => {
            of(column.as_primitive::<TimestampSecondType>())
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            of(column.as_primitive::<TimestampMillisecondType>())
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            of(column.as_primitive::<TimestampMicrosecondType>())
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            of(column.as_primitive::<TimestampNanosecondType>())
        }
        _ => None,
    }
}
