//! Whether a value is what inference over a part of the objects has made of its column. Arrow's decoder cuts numbers and passes over
//! keys, so this is asked before it.

use arrow::datatypes::DataType;
use arrow::datatypes::Fields;
use serde_json::value::RawValue;

use super::infer::Conflict;
use super::infer::Object;
use super::infer::object;
use crate::spelling::spelt;
use crate::storage::text::is_of;
use crate::storage::text::shown;

/// Judges the values of an object's keys, but for those that `is_declared`.
pub(super) fn object_is(
    Object(values): &Object<'_>,
    fields: &Fields,
    is_declared: &dyn Fn(&str) -> bool,
) -> Result<(), Conflict> {
    let undeclared = values.iter().filter(|(name, _)| !is_declared(name));
    keys_are(undeclared.map(|(name, value)| (name.as_str(), *value)), fields, "")
}

fn keys_are<'a>(
    values: impl Iterator<Item = (&'a str, &'a RawValue)>,
    fields: &Fields,
    above: &str,
) -> Result<(), Conflict> {
    for (name, value) in values {
        let key = if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") };
        match fields.find(name) {
            Some((_, field)) => value_is(value, field.data_type(), &key)?,
            None => {
                let what = "the objects that were looked at have no such key".to_owned();
                return Err(Conflict { key, what });
            }
        }
    }
    Ok(())
}

fn value_is(raw: &RawValue, data_type: &DataType, key: &str) -> Result<(), Conflict> {
    let text = raw.get().trim_ascii();
    let first = text.as_bytes().first();
    if first == Some(&b'n') {
        return Ok(());
    }
    let is_plain = !matches!(first, Some(b'{' | b'['));
    let wrong = |what: String| Err(Conflict { key: key.to_owned(), what });
    let fits = match data_type {
        DataType::Struct(fields) if first == Some(&b'{') => {
            return match object(text) {
                Ok(Object(values)) => {
                    let values = values.iter().map(|(name, value)| (name.as_str(), *value));
                    keys_are(values, fields, key)
                }
                Err(what) => wrong(what),
            };
        }
        DataType::List(item) if first == Some(&b'[') => {
            return match serde_json::from_str::<Vec<&RawValue>>(text) {
                Ok(items) => {
                    let key = format!("{key}[]");
                    items.into_iter().try_for_each(|value| value_is(value, item.data_type(), &key))
                }
                Err(error) => wrong(error.to_string()),
            };
        }
        DataType::Struct(_) | DataType::List(_) => false,
        // Plain values of several kinds are text.
        DataType::Utf8 => is_plain,
        // In quotes it is text, whatever it reads like.
        other => is_plain && first != Some(&b'"') && is_of(text, other),
    };
    if fits {
        return Ok(());
    }
    wrong(format!(
        "{} is not {}, as in the objects that were looked at",
        shown(text),
        kind(data_type)
    ))
}

fn kind(data_type: &DataType) -> String {
    match data_type {
        DataType::Struct(_) => "an object".to_owned(),
        DataType::List(_) => "a list".to_owned(),
        plain => spelt(plain),
    }
}
