//! Values of the data in later texts: a `collect` step gathers them under a name while rows go by, and the SQL of later steps has
//! `{{ name }}` where the list of them stands.

use std::collections::BTreeMap;

use serde_json::Value;
use sqlparser::dialect::GenericDialect;
use sqlparser::tokenizer::Token;
use sqlparser::tokenizer::Tokenizer;

use super::blocks::FLOW;
use super::destinations::DESTINATION;
use super::fields::Block;
use super::node::Mark;
use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::report::Report;
use super::report::Spot;
use super::reserved::COLLECTED;
use super::scope::Scope;
use super::vars::refused_name;
use crate::problem::Code;
use crate::problem::known_names;

/// What a template with the name renders to.
pub(super) fn mark(name: &str) -> String {
    format!("{COLLECTED}{name}{COLLECTED}")
}

/// A configuration with `values` in the place of names, wherever it has texts.
#[must_use]
pub fn with_collected(config: &Value, values: &impl Fn(&str) -> Option<String>) -> Value {
    match config {
        Value::String(text) if text.contains(COLLECTED) => {
            let parts = text.split(COLLECTED).enumerate().map(|(at, part)| match at % 2 {
                0 => part.to_owned(),
                _ => values(part).unwrap_or_else(|| mark(part)),
            });
            Value::String(parts.collect())
        }
        Value::Array(items) => items.iter().map(|item| with_collected(item, values)).collect(),
        Value::Object(fields) => {
            let filled = |(key, value): (&String, _)| (key.clone(), with_collected(value, values));
            Value::Object(fields.iter().map(filled).collect())
        }
        other => other.clone(),
    }
}

/// The names of collected values in a configuration, as often as they stand there.
#[must_use]
pub fn collected_names(config: &Value) -> Vec<&str> {
    match config {
        Value::String(text) => names_in(text).collect(),
        Value::Array(items) => items.iter().flat_map(collected_names).collect(),
        Value::Object(fields) => fields.values().flat_map(collected_names).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The names in a text.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(COLLECTED).skip(1).step_by(2)
}

/// All names that `collect` steps of the file give, before anything else of it is read: texts are rendered first. What is no name
/// is told where the step is read.
pub(super) fn declared(tree: &Node) -> BTreeMap<String, Mark> {
    let mut names = BTreeMap::new();
    of_chains(tree, &FLOW, &mut names);
    for destinations in of_field(tree, &FLOW, "destinations") {
        match &destinations.shape {
            Shape::List(items) => items.iter().for_each(|item| of_destination(item, &mut names)),
            _ => of_destination(destinations, &mut names),
        }
    }
    names
}

fn of_destination(destination: &Node, names: &mut BTreeMap<String, Mark>) {
    of_chains(destination, &DESTINATION, names);
    let configured = destination.entries().iter().filter(|entry| entry.key == "configure");
    configured.for_each(|entry| of_chains(&entry.value, &DESTINATION, names));
}

fn of_chains(node: &Node, block: &'static Block, names: &mut BTreeMap<String, Mark>) {
    for chain in of_field(node, block, "transforms") {
        let Shape::List(steps) = &chain.shape else { continue };
        for step in steps {
            let is_collect = |word: &str| word.trim().eq_ignore_ascii_case("collect");
            let typed =
                text(step, "type").is_some_and(|(word, _)| is_collect(word)).then_some(step);
            let short = step.entries().iter().find(|entry| is_collect(&entry.key));
            let short = short.map(|entry| &entry.value);
            let named = typed.into_iter().chain(short).filter_map(|block| text(block, "as"));
            let named = named.filter(|(name, _)| refused_name(name).is_none());
            names.extend(named.map(|(name, at)| (name.to_owned(), at)));
        }
    }
}

/// What a block sets a field to, by whatever name.
fn of_field<'a>(
    node: &'a Node,
    block: &'static Block,
    name: &'static str,
) -> impl Iterator<Item = &'a Node> {
    let is_field = move |key: &str| block.find(key).is_some_and(|field| field.name == name);
    node.entries().iter().filter(move |entry| is_field(&entry.key)).map(|entry| &entry.value)
}

fn text<'a>(block: &'a Node, key: &str) -> Option<(&'a str, Mark)> {
    block.entries().iter().find_map(|entry| match &entry.value.shape {
        Shape::Text(text) if entry.key == key => Some((text.as_str(), entry.value.at)),
        _ => None,
    })
}

