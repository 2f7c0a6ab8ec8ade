//! A block of the file with its keys resolved: aliases lowered, unknown and repeated keys told.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::fields::Block;
use super::fields::Field;
use super::fields::Kind;
use super::fields::Offer;
use super::node::Entry;
use super::node::Node;
use super::node::Shape;
use super::report::Report;
use super::report::Spot;
use crate::problem::Code;
use crate::problem::known_names;
use crate::problem::nearest;

/// A block's fields that are set, offered and spelt once.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    pub(super) report: &'a Report,
    pub(super) block: &'static Block,
    pub(super) spot: Spot,
    /// By canonical name.
    pub(super) found: BTreeMap<&'static str, Found<'a>>,
    /// Fields that unknown keys were most likely meant to be.
    suspected: BTreeSet<&'static str>,
}

/// A field that is set.
#[derive(Debug, Clone)]
pub(super) struct Found<'a> {
    pub(super) field: &'static Field,
    pub(super) node: &'a Node,
    pub(super) spot: Spot,
    /// The key itself, for problems that are about the key.
    pub(super) key: Spot,
}

impl<'a> Fields<'a> {
    /// Resolves the keys of a map; `None` where there is no map. `spot` is the block's own place.
    pub(super) fn open(
        report: &'a Report,
        block: &'static Block,
        node: &'a Node,
        spot: &Spot,
    ) -> Option<Self> {
        Self::open_but(report, block, node, spot, "")
    }

    /// The same for a block whose `type` is said around it.
    pub(super) fn open_short(
        report: &'a Report,
        block: &'static Block,
        node: &'a Node,
        spot: &Spot,
    ) -> Option<Self> {
        Self::open_but(report, block, node, spot, "type")
    }

    fn open_but(
        report: &'a Report,
        block: &'static Block,
        node: &'a Node,
        spot: &Spot,
        given: &str,
    ) -> Option<Self> {
        if let Shape::Refused = node.shape {
            return None;
        }
        let Shape::Map(entries) = &node.shape else {
            let name = if block.is_options() { "a block of options" } else { block.name };
            let what = format!("{name} is a map; this is {}", node.kind());
            report.add(Code::WrongType, spot, what);
            return None;
        };
        let mut fields = Self::none(report, block, spot);
        fields.resolve(entries, spot);
        fields.tell_missing(given);
        Some(fields)
    }

    /// A block whose fields are said without their names; its `type` is said around it.
    pub(super) fn given(
        report: &'a Report,
        block: &'static Block,
        spot: &Spot,
        given: impl IntoIterator<Item = (&'static str, &'a Node, Spot)>,
    ) -> Self {
        let mut fields = Self::none(report, block, spot);
        for (name, node, spot) in given {
            if let Some(field) = block.find(name) {
                let found = Found { field, node, spot: spot.clone(), key: spot };
                fields.found.insert(field.name, found);
            }
        }
        fields.tell_missing("type");
        fields
    }

    /// Tells of required fields that are not set, but for the one that is said elsewhere.
    fn tell_missing(&self, elsewhere: &str) {
        let missing = |field: &&Field| field.required && !self.found.contains_key(field.name);
        for field in self.block.fields.iter().filter(missing) {
            if field.name != elsewhere {
                self.missing(field.name);
            }
        }
    }

    /// A block in which nothing is set.
    pub(super) fn none(report: &'a Report, block: &'static Block, spot: &Spot) -> Self {
        Self {
            report,
            block,
            spot: spot.clone(),
            found: BTreeMap::new(),
            suspected: BTreeSet::new(),
        }
    }

