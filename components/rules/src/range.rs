//! `range`: values between two bounds.

use crate::column::{Column, Kernel, Mistake};
use crate::config::Scalar;
use crate::number::{Number, Units};
use crate::values::{self, Family, Unit, float_hits, for_counted, text_hits};
use arrow_array::cast::AsArray;
use arrow_array::{ArrowPrimitiveType, BooleanArray};
use arrow_buffer::i256;
use arrow_schema::DataType;
use std::cmp::Ordering;

/// Whether the bounds themselves are inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    Inside,
    Outside,
}

/// The bounds as configured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds<'a> {
    pub(crate) min: Option<&'a Scalar>,
    pub(crate) max: Option<&'a Scalar>,
    pub(crate) ends: Ends,
}

/// Bounds are exact: no value is rounded to compare it, and of the bounds only a fraction, to the nearest float of a
/// column of floats.
///
/// # Errors
/// A type without an order, bounds of another type, bounds that leave nothing.
pub(crate) fn kernel(column: Column<'_>, bounds: Bounds<'_>) -> Result<Kernel, Vec<Mistake>> {
    let family = match Family::of(column.data_type) {
        Some(family @ (Family::Counted | Family::Float | Family::Text)) => family,
        Some(Family::Bool) | None => {
            return Err(vec![column.refuse("range", "numbers, dates, timestamps and text")]);
        }
    };
    if bounds.min.is_none() && bounds.max.is_none() {
        return Err(vec![Mistake::new("bounds", "/check", "give `min`, `max` or both")]);
    }
    let kernel = match family {
        Family::Float => floats(column, bounds)?,
        Family::Text => texts(column, bounds)?,
        _ => counted(column, bounds)?,
    };
    kernel.ok_or_else(|| vec![nothing_left(column, bounds)])
}

fn counted(column: Column<'_>, bounds: Bounds<'_>) -> Result<Option<Kernel>, Vec<Mistake>> {
    let (min, max) = both(column, bounds, |value| values::units(value, column.data_type))?;
    let min = min.map(|units| at_least(units, bounds.ends));
    let max = max.map(|units| at_most(units, bounds.ends));
    Ok(for_counted!(column.data_type, T => whole_kernel::<T>(min, max)))
}

/// The least whole number inside.
fn at_least(Units { floor, is_exact }: Units, ends: Ends) -> i256 {
    match (is_exact, ends) {
        (true, Ends::Inside) => floor,
        _ => floor.checked_add(i256::ONE).unwrap_or(floor),
    }
}

/// The greatest whole number inside.
fn at_most(Units { floor, is_exact }: Units, ends: Ends) -> i256 {
    match (is_exact, ends) {
        (true, Ends::Outside) => floor.checked_sub(i256::ONE).unwrap_or(floor),
        _ => floor,
    }
}

/// None where no value is inside. Bounds beyond the type are moved to its ends.
fn whole_kernel<T: ArrowPrimitiveType<Native: Unit>>(
    min: Option<i256>,
    max: Option<i256>,
) -> Option<Kernel> {
    let inside = |units: i256| T::Native::from_units(units);
    let min = match min {
        None => T::Native::MIN,
        Some(min) => inside(min).or(min.is_negative().then_some(T::Native::MIN))?,
    };
    let max = match max {
        None => T::Native::MAX,
        Some(max) => inside(max).or((!max.is_negative()).then_some(T::Native::MAX))?,
    };
    (min <= max).then(|| {
        Kernel::new(move |column| {
            BooleanArray::from_unary(column.as_primitive::<T>(), |value| value < min || value > max)
        })
    })
}

fn floats(column: Column<'_>, bounds: Bounds<'_>) -> Result<Option<Kernel>, Vec<Mistake>> {
    let (min, max) = both(column, bounds, |value| values::number(value).cloned())?;
    let nearest = |number: &Number| match number.is_whole() {
        // Not the nearest of the column's own type: a value of 32 bits is compared as one of 64, with all bounds.
        true => {
            let near = values::float(number, &DataType::Float64);
            (near, number.cmp_whole(near))
        }
        false => (values::float(number, column.data_type), Ordering::Equal),
    };
    let min = min.map_or(f64::NEG_INFINITY, |number| match (nearest(&number), bounds.ends) {
        ((near, Ordering::Greater), _) | ((near, Ordering::Equal), Ends::Outside) => near.next_up(),
        ((near, _), _) => near,
    });
    let max = max.map_or(f64::INFINITY, |number| match (nearest(&number), bounds.ends) {
        ((near, Ordering::Less), _) | ((near, Ordering::Equal), Ends::Outside) => near.next_down(),
        ((near, _), _) => near,
    });
    // Said so that NaN, which compares with nothing, is hit.
    let hit = move |value: f64| !(value >= min && value <= max);
    Ok((min <= max).then(|| Kernel::new(move |column| float_hits(column, hit))))
}

fn texts(column: Column<'_>, bounds: Bounds<'_>) -> Result<Option<Kernel>, Vec<Mistake>> {
    let (min, max) = both(column, bounds, |value| values::text(value).map(str::to_owned))?;
    let ends = bounds.ends;
    let is_empty = match (&min, &max) {
        (Some(min), Some(max)) => is_beyond(min.cmp(max), Ordering::Greater, ends),
        _ => false,
    };
    let hit = move |text: &str| {
        let outside = |bound: &Option<String>, beyond| {
            bound.as_ref().is_some_and(|bound| is_beyond(text.cmp(bound), beyond, ends))
        };
        outside(&min, Ordering::Less) || outside(&max, Ordering::Greater)
    };
    Ok((!is_empty).then(|| Kernel::new(move |column| text_hits(column, &hit))))
}

/// Whether a value that compares so with a bound is outside it.
fn is_beyond(order: Ordering, beyond: Ordering, ends: Ends) -> bool {
    order == beyond || (order == Ordering::Equal && ends == Ends::Outside)
}

/// Both bounds, or what is wrong with each.
fn both<V>(
    column: Column<'_>,
    bounds: Bounds<'_>,
    value: impl Fn(&Scalar) -> Result<V, &'static str>,
) -> Result<(Option<V>, Option<V>), Vec<Mistake>> {
    let mut mistakes = Vec::new();
    let mut bound = |at: &str, bound: Option<&Scalar>| {
        let bound = bound?;
        value(bound).map_err(|expected| mistakes.push(column.misfit(at, bound, expected))).ok()
    };
    let both = (bound("/check/min", bounds.min), bound("/check/max", bounds.max));
    if mistakes.is_empty() { Ok(both) } else { Err(mistakes) }
}

fn nothing_left(column: Column<'_>, bounds: Bounds<'_>) -> Mistake {
    let (least, most) = match bounds.ends {
        Ends::Inside => ("at least", "at most"),
        Ends::Outside => ("above", "below"),
    };
    let sides = [(least, bounds.min), (most, bounds.max)];
    let sides: Vec<String> = sides
        .into_iter()
        .filter_map(|(side, bound)| bound.map(|bound| format!("{side} {bound}")))
        .collect();
    let Column { name, data_type } = column;
    let message =
        format!("no value of column `{name}` of type {data_type} is {}", sides.join(" and "));
    Mistake::new("bounds", "/check", message)
}
