//! Rules and transforms that are one function of one row: the types that it may take and give.

use crate::failure::Failure;
use crate::inputs::Accept;
use arrow_array::types::{Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::types::{UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, RecordBatch, StringArray,
};
use arrow_schema::DataType;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// The configuration of a component that has no settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoConfig {}

/// A column of a batch by its name, as the array type that the layout asked for.
///
/// # Errors
/// `internal` where the column was not wanted, or as another type.
pub fn column<'a, A: Array + 'static>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a A, Failure> {
    let Some(column) = batch.column_by_name(name) else {
        return Err(Failure::internal(
            "column",
            format!("the batch has no column `{name}`; was it wanted?"),
        ));
    };
    column.as_any().downcast_ref().ok_or_else(|| {
        let message =
            format!("column `{name}` is of type {}, and used as another", column.data_type());
        Failure::internal("column", message)
    })
}

/// A Rust type that a function may take for a column's value. `Option` of it takes NULL as well.
pub trait Value<'a>: Sized {
    /// The array that such values are in.
    type Column: Copy;

    /// The column types that fit.
    fn accept() -> Accept;

    /// # Errors
    /// As [`column()`].
    fn column(batch: &'a RecordBatch, name: &str) -> Result<Self::Column, Failure>;

    /// Whether the row's value is NULL.
    fn is_null(column: Self::Column, row: usize) -> bool;

    /// The row's value; none where it is NULL and this type cannot say so.
    fn get(column: Self::Column, row: usize) -> Option<Self>;
}

macro_rules! values {
    ($lifetime:lifetime: $($value:ty, $array:ty, $data_type:expr;)+) => {$(
        impl<$lifetime> Value<$lifetime> for $value {
            type Column = &$lifetime $array;

            fn accept() -> Accept {
                $data_type.into()
            }

            fn column(batch: &$lifetime RecordBatch, name: &str) -> Result<Self::Column, Failure> {
                column(batch, name)
            }

            fn is_null(column: Self::Column, row: usize) -> bool {
                column.is_null(row)
            }

            fn get(column: Self::Column, row: usize) -> Option<Self> {
                column.is_valid(row).then(|| column.value(row))
            }
        }
    )+};
}

values! {
    'a:
    bool, BooleanArray, DataType::Boolean;
    i8, PrimitiveArray<Int8Type>, DataType::Int8;
    i16, PrimitiveArray<Int16Type>, DataType::Int16;
    i32, PrimitiveArray<Int32Type>, DataType::Int32;
    i64, PrimitiveArray<Int64Type>, DataType::Int64;
    u8, PrimitiveArray<UInt8Type>, DataType::UInt8;
    u16, PrimitiveArray<UInt16Type>, DataType::UInt16;
    u32, PrimitiveArray<UInt32Type>, DataType::UInt32;
    u64, PrimitiveArray<UInt64Type>, DataType::UInt64;
    f32, PrimitiveArray<Float32Type>, DataType::Float32;
    f64, PrimitiveArray<Float64Type>, DataType::Float64;
    &'a str, StringArray, DataType::Utf8;
}

impl<'a, V: Value<'a>> Value<'a> for Option<V> {
    type Column = V::Column;

    fn accept() -> Accept {
        V::accept()
    }

    fn column(batch: &'a RecordBatch, name: &str) -> Result<Self::Column, Failure> {
        V::column(batch, name)
    }

    fn is_null(column: Self::Column, row: usize) -> bool {
        V::is_null(column, row)
    }

    fn get(column: Self::Column, row: usize) -> Option<Self> {
        Some(V::get(column, row))
    }
}

/// A Rust type that a function may compute a column of.
pub trait Computed: Sized {
    /// The column's type.
    const DATA_TYPE: DataType;

    /// The column.
    fn array(values: impl Iterator<Item = Option<Self>>) -> ArrayRef;
}

macro_rules! computed {
    ($($value:ty, $arrow:ty;)+) => {$(
        impl Computed for $value {
            const DATA_TYPE: DataType = <$arrow>::DATA_TYPE;

            fn array(values: impl Iterator<Item = Option<Self>>) -> ArrayRef {
                Arc::new(values.collect::<PrimitiveArray<$arrow>>())
            }
        }
    )+};
}

computed! {
    i8, Int8Type;
    i16, Int16Type;
    i32, Int32Type;
    i64, Int64Type;
    u8, UInt8Type;
    u16, UInt16Type;
    u32, UInt32Type;
    u64, UInt64Type;
    f32, Float32Type;
    f64, Float64Type;
}

impl Computed for bool {
    const DATA_TYPE: DataType = DataType::Boolean;

    fn array(values: impl Iterator<Item = Option<Self>>) -> ArrayRef {
        Arc::new(values.collect::<BooleanArray>())
    }
}

impl Computed for String {
    const DATA_TYPE: DataType = DataType::Utf8;

    fn array(values: impl Iterator<Item = Option<Self>>) -> ArrayRef {
        Arc::new(values.collect::<StringArray>())
    }
}
