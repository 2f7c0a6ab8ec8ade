//! `{{ … }}` in the flow's texts. Rendered after parsing, so that a value never changes the file's structure.

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

use super::collected;
use super::report::Report;
use super::report::Spot;
use super::sensitive::NoSecret;
use super::sensitive::Secrets;
use super::sensitive::Sensitive;
use crate::problem::Code;
use crate::problem::Problem;
use crate::problem::known_names;

/// How much text one `replace` may make, in bytes.
const RENDERED_BYTES_MAX: usize = 64 << 10;

/// Names that no variable may have.
pub(super) const RESERVED: &[&str] = &["run_id", "logical_date", "env", "secret"];

/// Why a text could not be rendered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Because {
        code: Code,
        what: String,
        hint: Option<String>,
    },
    /// It names a variable whose own value was refused, which is told there.
    Follows,
}

impl Refusal {
    pub(super) fn tell(self, report: &Report, spot: &Spot) {
        match self {
            Self::Because { code, what, hint } => {
                report.take(Problem { code, at: report.place(spot), what, hint })
            }
            Self::Follows => {}
        }
    }
}

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

/// What stands for a secret while its text is rendered: its place among those named, between two of these. Unicode reserves the
/// character for such use within a program.
const MARK: char = '\u{fdd0}';

/// Renders texts and remembers which variables they name.
#[derive(Debug)]
pub(super) struct Templates {
    secrets: Secrets,
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
            format!("{MARK}{}{MARK}", asked.len() - 1)
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
        Self { environment, values, env, refused, used, secrets, asked, collected }
    }

    /// Declares names that stand for values of the data.
    pub(super) fn collect(&mut self, names: &BTreeSet<String>) {
        for name in names {
            self.set(name, Value::from(collected::mark(name)));
        }
        self.collected.clone_from(names);
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
            (false, _) => {
                self.with_secrets(&rendered, &asked).map(|text| Some(Rendered::Secret(text)))
            }
            (true, true) => match collected::names_in(&rendered, &self.collected) {
                // The name may be in a branch that was not taken.
                Some(names) if names.is_empty() => Ok(Some(Rendered::Text(rendered))),
                Some(_) => Ok(Some(Rendered::Collected(rendered))),
                None => Err(Refusal::Because {
                    code: Code::WrongValue,
                    what:
                        "collected values are put where they are named: they cannot be changed here"
                            .to_owned(),
                    hint: Some("change them in the SQL around them".to_owned()),
                }),
            },
        }
    }

    /// Puts secrets in the place of their marks.
    fn with_secrets(&self, rendered: &str, asked: &[String]) -> Result<Sensitive, Refusal> {
        let changed = || {
            let what =
                "a secret is put where it is named: it cannot be changed or compared".to_owned();
            Refusal::Because { code: Code::WrongValue, what, hint: None }
        };
        // One that is asked for and does not stand there decided something.
        if (0..asked.len()).any(|at| !rendered.contains(&format!("{MARK}{at}{MARK}"))) {
            return Err(changed());
        }
        let (mut shown, mut value, mut secrets) = (String::new(), String::new(), Vec::new());
        for (at, part) in rendered.split(MARK).enumerate() {
            if at % 2 == 0 {
                shown.push_str(part);
                value.push_str(part);
                continue;
            }
            // A filter may have changed what it took for a text.
            let Some(name) = part.parse().ok().and_then(|at: usize| asked.get(at)) else {
                return Err(changed());
            };
            let secret = self.secrets.find(name).map_err(|NoSecret { what, hint }| {
                Refusal::Because { code: Code::NotFound, what, hint: Some(hint) }
            })?;
            shown.push_str(&format!("{{{{ secret:{name} }}}}"));
            value.push_str(&secret);
            secrets.push(secret);
        }
        Ok(Sensitive::new(shown, value, secrets))
    }
}

fn undefined<'a>(missing: &[&String], known: impl Iterator<Item = &'a str> + Clone) -> Refusal {
    let list: Vec<_> = missing.iter().map(|name| format!("`{name}`")).collect();
    let noun = if missing.len() == 1 { "variable" } else { "variables" };
    let way_out = format!(
        "set it under `vars`, with `--var {0}=…`, or write `{{{{ {0} | default('…') }}}}`",
        missing[0]
    );
    Refusal::Because {
        code: Code::UnknownName,
        what: format!(
            "the {noun} {} {} not defined",
            list.join(", "),
            if missing.len() == 1 { "is" } else { "are" }
        ),
        hint: Some(format!("{}; {way_out}", known_names(missing[0], known))),
    }
}

/// A flow is somebody's file, the environment is the caller's: who calls says what the file may see.
fn not_allowed(name: &str) -> Refusal {
    let what = format!("the flow reads the environment variable `{name}`, which it may not");
    let hint = format!("if that is meant, call with `--env {name}`");
    Refusal::Because { code: Code::NotAllowed, what, hint: Some(hint) }
}

fn unset(name: &str) -> Refusal {
    let what = format!("the environment variable `{name}` is not set");
    let hint = format!("set it, or write `{{{{ env.{name} | default('…') }}}}`");
    Refusal::Because { code: Code::UnknownName, what, hint: Some(hint) }
}

