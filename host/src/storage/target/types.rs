//! Which type a column has in a format, and which types fit into which others whole.

use std::sync::Arc;

use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::FieldRef;
use arrow::datatypes::TimeUnit;

use crate::flow::WriteFormat;
use crate::storage::avro;
use crate::storage::csv;
use crate::storage::json;
use crate::storage::parquet;
use crate::storage::plain::plain_type;
use crate::storage::text::utc;

/// The type that a column gets in a new target of this format; why not, where it cannot be written.
pub(super) fn written(format: &WriteFormat, data_type: &DataType) -> Result<DataType, String> {
    let plain = plain_type(data_type);
    let unsupported = match format {
        WriteFormat::Delta(_) => return delta(&plain),
        WriteFormat::Parquet(_) | WriteFormat::View(_) => parquet::unsupported(&plain),
        WriteFormat::Csv(_) => csv::unsupported(&plain),
        WriteFormat::Jsonl(_) | WriteFormat::Json(_) => json::unsupported(&plain),
        WriteFormat::Arrow(_) => None,
        WriteFormat::Avro(_) => avro::unsupported(&plain),
    };
    unsupported.map_or(Ok(plain), |why| Err(why.to_owned()))
}

/// Delta has signed numbers only, and times in microseconds: UTC, or without a zone.
fn delta(data_type: &DataType) -> Result<DataType, String> {
    let no = |why: &str| Err(format!("Delta has no such type; {why}"));
    Ok(match data_type {
        DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Utf8
        | DataType::Binary
        | DataType::Date32 => data_type.clone(),
        DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 => DataType::Int64,
        DataType::UInt64 => DataType::Decimal128(20, 0),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
            if u8::try_from(*scale).is_ok_and(|scale| scale <= *precision) =>
        {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::Timestamp(_, Some(_)) => utc(),
        DataType::Timestamp(_, None) => DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Date64 => DataType::Date32,
        DataType::FixedSizeBinary(_) => DataType::Binary,
        DataType::List(item) | DataType::FixedSizeList(item, _) => {
            DataType::List(nested(item, "element")?)
        }
        DataType::Struct(fields) if fields.is_empty() => return no("an object needs fields"),
        DataType::Struct(fields) => {
            let fields = fields
                .iter()
                .map(|field| nested(field, field.name()))
                .collect::<Result<Vec<_>, _>>()?;
            DataType::Struct(fields.into())
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) if pair.len() == 2 => {
                let key = Arc::new(Field::new("key", delta(pair[0].data_type())?, false));
                let pair = DataType::Struct(vec![key, nested(&pair[1], "value")?].into());
                DataType::Map(Arc::new(Field::new("key_value", pair, false)), false)
            }
            _ => return no("a map needs a key and a value"),
        },
        DataType::Null => {
            return Err("it has no type: all its values are NULL; cast it to one".to_owned());
        }
        DataType::Float16 => return no("cast it to float32"),
        DataType::Time32(_) | DataType::Time64(_) => {
            return no("a time of day can be kept as text");
        }
        DataType::Duration(_) | DataType::Interval(_) => {
            return no("a span can be kept as a whole number of one unit");
        }
        _ => return no("cast it to a type that Delta has"),
    })
}

fn nested(field: &FieldRef, name: &str) -> Result<FieldRef, String> {
    Ok(Arc::new(Field::new(name, delta(field.data_type())?, field.is_nullable())))
}

/// Whether every value of `from` is a value of `to`.
pub(super) fn fits(from: &DataType, to: &DataType) -> bool {
    if same(from, to) {
        return true;
    }
    let digits = |data_type: &DataType| match data_type {
        DataType::Int8 | DataType::UInt8 => Some(3),
        DataType::Int16 | DataType::UInt16 => Some(5),
        DataType::Int32 | DataType::UInt32 => Some(10),
        DataType::Int64 => Some(19),
        DataType::UInt64 => Some(20),
        _ => None,
    };
    match (from, to) {
        (DataType::Null, _) => true,
        (from, DataType::Decimal128(precision, scale)) if from.is_integer() => {
            digits(from).is_some_and(|digits| i16::from(*precision) - i16::from(*scale) >= digits)
        }
        (DataType::Decimal128(p1, s1), DataType::Decimal128(p2, s2)) => {
            s2 >= s1 && i16::from(*p2) - i16::from(*s2) >= i16::from(*p1) - i16::from(*s1)
        }
        (DataType::Float16, DataType::Float32 | DataType::Float64)
        | (DataType::Float32, DataType::Float64) => true,
        // Whole numbers of up to 24 bits are exact in float32, of up to 53 in float64.
        (from, DataType::Float64) if from.is_integer() => {
            from.primitive_width().is_some_and(|bytes| bytes <= 4)
        }
        (from, DataType::Float32) if from.is_integer() => {
            from.primitive_width().is_some_and(|bytes| bytes <= 2)
        }
        (from, to) if from.is_integer() && to.is_integer() => match from.is_unsigned_integer()
            == to.is_unsigned_integer()
        {
            true => from.primitive_width() <= to.primitive_width(),
            false => from.is_unsigned_integer() && from.primitive_width() < to.primitive_width(),
        },
        _ => false,
    }
}

/// Whether two types are the same but for what lists call their items and for nullability within.
pub(super) fn same(a: &DataType, b: &DataType) -> bool {
    match (a, b) {
        (DataType::List(a), DataType::List(b)) => same(a.data_type(), b.data_type()),
        (DataType::FixedSizeList(a, n), DataType::FixedSizeList(b, m)) => {
            n == m && same(a.data_type(), b.data_type())
        }
        (DataType::Struct(a), DataType::Struct(b)) => {
            let mut pairs = a.iter().zip(b);
            a.len() == b.len()
                && pairs.all(|(a, b)| a.name() == b.name() && same(a.data_type(), b.data_type()))
        }
        (DataType::Map(a, _), DataType::Map(b, _)) => match (a.data_type(), b.data_type()) {
            (DataType::Struct(a), DataType::Struct(b)) => {
                a.iter().zip(b).all(|(a, b)| same(a.data_type(), b.data_type()))
            }
            _ => false,
        },
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_types_that_hold_every_value_take_it() {
        let decimal = DataType::Decimal128;
        for (from, to, right) in [
            (DataType::Int32, DataType::Int64, true),
            (DataType::Int64, DataType::Int32, false),
            (DataType::UInt32, DataType::Int64, true),
            (DataType::UInt32, DataType::Int32, false),
            (DataType::Int8, DataType::UInt64, false),
            (DataType::UInt64, decimal(20, 0), true),
            (DataType::Int64, decimal(20, 2), false),
            (DataType::Int64, decimal(21, 2), true),
            (DataType::Int64, DataType::Float64, false),
            (DataType::Int32, DataType::Float64, true),
            (DataType::Float64, DataType::Float32, false),
            (decimal(5, 2), decimal(6, 3), true),
            (decimal(5, 2), decimal(6, 4), false),
            (DataType::Utf8, DataType::Int64, false),
            (DataType::Int64, DataType::Utf8, false),
            (DataType::Date32, utc(), false),
        ] {
            assert_eq!(fits(&from, &to), right, "{from} into {to}");
        }
    }
}
