//! From the configuration's JSON text to the component's own type.

use crate::failure::{Diagnostic, Failure};
use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};

/// Reads a configuration. Empty text and `null` mean `{}`, so that a component without settings needs none.
///
/// # Errors
/// `bad-config` with a JSON pointer to the value that does not fit.
pub fn parse<C: DeserializeOwned>(text: &str) -> Result<C, Failure> {
    let text = match text.trim() {
        "" | "null" => "{}",
        text => text,
    };
    let mut json = serde_json::Deserializer::from_str(text);
    let config = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let code = if error.inner().is_data() { "config" } else { "json" };
        let diagnostic = Diagnostic::new(code, error.inner().to_string());
        Failure::BadConfig(vec![Diagnostic { path: pointer(error.path()), ..diagnostic }])
    })?;
    json.end()
        .map_err(|error| Failure::BadConfig(vec![Diagnostic::new("json", error.to_string())]))?;
    Ok(config)
}

/// The path as a JSON pointer (RFC 6901); none where serde lost it.
fn pointer(path: &Path) -> Option<String> {
    let mut pointer = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => {
                pointer.push('/');
                pointer.push_str(&index.to_string());
            }
            Segment::Map { key } => {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            }
            // An externally tagged variant is a key in the JSON text too.
            Segment::Enum { variant } => {
                pointer.push('/');
                pointer.push_str(variant);
            }
            Segment::Unknown => return None,
        }
    }
    Some(pointer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Config {
        limits: Vec<Limit>,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Limit {
        #[serde(rename = "a/b")]
        most: u32,
    }

    fn problem(text: &str) -> Diagnostic {
        match parse::<Config>(text) {
            Err(Failure::BadConfig(problems)) => problems[0].clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nothing_means_an_empty_object() {
        for text in ["", "  ", "null", "{}"] {
            assert_eq!(parse::<Config>(text), Ok(Config::default()), "{text:?}");
        }
    }

    #[test]
    fn a_wrong_value_is_pointed_at() {
        let problem = problem(r#"{"limits": [{"a/b": 1}, {"a/b": "much"}]}"#);
        assert_eq!(problem.path.as_deref(), Some("/limits/1/a~1b"));
        assert_eq!(problem.code, "config");
    }

    #[test]
    fn an_unknown_key_is_named() {
        let problem = problem(r#"{"limit": []}"#);
        assert!(problem.message.contains("unknown field `limit`"), "{}", problem.message);
    }

    #[test]
    fn text_that_is_not_json_is_refused() {
        assert_eq!(problem(r#"{"limits": ["#).code, "json");
        assert_eq!(problem("{} {}").code, "json");
    }
}
