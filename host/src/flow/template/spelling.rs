//! Templates as the template language has them: our own spelling of secrets put into its words, and what is no expression refused.

use super::refusal::Refusal;
use crate::problem::Code;

/// The text as the template language has it: `{{ secret:scope/key }}` is our own spelling.
///
/// Refuses what is no expression. Statements could loop and grow without bound, and a flow's value needs none.
pub(super) fn plain_spelling(text: &str) -> Result<String, Refusal> {
    let mut spelt = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        spelt.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with("{%") {
            return Err(Refusal::Because {
                code: Code::WrongValue,
                what: "`{% … %}` is no part of a flow's templates".to_owned(),
                hint: Some("write an expression: `{{ a if b else c }}`".to_owned()),
            });
        }
        let end = match rest.get(..2) {
            Some("{#") => "#}",
            Some("{{") => "}}",
            _ => {
                spelt.push('{');
                rest = &rest[1..];
                continue;
            }
        };
        let behind = after(&rest[2..], end)?;
        let whole = &rest[..rest.len() - behind.len()];
        match own_secret(whole).filter(|_| end == "}}") {
            Some(name) => spelt.push_str(&format!("{{{{ secret('{name}') }}}}")),
            None => spelt.push_str(whole),
        }
        rest = behind;
    }
    spelt.push_str(rest);
    Ok(spelt)
}

/// What stands between `{{` and `}}`.
pub(super) fn expressions(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let inner = &rest[rest.find("{{")? + 2..];
        let behind = after(inner, "}}").ok()?;
        rest = behind;
        Some(inner[..inner.len() - behind.len()].trim_end_matches('}'))
    })
}

/// The name in `{{ secret:scope/key }}`.
fn own_secret(expression: &str) -> Option<String> {
    let inner = expression.strip_prefix("{{")?.strip_suffix("}}")?;
    let tail = inner.trim().strip_prefix("secret")?.trim_start().strip_prefix(':')?;
    Some(tail.trim().replace(['\'', '\\'], "?"))
}

/// What follows `end`, quoted texts skipped; nothing where `end` is missing.
fn after<'a>(text: &'a str, end: &str) -> Result<&'a str, Refusal> {
    let mut quote = None;
    for (index, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if end == "}}" && (c == '\'' || c == '"') => quote = Some(c),
            None if text[index..].starts_with(end) => return Ok(&text[index + end.len()..]),
            None if end == "}}" && c == '*' => {
                return Err(Refusal::Because {
                    code: Code::WrongValue,
                    what: "`*` is no part of a flow's templates".to_owned(),
                    hint: None,
                });
            }
            None => {}
        }
    }
    Ok("")
}
