//! Blocks told apart by their `type`, opened: `{type: t, …}`, or short `{t: {…}}`, or shorter `{t: value}`.

use super::fields::Block;
use super::fields::Word;
use super::fields::word;
use super::node::Entry;
use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::report::Report;
use super::report::Spot;
use super::scalars;
use crate::problem::Code;
use crate::problem::known_names;

/// Blocks that their `type` tells apart.
#[derive(Debug)]
pub(super) struct Family {
    /// What one of them is called in messages: "a step".
    pub(super) noun: &'static str,
    pub(super) members: &'static [Member],
    /// Types that are known by name and have no block.
    pub(super) others: &'static [Word],
}

/// A type of a family.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) word: Word,
    pub(super) block: &'static Block,
    /// The field that `type: value` sets where the value is no map; such values are refused where there is none.
    pub(super) short: Option<&'static str>,
}

/// A block of a family, its type known.
#[derive(Debug)]
pub(super) struct Typed<'a> {
    /// The type's canonical name.
    pub(super) name: &'static str,
    pub(super) fields: Fields<'a>,
    pub(super) spot: Spot,
}

/// A type that has a block.
pub(super) const fn member(name: &'static str, block: &'static Block) -> Member {
    Member { word: word(name, block.doc), block, short: None }
}

impl Member {
    pub(super) const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.word.aliases = aliases;
        self
    }

    pub(super) const fn short(mut self, field: &'static str) -> Self {
        self.short = Some(field);
        self
    }
}

impl Family {
    /// All types, those that have no block among them.
    pub(super) fn words(&self) -> impl Iterator<Item = &'static Word> + Clone {
        self.members.iter().map(|member| &member.word).chain(self.others)
    }

    /// Opens a block; what is wrong with it is told, all its plain values judged.
    pub(super) fn open<'a>(
        &'static self,
        report: &'a Report,
        node: &'a Node,
        spot: &Spot,
    ) -> Option<Typed<'a>> {
        let noun = self.noun;
        if let Shape::Refused = node.shape {
            return None;
        }
        let Shape::Map(entries) = &node.shape else {
            report.add(Code::WrongType, spot, format!("{noun} is a map; this is {}", node.kind()));
            return None;
        };
        let is_type = |entry: &&Entry| entry.key == "type" && !entry.value.is_null();
        let typed = match entries.iter().find(is_type) {
            Some(entry) => {
                let at = spot.key("type", entry.value.at);
                let text = scalars::text(report, &entry.value, &at)?;
                let word = scalars::word(report, &at, "type", text, self.words())?;
                let member = self.member(word.name)?;
                let fields = Fields::open(report, member.block, node, spot)?;
                Typed { name: word.name, fields, spot: spot.clone() }
            }
            None => self.open_short(report, entries, spot)?,
        };
        typed.fields.verify();
        Some(typed)
    }

    fn open_short<'a>(
        &'static self,
        report: &'a Report,
        entries: &'a [Entry],
        spot: &Spot,
    ) -> Option<Typed<'a>> {
        let noun = self.noun;
        let [entry] = entries else {
            let named = entries.iter().find(|entry| self.words().any(|word| word.is(&entry.key)));
            let hint = match named.map(|entry| entry.key.as_str()) {
                Some("component") => "add `type: component`".to_owned(),
                Some(key) => {
                    format!("write `type: {key}` beside its fields, or all of them inside `{key}`")
                }
                None => self.known(""),
            };
            report.add_hint(Code::MissingKey, spot, format!("{noun} needs `type`"), hint);
            return None;
        };
        let at = spot.key(&entry.key, entry.at);
        if !self.words().any(|word| word.is(&entry.key)) {
            let what = format!("{noun} has no type `{}`", entry.key);
            report.add_hint(Code::UnknownKey, &at, what, self.known(&entry.key));
            return None;
        }
        let word = scalars::word(report, &at, "type", &entry.key, self.words())?;
        let member = self.member(word.name)?;
        let fields = match (&entry.value.shape, member.short) {
            (Shape::Text(_), _) if word.name == "component" => {
                let hint = "add `type: component`";
                report.add_hint(Code::MissingKey, spot, format!("{noun} needs `type`"), hint);
                return None;
            }
            (Shape::Refused, _) => return None,
            (Shape::Map(_), _) | (_, None) => {
                Fields::open_short(report, member.block, &entry.value, &at)?
            }
            (_, Some(field)) => {
                let value = Spot { at: entry.value.at, path: at.path.clone() };
                Fields::given(report, member.block, &at, [(field, &entry.value, value)])
            }
        };
        Some(Typed { name: word.name, fields, spot: at })
    }

    fn member(&self, name: &str) -> Option<&'static Member> {
        self.members.iter().find(|member| member.word.name == name)
    }

    fn known(&self, name: &str) -> String {
        known_names(name, self.members.iter().map(|member| member.word.name))
    }
}
