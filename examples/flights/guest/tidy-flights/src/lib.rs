//! A transform: flights as the airports report them become flights as people count them.
//!
//! Computes `flight_id`, `scheduled_at` and `departed_at` (UTC), `delay_class` and `cancelled`; carries what describes the
//! flight; leaves out the raw parts of the date. A flight whose time or identity cannot be made out is rejected.

mod local_time;
mod tidy;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, TimeUnit};
use chrono_tz::Tz;
use local_time::Zone;
use wasmhost_guest::{About, Context, Failure, Inputs, Layout, Output, Reason, Transform, about};

/// Where the flights leave from, and from when on they are late.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The zone of the local times, by its name in the IANA database.
    pub timezone: String,
    /// A flight that departs this many minutes after its schedule, or more, is `late`; one that departs before its
    /// schedule is `early`, all between are `on_time`.
    pub late_after_minutes: i64,
    /// A flight that departs this many minutes after its schedule, or more, is `very_late`.
    pub very_late_after_minutes: i64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            timezone: "America/New_York".to_owned(),
            late_after_minutes: 15,
            very_late_after_minutes: 60,
        }
    }
}

/// The transform.
#[derive(Debug)]
pub struct TidyFlights {
    zone: Zone,
    late_after_minutes: i64,
    very_late_after_minutes: i64,
}

impl Transform for TidyFlights {
    type Config = Config;

    const ABOUT: About = about!();

    fn open(config: Config, _: &Inputs, _: &Context) -> Result<(Self, Layout), Failure> {
        let Config { timezone, late_after_minutes, very_late_after_minutes } = config;
        let Ok(zone) = timezone.parse::<Tz>() else {
            let message = format!(
                "no time zone is called `{timezone}`; names are those of the IANA database"
            );
            return Err(Failure::bad_config("/timezone", "timezone", message));
        };
        if !(0 <= late_after_minutes && late_after_minutes < very_late_after_minutes) {
            let message = "late_after_minutes must be at least 0 and below very_late_after_minutes";
            return Err(Failure::bad_config("/late_after_minutes", "thresholds", message));
        }
        Ok((Self { zone: Zone::new(zone), late_after_minutes, very_late_after_minutes }, layout()))
    }

    fn process(&mut self, batch: &RecordBatch) -> Result<Output, Failure> {
        tidy::tidy(self, batch)
    }
}

fn layout() -> Layout {
    let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let wanted = ["year", "month", "day", "hour", "minute", "dep_time", "dep_delay", "flight"];
    let layout = wanted
        .into_iter()
        .fold(Layout::one_to_one(), |layout, name| layout.want(name, DataType::Int64));
    let layout = layout
        .want("carrier", DataType::Utf8)
        .want("origin", DataType::Utf8)
        .reason(Reason::new(
            "date_parts",
            ["year", "month", "day", "hour", "minute"],
            "{year}-{month}-{day} {hour}:{minute} is no time of a day",
        ))
        .reason(Reason::new(
            "local_time",
            ["year", "month", "day", "hour", "minute"],
            "{year}-{month}-{day} {hour}:{minute} is skipped, or comes twice, when the clocks are changed",
        ))
        .reason(Reason::new("identity", ["carrier", "flight", "origin"], "carrier, flight or origin is missing"))
        .compute(Field::new("flight_id", DataType::Utf8, true))
        .compute(Field::new("scheduled_at", utc.clone(), true))
        .compute(Field::new("departed_at", utc, true));
    let carried = [
        "carrier",
        "flight",
        "tailnum",
        "origin",
        "dest",
        "dep_delay",
        "arr_delay",
        "air_time",
        "distance",
    ];
    carried
        .into_iter()
        .fold(layout, Layout::keep)
        .compute(Field::new("delay_class", DataType::Utf8, true))
        .compute(Field::new("cancelled", DataType::Boolean, true))
}

wasmhost_guest::transform!(TidyFlights);
