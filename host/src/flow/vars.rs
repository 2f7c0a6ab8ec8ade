//! The flow's variables: declared with defaults, set by `--var`, and the built-in ones.

use std::collections::BTreeMap;

use super::ReadContext;
use super::node::Entry;
use super::node::Node;
use super::node::Shape;
use super::report::Report;
use super::report::Spot;
use super::scalars::shown;
use super::template::RESERVED;
use super::template::Refusal;
use super::template::Rendered;
use super::template::Templates;
use super::template::WORDS;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::problem::known_names;

/// Puts the variables in force into `templates`, and tells of those that cannot be.
pub(super) fn declare(
    report: &Report,
    tree: &Node,
    context: &ReadContext,
    templates: &mut Templates,
) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    let mut refused = Vec::new();
    for entry in declared(tree) {
        let spot = Spot::default().key("vars", entry.at).key(&entry.key, entry.at);
        if let Some(why) = refused_name(&entry.key) {
            report.add(Code::WrongValue, &spot, why);
            continue;
        }
        // Until its value is known to be good; those who use it are not to blame.
        refused.push(entry.key.as_str());
        let given = context.vars.get(&entry.key).or(context.shared_vars.get(&entry.key));
        let default = if given.is_some() { None } else { default(report, entry, &spot, templates) };
        let Some(text) = given.cloned().or(default) else { continue };
        match typed(&entry.value.shape, &text) {
            Some(value) => values.insert(entry.key.clone(), (text, value)),
            None => {
                let (name, own) = (&entry.key, entry.value.kind());
                if context.vars.contains_key(name) {
                    let what = format!("`--var {name}={text}`: the flow's own value is {own}");
                    let at = Place::field("", format!("--var {name}"));
                    report.take(Problem::new(Code::WrongType, at, what));
                } else {
                    let what = format!("`--vars-file` has `{text}`, and the value here is {own}");
                    report.add(Code::WrongType, &spot, what);
                }
                continue;
            }
        };
    }
    for (name, text) in &context.vars {
        if values.contains_key(name) || declared(tree).any(|entry| entry.key == *name) {
            continue;
        }
        match refused_name(name) {
            Some(why) => report.take(Problem::new(
                Code::WrongValue,
                Place::field("", format!("--var {name}")),
                why,
            )),
            None => drop(values.insert(name.clone(), (text.clone(), text.as_str().into()))),
        }
    }
    for (name, text) in &context.shared_vars {
        if !values.contains_key(name) && !declared(tree).any(|entry| entry.key == *name) {
            values.insert(name.clone(), (text.clone(), text.as_str().into()));
        }
    }
    refused.iter().for_each(|name| templates.refuse(name));
    // Only now, so that no variable's default sees another: their order would matter.
    for (name, (_, value)) in &values {
        templates.set(name, value.clone());
    }
    values.into_iter().map(|(name, (text, _))| (name, text)).collect()
}

/// Whether the flow declares the variable, or it is given for this flow alone.
pub(super) fn is_known(tree: &Node, context: &ReadContext, name: &str) -> bool {
    context.vars.contains_key(name) || declared(tree).any(|entry| entry.key == name)
}

/// Tells of `--var` names that nothing in the flow knows: most likely misspelt.
pub(super) fn check_given(
    report: &Report,
    tree: &Node,
    context: &ReadContext,
    templates: &Templates,
) {
    let names: Vec<_> = declared(tree).map(|entry| entry.key.as_str()).collect();
    for name in context.vars.keys() {
        if names.contains(&name.as_str()) || templates.uses(name) || refused_name(name).is_some() {
            continue;
        }
        let known =
            names.iter().copied().chain(templates.used().filter(|name| !RESERVED.contains(name)));
        let known: std::collections::BTreeSet<_> = known.collect();
        let what = format!("the flow has no variable `{name}`");
        let at = Place::field("", format!("--var {name}"));
        report.take(Problem::new(Code::UnknownName, at, what).hint(known_names(name, known)));
    }
}

