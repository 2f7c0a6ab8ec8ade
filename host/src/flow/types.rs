//! Column types as flows spell them.

use arrow::datatypes::DataType;
use arrow::datatypes::TimeUnit;

use super::report::Located;
use crate::name::ColumnName;
use crate::problem::known_names;

/// Columns and their types, in the order of the file.
pub(super) type ColumnTypes = Vec<(Located<ColumnName>, DataType)>;

/// Columns in the order of the file, and the types of those that have one.
pub(super) type ColumnsOfSchema = Vec<(Located<ColumnName>, Option<DataType>)>;

/// Each type without parameters: its name, other spellings, and what it is in memory.
const TYPES: &[(&str, &[&str], DataType)] = &[
    ("bool", &["boolean"], DataType::Boolean),
    ("int8", &["tinyint", "byte"], DataType::Int8),
    ("int16", &["smallint", "short"], DataType::Int16),
    ("int32", &["int", "integer"], DataType::Int32),
    ("int64", &["bigint", "long"], DataType::Int64),
    ("uint8", &[], DataType::UInt8),
    ("uint16", &[], DataType::UInt16),
    ("uint32", &[], DataType::UInt32),
    ("uint64", &[], DataType::UInt64),
    ("float32", &["float", "real"], DataType::Float32),
    ("float64", &["double"], DataType::Float64),
    ("text", &["string", "utf8", "varchar"], DataType::Utf8),
    ("binary", &["bytes"], DataType::Binary),
    ("date", &["date32"], DataType::Date32),
    ("timestamp_ntz", &[], DataType::Timestamp(TimeUnit::Microsecond, None)),
];

/// The type that `text` names; case and outer blanks do not count.
///
/// # Errors
/// What is wrong, and the way out.
pub(super) fn column_type(text: &str) -> Result<DataType, (String, String)> {
    let name = text.trim().to_lowercase();
    if let Some((_, _, found)) =
        TYPES.iter().find(|(main, others, _)| *main == name || others.contains(&name.as_str()))
    {
        return Ok(found.clone());
    }
    // A moment, kept in UTC; `timestamp_ntz` is a wall clock's reading.
    if name == "timestamp" || name == "timestamptz" {
        return Ok(DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())));
    }
    if let Some(rest) = name.strip_prefix("decimal").or_else(|| name.strip_prefix("numeric")) {
        return decimal(rest).ok_or_else(|| {
            let what = format!("`{text}` is no decimal type: its precision is 1 to 38, its scale 0 to the precision");
            (what, "write it as `decimal(12, 2)`".to_owned())
        });
    }
    let known = type_names();
    Err((format!("`{text}` is no column type"), known_names(&name, known.iter().copied())))
}

/// `(12, 2)` or `(12)`.
fn decimal(parameters: &str) -> Option<DataType> {
    let inner = parameters.trim().strip_prefix('(')?.strip_suffix(')')?;
    let (precision, scale) = inner.split_once(',').unwrap_or((inner, "0"));
    let precision: u8 = precision.trim().parse().ok()?;
    let scale: i8 = scale.trim().parse().ok()?;
    let fits = (1..=38).contains(&precision) && (0..=precision as i8).contains(&scale);
    fits.then_some(DataType::Decimal128(precision, scale))
}

/// The main names, as hints give them.
pub(super) fn type_names() -> Vec<&'static str> {
    TYPES.iter().map(|(name, _, _)| *name).chain(["timestamp", "decimal(p, s)"]).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_type_are_one_type() {
        for (text, expected) in [
            ("BIGINT", DataType::Int64),
            (" long ", DataType::Int64),
            ("string", DataType::Utf8),
            ("decimal(12,2)", DataType::Decimal128(12, 2)),
            ("numeric( 38 )", DataType::Decimal128(38, 0)),
            ("timestamp_ntz", DataType::Timestamp(TimeUnit::Microsecond, None)),
            ("timestamp", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
        ] {
            assert_eq!(column_type(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn other_types_are_refused_with_a_way_out() {
        for bad in
            ["decimal", "decimal(39,2)", "decimal(5,6)", "decimal(5,-1)", "decimal(x)", "map", ""]
        {
            assert!(column_type(bad).is_err(), "{bad}");
        }
        assert_eq!(column_type("int46").unwrap_err().1, "did you mean `int16`?");
    }
}
