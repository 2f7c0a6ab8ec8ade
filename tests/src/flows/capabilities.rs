//! What people who come from other tools have to find, each shown by a flow of its own: its file names it, as `§1a 4`.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;

use super::files;

/// Of configuration (1a) and of sources (1b).
const CAPABILITIES: &[(&str, &str)] = &[
    ("1a 1", "one file: source, steps, rules, one destination or several"),
    ("1a 3", "connections by name or in place"),
    ("1a 4", "places below a connection"),
    ("1a 5", "a place or a name, never both"),
    ("1a 6", "options of connection and block, one by one"),
    ("1a 7", "older places of merge controls"),
    ("1a 8", "each option reaches what uses it, or is refused"),
    ("1a 10", "older places of partition columns"),
    ("1a 11", "what is loaded where nothing is said of it"),
    ("1a 12", "variables"),
    ("1a 13", "values of the data in later texts"),
    ("1a 14", "secrets by reference"),
    ("1a 16", "what cannot be is told before anything is read"),
    ("1a 17", "settings of an engine"),
    ("1b 18", "files of a folder, their format and options"),
    ("1b 20", "tables: versions and queries"),
    ("1b 21", "any files, a row a file"),
    ("1b 22", "views"),
    ("1b 23", "databases"),
    ("1b 24", "sources that hold all there is"),
];

#[test]
fn every_capability_has_a_flow_and_every_flow_names_known_ones() {
    let mut shown: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for kind in ["good", "bad", "runs"] {
        for file in files(kind) {
            let text = fs::read_to_string(&file).unwrap();
            for tag in text.split('§').skip(1) {
                let end = tag.find([':', ',', '\n']).unwrap_or(tag.len());
                shown.entry(tag[..end].to_owned()).or_default().insert(kind);
            }
        }
    }
    let missing: Vec<_> =
        CAPABILITIES.iter().filter(|(number, _)| !shown.contains_key(*number)).collect();
    assert!(missing.is_empty(), "no flow shows {missing:?}");
    let is_ours = |number: &&String| number.starts_with("1a") || number.starts_with("1b");
    let is_known = |number: &&String| {
        // What is told of the neighbours is welcome, and not asked for.
        CAPABILITIES.iter().any(|(known, _)| known == number) || *number == "1b 25"
    };
    let unknown: Vec<_> = shown.keys().filter(is_ours).filter(|it| !is_known(it)).collect();
    assert!(unknown.is_empty(), "{unknown:?} are no capabilities");
}
