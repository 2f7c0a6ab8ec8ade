//! Folders by date, such as `{year}/{month}/{day}` or `year={year}/month={month}`: what a run writes lies in the one of its start.

use std::path::PathBuf;

use chrono::DateTime;
use chrono::Utc;
use serde::Serialize;
use serde::Serializer;

use super::PartitionColumn;
use super::connection::Connection;
use super::open::Fields;
use super::report::Located;
use super::report::Report;
use crate::problem::Code;
use crate::problem::known_names;

/// A pattern of folders by date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateFolders {
    text: String,
    /// By folder, outermost first.
    parts: Vec<Vec<Piece>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Unit(Unit),
}

/// A part of a time, from coarse to fine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Unit {
    Year,
    Month,
    Day,
    Hour,
}

const UNITS: [(Unit, &str, &str); 4] = [
    (Unit::Year, "year", "%Y"),
    (Unit::Month, "month", "%m"),
    (Unit::Day, "day", "%d"),
    (Unit::Hour, "hour", "%H"),
];

/// Whether a destination's files lie in folders by date.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ByDate {
    /// They do not.
    #[default]
    No,
    /// They lie in these.
    Into(DateFolders),
    /// The connection has these, and the destination has partition columns, which win.
    Overruled(DateFolders),
}

impl ByDate {
    /// The folders that are written into.
    #[must_use]
    pub fn folders(&self) -> Option<&DateFolders> {
        match self {
            Self::Into(folders) => Some(folders),
            Self::No | Self::Overruled(_) => None,
        }
    }

    /// Whether nobody asked for any.
    #[must_use]
    pub fn is_no(&self) -> bool {
        *self == Self::No
    }
}

/// What is wrong with a pattern, and the way out.
#[derive(Debug, PartialEq, Eq)]
pub struct BadPattern {
    /// What is wrong.
    pub what: String,
    /// The way out.
    pub hint: String,
}

impl DateFolders {
    /// Reads a pattern.
    ///
    /// # Errors
    /// Where it leaves the destination, has no date, or gives two times one folder in an order that is none.
    pub fn new(text: &str) -> Result<Self, BadPattern> {
        let bad = |what: String, hint: &str| Err(BadPattern { what, hint: hint.to_owned() });
        if text.starts_with('/') {
            let hint = "begin with the first folder below the destination";
            return bad(format!("`{text}` is absolute"), hint);
        }
        let mut parts = Vec::new();
        for part in text.split('/') {
            parts.push(part_of(text, part)?);
        }
        let units = || {
            parts.iter().flatten().filter_map(|piece: &Piece| match piece {
                Piece::Unit(unit) => Some(*unit),
                Piece::Text(_) => None,
            })
        };
        // No gap: months of several years would lie in one folder.
        let due = UNITS.iter().map(|(unit, ..)| *unit);
        if units().next().is_none() {
            return bad(format!("`{text}` has no date in it"), "such as `{year}/{month}/{day}`");
        }
        if !units().eq(due.take(units().count())) {
            let what = format!("`{text}` does not go from coarse to fine");
            return bad(
                what,
                "`{year}`, then `{month}`, `{day}`, `{hour}`: each once, none left out before another",
            );
        }
        let folders = Self { text: text.to_owned(), parts };
        let keys: Vec<_> = folders.columns().collect();
        if let Some(twice) = keys.iter().enumerate().find(|(at, key)| keys[..*at].contains(key)) {
            return bad(format!("two folders of `{text}` are called `{}=`", twice.1), "rename one");
        }
        Ok(folders)
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The folder of a time, relative; numbers have leading zeros.
    #[must_use]
    pub fn folder(&self, at: DateTime<Utc>) -> PathBuf {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Unit(unit) => at.format(UNITS[*unit as usize].2).to_string(),
        };
        self.parts.iter().map(|part| part.iter().map(piece).collect::<String>()).collect()
    }

    /// The columns that readers take the names of the folders for: what stands before `=`.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part.first() {
            Some(Piece::Text(text)) => text.split_once('=').map(|(key, _)| key),
            _ => None,
        })
    }
}

/// A folder's name in pieces.
fn part_of(text: &str, part: &str) -> Result<Vec<Piece>, BadPattern> {
    let bad = |what: String, hint: &str| Err(BadPattern { what, hint: hint.to_owned() });
    match part {
        "" => {
            return bad(
                format!("`{text}` has a folder without a name"),
                "one `/` between two folders",
            );
        }
        "." | ".." => {
            return bad(
                format!("`{text}` has `{part}` in it"),
                "folders go down from the destination",
            );
        }
        _ => {}
    }
    let mut pieces = Vec::new();
    let mut rest = part;
    while let Some((before, more)) = rest.split_once('{') {
        let Some((name, after)) = more.split_once('}') else {
            return bad(
                format!("`{text}` has a `{{` without `}}`"),
                "such as `{year}/{month}/{day}`",
            );
        };
        if !before.is_empty() {
            pieces.push(Piece::Text(before.to_owned()));
        }
        match UNITS.iter().find(|(_, known, _)| *known == name) {
            Some((unit, ..)) => pieces.push(Piece::Unit(*unit)),
            None => {
                let hint = known_names(name, UNITS.map(|(_, known, _)| known));
                return bad(
                    format!("`{text}` has `{{{name}}}`, which is no part of a date"),
                    &hint,
                );
            }
        }
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    let letters = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(text.as_str()),
        Piece::Unit(_) => None,
    });
    let letters: String = letters.collect();
    // Names that readers would pass over, or take for something else.
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '=');
    if let Some(odd) = letters.chars().find(|c| !plain(*c)) {
        return bad(
            format!("`{text}` has {odd:?} in a folder's name"),
            "letters, digits, `-`, `_`, and `name=` before the date",
        );
    }
    let keyed = match pieces.first() {
        Some(Piece::Text(first)) => {
            if first.starts_with('_') {
                let hint = "readers pass over names that begin with `_`";
                return bad(format!("`{text}` hides a folder"), hint);
            }
            first.split_once('=').is_none_or(|(key, value)| {
                !key.is_empty() && (pieces.len() > 1 || !value.is_empty())
            })
        }
        _ => true,
    };
    let signs = letters.matches('=').count();
    let first_has = matches!(pieces.first(), Some(Piece::Text(first)) if first.contains('='));
    if !keyed || signs > 1 || signs == 1 && !first_has {
        return bad(
            format!("`{text}` has a folder with `=` that names no column"),
            "write `name={year}`",
        );
    }
    Ok(pieces)
}

