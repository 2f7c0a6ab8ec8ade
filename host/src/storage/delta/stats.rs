//! Statistics of a data file for the log, from its Parquet footer: rows, NULLs, and bounds that are never too tight.
//!
//! Bounds are given wherever they can be: some readers take a column without bounds among others for one without rows.

use std::collections::BTreeMap;

use chrono::DateTime;
use chrono::Datelike;
use chrono::NaiveDate;
use parquet::basic::LogicalType;
use parquet::basic::TimeUnit;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescriptor;
use serde::Serialize;
use serde_json::value::RawValue;

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Stats<'a> {
    num_records: i64,
    min_values: BTreeMap<&'a str, Box<RawValue>>,
    max_values: BTreeMap<&'a str, Box<RawValue>>,
    null_count: BTreeMap<&'a str, u64>,
}

/// The statistics as the log spells them. Columns within lists, objects and maps have none, and bytes have no bounds.
#[must_use]
pub fn stats(footer: &ParquetMetaData) -> String {
    let file = footer.file_metadata();
    let mut stats = Stats { num_records: file.num_rows(), ..Stats::default() };
    for (index, column) in file.schema_descr().columns().iter().enumerate() {
        let [name] = column.path().parts() else { continue };
        let chunks: Option<Vec<&Statistics>> =
            footer.row_groups().iter().map(|group| group.column(index).statistics()).collect();
        let Some(chunks) = chunks else { continue };
        if let Some(count) = chunks.iter().map(|chunk| chunk.null_count_opt()).sum::<Option<u64>>()
        {
            stats.null_count.insert(name, count);
        }
        let json = |text: String| RawValue::from_string(text).ok();
        if let Some((low, high)) =
            bounds(column, &chunks).and_then(|(low, high)| Some((json(low)?, json(high)?)))
        {
            stats.min_values.insert(name, low);
            stats.max_values.insert(name, high);
        }
    }
    serde_json::to_string(&stats).unwrap_or_default()
}

/// The least and the most of all chunks, as JSON.
fn bounds(column: &ColumnDescriptor, chunks: &[&Statistics]) -> Option<(String, String)> {
    // A chunk of NULLs only has no bounds, and none to give; any other chunk without bounds leaves the file without.
    let is_told =
        |chunk: &&&Statistics| chunk.min_bytes_opt().is_some() && chunk.max_bytes_opt().is_some();
    let (told, silent): (Vec<&Statistics>, Vec<&Statistics>) =
        chunks.iter().partition(|chunk| is_told(chunk));
    if told.is_empty()
        || silent.iter().any(|chunk| chunk.null_count_opt().is_none_or(|nulls| nulls == 0))
    {
        return None;
    }
    match told[0] {
        Statistics::Boolean(_) => {
            let (low, high) = extremes(&told, |bytes| bytes.first().map(|byte| *byte != 0))?;
            Some((low.to_string(), high.to_string()))
        }
        Statistics::Int32(_) => {
            let (low, high) = extremes(&told, |bytes| {
                Some(i64::from(i32::from_le_bytes(bytes.try_into().ok()?)))
            })?;
            whole(column.logical_type_ref(), low, high)
        }
        Statistics::Int64(_) => {
            let (low, high) =
                extremes(&told, |bytes| Some(i64::from_le_bytes(bytes.try_into().ok()?)))?;
            whole(column.logical_type_ref(), low, high)
        }
        Statistics::Float(_) => {
            let (low, high) = extremes(&told, |bytes| {
                Some(Total(f32::from_le_bytes(bytes.try_into().ok()?).into()))
            })?;
            real(low, high)
        }
        Statistics::Double(_) => {
            let (low, high) =
                extremes(&told, |bytes| Some(Total(f64::from_le_bytes(bytes.try_into().ok()?))))?;
            real(low, high)
        }
        // Footers cut long text: the lower bound short, the upper one raised, so both still bound.
        Statistics::ByteArray(_)
            if matches!(column.logical_type_ref(), Some(LogicalType::String)) =>
        {
            let (low, high) = extremes(&told, |bytes| std::str::from_utf8(bytes).ok())?;
            Some((serde_json::to_string(low).ok()?, serde_json::to_string(high).ok()?))
        }
        Statistics::FixedLenByteArray(_) => {
            let Some(LogicalType::Decimal(decimal)) = column.logical_type_ref() else {
                return None;
            };
            let (low, high) = extremes(&told, big_endian)?;
            Some((scaled(low, decimal.scale)?, scaled(high, decimal.scale)?))
        }
        Statistics::ByteArray(_) | Statistics::Int96(_) => None,
    }
}

