//! A step's configuration against the component's JSON Schema: the shallow part, without data.
//!
//! Only the top level is judged here (unknown keys, required keys), so that `check` finds a misspelt key. The rest is
//! the guest's own to refuse in `open`: its schema is a stranger's text, and a full validator run on it in the host would
//! let a tenant's regular expressions run outside the sandbox.

use serde_json::Map;
use serde_json::Value;

use crate::component::Descriptor;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::problem::known_names;

/// The problems of `config` that the schema's top level shows.
#[must_use]
pub fn check(config: &Value, descriptor: &Descriptor, at: &Place) -> Vec<Problem> {
    let empty = Map::new();
    let given = match config {
        Value::Null => &empty,
        Value::Object(map) => map,
        other => {
            let what = format!(
                "`config` is {}, but a component's configuration is an object",
                kind(other)
            );
            return vec![Problem::new(Code::WrongType, at.clone(), what)];
        }
    };
    let schema = &descriptor.config_schema;
    let Some(known) = schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    let unknown = given.keys().filter(|key| closed && !known.contains_key(*key)).map(|key| {
        let what = format!("`{}` has no configuration `{key}`", descriptor.name);
        Problem::new(Code::UnknownKey, at.clone(), what)
            .hint(known_names(key, known.keys().map(String::as_str)))
    });
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let missing = required.filter(|key| !given.contains_key(*key)).map(|key| {
        let what = format!("`{}` needs the configuration `{key}`", descriptor.name);
        Problem::new(Code::MissingKey, at.clone(), what)
    });
    unknown.chain(missing).collect()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_and_missing_keys_are_all_found() {
        let descriptor = Descriptor {
            name: "tidy".into(),
            version: "1".into(),
            summary: String::new(),
            config_schema: json!({"properties": {"timezone": {}, "limit": {}}, "required": ["limit"], "additionalProperties": false}),
            deterministic: true,
        };
        let problems = check(&json!({"timezon": 1}), &descriptor, &Place::default());
        let shown: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(shown.len(), 2, "{shown:?}");
        assert!(shown[0].contains("did you mean `timezone`?"), "{shown:?}");
        assert!(shown[1].contains("needs the configuration `limit`"), "{shown:?}");
        assert_eq!(check(&json!([]), &descriptor, &Place::default()).len(), 1);
        assert!(check(&json!({"limit": 1}), &descriptor, &Place::default()).is_empty());
    }
}
