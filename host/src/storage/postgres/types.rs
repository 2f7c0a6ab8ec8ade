//! Which column a type of Postgres makes. What has no exact place is refused, never guessed.

use std::sync::Arc;

use arrow::compute::can_cast_types;
use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::TimeUnit;
use tokio_postgres::types::Kind;
use tokio_postgres::types::Type;

/// How a value that was sent is decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// `bool`.
    Bool,
    /// `int2`.
    Int16,
    /// `int4`.
    Int32,
    /// `int8`.
    Int64,
    /// `float4`.
    Float32,
    /// `float8`.
    Float64,
    /// What is sent as text: `text`, `varchar`, `char(n)`, `name`, `json`, enumerations.
    Text,
    /// `jsonb`, as text.
    Jsonb,
    /// `uuid`, as text.
    Uuid,
    /// `bytea`.
    Bytes,
    /// `date`.
    Date,
    /// `time`, in microseconds.
    Time,
    /// `timestamp`, in microseconds.
    Timestamp,
    /// `timestamptz`, in microseconds of UTC.
    TimestampTz,
    /// `numeric` as a decimal of this precision and scale.
    Decimal(u8, i8),
    /// `numeric` as text: the digits that Postgres prints.
    Digits,
    /// An array of one dimension.
    List(Box<Self>),
}

impl Cell {
    /// The column that such values make.
    #[must_use]
    pub fn data_type(&self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::Int16 => DataType::Int16,
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::Float32 => DataType::Float32,
            Self::Float64 => DataType::Float64,
            Self::Text | Self::Jsonb | Self::Uuid | Self::Digits => DataType::Utf8,
            Self::Bytes => DataType::Binary,
            Self::Date => DataType::Date32,
            Self::Time => DataType::Time64(TimeUnit::Microsecond),
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::TimestampTz => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Decimal(precision, scale) => DataType::Decimal128(*precision, *scale),
            Self::List(item) => {
                DataType::List(Arc::new(Field::new_list_field(item.data_type(), true)))
            }
        }
    }
}

/// What a column's type is to us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It has an exact place.
    Exact(Cell),
    /// `numeric` with no precision, or with more than a decimal holds: only who reads it knows which digits it needs.
    Numeric,
    /// It has no place; the type's name.
    Other(String),
}

impl Found {
    /// How it is decoded where the flow declares `hint`, and the column that it makes then.
    ///
    /// # Errors
    /// What is wrong, and the way out. `column` is its name.
    pub fn read_as(
        &self,
        column: &str,
        hint: Option<&DataType>,
    ) -> Result<(Cell, DataType), (String, String)> {
        let is_numeric = matches!(self, Self::Numeric | Self::Exact(Cell::Decimal(..)));
        let cell = match (self, hint) {
            // Decoded as declared at once: beyond what a decimal of its own would hold, NaN has a spelling.
            (_, Some(DataType::Decimal128(precision, scale))) if is_numeric => {
                Cell::Decimal(*precision, *scale)
            }
            (_, Some(DataType::Utf8)) if is_numeric => Cell::Digits,
            (Self::Exact(cell), _) => cell.clone(),
            (Self::Numeric, Some(_)) => Cell::Digits,
            (Self::Numeric, None) => {
                let what = "it is `numeric` without a precision that a decimal holds, so its digits are not known";
                let hint = format!(
                    "declare them: `schema_hints: {{ {column}: \"decimal(38, 9)\" }}`, or `text` for the digits as they are"
                );
                return Err((what.to_owned(), hint));
            }
            (Self::Other(name), _) => {
                let what =
                    format!("it is of the type `{name}`, which has no exact place in a table");
                let hint = format!(
                    "cast it in a `query`, as in `{column}::text`, or leave it out of `columns`"
                );
                return Err((what, hint));
            }
        };
        let own = cell.data_type();
        match hint {
            Some(hint) if !can_cast_types(&own, hint) => {
                Err((format!("{own} cannot be read as {hint}"), "cast it in a `query`".to_owned()))
            }
            Some(hint) => Ok((cell, hint.clone())),
            None => Ok((cell, own)),
        }
    }
}

