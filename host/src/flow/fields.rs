//! The vocabulary of flow files as data: blocks, their fields, the words that fields take.
//!
//! One table a block drives both reading and the JSON Schema, so that they cannot disagree.

use super::family::Family;

/// A map of the flow file with a fixed set of keys.
#[derive(Debug)]
pub(super) struct Block {
    /// What the block is called in messages: "a source".
    pub(super) name: &'static str,
    pub(super) doc: &'static str,
    pub(super) fields: &'static [Field],
    /// Whether `configure: {…}` is accepted, its keys counting as the block's own.
    pub(super) lifts_configure: bool,
}

/// A key of a block.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    pub(super) kind: Kind,
    pub(super) doc: &'static str,
    pub(super) required: bool,
    pub(super) offer: Offer,
    /// The formats that use the option; all where it is empty.
    pub(super) formats: &'static [&'static str],
    /// The load strategies that use it; all where it is empty.
    pub(super) loads: &'static [&'static str],
}

/// The direction of an order that does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unsaid {
    /// As SQL has it.
    Ascending,
    /// The latest comes first.
    Descending,
}

/// What a field's value has to be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// Text that is not empty.
    Text,
    /// The same, which may hold secrets.
    Sensitive,
    /// A URL, which may hold them where it says who asks.
    SensitiveUrl,
    /// Any text, also none.
    AnyText,
    /// One word of a table; case and outer blanks do not count.
    Word(&'static [Word]),
    Bool,
    /// The type that chose the block among its family.
    Type,
    /// SQL: text that is not empty and not too long to be meant.
    Sql,
    /// A list of such texts, or one.
    SqlTexts,
    /// A whole number from 1.
    Count,
    /// A whole number from 0.
    Whole,
    /// A number of bytes from 1, or text such as `64 MiB`.
    Bytes,
    /// One ASCII character, or `\t`.
    Char,
    /// A list of texts, or one text.
    Texts,
    /// A list of column names, or text with commas.
    Names,
    /// The same, where an item may be `{column: …, expression: …}`.
    Partitions,
    /// The same, where a name may be in double quotes, and followed by `ASC`, `DESC`, `NULLS FIRST`, `NULLS LAST`; an
    /// item may also be `{column: …, direction: …, nulls: …}`.
    Order(Unsaid),
    /// A map from column to column.
    Pairs,
    /// The same, or column names, each paired with itself.
    PairsOrNames,
    /// A number from 0 to 1.
    Fraction,
    /// A number from 0.
    Share,
    /// How long: `36 hours`, `90m`, `P1DT12H`.
    Age,
    /// Text, a number, true or false, as data has it.
    Value,
    /// A list of such values.
    Values,
    /// A map from column to such a value.
    ValueMap,
    /// One expression, or a list of expressions; one may have a name of its own.
    Expressions,
    /// Text, a number, true or false; kept as text.
    Scalar,
    /// A map from property to text, number, true or false.
    Properties,
    /// A map from column to type.
    Types,
    /// The same, or a list of column names.
    TypesOrNames,
    Block(&'static Block),
    /// The name of a block defined elsewhere, or a block.
    NameOr(&'static Block),
    /// A map from name to block.
    Named(&'static Block),
    /// A block, or a map from name to block.
    OneOrNamed(&'static Block),
    /// A block, or a list of blocks.
    OneOrMany(&'static Block),
    /// A list of typed blocks, where `{type: {…}}` is short for `{type: type, …}`.
    Chain(&'static Family),
    /// The same, or a map from type to block.
    ChainOrMap(&'static Family),
    /// A map from variable to value.
    Vars,
    /// A map from limit to number.
    Limits,
    /// Whatever a component takes.
    Any,
}

/// A word that a field may take.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    pub(super) doc: &'static str,
    pub(super) offer: Offer,
}

/// Whether this version has the thing. The text completes "`name` …".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offer {
    Now,
    /// Part of the design, not of this version.
    Later(&'static str),
    /// It exists, but not here.
    Never(&'static str),
}

/// A block that has no `configure`.
pub(super) const fn block(
    name: &'static str,
    doc: &'static str,
    fields: &'static [Field],
) -> Block {
    Block { name, doc, fields, lifts_configure: false }
}

/// A field of all formats that may be left out.
pub(super) const fn field(name: &'static str, kind: Kind, doc: &'static str) -> Field {
    Field {
        name,
        aliases: &[],
        kind,
        doc,
        required: false,
        offer: Offer::Now,
        formats: &[],
        loads: &[],
    }
}

/// A field that this version does not have.
pub(super) const fn later(name: &'static str, why: &'static str) -> Field {
    Field {
        name,
        aliases: &[],
        kind: Kind::Any,
        doc: "",
        required: false,
        offer: Offer::Later(why),
        formats: &[],
        loads: &[],
    }
}

impl Field {
    pub(super) const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    pub(super) const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    pub(super) const fn formats(mut self, formats: &'static [&'static str]) -> Self {
        self.formats = formats;
        self
    }

    pub(super) const fn loads(mut self, loads: &'static [&'static str]) -> Self {
        self.loads = loads;
        self
    }

    pub(super) const fn never(mut self, why: &'static str) -> Self {
        self.offer = Offer::Never(why);
        self
    }

    pub(super) fn has_word(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Word(words) if words.iter().any(|word| word.is(text)))
    }

    pub(super) fn is_used_by_load(&self, load_type: &str) -> bool {
        self.loads.is_empty() || self.loads.contains(&load_type)
    }

    pub(super) fn is_used_by(&self, format: &str) -> bool {
        self.formats.is_empty() || self.formats.contains(&format)
    }
}

impl Block {
    /// The field of this name or alias.
    pub(super) fn find(&self, key: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == key || field.aliases.contains(&key))
    }

    /// Whether the block holds a format's options.
    pub(super) fn is_options(&self) -> bool {
        self.fields.iter().any(|field| !field.formats.is_empty())
    }

    /// The names that this version has, without aliases.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.fields.iter().filter(|field| field.offer == Offer::Now).map(|field| field.name)
    }

    /// All names and aliases, whether this version has them or not.
    pub(super) fn all_keys(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.fields
            .iter()
            .flat_map(|field| std::iter::once(field.name).chain(field.aliases.iter().copied()))
    }
}

/// A word that this version has.
pub(super) const fn word(name: &'static str, doc: &'static str) -> Word {
    Word { name, aliases: &[], doc, offer: Offer::Now }
}

impl Word {
    pub(super) const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    pub(super) const fn later(mut self, why: &'static str) -> Self {
        self.offer = Offer::Later(why);
        self
    }

    pub(super) const fn never(mut self, why: &'static str) -> Self {
        self.offer = Offer::Never(why);
        self
    }

    pub(super) fn is(&self, text: &str) -> bool {
        self.name == text || self.aliases.contains(&text)
    }
}
