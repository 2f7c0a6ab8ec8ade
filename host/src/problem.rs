//! `Problem`: one mistake that a user can fix, with its place and the way out.

use std::fmt;

use serde::Deserialize;
use serde::Serialize;

/// The kind of a mistake: stable, so that scripts and tests can rely on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// The file is not JSON or YAML at all.
    Syntax,
    /// A key that the block does not have.
    UnknownKey,
    /// A required key is absent.
    MissingKey,
    /// One field spelt twice in one block, whatever the spelling.
    DuplicateKey,
    /// A value of the wrong type (text where a list is due, …).
    WrongType,
    /// A value of the right type that cannot be meant.
    WrongValue,
    /// A name that nothing defines: a connection, a component, a column, a variable.
    UnknownName,
    /// Two settings that exclude each other.
    Contradiction,
    /// A file or folder that is not there.
    NotFound,
    /// Something that whoever calls does not let the flow do.
    NotAllowed,
    /// Part of the design, but this version does not have it; refused rather than ignored.
    NotOffered,
    /// A component that the sandbox does not admit.
    NotAdmitted,
    /// Source and target, or step and step, do not agree on a column.
    Schema,
    /// The data cannot be read as declared.
    Data,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Where a mistake is: a file, a position in it if known, and the path of the field inside.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The file as the user named it; empty for the command line.
    pub file: String,
    /// Line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Column in characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The field, such as `destinations[0].merge_keys`; empty for the whole file.
    pub field: String,
}

impl Place {
    /// A field whose position in the file is not known.
    #[must_use]
    pub fn field(file: impl Into<String>, field: impl Into<String>) -> Self {
        Self { file: file.into(), line: None, column: None, field: field.into() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        if !self.field.is_empty() {
            let gap = if self.file.is_empty() { "" } else { ": " };
            write!(f, "{gap}{}", self.field)?;
        }
        Ok(())
    }
}

/// One mistake: its kind, its place, what is wrong in words, and how to mend it where that is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The kind.
    pub code: Code,
    /// The place.
    pub at: Place,
    /// What is wrong, with the offending name or value.
    pub what: String,
    /// What to do instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Problem {
    /// A problem without a hint.
    pub fn new(code: Code, at: Place, what: impl Into<String>) -> Self {
        Self { code, at, what: what.into(), hint: None }
    }

    /// The same problem with a way out.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} [{}]", self.at, escape(&self.what), self.code)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {}", escape(hint)),
            None => Ok(()),
        }
    }
}

/// The longest text of a stranger's that is shown, in bytes; the rest of a longer one is cut.
const SHOWN_BYTES_MAX: usize = 4096;

/// A stranger's text made safe to print and bounded: control characters escaped, so that it can neither rewrite a terminal nor look
/// like further lines; cut at 4 KiB.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(SHOWN_BYTES_MAX));
    for c in text.chars() {
        if shown.len() >= SHOWN_BYTES_MAX {
            shown.push('…');
            break;
        }
        if is_safe(c) { shown.push(c) } else { shown.extend(c.escape_default()) }
    }
    shown
}

/// Whether a character shows as itself: neither a control character nor one that reorders what a terminal shows.
#[must_use]
pub fn is_safe(c: char) -> bool {
    !(c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
}

/// The known name that `name` was most likely meant to be, if any is near enough.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| {
            *distance <= 1 + candidate.chars().count().max(name.chars().count()) / 4
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A hint for a name that is not known: the nearest one, or all of them where there are few.
pub fn known_names<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = nearest(name, known.clone()) {
        return format!("did you mean `{near}`?");
    }
    let all: Vec<_> = known.into_iter().map(|name| format!("`{name}`")).collect();
    match all.len() {
        0 => "there are none here".to_owned(),
        1..=12 => format!("known: {}", all.join(", ")),
        more => format!("{more} are known, among them {}", all[..12].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_key_finds_its_neighbour_and_a_foreign_word_none() {
        let known = ["merge_keys", "load_type", "columns"];
        assert_eq!(nearest("merge_key", known), Some("merge_keys"));
        assert_eq!(nearest("Load_Typ", known), Some("load_type"));
        assert_eq!(nearest("watermark", known), None);
    }
}
