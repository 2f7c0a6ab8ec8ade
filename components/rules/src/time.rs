//! ISO 8601 texts of dates and timestamps.

use chrono::NaiveDate;

/// Nanoseconds of a second.
pub(crate) const SECOND_NS: i128 = 1_000_000_000;
/// Nanoseconds of a day.
pub(crate) const DAY_NS: i128 = 86_400 * SECOND_NS;

/// A point in time as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instant {
    /// Since the Unix epoch; in UTC where a zone was written, else on a clock that nobody named.
    pub(crate) ns: i128,
    pub(crate) zone: Zone,
}

/// Whether a text says how far its clock is from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zone {
    Written,
    Left,
}

/// Days since the Unix epoch of `2024-01-31`.
pub(crate) fn date(text: &str) -> Option<i32> {
    let mut rest = text;
    let days = take_date(&mut rest)?;
    rest.is_empty().then_some(days)
}

/// The instant of `2024-01-31`, `2024-01-31T10:30`, `2024-01-31 10:30:05.123456789`; with `Z`, `+01:00`, `+0100` or `+01` at
/// the end of a text with a time.
pub(crate) fn timestamp(text: &str) -> Option<Instant> {
    let mut rest = text;
    let midnight = i128::from(take_date(&mut rest)?) * DAY_NS;
    if rest.is_empty() {
        return Some(Instant { ns: midnight, zone: Zone::Left });
    }
    rest = rest.strip_prefix(['T', 't', ' '])?;
    let time = take_time(&mut rest)?;
    let (offset, zone) = match rest {
        "" => (0, Zone::Left),
        "Z" | "z" => (0, Zone::Written),
        rest => (offset(rest)?, Zone::Written),
    };
    Some(Instant { ns: midnight + time - offset, zone })
}

fn take_date(rest: &mut &str) -> Option<i32> {
    let year = take_number(rest, 4)?;
    *rest = rest.strip_prefix('-')?;
    let month = take_number(rest, 2)?;
    *rest = rest.strip_prefix('-')?;
    let day = take_number(rest, 2)?;
    Some(NaiveDate::from_ymd_opt(year as i32, month, day)?.to_epoch_days())
}

/// Nanoseconds since midnight. Seconds may be left out; a leap second is none.
fn take_time(rest: &mut &str) -> Option<i128> {
    let hour = take_number(rest, 2)?;
    *rest = rest.strip_prefix(':')?;
    let minute = take_number(rest, 2)?;
    let (mut second, mut fraction) = (0, 0);
    if let Some(after) = rest.strip_prefix(':') {
        *rest = after;
        second = take_number(rest, 2)?;
        if let Some(after) = rest.strip_prefix('.') {
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            *rest = after;
            fraction = match digits {
                1..=9 => take_number(rest, digits)? * 10_u32.pow(9 - digits as u32),
                _ => return None,
            };
        }
    }
    let is_time = hour < 24 && minute < 60 && second < 60;
    let seconds = i128::from((hour * 60 + minute) * 60 + second);
    is_time.then_some(seconds * SECOND_NS + i128::from(fraction))
}

/// Nanoseconds that a clock with this offset is ahead of UTC.
fn offset(text: &str) -> Option<i128> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let mut rest = &text[1..];
    let hours = take_number(&mut rest, 2)?;
    let minutes = match rest {
        "" => 0,
        rest => {
            let mut rest = rest.strip_prefix(':').unwrap_or(rest);
            let minutes = take_number(&mut rest, 2)?;
            rest.is_empty().then_some(minutes)?
        }
    };
    let is_offset = hours < 24 && minutes < 60;
    is_offset.then_some(sign * i128::from(hours * 60 + minutes) * 60 * SECOND_NS)
}

/// A number of exactly so many digits, at most 9.
fn take_number(rest: &mut &str, digits: usize) -> Option<u32> {
    let (number, after) = rest.split_at_checked(digits)?;
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    *rest = after;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_dates_are_refused() {
        for text in [
            "",
            "2024",
            "2024-1-1",
            "2024-02-30",
            "2024-01-31T00:00",
            "2024-01-31 ",
            "٢٠٢٤-01-01",
            "+2024-01-01",
        ] {
            assert_eq!(date(text), None, "{text:?}");
        }
    }

    #[test]
    fn no_timestamps_are_refused() {
        for text in [
            "",
            "2024-01-31T",
            "2024-01-31Z",
            "2024-01-31T24:00",
            "2024-01-31T23:59:60",
            "2024-01-31T10:30:05.",
            "2024-01-31T10:30:05.1234567890",
            "2024-01-31T10",
            "2024-01-31T10:30+1",
            "2024-01-31T10:30+25:00",
            "2024-01-31T10:30+01:00x",
            "2024-01-31T10:30 Europe/Berlin",
            "2024-01-31T10:30é",
        ] {
            assert_eq!(timestamp(text), None, "{text:?}");
        }
    }

    #[test]
    fn dates_are_days_since_the_epoch() {
        for (text, days) in [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2024-02-29", 19_782),
            ("0001-01-01", -719_162),
        ] {
            assert_eq!(date(text), Some(days), "{text}");
        }
    }

    #[test]
    fn timestamps_are_nanoseconds_and_know_their_zone() {
        use Zone::{Left, Written};
        let second = SECOND_NS;
        for (text, ns, zone) in [
            ("1970-01-02", DAY_NS, Left),
            ("1970-01-01T00:01", 60 * second, Left),
            ("1970-01-01 00:00:01.5", 1_500_000_000, Left),
            ("1970-01-01T00:00:00.000000001Z", 1, Written),
            ("1970-01-01T01:00:00+01:00", 0, Written),
            ("1970-01-01T01:30+0130", 0, Written),
            ("1969-12-31T23:00:00-01", 0, Written),
        ] {
            assert_eq!(timestamp(text), Some(Instant { ns, zone }), "{text}");
        }
    }
}
