//! What a table's log tells of a file's columns.

use std::collections::BTreeMap;

use arrow::array::Array;
use arrow::array::ArrayRef;
use arrow::array::AsArray;
use arrow::array::TimestampMicrosecondArray;
use arrow::compute::concat;
use arrow::datatypes::DataType;
use arrow::datatypes::TimeUnit;
use arrow::datatypes::TimestampMicrosecondType;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::storage::bounds::Told;
use crate::storage::partition;

/// The log keeps whole milliseconds of times, and some writers cut what is beyond.
const CUT_MICROS: i64 = 999;

/// The statistics of a file's entry, as far as they can be read.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FileStats {
    num_records: Option<u64>,
    // Texts as they stand there: a float in between could round a bound inwards. Columns of objects have objects here.
    min_values: BTreeMap<String, Box<RawValue>>,
    max_values: BTreeMap<String, Box<RawValue>>,
    null_count: BTreeMap<String, Box<RawValue>>,
}

impl FileStats {
    /// Reads what stands in an entry. Statistics are a help that a file may do without: what is no statistics tells nothing.
    #[must_use]
    pub fn read(text: Option<&str>) -> Self {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// What is told of a column of the table's files, which has this type there.
    #[must_use]
    pub fn told(&self, column: &str, data_type: &DataType) -> Told {
        let nulls = self.null_count.get(column);
        Told {
            bounds: self.bounds(column, data_type),
            nulls: nulls.and_then(|count| count.get().parse().ok()),
            rows: self.num_records,
        }
    }

    fn bounds(&self, column: &str, data_type: &DataType) -> Option<ArrayRef> {
        let is_exact = data_type.is_integer()
            || matches!(
                data_type,
                DataType::Utf8 | DataType::Date32 | DataType::Timestamp(TimeUnit::Microsecond, _)
            );
        // Decimals are not: several writers make floats of them.
        if !is_exact {
            return None;
        }
        let least = value(self.min_values.get(column)?, data_type)?;
        let greatest = later(&value(self.max_values.get(column)?, data_type)?)?;
        concat(&[least.as_ref(), greatest.as_ref()]).ok()
    }
}

fn value(raw: &RawValue, data_type: &DataType) -> Option<ArrayRef> {
    let text = match raw.get() {
        quoted if quoted.starts_with('"') => serde_json::from_str(quoted).ok()?,
        number if data_type.is_integer() => number.to_owned(),
        _ => return None,
    };
    partition::read(&text, data_type).ok().filter(|one| one.null_count() == 0)
}

/// The latest moment that may have been cut to this one; any other value is itself.
fn later(greatest: &ArrayRef) -> Option<ArrayRef> {
    let DataType::Timestamp(TimeUnit::Microsecond, zone) = greatest.data_type() else {
        return Some(greatest.clone());
    };
    let micros = greatest.as_primitive::<TimestampMicrosecondType>().value(0);
    let micros = TimestampMicrosecondArray::from(vec![micros.checked_add(CUT_MICROS)?]);
    Some(std::sync::Arc::new(micros.with_timezone_opt(zone.clone())))
}

#[cfg(test)]
mod tests {
    use arrow::util::display::array_value_to_string;

    use super::*;

    fn told(column: &str, data_type: &DataType) -> String {
        let text = r#"{"numRecords": 3,
            "minValues": {"n": -5, "t": "a\"b", "at": "2024-01-01T00:00:00.123Z", "d": 1.25, "o": {"x": 1}, "day": "2024-01-31", "odd": true},
            "maxValues": {"n": 7, "t": "ü", "at": "2024-01-01T00:00:00.124Z", "d": 9.75, "o": {"x": 2}, "day": "2024-02-29", "odd": false},
            "nullCount": {"n": 0, "t": 3, "o": {"x": 0}}}"#;
        let told = FileStats::read(Some(text)).told(column, data_type);
        let bounds = told.bounds.map(|bounds| {
            let shown = |at| array_value_to_string(&bounds, at).unwrap_or_default();
            format!("{} to {}", shown(0), shown(1))
        });
        format!("{}, {:?} of {:?}", bounds.unwrap_or_default(), told.nulls, told.rows)
    }

    #[test]
    fn bounds_are_never_tighter_than_the_values() {
        let micros = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        for (column, data_type, right) in [
            ("n", DataType::Int32, "-5 to 7, Some(0) of Some(3)"),
            ("t", DataType::Utf8, "a\"b to ü, Some(3) of Some(3)"),
            (
                "at",
                micros,
                "2024-01-01T00:00:00.123Z to 2024-01-01T00:00:00.124999Z, None of Some(3)",
            ),
            ("day", DataType::Date32, "2024-01-31 to 2024-02-29, None of Some(3)"),
            ("d", DataType::Decimal128(9, 2), ", None of Some(3)"),
            ("d", DataType::Int64, ", None of Some(3)"),
            ("o", DataType::Utf8, ", None of Some(3)"),
            ("odd", DataType::Int64, ", None of Some(3)"),
            ("absent", DataType::Int64, ", None of Some(3)"),
        ] {
            assert_eq!(told(column, &data_type), right, "{column}");
        }
        for bad in [None, Some(""), Some("[]"), Some(r#"{"minValues": 1}"#)] {
            let told = FileStats::read(bad).told("n", &DataType::Int64);
            assert!(told.bounds.is_none() && told.rows.is_none(), "{bad:?}");
        }
    }
}
