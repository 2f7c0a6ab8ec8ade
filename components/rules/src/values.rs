//! From the configuration's scalars to values of a column's type, none of them rounded in silence.

use crate::config::Scalar;
use crate::number::{Number, Units};
use crate::time::{self, DAY_NS, SECOND_NS, Zone};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrowPrimitiveType, BooleanArray};
use arrow_buffer::i256;
use arrow_schema::{DataType, TimeUnit};

/// Milliseconds of a day.
const DAY_MS: i128 = 86_400_000;

/// Which values a column has, as far as comparing goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Counted in whole units: whole numbers, decimals, dates, timestamps.
    Counted,
    Float,
    Text,
    Bool,
}

impl Family {
    /// None of a type whose values cannot be written in a configuration.
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Boolean => Some(Self::Bool),
            DataType::Utf8 | DataType::LargeUtf8 => Some(Self::Text),
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Some(Self::Float),
            DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => Some(Self::Counted),
            _ if data_type.is_integer() || data_type.is_decimal() => Some(Self::Counted),
            _ => None,
        }
    }
}

/// The value in the column's units, of a type that is counted.
///
/// # Errors
/// What is expected instead.
pub(crate) fn units(value: &Scalar, data_type: &DataType) -> Result<Units, &'static str> {
    const DATE: &str = "a date such as \"2024-01-31\"";
    let text = match value {
        Scalar::Text(text) => Some(text.as_str()),
        Scalar::Number(_) | Scalar::Bool(_) => None,
    };
    match data_type {
        DataType::Date32 => Ok(whole(text.and_then(time::date).ok_or(DATE)?.into())),
        DataType::Date64 => {
            let days = text.and_then(time::date).ok_or(DATE)?;
            Ok(whole(i128::from(days) * DAY_MS))
        }
        DataType::Timestamp(unit, zone) => instant(text, *unit, zone.is_some()),
        _ => Ok(number(value)?.units(scale(data_type))),
    }
}

/// The float nearest to a number, of a type of floats; infinite where the type has none that large.
pub(crate) fn float(number: &Number, data_type: &DataType) -> f64 {
    // All numbers of JSON are numbers of Rust.
    let text = number.text();
    match data_type {
        DataType::Float16 => {
            let near = text.parse().unwrap_or(f64::NAN);
            <Float16Type as ArrowPrimitiveType>::Native::from_f64(near).to_f64()
        }
        DataType::Float32 => text.parse::<f32>().unwrap_or(f32::NAN).into(),
        _ => text.parse().unwrap_or(f64::NAN),
    }
}

/// # Errors
/// What is expected instead.
pub(crate) fn number(value: &Scalar) -> Result<&Number, &'static str> {
    match value {
        Scalar::Number(number) => Ok(number),
        Scalar::Text(_) | Scalar::Bool(_) => Err("a number"),
    }
}

/// # Errors
/// What is expected instead.
pub(crate) fn text(value: &Scalar) -> Result<&str, &'static str> {
    match value {
        Scalar::Text(text) => Ok(text),
        Scalar::Number(_) | Scalar::Bool(_) => Err("a text"),
    }
}

/// Digits after the decimal point.
pub(crate) fn scale(data_type: &DataType) -> i8 {
    match data_type {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => *scale,
        _ => 0,
    }
}

/// A type that counts units.
pub(crate) trait Unit: Copy + Ord + 'static {
    const MIN: Self;
    const MAX: Self;

    /// None of a number beyond the type.
    fn from_units(units: i256) -> Option<Self>;
}

macro_rules! units_of {
    ($($native:ty),+) => {$(
        impl Unit for $native {
            const MIN: Self = Self::MIN;
            const MAX: Self = Self::MAX;

            fn from_units(units: i256) -> Option<Self> {
                units.to_i128()?.try_into().ok()
            }
        }
    )+};
}

units_of!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

impl Unit for i256 {
    const MIN: Self = Self::MIN;
    const MAX: Self = Self::MAX;

    fn from_units(units: i256) -> Option<Self> {
        Some(units)
    }
}

