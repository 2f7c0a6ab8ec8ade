//! A strict parse that never rounds, cuts or guesses.

use std::sync::Arc;

use arrow::array::Array;
use arrow::array::ArrayRef;
use arrow::array::StringArray;
use arrow::compute::CastOptions;
use arrow::compute::cast_with_options;
use arrow::datatypes::DataType;

use crate::spelling;

/// The first value that is not of the type asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// Its index in the array.
    pub index: usize,
    /// What is wrong, with the value.
    pub what: String,
}

/// Parses all values, or none: a value that does not fit whole is an error, NULL stays NULL.
///
/// # Errors
/// The first value that does not fit.
pub fn parse(values: &StringArray, to: &DataType) -> Result<ArrayRef, Misfit> {
    if *to == DataType::Utf8 {
        return Ok(Arc::new(values.clone()));
    }
    let misfit = |index: usize, why: &str| Misfit {
        index,
        what: format!("{} is not {why}", shown(values.value(index))),
    };
    if matches!(to, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..))
        || to.is_decimal()
    {
        for (index, value) in values.iter().enumerate() {
            if let Some(why) = value.and_then(|value| spelling::dropped(value, to)) {
                return Err(misfit(index, &format!("{}: {why}", spelling::spelt(to))));
            }
        }
    }
    if to.is_floating()
        && let Some(index) = too_large(values)
    {
        return Err(misfit(index, &format!("{}: it is too large", spelling::spelt(to))));
    }
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(values, to, &strict).map_err(|error| {
        // The cast does not say where; the lenient one leaves a NULL there.
        let lenient =
            cast_with_options(values, to, &CastOptions { safe: true, ..CastOptions::default() });
        let index = lenient
            .ok()
            .and_then(|cast| (0..values.len()).find(|i| values.is_valid(*i) && cast.is_null(*i)));
        match index {
            Some(index) => misfit(index, &spelling::spelt(to)),
            None => Misfit { index: 0, what: error.to_string() },
        }
    })
}

/// A number that would become an infinity, which has no digits itself.
fn too_large(values: &StringArray) -> Option<usize> {
    let is_lost = |value: &str| {
        value.bytes().any(|byte| byte.is_ascii_digit())
            && value.trim().parse::<f64>().is_ok_and(f64::is_infinite)
    };
    values.iter().position(|value| value.is_some_and(is_lost))
}

/// A value for a message: quoted, and cut where it is long.
#[must_use]
pub fn shown(value: &str) -> String {
    match value.char_indices().nth(60) {
        Some((end, _)) => format!("`{}…`", &value[..end]),
        None => format!("`{value}`"),
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::TimeUnit;

    use super::*;

    #[test]
    fn a_value_that_would_be_cut_or_rounded_is_named() {
        for (value, to, right) in [
            (
                "1.005",
                DataType::Decimal128(5, 2),
                "`1.005` is not a decimal(5,2): it has more digits after the point",
            ),
            ("1000.00", DataType::Decimal128(5, 2), "`1000.00` is not a decimal(5,2)"),
            ("1.500", DataType::Decimal128(5, 2), ""),
            ("12", DataType::Int8, ""),
            ("1e400", DataType::Float64, "`1e400` is not float64: it is too large"),
            ("-inf", DataType::Float64, ""),
            ("300", DataType::Int8, "`300` is not int8"),
            (
                "2024-01-01T00:00:00Z",
                DataType::Timestamp(TimeUnit::Microsecond, None),
                "`2024-01-01T00:00:00Z` is not a timestamp without zone: it has a zone",
            ),
            (
                "2024-01-01 10:00",
                DataType::Date32,
                "`2024-01-01 10:00` is not a date (YYYY-MM-DD): it is more than a date",
            ),
        ] {
            let values = StringArray::from(vec![None, Some(value)]);
            let what = parse(&values, &to)
                .err()
                .map(|misfit| (misfit.index, misfit.what))
                .unwrap_or_default();
            let index = usize::from(!right.is_empty());
            assert_eq!(what, (index, right.to_owned()), "{value} as {to}");
        }
    }
}
