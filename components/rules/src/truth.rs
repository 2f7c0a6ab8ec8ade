//! `true`: booleans, such as the host computes from an expression of SQL.

use crate::column::{Column, Kernel, Mistake};
use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray};
use arrow_schema::DataType;

/// # Errors
/// A column of anything but booleans.
pub(crate) fn kernel(column: Column<'_>) -> Result<Kernel, Vec<Mistake>> {
    match column.data_type {
        DataType::Boolean => Ok(Kernel::new(|column| {
            let column = column.as_boolean();
            BooleanArray::new(!column.values(), column.nulls().cloned())
        })),
        _ => Err(vec![column.refuse("true", "booleans")]),
    }
}
