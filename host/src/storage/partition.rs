//! Partition values as text and as folder names. Each value has one spelling, and none can leave its folder.

use std::path::Component;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::Array;
use arrow::array::ArrayRef;
use arrow::array::StringArray;
use arrow::array::cast::AsArray;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::datatypes::Schema;
use arrow::datatypes::TimeUnit;
use arrow::datatypes::TimestampMicrosecondType;
use arrow::error::ArrowError;
use chrono::DateTime;
use percent_encoding::AsciiSet;
use percent_encoding::NON_ALPHANUMERIC;
use percent_encoding::percent_decode_str;
use percent_encoding::utf8_percent_encode;

use crate::name::ColumnName;

use super::listing::is_data_name;
use super::plain;
use super::text::Misfit;

/// The folder of NULL.
pub const NULL_FOLDER: &str = "__HIVE_DEFAULT_PARTITION__";

/// Everything but letters, digits and `_-.` is encoded: no separator, no control character, nothing that a shell minds.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-').remove(b'.');

/// Bytes that a file system takes as one name.
const NAME_BYTES_MAX: usize = 255;

/// One partition: the values of the partition columns, as text; `None` is NULL.
pub type Values = Vec<Option<String>>;

/// Why rows cannot be split by a column of this type, where they cannot.
#[must_use]
pub fn unsupported(data_type: &DataType) -> Option<&'static str> {
    match data_type {
        DataType::Utf8 | DataType::Boolean | DataType::Date32 | DataType::Decimal128(..) => None,
        DataType::Timestamp(TimeUnit::Microsecond, _) => None,
        data_type if data_type.is_integer() => None,
        data_type if data_type.is_floating() => Some(
            "floats are never quite equal; cast it to a decimal, or round it to a whole number",
        ),
        DataType::Timestamp(..) | DataType::Date64 => {
            Some("only timestamps in microseconds and dates name folders; cast it")
        }
        _ => {
            Some("only text, booleans, whole numbers, decimals, dates and timestamps name folders")
        }
    }
}

/// A column's values as partition values are spelt.
///
/// # Errors
/// Where a value has no spelling.
pub fn spell(column: &ArrayRef) -> Result<StringArray, ArrowError> {
    if let DataType::Timestamp(TimeUnit::Microsecond, _) = column.data_type() {
        let spelt = |micros: i64| {
            let time = DateTime::from_timestamp_micros(micros)
                .map(|at| at.format("%Y-%m-%d %H:%M:%S%.6f").to_string());
            time.ok_or_else(|| {
                ArrowError::CastError(format!("{micros} microseconds is no time of the calendar"))
            })
        };
        let values = column.as_primitive::<TimestampMicrosecondType>();
        return values.iter().map(|value| value.map(spelt).transpose()).collect();
    }
    cast(column, &DataType::Utf8).map(|text| text.as_string::<i32>().clone())
}

/// A value as somebody spelt it, as a column of one row.
///
/// # Errors
/// Where the text is no value of the type.
pub fn read(value: &str, data_type: &DataType) -> Result<ArrayRef, Misfit> {
    let text: ArrayRef = Arc::new(StringArray::from(vec![value]));
    plain::cast_exact(&text, data_type)
}

/// The types of partition columns.
///
/// # Errors
/// Where the schema lacks one.
pub fn types(schema: &Schema, columns: &[ColumnName]) -> Result<Vec<DataType>, ArrowError> {
    let types = columns.iter().map(|column| {
        schema.field_with_name(column.as_str()).map(|field| field.data_type().clone())
    });
    types.collect()
}

/// Values as somebody spelt them, in our spelling, so that they can be compared.
///
/// # Errors
/// Where a text is no value of its type.
pub fn respelt(values: &Values, types: &[DataType]) -> Result<Values, ArrowError> {
    let spelt = values.iter().zip(types).map(|(value, data_type)| {
        let Some(value) = value else { return Ok(None) };
        let one = read(value, data_type).map_err(|misfit| ArrowError::CastError(misfit.what))?;
        Ok(spell(&one)?.iter().next().flatten().map(str::to_owned))
    });
    spelt.collect()
}

