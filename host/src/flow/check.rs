//! What holds between the parts of a flow: names that are unique, places that do not overlap.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use globset::GlobBuilder;

use super::Destination;
use super::Judge;
use super::Location;
use super::Rule;
use super::Source;
use super::Step;
use super::destination::Written;
use super::disk::fixed_part;
use super::disk::is_pattern;
use super::disk::physical;
use super::limits::LIMITS;
use super::limits::Limit;
use super::node::Shape;
use super::open::Found;
use super::report::Report;
use super::report::Spot;
use super::scalars::Number;
use super::scalars::number;
use crate::problem::Code;
use crate::problem::Problem;
use crate::problem::known_names;

/// Destination names, the quarantine's apart.
pub(super) fn destination_names(report: &Report, destinations: &[Written]) {
    for (index, written) in destinations.iter().enumerate() {
        let name = &written.destination.name;
        if let Some(first) =
            destinations[..index].iter().find(|other| other.destination.name == *name)
        {
            let what = format!(
                "two destinations are named `{name}`; the other is `{}`",
                first.destination.at.field
            );
            report.add_hint(
                Code::WrongValue,
                &written.name,
                what,
                "a destination's name is unique in its flow",
            );
        }
    }
}

/// Rule names, which reports go by.
pub(super) fn rule_names(report: &Report, rules: &[Rule]) {
    for (index, rule) in rules.iter().enumerate() {
        if rules[..index].iter().any(|other| other.name == rule.name) {
            let what = format!("two rules are named `{}`", rule.name);
            let hint = "give one of them a `name`; without it a rule has its component's, or its type and columns";
            report.take(Problem::new(Code::WrongValue, rule.at.clone(), what).hint(hint));
        }
    }
}

/// A source that nothing names would be read for nothing, or its name is misspelt somewhere.
pub(super) fn sources_named<'a>(
    report: &Report,
    others: &[Source],
    transforms: &'a [Step],
    rules: &'a [Rule],
    destinations: impl Iterator<Item = &'a Destination> + Clone,
) {
    let own_steps = destinations.clone().flat_map(|to| &to.transforms);
    let works: Vec<_> = transforms.iter().chain(own_steps).map(|step| &step.work).collect();
    let own_rules = destinations.flat_map(|to| &to.rules);
    let judges: Vec<_> = rules.iter().chain(own_rules).map(|rule| &rule.judge).collect();
    for Source { name, at, .. } in others {
        let is_named = works.iter().any(|work| work.names_source(name))
            || judges
                .iter()
                .any(|judge| matches!(judge, Judge::Reference { source, .. } if source == name));
        if !is_named {
            let what = format!("no step and no rule names the source `{name}`");
            let other = works.iter().find_map(|work| work.spelling_of(name));
            let hint = match other {
                Some(other) => format!("a query has `{other}`: names keep their case"),
                None => "join it, or leave it out".to_owned(),
            };
            report.take(Problem::new(Code::Contradiction, at.clone(), what).hint(hint));
        }
    }
}

/// No destination lies in another: the outer one would take the inner one's files for its own.
pub(super) fn destinations_apart(report: &Report, all: &[&Written]) {
    let places: Vec<_> = all.iter().map(|written| written.destination.path.physical()).collect();
    for (index, written) in all.iter().enumerate() {
        for (other, place) in all[..index].iter().zip(&places) {
            let (name, other) = (&written.destination.name, &other.destination.name);
            let what = if places[index] == *place {
                format!(
                    "the destinations `{other}` and `{name}` are one place, `{}`",
                    written.destination.path
                )
            } else if places[index].starts_with(place) {
                format!("the destination `{name}` lies inside the destination `{other}`")
            } else if place.starts_with(&places[index]) {
                format!("the destination `{other}` lies inside the destination `{name}`")
            } else {
                continue;
            };
            report.add_hint(
                Code::Contradiction,
                &written.path,
                what,
                "give each a folder of its own",
            );
        }
    }
}

