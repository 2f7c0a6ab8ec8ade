//! What a flow may say and this version cannot run yet. Refused before anything is compiled or read.

use crate::flow::Destination;
use crate::flow::Flow;
use crate::flow::Rule;
use crate::flow::Step;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;

/// # Errors
/// Everything of the flow that needs more than components on one chain.
pub(super) fn check(flow: &Flow) -> Result<(), Vec<Problem>> {
    let mut problems = Vec::new();
    let mut refuse = |at: &Place, what: &str| {
        let what = format!("{what} is read, but this version cannot run it yet");
        problems.push(Problem::new(Code::NotOffered, at.clone(), what));
    };
    if flow.max_quarantine_fraction.is_some() {
        refuse(
            &Place::field(flow.file.display().to_string(), "max_quarantine_fraction"),
            "this limit",
        );
    }
    flow.other_sources.iter().for_each(|source| refuse(&source.at, "a second source"));
    for Step { work, at } in &flow.transforms {
        if work.component().is_none() {
            refuse(at, "a built-in step");
        }
    }
    for Rule { judge, filter, at, .. } in &flow.rules {
        if judge.component().is_none() {
            refuse(at, "a built-in rule");
        } else if filter.is_some() {
            refuse(at, "`where` of a rule");
        }
    }
    for Destination { transforms, rules, .. } in &flow.destinations {
        transforms.iter().for_each(|step| refuse(&step.at, "a step of one destination"));
        rules.iter().for_each(|rule| refuse(&rule.at, "a rule of one destination"));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}
