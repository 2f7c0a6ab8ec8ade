//! Which type a column of text values has: the narrowest that keeps every value whole.

use arrow::datatypes::DataType;
use arrow::datatypes::TimeUnit;

use super::utc;

/// Whole numbers up to this size are exact in float64.
const EXACT_IN_FLOAT: u64 = 1 << 53;

const BOOL: u8 = 1;
const INT: u8 = 2;
const FLOAT: u8 = 4;
const DATE: u8 = 8;
const NAIVE: u8 = 16;
const ZONED: u8 = 32;

/// The types that every value so far could have. Text is what is left when nothing else is.
#[derive(Debug, Clone, Copy)]
pub struct Guess {
    possible: u8,
    seen: bool,
}

impl Default for Guess {
    fn default() -> Self {
        Self { possible: BOOL | INT | FLOAT | DATE | NAIVE | ZONED, seen: false }
    }
}

impl Guess {
    /// Takes one value into account, NULLs not among them.
    pub fn look(&mut self, value: &str) {
        self.seen = true;
        if self.possible != 0 {
            self.possible &= kinds(value);
        }
    }

    /// The type: text where nothing was seen or nothing else fits all values.
    #[must_use]
    pub fn data_type(self) -> DataType {
        if !self.seen {
            return DataType::Utf8;
        }
        // A whole number is a float too, if it stays exact; so the narrower type is asked for first.
        match self.possible {
            p if p & BOOL != 0 => DataType::Boolean,
            p if p & INT != 0 => DataType::Int64,
            p if p & FLOAT != 0 => DataType::Float64,
            p if p & DATE != 0 => DataType::Date32,
            p if p & NAIVE != 0 => DataType::Timestamp(TimeUnit::Microsecond, None),
            p if p & ZONED != 0 => utc(),
            _ => DataType::Utf8,
        }
    }
}

/// Whether a column of this type, as [`Guess`] gives it, would still have it with this value.
#[must_use]
pub fn is_of(value: &str, data_type: &DataType) -> bool {
    let kind = match data_type {
        DataType::Boolean => BOOL,
        DataType::Int64 => INT,
        DataType::Float64 => FLOAT,
        DataType::Date32 => DATE,
        DataType::Timestamp(_, None) => NAIVE,
        DataType::Timestamp(_, Some(_)) => ZONED,
        _ => return true,
    };
    kinds(value) & kind != 0
}

fn kinds(value: &str) -> u8 {
    match value.as_bytes() {
        b"true" | b"false" | b"True" | b"False" | b"TRUE" | b"FALSE" => BOOL,
        [b'-' | b'.' | b'0'..=b'9', ..] => match number(value) {
            Some(number) => number.kinds(),
            None => moment(value),
        },
        _ => 0,
    }
}

/// How a number is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// A whole number of 64 bits. `exact`: float64 holds it, too.
    Int {
        /// Whether float64 holds it.
        exact: bool,
    },
    /// A number with a fraction or an exponent that float64 tells from its neighbours.
    Float,
    /// More digits than either holds.
    TooLong,
}

impl Number {
    fn kinds(self) -> u8 {
        match self {
            Self::Int { exact: true } => INT | FLOAT,
            Self::Int { exact: false } => INT,
            Self::Float => FLOAT,
            Self::TooLong => 0,
        }
    }
}

/// Reads `-?digits[.digits][e±digits]`, also `.5` and `5.`; no plus sign and no leading zeros: those are codes, not numbers.
#[must_use]
pub fn number(text: &str) -> Option<Number> {
    let bytes = text.as_bytes();
    let unsigned = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let digits = |bytes: &[u8]| bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(unsigned);
    if whole > 1 && unsigned[0] == b'0' {
        return None;
    }
    let mut rest = &unsigned[whole..];
    if rest.is_empty() {
        return match (whole, text) {
            (0, _) => None,
            // A whole number has no negative zero.
            (_, "-0") => Some(Number::Float),
            (_, text) => Some(match text.parse::<i64>() {
                Ok(value) => Number::Int { exact: value.unsigned_abs() <= EXACT_IN_FLOAT },
                Err(_) => Number::TooLong,
            }),
        };
    }
    let mut fraction = 0;
    if rest[0] == b'.' {
        fraction = digits(&rest[1..]);
        rest = &rest[1 + fraction..];
    }
    if whole + fraction == 0 {
        return None;
    }
    let significant = {
        let mantissa = &unsigned[..unsigned.len() - rest.len()];
        let mut all =
            mantissa.iter().filter(|b| b.is_ascii_digit()).skip_while(|b| **b == b'0').count();
        all -= mantissa
            .iter()
            .rev()
            .filter(|b| b.is_ascii_digit())
            .take_while(|b| **b == b'0')
            .count()
            .min(all);
        all
    };
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent =
            exponent.strip_prefix(b"-").or(exponent.strip_prefix(b"+")).unwrap_or(exponent);
        if exponent.is_empty() || digits(exponent) != exponent.len() {
            return None;
        }
    } else if !rest.is_empty() {
        return None;
    }
    let finite = text.parse::<f64>().is_ok_and(f64::is_finite);
    // 17 digits tell any float64 from its neighbours; text with more has digits that would be lost.
    Some(if finite && significant <= 17 { Number::Float } else { Number::TooLong })
}

