//! `numeric` as the server sends it: groups of four decimal digits, read whole into a decimal or spelt as Postgres prints it.

use std::fmt;
use std::fmt::Write;

const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xC000;
const INFINITY: u16 = 0xD000;
const MINUS_INFINITY: u16 = 0xF000;

/// A value as sent.
#[derive(Debug)]
pub(super) struct Numeric<'a> {
    /// Groups of four digits, two bytes each, the greatest first.
    groups: &'a [u8],
    /// The power of 10,000 of the first group.
    weight: i32,
    sign: u16,
    /// Digits after the point that are printed.
    shown: usize,
}

impl<'a> Numeric<'a> {
    /// `None` where it is no `numeric`.
    pub(super) fn read(raw: &'a [u8]) -> Option<Self> {
        let (header, groups) = raw.split_at_checked(8)?;
        let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let count = usize::from(word(0));
        let weight = i32::from(word(2).cast_signed());
        let fits = groups.len() == 2 * count
            && Self { groups, weight, sign: 0, shown: 0 }.all().all(|group| group < 10_000);
        fits.then_some(Self { groups, weight, sign: word(4), shown: usize::from(word(6)) })
    }

    fn all(&self) -> impl Iterator<Item = u16> {
        self.groups.chunks_exact(2).map(|group| u16::from_be_bytes([group[0], group[1]]))
    }

    /// The value times 10 to the power of `scale`, whole; less than 10 to the power of `precision`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn unscaled(&self, precision: u8, scale: i8) -> Result<i128, &'static str> {
        match self.sign {
            0 | NEGATIVE => {}
            _ => return Err("no decimal is that"),
        }
        let mut value: i128 = 0;
        let mut power = 4 * self.weight + i32::from(scale);
        // What the last group that was added stands for.
        let mut reached = power;
        for group in self.all() {
            let group = i128::from(group);
            if power >= 0 {
                value = value
                    .checked_mul(10_000)
                    .and_then(|value| value.checked_add(group))
                    .ok_or(TOO_LONG)?;
                reached = power;
            } else if power > -4 {
                // The last group that counts, in part.
                let cut = 10_i128.pow(power.unsigned_abs());
                if group % cut != 0 {
                    return Err(TOO_FINE);
                }
                value = value
                    .checked_mul(10_000 / cut)
                    .and_then(|value| value.checked_add(group / cut))
                    .ok_or(TOO_LONG)?;
                reached = 0;
            } else if group != 0 {
                return Err(TOO_FINE);
            }
            power -= 4;
        }
        if value != 0 && reached > 0 {
            let zeros = 10_i128.checked_pow(reached.unsigned_abs()).ok_or(TOO_LONG)?;
            value = value.checked_mul(zeros).ok_or(TOO_LONG)?;
        }
        if value >= 10_i128.pow(u32::from(precision)) {
            return Err(TOO_LONG);
        }
        Ok(if self.sign == NEGATIVE { -value } else { value })
    }
}

/// A decimal with `scale` digits after the point, as the server takes it. `None` where it has more groups than are counted.
pub(super) fn encoded(unscaled: i128, scale: u8) -> Option<Vec<u8>> {
    let shown = usize::from(scale);
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = shown + 1);
    let (before, after) = digits.split_at(digits.len() - shown);
    // Groups are counted from the point.
    let before = format!("{before:0>width$}", width = before.len().next_multiple_of(4));
    let after = format!("{after:0<width$}", width = shown.next_multiple_of(4));
    let group = |group: &[u8]| group.iter().fold(0, |n, digit| 10 * n + u16::from(digit - b'0'));
    let groups = before.as_bytes().chunks(4).chain(after.as_bytes().chunks(4)).map(group);
    let groups: Vec<u16> = groups.collect();
    // Zeros at both ends are not sent.
    let begin = groups.iter().take_while(|group| **group == 0).count();
    let end = groups.iter().rposition(|group| *group != 0).map_or(begin, |last| last + 1);
    let sent = &groups[begin..end];
    let weight = i16::try_from(before.len() / 4).ok()? - 1 - i16::try_from(begin).ok()?;
    let weight = if sent.is_empty() { 0 } else { weight };
    let sign = if unscaled < 0 { NEGATIVE } else { 0 };
    let header = [u16::try_from(sent.len()).ok()?, weight.cast_unsigned(), sign, u16::from(scale)];
    Some(header.iter().chain(sent).flat_map(|word| word.to_be_bytes()).collect())
}

const TOO_LONG: &str = "it has more digits before the point";
const TOO_FINE: &str = "it has more digits after the point";

