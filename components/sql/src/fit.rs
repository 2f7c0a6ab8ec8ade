//! The step `cast`: a value gets its new type only if it fits, whole. What a plain cast would cut off does not fit.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float32Array, Float64Array, Scalar};
use arrow::compute::kernels::cmp::distinct;
use arrow::compute::kernels::numeric::add;
use arrow::compute::{
    CastOptions, and, can_cast_types, cast_with_options, is_not_null, is_null, not, nullif, or,
};
use arrow::datatypes::{DataType, Float64Type};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use wasmhost_guest::log;

/// The longest part of a value that a message shows, in characters.
const SHOWN_MAX: usize = 60;

/// What becomes of a value that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Misfit {
    /// An error.
    Error,
    /// NULL.
    Null,
    /// NULL, and counted.
    Counted,
}

thread_local! {
    /// How many values of a column did not fit. An instance has one thread and lives for one run of steps.
    static MISFITS: RefCell<BTreeMap<String, usize>> = const { RefCell::new(BTreeMap::new()) };
}

/// Tells how many values became NULL so far, once.
pub(crate) fn log_misfits() {
    for (column, count) in MISFITS.take() {
        log::info(&format!(
            "cast: {count} values of column `{column}` did not fit and became NULL"
        ));
    }
}

/// A cast of a column to `to` as a function of its value.
pub(crate) fn function(column: &str, to: DataType, misfit: Misfit) -> ScalarUDF {
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::from(Fit { column: column.to_owned(), to, misfit, signature })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Fit {
    /// For messages.
    column: String,
    to: DataType,
    misfit: Misfit,
    signature: Signature,
}

impl ScalarUDFImpl for Fit {
    fn name(&self) -> &str {
        match self.misfit {
            Misfit::Error => "fit",
            Misfit::Null => "try_fit",
            Misfit::Counted => "count_misfits",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            [from] if can_cast_types(from, &self.to) => Ok(self.to.clone()),
            [from] => plan_err!("a value of type {from} cannot become {}", self.to),
            _ => plan_err!("`{}` takes one value", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else {
            return exec_err!("`{}` takes one value", self.name());
        };
        let values = value.to_array(args.number_rows)?;
        let (done, misfits) = fitted(&values, &self.to)?;
        let first = misfits.values().set_indices().next();
        let done = match (self.misfit, first) {
            (_, None) => done,
            (Misfit::Null, Some(_)) => nullif(&done, &misfits)?,
            (Misfit::Counted, Some(_)) => {
                let count = misfits.true_count();
                MISFITS
                    .with_borrow_mut(|all| *all.entry(self.column.clone()).or_default() += count);
                nullif(&done, &misfits)?
            }
            (Misfit::Error, Some(row)) => {
                return exec_err!(
                    "column `{}`: {} is no {}",
                    self.column,
                    shown(&values, row),
                    self.to
                );
            }
        };
        Ok(ColumnarValue::Array(done))
    }
}

/// The values in their new type, and which of them do not fit.
fn fitted(values: &ArrayRef, to: &DataType) -> Result<(ArrayRef, BooleanArray), ArrowError> {
    let safe = CastOptions { safe: true, format_options: FormatOptions::default() };
    let done = cast_with_options(values, to, &safe)?;
    let mut misfits = and(&is_not_null(values)?, &is_null(&done)?)?;
    let from = values.data_type();
    let cut_off = if may_cut_off(from, to) {
        distinct(&one_zero(&cast_with_options(&done, from, &safe)?)?, &one_zero(values)?)?
    } else if is_text(from) && is_decimal(to) {
        // More digits than any text of a number that fits has.
        let wide = DataType::Decimal256(76, 38);
        distinct(
            &cast_with_options(&done, &wide, &safe)?,
            &cast_with_options(values, &wide, &safe)?,
        )?
    } else if from.is_floating() && to.is_floating() {
        and(&is_infinite(&done)?, &not(&is_infinite(values)?)?)?
    } else {
        return Ok((done, misfits));
    };
    misfits = or(&misfits, &and(&cut_off, &is_not_null(&done)?)?)?;
    Ok((done, misfits))
}

/// Whether a cast gives another number without a word.
fn may_cut_off(from: &DataType, to: &DataType) -> bool {
    let is_exact = to.is_integer() || is_decimal(to);
    (from.is_floating() && is_exact)
        || (is_decimal(from) && is_exact)
        || (from.is_integer() && to.is_floating())
}

fn is_decimal(of: &DataType) -> bool {
    matches!(of, DataType::Decimal128(..) | DataType::Decimal256(..))
}

fn is_text(of: &DataType) -> bool {
    matches!(of, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Floats with one zero: -0.0 fits where 0 does.
fn one_zero(values: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match values.data_type() {
        DataType::Float64 => add(values, &Float64Array::new_scalar(0.0)),
        DataType::Float32 => add(values, &Float32Array::new_scalar(0.0)),
        _ => Ok(Arc::clone(values)),
    }
}

fn is_infinite(values: &ArrayRef) -> Result<BooleanArray, ArrowError> {
    let wide = arrow::compute::cast(values, &DataType::Float64)?;
    let wide = wide.as_primitive::<Float64Type>();
    Ok(BooleanArray::from_unary(wide, f64::is_infinite))
}

fn shown(values: &ArrayRef, row: usize) -> String {
    let one: ArrayRef = Arc::clone(&Scalar::new(values.slice(row, 1)).into_inner());
    let text = ArrayFormatter::try_new(&one, &FormatOptions::default())
        .map(|formatter| formatter.value(0).to_string())
        .unwrap_or_default();
    let mut shown: String = text.chars().take(SHOWN_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("`{shown}`")
}
