//! Numbers by their decimal text: as large, as small and as exact as it was written.

use arrow_buffer::i256;
use std::cmp::Ordering;
use std::fmt;

/// A decimal number: its sign and `0.digits × 10^magnitude`.
#[derive(Clone, Debug)]
pub struct Number {
    /// As written, for messages.
    text: String,
    is_negative: bool,
    /// Neither the first nor the last is 0; none are zero.
    digits: String,
    magnitude: i64,
}

/// A value counted in units of a column: days, nanoseconds, hundredths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Units {
    /// The last whole unit that is not above the value; a value that 256 bits cannot hold is moved to their end.
    pub(crate) floor: i256,
    /// Whether the value is that whole unit.
    pub(crate) is_exact: bool,
}

impl Number {
    /// Reads the text of a JSON number.
    pub(crate) fn parse(text: &str) -> Self {
        let (is_negative, unsigned) = match text.strip_prefix('-') {
            Some(unsigned) => (true, unsigned),
            None => (false, text),
        };
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        // An exponent beyond 64 bits is as good as the largest one.
        let exponent = exponent.parse().unwrap_or_else(|_| match exponent.starts_with('-') {
            true => i64::from(i32::MIN),
            false => i64::from(i32::MAX),
        });
        let digits = format!("{whole}{fraction}");
        let significant = digits.trim_start_matches('0');
        let leading = digits.len() - significant.len();
        let magnitude = exponent.saturating_add(whole.len() as i64 - leading as i64);
        let significant = significant.trim_end_matches('0').to_owned();
        let is_zero = significant.is_empty();
        Self {
            text: text.to_owned(),
            is_negative: is_negative && !is_zero,
            digits: significant,
            magnitude: if is_zero { 0 } else { magnitude },
        }
    }

    /// As it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether nothing but zeros follows the decimal point.
    pub(crate) fn is_whole(&self) -> bool {
        self.digits.len() as i64 <= self.magnitude || self.digits.is_empty()
    }

    /// Counted in units of `10^-scale`.
    pub(crate) fn units(&self, scale: i8) -> Units {
        // Any number of 76 digits fits 256 bits, some of 77 do, and no column has more than 76.
        const DIGITS_MAX: i64 = 76;
        let places = self.magnitude.saturating_add(i64::from(scale));
        if self.digits.is_empty() {
            return Units { floor: i256::ZERO, is_exact: true };
        }
        if places > DIGITS_MAX {
            let floor = if self.is_negative { i256::MIN } else { i256::MAX };
            return Units { floor, is_exact: false };
        }
        let places = usize::try_from(places).unwrap_or(0);
        let kept = &self.digits[..places.min(self.digits.len())];
        let magnitude = i256::from_string(&format!("0{kept:0<places$}")).unwrap_or(i256::MAX);
        let is_exact = places >= self.digits.len();
        let floor = match (self.is_negative, is_exact) {
            (false, _) => magnitude,
            (true, true) => magnitude.wrapping_neg(),
            (true, false) => magnitude.wrapping_neg().wrapping_sub(i256::ONE),
        };
        Units { floor, is_exact }
    }

    /// Compares exactly with a float that is whole or infinite.
    pub(crate) fn cmp_whole(&self, float: f64) -> Ordering {
        if float.is_infinite() {
            return if float > 0.0 { Ordering::Less } else { Ordering::Greater };
        }
        // Without a fraction asked for, all digits of a whole float are printed.
        self.cmp(&Self::parse(&format!("{float:.0}")))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.digits.is_empty(), number.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        // Without leading and trailing zeros, digits compare as texts do.
        let magnitudes =
            || self.magnitude.cmp(&other.magnitude).then_with(|| self.digits.cmp(&other.digits));
        sign(self).cmp(&sign(other)).then_with(|| match self.is_negative {
            true => magnitudes().reverse(),
            false => magnitudes(),
        })
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(text: &str, scale: i8) -> (i128, bool) {
        let Units { floor, is_exact } = Number::parse(text).units(scale);
        (floor.as_i128(), is_exact)
    }

    #[test]
    fn texts_in_ascending_order_compare_so() {
        let ascending = [
            "-1e400",
            "-12.5",
            "-12",
            "-1e-9",
            "0",
            "1e-400",
            "0.1",
            "0.11",
            "1",
            "9",
            "10",
            "1e20",
            "1e9999999999999999999",
        ];
        let numbers = ascending.map(Number::parse);
        assert!(numbers.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn spellings_of_one_number_are_equal() {
        for (one, other) in
            [("0", "-0.0"), ("1", "1.000"), ("100", "1e2"), ("0.05", "5E-2"), ("-3", "-0.3e+1")]
        {
            assert_eq!(Number::parse(one), Number::parse(other));
        }
    }

    #[test]
    fn units_are_rounded_down_and_say_so() {
        for (text, scale, expected) in [
            ("1.005", 2, (100, false)),
            ("1.00", 2, (100, true)),
            ("-1.005", 2, (-101, false)),
            ("-0.001", 2, (-1, false)),
            ("0.001", 2, (0, false)),
            ("1200", -2, (12, true)),
            ("1250", -2, (12, false)),
            ("-1250", -2, (-13, false)),
            ("12345678901234567890.12", 2, (1234567890123456789012, true)),
            ("-0.0", 0, (0, true)),
            ("1e-999999999999", 0, (0, false)),
        ] {
            assert_eq!(units(text, scale), expected, "{text} at scale {scale}");
        }
        assert_eq!(Number::parse("1e77").units(0).floor, i256::MAX);
        assert_eq!(Number::parse("-1e77").units(0).floor, i256::MIN);
    }

    #[test]
    fn whole_floats_compare_by_all_their_digits() {
        let number = Number::parse("9007199254740993");
        assert_eq!(number.cmp_whole(9007199254740992.0), Ordering::Greater);
        assert_eq!(number.cmp_whole(9007199254740994.0), Ordering::Less);
        assert_eq!(Number::parse("1e23").cmp_whole(1e23), Ordering::Greater);
        assert_eq!(Number::parse("1e400").cmp_whole(f64::INFINITY), Ordering::Less);
    }
}