/// The variables of a file that holds nothing else.
pub(super) fn of_file(report: &Report, tree: &Node) -> BTreeMap<String, String> {
    if !matches!(tree.shape, Shape::Map(_)) {
        let what = format!("a map of names to values is due; this is {}", tree.kind());
        report.add(Code::WrongType, &Spot { at: tree.at, path: String::new() }, what);
    }
    let value = |entry: &Entry| {
        let spot = Spot::default().key(&entry.key, entry.at);
        if let Some(why) = refused_name(&entry.key) {
            report.add(Code::WrongValue, &spot, why);
            return None;
        }
        match &entry.value.shape {
            Shape::Text(text) => Some((entry.key.clone(), text.clone())),
            Shape::Number(number) => Some((entry.key.clone(), number.to_string())),
            Shape::Bool(value) => Some((entry.key.clone(), value.to_string())),
            Shape::Null
            | Shape::Secret(_)
            | Shape::Collected(_)
            | Shape::Refused
            | Shape::List(_)
            | Shape::Map(_) => {
                not_plain(report, &entry.value, &spot);
                None
            }
        }
    };
    tree.entries().iter().filter_map(value).collect()
}

fn not_plain(report: &Report, node: &Node, spot: &Spot) {
    let what = format!("a variable is text, a number, true or false; this is {}", shown(node));
    report.add(Code::WrongType, spot, what);
}

/// The entries of `vars`. That they are a map is told elsewhere.
fn declared(tree: &Node) -> impl Iterator<Item = &Entry> {
    tree.entries().iter().filter(|entry| entry.key == "vars").flat_map(|vars| vars.value.entries())
}

/// A variable's own value as text; templates in it know the built-in names only.
fn default(
    report: &Report,
    entry: &Entry,
    spot: &Spot,
    templates: &mut Templates,
) -> Option<String> {
    let spot = Spot { at: entry.value.at, path: spot.path.clone() };
    match &entry.value.shape {
        Shape::Text(text) => match templates.render(text) {
            Ok(None) => Some(text.clone()),
            Ok(Some(Rendered::Text(text))) => Some(text),
            // Names of collected values are set after this.
            Ok(Some(Rendered::Collected(_))) => None,
            Ok(Some(Rendered::Secret(_))) => {
                let what = "variables are recorded, and a secret must not be";
                let hint = "name the secret in the field that takes it";
                report.add_hint(Code::NotAllowed, &spot, what, hint);
                None
            }
            Err(refusal) => {
                let hint =
                    "a variable may use `run_id` and `logical_date`, no other variable".to_owned();
                match refusal {
                    Refusal::Because { code: Code::UnknownName, what, .. } => {
                        Refusal::Because { code: Code::UnknownName, what, hint: Some(hint) }
                    }
                    other => other,
                }
                .tell(report, &spot);
                None
            }
        },
        Shape::Number(number) => Some(number.to_string()),
        Shape::Bool(value) => Some(value.to_string()),
        Shape::Null | Shape::Refused => None,
        // Variables are rendered here, and nowhere before.
        Shape::Secret(_) | Shape::Collected(_) | Shape::List(_) | Shape::Map(_) => {
            not_plain(report, &entry.value, &spot);
            None
        }
    }
}

/// The text as the type that the flow's own value has; `None` where it is no such thing.
fn typed(declared: &Shape, text: &str) -> Option<minijinja::Value> {
    match declared {
        Shape::Bool(_) => text.parse::<bool>().ok().map(Into::into),
        Shape::Number(_) => {
            let whole = text.parse::<i64>().ok().map(minijinja::Value::from);
            whole.or_else(|| {
                text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Into::into)
            })
        }
        Shape::Null
        | Shape::Text(_)
        | Shape::Secret(_)
        | Shape::Collected(_)
        | Shape::List(_)
        | Shape::Map(_)
        | Shape::Refused => Some(text.into()),
    }
}

pub(super) fn refused_name(name: &str) -> Option<String> {
    let mut chars = name.chars();
    let starts = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if RESERVED.contains(&name) {
        Some(format!("`{name}` is a built-in name"))
    } else if WORDS.contains(&name) {
        Some(format!("`{name}` is a word of templates"))
    } else if !starts || !chars.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        Some(format!("`{name}` is no variable name: letters, digits and `_`, no digit first"))
    } else {
        None
    }
}
