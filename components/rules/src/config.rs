//! The configuration as it is written.

use crate::number::Number;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use wasmhost_guest::Nulls;

/// What is judged, and why rows may be hit.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Each is one reason, declared in this order.
    pub checks: Vec<Entry>,
}

/// One reason: a check of a column, or of several.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The reason's code; no other entry has it.
    pub code: String,
    /// The reason's message; it may name columns in braces.
    pub message: String,
    /// The column that is judged; left out for `reference`, which has its own `columns`.
    pub column: Option<String>,
    /// What becomes of rows in which the column, or one of the columns, is NULL.
    pub on_null: OnNull,
    /// How values are judged.
    #[serde(deserialize_with = "tagged")]
    pub check: Check,
}

/// What becomes of NULLs, whatever the check.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnNull {
    /// Evaluated, and hit.
    Fail,
    /// Evaluated, and passed.
    Pass,
    /// Not evaluated.
    Skip,
}

impl From<OnNull> for Nulls {
    fn from(on_null: OnNull) -> Self {
        match on_null {
            OnNull::Fail => Self::Hit,
            OnNull::Pass => Self::Pass,
            OnNull::Skip => Self::Skip,
        }
    }
}

/// How values are judged. In JSON, `type` names the check, and its settings stand beside it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(tag = "type")]
pub enum Check {
    /// Every value passes; NULLs go where `on_null` says. Any type.
    NotNull {},
    /// One of these values passes. Text, whole numbers, decimals, floats, booleans, dates, timestamps.
    AcceptedValues {
        /// At least one; dates and timestamps as ISO 8601 texts.
        values: Vec<Scalar>,
    },
    /// A value between two bounds passes, NaN never. Whole numbers, decimals, floats, dates, timestamps; text by its bytes.
    Range {
        /// The lower bound; `min`, `max` or both are given.
        min: Option<Scalar>,
        /// The upper bound.
        max: Option<Scalar>,
        /// Whether the bounds themselves are outside.
        #[serde(default)]
        exclusive: bool,
    },
    /// A text in which the pattern is found anywhere passes; `^` and `$` tie it to the text's ends.
    Pattern {
        /// In the syntax of Rust's `regex`: without look-around and back-references, in linear time.
        pattern: String,
    },
    /// A value with so many characters (text), bytes (binary) or items (list) passes.
    Length {
        /// The least; `min`, `max` or both are given.
        min: Option<u64>,
        /// The most.
        max: Option<u64>,
    },
    /// True passes. Booleans.
    True {},
    /// The whole input is hit where its newest value is too old at the run's logical time, or where there is no value at all.
    /// Row by row every value passes. Dates (their midnight) and timestamps; without a zone they are UTC.
    Freshness {
        /// The greatest age that passes, in milliseconds.
        max_age_ms: u64,
    },
    /// A row whose values, together, are in another input passes.
    Reference {
        /// The columns of the judged input.
        columns: Vec<String>,
        /// The other input's name.
        source: String,
        /// Its columns, in the order of `columns`, of the same types; whole numbers may differ in width.
        source_columns: Vec<String>,
    },
}

/// Reads a check by its `type`. Not by serde's own tags, which would buffer the settings, and numbers in them as floats.
fn tagged<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Check, D::Error> {
    let mut settings = BTreeMap::<String, Box<RawValue>>::deserialize(deserializer)?;
    let tag = settings.remove("type").ok_or_else(|| D::Error::missing_field("type"))?;
    let tag: String = serde_json::from_str(tag.get())
        .map_err(|_| D::Error::custom(format!("type: expected a text, not {tag}")))?;
    let settings = settings.iter().map(|(name, value)| (name.as_str(), value.as_ref()));
    let check = std::iter::once((tag, MapDeserializer::new(settings)));
    let check = MapAccessDeserializer::new(MapDeserializer::<_, serde_json::Error>::new(check));
    serde_path_to_error::deserialize(check).map_err(|error| {
        // No path is one that ends before the first setting, at the check's name.
        let path = match error.path().iter().next() {
            Some(_) => error.path().to_string(),
            None => "type".to_owned(),
        };
        D::Error::custom(format!("{path}: {}", error.into_inner()))
    })
}

/// A single value.
#[derive(Clone, Debug)]
pub enum Scalar {
    /// `true` or `false`.
    Bool(bool),
    /// A number, as exact as it was written.
    Number(Number),
    /// A text; also a date or a timestamp.
    Text(String),
}

impl fmt::Display for Scalar {
    /// As JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => match serde_json::to_string(text) {
                Ok(json) => f.write_str(&json),
                Err(_) => write!(f, "{text:?}"),
            },
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(deserializer)?;
        let text = json.get();
        match text.as_bytes().first() {
            Some(b'"') => serde_json::from_str(text).map(Self::Text).map_err(D::Error::custom),
            Some(b't') => Ok(Self::Bool(true)),
            Some(b'f') => Ok(Self::Bool(false)),
            Some(b'-' | b'0'..=b'9') => Ok(Self::Number(Number::parse(text))),
            Some(b'n') => {
                Err(D::Error::custom("null is no value; `on_null` says what becomes of NULL"))
            }
            _ => Err(D::Error::custom("expected a text, a number, true or false")),
        }
    }
}

impl JsonSchema for Scalar {
    fn schema_name() -> Cow<'static, str> {
        "Scalar".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number", "boolean"] })
    }
}
