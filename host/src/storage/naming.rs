//! Names of the files that we write: `<table>_<time>_<run id>-<n>.<ending>`. They tell which run wrote a file.

use chrono::DateTime;
use chrono::Utc;

use super::encode::Endings;
use crate::table::RunId;

/// What all data files of one destination and one run have in their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileNames {
    table: String,
    started_at: DateTime<Utc>,
    run_id: RunId,
    endings: Endings,
}

const TIME_LENGTH: usize = "YYYYMMDDTHHMMSSmmmZ".len();

impl FileNames {
    /// Names for the files of `table` that the run writes.
    #[must_use]
    pub fn new(table: &str, started_at: DateTime<Utc>, run_id: &RunId, endings: Endings) -> Self {
        Self { table: table.to_owned(), started_at, run_id: run_id.clone(), endings }
    }

    /// The name of file number `n`.
    #[must_use]
    pub fn name(&self, n: u64) -> String {
        let Self { table, started_at, run_id, endings } = self;
        let time = started_at.format("%Y%m%dT%H%M%S%3fZ");
        endings.added_to(&format!("{table}_{time}_{run_id}-{n}"))
    }

    /// Whether `name` is one that this run gives, at whatever time it started and however its files are compressed.
    #[must_use]
    pub fn is_of_run(&self, name: &str) -> bool {
        let rest = name.strip_prefix(self.table.as_str()).and_then(|rest| rest.strip_prefix('_'));
        let rest = rest.and_then(|rest| rest.get(TIME_LENGTH..).filter(|_| is_time(rest)));
        let rest = rest.and_then(|rest| {
            rest.strip_prefix('_')?.strip_prefix(self.run_id.as_str())?.strip_prefix('-')
        });
        let number = rest.and_then(|rest| self.endings.stripped_from(rest));
        number
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    }
}

/// Whether `name` is one that some run of ours gives.
#[must_use]
pub fn is_ours(name: &str) -> bool {
    name.match_indices('_').any(|(at, _)| {
        let rest = &name[at + 1..];
        is_time(rest) && rest[TIME_LENGTH..].starts_with('_') && rest.contains('-')
    })
}

fn is_time(text: &str) -> bool {
    text.len() >= TIME_LENGTH
        && text.bytes().take(TIME_LENGTH).enumerate().all(|(i, b)| match i {
            8 => b == b'T',
            18 => b == b'Z',
            _ => b.is_ascii_digit(),
        })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::flow::CsvWrite;
    use crate::flow::WriteFormat;

    #[test]
    fn a_run_knows_its_own_files_and_no_others() {
        let at = DateTime::parse_from_rfc3339("2026-11-30T01:02:03.004Z").unwrap().to_utc();
        let format = WriteFormat::Csv(CsvWrite::default());
        let run_id = RunId::new("a_b-1").unwrap();
        let names = FileNames::new("t_1", at, &run_id, Endings::of(&format));
        assert_eq!(names.name(7), "t_1_20261130T010203004Z_a_b-1-7.csv");
        assert!(names.is_of_run(&names.name(7)) && is_ours(&names.name(7)));
        assert!(names.is_of_run("t_1_19990101T000000000Z_a_b-1-0.csv"));
        assert!(names.is_of_run("t_1_20261130T010203004Z_a_b-1-7.csv.gz"));
        for foreign in [
            "t_1_20261130T010203004Z_xa_b-1-7.csv",
            "t_1_20261130T010203004Z_b-1-7.csv",
            "t_1_20261130T010203004Z_a_b-1-7.parquet",
            "t_1_20261130T010203004Z_a_b-1-7.csv.lz4",
            "t_1_20261130T010203004Z_a_b-1-.csv",
            "t_20261130T010203004Z_a_b-1-7.csv",
            "data.csv",
        ] {
            assert!(!names.is_of_run(foreign), "{foreign}");
        }
        assert!(!is_ours("data_2026.csv"));
    }
}