impl Serialize for DateFolders {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// `date_folder_partitions` of a connection or destination.
///
/// # Errors
/// Where it is set and cannot be read; that is told.
pub(super) fn date_folders(
    report: &Report,
    fields: &Fields<'_>,
) -> Result<Option<Located<DateFolders>>, ()> {
    if fields.get("date_folder_partitions").is_none() {
        return Ok(None);
    }
    let text = fields.text("date_folder_partitions").ok_or(())?;
    match DateFolders::new(text.value.trim()) {
        Ok(folders) => Ok(Some(text.map(|_| folders))),
        Err(BadPattern { what, hint }) => {
            report.add_hint(Code::WrongValue, &text.spot, what, hint);
            Err(())
        }
    }
}

/// What a destination does by date: as it says itself, or else as its connection does.
pub(super) fn by_date(
    report: &Report,
    fields: &Fields<'_>,
    connection: Option<&Connection<'_>>,
    format: &str,
    partitions: Option<&Located<Vec<PartitionColumn>>>,
) -> Option<ByDate> {
    let own = date_folders(report, fields).ok()?;
    let is_own = own.is_some();
    let shared = match (&own, connection.map(|connection| &connection.date_folders)) {
        (None, Some(shared)) => shared.clone().ok()?,
        _ => None,
    };
    let Some(Located { value, spot }) = own.or(shared) else { return Some(ByDate::No) };
    if matches!(format, "delta" | "view") {
        let (whose, at) = match is_own {
            true => ("", spot),
            false => ("its connection's ", fields.key_of("connection")),
        };
        let what =
            format!("{whose}`date_folder_partitions` is for flat files, and this is `{format}`");
        let hint = "split a table by `partition_columns`, and leave date folders to flat files";
        report.add_hint(Code::Contradiction, &at, what, hint);
        return None;
    }
    match partitions.is_some_and(|partitions| !partitions.value.is_empty()) {
        true if is_own => {
            let what = "`date_folder_partitions` and `partition_columns` both say which folders files lie in";
            report.add_hint(Code::Contradiction, &spot, what, "keep one of them");
            None
        }
        true => Some(ByDate::Overruled(value)),
        false => Some(ByDate::Into(value)),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_are_none_say_why() {
        for (text, right) in [
            ("/{year}", "is absolute"),
            ("{year}/../{month}", "has `..` in it"),
            ("{year}/./{month}", "has `.` in it"),
            ("{year}//{month}", "has a folder without a name"),
            ("{year}/", "has a folder without a name"),
            ("", "has a folder without a name"),
            ("{year}/{week}", "has `{week}`, which is no part of a date"),
            ("{YEAR}", "has `{YEAR}`"),
            ("{year", "has a `{` without `}`"),
            ("year}", "has '}' in a folder's name"),
            ("{year}.tmp", "has '.' in a folder's name"),
            ("{year} {month}", "has ' ' in a folder's name"),
            ("data", "has no date in it"),
            ("{month}/{year}", "does not go from coarse to fine"),
            ("{month}", "does not go from coarse to fine"),
            ("{year}/{day}", "does not go from coarse to fine"),
            ("{year}/{year}", "does not go from coarse to fine"),
            ("_x/{year}", "hides a folder"),
            ("={year}", "`=` that names no column"),
            ("a={year}=b", "`=` that names no column"),
            ("{year}=a", "`=` that names no column"),
            ("a=/{year}", "`=` that names no column"),
            ("a={year}/a={month}", "two folders of `a={year}/a={month}` are called `a=`"),
        ] {
            let what = DateFolders::new(text).unwrap_err().what;
            assert!(what.contains(right), "{text}: {what}");
        }
    }

    #[test]
    fn folders_are_those_of_the_time_with_leading_zeros() {
        let at = DateTime::parse_from_rfc3339("2026-03-04T05:59:59Z").unwrap().to_utc();
        for (text, right, columns) in [
            ("{year}/{month}/{day}", "2026/03/04", ""),
            ("{year}/{month}/{day}/{hour}", "2026/03/04/05", ""),
            ("year={year}/month={month}", "year=2026/month=03", "year month"),
            ("dt={year}-{month}-{day}", "dt=2026-03-04", "dt"),
            ("raw/y{year}/{month}{day}", "raw/y2026/0304", ""),
            ("region=eu/{year}", "region=eu/2026", "region"),
        ] {
            let folders = DateFolders::new(text).unwrap();
            assert_eq!(folders.folder(at), PathBuf::from(right));
            assert_eq!(folders.columns().collect::<Vec<_>>().join(" "), columns);
        }
    }
}
