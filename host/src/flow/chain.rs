//! Components, the steps that run them, and the rules that they judge by.

use std::collections::BTreeMap;

use serde_json::Map;
use serde_json::Value;

use super::ComponentSource;
use super::Judge;
use super::Rule;
use super::Step;
use super::Work;
use super::blocks::COMPONENT;
use super::blocks::RULE;
use super::blocks::STEP;
use super::fields::Block;
use super::fields::Kind;
use super::fields::Word;
use super::location::Folder;
use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::report::Report;
use super::report::Spot;
use super::scalars;
use crate::name::ComponentName;
use crate::problem::Code;
use crate::problem::known_names;
use crate::table::Severity;

/// Components by name; `None` where one cannot be read, so that its users are not blamed.
pub(super) type Components = BTreeMap<String, Option<ComponentSource>>;

/// The flow's components. Their files are not opened, but they have to be there.
pub(super) fn components(report: &Report, flow: &Fields<'_>, folder: &Folder) -> Components {
    let mut components = Components::new();
    let Some(found) = flow.get("components") else { return components };
    let Shape::Map(entries) = &found.node.shape else {
        let what =
            format!("`components` is a map from name to component; this is {}", found.node.kind());
        report.add(Code::WrongType, &found.spot, what);
        return components;
    };
    for entry in entries {
        let spot = found.spot.key(&entry.key, entry.at);
        let source = if entry.key.starts_with("std:") {
            let what = format!(
                "`{}` is a component of the standard library, which this version does not have",
                entry.key
            );
            report.add(Code::NotOffered, &spot, what);
            None
        } else if let Err(what) = ComponentName::new(entry.key.as_str()) {
            report.add(Code::WrongValue, &spot, what);
            None
        } else {
            component(report, &entry.value, &spot, folder)
        };
        components.insert(entry.key.clone(), source);
    }
    components
}

fn component(
    report: &Report,
    node: &Node,
    spot: &Spot,
    folder: &Folder,
) -> Option<ComponentSource> {
    let fields = Fields::open(report, &COMPONENT, node, spot)?;
    fields.word("profile");
    let digest = fields.text("digest").map(|digest| {
        let hex = digest.value.strip_prefix("sha256:").unwrap_or_default().to_owned();
        if hex.len() != 64 || !hex.chars().all(|c| c.is_ascii_hexdigit()) {
            let what =
                format!("`{}` is no digest: `sha256:` and 64 hexadecimal digits", digest.value);
            report.add(Code::WrongValue, &digest.spot, what);
        }
        format!("sha256:{}", hex.to_lowercase())
    });
    let Some(path) = fields.text("path") else {
        let has_ref = matches!(&node.shape, Shape::Map(entries) if entries.iter().any(|entry| entry.key == "ref"));
        if fields.get("path").is_none() && !has_ref {
            fields.missing("path");
        }
        return None;
    };
    let path = folder.resolve(report, path)?;
    if !path.value.is_file() {
        let what = match path.value.exists() {
            true => format!("`{}` is not a file", path.value.display()),
            false => format!("there is no file `{}`", path.value.display()),
        };
        report.add_hint(
            Code::NotFound,
            &path.spot,
            what,
            "build the component first, or correct the path",
        );
    }
    Some(ComponentSource { path: path.value, digest, at: report.place(spot) })
}

/// The main chain.
pub(super) fn steps(report: &Report, flow: &Fields<'_>, components: &Components) -> Vec<Step> {
    let Some(found) = flow.get("transforms") else { return Vec::new() };
    let Shape::List(items) = &found.node.shape else {
        let what = format!("`transforms` is a list of steps; this is {}", found.node.kind());
        report.add_hint(
            Code::WrongType,
            &found.spot,
            what,
            "write `[{ type: component, component: … }]`",
        );
        return Vec::new();
    };
    let items = items.iter().enumerate();
    items
        .filter_map(|(index, item)| {
            step(report, item, &found.spot.item(index, item.at), components)
        })
        .collect()
}

fn step(report: &Report, node: &Node, spot: &Spot, components: &Components) -> Option<Step> {
    let (fields, spot) = typed(report, &STEP, node, spot)?;
    fields.word("on_failure");
    let (component, config) = component_of(report, &fields, components)?;
    Some(Step { work: Work::Component { component, config }, at: report.place(&spot) })
}

