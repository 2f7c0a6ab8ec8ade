//! The type of JSON values: what all of them allow, with numbers judged by their digits, not by what a float makes of them.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::Fields;
use serde::Deserializer;
use serde::de::MapAccess;
use serde::de::Visitor;
use serde_json::value::RawValue;

use crate::storage::text::Number;
use crate::storage::text::number;

/// What the values of one key have been so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// NULL only.
    Nothing,
    Bool,
    /// `exact`: float64 holds all of them, too.
    Int {
        exact: bool,
    },
    Float,
    /// Text, or scalars of several kinds, or numbers with too many digits.
    Text,
    List(Box<Self>),
    Object(Vec<(String, Self)>),
}

/// A value that cannot share a column with those before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    /// The keys down to it, joined by dots.
    pub(super) key: String,
    pub(super) what: String,
}

/// An object's keys and values in order; an error where a key comes twice.
pub(super) struct Object<'a>(pub(super) Vec<(String, &'a RawValue)>);

impl Kind {
    /// Takes the value of `key` into account.
    pub(super) fn look(&mut self, raw: &RawValue, key: &str) -> Result<(), Conflict> {
        let text = raw.get().trim_ascii();
        let seen = match text.as_bytes().first() {
            Some(b'n') | None => return Ok(()),
            Some(b'{') => return self.look_object(text, key),
            Some(b'[') => return self.look_list(text, key),
            Some(b't' | b'f') => Self::Bool,
            Some(b'"') => Self::Text,
            Some(_) => match number(text) {
                Some(Number::Int { exact }) => Self::Int { exact },
                Some(Number::Float) => Self::Float,
                Some(Number::TooLong) | None => Self::Text,
            },
        };
        let merged = match (&*self, seen) {
            (Self::List(_) | Self::Object(_), seen) => return Err(self.conflict(key, seen.noun())),
            (Self::Nothing, seen) => seen,
            (Self::Int { exact: a }, Self::Int { exact: b }) => Self::Int { exact: *a && b },
            (Self::Int { exact: true }, Self::Float) | (Self::Float, Self::Int { exact: true }) => {
                Self::Float
            }
            (known, seen) if *known == seen => seen,
            _ => Self::Text,
        };
        *self = merged;
        Ok(())
    }

    fn look_object(&mut self, text: &str, key: &str) -> Result<(), Conflict> {
        if *self == Self::Nothing {
            *self = Self::Object(Vec::new());
        }
        let Self::Object(known) = self else { return Err(self.conflict(key, "an object")) };
        let Object(fields) = object(text).map_err(|what| Conflict { key: key.to_owned(), what })?;
        look_fields(known, &fields, key)
    }

    fn look_list(&mut self, text: &str, key: &str) -> Result<(), Conflict> {
        if *self == Self::Nothing {
            *self = Self::List(Box::new(Self::Nothing));
        }
        let Self::List(item) = self else { return Err(self.conflict(key, "a list")) };
        let items: Vec<&RawValue> = serde_json::from_str(text)
            .map_err(|error| Conflict { key: key.to_owned(), what: error.to_string() })?;
        items.into_iter().try_for_each(|value| item.look(value, &format!("{key}[]")))
    }

    fn conflict(&self, key: &str, now: &str) -> Conflict {
        Conflict {
            key: key.to_owned(),
            what: format!("it is {now} here and {} before", self.noun()),
        }
    }

    fn noun(&self) -> &'static str {
        match self {
            Self::Nothing => "null",
            Self::Bool => "a boolean",
            Self::Int { .. } | Self::Float => "a number",
            Self::Text => "a plain value",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// The Arrow type.
    pub(super) fn data_type(&self) -> DataType {
        match self {
            Self::Nothing | Self::Text => DataType::Utf8,
            Self::Bool => DataType::Boolean,
            Self::Int { .. } => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::List(item) => {
                DataType::List(Arc::new(Field::new_list_field(item.data_type(), true)))
            }
            Self::Object(fields) => DataType::Struct(arrow_fields(fields)),
        }
    }
}

/// The columns of an object's keys, all of them nullable.
pub(super) fn arrow_fields(fields: &[(String, Kind)]) -> Fields {
    fields.iter().map(|(name, kind)| Field::new(name, kind.data_type(), true)).collect()
}

/// Takes an object's values into account; keys that are new join at the end.
pub(super) fn look_fields(
    known: &mut Vec<(String, Kind)>,
    fields: &[(String, &RawValue)],
    above: &str,
) -> Result<(), Conflict> {
    for (index, (name, value)) in fields.iter().enumerate() {
        // Most objects have their keys in the order of the first.
        let place = match known.get(index).is_some_and(|(known, _)| known == name) {
            true => index,
            false => known.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                known.push((name.clone(), Kind::Nothing));
                known.len() - 1
            }),
        };
        let key = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
        known[place].1.look(value, &key)?;
    }
    Ok(())
}

