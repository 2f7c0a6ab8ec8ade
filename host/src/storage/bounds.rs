//! What is told of a column's values without reading them: in a Parquet footer of a row group, in a table's log of a file.

use arrow::array::Array;
use arrow::array::ArrayRef;
use arrow::array::new_null_array;
use arrow::datatypes::DataType;

use super::plain;

/// What is told of a column's values in some rows.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// No value is less than the first or greater than the second of these; NULL and NaN aside. Values need not be there themselves.
    pub bounds: Option<ArrayRef>,
    /// How many of the rows are NULL.
    pub nulls: Option<u64>,
    /// How many rows there are.
    pub rows: Option<u64>,
}

/// What that says of the values as another type, to which they are cast when they are read.
#[derive(Debug, Clone)]
pub enum Values {
    /// Nothing.
    Unknown,
    /// All of them are NULL: an array of one row.
    Null(ArrayRef),
    /// Two rows, between which all lie that are not NULL.
    Between {
        /// The least and the greatest.
        bounds: ArrayRef,
        /// Whether it is told that no row is NULL.
        is_whole: bool,
    },
}

impl Told {
    /// The values as `to`. Only casts that keep the order keep bounds: text that is read as numbers, or times as text, does not.
    #[must_use]
    pub fn values(&self, to: &DataType) -> Values {
        if self.rows.is_some() && self.nulls == self.rows {
            return Values::Null(new_null_array(to, 1));
        }
        let Some(bounds) = &self.bounds else { return Values::Unknown };
        let own = plain::plain_type(bounds.data_type());
        let keeps_order = own == *to || own.is_integer() && to.is_integer();
        if !keeps_order || !orders_as_bounds_do(to) {
            return Values::Unknown;
        }
        match plain::cast_exact(bounds, to) {
            Ok(bounds) if bounds.len() == 2 && bounds.null_count() == 0 => {
                Values::Between { bounds, is_whole: self.nulls == Some(0) }
            }
            _ => Values::Unknown,
        }
    }
}

/// Not floats, whose NaN is in no bounds; not flags, which rule out nothing; not bytes and nested values.
#[must_use]
pub fn orders_as_bounds_do(data_type: &DataType) -> bool {
    data_type.is_integer()
        || matches!(
            data_type,
            DataType::Date32
                | DataType::Timestamp(..)
                | DataType::Decimal128(..)
                | DataType::Utf8
                | DataType::LargeUtf8
                | DataType::Utf8View
        )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::Int32Array;
    use arrow::array::Int64Array;
    use arrow::array::StringArray;

    use super::*;

    #[test]
    fn bounds_are_kept_by_casts_that_keep_the_order_and_by_no_other() {
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![9, 10]));
        let wide: ArrayRef = Arc::new(Int64Array::from(vec![0, i64::MAX]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["10", "9"]));
        for (bounds, to, right) in [
            (&numbers, DataType::Int64, true),
            (&numbers, DataType::Utf8, false),
            (&numbers, DataType::Float64, false),
            (&texts, DataType::Utf8, true),
            (&texts, DataType::Int64, false),
            // A value in between would be an error when it is read.
            (&wide, DataType::Int32, false),
        ] {
            let told = Told { bounds: Some(Arc::clone(bounds)), nulls: Some(0), rows: Some(7) };
            let is_kept = matches!(told.values(&to), Values::Between { is_whole: true, .. });
            assert_eq!(is_kept, right, "{} as {to}", bounds.data_type());
        }
        let told = Told { bounds: None, nulls: Some(7), rows: Some(7) };
        assert!(matches!(told.values(&DataType::Float64), Values::Null(one) if one.len() == 1));
        assert!(matches!(Told::default().values(&DataType::Int64), Values::Unknown));
    }
}