/// The text as the template language has it: `{{ secret:scope/key }}` is our own spelling.
///
/// Refuses what is no expression. Statements could loop and grow without bound, and a flow's value needs none.
fn plain_spelling(text: &str) -> Result<String, Refusal> {
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

/// Replaces within bounds: repeated, it would grow a text without any.
fn replace(text: &str, from: &str, to: &str) -> Result<String, minijinja::Error> {
    let grown = text.len().saturating_add(text.matches(from).count().saturating_mul(to.len()));
    if grown > RENDERED_BYTES_MAX {
        let what = format!("`replace` makes more than {RENDERED_BYTES_MAX} bytes");
        return Err(minijinja::Error::new(minijinja::ErrorKind::InvalidOperation, what));
    }
    Ok(text.replace(from, to))
}

/// The library's words without its own place, which is always `<string>`.
fn words(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => detail.to_owned(),
        None => error.kind().to_string(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn rendered(text: &str) -> Result<Option<Rendered>, Refusal> {
        let env = BTreeMap::from([
            ("ZONE".to_owned(), Some("eu".to_owned())),
            ("UNSET".to_owned(), None),
        ]);
        let secret = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let variables = BTreeMap::from([
            secret("WASMHOST_SECRET_A_B_1", "p'w{{"),
            secret("WASMHOST_SECRET_LONE", "other\n"),
            secret("WASMHOST_SECRET_EMPTY", "\n"),
        ]);
        let secrets = Secrets { variables, folder: None };
        let mut templates = Templates::new("r1", "2026-08-01", env, secrets);
        templates.set("month", Value::from("2013-01"));
        templates.set("n", Value::from(3));
        templates.render(text)
    }

    fn render(text: &str) -> Result<Option<String>, Refusal> {
        rendered(text).map(|rendered| {
            rendered.map(|rendered| match rendered {
                Rendered::Text(text) | Rendered::Collected(text) => text,
                Rendered::Secret(secret) => panic!("{secret}"),
            })
        })
    }

    #[test]
    fn secrets_are_shown_as_they_are_named_and_given_as_they_are() {
        for (text, shown, value) in [
            ("{{ secret('a/b-1') }}", "{{ secret:a/b-1 }}", "p'w{{"),
            ("{{secret:a/b-1}}", "{{ secret:a/b-1 }}", "p'w{{"),
            (
                "{{ month }} {{ secret: lone }}:{{ secret('a/b-1') ~ n }} {x",
                "2013-01 {{ secret:lone }}:{{ secret:a/b-1 }}3 {x",
                "2013-01 other:p'w{{3 {x",
            ),
            ("{{ secret('a/b-1') | upper }}", "{{ secret:a/b-1 }}", "p'w{{"),
        ] {
            let Ok(Some(Rendered::Secret(secret))) = rendered(text) else { panic!("{text}") };
            assert_eq!((secret.to_string().as_str(), secret.reveal()), (shown, value), "{text}");
            assert!(!secret.redact(value).contains("p'w"), "{text}");
        }
        for (text, code) in [
            ("{{ secret('no/such') }}", Code::NotFound),
            ("{{ secret:empty }}", Code::NotFound),
            ("{{ secret:../x }}", Code::NotFound),
            ("{{ secret:a'b }}", Code::NotFound),
            ("{{ secret('lone') | replace('0', '7') }}", Code::WrongValue),
            ("{{ secret('lone')[1] }}", Code::WrongValue),
            ("{{ 'a' if secret('no/such') == 'y' else 'b' }}", Code::WrongValue),
            ("{{ secret('lone') | trim('\u{fdd0}') }}", Code::WrongValue),
        ] {
            let Err(Refusal::Because { code: found, .. }) = rendered(text) else {
                panic!("{text}")
            };
            assert_eq!(found, code, "{text}");
        }
    }

    #[test]
    fn expressions_are_rendered_and_plain_text_is_left_alone() {
        for (text, expected) in [
            ("flights-{{ month }}.csv", Some("flights-2013-01.csv")),
            ("{{ x | default('a') }}/{{ logical_date }}", Some("a/2026-08-01")),
            ("{{ 'many' if n > 2 else 'few' }}\n", Some("many\n")),
            ("<{{ '{{ & {%' }}>", Some("<{{ & {%>")),
            ("{{ logical_date | replace('-', '/') }}*", Some("2026/08/01*")),
            ("{{ env.ZONE }}/{{ env.UNSET | default('x') }}", Some("eu/x")),
            ("{a} % }} {", None),
        ] {
            assert_eq!(render(text).unwrap().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn refusals_name_the_variable_or_the_feature() {
        let code = |text: &str| match render(text).unwrap_err() {
            Refusal::Because { code, .. } => code,
            Refusal::Follows => panic!("no reason"),
        };
        let Refusal::Because { what, hint, .. } = render("{{ mnth }}").unwrap_err() else {
            panic!("no reason")
        };
        assert!(what.contains("`mnth`") && hint.unwrap().contains("did you mean `month`?"));
        assert_eq!(code("{{ env.HOME }}"), Code::NotAllowed);
        assert_eq!(code("{{ env.HOME | default('a') }}"), Code::NotAllowed);
        assert_eq!(code("{{ env['HOME'] }}"), Code::WrongValue);
        assert_eq!(code("{{ env.UNSET }}"), Code::UnknownName);
        assert_eq!(code("{% for x in y %}{% endfor %}"), Code::WrongValue);
        for bad in
            ["{{ 'x' * 3 }}", "{{ month | list }}", "{{ n | replace('3', 'x' ~ month) * 2 }}"]
        {
            assert_eq!(code(bad), Code::WrongValue, "{bad}");
        }
        let growth = "| replace('x', 'xxxxxxxxxxxxxxxx')".repeat(12);
        assert_eq!(code(&format!("{{{{ 'x' {growth} }}}}")), Code::WrongValue);
        assert_eq!(code("{{ month"), Code::WrongValue);
        assert_eq!(code("{{ range(10) }}"), Code::WrongValue);
    }
}
