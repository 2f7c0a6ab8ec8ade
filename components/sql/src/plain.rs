//! Types that leave the sandbox: plain layouts only.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef};
use arrow::error::ArrowError;

/// The type without dictionaries, views and run-ends, however deep.
pub(crate) fn plain(of: &DataType) -> DataType {
    let inner = |field: &FieldRef| -> FieldRef {
        Arc::new(field.as_ref().clone().with_data_type(plain(field.data_type())))
    };
    match of {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => plain(values),
        DataType::RunEndEncoded(_, values) => plain(values.data_type()),
        DataType::List(item) | DataType::ListView(item) => DataType::List(inner(item)),
        DataType::LargeList(item) | DataType::LargeListView(item) => {
            DataType::LargeList(inner(item))
        }
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(inner(item), *size),
        DataType::Map(entries, sorted) => DataType::Map(inner(entries), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        other => other.clone(),
    }
}

/// A column that a step computes. It may be NULL, whatever the engine derives of its inputs.
pub(crate) fn field(name: &str, of: &DataType) -> Field {
    Field::new(name, plain(of), true)
}

/// The values in their plain type. Nothing but the layout changes.
///
/// # Errors
/// Values of another type: a cast would change them.
pub(crate) fn unpacked(values: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    match values.data_type() {
        of if of == to => Ok(Arc::clone(values)),
        of if plain(of).equals_datatype(to) => cast(values, to),
        of => {
            let what = format!("the engine made {of}, where {to} was agreed");
            Err(ArrowError::InvalidArgumentError(what))
        }
    }
}
