//! `{{ … }}` in the flow's texts. Rendered after parsing, so that a value never changes the file's structure.

mod refusal;
mod spelling;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use minijinja::Environment;
use minijinja::UndefinedBehavior;
use minijinja::Value;
use minijinja::filters;
use minijinja::syntax::SyntaxConfig;

pub(super) use self::refusal::Refusal;
use self::refusal::not_allowed;
use self::refusal::one_variable;
use self::refusal::undefined;
use self::refusal::unset;
use self::refusal::words;
use self::spelling::expressions;
use self::spelling::plain_spelling;
use super::collected;
use super::node::Mark;
use super::reserved;
use super::reserved::SECRET;
use super::sensitive::NoSecret;
use super::sensitive::Secrets;
use super::sensitive::Sensitive;
use crate::problem::Code;

/// How much text one `replace` may make, in bytes.
const RENDERED_BYTES_MAX: usize = 64 << 10;

/// Names that no variable may have.
pub(super) const RESERVED: &[&str] = &["run_id", "logical_date", "env", "secret"];

/// Words of the template language itself, which are no names in it.
pub(super) const WORDS: &[&str] = &[
    "true", "True", "false", "False", "none", "None", "not", "and", "or", "in", "is", "if", "else",
];

/// What a text with templates has become.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rendered {
    Text(String),
    /// It holds a secret: only fields that take one may have it.
    Secret(Sensitive),
    /// It names values of the data: only SQL that is read after them may have it.
    Collected(String),
}

/// Renders texts and remembers which variables they name.
#[derive(Debug)]
pub(super) struct Templates {
    secrets: Secrets,
    /// Variables that secrets are from, and the names of those secrets.
    variables: BTreeMap<String, String>,
    /// The names of secrets that the text at hand asks for.
    asked: Arc<Mutex<Vec<String>>>,
    environment: Environment<'static>,
    values: BTreeMap<String, Value>,
    /// The environment variables that texts may name, and their values where they are set.
    env: BTreeMap<String, Option<String>>,
    refused: BTreeSet<String>,
    used: BTreeSet<String>,
    /// Names that stand for values of the data.
    collected: BTreeSet<String>,
}

impl Templates {
    /// Templates that know the built-in names and nothing else.
    pub(super) fn new(
        run_id: &str,
        logical_date: &str,
        env: BTreeMap<String, Option<String>>,
        secrets: Secrets,
    ) -> Self {
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let mut environment = Environment::empty();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_syntax(
            SyntaxConfig::builder().keep_trailing_newline(true).build().unwrap_or_default(),
        );
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        // Only what can't make much of little: a hostile flow must not fill the memory.
        environment.add_filter("default", filters::default);
        environment.add_filter("lower", filters::lower);
        environment.add_filter("upper", filters::upper);
        environment.add_filter("trim", filters::trim);
        environment.add_filter("replace", replace);
        environment.add_filter("int", filters::int);
        environment.add_filter("float", filters::float);
        environment.add_test("defined", minijinja::tests::is_defined);
        environment.add_test("undefined", minijinja::tests::is_undefined);
        let asking = Arc::clone(&asked);
        environment.add_function("secret", move |name: String| {
            let mut asked = asking.lock().unwrap_or_else(PoisonError::into_inner);
            asked.push(name);
            format!("{SECRET}{}{SECRET}", asked.len() - 1)
        });
        let undefined = |value: &Option<String>| value.clone().map_or(Value::UNDEFINED, Into::into);
        let set = env.iter().map(|(name, value)| (name.clone(), undefined(value)));
        let values = BTreeMap::from([
            ("run_id".to_owned(), Value::from(run_id)),
            ("logical_date".to_owned(), Value::from(logical_date)),
            ("env".to_owned(), Value::from_pairs(set)),
        ]);
        let (refused, used) = (BTreeSet::new(), BTreeSet::new());
        let collected = BTreeSet::new();
        let variables = BTreeMap::new();
        Self { environment, values, env, refused, used, secrets, variables, asked, collected }
    }

