//! Single values of the file as the types that fields want.

use super::fields::Offer;
use super::fields::Word;
use super::node::Node;
use super::node::Shape;
use super::report::Report;
use super::report::Spot;
use crate::problem::Code;
use crate::problem::known_names;
use crate::problem::nearest;

/// Text, and nothing that merely looks like it: a number's spelling would be lost.
pub(super) fn text<'a>(report: &Report, node: &'a Node, spot: &Spot) -> Option<&'a str> {
    match &node.shape {
        Shape::Text(text) => Some(text),
        Shape::Refused => None,
        Shape::Secret(_) | Shape::Collected(_) => {
            not_here(report, node, spot);
            None
        }
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

/// Tells that a field takes no secret, because its value is shown and recorded or goes to a guest; or no collected values, because
/// it is used before there are any.
pub(super) fn not_here(report: &Report, node: &Node, spot: &Spot) {
    let (what, hint) = match &node.shape {
        Shape::Secret(_) => (
            "a secret cannot stand here",
            "fields that take one: those of a connection's `storage`, and `url`, `user`, `password`",
        ),
        _ => (
            "collected values cannot stand here",
            "the SQL of steps behind the `collect` step takes them",
        ),
    };
    report.add_hint(Code::NotAllowed, spot, what, hint);
}

/// Text, or what is written as text in one way only.
pub(super) fn scalar(report: &Report, node: &Node, spot: &Spot, name: &str) -> Option<String> {
    match &node.shape {
        Shape::Text(text) => Some(text.clone()),
        Shape::Bool(value) => Some(value.to_string()),
        Shape::Number(number) if !number.is_f64() => Some(number.to_string()),
        Shape::Refused => None,
        Shape::Secret(_) | Shape::Collected(_) => {
            not_here(report, node, spot);
            None
        }
        Shape::Number(_) => {
            let what =
                format!("`{name}` is text, a whole number, true or false; this is {}", shown(node));
            report.add_hint(Code::WrongValue, spot, what, "put it in quotes");
            None
        }
        Shape::Null | Shape::List(_) | Shape::Map(_) => {
            let what =
                format!("`{name}` is text, a whole number, true or false; this is {}", shown(node));
            report.add(Code::WrongType, spot, what);
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
    words: impl IntoIterator<Item = &'static Word> + Clone,
) -> Option<&'static Word> {
    let lower = text.trim().to_lowercase();
    let Some(word) = words.clone().into_iter().find(|word| word.is(&lower)) else {
        let all: Vec<_> = words
            .clone()
            .into_iter()
            .flat_map(|word| std::iter::once(word.name).chain(word.aliases.iter().copied()))
            .collect();
        let offered: Vec<_> = words
            .into_iter()
            .filter(|word| word.offer == Offer::Now)
            .map(|word| word.name)
            .collect();
        let hint = match nearest(&lower, all.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => known_names(&lower, offered.iter().copied()),
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

/// What a whole number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    /// Things, from 1.
    Count,
    /// Things, from 0.
    Whole,
    /// Bytes, from 1; text may have a unit.
    Bytes,
}

/// A whole number, also as text.
pub(super) fn number(
    report: &Report,
    node: &Node,
    spot: &Spot,
    name: &str,
    kind: Number,
) -> Option<u64> {
    let parsed = match &node.shape {
        Shape::Refused => return None,
        Shape::Number(number) => number.as_u64(),
        Shape::Text(text) if kind == Number::Bytes => size(text),
        Shape::Text(text) => text.trim().parse().ok(),
        _ => None,
    };
    match parsed {
        Some(0) if kind == Number::Whole => parsed,
        Some(0) | None => {
            let due = match kind {
                Number::Bytes => "a number of bytes from 1, or text such as `64 MiB`",
                Number::Count => "a whole number from 1",
                Number::Whole => "a whole number from 0",
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
        Shape::List(_)
        | Shape::Map(_)
        | Shape::Secret(_)
        | Shape::Collected(_)
        | Shape::Refused => node.kind().to_owned(),
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
