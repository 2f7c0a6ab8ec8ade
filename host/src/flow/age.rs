//! How long something may be ago, as flows spell it: `36 hours`, `1 day 12 h`, `90m`, `P1DT12H`.

use std::time::Duration;

const SECONDS: &[(&[&str], u64)] = &[
    (&["s", "sec", "second", "seconds"], 1),
    (&["m", "min", "minute", "minutes"], 60),
    (&["h", "hour", "hours"], 3600),
    (&["d", "day", "days"], 86_400),
    (&["w", "week", "weeks"], 604_800),
];

/// The time that `text` names: more than nothing, in whole seconds.
///
/// # Errors
/// What is wrong, in words.
pub(super) fn age(text: &str) -> Result<Duration, String> {
    let lower = text.trim().to_lowercase();
    let seconds = match lower.strip_prefix('p') {
        Some(iso) => iso_seconds(iso),
        None => plain_seconds(&lower),
    };
    match seconds {
        Some(0) => Err(format!("`{text}` is no time at all")),
        Some(seconds) => Ok(Duration::from_secs(seconds)),
        None if has_months(&lower) => {
            Err(format!("`{text}` has months or years, which differ in length"))
        }
        None => Err(format!("`{text}` is no duration")),
    }
}

fn plain_seconds(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut sum = 0_u64;
    loop {
        let (number, after) = leading_number(rest)?;
        let after = after.trim_start();
        let end = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let (_, factor) = SECONDS.iter().find(|(names, _)| names.contains(&unit))?;
        sum = sum.checked_add(number.checked_mul(*factor)?)?;
        rest = after.trim_start();
        if rest.is_empty() {
            return Some(sum);
        }
    }
}

/// What follows the `P` of an ISO 8601 duration.
fn iso_seconds(text: &str) -> Option<u64> {
    let (date, time) = match text.split_once('t') {
        Some((_, "")) => return None,
        Some((date, time)) => (date, time),
        None => (text, ""),
    };
    if date.is_empty() && time.is_empty() {
        return None;
    }
    iso_part(date, &["w", "d"])?.checked_add(iso_part(time, &["h", "m", "s"])?)
}

/// Numbers with the letters of `units`, in their order, each at most once.
fn iso_part(text: &str, units: &[&str]) -> Option<u64> {
    let mut rest = text;
    let mut units = units.iter();
    let mut sum = 0_u64;
    while !rest.is_empty() {
        let (number, after) = leading_number(rest)?;
        let unit = units.find(|unit| after.starts_with(**unit))?;
        let (_, factor) = SECONDS.iter().find(|(names, _)| names.contains(unit))?;
        sum = sum.checked_add(number.checked_mul(*factor)?)?;
        rest = &after[unit.len()..];
    }
    Some(sum)
}

fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

fn has_months(text: &str) -> bool {
    let date = text.split('t').next().unwrap_or_default();
    text.contains("month")
        || text.contains("year")
        || (text.starts_with('p') && date.contains(['m', 'y']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_time_are_one_time() {
        for text in
            ["36 hours", "36h", "1 day 12 hours", "1d12h", "P1DT12H", " p1dt12h ", "PT36H", "2160m"]
        {
            assert_eq!(age(text), Ok(Duration::from_secs(36 * 3600)), "{text}");
        }
        assert_eq!(age("P2W"), age("14 days"));
        assert_eq!(age("PT1M"), age("1 min"));
    }

    #[test]
    fn other_texts_are_no_times() {
        for bad in [
            "",
            "36",
            "hours",
            "-1 h",
            "1.5 h",
            "1 fortnight",
            "P",
            "PT",
            "P1DT",
            "P1H",
            "PT1H1H",
            "PT1M1H",
            "0 h",
            "99999999999999999999 h",
            "9999999999999999 weeks",
            "1 month",
            "P1Y",
            "P1M",
        ] {
            assert!(age(bad).is_err(), "{bad}");
        }
        assert!(age("P1M").is_err_and(|what| what.contains("months")));
        assert!(age("PT1X").is_err_and(|what| !what.contains("months")));
    }
}
