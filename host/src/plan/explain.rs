//! A plan as text: what will happen, in the order in which it will.

use std::fmt::Write as _;

use arrow::datatypes::Schema;

use crate::component::RowEffect;
use crate::component::Statefulness;
use crate::flow::PartitionColumn;
use crate::flow::SchemaChange;
use crate::plan::DestinationPlan;
use crate::plan::Plan;
use crate::plan::RulePlan;
use crate::plan::StepPlan;
use crate::plan::TargetState;
use crate::plan::changes;
use crate::problem::escape;
use crate::table::Severity;

/// The plan, a stage a paragraph.
#[must_use]
pub fn explain(plan: &Plan) -> String {
    let mut text = format!("flow {}\n", plan.flow);
    let source = &plan.source;
    let bytes: u64 = source.files.iter().map(|file| file.bytes).sum();
    line(
        &mut text,
        0,
        &format!("source `{}`: {} {}", source.name, source.format, source.path.display()),
    );
    line(&mut text, 1, &format!("{} file(s), {bytes} bytes", source.files.len()));
    line(&mut text, 1, &format!("columns: {}", columns(&source.schema)));
    for (index, step) in plan.steps.iter().enumerate() {
        explain_step(&mut text, index, step);
    }
    for rule in &plan.rules {
        explain_rule(&mut text, rule);
    }
    line(&mut text, 0, &format!("result: {}", columns(&plan.main)));
    if let Some(quarantine) = &plan.quarantine {
        line(
            &mut text,
            0,
            &format!("quarantine: {} {}", quarantine.format.name(), quarantine.path.display()),
        );
    }
    for destination in &plan.destinations {
        explain_destination(&mut text, destination);
    }
    line(&mut text, 0, "limits of each component");
    if let Ok(serde_json::Value::Object(limits)) = serde_json::to_value(&plan.limits) {
        for (name, value) in limits {
            line(&mut text, 1, &format!("{name}: {value}"));
        }
    }
    text
}

fn explain_step(text: &mut String, index: usize, step: &StepPlan) {
    let effect = match step.row_effect {
        RowEffect::OneToOne => "every row stays",
        RowEffect::Filter => "may leave rows out",
        RowEffect::Many => "may make rows",
    };
    line(
        text,
        0,
        &format!(
            "transform {index} `{}`: {} ({effect}; {})",
            step.component,
            step.described_as,
            spread(&step.statefulness)
        ),
    );
    line(text, 1, &step.digest);
    line(text, 1, &format!("config: {}", step.config));
    line(text, 1, &format!("enter the sandbox: {}", list(&step.enters)));
    line(text, 1, &format!("computed: {}", list(&step.computes)));
    line(text, 1, &format!("carried past it: {}", list(&step.carries)));
    let reasons: Vec<_> = step.reasons.iter().map(|reason| reason.code.clone()).collect();
    if !reasons.is_empty() {
        line(text, 1, &format!("may reject rows for: {}", list(&reasons)));
    }
}

fn explain_rule(text: &mut String, rule: &RulePlan) {
    let leads_to = match rule.severity {
        Severity::Fail => "a hit stops the run before anything is written",
        Severity::Warn => "a hit is counted",
        Severity::Drop => "a hit leaves the row out",
        Severity::Quarantine => "a hit sends the row to the quarantine",
    };
    line(
        text,
        0,
        &format!(
            "rule `{}`: {} ({leads_to}; {})",
            rule.name,
            rule.described_as,
            spread(&rule.statefulness)
        ),
    );
    line(text, 1, &rule.digest);
    line(text, 1, &format!("config: {}", rule.config));
    line(text, 1, &format!("enter the sandbox: {}", list(&rule.enters)));
    for reason in &rule.reasons {
        line(text, 1, &format!("{}: {}", reason.code, reason.message));
    }
}

fn explain_destination(text: &mut String, to: &DestinationPlan) {
    let load = to.load.name();
    line(
        text,
        0,
        &format!("destination `{}`: {} {}, {load}", to.name, to.format.name(), to.path.display()),
    );
    let now = match to.target {
        TargetState::New => "not there yet: created".to_owned(),
        TargetState::Exists(Some(version)) => format!("there, at version {version}"),
        TargetState::Exists(None) => "there".to_owned(),
    };
    line(text, 1, &format!("{now}; {}", changes::headline(&to.change)));
    for detail in changes::details(&to.change) {
        line(text, 1, &detail);
    }
    line(text, 1, &format!("columns: {}", columns(&to.schema)));
    if !to.partition_columns.is_empty() {
        let columns: Vec<_> = to.partition_columns.iter().map(partition).collect();
        line(text, 1, &format!("partitioned by: {}", list(&columns)));
    }
    match to.schema_change {
        SchemaChange::Refuse => {}
        SchemaChange::Merge => line(text, 1, "columns that the table lacks are added to it"),
        SchemaChange::Overwrite => line(text, 1, "the table gets these columns and types"),
    }
    if to.layout.optimize {
        let near: Vec<_> = to.layout.zorder.iter().map(ToString::to_string).collect();
        let near =
            if near.is_empty() { String::new() } else { format!(", z-ordered by {}", list(&near)) };
        line(
            text,
            1,
            &format!(
                "then small files of the partitions that were written to are put together{near}"
            ),
        );
    }
    for (name, value) in &to.table_properties {
        line(text, 1, &format!("property {}: {}", escape(name), escape(value)));
    }
}

fn partition(partition: &PartitionColumn) -> String {
    match &partition.expression {
        None => partition.column.to_string(),
        Some(expression) => format!("{} = {expression}", partition.column),
    }
}

fn spread(statefulness: &Statefulness) -> &'static str {
    match statefulness {
        Statefulness::Stateless => "one instance a core",
        Statefulness::Keyed(_) => "keyed: one instance",
        Statefulness::WholeInput => "whole input: one instance",
    }
}

fn columns(schema: &Schema) -> String {
    let column =
        |field: &arrow::datatypes::FieldRef| format!("{} {}", field.name(), field.data_type());
    schema.fields().iter().map(column).collect::<Vec<_>>().join(", ")
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "nothing".to_owned()
    } else {
        names.iter().map(|name| escape(name)).collect::<Vec<_>>().join(", ")
    }
}

fn line(text: &mut String, depth: usize, content: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{:1$}{content}", "", 2 + 2 * depth);
}
