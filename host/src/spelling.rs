//! Types as messages call them, and what reading a text as a type would drop. Flows, expressions and files say it alike.

use arrow::datatypes::DataType;
use arrow::datatypes::TimeUnit;

/// What of a text the cast to `to` would drop without a word.
#[must_use]
pub fn dropped(text: &str, to: &DataType) -> Option<&'static str> {
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

/// A type, near enough for a message.
#[must_use]
pub fn spelt(data_type: &DataType) -> String {
    match data_type {
        DataType::Null => "NULL".to_owned(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_owned(),
        DataType::Boolean => "a boolean".to_owned(),
        DataType::Date32 | DataType::Date64 => "a date (YYYY-MM-DD)".to_owned(),
        DataType::Timestamp(_, None) => "a timestamp without zone".to_owned(),
        DataType::Timestamp(_, Some(_)) => "a timestamp".to_owned(),
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => {
            format!("a decimal({precision},{scale})")
        }
        DataType::Dictionary(_, values) => spelt(values),
        other => other.to_string().to_lowercase(),
    }
}
