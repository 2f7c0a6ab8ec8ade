//! Names and types as messages spell them.

use arrow::datatypes::DataType;

/// A column as SQL spells it: quoted unless it is a plain word.
pub(super) fn quoted(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && name.chars().next().is_some_and(|c| !c.is_numeric());
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// A type, near enough for a message.
pub(super) fn spelt(data_type: &DataType) -> String {
    match data_type {
        DataType::Null => "NULL".to_owned(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_owned(),
        DataType::Boolean => "a boolean".to_owned(),
        DataType::Date32 | DataType::Date64 => "a date (YYYY-MM-DD)".to_owned(),
        DataType::Timestamp(_, None) => "a timestamp without zone".to_owned(),
        DataType::Timestamp(_, Some(_)) => "a timestamp".to_owned(),
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => {
            format!("a decimal({precision},{scale})")
        }
        DataType::Dictionary(_, values) => spelt(values),
        other => other.to_string().to_lowercase(),
    }
}

/// A value for a message: cut where it is long.
pub(super) fn shown(value: &str) -> String {
    match value.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}
