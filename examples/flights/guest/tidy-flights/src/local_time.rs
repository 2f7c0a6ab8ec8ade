//! From the time on the wall to UTC. Asking the zone takes longer than all else that is done for a flight, so it is
//! asked once for each hour that is seen.

use chrono::{DateTime, MappedLocalTime, NaiveDate, TimeZone};
use chrono_tz::Tz;
use std::collections::HashMap;

const MICROS_A_MINUTE: i64 = 60_000_000;

/// Why a local time is no point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoTime {
    /// There is no such date, hour or minute.
    Parts,
    /// The clocks were changed: the time was skipped, or came twice.
    Clocks,
}

/// Year, month and day on the wall.
pub(crate) type Date = [i64; 3];

/// A time zone, with what is known of it.
#[derive(Debug)]
pub(crate) struct Zone {
    zone: Tz,
    days: Vec<Day>,
    by_date: HashMap<Date, usize>,
    /// The day asked for last. Flights mostly come day by day, and looking up a date takes as long as the rest.
    last: usize,
}

/// What is known of the hours of a day: when each starts in microseconds, or why it does not.
#[derive(Debug)]
struct Day {
    date: Date,
    hours: [Option<Result<i64, NoTime>>; 24],
}

/// Some ninety years. Input that has more is not what this is for, and starts over.
const DAYS_MAX: usize = 1 << 15;

impl Zone {
    pub(crate) fn new(zone: Tz) -> Self {
        Self { zone, days: Vec::new(), by_date: HashMap::new(), last: 0 }
    }

    /// Microseconds since the Unix epoch.
    pub(crate) fn utc_micros(&mut self, date: Date, hour: i64, minute: i64) -> Result<i64, NoTime> {
        let (Ok(at @ 0..24), 0..60) = (usize::try_from(hour), minute) else {
            return Err(NoTime::Parts);
        };
        let day = self.day(date);
        let start = match self.days[day].hours[at] {
            Some(start) => start,
            None => match self.even_hour(date, hour) {
                Some(start) => *self.days[day].hours[at].insert(start),
                None => return self.ask(date, hour, minute),
            },
        };
        start.map(|start| start + minute * MICROS_A_MINUTE)
    }

    /// The position of a day among those known.
    fn day(&mut self, date: Date) -> usize {
        if self.days.get(self.last).is_some_and(|day| day.date == date) {
            return self.last;
        }
        if self.days.len() >= DAYS_MAX {
            self.days.clear();
            self.by_date.clear();
        }
        let days = &mut self.days;
        self.last = *self.by_date.entry(date).or_insert_with(|| {
            days.push(Day { date, hours: [None; 24] });
            days.len() - 1
        });
        self.last
    }

    /// The start of an hour whose minutes are all there and follow each other; none where clocks are changed within it.
    fn even_hour(&self, date: Date, hour: i64) -> Option<Result<i64, NoTime>> {
        match (self.ask(date, hour, 0), self.ask(date, hour, 59)) {
            (Ok(first), Ok(last)) if last - first == 59 * MICROS_A_MINUTE => Some(Ok(first)),
            (Err(first), Err(last)) if first == last => Some(Err(first)),
            _ => None,
        }
    }

    fn ask(&self, [year, month, day]: Date, hour: i64, minute: i64) -> Result<i64, NoTime> {
        let small = |part: i64| u32::try_from(part).map_err(|_| NoTime::Parts);
        let year = i32::try_from(year).map_err(|_| NoTime::Parts)?;
        let wall = NaiveDate::from_ymd_opt(year, small(month)?, small(day)?)
            .filter(|_| (0..=9999).contains(&year))
            .and_then(|date| date.and_hms_opt(small(hour).ok()?, small(minute).ok()?, 0))
            .ok_or(NoTime::Parts)?;
        match self.zone.from_local_datetime(&wall) {
            MappedLocalTime::Single(time) => Ok(DateTime::timestamp_micros(&time)),
            MappedLocalTime::Ambiguous(..) | MappedLocalTime::None => Err(NoTime::Clocks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(
        zone: Tz,
        (year, month, day, hour): (i64, i64, i64, i64),
        minute: i64,
    ) -> Result<String, NoTime> {
        let mut zone = Zone::new(zone);
        let once = zone.utc_micros([year, month, day], hour, minute);
        assert_eq!(once, zone.utc_micros([year, month, day], hour, minute), "the same from memory");
        once.map(|micros| {
            DateTime::from_timestamp_micros(micros).map(|time| time.to_string()).unwrap_or_default()
        })
    }

    #[test]
    fn summer_and_winter_differ() {
        let new_york = Tz::America__New_York;
        assert_eq!(ask(new_york, (2013, 1, 1, 5), 15), Ok("2013-01-01 10:15:00 UTC".into()));
        assert_eq!(ask(new_york, (2013, 7, 1, 5), 15), Ok("2013-07-01 09:15:00 UTC".into()));
    }

    #[test]
    fn changed_clocks_are_noticed() {
        let new_york = Tz::America__New_York;
        assert_eq!(ask(new_york, (2013, 3, 10, 2), 30), Err(NoTime::Clocks), "skipped");
        assert_eq!(ask(new_york, (2013, 11, 3, 1), 0), Err(NoTime::Clocks), "twice");
        assert_eq!(ask(new_york, (2013, 11, 3, 2), 0), Ok("2013-11-03 07:00:00 UTC".into()));
        // Half an hour at a time, and at an odd minute.
        assert_eq!(ask(Tz::Australia__Lord_Howe, (2013, 10, 6, 2), 15), Err(NoTime::Clocks));
        assert_eq!(
            ask(Tz::Australia__Lord_Howe, (2013, 10, 6, 2), 45),
            Ok("2013-10-05 15:45:00 UTC".into())
        );
    }

    #[test]
    fn what_is_no_time_is_refused() {
        let new_york = Tz::America__New_York;
        for hour in [
            (2013, 2, 29, 1),
            (2013, 13, 1, 1),
            (2013, 1, 1, 24),
            (2013, 1, 1, -1),
            (i64::MAX, 1, 1, 1),
        ] {
            assert_eq!(ask(new_york, hour, 0), Err(NoTime::Parts), "{hour:?}");
        }
        assert_eq!(ask(new_york, (2013, 1, 1, 1), 60), Err(NoTime::Parts));
        assert_eq!(ask(new_york, (20_130, 1, 1, 1), 0), Err(NoTime::Parts));
    }
}
