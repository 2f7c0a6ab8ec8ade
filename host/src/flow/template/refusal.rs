//! Why a text cannot be rendered, in words for whoever wrote it.

use crate::flow::report::Report;
use crate::flow::report::Spot;
use crate::problem::Code;
use crate::problem::Problem;
use crate::problem::known_names;

/// Why a text could not be rendered.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::flow) enum Refusal {
    Because {
        code: Code,
        what: String,
        hint: Option<String>,
    },
    /// It names a variable whose own value was refused, which is told there.
    Follows,
}

impl Refusal {
    pub(in crate::flow) fn tell(self, report: &Report, spot: &Spot) {
        match self {
            Self::Because { code, what, hint } => {
                report.take(Problem { code, at: report.place(spot), what, hint })
            }
            Self::Follows => {}
        }
    }
}

pub(super) fn undefined<'a>(
    missing: &[&String],
    known: impl Iterator<Item = &'a str> + Clone,
) -> Refusal {
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
pub(super) fn not_allowed(name: &str) -> Refusal {
    let what = format!("the flow reads the environment variable `{name}`, which it may not");
    let hint = format!("if that is meant, call with `--env {name}`");
    Refusal::Because { code: Code::NotAllowed, what, hint: Some(hint) }
}

pub(super) fn unset(name: &str) -> Refusal {
    let what = format!("the environment variable `{name}` is not set");
    let hint = format!("set it, or write `{{{{ env.{name} | default('…') }}}}`");
    Refusal::Because { code: Code::UnknownName, what, hint: Some(hint) }
}

/// Variables have fewer characters than names of secrets: which of the two was meant by its value nobody can say.
pub(super) fn one_variable(first: &str, second: &str) -> Refusal {
    Refusal::Because {
        code: Code::Contradiction,
        what: format!("the secrets `{first}` and `{second}` would be one variable"),
        hint: Some("give one of them another name, or keep them in files (`--secrets`)".to_owned()),
    }
}

/// The library's words without its own place, which is always `<string>`.
pub(super) fn words(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => detail.to_owned(),
        None => error.kind().to_string(),
    }
}
