//! How old the whole input is. The harness's logical time is 1,700,000,000 s after the epoch.

use crate::support::{batch, config, entry};
use arrow_array::{
    ArrayRef, Date32Array, Date64Array, Int64Array, TimestampMicrosecondArray,
    TimestampNanosecondArray, TimestampSecondArray,
};
use std::sync::Arc;
use std_rules::Rules;
use wasmhost_guest::bindings::types::Statefulness;
use wasmhost_guest::harness::rule;

const NOW_S: i64 = 1_700_000_000;
const NOW_DAY: i32 = 19_675;

/// Judges two batches, the column and then nothing but the NULLs in it; a finding's measure and threshold in seconds.
#[track_caller]
fn check(column: ArrayRef, max_age_ms: u64, expected: Option<(f64, f64)>) {
    let check = format!(r#"{{"type": "freshness", "max_age_ms": {max_age_ms}}}"#);
    let whole = batch([("x", column)]);
    let opened =
        rule::<Rules>(config([entry(Some("x"), "skip", &check)]), &whole.schema()).unwrap();
    assert!(matches!(opened.opened().statefulness, Statefulness::WholeInput));
    let judged = opened.run(&[whole.clone(), whole.slice(0, 0)]).unwrap();
    let expected: Vec<_> =
        expected.map(|(age, most)| ("c".to_owned(), age, most)).into_iter().collect();
    assert_eq!(judged.tables, expected);
    assert!(judged.hits[0].rows.is_empty(), "no row is hit");
}

#[test]
fn an_input_without_a_value_is_too_old() {
    let none = (f64::MAX, 1.0);
    check(Arc::new(TimestampSecondArray::from(vec![None, None])), 1_000, Some(none));
    check(Arc::new(TimestampSecondArray::from(Vec::<i64>::new())), 1_000, Some(none));
    check(Arc::new(Date32Array::from(vec![None])), 1_000, Some(none));
}

#[test]
fn the_newest_value_counts_to_the_nanosecond() {
    let seconds = |ages: &[i64]| -> ArrayRef {
        Arc::new(TimestampSecondArray::from_iter(
            ages.iter().map(|age| Some(NOW_S - age)).chain([None]),
        ))
    };
    check(seconds(&[100, 60, 3000]), 60_000, None);
    check(seconds(&[100, 61, 3000]), 60_000, Some((61.0, 60.0)));
    check(seconds(&[-100]), 0, None);
    let now = NOW_S * 1_000_000_000;
    check(Arc::new(TimestampNanosecondArray::from(vec![now - 1])), 0, Some((1e-9, 0.0)));
    check(
        Arc::new(TimestampNanosecondArray::from(vec![now]).with_timezone("Europe/Berlin")),
        0,
        None,
    );
    let micros = TimestampMicrosecondArray::from(vec![i64::MIN]);
    let age = (i128::from(now) - i128::from(i64::MIN) * 1000) as f64 / 1e9;
    check(Arc::new(micros), u64::MAX, None);
    check(Arc::new(TimestampMicrosecondArray::from(vec![i64::MIN])), 1, Some((age, 0.001)));
}

#[test]
fn a_date_is_its_midnight() {
    let since_midnight = NOW_S - i64::from(NOW_DAY) * 86_400;
    let today = || Arc::new(Date32Array::from(vec![NOW_DAY - 5, NOW_DAY]));
    let age_ms = since_midnight as u64 * 1000;
    check(today(), age_ms, None);
    check(today(), age_ms - 1, Some((since_midnight as f64, (age_ms - 1) as f64 / 1000.0)));
    let millis = Date64Array::from(vec![i64::from(NOW_DAY) * 86_400_000]);
    check(Arc::new(millis), age_ms, None);
}

#[test]
fn without_freshness_any_split_will_do() {
    let whole = batch([("x", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]);
    let judging = rule::<Rules>(
        config([entry(Some("x"), "skip", r#"{"type": "not_null"}"#)]),
        &whole.schema(),
    );
    assert!(matches!(judging.unwrap().opened().statefulness, Statefulness::Stateless));
}