    /// Declares names that stand for values of the data.
    pub(super) fn collect(&mut self, names: &BTreeMap<String, Mark>) {
        for name in names.keys() {
            self.set(name, Value::from(collected::mark(name)));
        }
        self.collected = names.keys().cloned().collect();
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.values.insert(name.to_owned(), value);
        self.refused.remove(name);
    }

    /// Declares a variable that has no usable value; that was told or will be.
    pub(super) fn refuse(&mut self, name: &str) {
        self.refused.insert(name.to_owned());
    }

    /// Whether a text rendered so far names the variable.
    pub(super) fn uses(&self, name: &str) -> bool {
        self.used.contains(name)
    }

    /// All names that texts have used so far.
    pub(super) fn used(&self) -> impl Iterator<Item = &str> + Clone {
        self.used.iter().map(String::as_str)
    }

    /// The rendered text; `None` where the text has no template in it.
    pub(super) fn render(&mut self, text: &str) -> Result<Option<Rendered>, Refusal> {
        if !["{{", "{%", "{#"].iter().any(|open| text.contains(open)) {
            return Ok(None);
        }
        let spelt = plain_spelling(text)?;
        let text = spelt.as_str();
        let wrong = |error: &minijinja::Error| Refusal::Because {
            code: Code::WrongValue,
            what: format!("the template cannot be rendered: {}", words(error)),
            hint: match error.kind() {
                minijinja::ErrorKind::SyntaxError => {
                    Some("text that shall keep its braces is written `{{ '{{' }}`".to_owned())
                }
                minijinja::ErrorKind::UnknownFilter => Some(
                    "known: `default`, `lower`, `upper`, `trim`, `replace`, `int`, `float`"
                        .to_owned(),
                ),
                _ => None,
            },
        };
        let template = self.environment.template_from_str(text).map_err(|error| wrong(&error))?;
        let mut names = template.undeclared_variables(false);
        names.remove("secret");
        let parts = template.undeclared_variables(true);
        let mut named: Vec<&str> =
            parts.iter().filter_map(|name| name.strip_prefix("env.")).collect();
        named.sort_unstable();
        if let Some(name) = named.iter().find(|name| !self.env.contains_key(**name)) {
            return Err(not_allowed(name));
        }
        let has_reserved = |name: &&String| {
            let variable = self.values.get(*name).and_then(Value::as_str);
            let of_env = name.strip_prefix("env.").and_then(|name| self.env[name].as_deref());
            !self.collected.contains(*name) && variable.or(of_env).is_some_and(reserved::is_in)
        };
        if let Some(name) = parts.iter().find(has_reserved) {
            return Err(Refusal::Because {
                code: Code::WrongValue,
                what: format!("the value of `{name}` {}", reserved::WHY),
                hint: None,
            });
        }

        let rendered = template
            .render(Value::from_pairs(
                self.values.iter().map(|(name, value)| (name.as_str(), value.clone())),
            ))
            .map_err(|error| {
                if error.kind() != minijinja::ErrorKind::UndefinedError {
                    return wrong(&error);
                }
                let mut missing: Vec<_> =
                    names.iter().filter(|name| !self.values.contains_key(*name)).collect();
                missing.sort();
                match missing.as_slice() {
                    [] => match named.iter().find(|name| self.env[**name].is_none()) {
                        Some(name) => unset(name),
                        None => wrong(&error),
                    },
                    missing if missing.iter().any(|name| self.refused.contains(*name)) => {
                        Refusal::Follows
                    }
                    missing => {
                        let names = self.values.keys().map(String::as_str);
                        undefined(missing, names.filter(|name| *name != "env"))
                    }
                }
            });
        self.used.extend(names);
        let asked = std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner));
        let rendered = rendered?;
        let is_collected = parts.iter().any(|name| self.collected.contains(name));
        match (asked.is_empty(), is_collected) {
            (true, false) => Ok(Some(Rendered::Text(rendered))),
            (false, false) => {
                self.with_secrets(&rendered, &asked).map(|text| Some(Rendered::Secret(text)))
            }
            (true, true) if self.are_plain(text) => Ok(Some(Rendered::Collected(rendered))),
            (true, true) => Err(Refusal::Because {
                code: Code::WrongValue,
                what:
                    "collected values are put where they are named: they cannot be changed or compared"
                        .to_owned(),
                hint: Some("write `{{ name }}`, and compute in the SQL around it".to_owned()),
            }),
            (false, true) => Err(Refusal::Because {
                code: Code::NotAllowed,
                what: "a secret cannot stand beside collected values".to_owned(),
                hint: None,
            }),
        }
    }

    /// Whether nothing is done to collected values: each stands by itself, as `{{ name }}` or `{{ name | default(…) }}`.
    fn are_plain(&self, text: &str) -> bool {
        expressions(text).all(|expression| {
            let whole = format!("{{{{{expression}}}}}");
            let Ok(template) = self.environment.template_from_str(&whole) else { return false };
            let names = template.undeclared_variables(false);
            let mut collected = names.iter().filter(|name| self.collected.contains(*name));
            let Some(name) = collected.next() else { return true };
            let expression = expression.trim_matches('-').trim();
            let rest = expression.strip_prefix(name.as_str()).map(str::trim_start);
            rest.is_some_and(|rest| {
                let filter = rest.strip_prefix('|').map(str::trim_start);
                let default = filter.and_then(|filter| filter.strip_prefix("default"));
                rest.is_empty()
                    || default.is_some_and(|default| {
                        // No further filter behind it.
                        collected.next().is_none() && !default.contains('|')
                    })
            })
        })
    }

    /// Puts secrets in the place of their marks.
    fn with_secrets(&mut self, rendered: &str, asked: &[String]) -> Result<Sensitive, Refusal> {
        let changed = || {
            let what =
                "a secret is put where it is named: it cannot be changed or compared".to_owned();
            Refusal::Because { code: Code::WrongValue, what, hint: None }
        };
        // One that is asked for and does not stand there decided something.
        if (0..asked.len()).any(|at| !rendered.contains(&format!("{SECRET}{at}{SECRET}"))) {
            return Err(changed());
        }
        let (mut shown, mut value, mut secrets) = (String::new(), String::new(), Vec::new());
        for (at, part) in rendered.split(SECRET).enumerate() {
            if at % 2 == 0 {
                shown.push_str(part);
                value.push_str(part);
                continue;
            }
            // A filter may have changed what it took for a text.
            let Some(name) = part.parse().ok().and_then(|at: usize| asked.get(at)) else {
                return Err(changed());
            };
            let (secret, from) = self.secrets.find(name).map_err(|NoSecret { what, hint }| {
                Refusal::Because { code: Code::NotFound, what, hint: Some(hint) }
            })?;
            if let Some(variable) = from {
                let first = self.variables.entry(variable).or_insert_with_key(|_| name.clone());
                if first != name {
                    return Err(one_variable(first, name));
                }
            }
            shown.push_str(&format!("{{{{ secret:{name} }}}}"));
            value.push_str(&secret);
            secrets.push(secret);
        }
        Ok(Sensitive::new(shown, value, secrets))
    }
}

/// Replaces within bounds: repeated, it would grow a text without any.
fn replace(text: &str, from: &str, to: &str) -> Result<String, minijinja::Error> {
    let grown = text.len().saturating_add(text.matches(from).count().saturating_mul(to.len()));
    if grown > RENDERED_BYTES_MAX {
        let what = format!("`replace` makes more than {RENDERED_BYTES_MAX} bytes");
        return Err(minijinja::Error::new(minijinja::ErrorKind::InvalidOperation, what));
    }
    Ok(text.replace(from, to))
}

#[cfg(test)]
mod tests;
