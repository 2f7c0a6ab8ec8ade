//! `{{ … }}` in the flow's texts. Rendered after parsing, so that a value never changes the file's structure.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use minijinja::Environment;
use minijinja::UndefinedBehavior;
use minijinja::Value;
use minijinja::filters;
use minijinja::syntax::SyntaxConfig;

use super::report::Report;
use super::report::Spot;
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

/// Renders texts and remembers which variables they name.
#[derive(Debug)]
pub(super) struct Templates {
    environment: Environment<'static>,
    values: BTreeMap<String, Value>,
    /// The environment variables that texts may name, and their values where they are set.
    env: BTreeMap<String, Option<String>>,
    refused: BTreeSet<String>,
    used: BTreeSet<String>,
}

impl Templates {
    /// Templates that know the built-in names and nothing else.
    pub(super) fn new(
        run_id: &str,
        logical_date: &str,
        env: BTreeMap<String, Option<String>>,
    ) -> Self {
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
        let undefined = |value: &Option<String>| value.clone().map_or(Value::UNDEFINED, Into::into);
        let set = env.iter().map(|(name, value)| (name.clone(), undefined(value)));
        let values = BTreeMap::from([
            ("run_id".to_owned(), Value::from(run_id)),
            ("logical_date".to_owned(), Value::from(logical_date)),
            ("env".to_owned(), Value::from_pairs(set)),
        ]);
        Self { environment, values, env, refused: BTreeSet::new(), used: BTreeSet::new() }
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
    pub(super) fn render(&mut self, text: &str) -> Result<Option<String>, Refusal> {
        if !["{{", "{%", "{#"].iter().any(|open| text.contains(open)) {
            return Ok(None);
        }
        refuse_foreign(text)?;
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
        let names = template.undeclared_variables(false);
        if names.contains("secret") {
            return Err(no_secrets());
        }
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
        rendered.map(Some)
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

fn no_secrets() -> Refusal {
    let what = "`secret` (the secret provider) is not in this version".to_owned();
    let hint = "no field of this version takes a secret; other values come by `--var`".to_owned();
    Refusal::Because { code: Code::NotOffered, what, hint: Some(hint) }
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

/// Refuses what is no expression. Statements could loop and grow without bound, and a flow's value needs none.
fn refuse_foreign(text: &str) -> Result<(), Refusal> {
    let mut rest = text;
    while let Some(at) = rest.find('{') {
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
                rest = &rest[1..];
                continue;
            }
        };
        let inner = &rest[2..];
        // `{{ secret:scope/key }}` is our own spelling; the template language has no such thing.
        if end == "}}"
            && inner
                .trim_start_matches(['-', ' '])
                .strip_prefix("secret")
                .is_some_and(|tail| tail.trim_start().starts_with(':'))
        {
            return Err(no_secrets());
        }
        rest = after(inner, end)?;
    }
    Ok(())
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

    fn render(text: &str) -> Result<Option<String>, Refusal> {
        let env = BTreeMap::from([
            ("ZONE".to_owned(), Some("eu".to_owned())),
            ("UNSET".to_owned(), None),
        ]);
        let mut templates = Templates::new("r1", "2026-08-01", env);
        templates.set("month", Value::from("2013-01"));
        templates.set("n", Value::from(3));
        templates.render(text)
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
        assert_eq!(code("{{ secret('a/b') }}"), Code::NotOffered);
        assert_eq!(code("{{ secret:a/b }}"), Code::NotOffered);
        assert_eq!(code("{{secret:a/b}}"), Code::NotOffered);
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