/// What a type is to us; `modifier` is what the column adds to it, as `numeric(10, 2)` does.
pub(super) fn found(data_type: &Type, modifier: i32) -> Found {
    let cell = match *data_type {
        Type::BOOL => Cell::Bool,
        Type::INT2 => Cell::Int16,
        Type::INT4 => Cell::Int32,
        Type::INT8 => Cell::Int64,
        Type::FLOAT4 => Cell::Float32,
        Type::FLOAT8 => Cell::Float64,
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::JSON => Cell::Text,
        Type::JSONB => Cell::Jsonb,
        Type::UUID => Cell::Uuid,
        Type::BYTEA => Cell::Bytes,
        Type::DATE => Cell::Date,
        Type::TIME => Cell::Time,
        Type::TIMESTAMP => Cell::Timestamp,
        Type::TIMESTAMPTZ => Cell::TimestampTz,
        Type::NUMERIC => return decimal(modifier).map_or(Found::Numeric, Found::Exact),
        _ => {
            return match data_type.kind() {
                Kind::Enum(_) => Found::Exact(Cell::Text),
                Kind::Domain(base) => found(base, modifier),
                Kind::Array(item) => match found(item, modifier) {
                    Found::Exact(item @ Cell::List(_)) => {
                        Found::Other(format!("array of {}", item.data_type()))
                    }
                    Found::Exact(item) => Found::Exact(Cell::List(Box::new(item))),
                    Found::Numeric => Found::Other("numeric[]".to_owned()),
                    Found::Other(name) => Found::Other(format!("{name}[]")),
                },
                // An extension's, wherever it was installed; it is sent as text is.
                Kind::Simple if data_type.name() == "citext" => Found::Exact(Cell::Text),
                _ => Found::Other(data_type.name().to_owned()),
            };
        }
    };
    Found::Exact(cell)
}

/// The type as which a column is compared by the server just as by us. None of floats, whose NaN is an order of its own; of what is
/// text to us alone (`uuid`, `json`, enumerations); of text that is equal to more, or orders otherwise (`char(n)`, `citext`, `name`).
pub(super) fn compared(data_type: &Type, modifier: i32) -> Option<Type> {
    match *data_type {
        Type::BOOL
        | Type::INT2
        | Type::INT4
        | Type::INT8
        | Type::DATE
        | Type::TIMESTAMP
        | Type::TIMESTAMPTZ
        | Type::TEXT => Some(data_type.clone()),
        Type::VARCHAR => Some(Type::TEXT),
        Type::NUMERIC => decimal(modifier).map(|_| Type::NUMERIC),
        _ => None,
    }
}

/// The decimal that holds each value of `numeric(precision, scale)`; scales may be negative, or greater than the precision.
fn decimal(modifier: i32) -> Option<Cell> {
    let packed = modifier.checked_sub(4).filter(|packed| *packed >= 0)?;
    let precision = packed >> 16;
    // Eleven bits with a sign.
    let scale = ((packed & 0x7ff) ^ 1024) - 1024;
    let (precision, scale) =
        if scale < 0 { (precision - scale, 0) } else { (precision.max(scale), scale) };
    let fits = (1..=38).contains(&precision);
    fits.then_some(Cell::Decimal(u8::try_from(precision).ok()?, i8::try_from(scale).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numeric_has_the_decimal_that_holds_all_its_values() {
        let modifier = |precision: i32, scale: i32| (precision << 16 | scale & 0x7ff) + 4;
        for (given, right) in [
            (-1, None),
            (modifier(10, 2), Some(Cell::Decimal(10, 2))),
            (modifier(38, 38), Some(Cell::Decimal(38, 38))),
            (modifier(39, 0), None),
            (modifier(3, -2), Some(Cell::Decimal(5, 0))),
            (modifier(38, -1), None),
            (modifier(2, 5), Some(Cell::Decimal(5, 5))),
            (modifier(1000, 500), None),
        ] {
            assert_eq!(decimal(given), right, "{given}");
        }
    }
}
