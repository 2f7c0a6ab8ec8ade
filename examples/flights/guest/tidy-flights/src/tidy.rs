//! What is computed for a batch of flights.

use crate::TidyFlights;
use crate::local_time::NoTime;
use arrow_array::builder::{BooleanBuilder, StringBuilder, TimestampMicrosecondBuilder};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use std::sync::Arc;
use wasmhost_guest::{Failure, Judge, Output, column};

/// Bytes of an id such as `2013-01-01_UA_1545_EWR_0515`.
const ID_BYTES_ABOUT: usize = 28;
const MICROS_A_MINUTE: i64 = 60_000_000;

pub(crate) fn tidy(config: &mut TidyFlights, batch: &RecordBatch) -> Result<Output, Failure> {
    let flights = Flights::of(batch)?;
    let rows = batch.num_rows();
    let mut ids = StringBuilder::with_capacity(rows, rows * ID_BYTES_ABOUT);
    let mut scheduled = TimestampMicrosecondBuilder::with_capacity(rows);
    let mut departed = TimestampMicrosecondBuilder::with_capacity(rows);
    let mut classes = StringBuilder::with_capacity(rows, rows * "on_time".len());
    let mut cancelled = BooleanBuilder::with_capacity(rows);
    let mut rejects = [(); 3].map(|()| Judge::new(rows));
    let [bad_parts, bad_clock, no_identity] = &mut rejects;

    let mut id = String::with_capacity(ID_BYTES_ABOUT);
    for row in 0..rows {
        let wall = flights.wall(row);
        let time = match wall {
            Some(([year, month, day, hour], minute)) => {
                config.zone.utc_micros([year, month, day], hour, minute)
            }
            None => Err(NoTime::Parts),
        };
        let identity = flights.identity(row);
        bad_parts.judge(row, time != Err(NoTime::Parts));
        bad_clock.judge(row, time != Err(NoTime::Clocks));
        no_identity.judge(row, identity.is_some());

        id.clear();
        if let (Some((date, minute)), Some(identity), Ok(_)) = (wall, identity, time) {
            write_id(&mut id, date, minute, identity);
            ids.append_value(&id);
        } else {
            ids.append_null();
        }
        let (did_depart, delay) = (flights.dep_time.is_valid(row), flights.delay(row));
        scheduled.append_option(time.ok());
        departed.append_option(match (did_depart, time, delay) {
            (true, Ok(time), Some(delay)) => {
                delay.checked_mul(MICROS_A_MINUTE).and_then(|late| time.checked_add(late))
            }
            _ => None,
        });
        classes.append_option(config.delay_class(did_depart, delay));
        cancelled.append_value(!did_depart);
    }
    let columns: [ArrayRef; 5] = [
        Arc::new(ids.finish()),
        Arc::new(scheduled.finish().with_timezone("UTC")),
        Arc::new(departed.finish().with_timezone("UTC")),
        Arc::new(classes.finish()),
        Arc::new(cancelled.finish()),
    ];
    let output = Output::columns(columns);
    let codes = ["date_parts", "local_time", "identity"];
    Ok(codes
        .into_iter()
        .zip(rejects)
        .fold(output, |output, (code, judge)| output.reject(code, judge)))
}

impl TidyFlights {
    /// Nothing where a flight departed and its delay is not known.
    fn delay_class(&self, did_depart: bool, delay: Option<i64>) -> Option<&'static str> {
        match delay {
            _ if !did_depart => Some("cancelled"),
            Some(delay) if delay < 0 => Some("early"),
            Some(delay) if delay < self.late_after_minutes => Some("on_time"),
            Some(delay) if delay < self.very_late_after_minutes => Some("late"),
            Some(_) => Some("very_late"),
            None => None,
        }
    }
}

/// The columns that the computation needs.
struct Flights<'a> {
    /// Year, month, day and hour.
    date: [&'a Int64Array; 4],
    minute: &'a Int64Array,
    dep_time: &'a Int64Array,
    dep_delay: &'a Int64Array,
    carrier: &'a StringArray,
    flight: &'a Int64Array,
    origin: &'a StringArray,
}

/// Carrier, flight number, airport of origin.
type Identity<'a> = (&'a str, i64, &'a str);

impl<'a> Flights<'a> {
    fn of(batch: &'a RecordBatch) -> Result<Self, Failure> {
        Ok(Self {
            date: [
                column(batch, "year")?,
                column(batch, "month")?,
                column(batch, "day")?,
                column(batch, "hour")?,
            ],
            minute: column(batch, "minute")?,
            dep_time: column(batch, "dep_time")?,
            dep_delay: column(batch, "dep_delay")?,
            carrier: column(batch, "carrier")?,
            flight: column(batch, "flight")?,
            origin: column(batch, "origin")?,
        })
    }

    /// The scheduled time on the wall, if all of it is there.
    fn wall(&self, row: usize) -> Option<([i64; 4], i64)> {
        let present = self.date.iter().chain([&self.minute]).all(|column| column.is_valid(row));
        present.then(|| (self.date.map(|column| column.value(row)), self.minute.value(row)))
    }

    fn identity(&self, row: usize) -> Option<Identity<'a>> {
        let present =
            self.carrier.is_valid(row) && self.flight.is_valid(row) && self.origin.is_valid(row);
        present.then(|| (self.carrier.value(row), self.flight.value(row), self.origin.value(row)))
    }

    fn delay(&self, row: usize) -> Option<i64> {
        self.dep_delay.is_valid(row).then(|| self.dep_delay.value(row))
    }
}

/// `2013-01-01_UA_1545_EWR_0515`. By hand: `write!` would take most of the time spent on a flight.
fn write_id(
    id: &mut String,
    [year, month, day, hour]: [i64; 4],
    minute: i64,
    (carrier, flight, origin): Identity<'_>,
) {
    digits(id, year, 4);
    id.push('-');
    digits(id, month, 2);
    id.push('-');
    digits(id, day, 2);
    id.push('_');
    id.push_str(carrier);
    id.push('_');
    digits(id, flight, 1);
    id.push('_');
    id.push_str(origin);
    id.push('_');
    digits(id, hour, 2);
    digits(id, minute, 2);
}

/// The number, with zeros in front up to this many digits.
fn digits(text: &mut String, number: i64, width: usize) {
    if number < 0 {
        text.push('-');
    }
    let mut reversed = [b'0'; 20];
    let mut rest = number.unsigned_abs();
    let mut used = 0;
    while rest > 0 || used < width {
        reversed[used] = b'0' + (rest % 10) as u8;
        rest /= 10;
        used += 1;
    }
    text.extend(reversed[..used].iter().rev().map(|digit| char::from(*digit)));
}

#[cfg(test)]
mod tests;
