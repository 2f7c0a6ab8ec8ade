//! Statistics of a data file for the log, from its Parquet footer: rows, NULLs, and bounds that are never too tight.

use chrono::DateTime;
use chrono::NaiveDate;
use parquet::basic::LogicalType;
use parquet::basic::TimeUnit;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescriptor;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

/// The statistics as the log spells them. Columns within lists, objects and maps have none, and so have bytes.
#[must_use]
pub fn stats(footer: &ParquetMetaData) -> String {
    let schema = footer.file_metadata().schema_descr();
    let (mut least, mut most, mut nulls) = (Map::new(), Map::new(), Map::new());
    for (index, column) in schema.columns().iter().enumerate() {
        let [name] = column.path().parts() else { continue };
        if column.max_rep_level() > 0 {
            continue;
        }
        let chunks: Option<Vec<&Statistics>> =
            footer.row_groups().iter().map(|group| group.column(index).statistics()).collect();
        let Some(chunks) = chunks else { continue };
        if let Some(count) = chunks.iter().map(|chunk| chunk.null_count_opt()).sum::<Option<u64>>()
        {
            nulls.insert(name.clone(), json!(count));
        }
        if let Some((low, high)) = bounds(column, &chunks) {
            least.insert(name.clone(), low);
            most.insert(name.clone(), high);
        }
    }
    let rows = footer.file_metadata().num_rows();
    json!({ "numRecords": rows, "minValues": least, "maxValues": most, "nullCount": nulls })
        .to_string()
}

fn bounds(column: &ColumnDescriptor, chunks: &[&Statistics]) -> Option<(Value, Value)> {
    // A row group of NULLs only has no bounds, and none to give.
    let told: Vec<_> = chunks
        .iter()
        .filter(|chunk| chunk.min_bytes_opt().is_some() && chunk.max_bytes_opt().is_some())
        .collect();
    let silent = chunks
        .iter()
        .filter(|chunk| chunk.min_bytes_opt().is_none() || chunk.max_bytes_opt().is_none());
    let rows_of_nulls = silent
        .map(|chunk| chunk.null_count_opt())
        .all(|nulls| nulls.is_some_and(|nulls| nulls > 0));
    if told.is_empty() || !rows_of_nulls {
        return None;
    }
    match told[0] {
        Statistics::Boolean(_) => {
            let of = |pick: fn(&Statistics) -> Option<bool>| {
                told.iter().map(|chunk| pick(chunk)).collect::<Option<Vec<_>>>()
            };
            let low =
                of(
                    |chunk| {
                        if let Statistics::Boolean(v) = chunk { v.min_opt().copied() } else { None }
                    },
                )?;
            let high =
                of(
                    |chunk| {
                        if let Statistics::Boolean(v) = chunk { v.max_opt().copied() } else { None }
                    },
                )?;
            Some((json!(low.into_iter().min()?), json!(high.into_iter().max()?)))
        }
        Statistics::Int32(_) | Statistics::Int64(_) => {
            let whole = |chunk: &Statistics| match chunk {
                Statistics::Int32(v) => Some((i64::from(*v.min_opt()?), i64::from(*v.max_opt()?))),
                Statistics::Int64(v) => Some((*v.min_opt()?, *v.max_opt()?)),
                _ => None,
            };
            let all = told.iter().map(|chunk| whole(chunk)).collect::<Option<Vec<_>>>()?;
            let (low, high) = (all.iter().map(|it| it.0).min()?, all.iter().map(|it| it.1).max()?);
            whole_bounds(column.logical_type_ref(), low, high)
        }
        Statistics::Float(_) | Statistics::Double(_) => {
            let float = |chunk: &Statistics| match chunk {
                Statistics::Float(v) => Some((f64::from(*v.min_opt()?), f64::from(*v.max_opt()?))),
                Statistics::Double(v) => Some((*v.min_opt()?, *v.max_opt()?)),
                _ => None,
            };
            let all = told.iter().map(|chunk| float(chunk)).collect::<Option<Vec<_>>>()?;
            let low = all.iter().map(|it| it.0).fold(f64::INFINITY, f64::min);
            let high = all.iter().map(|it| it.1).fold(f64::NEG_INFINITY, f64::max);
            // JSON has no infinity; without bounds the file is never skipped.
            (low.is_finite() && high.is_finite()).then(|| (json!(low), json!(high)))
        }
        Statistics::ByteArray(_)
            if matches!(column.logical_type_ref(), Some(LogicalType::String)) =>
        {
            // Footers cut long text: the lower bound short, the upper one raised, so both still bound.
            let text = |bytes: Option<&[u8]>| {
                bytes.and_then(|bytes| std::str::from_utf8(bytes).ok()).map(str::to_owned)
            };
            let low =
                told.iter().map(|chunk| text(chunk.min_bytes_opt())).collect::<Option<Vec<_>>>()?;
            let high =
                told.iter().map(|chunk| text(chunk.max_bytes_opt())).collect::<Option<Vec<_>>>()?;
            Some((json!(low.into_iter().min()?), json!(high.into_iter().max()?)))
        }
        Statistics::ByteArray(_) | Statistics::FixedLenByteArray(_) | Statistics::Int96(_) => None,
    }
}

fn whole_bounds(kind: Option<&LogicalType>, low: i64, high: i64) -> Option<(Value, Value)> {
    match kind {
        None | Some(LogicalType::Integer(_)) => Some((json!(low), json!(high))),
        Some(LogicalType::Date) => {
            let day = |days: i64| {
                NaiveDate::from_epoch_days(i32::try_from(days).ok()?)
                    .map(|day| json!(day.to_string()))
            };
            Some((day(low)?, day(high)?))
        }
        Some(LogicalType::Timestamp(time)) if time.unit == TimeUnit::MICROS => {
            // The log keeps milliseconds: down for the least, up for the most.
            let ending = if time.is_adjusted_to_u_t_c { "T%H:%M:%S%.3fZ" } else { "T%H:%M:%S%.3f" };
            let at = |millis: i64| {
                DateTime::from_timestamp_millis(millis)
                    .map(|at| json!(at.format(&format!("%Y-%m-%d{ending}")).to_string()))
            };
            Some((
                at(low.div_euclid(1000))?,
                at(high.div_euclid(1000) + i64::from(high.rem_euclid(1000) > 0))?,
            ))
        }
        // Numbers of up to 15 digits survive any reader's float.
        Some(LogicalType::Decimal(decimal)) if decimal.precision <= 15 && decimal.scale >= 0 => {
            let scale = 10_f64.powi(decimal.scale);
            #[expect(clippy::cast_precision_loss, reason = "at most 15 digits")]
            let value = |unscaled: i64| json!(unscaled as f64 / scale);
            match decimal.scale {
                0 => Some((json!(low), json!(high))),
                _ => Some((value(low), value(high))),
            }
        }
        Some(_) => None,
    }
}
