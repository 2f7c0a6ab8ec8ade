//! Orders as flows spell them: `scheduled_at DESC NULLS LAST, "line no" ASC`.

use super::fields::Unsaid;
use crate::name::ColumnName;
use crate::table::OrderBy;

/// The columns of an order, foremost first. What is not said is `unsaid`, with NULL last.
///
/// # Errors
/// What is wrong, in words.
pub(super) fn order(text: &str, unsaid: Unsaid) -> Result<Vec<OrderBy>, String> {
    let mut is_quoted = false;
    let parts = text.split(|c: char| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    });
    parts.map(|part| term(part.trim(), unsaid)).collect()
}

fn term(text: &str, unsaid: Unsaid) -> Result<OrderBy, String> {
    let (name, rest) = match text.strip_prefix('"') {
        Some(quoted) => {
            quoted_name(quoted).ok_or_else(|| format!("`{text}` has a quote that does not end"))?
        }
        None => {
            let end = text.find(char::is_whitespace).unwrap_or(text.len());
            (text[..end].to_owned(), &text[end..])
        }
    };
    let column = ColumnName::new(name)?;
    let words: Vec<_> = rest.split_whitespace().map(str::to_uppercase).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let (descending, nulls) = match words.as_slice() {
        ["ASC", nulls @ ..] => (false, nulls),
        ["DESC", nulls @ ..] => (true, nulls),
        nulls => (unsaid == Unsaid::Descending, nulls),
    };
    let nulls_first = match nulls {
        [] | ["NULLS", "LAST"] => false,
        ["NULLS", "FIRST"] => true,
        _ => return Err(format!("`{text}` is no `column [ASC|DESC] [NULLS FIRST|LAST]`")),
    };
    Ok(OrderBy { column, descending, nulls_first })
}

/// The name up to its closing quote, and the rest; a doubled quote is one quote.
fn quoted_name(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"')?;
        name.push_str(before);
        match after.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, after)),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::super::fields::Unsaid;
    use super::order;

    fn shown(text: &str, unsaid: Unsaid) -> Vec<String> {
        let order = order(text, unsaid).unwrap();
        let shown = order.iter().map(|by| {
            let nulls = if by.nulls_first { "first" } else { "last" };
            format!("{} {} {nulls}", by.column, if by.descending { "down" } else { "up" })
        });
        shown.collect()
    }

    #[test]
    fn orders_are_read_as_they_are_said() {
        assert_eq!(shown("at", Unsaid::Descending), ["at down last"]);
        assert_eq!(shown("at, b DESC", Unsaid::Ascending), ["at up last", "b down last"]);
        assert_eq!(
            shown("at asc nulls first , b DESC", Unsaid::Descending),
            ["at up first", "b down last"]
        );
        assert_eq!(shown("a NULLS FIRST", Unsaid::Descending), ["a down first"]);
        assert_eq!(
            shown("\"a, \"\"b\"\" c\" Asc,d", Unsaid::Descending),
            ["a, \"b\" c up last", "d down last"]
        );
    }

    #[test]
    fn other_texts_are_no_orders() {
        for bad in ["", "a,,b", "a b", "a DESC LAST", "\"a", "a NULLS", "a DESC DESC", "\"\" ASC"] {
            assert!(order(bad, Unsaid::Ascending).is_err(), "{bad}");
        }
    }
}
