//! What refuses to be opened, in words for whoever wrote the flow.

use crate::name::ComponentName;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::run::error::RunError;
use crate::sandbox::Breach;
use crate::sandbox::SandboxError;

/// What a step of the host's own does not find in the rows.
pub(super) fn unknown(at: &Place) -> impl FnOnce(String) -> RunError {
    |what| RunError::Problems(vec![Problem::new(Code::UnknownName, at.clone(), what)])
}

/// A component's refusal as problems of the step or rule that uses it; anything else as the sandbox's error.
pub(super) fn of_component(error: SandboxError, component: &ComponentName, at: &Place) -> RunError {
    match error.breach {
        Breach::Refused(problems) => {
            let placed = |problem: Problem| {
                let field = format!("{}.{}", at.field, problem.at.field);
                let what = format!("component `{component}` refuses: {}", problem.what);
                Problem { at: Place { field, ..at.clone() }, what, ..problem }
            };
            RunError::Problems(problems.into_iter().map(placed).collect())
        }
        Breach::Load(what) => {
            let what = format!("component `{component}`: {what}");
            RunError::Problems(vec![Problem::new(Code::NotAdmitted, at.clone(), what)])
        }
        _ => error.into(),
    }
}

/// The same for the standard library, whose configuration the host made: what it refuses is the step or rule that an entry
/// of `list` stands for.
pub(super) fn of_standard<'a>(
    error: SandboxError,
    list: &str,
    place: &dyn Fn(usize) -> Option<&'a Place>,
) -> RunError {
    let Breach::Refused(problems) = error.breach else { return error.into() };
    let placed = |problem: Problem| {
        let path = problem.at.field.strip_prefix("config/").unwrap_or_default();
        let mut parts = path.split('/');
        let entry =
            parts.next().filter(|first| *first == list).and_then(|_| parts.next()?.parse().ok());
        let Some(at) = entry.and_then(place) else { return problem };
        let field = parts.filter(|part| !part.is_empty() && *part != "check").fold(
            at.field.clone(),
            |field, part| {
                if part.parse::<usize>().is_ok() {
                    format!("{field}[{part}]")
                } else {
                    format!("{field}.{part}")
                }
            },
        );
        // What the component calls the mistake is for programs.
        let what = problem
            .what
            .rsplit_once(" [")
            .map_or(problem.what.as_str(), |(what, _)| what)
            .to_owned();
        Problem { at: Place { field, ..at.clone() }, what, ..problem }
    };
    RunError::Problems(problems.into_iter().map(placed).collect())
}