    fn resolve(&mut self, entries: &'a [Entry], spot: &Spot) {
        for entry in entries {
            let key = spot.key(&entry.key, entry.at);
            if self.block.lifts_configure && entry.key == "configure" {
                match &entry.value.shape {
                    Shape::Map(inner) => self.resolve(inner, &key),
                    Shape::Null => {}
                    _ => self.report.add(
                        Code::WrongType,
                        &key,
                        format!("`configure` is a map; this is {}", entry.value.kind()),
                    ),
                }
                continue;
            }
            let Some(field) = self.block.find(&entry.key) else {
                let what = format!("{} has no field `{}`", self.block.name, entry.key);
                let what = if self.block.is_options() {
                    format!("{} has no option `{}`", self.block.name, entry.key)
                } else {
                    what
                };
                let hint = nearest_key(self.block, &entry.key);
                self.report.add_hint(Code::UnknownKey, &key, what, hint);
                let near = nearest(&entry.key, self.block.all_keys())
                    .and_then(|near| self.block.find(near));
                self.suspected.extend(near.map(|field| field.name));
                continue;
            };
            if entry.value.is_null() {
                if field.has_word("null") {
                    let what =
                        format!("`{}: null` without quotes is as good as left out", entry.key);
                    let hint = "write it in quotes, or leave it out";
                    self.report.add_hint(Code::WrongType, &key, what, hint);
                }
                continue;
            }
            match field.offer {
                Offer::Now => self.keep(field, entry, key),
                // The field is not there, but neither is it missing nor unknown.
                Offer::Later(why) => {
                    self.report.add(Code::NotOffered, &key, format!("`{}` {why}", entry.key))
                }
                Offer::Never(why) => {
                    self.report.add(Code::Contradiction, &key, format!("`{}` {why}", entry.key))
                }
            }
        }
    }

    fn keep(&mut self, field: &'static Field, entry: &'a Entry, key: Spot) {
        if let Some(first) = self.found.get(field.name) {
            let what = format!("`{}` and `{}` are one field, set twice", first.key.path, key.path);
            self.report.add_hint(
                Code::DuplicateKey,
                &key,
                what,
                format!("keep one; the canonical name is `{}`", field.name),
            );
            return;
        }
        let spot = Spot { at: entry.value.at, path: key.path.clone() };
        self.found.insert(field.name, Found { field, node: &entry.value, spot, key });
    }

    /// Tells that a field is not set, unless its misspelling was told.
    pub(super) fn missing(&self, name: &str) {
        if self.suspected.contains(name) {
            return;
        }
        self.report.add(
            Code::MissingKey,
            &self.spot,
            format!("{} needs `{name}`", self.block.name),
        );
    }

    pub(super) fn get(&self, name: &'static str) -> Option<&Found<'a>> {
        debug_assert!(
            self.block.fields.iter().any(|field| field.name == name),
            "{} has no {name}",
            self.block.name
        );
        self.found.get(name)
    }

    /// Whether a field is set, or was most likely meant to be.
    pub(super) fn is_attempted(&self, name: &'static str) -> bool {
        self.found.contains_key(name) || self.suspected.contains(name)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Found<'a>> {
        self.found.values()
    }

    /// Where the key of a field is; the block's place where it is not set.
    pub(super) fn key_of(&self, name: &'static str) -> Spot {
        self.get(name).map_or_else(|| self.spot.clone(), |found| found.key.clone())
    }

    /// These fields, and those of `under` that are not set here.
    pub(super) fn over(mut self, under: Option<&Self>) -> Self {
        for (name, found) in under.into_iter().flat_map(|under| &under.found) {
            self.found.entry(name).or_insert_with(|| found.clone());
        }
        self.suspected.extend(under.into_iter().flat_map(|under| &under.suspected));
        self
    }

    /// These fields and those of `other`, where none may be set in both.
    pub(super) fn beside(mut self, other: Self) -> Self {
        for (name, found) in other.found {
            if let Some(first) = self.found.get(name) {
                let what = format!(
                    "`{}` and `{}` are one option, set twice",
                    first.key.path, found.key.path
                );
                self.report.add_hint(Code::DuplicateKey, &found.key, what, "keep one of them");
            } else {
                self.found.insert(name, found);
            }
        }
        self.suspected.extend(other.suspected);
        self
    }

    /// Moves the fields that `block` has too out of these, as a block of that kind.
    pub(super) fn take(&mut self, block: &'static Block) -> Self {
        let is_taken = |name: &str| block.fields.iter().any(|field| field.name == name);
        let mut taken = Self { block, found: BTreeMap::new(), ..self.clone() };
        for (name, found) in std::mem::take(&mut self.found) {
            let home = if is_taken(name) { &mut taken.found } else { &mut self.found };
            home.insert(name, found);
        }
        taken
    }
}

/// The nearest key; keys of later versions are suggested only where the user all but spelt them.
fn nearest_key(block: &Block, key: &str) -> String {
    let options = block
        .fields
        .iter()
        .find(|field| matches!(field.kind, Kind::Block(inner) if inner.find(key).is_some()));
    if let Some(options) = options.filter(|field| field.name.ends_with("options")) {
        return format!("write it under `{}`", options.name);
    }
    match nearest(key, block.all_keys()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => known_names(key, block.names()),
    }
}
