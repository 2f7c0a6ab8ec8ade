//! A flow as text: every field, in one stable order. New fields do not compile until they are shown.

use std::fmt::Write;

use wasmhost::flow::ComponentSource;
use wasmhost::flow::Destination;
use wasmhost::flow::Flow;
use wasmhost::flow::Judge;
use wasmhost::flow::Layout;
use wasmhost::flow::Location;
use wasmhost::flow::Rule;
use wasmhost::flow::SchemaChange;
use wasmhost::flow::Source;
use wasmhost::flow::Step;
use wasmhost::flow::StoreLocation;
use wasmhost::flow::StoreSettings;
use wasmhost::flow::Work;

macro_rules! json {
    ($value:expr) => {
        serde_json::to_string($value).unwrap()
    };
}

pub(super) fn flow(flow: &Flow) -> String {
    let Flow {
        name,
        file,
        digest,
        vars,
        components,
        source,
        other_sources,
        transforms,
        rules,
        max_quarantine_fraction,
        quarantine,
        destinations,
        limits,
        state,
    } = flow;
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").unwrap();
    assert_eq!(digest.len(), 64);
    line(format!("flow {name} of {}, state {}", file.display(), state.display()));
    vars.iter().for_each(|(name, value)| line(format!("var {name} = {value:?}")));
    for (name, ComponentSource { path, digest, at }) in components {
        assert!(at.line.is_some());
        line(format!(
            "component {name} {}{}",
            path.display(),
            digest.iter().map(|digest| format!(" {digest}")).collect::<String>()
        ));
    }
    line(self::source(source));
    other_sources.iter().for_each(|other| line(format!("other {}", self::source(other))));
    transforms.iter().for_each(|step| line(self::step(step)));
    rules.iter().for_each(|rule| line(self::rule(rule)));
    max_quarantine_fraction
        .iter()
        .for_each(|fraction| line(format!("max_quarantine_fraction {fraction}")));
    quarantine
        .iter()
        .for_each(|quarantine| line(format!("quarantine {}", destination(quarantine))));
    destinations.iter().for_each(|written| line(format!("destination {}", destination(written))));
    limits.iter().for_each(|(name, value)| line(format!("limit {name} = {value}")));
    out
}

/// How a store is got into; nothing for a place on a disk.
fn store(location: &Location) -> String {
    let Location::Store(StoreLocation { settings, .. }) = location else { return String::new() };
    let StoreSettings {
        options,
        anonymous,
        allow_http,
        virtual_hosted,
        timeout,
        connect_timeout,
        retries,
    } = settings.as_ref();
    let mut out = format!(
        "\n  store: http {allow_http:?}, virtual hosted {virtual_hosted:?}, {timeout:?}, {connect_timeout:?}, {retries} retries"
    );
    if *anonymous == Some(true) {
        out += "\n  anonymous";
    }
    for (option, value) in options {
        write!(out, "\n  {option:?} {value} of {} bytes", value.reveal().len()).unwrap();
    }
    out
}

fn source(source: &Source) -> String {
    let Source {
        name,
        path,
        base: _,
        format,
        columns,
        schema_hints,
        merge_schema,
        allow_missing,
        recursive,
        path_glob_filter,
        filter,
        source_complete,
        query,
        at,
    } = source;
    assert!(at.line.is_some());
    let mut out = format!("source {name} {path} {}{}", json!(format), store(path));
    columns.iter().for_each(|columns| write!(out, "\n  columns {}", json!(columns)).unwrap());
    schema_hints
        .iter()
        .for_each(|(column, hint)| write!(out, "\n  hint {column}: {hint}").unwrap());
    write!(
        out,
        "\n  merge_schema {merge_schema}, allow_missing {allow_missing}, recursive {recursive}"
    )
    .unwrap();
    path_glob_filter.iter().for_each(|glob| write!(out, ", only {glob}").unwrap());
    filter.iter().for_each(|sql| write!(out, ", where {sql}").unwrap());
    if *source_complete {
        write!(out, ", complete").unwrap();
    }
    query.iter().for_each(|query| write!(out, "\n  asked: {}", step(query)).unwrap());
    out
}

fn step(step: &Step) -> String {
    let Step { work, at } = step;
    assert!(at.line.is_some());
    match work {
        Work::Component { component, config } => format!("step {component} {config}"),
        built_in => format!("step {}", json!(built_in)),
    }
}

fn rule(rule: &Rule) -> String {
    let Rule { name, judge, filter, on_null, severity, at } = rule;
    assert!(at.line.is_some());
    let filter: String = filter.iter().map(|filter| format!(" where {filter:?}")).collect();
    match judge {
        Judge::Component { component, config } => {
            format!("rule {name} {severity:?}{filter}: {component} {config}")
        }
        built_in => {
            format!("rule {name} {severity:?}{filter}, null {on_null:?}: {}", json!(built_in))
        }
    }
}

fn destination(destination: &Destination) -> String {
    let Destination {
        name,
        path,
        format,
        transforms,
        rules,
        load,
        columns,
        partition_columns,
        by_date,
        schema_change,
        layout,
        table_properties,
        at,
    } = destination;
    assert!(at.line.is_some());
    let mut out = format!("{name} {path} {} {}{}", json!(format), json!(load), store(path));
    transforms.iter().for_each(|step| write!(out, "\n  {}", self::step(step)).unwrap());
    rules.iter().for_each(|rule| write!(out, "\n  {}", self::rule(rule)).unwrap());
    columns.iter().for_each(|columns| write!(out, "\n  columns {}", json!(columns)).unwrap());
    if !partition_columns.is_empty() {
        write!(out, "\n  partition_columns {}", json!(partition_columns)).unwrap();
    }
    if !by_date.is_no() {
        write!(out, "\n  by date {}", json!(by_date)).unwrap();
    }
    if *schema_change != SchemaChange::Refuse {
        write!(out, "\n  schema_change {}", json!(schema_change)).unwrap();
    }
    if *layout != Layout::default() {
        write!(out, "\n  layout {}", json!(layout)).unwrap();
    }
    for (name, value) in table_properties {
        write!(out, "\n  property {name} = {value:?}").unwrap();
    }
    out
}