/// Records of runs are no rows: they may not lie where a destination keeps its own.
pub(super) fn state_apart(report: &Report, state: &Path, spot: &Spot, all: &[&Written]) {
    let state = physical(state);
    for written in all {
        let Ok(inside) = state.strip_prefix(written.destination.path.physical()) else { continue };
        // Hidden names are never data.
        if !inside
            .components()
            .any(|part| part.as_os_str().to_string_lossy().starts_with(['.', '_']))
        {
            let what =
                format!("`state` lies inside the destination `{}`", written.destination.name);
            report.add_hint(Code::Contradiction, spot, what, "keep it in another folder");
        }
    }
}

/// No destination may write what the source reads, nor replace a folder that holds it.
pub(super) fn source_apart(report: &Report, source: &Source, all: &[&Written]) {
    if let Location::Server(_) = source.path {
        return;
    }
    let path = source.path.shown();
    let is_there = matches!(source.path, Location::Disk(_)) && path.exists();
    let has_pattern = !is_there && path.components().any(|part| is_pattern(part.as_os_str()));
    let fixed = match &source.path {
        Location::Disk(path) if has_pattern => physical(&fixed_part(path)),
        Location::Store(_) if has_pattern => fixed_part(&source.path.physical()),
        whole => whole.physical(),
    };
    let pattern = has_pattern.then(|| path.strip_prefix(fixed_part(&path)).unwrap_or(&path));
    for written in all {
        let place = written.destination.path.physical();
        let what = if fixed == place {
            "the destination is the source's own place"
        } else if fixed.starts_with(&place) {
            "the source lies inside this destination"
        } else if place.starts_with(&fixed) && is_read(source, &fixed, pattern, &place) {
            "the destination lies inside the source: the flow would read what it writes"
        } else {
            continue;
        };
        let path = &written.destination.path;
        report.add_hint(
            Code::Contradiction,
            &written.path,
            format!("`{path}`: {what}"),
            "write to another folder",
        );
    }
}

/// Whether the source would find files written into `place`, which lies below its fixed part.
fn is_read(source: &Source, fixed: &Path, pattern: Option<&Path>, place: &Path) -> bool {
    let Some(pattern) = pattern else { return source.recursive };
    let glob =
        GlobBuilder::new(&fixed.join(pattern).to_string_lossy()).literal_separator(true).build();
    let Ok(glob) = glob.map(|glob| glob.compile_matcher()) else { return true };
    // A folder that matches is read whole; else a file in the place may match by itself.
    let file: PathBuf = place.join(format!("part.{}", source.format.name()));
    place.ancestors().take_while(|folder| *folder != fixed).any(|folder| glob.is_match(folder))
        || glob.is_match(file)
}

/// The names of limits and what is asked of them.
pub(super) fn limits(report: &Report, found: Option<&Found<'_>>) -> BTreeMap<String, u64> {
    let mut asked = BTreeMap::new();
    let Some(found) = found else { return asked };
    let Shape::Map(entries) = &found.node.shape else {
        let what = format!("`limits` is a map from limit to number; this is {}", found.node.kind());
        report.add(Code::WrongType, &found.spot, what);
        return asked;
    };
    for entry in entries {
        let Some(limit) = Limit::named(&entry.key) else {
            let spot = found.spot.key(&entry.key, entry.at);
            let hint = known_names(&entry.key, LIMITS.iter().map(|limit| limit.name));
            report.add_hint(
                Code::UnknownKey,
                &spot,
                format!("there is no limit `{}`", entry.key),
                hint,
            );
            continue;
        };
        if entry.value.is_null() {
            continue;
        }
        let spot: Spot = found.spot.key(&entry.key, entry.value.at);
        let kind = if limit.is_size() { Number::Bytes } else { Number::Count };
        let Some(number) = number(report, &entry.value, &spot, limit.name, kind) else {
            continue;
        };
        if number > limit.ceiling {
            let what =
                format!("`{}` asks {number}; at most {} is allowed", limit.name, limit.ceiling);
            report.add(Code::WrongValue, &spot, what);
        }
        asked.insert(limit.name.to_owned(), number);
    }
    asked
}
