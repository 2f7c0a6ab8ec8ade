//! Names: text that means something, checked once on entry; no function below takes a bare `String` for one.

use std::fmt;

use serde::Deserialize;
use serde::Serialize;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $check:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks the text.
            ///
            /// # Errors
            /// Why it cannot be such a name, in words.
            pub fn new(text: impl Into<String>) -> Result<Self, String> {
                let text = text.into();
                let check: fn(&str) -> Result<(), String> = $check;
                check(&text).map(|()| Self(text))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;
            fn try_from(text: String) -> Result<Self, String> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// A flow's name: letters, digits, `_`, `-`, `.`. It is part of file names and of commits.
    FlowName,
    plain
);
name!(
    /// A destination's name, unique in its flow; part of the evidence and of the idempotency key.
    DestinationName,
    plain
);
name!(
    /// The name by which a flow calls a component.
    ComponentName,
    plain
);
name!(
    /// A column's name, in the spelling of the data: case counts, any character may occur.
    ColumnName,
    |text| if text.is_empty() { Err("a column's name cannot be empty".to_owned()) } else { Ok(()) }
);

impl DestinationName {
    /// The quarantine's name.
    #[must_use]
    pub fn quarantine() -> Self {
        Self("quarantine".to_owned())
    }
}

/// Letters, digits, `_`, `-`, `.`; not empty, at most 128 bytes, no leading dot: names become file names.
fn plain(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("a name cannot be empty".to_owned());
    }
    if text.len() > 128 {
        return Err(format!("`{text}` is longer than 128 bytes"));
    }
    if text.starts_with('.') {
        return Err(format!("`{text}` starts with a dot"));
    }
    match text.chars().find(|c| !(c.is_alphanumeric() || "_-.".contains(*c))) {
        Some(other) => Err(format!(
            "`{text}` has the character {other:?}; names take letters, digits, `_`, `-` and `.`"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_their_folder_are_refused() {
        for bad in ["", "..", ".x", "a/b", "a b", "a\\b", &"x".repeat(129)] {
            assert!(FlowName::new(bad).is_err(), "{bad:?}");
        }
        for good in ["flights", "a.b-c_d", "Flüge2"] {
            assert!(FlowName::new(good).is_ok(), "{good:?}");
        }
    }
}