/// As Postgres prints it.
impl fmt::Display for Numeric<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sign {
            NAN => return f.write_str("NaN"),
            INFINITY => return f.write_str("Infinity"),
            MINUS_INFINITY => return f.write_str("-Infinity"),
            NEGATIVE => f.write_char('-')?,
            _ => {}
        }
        // The group of each power; those that were not sent are zeros.
        let group = |power: i32| {
            let place = 2 * usize::try_from(self.weight - power).ok()?;
            let group = self.groups.get(place..place + 2)?;
            Some(u16::from_be_bytes([group[0], group[1]]))
        };
        write!(f, "{}", group(self.weight.max(0)).unwrap_or(0))?;
        for power in (0..self.weight.max(0)).rev() {
            write!(f, "{:04}", group(power).unwrap_or(0))?;
        }
        if self.shown > 0 {
            f.write_char('.')?;
        }
        let mut left = self.shown;
        let mut power = -1;
        while left > 0 {
            let digits = format!("{:04}", group(power).unwrap_or(0));
            let taken = left.min(4);
            f.write_str(&digits[..taken])?;
            left -= taken;
            power -= 1;
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn sent(weight: i16, sign: u16, shown: u16, groups: &[u16]) -> Vec<u8> {
        let count = u16::try_from(groups.len()).unwrap();
        let header = [count, weight.cast_unsigned(), sign, shown];
        header.iter().chain(groups).flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn numerics_are_printed_and_read_whole() {
        for (weight, sign, shown, groups, printed, precision, scale, unscaled) in [
            (0, 0, 0, &[][..], "0", 1, 0, Ok(0)),
            (0, 0, 3, &[], "0.000", 3, 3, Ok(0)),
            (0, 0, 2, &[1, 5000], "1.50", 5, 2, Ok(150)),
            (0, NEGATIVE, 2, &[1, 5000], "-1.50", 5, 2, Ok(-150)),
            (0, 0, 2, &[1, 5000], "1.50", 5, 0, Err(TOO_FINE)),
            (0, 0, 2, &[1, 5000], "1.50", 9, 7, Ok(15_000_000)),
            (2, 0, 0, &[1], "100000000", 9, 0, Ok(100_000_000)),
            (2, 0, 0, &[1], "100000000", 8, 0, Err(TOO_LONG)),
            (-2, 0, 8, &[1], "0.00000001", 8, 8, Ok(1)),
            (-2, 0, 8, &[1], "0.00000001", 8, 5, Err(TOO_FINE)),
            (-1, 0, 6, &[12, 3400], "0.001234", 6, 6, Ok(1234)),
            (
                9,
                0,
                0,
                &[99, 9999, 9999, 9999, 9999, 9999, 9999, 9999, 9999, 9999],
                "99999999999999999999999999999999999999",
                38,
                0,
                Ok(99_999_999_999_999_999_999_999_999_999_999_999_999),
            ),
            (
                8,
                0,
                2,
                &[9999, 9999, 9999, 9999, 9999, 9999, 9999, 9999, 9999, 9900],
                "999999999999999999999999999999999999.99",
                38,
                2,
                Ok(99_999_999_999_999_999_999_999_999_999_999_999_999),
            ),
            (20, 0, 0, &[1], &format!("1{}", "0000".repeat(20)), 38, 0, Err(TOO_LONG)),
            (0, NAN, 0, &[], "NaN", 5, 2, Err("no decimal is that")),
            (0, MINUS_INFINITY, 0, &[], "-Infinity", 5, 2, Err("no decimal is that")),
        ] {
            let raw = sent(weight, sign, shown, groups);
            let numeric = Numeric::read(&raw).unwrap();
            assert_eq!(numeric.to_string(), printed);
            assert_eq!(numeric.unscaled(precision, scale), unscaled, "{printed}");
        }
    }

    #[test]
    fn what_is_no_numeric_is_none() {
        let good = sent(0, 0, 2, &[1, 5000]);
        for bad in [&good[..7], &good[..11], &sent(0, 0, 0, &[10_000])] {
            assert!(Numeric::read(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn what_is_encoded_is_read_again() {
        for unscaled in
            [0, 1, -1, 9, 10_000, -10_000, 123_456_789, 10_i128.pow(37), -(10_i128.pow(38) - 1)]
        {
            for scale in [0, 1, 2, 3, 4, 5, 9, 38] {
                let raw = encoded(unscaled, scale).unwrap();
                let numeric = Numeric::read(&raw).unwrap();
                let scale = i8::try_from(scale).unwrap();
                assert_eq!(numeric.unscaled(38, scale), Ok(unscaled), "{unscaled} {scale}");
                assert!(numeric.all().next().is_none_or(|group| group != 0), "{unscaled} {scale}");
            }
        }
        assert_eq!(encoded(150, 2).unwrap(), sent(0, 0, 2, &[1, 5000]));
        assert_eq!(encoded(-1234, 6).unwrap(), sent(-1, NEGATIVE, 6, &[12, 3400]));
        assert_eq!(encoded(0, 3).unwrap(), sent(0, 0, 3, &[]));
    }
}
