//! A strict parse that never rounds, cuts or guesses.

use std::sync::Arc;

use arrow::array::Array;
use arrow::array::ArrayRef;
use arrow::array::StringArray;
use arrow::compute::CastOptions;
use arrow::compute::cast_with_options;
use arrow::datatypes::DataType;
use arrow::datatypes::TimeUnit;

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
            if let Some(why) = value.and_then(|value| dropped(value, to)) {
                return Err(misfit(index, &format!("{}: {why}", spelt(to))));
            }
        }
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
            Some(index) => misfit(index, &spelt(to)),
            None => Misfit { index: 0, what: error.to_string() },
        }
    })
}

/// What of a text the cast to `to` would drop without a word.
fn dropped(text: &str, to: &DataType) -> Option<&'static str> {
    match to {
        DataType::Date32 | DataType::Date64 => {
            (text.len() > 10).then_some("it is more than a date")
        }
        DataType::Timestamp(unit, zone) => {
            let digits = match unit {
                TimeUnit::Second => 0,
                TimeUnit::Millisecond => 3,
                TimeUnit::Microsecond => 6,
                TimeUnit::Nanosecond => 9,
            };
            let time = text.get(10..).unwrap_or_default();
            let fraction = time.split_once('.').map_or("", |(_, rest)| rest);
            if zone.is_none() && (time.ends_with(['Z', 'z']) || time.contains(['+', '-'])) {
                return Some("it has a zone");
            }
            let finer = fraction.bytes().take_while(u8::is_ascii_digit).count() > digits;
            finer.then_some("its fraction of a second is finer")
        }
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => {
            if text.contains(['e', 'E']) {
                return Some("it has an exponent");
            }
            let fraction =
                text.split_once('.').map_or("", |(_, fraction)| fraction).trim_end_matches('0');
            (fraction.len() > usize::try_from(*scale).unwrap_or(0))
                .then_some("it has more digits after the point")
        }
        _ => None,
    }
}

/// A type as flow files spell it, near enough for a message.
#[must_use]
pub fn spelt(data_type: &DataType) -> String {
    match data_type {
        DataType::Utf8 => "text".to_owned(),
        DataType::Boolean => "a boolean".to_owned(),
        DataType::Date32 | DataType::Date64 => "a date (YYYY-MM-DD)".to_owned(),
        DataType::Timestamp(_, None) => "a timestamp without zone".to_owned(),
        DataType::Timestamp(_, Some(_)) => "a timestamp".to_owned(),
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => {
            format!("a decimal({precision},{scale})")
        }
        other => other.to_string().to_lowercase(),
    }
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
