//! The JSON Schema of flow files, made from the tables that reading uses.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::blocks::FLOW;
use super::family::Family;
use super::family::Member;
use super::fields::Block;
use super::fields::Field;
use super::fields::Kind;
use super::fields::Offer;
use super::limits::LIMITS;
use super::limits::Limit;
use super::schema_parts::TEMPLATE;
use super::schema_parts::any_of;
use super::schema_parts::list;
use super::schema_parts::one_of_words;
use super::schema_parts::size;
use super::schema_parts::whole_number;

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
    match field.has_word("null") {
        true => json!({"description": doc, "anyOf": [value(field.kind, defs)]}),
        false => json!({"description": doc, "anyOf": [value(field.kind, defs), {"type": "null"}]}),
    }
}

fn value(kind: Kind, defs: &mut Map<String, Value>) -> Value {
    match kind {
        Kind::Text | Kind::Sensitive | Kind::SensitiveUrl | Kind::Sql | Kind::Age => {
            json!({"type": "string", "minLength": 1})
        }
        Kind::SqlTexts => any_of(vec![value(Kind::Sql, defs), list(value(Kind::Sql, defs))]),
        Kind::AnyText => json!({"type": "string"}),
        Kind::Word(words) => one_of_words(words),
        Kind::Bool => any_of(vec![
            json!({"type": "boolean"}),
            json!({"type": "string", "pattern": "^\\s*([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])\\s*$"}),
            json!({"$ref": TEMPLATE}),
        ]),
        Kind::Count => any_of(vec![whole_number(1), json!({"$ref": TEMPLATE})]),
        Kind::Whole => any_of(vec![whole_number(0), json!({"$ref": TEMPLATE})]),
        Kind::Bytes => any_of(vec![whole_number(1), size(), json!({"$ref": TEMPLATE})]),
        Kind::Char => any_of(vec![
            json!({"type": "string", "pattern": "^(.|\\\\t)$"}),
            json!({"$ref": TEMPLATE}),
        ]),
        Kind::Texts => any_of(vec![
            json!({"type": "string"}),
            json!({"type": "array", "items": {"type": "string"}}),
        ]),
        Kind::Names => any_of(vec![json!({"type": "string"}), list(json!({"type": "string"}))]),
        Kind::Order(_) => {
            let item = reference(&super::step_blocks::ORDER, defs);
            any_of(vec![
                json!({"type": "string"}),
                list(any_of(vec![json!({"type": "string"}), item])),
            ])
        }
        Kind::Pairs => of_columns(json!({"type": ["string", "null"]})),
        Kind::PairsOrNames => any_of(vec![value(Kind::Pairs, defs), value(Kind::Names, defs)]),
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
        Kind::Share => any_of(vec![
            json!({"type": "number", "minimum": 0}),
            json!({"type": "string", "pattern": "^\\s*[0-9]*\\.?[0-9]+\\s*$"}),
            json!({"$ref": TEMPLATE}),
        ]),
        Kind::Value => json!({"type": ["string", "number", "boolean"]}),
        Kind::Values => any_of(vec![value(Kind::Value, defs), list(value(Kind::Value, defs))]),
        Kind::ValueMap => of_columns(json!({"type": ["string", "number", "boolean", "null"]})),
        Kind::Expressions => {
            let block = reference(&super::rule_blocks::EXPRESSION_ITEM, defs);
            let one = any_of(vec![json!({"type": "string", "minLength": 1}), block]);
            any_of(vec![one.clone(), list(one)])
        }
        Kind::Scalar => json!({"type": ["string", "number", "boolean"]}),
        Kind::Properties => {
            json!({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}})
        }
        Kind::TypesOrNames => any_of(vec![value(Kind::Types, defs), value(Kind::Names, defs)]),
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
        Kind::Chain(family) => {
            json!({"type": "array", "items": any_of(vec![typed(family, defs), short(family, defs)])})
        }
        Kind::ChainOrMap(family) => {
            any_of(vec![value(Kind::Chain(family), defs), short(family, defs)])
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
        // The family says which type it is.
        Kind::Type | Kind::Any => json!(true),
    }
}

/// A block of a family that says its type.
fn typed(family: &'static Family, defs: &mut Map<String, Value>) -> Value {
    let members = family.members.iter().map(|member| {
        define(name_of(member.block), defs, |defs| {
            let mut schema = block(member.block, defs);
            schema["properties"]["type"] = one_of_words([&member.word]);
            schema
        })
    });
    any_of(members.collect())
}

/// The same as `{type: {…}}`; a map of several where that is allowed.
fn short(family: &'static Family, defs: &mut Map<String, Value>) -> Value {
    let mut types = Map::new();
    for member in family.members {
        let inner =
            define(format!("{}_inside", name_of(member.block)), defs, |defs| inside(member, defs));
        for name in std::iter::once(&member.word.name).chain(member.word.aliases) {
            types.insert((*name).to_owned(), any_of(vec![inner.clone(), json!({"type": "null"})]));
        }
    }
    json!({"type": "object", "properties": types, "additionalProperties": false, "minProperties": 1})
}

/// What stands below a type's name.
fn inside(member: &'static Member, defs: &mut Map<String, Value>) -> Value {
    let mut schema = block(member.block, defs);
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.remove("type");
    }
    let fields = member.block.fields.iter();
    let required = fields.filter(|field| field.required && field.name != "type");
    let required: Vec<_> = required.map(any_spelling).collect();
    if let Some(keywords) = schema.as_object_mut() {
        // An empty list is no `allOf`.
        keywords.remove("allOf");
        if !required.is_empty() {
            keywords.insert("allOf".to_owned(), Value::Array(required));
        }
    }
    let mut forms = Vec::new();
    if let Some(field) = member.short.and_then(|short| member.block.find(short)) {
        forms.push(value(field.kind, defs));
    }
    if std::ptr::eq(member.block, &super::rule_blocks::ACCEPTED_VALUES) {
        // By column, which no field can be mistaken for.
        let fields: Map<_, _> =
            member.block.all_keys().map(|key| (key.to_owned(), json!(false))).collect();
        forms.push(json!({"type": "object", "properties": fields, "additionalProperties": {"type": "array"}, "minProperties": 1}));
    }
    match forms.is_empty() {
        true => schema,
        false => any_of(std::iter::once(schema).chain(forms).collect()),
    }
}

/// A map from column to such values.
fn of_columns(values: Value) -> Value {
    json!({"type": "object", "additionalProperties": values, "minProperties": 1})
}

fn name_of(block: &Block) -> String {
    block.name.trim_start_matches("an ").trim_start_matches("a ").replace(' ', "_")
}

fn reference(block: &'static Block, defs: &mut Map<String, Value>) -> Value {
    define(name_of(block), defs, |defs| self::block(block, defs))
}

fn define(
    name: String,
    defs: &mut Map<String, Value>,
    schema: impl FnOnce(&mut Map<String, Value>) -> Value,
) -> Value {
    if !defs.contains_key(&name) {
        // Held at once, so that a block may hold itself.
        defs.insert(name.clone(), Value::Null);
        let schema = schema(defs);
        defs.insert(name.clone(), schema);
    }
    json!({"$ref": format!("#/$defs/{name}")})
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
