//! The example that ships: every flight of January 2013 is where it should be.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::Stage;
use super::books::count;
use crate::guests;

/// How often each value of a column occurs.
fn by<'a>(
    column: &str,
    rows: impl IntoIterator<Item = &'a str>,
    separator: char,
) -> BTreeMap<String, u64> {
    let mut rows = rows.into_iter();
    let at = rows.next().unwrap().split(separator).position(|name| name == column).unwrap();
    let mut counts = BTreeMap::new();
    rows.for_each(|row| {
        *counts.entry(row.split(separator).nth(at).unwrap().to_owned()).or_default() += 1
    });
    counts
}

#[test]
fn all_flights_of_the_example_reach_every_destination() {
    let example = Path::new("../examples/flights");
    let read = |name: &str| fs::read_to_string(example.join(name)).unwrap();
    let data = read("data/flights-2013-01.csv");
    let stage =
        Stage::new(&[("flow.yaml", &read("flow.yaml")), ("data/flights-2013-01.csv", &data)]);
    fs::create_dir(stage.path("components")).unwrap();
    for name in ["tidy_flights", "possible_air_time"] {
        let to = stage.path(&format!("components/{name}.wasm"));
        fs::copy(guests::path(name), to).unwrap();
    }
    let (code, evidence, said) = stage.run("flow.yaml", &[]);
    assert_eq!((code, evidence["status"].as_str()), (0, Some("succeeded")), "{said}");
    assert_eq!(count(&evidence, "/rows_read"), 27_004);
    assert_eq!(count(&evidence, "/rows_written"), 3 * 27_004);

    let lake = stage.rows("out/lake/aviation/flights");
    let departures = stage.rows("out/departures");
    let history = stage.rows("out/history");
    for column in ["carrier", "origin", "dest"] {
        let expected = by(column, data.lines(), ',');
        assert_eq!(expected.values().sum::<u64>(), 27_004);
        assert_eq!(by(column, lake.iter().map(String::as_str), '|'), expected);
        assert_eq!(by(column, departures.iter().map(String::as_str), '|'), expected);
    }
    let ids = by("flight_id", history.iter().map(String::as_str), '|');
    assert_eq!(ids.len(), 27_004, "each flight has an id of its own");
    let cancelled = by("dep_time", data.lines(), ',')["NA"];
    assert_eq!(by("cancelled", lake.iter().map(String::as_str), '|')["true"], cancelled);
    let log = fs::read_to_string(
        stage.path("out/lake/aviation/flights/_delta_log/00000000000000000000.json"),
    )
    .unwrap();
    let run = evidence["run_id"].as_str().unwrap();
    assert!(log.contains(&format!("\"wasmhost.run_id\":\"{run}\"")), "the commit names its run");
}