fn extremes<'a, T: Ord>(
    chunks: &[&'a Statistics],
    read: impl Fn(&'a [u8]) -> Option<T>,
) -> Option<(T, T)> {
    let low =
        chunks.iter().map(|chunk| read(chunk.min_bytes_opt()?)).collect::<Option<Vec<_>>>()?;
    let high =
        chunks.iter().map(|chunk| read(chunk.max_bytes_opt()?)).collect::<Option<Vec<_>>>()?;
    Some((low.into_iter().min()?, high.into_iter().max()?))
}

/// A float in its total order.
#[derive(PartialEq)]
struct Total(f64);

impl Eq for Total {}

impl PartialOrd for Total {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Total {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// JSON has no infinity.
fn real(Total(low): Total, Total(high): Total) -> Option<(String, String)> {
    let both = low.is_finite() && high.is_finite();
    both.then(|| Some((serde_json::to_string(&low).ok()?, serde_json::to_string(&high).ok()?)))
        .flatten()
}

fn whole(kind: Option<&LogicalType>, low: i64, high: i64) -> Option<(String, String)> {
    match kind {
        None | Some(LogicalType::Integer(_)) => Some((low.to_string(), high.to_string())),
        Some(LogicalType::Date) => Some((day(low)?, day(high)?)),
        Some(LogicalType::Timestamp(time)) if time.unit == TimeUnit::MICROS => {
            let zone = if time.is_adjusted_to_u_t_c { "Z" } else { "" };
            // The log keeps milliseconds: down for the least, up for the most, but not into a year that no reader takes.
            let up = high.div_euclid(1000) + i64::from(high.rem_euclid(1000) > 0);
            let most = moment(up * 1000, "%.3f", zone).or_else(|| moment(high, "%.6f", zone));
            Some((moment(low.div_euclid(1000) * 1000, "%.3f", zone)?, most?))
        }
        Some(LogicalType::Decimal(decimal)) => {
            Some((scaled(low.into(), decimal.scale)?, scaled(high.into(), decimal.scale)?))
        }
        Some(_) => None,
    }
}

fn day(days: i64) -> Option<String> {
    let day = NaiveDate::from_epoch_days(i32::try_from(days).ok()?)?;
    (1..=9999).contains(&day.year()).then(|| format!("\"{day}\""))
}

fn moment(micros: i64, fraction: &str, zone: &str) -> Option<String> {
    let at =
        DateTime::from_timestamp_micros(micros).filter(|at| (1..=9999).contains(&at.year()))?;
    Some(format!("\"{}{zone}\"", at.format(&format!("%Y-%m-%dT%H:%M:%S{fraction}"))))
}

fn big_endian(bytes: &[u8]) -> Option<i128> {
    let fill = if bytes.first()? & 0x80 == 0 { 0 } else { 0xFF };
    let mut whole = [fill; 16];
    let start = 16_usize.checked_sub(bytes.len())?;
    whole[start..].copy_from_slice(bytes);
    Some(i128::from_be_bytes(whole))
}

/// All digits: a float in between could round a bound inwards.
fn scaled(unscaled: i128, scale: i32) -> Option<String> {
    let scale = usize::try_from(scale).ok()?;
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let point = if scale == 0 { "" } else { "." };
    Some(format!("{sign}{whole}{point}{fraction}"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn decimals_keep_all_their_digits() {
        for (unscaled, scale, right) in
            [(150, 2, "1.50"), (-5, 2, "-0.05"), (0, 0, "0"), (-7, 0, "-7")]
        {
            assert_eq!(scaled(unscaled, scale).unwrap(), right);
        }
        assert_eq!(scaled(10_i128.pow(38) - 1, 2).unwrap(), format!("{}.99", "9".repeat(36)));
        assert_eq!(big_endian(&[0xFF, 0x6A]), Some(-150));
    }

    #[test]
    fn moments_round_outwards_and_stay_in_the_calendar() {
        let last = 253_402_300_799_999_999;
        let utc = |micros| moment(micros, "%.3f", "Z");
        assert_eq!(utc(-1_000).unwrap(), "\"1969-12-31T23:59:59.999Z\"");
        assert_eq!(utc(last + 1), None);
        assert_eq!(moment(last, "%.6f", "").unwrap(), "\"9999-12-31T23:59:59.999999\"");
        assert_eq!(day(2_932_897), None);
    }
}
