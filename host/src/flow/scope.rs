//! What steps and rules may name: components and other sources.

use std::cell::Cell;
use std::cell::RefCell;

use serde_json::Map;
use serde_json::Value;

use super::components::Components;
use super::open::Fields;
use super::report::Report;
use crate::name::ComponentName;
use crate::problem::Code;
use crate::problem::known_names;

/// The names of a flow, for its chains.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    pub(super) report: &'a Report,
    pub(super) components: &'a Components,
    /// `None` where it cannot be said which sources there are, so that nobody is blamed for naming one.
    pub(super) sources: Option<SourceNames>,
    /// Whether a step or rule could not be read: it may have named anything.
    pub(super) has_unread: Cell<bool>,
    /// Names of values that the steps read so far collect.
    pub(super) collected: RefCell<Vec<String>>,
}

/// Sources by name, also those that cannot be read.
#[derive(Debug)]
pub(super) struct SourceNames {
    pub(super) main: String,
    pub(super) others: Vec<String>,
}

impl Scope<'_> {
    /// Passes a step or rule on, and notes where there is none.
    pub(super) fn read<T>(&self, read: Option<T>) -> Option<T> {
        if read.is_none() {
            self.has_unread.set(true);
        }
        read
    }

    /// The component and the configuration of a step or rule.
    pub(super) fn component(&self, fields: &Fields<'_>) -> Option<(ComponentName, Value)> {
        let config = fields.json("config").unwrap_or_else(|| Value::Object(Map::new()));
        let name = fields.text("component")?;
        if name.value.starts_with("std:") {
            let what = format!(
                "`{}` is a component of the standard library, which this version does not have",
                name.value
            );
            self.report.add(Code::NotOffered, &name.spot, what);
            return None;
        }
        if !self.components.contains_key(&name.value) {
            let what = format!("there is no component `{}`", name.value);
            let hint = match self.components.is_empty() {
                true => "name it under `components`".to_owned(),
                false => known_names(&name.value, self.components.keys().map(String::as_str)),
            };
            self.report.add_hint(Code::UnknownName, &name.spot, what, hint);
            return None;
        }
        Some((ComponentName::new(name.value).ok()?, config))
    }

    /// The name of another source.
    pub(super) fn source(&self, fields: &Fields<'_>, field: &'static str) -> Option<String> {
        let name = fields.text(field)?;
        let SourceNames { main, others } = self.sources.as_ref()?;
        if name.value == *main {
            let what = format!("`{main}` is the source that is transformed here");
            let hint = match others.is_empty() {
                true => "name the other source under `sources`".to_owned(),
                false => known_names("", others.iter().map(String::as_str)),
            };
            self.report.add_hint(Code::Contradiction, &name.spot, what, hint);
            return None;
        }
        if !others.contains(&name.value) {
            let what = format!("there is no source `{}` beside `{main}`", name.value);
            let hint = match others.is_empty() {
                true => "name it under `sources`, as `main` and others".to_owned(),
                false => known_names(&name.value, others.iter().map(String::as_str)),
            };
            self.report.add_hint(Code::UnknownName, &name.spot, what, hint);
            return None;
        }
        Some(name.value)
    }
}
