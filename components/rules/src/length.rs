//! `length`: characters of texts, bytes of binaries, items of lists.

use crate::column::{Column, Kernel, Mistake};
use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, OffsetSizeTrait};
use arrow_buffer::{BooleanBuffer, OffsetBuffer};
use arrow_schema::DataType;
use std::ops::RangeInclusive;

/// # Errors
/// A type without a length, no bound, bounds that leave nothing.
pub(crate) fn kernel(
    column: Column<'_>,
    min: Option<u64>,
    max: Option<u64>,
) -> Result<Kernel, Vec<Mistake>> {
    let mut mistakes = Vec::new();
    let measure: fn(&dyn Array, &Lengths) -> BooleanBuffer = match column.data_type {
        DataType::Utf8 => |column, lengths| characters::<i32>(column, lengths),
        DataType::LargeUtf8 => |column, lengths| characters::<i64>(column, lengths),
        DataType::Binary => {
            |column, lengths| by_offsets(column.as_binary::<i32>().offsets(), lengths)
        }
        DataType::LargeBinary => {
            |column, lengths| by_offsets(column.as_binary::<i64>().offsets(), lengths)
        }
        DataType::List(_) => {
            |column, lengths| by_offsets(column.as_list::<i32>().offsets(), lengths)
        }
        DataType::LargeList(_) => {
            |column, lengths| by_offsets(column.as_list::<i64>().offsets(), lengths)
        }
        DataType::FixedSizeBinary(_) | DataType::FixedSizeList(..) => fixed,
        _ => {
            mistakes.push(column.refuse("length", "text, binary and lists"));
            fixed
        }
    };
    let lengths = min.unwrap_or(0)..=max.unwrap_or(u64::MAX);
    if min.is_none() && max.is_none() {
        mistakes.push(Mistake::new("bounds", "/check", "give `min`, `max` or both"));
    } else if lengths.is_empty() {
        let message =
            format!("no length is at least {} and at most {}", lengths.start(), lengths.end());
        mistakes.push(Mistake::new("bounds", "/check", message));
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    Ok(Kernel::new(move |column| {
        BooleanArray::new(measure(column, &lengths), column.logical_nulls())
    }))
}

/// Lengths that pass.
type Lengths = RangeInclusive<u64>;

fn by_offsets<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>, lengths: &Lengths) -> BooleanBuffer {
    // Lengths one by one would be bounds checks in pairs.
    let long = |row: usize| (offsets[row + 1] - offsets[row]).as_usize() as u64;
    BooleanBuffer::collect_bool(offsets.len() - 1, |row| !lengths.contains(&long(row)))
}

fn characters<O: OffsetSizeTrait>(column: &dyn Array, lengths: &Lengths) -> BooleanBuffer {
    let texts = column.as_string::<O>();
    // In ASCII a character is a byte, and offsets say all.
    if texts.is_ascii() {
        return by_offsets(texts.offsets(), lengths);
    }
    BooleanArray::from_unary(texts, |text| !lengths.contains(&(text.chars().count() as u64)))
        .values()
        .clone()
}

/// All are equally long, or the column was refused.
fn fixed(column: &dyn Array, lengths: &Lengths) -> BooleanBuffer {
    let length = match column.data_type() {
        DataType::FixedSizeBinary(length) | DataType::FixedSizeList(_, length) => *length as u64,
        _ => 0,
    };
    match lengths.contains(&length) {
        true => BooleanBuffer::new_unset(column.len()),
        false => BooleanBuffer::new_set(column.len()),
    }
}
