//! Plain arrays: no dictionaries, views or run-ends, and one spelling of text, bytes and lists. Readers and writers
//! normalise at their border, so that no stage between has to know the others.

use std::sync::Arc;

use arrow::array::Array;
use arrow::array::ArrayRef;
use arrow::array::AsArray;
use arrow::compute::CastOptions;
use arrow::compute::cast_with_options;
use arrow::compute::kernels::cmp::not_distinct;
use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::util::display::array_value_to_string;

use super::text;
use super::text::Misfit;
use crate::spelling;

/// The type that plain arrays have for `data_type`. The values are the same.
#[must_use]
pub fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => plain_type(values),
        DataType::RunEndEncoded(_, values) => plain_type(values.data_type()),
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        DataType::BinaryView | DataType::LargeBinary => DataType::Binary,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => DataType::List(Arc::new(plain_field(item))),
        DataType::FixedSizeList(item, size) => {
            DataType::FixedSizeList(Arc::new(plain_field(item)), *size)
        }
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| plain_field(field)).collect())
        }
        DataType::Map(entries, sorted) => DataType::Map(Arc::new(plain_field(entries)), *sorted),
        other => other.clone(),
    }
}

/// The field with a plain type, and without metadata of its file.
#[must_use]
pub fn plain_field(field: &Field) -> Field {
    Field::new(field.name(), plain_type(field.data_type()), field.is_nullable())
}

/// The schema with plain types, and without metadata of its file.
#[must_use]
pub fn plain_schema(schema: &Schema) -> SchemaRef {
    Arc::new(Schema::new(
        schema.fields().iter().map(|field| plain_field(field)).collect::<Vec<_>>(),
    ))
}

/// The column as `to`, every value whole: what would be rounded, cut or overflow is an error. NULL stays NULL.
///
/// # Errors
/// The first value that does not fit, or index 0 where no cast exists.
pub fn cast_exact(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, Misfit> {
    if column.data_type() == to {
        return Ok(Arc::clone(column));
    }
    let from = column.data_type();
    if *from == DataType::Utf8 && !to.is_nested() {
        return text::parse(column.as_string::<i32>(), to);
    }
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let no_cast = |error: ArrowError| Misfit { index: 0, what: error.to_string() };
    let cast = cast_with_options(column, to, &strict);
    if *to == DataType::Utf8 || plain_type(from) == *to {
        return cast.map_err(no_cast);
    }
    let cast = match cast {
        Ok(cast) => cast,
        Err(error) => {
            let lenient = cast_with_options(
                column,
                to,
                &CastOptions { safe: true, ..CastOptions::default() },
            );
            let lost = |lenient: ArrayRef| {
                (0..column.len()).find(|i| column.is_valid(*i) && lenient.is_null(*i))
            };
            return Err(match lenient.ok().and_then(lost) {
                Some(index) => misfit(column, index, to),
                None => no_cast(error),
            });
        }
    };
    // Casts of numbers and times cut without a word; what comes back the same was whole.
    let back =
        cast_with_options(&cast, from, &CastOptions { safe: true, ..CastOptions::default() })
            .map_err(no_cast)?;
    if from.is_nested() {
        let lost =
            |index: &usize| column.slice(*index, 1).as_ref() != back.slice(*index, 1).as_ref();
        let lost =
            if column.as_ref() == back.as_ref() { None } else { (0..column.len()).find(lost) };
        return lost.map_or(Ok(cast), |index| Err(misfit(column, index, to)));
    }
    let same = not_distinct(column, &back).map_err(no_cast)?;
    match same.values().iter().position(|same| !same) {
        Some(index) => Err(misfit(column, index, to)),
        None => Ok(cast),
    }
}

fn misfit(column: &ArrayRef, index: usize, to: &DataType) -> Misfit {
    let value = array_value_to_string(column, index).unwrap_or_default();
    Misfit { index, what: format!("{} is not {}", text::shown(&value), spelling::spelt(to)) }
}