/// `YYYY-MM-DD`, or that and `HH:MM:SS` with up to six digits of a fraction, with or without a zone.
fn moment(text: &str) -> u8 {
    let bytes = text.as_bytes();
    let shaped = bytes.len() >= 10
        && bytes[..10]
            .iter()
            .enumerate()
            .all(|(i, b)| if i == 4 || i == 7 { *b == b'-' } else { b.is_ascii_digit() });
    if !shaped || chrono::NaiveDate::parse_from_str(&text[..10], "%Y-%m-%d").is_err() {
        return 0;
    }
    if bytes.len() == 10 {
        return DATE;
    }
    let Some(time) = text.get(11..).filter(|_| matches!(bytes[10], b'T' | b' ')) else { return 0 };
    let clock =
        time.get(..8).filter(|clock| chrono::NaiveTime::parse_from_str(clock, "%H:%M:%S").is_ok());
    let shaped = clock.is_some_and(|clock| {
        clock.bytes().filter(u8::is_ascii_digit).count() == 6 && !clock.ends_with("60")
    });
    if !shaped {
        return 0;
    }
    let mut rest = &time[8..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if !(1..=6).contains(&length) {
            return 0;
        }
        rest = &fraction[length..];
    }
    match rest.as_bytes() {
        [] => NAIVE,
        [b'Z'] => ZONED,
        [b'+' | b'-', b'0', b'0'..=b'9', b':', b'0'..=b'5', b'0'..=b'9']
        | [b'+' | b'-', b'1', b'0'..=b'4', b':', b'0'..=b'5', b'0'..=b'9'] => ZONED,
        _ => 0,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use arrow::array::StringArray;

    use super::super::parse;
    use super::*;

    fn guessed(values: &[&str]) -> String {
        let mut guess = Guess::default();
        values.iter().for_each(|value| guess.look(value));
        let data_type = guess.data_type();
        if !values.is_empty() {
            parse(&StringArray::from(values.to_vec()), &data_type).unwrap();
        }
        data_type.to_string()
    }

    #[test]
    fn a_column_has_the_narrowest_type_that_keeps_every_value_whole() {
        for (values, right) in [
            (&[][..], "Utf8"),
            (&["true", "False"], "Boolean"),
            (&["true", "1"], "Utf8"),
            (&["1", "-20", "0"], "Int64"),
            (&["00501", "1"], "Utf8"),
            (&["+5"], "Utf8"),
            (&["9223372036854775807"], "Int64"),
            (&["9223372036854775808"], "Utf8"),
            (&["1", "2.5"], "Float64"),
            (&["9007199254740993", "0.5"], "Utf8"),
            (&["-0", "1"], "Float64"),
            (&["1e3", ".5", "5."], "Float64"),
            (&["0.12345678901234567"], "Float64"),
            (&["0.123456789012345678"], "Utf8"),
            (&["1e999"], "Utf8"),
            (&["NaN"], "Utf8"),
            (&["1.2.3"], "Utf8"),
            (&["2024-02-29", "0001-01-01"], "Date32"),
            (&["2023-02-29"], "Utf8"),
            (&["2024-1-5"], "Utf8"),
            (&["2024-02-29", "2024-02-29T10:00:00"], "Utf8"),
            (&["2024-02-29T10:00:00", "1500-01-01 00:00:00.123456"], "Timestamp(µs)"),
            (&["2024-02-29T10:00:00Z", "9999-12-31T23:59:59+02:00"], "Timestamp(µs, \"UTC\")"),
            (&["2024-02-29T10:00:00Z", "2024-02-29T10:00:00"], "Utf8"),
            (&["2024-02-29T10:00:00.1234567Z"], "Utf8"),
            (&["10:30:00"], "Utf8"),
            (&[" 1"], "Utf8"),
        ] {
            assert_eq!(guessed(values), right, "{values:?}");
        }
    }
}
