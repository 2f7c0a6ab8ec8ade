//! Secrets: where they come from, and texts that hold them without showing them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;

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

    /// A text that is secret as a whole, and stands in the flow in plain words.
    #[must_use]
    pub fn plain(text: &str) -> Self {
        Self::new(HIDDEN, text, [text.to_owned()])
    }

    /// A URL: whoever asks by it is secret, a password as well as a token.
    ///
    /// By the text alone: what no parser takes for a URL may hold a password all the same.
    #[must_use]
    pub fn url(text: &str) -> Self {
        let hidden = Self::new("", text, secrets_of_url(text));
        Self { shown: hidden.redact(text), ..hidden }
    }

    /// The same, where the flow names secrets in it: what else is one is hidden, too.
    #[must_use]
    pub fn as_url(&self) -> Self {
        let more = secrets_of_url(&self.value);
        let all = Self::new("", "", more.into_iter().chain(self.secrets.iter().cloned()));
        Self { shown: all.redact(&self.shown), value: self.value.clone(), secrets: all.secrets }
    }

    /// A text without any secret in it.
    #[must_use]
    pub fn open(text: &str) -> Self {
        Self::new(text, text, [])
    }

    /// The same behind a text that is none.
    #[must_use]
    pub fn prefixed(&self, prefix: &str) -> Self {
        let Self { shown, value, secrets } = self;
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
        hide(self.secrets.iter().collect(), text)
    }

    /// The same for several.
    #[must_use]
    pub fn redact_all(all: &[Self], text: &str) -> String {
        hide(all.iter().flat_map(|one| &one.secrets).collect(), text)
    }
}

/// The longest first: a secret may begin like another one.
fn hide(mut secrets: Vec<&String>, text: &str) -> String {
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.into_iter().fold(text.to_owned(), |text, secret| {
        // Debug output of text escapes quotes and backslashes.
        let text = text.replace(&secret.escape_debug().to_string(), HIDDEN);
        let mut hidden = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(c) = rest.chars().next() {
            match after(rest, secret) {
                Some(behind) => {
                    hidden.push_str(HIDDEN);
                    rest = behind;
                }
                None => {
                    hidden.push(c);
                    rest = &rest[c.len_utf8()..];
                }
            }
        }
        hidden
    })
}

/// What follows the secret where the text begins with it, each byte as it is or in the encoding of URLs.
fn after<'a>(text: &'a str, secret: &str) -> Option<&'a str> {
    let mut at = 0;
    for byte in secret.bytes() {
        let rest = &text.as_bytes()[at..];
        let encoded = || {
            let digits = std::str::from_utf8(rest.strip_prefix(b"%")?.get(..2)?).ok()?;
            u8::from_str_radix(digits, 16).ok()
        };
        at += match rest.first() {
            Some(first) if *first == byte => 1,
            Some(b'%') if encoded() == Some(byte) => 3,
            _ => return None,
        };
    }
    text.get(at..)
}

/// What is secret in a URL, as it stands there and decoded.
fn secrets_of_url(text: &str) -> Vec<String> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    let queried = query.split(['&', '#']).filter_map(|pair| pair.split_once('='));
    let secret = |name: &str| {
        ["password", "sig", "token"].iter().any(|secret| name.eq_ignore_ascii_case(secret))
    };
    let queried = queried.filter(|(name, _)| secret(name)).map(|(_, value)| value);
    let asking = rest.split('?').next().and_then(|rest| rest.rsplit_once('@'));
    let asking = asking.and_then(|(asking, _)| match asking.split_once(':') {
        Some((_, password)) => Some(password),
        // A user of a database is none.
        None => scheme.starts_with("http").then_some(asking),
    });
    let decoded = |secret: &str| percent_decode_str(secret).decode_utf8_lossy().into_owned();
    asking
        .into_iter()
        .chain(queried)
        .flat_map(|secret| [secret.to_owned(), decoded(secret)])
        .collect()
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
    /// The secret of this name, and the variable that it is from, if it is from one. A line break at the end of its file is none of it.
    pub(super) fn find(&self, name: &str) -> Result<(String, Option<String>), NoSecret> {
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
        let in_file = file.as_ref().filter(|file| file.is_file());
        let from = in_file.is_none().then(|| variable.clone());
        let found = match in_file {
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
            Some(text) if !text.is_empty() => Ok((text, from)),
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
    fn urls_hide_who_asks_by_them() {
        for (text, shown) in [
            ("postgresql://u:p%40ss@h/db", "postgresql://u:***@h/db"),
            ("postgresql://u@h/db?password=geheim", "postgresql://u@h/db?password=***"),
            ("http://u:p w@h:x", "http://u:***@h:x"),
            ("http://u:pa/ss@h", "http://u:***@h"),
            ("https://token@h", "https://***@h"),
            ("https://h/x?sv=1&sig=a%2Bb", "https://h/x?sv=1&sig=***"),
            ("http://h:80/a", "http://h:80/a"),
        ] {
            let url = Sensitive::url(text);
            assert_eq!((url.to_string().as_str(), url.reveal()), (shown, text));
        }
        let whole = Sensitive::plain("https://x?y");
        assert_eq!(
            (whole.to_string().as_str(), whole.redact("a https://x?y b")),
            ("***", "a *** b".to_owned())
        );
        let named =
            Sensitive::new("http://u:pw@{{ secret:h }}", "http://u:pw@there", ["there".to_owned()]);
        assert_eq!(named.as_url().to_string(), "http://u:***@{{ secret:h }}");
        assert_eq!(named.as_url().redact("pw there"), "*** ***");
    }

    #[test]
    fn errors_lose_every_spelling_of_a_secret() {
        let secret = Sensitive::new("{{ secret:a/b }}", "x-\"/é=", ["x-\"/é=".to_owned()]);
        for (text, redacted) in [
            ("at x-\"/é=.", "at ***."),
            ("at http://x%2D%22%2f%C3%A9%3D@h", "at http://***@h"),
            ("at http://x-%22/%c3%A9=@h", "at http://***@h"),
            ("Error { x: \"x-\\\"/é=\" }", "Error { x: \"***\" }"),
            ("x-\"/é", "x-\"/é"),
        ] {
            assert_eq!(secret.redact(text), redacted);
        }
        let both = [Sensitive::plain("minio"), Sensitive::plain("minio123")];
        assert_eq!(Sensitive::redact_all(&both, "minio123 minio"), "*** ***");
        assert_eq!(
            format!("{secret:?} {secret}"),
            "Sensitive(\"{{ secret:a/b }}\") {{ secret:a/b }}"
        );
    }
}