/// What is wrong with a value as a folder's name, if anything is.
#[must_use]
pub fn refused(value: Option<&str>) -> Option<&'static str> {
    match value {
        Some("") => Some("empty text cannot be told from NULL in a partition's name"),
        Some(NULL_FOLDER) => Some("this text is the name of the NULL partition"),
        _ => None,
    }
}

/// The folder of a partition below its table: `column=value/…`, percent-encoded.
///
/// # Errors
/// The column whose name and value are longer than a file system takes.
pub fn folder<'a>(
    columns: impl Iterator<Item = &'a str>,
    values: &[Option<String>],
) -> Result<PathBuf, String> {
    let mut path = PathBuf::new();
    for (column, value) in columns.zip(values) {
        // A leading dot or underscore would hide the folder from readers.
        let hidden = column
            .starts_with(['.', '_'])
            .then(|| if column.starts_with('.') { "%2E" } else { "%5F" });
        let rest = if hidden.is_some() { &column[1..] } else { column };
        let value = value.as_deref().map(|value| utf8_percent_encode(value, ENCODED).to_string());
        let value = value.unwrap_or_else(|| NULL_FOLDER.to_owned());
        let mut name =
            format!("{}{}={value}", hidden.unwrap_or_default(), utf8_percent_encode(rest, ENCODED));
        // An ending of unfinished files would hide it as well.
        if !is_data_name(&name)
            && let Some(dot) = name.rfind('.')
        {
            name.replace_range(dot..=dot, "%2E");
        }
        if name.len() > NAME_BYTES_MAX {
            return Err(column.to_owned());
        }
        path.push(name);
    }
    Ok(path)
}

/// Columns and values that a relative folder's parts name, outermost first; other parts name none.
#[must_use]
pub fn named(folder: &Path) -> Vec<(String, Option<String>)> {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let part = |part: Component<'_>| {
        let (name, value) = part.as_os_str().to_str()?.split_once('=')?;
        let value = (value != NULL_FOLDER).then(|| decoded(value));
        (!name.is_empty()).then(|| (decoded(name), value))
    };
    folder.components().filter_map(part).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn folders_name_what_they_were_made_of() {
        let columns = ["_a b", "c"];
        for values in [[Some("x/y=z %20"), None], [Some("\u{e4}"), Some("1")]] {
            let values = values.map(|value| value.map(str::to_owned));
            let path = Path::new("2024").join(folder(columns.into_iter(), &values).unwrap());
            let expected = columns.map(str::to_owned).into_iter().zip(values);
            assert_eq!(named(&path), expected.collect::<Vec<_>>());
        }
        assert!(named(Path::new("a/=b")).is_empty());
    }

    #[test]
    fn folders_never_leave_their_table_and_never_fall_together() {
        let values = [
            "North West",
            "a/b",
            "a=b",
            "a%20b",
            "a b",
            "ü",
            "a:b",
            "100%",
            "x+y",
            "..",
            ".",
            "q?z",
            "\t",
            "o'b",
            "C:\\d",
            " l",
            "t ",
        ];
        let mut folders: Vec<_> = values
            .iter()
            .map(|value| folder(["g"].into_iter(), &[Some((*value).to_owned())]).unwrap())
            .collect();
        for path in &folders {
            assert_eq!(path.components().count(), 1, "{path:?}");
            assert!(path.to_str().unwrap().starts_with("g="), "{path:?}");
        }
        folders.sort();
        folders.dedup();
        assert_eq!(folders.len(), values.len());
    }

    #[test]
    fn odd_column_names_stay_visible_and_long_values_are_refused() {
        let one = |column, value: &str| folder([column].into_iter(), &[Some(value.to_owned())]);
        assert_eq!(one("_x", "1").unwrap(), PathBuf::from("%5Fx=1"));
        assert_eq!(one(".x/y", "1").unwrap(), PathBuf::from("%2Ex%2Fy=1"));
        assert_eq!(
            folder(["g"].into_iter(), &[None]).unwrap(),
            PathBuf::from("g=__HIVE_DEFAULT_PARTITION__")
        );
        assert_eq!(one("g", &"ü".repeat(50)), Err("g".to_owned()));
        assert!(refused(Some("")).is_some() && refused(Some(NULL_FOLDER)).is_some());
        assert!(refused(None).is_none() && refused(Some("NULL")).is_none());
    }
}
