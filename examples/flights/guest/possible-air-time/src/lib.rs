//! A rule: the time that a flight spent in the air must be possible for the distance it flew.
//!
//! Wants `air_time` (minutes) and `distance` (miles). A row in which either is NULL, as of a flight that was cancelled,
//! is not judged. No time at all is too fast.

use arrow_array::{Array, Int64Array, RecordBatch};
use arrow_schema::DataType;
use wasmhost_guest::{
    About, Checks, Context, Failure, Findings, Inputs, Judge, Reason, Rule, about, column,
};

/// The bounds, both of them possible.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The fastest possible flight over ground, in miles an hour.
    pub max_mph: f64,
    /// The slowest possible flight over ground, in miles an hour.
    pub min_mph: f64,
}

impl Default for Config {
    /// Bounds for airliners: of the flights that left New York in 2013, one is outside them.
    fn default() -> Self {
        Self { max_mph: 700.0, min_mph: 70.0 }
    }
}

/// The rule.
#[derive(Debug)]
pub struct PossibleAirTime {
    config: Config,
}

impl Rule for PossibleAirTime {
    type Config = Config;

    const ABOUT: About = about!();

    fn open(config: Config, _: &Inputs, _: &Context) -> Result<(Self, Checks), Failure> {
        if !(0.0 <= config.min_mph && config.min_mph < config.max_mph) {
            return Err(Failure::bad_config(
                "/max_mph",
                "bounds",
                "min_mph must be at least 0 and below max_mph",
            ));
        }
        let columns = ["air_time", "distance"];
        let checks = Checks::new()
            .want("air_time", DataType::Int64)
            .want("distance", DataType::Int64)
            .reason(Reason::new(
                "too_fast",
                columns,
                "{distance} miles in {air_time} minutes is too fast",
            ))
            .reason(Reason::new(
                "too_slow",
                columns,
                "{distance} miles in {air_time} minutes is too slow",
            ));
        Ok((Self { config }, checks))
    }

    fn check(&mut self, batch: &RecordBatch) -> Result<Findings, Failure> {
        let air_time: &Int64Array = column(batch, "air_time")?;
        let distance: &Int64Array = column(batch, "distance")?;
        let (mut too_fast, mut too_slow) =
            (Judge::new(batch.num_rows()), Judge::new(batch.num_rows()));
        for row in 0..batch.num_rows() {
            if air_time.is_null(row) || distance.is_null(row) {
                continue;
            }
            // As a product, so that a time of 0 needs no case of its own.
            let hours = air_time.value(row) as f64 / 60.0;
            let miles = distance.value(row) as f64;
            too_fast.judge(row, hours > 0.0 && miles <= self.config.max_mph * hours);
            too_slow.judge(row, miles >= self.config.min_mph * hours);
        }
        Ok(Findings::new().with("too_fast", too_fast).with("too_slow", too_slow))
    }
}

wasmhost_guest::rule!(PossibleAirTime);

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;
    use arrow_array::StringArray;
    use serde_json::json;
    use std::sync::Arc;
    use wasmhost_guest::harness;

    /// Five real flights, of which one was reported 10 minutes too short, one that was cancelled, and two made up.
    fn flights() -> RecordBatch {
        let air_time =
            vec![Some(227), Some(75), Some(65), Some(70), Some(116), None, Some(0), Some(600)];
        let distance = vec![1400, 96, 762, 748, 762, 1096, 200, 500];
        let columns: [(&str, Arc<dyn Array>); 3] = [
            ("carrier", Arc::new(StringArray::from(vec!["UA"; 8]))),
            ("distance", Arc::new(Int64Array::from(distance))),
            ("air_time", Arc::new(Int64Array::from(air_time))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    #[test]
    fn impossible_times_are_found() {
        let flights = flights();
        let rule = harness::rule::<PossibleAirTime>("", &flights.schema()).unwrap();
        assert_eq!(rule.opened().projections, [[2, 1]], "the carrier stays outside");
        let judged = rule.run(&[flights.slice(0, 3), flights.slice(3, 5)]).unwrap();
        assert_eq!(judged.rows("too_fast"), [2, 6]);
        assert_eq!(judged.rows("too_slow"), [7]);
        assert_eq!(
            (judged.hits[0].evaluated, judged.hits[0].nulls),
            (7, 0),
            "a cancelled flight is not judged"
        );
    }

    #[test]
    fn bounds_are_configured() {
        let flights = flights();
        let rule =
            harness::rule::<PossibleAirTime>(json!({"max_mph": 400}), &flights.schema()).unwrap();
        assert_eq!(rule.run(&[flights]).unwrap().rows("too_fast"), [2, 3, 6]);
    }

    #[test]
    fn bounds_that_leave_nothing_are_refused() {
        let failure = harness::rule::<PossibleAirTime>(json!({"max_mph": 10}), &flights().schema())
            .unwrap_err();
        assert_eq!(failure.diagnostics()[0].path.as_deref(), Some("/max_mph"));
        let failure =
            harness::rule::<PossibleAirTime>(json!({"max": 10}), &flights().schema()).unwrap_err();
        assert!(failure.diagnostics()[0].message.contains("unknown field `max`"));
    }

    #[test]
    fn missing_columns_are_named() {
        let other = flights().project(&[0]).unwrap();
        let failure = harness::rule::<PossibleAirTime>("", &other.schema()).unwrap_err();
        let columns: Vec<_> =
            failure.diagnostics().iter().map(|problem| problem.column.as_deref()).collect();
        assert_eq!(columns, [Some("air_time"), Some("distance")]);
    }
}
