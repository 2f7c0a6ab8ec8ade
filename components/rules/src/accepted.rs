//! `accepted_values`: a list of what a column may hold.

use crate::column::{Column, Kernel, Mistake};
use crate::config::Scalar;
use crate::values::{self, Family, Unit, float_hits, for_counted, text_hits};
use arrow_array::cast::AsArray;
use arrow_array::{ArrowPrimitiveType, BooleanArray};
use arrow_buffer::i256;
use arrow_schema::DataType;
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use std::cmp::Ordering;

/// So few values are compared one after the other: there is no branch to mispredict, and nothing to hash.
const FEW: usize = 8;

/// # Errors
/// A type whose values cannot be listed, values of another type, an empty list.
pub(crate) fn kernel(column: Column<'_>, listed: &[Scalar]) -> Result<Kernel, Vec<Mistake>> {
    let Some(family) = Family::of(column.data_type) else {
        let takes = "text, numbers, booleans, dates and timestamps";
        return Err(vec![column.refuse("accepted_values", takes)]);
    };
    if listed.is_empty() {
        return Err(vec![Mistake::new("values", "/check/values", "give at least one value")]);
    }
    match family {
        Family::Bool => {
            let listed = all(column, listed, bool)?;
            let (hits_true, hits_false) = (!listed.contains(&true), !listed.contains(&false));
            Ok(Kernel::new(move |column| {
                let hit = |value| if value { hits_true } else { hits_false };
                BooleanArray::from_unary(column.as_boolean(), hit)
            }))
        }
        Family::Text => {
            let texts = all(column, listed, |value| values::text(value).map(Box::<str>::from))?;
            Ok(match texts.len() {
                0..=FEW => Kernel::new(move |column| {
                    text_hits(column, |text| !texts.iter().any(|listed| listed.as_ref() == text))
                }),
                _ => {
                    let texts: HashSet<Box<str>, FixedState> = texts.into_iter().collect();
                    Kernel::new(move |column| text_hits(column, |text| !texts.contains(text)))
                }
            })
        }
        Family::Float => {
            let floats = all(column, listed, |value| float(value, column.data_type))?;
            let floats = Listed::new(floats, f64::total_cmp);
            Ok(Kernel::new(move |column| {
                // One zero, so that the total order has one.
                float_hits(column, |value| !floats.has(|listed| listed.total_cmp(&(value + 0.0))))
            }))
        }
        Family::Counted => {
            for_counted!(column.data_type, T => {
                let units = all(column, listed, |value| units::<T>(value, column.data_type))?;
                let units = Listed::new(units, Ord::cmp);
                Ok(Kernel::new(move |column| {
                    let column = column.as_primitive::<T>();
                    BooleanArray::from_unary(column, |value| !units.has(|listed| listed.cmp(&value)))
                }))
            })
        }
    }
}

/// All values, or what is wrong with each that is.
fn all<V>(
    column: Column<'_>,
    listed: &[Scalar],
    value: impl Fn(&Scalar) -> Result<V, &'static str>,
) -> Result<Vec<V>, Vec<Mistake>> {
    let (mut found, mut mistakes) = (Vec::with_capacity(listed.len()), Vec::new());
    for (at, scalar) in listed.iter().enumerate() {
        match value(scalar) {
            Ok(value) => found.push(value),
            Err(expected) => {
                mistakes.push(column.misfit(format!("/check/values/{at}"), scalar, expected));
            }
        }
    }
    if mistakes.is_empty() { Ok(found) } else { Err(mistakes) }
}

fn bool(value: &Scalar) -> Result<bool, &'static str> {
    match value {
        Scalar::Bool(value) => Ok(*value),
        Scalar::Number(_) | Scalar::Text(_) => Err("true or false"),
    }
}

/// A whole number must be the float, a fraction is the nearest one, as it is wherever it is written.
fn float(value: &Scalar, data_type: &DataType) -> Result<f64, &'static str> {
    let number = values::number(value)?;
    let near = values::float(number, data_type);
    match near.is_infinite() || (number.is_whole() && number.cmp_whole(near) != Ordering::Equal) {
        true => Err("a number that the type holds exactly"),
        // As floats are looked up: with one zero.
        false => Ok(near + 0.0),
    }
}

fn units<T: ArrowPrimitiveType<Native: Unit>>(
    value: &Scalar,
    data_type: &DataType,
) -> Result<T::Native, &'static str> {
    let units = values::units(value, data_type)?;
    let expected = match data_type {
        DataType::Date32 | DataType::Date64 => "a date that the type can hold",
        DataType::Timestamp(..) => "a timestamp that the type can hold",
        _ if data_type.is_decimal() => "a number of at most its digits",
        _ => "a whole number that the type can hold",
    };
    let fits = units.is_exact && has_digits(units.floor, data_type);
    fits.then(|| T::Native::from_units(units.floor)).flatten().ok_or(expected)
}

/// Whether a decimal's precision is enough; whole numbers have none.
fn has_digits(units: i256, data_type: &DataType) -> bool {
    let precision = match data_type {
        DataType::Decimal32(precision, _)
        | DataType::Decimal64(precision, _)
        | DataType::Decimal128(precision, _)
        | DataType::Decimal256(precision, _) => *precision,
        _ => return true,
    };
    // The least number has no opposite, and more digits than any column.
    units
        .checked_abs()
        .is_some_and(|units| units == i256::ZERO || units.ilog10() < precision.into())
}

/// A set of numbers, sorted.
#[derive(Debug)]
struct Listed<V>(Box<[V]>);

impl<V> Listed<V> {
    fn new(mut values: Vec<V>, compare: impl Fn(&V, &V) -> Ordering) -> Self {
        values.sort_unstable_by(&compare);
        values.dedup_by(|a, b| compare(a, b) == Ordering::Equal);
        Self(values.into())
    }

    fn has(&self, compare: impl Fn(&V) -> Ordering) -> bool {
        let Self(values) = self;
        match values.len() {
            0..=FEW => values.iter().any(|value| compare(value) == Ordering::Equal),
            _ => values.binary_search_by(compare).is_ok(),
        }
    }
}
