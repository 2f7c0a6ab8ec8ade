//! Text that is joined or replaced: what may grow, within a limit that is asked before anything is made.

use std::sync::Arc;

use arrow::array::Array;
use arrow::array::AsArray;
use arrow::array::StringArray;
use arrow::array::StringBuilder;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion_common::DataFusionError;
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;

use super::RESULT_BYTES_MAX;

/// Refuses a result that is too large.
pub(super) fn limit(bytes: usize) -> Result<()> {
    within(bytes, RESULT_BYTES_MAX)
}

fn within(bytes: usize, bytes_max: usize) -> Result<()> {
    if bytes <= bytes_max {
        return Ok(());
    }
    let what = format!("the result is {bytes} bytes long, and at most {bytes_max} are made");
    Err(DataFusionError::ResourcesExhausted(what))
}

/// One text a row, or one for all rows.
pub(super) struct Texts {
    values: StringArray,
    one: bool,
    bytes: usize,
}

impl Texts {
    pub(super) fn new(value: &ColumnarValue, rows: usize) -> Result<Self> {
        let (values, one) = match value {
            ColumnarValue::Array(array) => (Arc::clone(array), false),
            ColumnarValue::Scalar(scalar) => (scalar.to_array()?, true),
        };
        let values = cast(&values, &DataType::Utf8)?.as_string::<i32>().clone();
        let offsets = values.value_offsets();
        let bytes = match (offsets.first(), offsets.last()) {
            (Some(first), Some(last)) => usize::try_from(last - first).unwrap_or(0),
            _ => 0,
        };
        let bytes = if one { bytes.saturating_mul(rows) } else { bytes };
        Ok(Self { values, one, bytes })
    }

    fn get(&self, row: usize) -> Option<&str> {
        let row = if self.one { 0 } else { row };
        self.values.is_valid(row).then(|| self.values.value(row))
    }
}

/// What NULL does to a text that it is joined to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nulls {
    Spread,
    Skip,
}

/// The texts of each row, one after the other.
pub(super) fn join(
    args: &[ColumnarValue],
    rows: usize,
    bytes_max: usize,
    nulls: Nulls,
) -> Result<StringArray> {
    let mut texts = Vec::with_capacity(args.len());
    let mut bytes = 0_usize;
    for arg in args {
        let text = Texts::new(arg, rows)?;
        bytes = bytes.saturating_add(text.bytes);
        within(bytes, bytes_max)?;
        texts.push(text);
    }
    let mut joined = StringBuilder::with_capacity(rows, bytes);
    let mut value = String::new();
    for row in 0..rows {
        value.clear();
        let mut null = false;
        for text in &texts {
            match text.get(row) {
                Some(text) => value.push_str(text),
                None => null |= nulls == Nulls::Spread,
            }
        }
        joined.append_option((!null).then_some(&value));
    }
    Ok(joined.finish())
}

/// Each `from` in a text as `to`.
pub(super) fn replace(
    text: &Texts,
    from: &Texts,
    to: &Texts,
    rows: usize,
    bytes_max: usize,
) -> Result<StringArray> {
    let mut replaced = StringBuilder::with_capacity(rows, 0);
    let mut bytes = 0_usize;
    for row in 0..rows {
        let (Some(text), Some(from), Some(to)) = (text.get(row), from.get(row), to.get(row)) else {
            replaced.append_null();
            continue;
        };
        let grows = to.len().saturating_sub(from.len());
        let places = if from.is_empty() || grows == 0 { 0 } else { text.matches(from).count() };
        bytes = bytes.saturating_add(text.len()).saturating_add(places.saturating_mul(grows));
        within(bytes, bytes_max)?;
        if from.is_empty() {
            replaced.append_value(text);
        } else {
            replaced.append_value(text.replace(from, to));
        }
    }
    Ok(replaced.finish())
}
