//! Typed values of a block's fields. A value of another type is told here and counts as not set.

use arrow::datatypes::DataType;
use serde_json::Value;

use super::fields::Kind;
use super::fields::Offer;
use super::fields::Word;
use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::open::Found;
use super::report::Located;
use super::report::Report;
use super::report::Spot;
use super::types::column_type;
use crate::name::ColumnName;
use crate::problem::Code;
use crate::problem::known_names;

impl<'a> Fields<'a> {
    fn located<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&Found<'a>) -> Option<T>,
    ) -> Option<Located<T>> {
        let found = self.get(name)?;
        read(found).map(|value| Located { value, spot: found.spot.clone() })
    }

    /// Text; not empty but for fields that say so.
    pub(super) fn text(&self, name: &'static str) -> Option<Located<String>> {
        self.located(name, |found| {
            let text = text(self.report, found.node, &found.spot)?;
            if text.trim().is_empty() && !matches!(found.field.kind, Kind::AnyText) {
                self.report.add(Code::WrongValue, &found.spot, format!("`{name}` is empty"));
                return None;
            }
            Some(text.to_owned())
        })
    }

    /// A word of the field's table that this version offers.
    pub(super) fn word(&self, name: &'static str) -> Option<Located<&'static Word>> {
        self.located(name, |found| {
            let Kind::Word(words) = found.field.kind else { return None };
            let text = text(self.report, found.node, &found.spot)?;
            word(self.report, &found.spot, name, text, words)
        })
    }

    /// True or false, also as text: templates and options of other tools are text.
    pub(super) fn flag(&self, name: &'static str) -> Option<Located<bool>> {
        self.located(name, |found| {
            match &found.node.shape {
                Shape::Bool(value) => return Some(*value),
                Shape::Text(text) => match text.trim().to_lowercase().as_str() {
                    "true" => return Some(true),
                    "false" => return Some(false),
                    _ => {}
                },
                _ => {}
            }
            let what = format!("`{name}` is true or false; this is {}", shown(found.node));
            self.report.add(Code::WrongType, &found.spot, what);
            None
        })
    }

    /// A whole number from 1.
    pub(super) fn count(&self, name: &'static str) -> Option<Located<u64>> {
        self.located(name, |found| number(self.report, found.node, &found.spot, name, false))
    }

    /// A number of bytes from 1.
    pub(super) fn bytes(&self, name: &'static str) -> Option<Located<u64>> {
        self.located(name, |found| number(self.report, found.node, &found.spot, name, true))
    }

    /// One ASCII character.
    pub(super) fn character(&self, name: &'static str) -> Option<Located<u8>> {
        self.located(name, |found| match text(self.report, found.node, &found.spot)? {
            "\\t" => Some(b'\t'),
            one if one.len() == 1 && !matches!(one.as_bytes()[0], b'\n' | b'\r' | 0) => {
                Some(one.as_bytes()[0])
            }
            other => {
                let what = format!("`{name}` is one ASCII character; this is {other:?}");
                self.report.add(Code::WrongValue, &found.spot, what);
                None
            }
        })
    }

    /// A list of texts; one text is a list of one.
    pub(super) fn texts(&self, name: &'static str) -> Option<Located<Vec<String>>> {
        self.located(name, |found| match &found.node.shape {
            Shape::List(items) => Some(
                items
                    .iter()
                    .enumerate()
                    .filter_map(|(index, item)| {
                        text(self.report, item, &found.spot.item(index, item.at))
                    })
                    .map(str::to_owned)
                    .collect(),
            ),
            Shape::Text(text) => Some(vec![text.clone()]),
            _ => {
                let what = format!("`{name}` is a list of texts; this is {}", found.node.kind());
                self.report.add(Code::WrongType, &found.spot, what);
                None
            }
        })
    }

    /// Column names without repeats, from a list or from text with commas; not empty.
    pub(super) fn names(&self, name: &'static str) -> Option<Located<Vec<ColumnName>>> {
        self.located(name, |found| {
            let names = match &found.node.shape {
                Shape::Text(text) => text
                    .split(',')
                    .map(|part| (part.trim().to_owned(), found.spot.clone()))
                    .collect(),
                Shape::List(items) => {
                    let listed = items
                        .iter()
                        .enumerate()
                        .map(|(index, item)| (item, found.spot.item(index, item.at)));
                    listed
                        .filter_map(|(item, spot)| Some((self.column(found, item, &spot)?, spot)))
                        .collect::<Vec<_>>()
                }
                _ => {
                    let what = format!(
                        "`{name}` is a list of column names; this is {}",
                        found.node.kind()
                    );
                    self.report.add_hint(
                        Code::WrongType,
                        &found.spot,
                        what,
                        "write `[a, b]` or `\"a, b\"`",
                    );
                    return None;
                }
            };
            let mut columns: Vec<ColumnName> = Vec::new();
            for (text, spot) in names {
                match ColumnName::new(text) {
                    Ok(column) if columns.contains(&column) => {
                        self.report.add(
                            Code::WrongValue,
                            &spot,
                            format!("`{name}` names `{column}` twice"),
                        );
                    }
                    Ok(column) => columns.push(column),
                    Err(what) => self.report.add(Code::WrongValue, &spot, what),
                }
            }
            if columns.is_empty() {
                if matches!(&found.node.shape, Shape::List(items) if items.is_empty()) {
                    self.report.add_hint(
                        Code::WrongValue,
                        &found.spot,
                        format!("`{name}` is empty"),
                        "leave it out",
                    );
                }
                return None;
            }
            Some(columns)
        })
    }

    /// One item of a list of columns.
    fn column(&self, found: &Found<'a>, item: &'a Node, spot: &Spot) -> Option<String> {
        let Shape::Map(_) = item.shape else {
            return text(self.report, item, spot).map(str::to_owned);
        };
        if !matches!(found.field.kind, Kind::Partitions) {
            self.report.add(
                Code::WrongType,
                spot,
                "plain column names are due here; this is a map",
            );
            return None;
        }
        let fields = Self::open(self.report, &super::destinations::PARTITION, item, spot)?;
        fields.text("column").map(|column| column.value)
    }

    /// Column types by name, in the file's order.
    pub(super) fn types(
        &self,
        name: &'static str,
    ) -> Option<Located<Vec<(Located<ColumnName>, DataType)>>> {
        self.located(name, |found| {
            let Shape::Map(entries) = &found.node.shape else {
                let what =
                    format!("`{name}` is a map from column to type; this is {}", found.node.kind());
                self.report.add_hint(
                    Code::WrongType,
                    &found.spot,
                    what,
                    "write `{ id: int64, day: date }`",
                );
                return None;
            };
            let mut types = Vec::new();
            for entry in entries.iter().filter(|entry| !entry.value.is_null()) {
                let spot = found.spot.key(&entry.key, entry.value.at);
                let column = ColumnName::new(entry.key.as_str())
                    .map_err(|what| self.report.add(Code::WrongValue, &spot, what));
                let Some(text) = text(self.report, &entry.value, &spot) else { continue };
                match (column, column_type(text)) {
                    (Ok(value), Ok(data_type)) => types.push((Located { value, spot }, data_type)),
                    (_, Err((what, hint))) => {
                        self.report.add_hint(Code::WrongValue, &spot, what, hint)
                    }
                    (Err(()), Ok(_)) => {}
                }
            }
            Some(types)
        })
    }

    /// Whatever stands there, as JSON.
    pub(super) fn json(&self, name: &'static str) -> Option<Value> {
        self.get(name).map(|found| found.node.to_json())
    }

    /// Tells of values that do not fit their options, for blocks that nothing may use.
    pub(super) fn verify_options(&self) {
        for found in self.all() {
            let name = found.field.name;
            match found.field.kind {
                Kind::Text | Kind::AnyText => drop(self.text(name)),
                Kind::Word(_) => drop(self.word(name)),
                Kind::Bool => drop(self.flag(name)),
                Kind::Count => drop(self.count(name)),
                Kind::Bytes => drop(self.bytes(name)),
                Kind::Char => drop(self.character(name)),
                Kind::Texts => drop(self.texts(name)),
                Kind::Names | Kind::Partitions => drop(self.names(name)),
                Kind::Types => drop(self.types(name)),
                Kind::Block(_)
                | Kind::NameOr(_)
                | Kind::Named(_)
                | Kind::OneOrNamed(_)
                | Kind::OneOrMany(_)
                | Kind::Chain(_)
                | Kind::ChainOrMap(_)
                | Kind::Vars
                | Kind::Limits
                | Kind::Any => {}
            }
        }
    }
}