/// Reads one object.
pub(super) fn object(text: &str) -> Result<Object<'_>, String> {
    let mut json = serde_json::Deserializer::from_str(text);
    let object = json.deserialize_map(Keys).and_then(|object| json.end().map(|()| object));
    object.map_err(|error| {
        // The text is one line, so the parser's line says nothing.
        let text = error.to_string();
        text.split_once(" at line ")
            .map_or(text.clone(), |(what, _)| format!("{what} (at character {})", error.column()))
    })
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Object<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields: Vec<(String, &'de RawValue)> = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
            if key.is_empty() || fields.iter().any(|(known, _)| *known == key) {
                let what = if key.is_empty() {
                    "a key is empty".to_owned()
                } else {
                    format!("key `{key}` comes twice")
                };
                return Err(serde::de::Error::custom(what));
            }
            fields.push((key, value));
        }
        Ok(Object(fields))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn kinds(lines: &[&str]) -> String {
        let mut known = Vec::new();
        for line in lines {
            match object(line).map(|object| look_fields(&mut known, &object.0, "")) {
                Err(what) => return what,
                Ok(Err(conflict)) => return format!("{}: {}", conflict.key, conflict.what),
                Ok(Ok(())) => {}
            }
        }
        let fields: Vec<_> = arrow_fields(&known)
            .iter()
            .map(|f| format!("{} {}", f.name(), f.data_type()))
            .collect();
        fields.join("; ")
    }

    #[test]
    fn numbers_keep_their_digits_and_mixed_scalars_become_text() {
        for (lines, right) in [
            (&[r#"{"a":1}"#, r#"{"a":null}"#, r#"{"b":true}"#][..], "a Int64; b Boolean"),
            (&[r#"{"a":1}"#, r#"{"a":2.5}"#], "a Float64"),
            (&[r#"{"a":2.5}"#, r#"{"a":9007199254740993}"#], "a Utf8"),
            (&[r#"{"a":12345678901234567890123}"#], "a Utf8"),
            (&[r#"{"a":1}"#, r#"{"a":"x"}"#], "a Utf8"),
            (&[r#"{"a":true}"#, r#"{"a":1}"#], "a Utf8"),
            (&[r#"{"a":null}"#], "a Utf8"),
            (&[r#"{"a":[]}"#, r#"{"a":[1,2.5]}"#], "a List(Float64)"),
            (
                &[r#"{"o":{"x":1}}"#, r#"{"o":{"y":[{"z":1}]}}"#],
                "o Struct(\"x\": Int64, \"y\": List(Struct(\"z\": Int64)))",
            ),
            (
                &[r#"{"o":{"x":1}}"#, r#"{"o":{"x":{}}}"#],
                "o.x: it is an object here and a number before",
            ),
            (&[r#"{"a":[1]}"#, r#"{"a":"x"}"#], "a: it is a plain value here and a list before"),
            (&[r#"{"a":[[1],2]}"#], "a[]: it is a number here and a list before"),
            (&[r#"{"a":1,"a":2}"#], "key `a` comes twice (at character 13)"),
            (&[r#"[1]"#], "invalid type: sequence, expected a JSON object (at character 0)"),
            (&[r#"{"a":1"#], "EOF while parsing an object (at character 6)"),
            (&[r#"{"a":1} x"#], "trailing characters (at character 9)"),
        ] {
            assert_eq!(kinds(lines), right, "{lines:?}");
        }
    }

    #[test]
    fn keys_may_be_escaped() {
        assert_eq!(object(r#"{"\u00fc":1}"#).unwrap().0[0].0, "ü");
    }
}
