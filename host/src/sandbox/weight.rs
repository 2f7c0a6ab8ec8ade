//! The bytes of single rows, so that rows can be weighed before they are repeated.

use arrow::array::Array;
use arrow::array::AsArray as _;
use arrow::array::OffsetSizeTrait;
use arrow::array::RecordBatch;
use arrow::datatypes::DataType;

/// What each row of the batch takes, in bytes; columns at `positions` alone count.
pub(super) fn rows(batch: &RecordBatch, positions: impl Iterator<Item = usize>) -> Vec<u64> {
    let mut weights = vec![0; batch.num_rows()];
    for position in positions {
        add(&mut weights, &column(batch.column(position)));
    }
    weights
}

fn column(array: &dyn Array) -> Vec<u64> {
    let rows = array.len();
    match array.data_type() {
        DataType::Utf8 => texts(array.as_string::<i32>().value_offsets()),
        DataType::LargeUtf8 => texts(array.as_string::<i64>().value_offsets()),
        DataType::Binary => texts(array.as_binary::<i32>().value_offsets()),
        DataType::LargeBinary => texts(array.as_binary::<i64>().value_offsets()),
        DataType::List(_) => {
            lists(array.as_list::<i32>().value_offsets(), array.as_list::<i32>().values())
        }
        DataType::LargeList(_) => {
            lists(array.as_list::<i64>().value_offsets(), array.as_list::<i64>().values())
        }
        DataType::Map(..) => lists(array.as_map().value_offsets(), array.as_map().entries()),
        DataType::Struct(_) => {
            let mut weights = vec![1; rows];
            array.as_struct().columns().iter().for_each(|child| add(&mut weights, &column(child)));
            weights
        }
        DataType::FixedSizeList(_, length) => {
            let length = usize::try_from(*length).unwrap_or(0);
            let items = column(array.as_fixed_size_list().values());
            (0..rows)
                .map(|row| items.iter().skip(row * length).take(length).sum::<u64>() + 1)
                .collect()
        }
        DataType::FixedSizeBinary(width) => vec![u64::from(width.unsigned_abs()) + 1; rows],
        other => vec![other.primitive_width().unwrap_or(1) as u64 + 1; rows],
    }
}

fn texts<O: OffsetSizeTrait>(offsets: &[O]) -> Vec<u64> {
    let entry = size_of::<O>() as u64;
    offsets
        .windows(2)
        .map(|pair| (pair[1].as_usize() - pair[0].as_usize()) as u64 + entry)
        .collect()
}

fn lists<O: OffsetSizeTrait>(offsets: &[O], items: &dyn Array) -> Vec<u64> {
    // Sums up to each item, so that a row's items are one subtraction.
    let mut sums = vec![0; items.len() + 1];
    for (at, weight) in column(items).into_iter().enumerate() {
        sums[at + 1] = sums[at] + weight;
    }
    let entry = size_of::<O>() as u64;
    offsets
        .windows(2)
        .map(|pair| sums[pair[1].as_usize()] - sums[pair[0].as_usize()] + entry)
        .collect()
}

fn add(weights: &mut [u64], more: &[u64]) {
    weights.iter_mut().zip(more).for_each(|(weight, more)| *weight += more);
}