/// Text, and nothing that merely looks like it: a number's spelling would be lost.
pub(super) fn text<'a>(report: &Report, node: &'a Node, spot: &Spot) -> Option<&'a str> {
    match &node.shape {
        Shape::Text(text) => Some(text),
        Shape::Bool(_) | Shape::Number(_) | Shape::Null => {
            let what = format!("text is due here; this is {}", shown(node));
            report.add_hint(Code::WrongType, spot, what, "put it in quotes");
            None
        }
        Shape::List(_) | Shape::Map(_) => {
            report.add(Code::WrongType, spot, format!("text is due here; this is {}", node.kind()));
            None
        }
    }
}

/// The word of `words` that `text` means, if this version offers it.
pub(super) fn word(
    report: &Report,
    spot: &Spot,
    field: &str,
    text: &str,
    words: &'static [Word],
) -> Option<&'static Word> {
    let lower = text.trim().to_lowercase();
    let Some(word) = words.iter().find(|word| word.is(&lower)) else {
        let all = words
            .iter()
            .flat_map(|word| std::iter::once(word.name).chain(word.aliases.iter().copied()));
        let offered = words.iter().filter(|word| word.offer == Offer::Now).map(|word| word.name);
        let hint = match crate::problem::nearest(&lower, all) {
            Some(near) => format!("did you mean `{near}`?"),
            None => known_names(&lower, offered),
        };
        report.add_hint(Code::WrongValue, spot, format!("`{}` is no `{field}`", text.trim()), hint);
        return None;
    };
    match word.offer {
        Offer::Now => Some(word),
        Offer::Later(why) => {
            report.add(Code::NotOffered, spot, format!("`{lower}` {why}"));
            None
        }
        Offer::Never(why) => {
            report.add(Code::WrongValue, spot, format!("`{lower}` {why}"));
            None
        }
    }
}