/// The flow's rules.
pub(super) fn rules(report: &Report, flow: &Fields<'_>, components: &Components) -> Vec<Rule> {
    let Some(found) = flow.get("rules") else { return Vec::new() };
    let mut rules = Vec::new();
    let mut take = |node: &Node, spot: &Spot| rules.extend(rule(report, node, spot, components));
    match &found.node.shape {
        Shape::List(items) => {
            for (index, item) in items.iter().enumerate() {
                take(item, &found.spot.item(index, item.at));
            }
        }
        Shape::Map(entries) if entries.iter().any(|entry| entry.key == "type") => {
            let what = "a rule stands in a list, also where it is the only one";
            report.add_hint(Code::WrongType, &found.spot, what, "write `- type: …`");
        }
        // `not_null: [a, b]` and the like.
        Shape::Map(entries) => {
            for entry in entries.iter().filter(|entry| !entry.value.is_null()) {
                let one = Node { at: entry.at, shape: Shape::Map(vec![entry.clone()]) };
                take(&one, &found.spot);
            }
        }
        _ => {
            let what = format!("`rules` is a list of rules; this is {}", found.node.kind());
            report.add_hint(
                Code::WrongType,
                &found.spot,
                what,
                "write `[{ type: component, component: … }]`",
            );
        }
    }
    rules
}

fn rule(report: &Report, node: &Node, spot: &Spot, components: &Components) -> Option<Rule> {
    let (fields, spot) = typed(report, &RULE, node, spot)?;
    let name = fields.text("name");
    let severity = match fields.word("severity").map(|word| word.value.name) {
        Some("warn") => Severity::Warn,
        Some("drop") => Severity::Drop,
        Some("quarantine") => Severity::Quarantine,
        _ => Severity::Fail,
    };
    let (component, config) = component_of(report, &fields, components)?;
    let name = name.map_or_else(|| component.to_string(), |name| name.value);
    let judge = Judge::Component { component, config };
    let on_null = judge.on_null();
    Some(Rule { name, judge, filter: None, on_null, severity, at: report.place(&spot) })
}

/// The component and the configuration of a step or rule.
fn component_of(
    report: &Report,
    fields: &Fields<'_>,
    components: &Components,
) -> Option<(ComponentName, Value)> {
    let config = fields.json("config").unwrap_or_else(|| Value::Object(Map::new()));
    let name = fields.text("component")?;
    if name.value.starts_with("std:") {
        let what = format!(
            "`{}` is a component of the standard library, which this version does not have",
            name.value
        );
        report.add(Code::NotOffered, &name.spot, what);
        return None;
    }
    if !components.contains_key(&name.value) {
        let what = format!("there is no component `{}`", name.value);
        let hint = match components.is_empty() {
            true => "name it under `components`".to_owned(),
            false => known_names(&name.value, components.keys().map(String::as_str)),
        };
        report.add_hint(Code::UnknownName, &name.spot, what, hint);
        return None;
    }
    Some((ComponentName::new(name.value).ok()?, config))
}

/// The fields of a step or rule whose type is `component`. Other types are told and give `None`.
///
/// `{type: {…}}` is short for `{type: type, …}`.
fn typed<'a>(
    report: &'a Report,
    block: &'static Block,
    node: &'a Node,
    spot: &Spot,
) -> Option<(Fields<'a>, Spot)> {
    let Some(Kind::Word(types)) = block.find("type").map(|field| field.kind) else { return None };
    let noun = if std::ptr::eq(block, &STEP) { "a step" } else { "a rule" };
    if let Shape::Refused = node.shape {
        return None;
    }
    let Shape::Map(entries) = &node.shape else {
        report.add(Code::WrongType, spot, format!("{noun} is a map; this is {}", node.kind()));
        return None;
    };
    if let Some(entry) = entries.iter().find(|entry| entry.key == "type" && !entry.value.is_null())
    {
        let at = spot.key("type", entry.value.at);
        let text = scalars::text(report, &entry.value, &at)?;
        scalars::word(report, &at, "type", text, types)?;
        return Fields::open(report, block, node, spot).map(|fields| (fields, spot.clone()));
    }
    let [entry] = entries.as_slice() else {
        let what = format!("{noun} needs `type`");
        let is_component = entries.iter().any(|entry| entry.key == "component");
        let hint =
            if is_component { "add `type: component`".to_owned() } else { types_hint(types) };
        report.add_hint(Code::MissingKey, spot, what, hint);
        return None;
    };
    let at = spot.key(&entry.key, entry.at);
    if !types.iter().any(|word| word.is(&entry.key)) {
        let hint = known_names(&entry.key, types.iter().map(|word| word.name));
        report.add_hint(Code::UnknownKey, &at, format!("{noun} has no type `{}`", entry.key), hint);
        return None;
    }
    scalars::word(report, &at, "type", &entry.key, types)?;
    if let Shape::Text(_) = entry.value.shape {
        report.add_hint(
            Code::MissingKey,
            spot,
            format!("{noun} needs `type`"),
            "add `type: component`",
        );
        return None;
    }
    let fields = Fields::open_short(report, block, &entry.value, &at)?;
    Some((fields, at))
}

fn types_hint(types: &[Word]) -> String {
    known_names("", types.iter().map(|word| word.name))
}
