//! The smallest parts of the JSON Schema: words, numbers, lists.

use serde_json::Value;
use serde_json::json;

use super::fields::Offer;
use super::fields::Word;

/// Text with a template in it, which may stand for any scalar.
pub(super) const TEMPLATE: &str = "#/$defs/template";

pub(super) fn one_of_words(words: impl IntoIterator<Item = &'static Word>) -> Value {
    let offered: Vec<_> = words
        .into_iter()
        .filter(|word| word.offer == Offer::Now)
        .flat_map(|word| {
            std::iter::once(word.name)
                .chain(word.aliases.iter().copied())
                .map(move |name| (name, word))
        })
        .collect();
    let choices: Vec<_> = offered
        .iter()
        .map(|(name, word)| {
            let doc = if *name == word.name {
                word.doc.to_owned()
            } else {
                format!("The same as `{}`.", word.name)
            };
            json!({"const": name, "description": doc})
        })
        .collect();
    // The list is for editors; case and outer blanks do not count.
    any_of(vec![
        json!({ "oneOf": choices }),
        json!({"type": "string", "pattern": any_case(offered.iter().map(|(name, _)| *name))}),
        json!({"$ref": TEMPLATE}),
    ])
}

/// A pattern of the words, in capitals or not.
fn any_case<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let letter = |c: char| match c.is_ascii_lowercase() {
        true => format!("[{}{c}]", c.to_ascii_uppercase()),
        false => c.to_string(),
    };
    let names: Vec<String> = names.map(|name| name.chars().map(letter).collect()).collect();
    format!("^\\s*({})\\s*$", names.join("|"))
}

pub(super) fn any_of(choices: Vec<Value>) -> Value {
    json!({ "anyOf": choices })
}

pub(super) fn list(items: Value) -> Value {
    json!({"type": "array", "items": items, "minItems": 1})
}

pub(super) fn whole_number(least: u64) -> Value {
    any_of(vec![
        json!({"type": "integer", "minimum": least}),
        json!({"type": "string", "pattern": "^\\s*[0-9]+\\s*$"}),
    ])
}

pub(super) fn size() -> Value {
    json!({"type": "string", "pattern": "^\\s*[0-9]+\\s*([kKmMgG][iI]?)?[bB]?\\s*$"})
}