/// A whole number from 1, also as text; sizes may have a unit.
pub(super) fn number(
    report: &Report,
    node: &Node,
    spot: &Spot,
    name: &str,
    is_size: bool,
) -> Option<u64> {
    let parsed = match &node.shape {
        Shape::Number(number) => number.as_u64(),
        Shape::Text(text) if is_size => size(text),
        Shape::Text(text) => text.trim().parse().ok(),
        _ => None,
    };
    match parsed {
        Some(0) | None => {
            let due = if is_size {
                "a number of bytes from 1, or text such as `64 MiB`"
            } else {
                "a whole number from 1"
            };
            let code = if matches!(node.shape, Shape::Number(_) | Shape::Text(_)) {
                Code::WrongValue
            } else {
                Code::WrongType
            };
            report.add(code, spot, format!("`{name}` is {due}; this is {}", shown(node)));
            None
        }
        some => some,
    }
}

/// `64 MiB`, `10MB`, `512`.
fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim().to_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// A value as messages show it: scalars themselves, the rest by kind.
pub(super) fn shown(node: &Node) -> String {
    match &node.shape {
        Shape::Null => "null".to_owned(),
        Shape::Bool(value) => format!("`{value}`"),
        Shape::Number(value) => format!("`{value}`"),
        Shape::Text(value) => format!("{:?}", value.chars().take(60).collect::<String>()),
        Shape::List(_) | Shape::Map(_) => node.kind().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_binary_and_decimal_units() {
        assert_eq!(size("64 MiB"), Some(64 << 20));
        assert_eq!(size("10MB"), Some(10_000_000));
        assert_eq!(size("7"), Some(7));
        for bad in ["", "MiB", "1.5 MiB", "-1", "64 M", "99999999999 GiB"] {
            assert_eq!(size(bad), None, "{bad}");
        }
    }
}
