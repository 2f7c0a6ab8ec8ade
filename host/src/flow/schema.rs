//! The JSON Schema of flow files, made from the tables that reading uses.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::blocks::FLOW;
use super::fields::Block;
use super::fields::Field;
use super::fields::Kind;
use super::fields::Offer;
use super::fields::Word;
use super::limits::LIMITS;
use super::limits::Limit;

/// Text with a template in it, which may stand for any scalar.
const TEMPLATE: &str = "#/$defs/template";

/// The JSON Schema (2020-12) of a flow, aliases included. Null is as good as leaving a field out.
#[must_use]
pub fn json_schema() -> Value {
    let mut defs = Map::new();
    defs.insert(
        "template".to_owned(),
        json!({"type": "string", "pattern": "\\{\\{", "description": "Rendered before use."}),
    );
    let mut schema = block(&FLOW, &mut defs);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("wasmhost flow");
    schema["$defs"] = Value::Object(defs);
    schema
}

fn block(block: &'static Block, defs: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    for field in block.fields {
        properties.insert(field.name.to_owned(), property(field, None, defs));
        for alias in field.aliases {
            properties.insert((*alias).to_owned(), property(field, Some(alias), defs));
        }
    }
    if block.lifts_configure {
        properties.insert("configure".to_owned(), json!({"type": ["object", "null"], "description": "Its keys count as the block's own."}));
    }
    let mut schema = json!({
        "type": "object",
        "description": block.doc,
        "properties": properties,
        "additionalProperties": false,
    });
    // A required key may be set by an alias, or inside `configure`.
    let required: Vec<_> =
        block.fields.iter().filter(|field| field.required).map(any_spelling).collect();
    if !required.is_empty() && !block.lifts_configure {
        schema["allOf"] = Value::Array(required);
    }
    schema
}

fn any_spelling(field: &Field) -> Value {
    let spellings: Vec<_> = std::iter::once(field.name)
        .chain(field.aliases.iter().copied())
        .map(|name| json!({"required": [name]}))
        .collect();
    json!({ "anyOf": spellings })
}

fn property(field: &'static Field, alias: Option<&str>, defs: &mut Map<String, Value>) -> Value {
    let name = alias.unwrap_or(field.name);
    if let Offer::Later(why) | Offer::Never(why) = field.offer {
        return json!({"type": "null", "description": format!("`{name}` {why}.")});
    }
    let mut doc = match alias {
        Some(_) => format!("The same as `{}`. {}", field.name, field.doc),
        None => field.doc.to_owned(),
    };
    if !field.formats.is_empty() {
        doc = format!("{doc} ({})", field.formats.join(", "));
    }
    if !field.loads.is_empty() {
        doc = format!("{doc} ({})", field.loads.join(", "));
    }
    json!({"description": doc, "anyOf": [value(field.kind, defs), {"type": "null"}]})
}

fn value(kind: Kind, defs: &mut Map<String, Value>) -> Value {
    match kind {
        Kind::Text => json!({"type": "string", "minLength": 1}),
        Kind::AnyText => json!({"type": "string"}),
        Kind::Word(words) => any_of(vec![one_of_words(words), json!({"$ref": TEMPLATE})]),
        Kind::Bool => any_of(vec![
            json!({"type": "boolean"}),
            json!({"type": "string", "pattern": "^\\s*([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])\\s*$"}),
            json!({"$ref": TEMPLATE}),
        ]),
        Kind::Count => any_of(vec![whole_number(), json!({"$ref": TEMPLATE})]),
        Kind::Bytes => any_of(vec![whole_number(), size(), json!({"$ref": TEMPLATE})]),
        Kind::Char => any_of(vec![
            json!({"type": "string", "pattern": "^(.|\\\\t)$"}),
            json!({"$ref": TEMPLATE}),
        ]),
        Kind::Texts => any_of(vec![
            json!({"type": "string"}),
            json!({"type": "array", "items": {"type": "string"}}),
        ]),
        Kind::Names | Kind::Order => {
            any_of(vec![json!({"type": "string"}), list(json!({"type": "string"}))])
        }
        Kind::Partitions => {
            let partition = reference(&super::destinations::PARTITION, defs);
            any_of(vec![
                json!({"type": "string"}),
                list(any_of(vec![json!({"type": "string"}), partition])),
            ])
        }
        Kind::Fraction => any_of(vec![
            json!({"type": "number", "minimum": 0, "maximum": 1}),
            json!({"type": "string", "pattern": "^\\s*(0?\\.[0-9]+|[01](\\.0*)?)\\s*$"}),
            json!({"$ref": TEMPLATE}),
        ]),
        Kind::Scalar => json!({"type": ["string", "number", "boolean"]}),
        Kind::Properties => {
            json!({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}})
        }
        Kind::Types => {
            let names = super::types::type_names().join("`, `");
            json!({"type": "object", "additionalProperties": {"type": ["string", "null"], "description": format!("One of `{names}`.")}})
        }
        Kind::Block(inner) => reference(inner, defs),
        Kind::NameOr(inner) => any_of(vec![json!({"type": "string"}), reference(inner, defs)]),
        Kind::Named(inner) => {
            json!({"type": "object", "additionalProperties": reference(inner, defs)})
        }
        Kind::OneOrNamed(inner) => any_of(vec![
            reference(inner, defs),
            json!({"type": "object", "additionalProperties": reference(inner, defs), "minProperties": 1}),
        ]),
        Kind::OneOrMany(inner) => {
            any_of(vec![reference(inner, defs), list(reference(inner, defs))])
        }
        Kind::Chain(inner) => json!({"type": "array", "items": typed(inner, defs)}),
        Kind::ChainOrMap(inner) => {
            let item = typed(inner, defs);
            any_of(vec![json!({"type": "array", "items": item}), short(inner, defs)])
        }
        Kind::Vars => {
            json!({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}})
        }
        Kind::Limits => {
            let limits = LIMITS
                .iter()
                .map(|limit| (limit.name.to_owned(), asked(limit)))
                .collect::<Map<_, _>>();
            json!({"type": "object", "properties": limits, "additionalProperties": false})
        }
        Kind::Any => json!(true),
    }
}

