//! Properties of a Delta table: those that other engines read and that change no protocol, and the user's own.

use std::collections::BTreeMap;

use super::node::Shape;
use super::open::Fields;
use super::report::Located;
use super::report::Spot;
use super::scalars::scalar;
use crate::problem::Code;
use crate::problem::nearest;

/// Delta's own properties that a flow may set.
const KNOWN: &[(&str, Form)] = &[
    ("delta.appendOnly", Form::Flag),
    ("delta.logRetentionDuration", Form::Interval),
    ("delta.deletedFileRetentionDuration", Form::Interval),
    ("delta.checkpointInterval", Form::Count),
    ("delta.dataSkippingNumIndexedCols", Form::Count),
];

/// What a property's value has to be.
#[derive(Debug, Clone, Copy)]
enum Form {
    Flag,
    /// A whole number from 1.
    Count,
    Interval,
}

impl Form {
    fn fits(self, value: &str) -> bool {
        match self {
            Self::Flag => matches!(value, "true" | "false"),
            Self::Count => value.parse::<u32>().is_ok_and(|count| count > 0),
            Self::Interval => is_interval(value),
        }
    }

    fn due(self) -> &'static str {
        match self {
            Self::Flag => "true or false",
            Self::Count => "a whole number from 1",
            Self::Interval => {
                "an interval such as `interval 30 days`, in weeks, days, hours, minutes or seconds"
            }
        }
    }
}

impl Fields<'_> {
    /// Properties of a table by name.
    pub(super) fn properties(
        &self,
        name: &'static str,
    ) -> Option<Located<BTreeMap<String, String>>> {
        self.located(name, |found| {
            let Shape::Map(entries) = &found.node.shape else {
                let what = format!(
                    "`{name}` is a map from property to value; this is {}",
                    found.node.kind()
                );
                self.report.add(Code::WrongType, &found.spot, what);
                return None;
            };
            let mut properties = BTreeMap::new();
            for entry in entries.iter().filter(|entry| !entry.value.is_null()) {
                let spot = found.spot.key(&entry.key, entry.value.at);
                let Some(value) = scalar(self.report, &entry.value, &spot, &entry.key) else {
                    continue;
                };
                self.check_property(
                    &entry.key,
                    &value,
                    &found.spot.key(&entry.key, entry.at),
                    &spot,
                );
                properties.insert(entry.key.clone(), value);
            }
            Some(properties)
        })
    }

    fn check_property(&self, key: &str, value: &str, at_key: &Spot, at_value: &Spot) {
        if let Some((_, form)) = KNOWN.iter().find(|(known, _)| *known == key) {
            if !form.fits(value) {
                let what = format!("`{key}` is {}; this is {value:?}", form.due());
                self.report.add(Code::WrongValue, at_value, what);
            }
        } else if key.to_lowercase().starts_with("delta.") {
            let known = KNOWN.iter().map(|(known, _)| *known);
            let hint = match nearest(key, known.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if key.eq_ignore_ascii_case("delta.targetFileSize") => {
                    "write `write_options: { target_file_size: … }`".to_owned()
                }
                None => {
                    let known: Vec<_> = known.map(|known| format!("`{known}`")).collect();
                    format!("it sets {}, and names without `delta.`", known.join(", "))
                }
            };
            let what = format!("`{key}` is a property that this version does not set");
            self.report.add_hint(Code::NotOffered, at_key, what, hint);
        } else if key.trim().is_empty() {
            self.report.add(Code::WrongValue, at_key, "a property has a name");
        }
    }
}

/// `interval 30 days`; months and years have no fixed length.
fn is_interval(text: &str) -> bool {
    let words: Vec<_> = text.split_whitespace().map(str::to_lowercase).collect();
    let [interval, number, unit] = words.as_slice() else { return false };
    let unit = unit.strip_suffix('s').unwrap_or(unit);
    interval == "interval"
        && number.parse::<u32>().is_ok_and(|number| number > 0)
        && ["week", "day", "hour", "minute", "second"].contains(&unit)
}

#[cfg(test)]
mod tests {
    use super::is_interval;

    #[test]
    fn intervals_have_a_number_and_a_fixed_unit() {
        for good in ["interval 30 days", "INTERVAL 1 week", "interval  7  hours"] {
            assert!(is_interval(good), "{good}");
        }
        for bad in [
            "30 days",
            "interval 30",
            "interval 0 days",
            "interval 2 months",
            "interval -1 days",
            "",
        ] {
            assert!(!is_interval(bad), "{bad}");
        }
    }
}
