//! YAML 1.2 text as a tree. Anchors, aliases and `<<` work; what they expand to is bounded.

use std::cell::Cell;
use std::fmt;

use serde::Deserialize;
use serde::Deserializer;
use serde::de::Error;
use serde::de::MapAccess;
use serde::de::SeqAccess;
use serde::de::Visitor;
use serde_json::Number;
use serde_saphyr::Location;
use serde_saphyr::Spanned;
use serde_saphyr::options::DuplicateKeyPolicy;

use super::node::DEPTH_MAX;
use super::node::Entry;
use super::node::Mark;
use super::node::Node;
use super::node::Shape;

/// The parser takes some 40 KiB of stack a level in builds without optimisation, more than other threads can spare.
const STACK_BYTES: usize = 16 << 20;

thread_local! {
    /// How deep the value being read lies. The parser's own count leaves out what aliases add.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// The tree, or where and why there is none.
pub(super) fn parse(text: &str) -> Result<Node, (Mark, String)> {
    let failed = || (Mark::default(), "this YAML could not be read: its reader failed".to_owned());
    std::thread::scope(|scope| {
        let reader =
            std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || read(text));
        reader.ok().and_then(|reader| reader.join().ok()).unwrap_or_else(|| Err(failed()))
    })
}

fn read(text: &str) -> Result<Node, (Mark, String)> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX,
            max_nodes: 200_000,
            max_aliases: 10_000,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 200_000 },
        // The tree's own walk tells of all repeated keys, not only of the first.
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        emit_comments: false,
        // YAML 1.2: `no` is text, as are `0123` and `1_000`; only `true` and `false` are booleans.
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options::<Spanned<Shape>>(text, options) {
        Ok(tree) => Ok(tree.into()),
        Err(error) => {
            let at = error.location().map(Mark::from).unwrap_or_default();
            Err((at, words(&error.without_snippet().to_string())))
        }
    }
}

/// What the parser says, without its own way of giving positions; its limits in our words.
fn words(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let line = line
        .split_once(": ")
        .filter(|(lead, _)| lead.starts_with("line "))
        .map_or(line, |(_, words)| words);
    let line = line.split_once(" at line ").map_or(line, |(words, _)| words);
    if line.contains("Documents {") {
        return "a flow file holds one document; here a second one begins".to_owned();
    }
    if line.starts_with("alias replay limit") || line.starts_with("budget breached") {
        return format!("this expands to more than a flow can hold ({line})");
    }
    format!("this is not YAML that a flow can be: {line}")
}

impl From<Location> for Mark {
    fn from(location: Location) -> Self {
        Self { line: location.line(), column: location.column() }
    }
}

impl From<Spanned<Shape>> for Node {
    fn from(spanned: Spanned<Shape>) -> Self {
        Self { at: spanned.referenced.into(), shape: spanned.value }
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let depth = DEPTH.get();
        if depth >= DEPTH_MAX {
            return Err(D::Error::custom(format!(
                "lists and maps nest more than {DEPTH_MAX} deep"
            )));
        }
        DEPTH.set(depth + 1);
        let shape = deserializer.deserialize_any(Shapes);
        DEPTH.set(depth);
        shape
    }
}

struct Shapes;

impl<'de> Visitor<'de> for Shapes {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Shape, E> {
        Ok(Shape::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Shape, E> {
        Ok(Shape::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        Shape::deserialize(deserializer)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Shape, E> {
        Ok(Shape::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Shape, E> {
        Ok(Shape::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Shape, E> {
        Ok(Shape::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Shape, E> {
        Number::from_f64(value)
            .map(Shape::Number)
            .ok_or_else(|| E::custom("infinity and NaN are no values of a flow"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Shape, E> {
        Ok(Shape::Text(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Shape, E> {
        Ok(Shape::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shape, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Spanned<Shape>>()? {
            list.push(item.into());
        }
        Ok(Shape::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry::<Spanned<String>, Spanned<Shape>>()? {
            entries.push(Entry { key: key.value, at: key.referenced.into(), value: value.into() });
        }
        Ok(Shape::Map(entries))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_yaml_1_2() {
        let tree =
            parse("{a: no, b: 2013-01, c: 007, d: true, e: ~, f: 1.5, g: '1', 1: x}").unwrap();
        let json = serde_json::json!({"a": "no", "b": "2013-01", "c": "007", "d": true, "e": null, "f": 1.5, "g": "1", "1": "x"});
        assert_eq!(tree.to_json(), json);
    }

    #[test]
    fn an_alias_is_its_anchor_at_the_place_where_it_is_used() {
        let tree = parse("a: &x {k: 1}\nb: *x\nc:\n  <<: *x\n  l: 2\n").unwrap();
        assert_eq!(
            tree.to_json(),
            serde_json::json!({"a": {"k": 1}, "b": {"k": 1}, "c": {"k": 1, "l": 2}})
        );
        let Shape::Map(entries) = tree.shape else { panic!("no map") };
        assert_eq!((entries[1].value.at.line, entries[1].value.at.column), (2, 4));
    }

    #[test]
    fn bombs_and_deep_nests_are_refused() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..10 {
            let alias = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb += &format!("a{level}: &a{level} [{alias}]\n");
        }
        assert!(parse(&bomb).is_err());
        assert!(parse(&"[".repeat(100_000)).is_err());
        assert!(parse(&format!("{}{}", "[".repeat(200), "]".repeat(200))).is_err());
        let nest = |inner: &str| format!("{}{inner}{}", "[".repeat(40), "]".repeat(40));
        let mut aliases = format!("a0: &a0 {}\n", nest("x"));
        for level in 1..30 {
            aliases += &format!("a{level}: &a{level} {}\n", nest(&format!("*a{}", level - 1)));
        }
        assert!(parse(&aliases).is_err());
        let block: String = (0..1_000).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
        assert!(parse(&block).is_err());
    }
}
