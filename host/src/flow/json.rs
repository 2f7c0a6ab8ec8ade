//! JSON text as a tree. Raw values borrow from the text, so their addresses give their positions.

use std::fmt;

use serde::Deserialize;
use serde::Deserializer;
use serde::de::MapAccess;
use serde::de::Visitor;
use serde_json::value::RawValue;

use super::node::DEPTH_MAX;
use super::node::Entry;
use super::node::Mark;
use super::node::Node;
use super::node::Shape;

/// The tree, or where and why there is none.
pub(super) fn parse(text: &str) -> Result<Node, (Mark, String)> {
    let source = Source::new(text);
    match serde_json::from_str::<&RawValue>(text) {
        Ok(raw) => source.node(raw, 0),
        Err(error) => Err(source.error(text, 0, &error)),
    }
}

/// The whole text, and where its lines begin.
struct Source<'a> {
    text: &'a str,
    lines: Vec<usize>,
}

impl<'a> Source<'a> {
    fn new(text: &'a str) -> Self {
        let lines = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(index, _)| index + 1))
            .collect();
        Self { text, lines }
    }

    fn node(&self, raw: &'a RawValue, depth: usize) -> Result<Node, (Mark, String)> {
        let text = raw.get();
        let offset = self.offset(text);
        let at = self.mark(offset);
        if depth >= DEPTH_MAX {
            return Err((at, format!("lists and maps nest more than {DEPTH_MAX} deep here")));
        }
        let failed = |error: serde_json::Error| self.error(text, offset, &error);
        let shape = match text.as_bytes().first() {
            Some(b'{') => {
                let mut entries = Vec::new();
                for (key, value) in serde_json::from_str::<Pairs<'a>>(text).map_err(failed)?.0 {
                    let name = serde_json::from_str::<String>(key.get())
                        .map_err(|error| self.error(key.get(), self.offset(key.get()), &error))?;
                    let at = self.mark(self.offset(key.get()));
                    entries.push(Entry { key: name, at, value: self.node(value, depth + 1)? });
                }
                Shape::Map(entries)
            }
            Some(b'[') => {
                let items = serde_json::from_str::<Vec<&'a RawValue>>(text).map_err(failed)?;
                Shape::List(
                    items
                        .into_iter()
                        .map(|item| self.node(item, depth + 1))
                        .collect::<Result<_, _>>()?,
                )
            }
            Some(b'"') => Shape::Text(serde_json::from_str(text).map_err(failed)?),
            Some(b't' | b'f') => Shape::Bool(serde_json::from_str(text).map_err(failed)?),
            Some(b'n') => Shape::Null,
            _ => Shape::Number(serde_json::from_str(text).map_err(failed)?),
        };
        Ok(Node { at, shape })
    }

    /// Where `part`, which was borrowed from the text, begins in it.
    fn offset(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize).min(self.text.len())
    }

    fn mark(&self, offset: usize) -> Mark {
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        let before = self.text.get(self.lines[line - 1]..offset).unwrap_or_default();
        Mark { line: line as u64, column: before.chars().count() as u64 + 1 }
    }

    /// The parser counts lines and bytes of the part that it was given; this gives the place in the whole text.
    fn error(&self, part: &str, offset: usize, error: &serde_json::Error) -> (Mark, String) {
        let line_start = part
            .split_inclusive('\n')
            .take(error.line().saturating_sub(1))
            .map(str::len)
            .sum::<usize>();
        let at = self
            .mark((offset + line_start + error.column().saturating_sub(1)).min(self.text.len()));
        let words = error.to_string();
        let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
        (at, format!("this is not JSON: {words}"))
    }
}

/// A map's entries in order, repeated keys included.
struct Pairs<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor).map(Self)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Vec<(&'de RawValue, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(pairs)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_know_their_places() {
        let tree = parse("{\n  \"\\u00e9\": 1, \"ü\": [true,\n null]\n}").unwrap();
        let Shape::Map(entries) = &tree.shape else { panic!("no map") };
        assert_eq!(entries.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(), ["é", "ü"]);
        assert_eq!(entries[1].at, Mark { line: 2, column: 16 });
        let Shape::List(items) = &entries[1].value.shape else { panic!("no list") };
        assert_eq!(items[0].at, Mark { line: 2, column: 22 });
        assert_eq!(items[1].at, Mark { line: 3, column: 2 });
    }

    #[test]
    fn json_is_strict_and_bounded() {
        for bad in [
            "{a: 1}",
            "{\"a\": 1,}",
            "[1] 2",
            "// x\n{}",
            "",
            "{\"a\": 1e999}",
            "\"\\ud800\"",
            "{1: 2}",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(parse(&deep).unwrap_err().1.contains("deep"));
    }
}
