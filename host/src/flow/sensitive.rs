//! Secrets: where they come from, and texts that hold them without showing them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;

use percent_encoding::NON_ALPHANUMERIC;
use percent_encoding::percent_decode_str;
use percent_encoding::utf8_percent_encode;

/// What stands in place of a secret.
const HIDDEN: &str = "***";

/// How the environment variables of secrets begin.
pub const SECRET_VARIABLE: &str = "WASMHOST_SECRET_";

/// A text that may hold secrets: it shows what the flow says, `{{ secret:scope/key }}`, and gives its value only where it is used.
#[derive(Clone, PartialEq, Eq)]
pub struct Sensitive {
    shown: String,
    value: String,
    /// What must not be seen; each is a part of the value.
    secrets: Vec<String>,
}

impl Sensitive {
    /// A text in which these parts are secrets.
    #[must_use]
    pub fn new(
        shown: impl Into<String>,
        value: impl Into<String>,
        secrets: impl IntoIterator<Item = String>,
    ) -> Self {
        let secrets = secrets.into_iter().filter(|secret| !secret.is_empty()).collect();
        Self { shown: shown.into(), value: value.into(), secrets }
    }

    /// A text that the flow has in plain words: all of it is secret, or the password where it is a URL.
    #[must_use]
    pub fn plain(text: &str) -> Self {
        let Some((_, rest)) = text.split_once("://") else {
            return Self::new(HIDDEN, text, [text.to_owned()]);
        };
        // By the text alone: what the parser takes for no URL may hold a password all the same.
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let password = authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':'));
        let query = rest.split_once('?').map_or("", |(_, query)| query);
        let queried = query.split(['&', '#']).filter_map(|pair| pair.split_once('='));
        let queried = queried.filter(|(name, _)| name.eq_ignore_ascii_case("password"));
        let found = password.into_iter().chain(queried).map(|(_, secret)| secret);
        let decoded = |secret: &str| percent_decode_str(secret).decode_utf8_lossy().into_owned();
        let secrets = found.flat_map(|secret| [secret.to_owned(), decoded(secret)]);
        let hidden = Self::new("", text, secrets);
        Self { shown: hidden.redact(text), ..hidden }
    }

    /// A text without any secret in it.
    #[must_use]
    pub fn open(text: &str) -> Self {
        Self::new(text, text, [])
    }

    /// The same as a URL, behind its scheme.
    #[must_use]
    pub fn prefixed(&self, prefix: &str) -> Self {
        let Self { shown, value, secrets } = self;
        if shown == HIDDEN {
            return Self::plain(&format!("{prefix}{value}"));
        }
        Self::new(format!("{prefix}{shown}"), format!("{prefix}{value}"), secrets.clone())
    }

    /// Whether the flow names secrets in it, so that no part of its value may be seen.
    #[must_use]
    pub fn names_secrets(&self) -> bool {
        self.shown.contains("{{")
    }

    /// The value itself, for whoever needs it now: never kept, printed or recorded.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.value
    }

    /// A text of somebody else's, such as an error, without the secrets that it repeats.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| {
            let encoded = utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string();
            // Debug output of text escapes quotes and backslashes.
            let escaped = secret.escape_debug().to_string();
            [secret.as_str(), &encoded, &escaped]
                .into_iter()
                .fold(text, |text, spelt| text.replace(spelt, HIDDEN))
        })
    }
}

impl fmt::Display for Sensitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Sensitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sensitive({:?})", self.shown)
    }
}

/// The secrets that a flow may name, `scope/key` or a name alone.
#[derive(Clone, Default)]
pub struct Secrets {
    /// Values by the name of their environment variable.
    pub variables: BTreeMap<String, String>,
    /// A folder of files, `scope/key`, one file a secret, as container platforms mount them. It wins over variables.
    pub folder: Option<PathBuf>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets")
            .field("variables", &self.variables.keys())
            .field("folder", &self.folder)
            .finish()
    }
}

/// Why there is no such secret, and the way out.
pub(super) struct NoSecret {
    pub(super) what: String,
    pub(super) hint: String,
}

impl Secrets {
    /// The secret of this name. A line break at the end of its file is none of it.
    pub(super) fn find(&self, name: &str) -> Result<String, NoSecret> {
        let plain = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        };
        if !name.split('/').all(plain) {
            return Err(NoSecret {
                what: format!("`{name}` is no secret's name"),
                hint: "`scope/key`: letters, digits, `_`, `-`, `.`".to_owned(),
            });
        }
        let underscored =
            |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let variable =
            format!("{SECRET_VARIABLE}{}", name.chars().map(underscored).collect::<String>());
        let file = self.folder.as_ref().map(|folder| folder.join(name));
        let found = match file.as_ref().filter(|file| file.is_file()) {
            Some(file) => Some(fs::read_to_string(file).map_err(|error| NoSecret {
                what: format!("the secret `{name}` cannot be read: {}: {error}", file.display()),
                hint: "a secret is a file of UTF-8 text".to_owned(),
            })?),
            None => self.variables.get(&variable).cloned(),
        };
        let found = found.map(|text| {
            let text = text.strip_suffix('\n').unwrap_or(&text);
            text.strip_suffix('\r').unwrap_or(text).to_owned()
        });
        match found {
            Some(text) if !text.is_empty() => Ok(text),
            Some(_) => Err(NoSecret {
                what: format!("the secret `{name}` is empty"),
                hint: "leave the field out where there is nothing to say".to_owned(),
            }),
            None => Err(NoSecret {
                what: format!("there is no secret `{name}`"),
                hint: match file {
                    Some(file) => {
                        format!("set `{variable}`, or make the file `{}`", file.display())
                    }
                    None => format!("set `{variable}`, or name a folder of secrets by `--secrets`"),
                },
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts_hide_what_is_secret_in_them() {
        for (text, shown) in [
            ("abc", "***"),
            ("postgresql://u:p%40ss@h/db", "postgresql://u:***@h/db"),
            ("postgresql://u@h/db?password=geheim", "postgresql://u@h/db?password=***"),
            ("http://u:p w@h:x", "http://u:***@h:x"),
            ("http://h:80/a", "http://h:80/a"),
        ] {
            let sensitive = Sensitive::plain(text);
            assert_eq!(sensitive.to_string(), shown);
            assert_eq!(
                (sensitive.reveal(), sensitive.redact(text)),
                (text, sensitive.redact(shown))
            );
        }
    }

    #[test]
    fn errors_lose_every_spelling_of_a_secret() {
        let secret = Sensitive::new("{{ secret:a/b }}", "x\"/é", ["x\"/é".to_owned()]);
        for (text, redacted) in [
            ("at x\"/é.", "at ***."),
            ("at http://x%22%2F%C3%A9@h", "at http://***@h"),
            ("Error { x: \"x\\\"/é\" }", "Error { x: \"***\" }"),
        ] {
            assert_eq!(secret.redact(text), redacted);
        }
        assert_eq!(
            format!("{secret:?} {secret}"),
            "Sensitive(\"{{ secret:a/b }}\") {{ secret:a/b }}"
        );
    }
}
