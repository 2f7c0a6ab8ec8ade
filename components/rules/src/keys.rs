//! Tuples of values as bytes.
//!
//! Two tuples are equal where their bytes are, whatever widths the two inputs store: whole numbers are widened, zeros lose
//! their sign, NaNs their payload. No tuple's bytes start with those of another one in the same formats.

use crate::values::{float_values, for_counted, scale};
use arrow_array::cast::AsArray;
use arrow_array::{Array, OffsetSizeTrait};
use arrow_buffer::{OffsetBuffer, i256};
use arrow_schema::DataType;

/// How values of a column become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// 8 bytes: whole numbers, dates, timestamps.
    Word,
    /// 16 bytes: decimals, and whole numbers where unsigned ones of 64 bits meet signed ones.
    Double,
    /// 32 bytes: the largest decimals.
    Quadruple,
    /// 8 bytes, with one zero and one NaN.
    Float,
    Bool,
    /// The bytes themselves, so many of them.
    Fixed(usize),
    /// A length and the bytes: texts and binaries.
    Bytes,
}

impl Format {
    /// None of a type that has no keys.
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Boolean => Some(Self::Bool),
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Some(Self::Float),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => {
                Some(Self::Bytes)
            }
            DataType::FixedSizeBinary(bytes) => Some(Self::Fixed(*bytes as usize)),
            DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => Some(Self::Word),
            DataType::Decimal256(..) => Some(Self::Quadruple),
            _ if data_type.is_decimal() => Some(Self::Double),
            _ if data_type.is_integer() => Some(Self::Word),
            _ => None,
        }
    }

    /// In which values of both types can be compared: equal types, but for widths and precisions, and for the name of a
    /// zone, which does not change an instant. None where they cannot.
    pub(crate) fn common(one: &DataType, other: &DataType) -> Option<Self> {
        use DataType::{Binary, LargeBinary, LargeUtf8, Timestamp, UInt64, Utf8};
        let is_text = |data_type: &DataType| matches!(data_type, Utf8 | LargeUtf8);
        let is_binary = |data_type: &DataType| matches!(data_type, Binary | LargeBinary);
        let meet = |unsigned: &DataType, signed: &DataType| {
            *unsigned == UInt64 && signed.is_signed_integer()
        };
        let (first, second) = (Self::of(one)?, Self::of(other)?);
        match (one, other) {
            _ if meet(one, other) || meet(other, one) => Some(Self::Double),
            _ if one.is_integer() && other.is_integer() => Some(first),
            _ if one.is_decimal() && other.is_decimal() => {
                let widest = if second == Self::Quadruple { second } else { first };
                (scale(one) == scale(other)).then_some(widest)
            }
            (Timestamp(unit, zone), Timestamp(other_unit, other_zone)) => {
                (unit == other_unit && zone.is_some() == other_zone.is_some()).then_some(first)
            }
            _ if is_text(one) && is_text(other) => Some(first),
            _ if is_binary(one) && is_binary(other) => Some(first),
            _ => (one == other).then_some(first),
        }
    }
}

/// A column of a batch, ready to be written into keys.
pub(crate) enum Part<'a> {
    /// All rows' bytes, so many a row.
    Fixed(Vec<u8>, usize),
    Small(&'a OffsetBuffer<i32>, &'a [u8]),
    Large(&'a OffsetBuffer<i64>, &'a [u8]),
}

impl<'a> Part<'a> {
    pub(crate) fn new(column: &'a dyn Array, format: Format) -> Self {
        match (format, column.data_type()) {
            (Format::Bytes, DataType::Utf8) => {
                let texts = column.as_string::<i32>();
                Self::Small(texts.offsets(), texts.value_data())
            }
            (Format::Bytes, DataType::LargeUtf8) => {
                let texts = column.as_string::<i64>();
                Self::Large(texts.offsets(), texts.value_data())
            }
            (Format::Bytes, DataType::LargeBinary) => {
                let binaries = column.as_binary::<i64>();
                Self::Large(binaries.offsets(), binaries.value_data())
            }
            (Format::Bytes, _) => {
                let binaries = column.as_binary::<i32>();
                Self::Small(binaries.offsets(), binaries.value_data())
            }
            (Format::Fixed(width), _) => {
                let binaries = column.as_fixed_size_binary();
                let bytes = (0..binaries.len()).flat_map(|row| binaries.value(row)).copied();
                Self::Fixed(bytes.collect(), width)
            }
            (Format::Bool, _) => {
                let bits = column.as_boolean().values();
                Self::Fixed(bits.iter().map(u8::from).collect(), 1)
            }
            (Format::Float, _) => Self::Fixed(floats(column), 8),
            (Format::Word, data_type) => Self::Fixed(
                for_counted!(data_type, T => rows(column.as_primitive::<T>().values(), Whole::word)),
                8,
            ),
            (Format::Double, data_type) => Self::Fixed(
                for_counted!(data_type, T => rows(column.as_primitive::<T>().values(), Whole::double)),
                16,
            ),
            (Format::Quadruple, data_type) => Self::Fixed(
                for_counted!(data_type, T => rows(column.as_primitive::<T>().values(), Whole::quadruple)),
                32,
            ),
        }
    }

    /// Adds the row's bytes to a key.
    pub(crate) fn write(&self, row: usize, key: &mut Vec<u8>) {
        match self {
            Self::Fixed(bytes, width) => key.extend_from_slice(&bytes[row * width..][..*width]),
            Self::Small(offsets, bytes) => write_bytes(offsets, bytes, row, key),
            Self::Large(offsets, bytes) => write_bytes(offsets, bytes, row, key),
        }
    }
}

/// Floats of any width, as bytes that are equal where the floats are.
fn floats(column: &dyn Array) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(column.len() * 8);
    float_values(column, |value| {
        let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
        bytes.extend_from_slice(&value.to_bits().to_le_bytes());
    });
    bytes
}

fn rows<V: Copy, const N: usize>(values: &[V], bytes: impl Fn(V) -> [u8; N]) -> Vec<u8> {
    let mut rows = Vec::with_capacity(values.len() * N);
    values.iter().for_each(|value| rows.extend_from_slice(&bytes(*value)));
    rows
}

/// A whole number of any width, widened; never narrowed, as a format is chosen for the wider of two types.
trait Whole {
    fn word(self) -> [u8; 8];
    fn double(self) -> [u8; 16];
    fn quadruple(self) -> [u8; 32];
}

macro_rules! whole {
    ($($native:ty),+) => {$(
        impl Whole for $native {
            fn word(self) -> [u8; 8] {
                (self as i64).to_le_bytes()
            }

            fn double(self) -> [u8; 16] {
                (self as i128).to_le_bytes()
            }

            fn quadruple(self) -> [u8; 32] {
                i256::from_i128(self as i128).to_le_bytes()
            }
        }
    )+};
}

whole!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

impl Whole for i256 {
    fn word(self) -> [u8; 8] {
        self.as_i128().word()
    }

    fn double(self) -> [u8; 16] {
        self.as_i128().double()
    }

    fn quadruple(self) -> [u8; 32] {
        self.to_le_bytes()
    }
}

fn write_bytes<O: OffsetSizeTrait>(
    offsets: &OffsetBuffer<O>,
    bytes: &[u8],
    row: usize,
    key: &mut Vec<u8>,
) {
    let value = &bytes[offsets[row].as_usize()..offsets[row + 1].as_usize()];
    key.extend_from_slice(&(value.len() as u64).to_le_bytes());
    key.extend_from_slice(value);
}