/// A step or rule, in full or as `{type: {…}}`.
fn typed(block: &'static Block, defs: &mut Map<String, Value>) -> Value {
    any_of(vec![reference(block, defs), short(block, defs)])
}

fn short(block: &'static Block, defs: &mut Map<String, Value>) -> Value {
    let mut inner = self::block(block, defs);
    if let Some(properties) = inner["properties"].as_object_mut() {
        properties.remove("type");
    }
    inner["allOf"] = block
        .fields
        .iter()
        .filter(|field| field.required && field.name != "type")
        .map(any_spelling)
        .collect();
    json!({"type": "object", "properties": {"component": inner}, "additionalProperties": false, "minProperties": 1})
}

fn reference(block: &'static Block, defs: &mut Map<String, Value>) -> Value {
    let name: String = block.name.trim_start_matches("a ").replace(' ', "_");
    if !defs.contains_key(&name) {
        // Held at once, so that a block may hold itself.
        defs.insert(name.clone(), Value::Null);
        let schema = self::block(block, defs);
        defs.insert(name.clone(), schema);
    }
    json!({"$ref": format!("#/$defs/{name}")})
}

fn one_of_words(words: &[Word]) -> Value {
    let offered = words.iter().filter(|word| word.offer == Offer::Now);
    let choices: Vec<_> = offered
        .flat_map(|word| {
            std::iter::once(word.name)
                .chain(word.aliases.iter().copied())
                .map(move |name| (name, word))
        })
        .map(|(name, word)| {
            let doc = if name == word.name {
                word.doc.to_owned()
            } else {
                format!("The same as `{}`.", word.name)
            };
            json!({"const": name, "description": doc})
        })
        .collect();
    // The list is for editors; case and outer blanks do not count.
    any_of(vec![json!({ "oneOf": choices }), json!({"type": "string", "pattern": any_case(words)})])
}

/// A pattern of the words offered, in capitals or not.
fn any_case(words: &[Word]) -> String {
    let offered = words.iter().filter(|word| word.offer == Offer::Now);
    let names =
        offered.flat_map(|word| std::iter::once(word.name).chain(word.aliases.iter().copied()));
    let letter = |c: char| match c.is_ascii_lowercase() {
        true => format!("[{}{c}]", c.to_ascii_uppercase()),
        false => c.to_string(),
    };
    let names: Vec<String> = names.map(|name| name.chars().map(letter).collect()).collect();
    format!("^\\s*({})\\s*$", names.join("|"))
}

fn asked(limit: &Limit) -> Value {
    let number = json!({"type": "integer", "minimum": 1, "maximum": limit.ceiling});
    let text = if limit.is_size() {
        size()
    } else {
        json!({"type": "string", "pattern": "^\\s*[0-9]+\\s*$"})
    };
    json!({
        "description": format!("{} {} by default.", limit.doc, limit.default),
        "anyOf": [number, text, {"$ref": TEMPLATE}, {"type": "null"}],
    })
}

fn any_of(choices: Vec<Value>) -> Value {
    json!({ "anyOf": choices })
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items, "minItems": 1})
}

fn whole_number() -> Value {
    any_of(vec![
        json!({"type": "integer", "minimum": 1}),
        json!({"type": "string", "pattern": "^\\s*[0-9]+\\s*$"}),
    ])
}

fn size() -> Value {
    json!({"type": "string", "pattern": "^\\s*[0-9]+\\s*([kKmMgG][iI]?)?[bB]?\\s*$"})
}
