//! Flights as in the real file, and what should become of them.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use super::*;
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use serde_json::json;
use wasmhost_guest::harness::{self, Transformed};

const NUMBERS: [&str; 13] = [
    "year",
    "month",
    "day",
    "dep_time",
    "dep_delay",
    "arr_delay",
    "flight",
    "air_time",
    "distance",
    "hour",
    "minute",
    "sched_dep_time",
    "arr_time",
];

/// Numbers in the order of [`NUMBERS`], carrier and origin.
type RawFlight = ([Option<i64>; 13], Option<&'static str>, &'static str);

/// Columns as in the real file, some of them.
fn flights(rows: &[RawFlight]) -> RecordBatch {
    let number = |at: usize| -> ArrayRef {
        Arc::new(rows.iter().map(|row| row.0[at]).collect::<Int64Array>())
    };
    let mut columns: Vec<(&str, ArrayRef)> =
        NUMBERS.iter().enumerate().map(|(at, name)| (*name, number(at))).collect();
    columns.push(("carrier", Arc::new(rows.iter().map(|row| row.1).collect::<StringArray>())));
    columns.push(("origin", Arc::new(rows.iter().map(|row| Some(row.2)).collect::<StringArray>())));
    columns
        .push(("tailnum", Arc::new(rows.iter().map(|_| Some("N14228")).collect::<StringArray>())));
    columns.push(("dest", Arc::new(rows.iter().map(|_| Some("IAH")).collect::<StringArray>())));
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

/// A flight on a day of 2013.
fn flight(month: i64, day: i64, hour: i64, delay: Option<i64>) -> RawFlight {
    let departed = delay.map(|_| 517);
    let numbers = [
        Some(2013),
        Some(month),
        Some(day),
        departed,
        delay,
        Some(11),
        Some(45),
        Some(227),
        Some(1400),
        Some(hour),
        Some(5),
        Some(hour * 100 + 5),
        Some(830),
    ];
    (numbers, Some("UA"), "EWR")
}

fn run(config: serde_json::Value, flights: &RecordBatch) -> Transformed {
    harness::transform::<TidyFlights>(config, &flights.schema())
        .unwrap()
        .run(std::slice::from_ref(flights))
        .unwrap()
}

fn texts(output: &RecordBatch, name: &str) -> Vec<Option<String>> {
    output[name].as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
}

#[test]
fn flights_get_id_times_and_class() {
    let delays = [Some(-1), Some(0), Some(14), Some(15), Some(60), None];
    let rows: Vec<_> = delays.into_iter().map(|delay| flight(1, 2, 5, delay)).collect();
    let Transformed { output, rejects } = run(json!({}), &flights(&rows));
    assert!(rejects.iter().all(|reject| reject.rows.is_empty()));
    let names: Vec<String> =
        output.schema().fields().iter().map(|field| field.name().clone()).collect();
    let expected = "flight_id scheduled_at departed_at carrier flight tailnum origin dest dep_delay arr_delay air_time \
                    distance delay_class cancelled";
    assert_eq!(names.join(" "), expected);
    assert_eq!(texts(&output, "flight_id")[0].as_deref(), Some("2013-01-02_UA_45_EWR_0505"));
    let classes: Vec<String> = texts(&output, "delay_class").into_iter().flatten().collect();
    assert_eq!(classes, ["early", "on_time", "on_time", "late", "very_late", "cancelled"]);
    let scheduled = output["scheduled_at"].as_primitive::<TimestampMicrosecondType>();
    let departed = output["departed_at"].as_primitive::<TimestampMicrosecondType>();
    assert_eq!(
        scheduled.value_as_datetime_with_tz(0, "+00:00".parse().unwrap()).unwrap().to_rfc3339(),
        "2013-01-02T10:05:00+00:00"
    );
    assert_eq!(departed.value(4) - scheduled.value(4), 60 * MICROS_A_MINUTE);
    assert!(departed.is_null(5) && output["cancelled"].as_boolean().value(5));
}

#[test]
fn what_cannot_be_made_out_is_rejected() {
    let mut no_carrier = flight(1, 1, 1, Some(0));
    no_carrier.1 = None;
    let mut no_minute = flight(1, 1, 1, Some(0));
    no_minute.0[10] = None;
    let rows = [
        flight(3, 10, 2, Some(0)),
        flight(6, 1, 9, Some(0)),
        flight(11, 3, 1, Some(0)),
        no_carrier,
        no_minute,
        flight(2, 30, 1, Some(0)),
    ];
    let Transformed { output, rejects } = run(json!({}), &flights(&rows));
    let rows = |code| &rejects.iter().find(|reject| reject.reason == code).unwrap().rows;
    assert_eq!(rows("local_time"), &[0, 2]);
    assert_eq!(rows("identity"), &[3]);
    assert_eq!(rows("date_parts"), &[4, 5]);
    assert_eq!(texts(&output, "flight_id"), [Some("2013-06-01_UA_45_EWR_0905".to_owned())]);
}

#[test]
fn zone_and_thresholds_are_configured() {
    let config = json!({"timezone": "Asia/Kolkata", "late_after_minutes": 5});
    let Transformed { output, .. } = run(config, &flights(&[flight(3, 10, 2, Some(5))]));
    assert_eq!(texts(&output, "delay_class")[0].as_deref(), Some("late"));
    let scheduled = output["scheduled_at"].as_primitive::<TimestampMicrosecondType>();
    assert_eq!(scheduled.value(0) / MICROS_A_MINUTE % (24 * 60), 20 * 60 + 35);
}

#[test]
fn configurations_that_cannot_work_are_refused() {
    let schema = flights(&[]).schema();
    for (config, path) in [
        (json!({"timezone": "New York"}), "/timezone"),
        (json!({"late_after_minutes": 60}), "/late_after_minutes"),
        (json!({"late_after_minutes": "often"}), "/late_after_minutes"),
    ] {
        let failure = harness::transform::<TidyFlights>(config, &schema).unwrap_err();
        assert_eq!(failure.diagnostics()[0].path.as_deref(), Some(path), "{failure:?}");
    }
}

#[test]
fn numbers_are_padded() {
    let mut text = String::new();
    for (number, width) in [(7, 2), (0, 1), (1545, 1), (-3, 2), (i64::MAX, 4)] {
        digits(&mut text, number, width);
        text.push(' ');
    }
    assert_eq!(text, "07 0 1545 -03 9223372036854775807 ");
}