/// Tells of names that variables of the flow have as well: what `{{ name }}` means would depend on who reads it.
pub(super) fn judge_names(
    report: &Report,
    names: &BTreeMap<String, Mark>,
    is_variable: impl Fn(&str) -> bool,
) {
    for (name, at) in names.iter().filter(|(name, _)| is_variable(name)) {
        let what = format!("`{name}` is a variable, and the name of collected values as well");
        let spot = Spot { at: *at, path: "as".to_owned() };
        report.add_hint(Code::Contradiction, &spot, what, "give one of them another name");
    }
}

/// Whether each name in the text is a token of its own, as the engine reads it: within a literal, a comment or a quoted name, a value
/// could end that, and go on as SQL.
fn are_tokens(text: &str) -> Result<bool, String> {
    let mut word = "collected".to_owned();
    while text.contains(&word) {
        word.push('_');
    }
    let parts = text.split(COLLECTED).enumerate();
    let parts: Vec<_> = parts.map(|(at, part)| if at % 2 == 0 { part } else { &word }).collect();
    let tokens = Tokenizer::new(&GenericDialect {}, &parts.concat()).tokenize();
    let tokens = tokens.map_err(|error| error.to_string())?;
    let is_name = |token: &&Token| matches!(token, Token::Word(one) if one.value == word && one.quote_style.is_none());
    Ok(tokens.iter().filter(is_name).count() == parts.len() / 2)
}

impl Scope<'_> {
    /// Reads a chain of its own: what its steps collect is known in it alone.
    pub(super) fn apart<T>(&self, read: impl FnOnce() -> T) -> T {
        let known = self.collected.borrow().len();
        let chain = read();
        self.collected.borrow_mut().truncate(known);
        chain
    }

    /// The name that a `collect` step gives its values; later steps may use it.
    pub(super) fn collects(&self, fields: &Fields<'_>) -> Option<String> {
        let name = fields.text("as")?;
        if let Some(why) = refused_name(&name.value) {
            self.report.add(Code::WrongValue, &name.spot, why);
            return None;
        }
        let mut collected = self.collected.borrow_mut();
        if collected.contains(&name.value) {
            let what = format!("a step before this one collects `{}`", name.value);
            let hint = "give each its own name";
            self.report.add_hint(Code::Contradiction, &name.spot, what, hint);
            return None;
        }
        collected.push(name.value.clone());
        Some(name.value)
    }

    /// The SQL of a step.
    pub(super) fn sql(&self, fields: &Fields<'_>, name: &'static str) -> Option<String> {
        let sql = fields.step_sql(name)?;
        (self.knows(&sql.value, &sql.spot) && self.is_sound(&sql.value, &sql.spot))
            .then_some(sql.value)
    }

    /// Several texts of it.
    pub(super) fn sqls(&self, fields: &Fields<'_>, name: &'static str) -> Option<Vec<String>> {
        let sqls = fields.step_sqls(name)?;
        let is_good = |sql: &String| self.knows(sql, &sqls.spot) && self.is_sound(sql, &sqls.spot);
        sqls.value.iter().all(is_good).then_some(sqls.value)
    }

    /// Whether steps before collect what the text names; that they do not is told.
    fn knows(&self, text: &str, spot: &Spot) -> bool {
        let collected = self.collected.borrow();
        let Some(missing) =
            names_in(text).find(|name| !collected.iter().any(|known| known == name))
        else {
            return true;
        };
        let what = format!("no step before this one collects `{missing}`");
        let hint = match collected.is_empty() {
            true => "put the `collect` step first, in this chain or the main one".to_owned(),
            false => known_names("", collected.iter().map(String::as_str)),
        };
        self.report.add_hint(Code::UnknownName, spot, what, hint);
        false
    }

    /// Whether the names in the text stand where values can; that they do not is told.
    fn is_sound(&self, text: &str, spot: &Spot) -> bool {
        if !text.contains(COLLECTED) {
            return true;
        }
        let (what, hint) = match are_tokens(text) {
            Ok(true) => return true,
            Ok(false) => {
                let what = "collected values cannot stand within a literal, a comment or a name";
                (what.to_owned(), "write `{{ name }}` by itself, as in `country IN ({{ name }})`")
            }
            Err(error) => (format!("this is no SQL: {error}"), "mend it"),
        };
        self.report.add_hint(Code::WrongValue, spot, what, hint);
        false
    }
}