/// Evaluates `$body` with `$arrow` as the column's type, one that is counted.
macro_rules! for_counted {
    ($data_type:expr, $arrow:ident => $body:expr) => {
        $crate::values::for_counted!(@ $data_type, $arrow => $body,
            Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, Int64 => Int64Type,
            UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type,
            Date32 => Date32Type, Date64 => Date64Type,
            Timestamp(::arrow_schema::TimeUnit::Second, _) => TimestampSecondType,
            Timestamp(::arrow_schema::TimeUnit::Millisecond, _) => TimestampMillisecondType,
            Timestamp(::arrow_schema::TimeUnit::Microsecond, _) => TimestampMicrosecondType,
            Timestamp(::arrow_schema::TimeUnit::Nanosecond, _) => TimestampNanosecondType,
            Decimal32(..) => Decimal32Type, Decimal64(..) => Decimal64Type,
            Decimal128(..) => Decimal128Type, Decimal256(..) => Decimal256Type)
    };
    (@ $data_type:expr, $arrow:ident => $body:expr, $($variant:ident $(($($field:pat),+))? => $type:ident),+) => {
        match $data_type {
            $(::arrow_schema::DataType::$variant $(($($field),+))? => {
                type $arrow = ::arrow_array::types::$type;
                $body
            })+
            other => unreachable!("{other} is not counted"),
        }
    };
}
pub(crate) use for_counted;

/// Judges a column of floats of any width.
pub(crate) fn float_hits(column: &dyn Array, hit: impl Fn(f64) -> bool) -> BooleanArray {
    match column.data_type() {
        DataType::Float16 => {
            BooleanArray::from_unary(column.as_primitive::<Float16Type>(), |value| {
                hit(value.to_f64())
            })
        }
        DataType::Float32 => BooleanArray::from_unary(
            column.as_primitive::<Float32Type>(),
            |value| hit(value.into()),
        ),
        _ => BooleanArray::from_unary(column.as_primitive::<Float64Type>(), hit),
    }
}

/// Visits all values of a column of floats of any width, those under NULLs included.
pub(crate) fn float_values(column: &dyn Array, mut visit: impl FnMut(f64)) {
    match column.data_type() {
        DataType::Float16 => {
            column
                .as_primitive::<Float16Type>()
                .values()
                .iter()
                .for_each(|value| visit(value.to_f64()));
        }
        DataType::Float32 => {
            column
                .as_primitive::<Float32Type>()
                .values()
                .iter()
                .for_each(|value| visit((*value).into()));
        }
        _ => column.as_primitive::<Float64Type>().values().iter().for_each(|value| visit(*value)),
    }
}

/// Judges a column of texts with offsets of any width.
pub(crate) fn text_hits(column: &dyn Array, hit: impl Fn(&str) -> bool) -> BooleanArray {
    match column.data_type() {
        DataType::LargeUtf8 => BooleanArray::from_unary(column.as_string::<i64>(), hit),
        _ => BooleanArray::from_unary(column.as_string::<i32>(), hit),
    }
}

fn whole(units: i128) -> Units {
    Units { floor: i256::from_i128(units), is_exact: true }
}

fn instant(text: Option<&str>, unit: TimeUnit, has_zone: bool) -> Result<Units, &'static str> {
    let instant =
        text.and_then(time::timestamp).ok_or("a timestamp such as \"2024-01-31T10:30:00\"")?;
    if instant.zone == Zone::Written && !has_zone {
        return Err("a timestamp without a zone, as the column has none");
    }
    let unit_ns = unit_ns(unit);
    let floor = i256::from_i128(instant.ns.div_euclid(unit_ns));
    Ok(Units { floor, is_exact: instant.ns.rem_euclid(unit_ns) == 0 })
}

/// Nanoseconds of a timestamp's unit.
pub(crate) fn unit_ns(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => SECOND_NS,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// Nanoseconds of the unit in which a date or a timestamp is counted.
pub(crate) fn time_unit_ns(data_type: &DataType) -> Option<i128> {
    match data_type {
        DataType::Date32 => Some(DAY_NS),
        DataType::Date64 => Some(unit_ns(TimeUnit::Millisecond)),
        DataType::Timestamp(unit, _) => Some(unit_ns(*unit)),
        _ => None,
    }
}
