//! A plan as text: what will happen, in the order in which it will.

use std::fmt::Write as _;

use arrow::datatypes::Schema;

use crate::component::RowEffect;
use crate::component::Statefulness;
use crate::flow::ByDate;
use crate::flow::PartitionColumn;
use crate::flow::SchemaChange;
use crate::flow::SqlRows;
use crate::plan::ChainPlan;
use crate::plan::CollectPlan;
use crate::plan::DeduplicatePlan;
use crate::plan::DestinationPlan;
use crate::plan::PassPlan;
use crate::plan::Plan;
use crate::plan::RulePlan;
use crate::plan::SortPlan;
use crate::plan::SourcePlan;
use crate::plan::StagePlan;
use crate::plan::StepPlan;
use crate::plan::StockPlan;
use crate::plan::TargetState;
use crate::plan::changes;
use crate::problem::escape;
use crate::table::Severity;

/// The plan, a stage a paragraph.
#[must_use]
pub fn explain(plan: &Plan) -> String {
    let mut text = format!("flow {}\n", plan.flow);
    explain_source(&mut text, "source", &plan.source);
    for other in &plan.other_sources {
        explain_source(&mut text, "other source", other);
    }
    explain_chain(&mut text, 0, &plan.main);
    line(&mut text, 0, &format!("result: {}", columns(&plan.main.output)));
    if let Some(quarantine) = &plan.quarantine {
        line(
            &mut text,
            0,
            &format!("quarantine: {} {}", quarantine.format.name(), quarantine.path),
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

fn explain_source(text: &mut String, role: &str, source: &SourcePlan) {
    let what = format!("{role} `{}`: {} {}", source.name, source.format, source.path);
    line(text, 0, &what);
    match &source.stock {
        StockPlan::Files { files, version } => {
            let bytes: u64 = files.iter().map(|file| file.bytes).sum();
            line(text, 1, &format!("{} file(s), {bytes} bytes", files.len()));
            if let Some(version) = version {
                line(text, 1, &format!("version: {version}"));
            }
        }
        StockPlan::Rows(SqlRows::Query(query)) => {
            line(text, 1, "query, in a read-only transaction:");
            query.trim().lines().for_each(|own| line(text, 2, &escape(own)));
        }
        StockPlan::Rows(table @ SqlRows::Table { .. }) => {
            let what = format!("table, in a read-only transaction: {}", escape(&table.label()));
            line(text, 1, &what);
        }
    }
    if let Some(filter) = &source.filter {
        line(text, 1, &format!("only rows where: {}", escape(&filter.sql)));
        if filter.files_skipped > 0 {
            let what = format!("{} more file(s) can have none of them", filter.files_skipped);
            line(text, 1, &what);
        }
        if let Some(asked) = &filter.asked {
            line(text, 1, &format!("the server sends only rows where: {}", escape(asked)));
        }
    }
    if let Some(query) = &source.query {
        line(text, 1, "query, in the sandbox:");
        query.trim().lines().for_each(|own| line(text, 2, &escape(own)));
    }
    line(text, 1, &format!("columns: {}", columns(&source.schema)));
    if source.reads.len() < source.schema.fields().len() {
        line(text, 1, &format!("read: {}", list(&source.reads)));
    }
}

fn explain_chain(text: &mut String, depth: usize, chain: &ChainPlan) {
    for stage in &chain.stages {
        match stage {
            StagePlan::Component(step) => explain_step(text, depth, step),
            StagePlan::Deduplicate(dedup) => explain_dedup(text, depth, dedup),
            StagePlan::Sort(sort) => explain_sort(text, depth, sort),
            StagePlan::Collect(collect) => explain_collect(text, depth, collect),
        }
    }
    for rule in &chain.rules {
        explain_rule(text, depth, rule);
    }
    for pass in &chain.passes {
        explain_pass(text, depth, pass);
    }
}

fn explain_step(text: &mut String, depth: usize, step: &StepPlan) {
    let effect = match step.row_effect {
        RowEffect::OneToOne => "every row stays",
        RowEffect::Filter => "may leave rows out",
        RowEffect::Many => "may make rows",
    };
    let what = match step.steps.as_slice() {
        ["component"] => String::new(),
        steps => format!("{}, ", steps.join(" → ")),
    };
    line(
        text,
        depth,
        &format!(
            "{} `{}`: {what}{} ({effect}; {})",
            step.label,
            step.component,
            step.described_as,
            spread(&step.statefulness)
        ),
    );
    let depth = depth + 1;
    line(text, depth, &step.digest);
    line(text, depth, &format!("config: {}", step.config));
    line(text, depth, &format!("enter the sandbox: {}", list(&step.enters)));
    if !step.others.is_empty() {
        line(text, depth, &format!("enter it whole: {}", list(&step.others)));
    }
    line(text, depth, &format!("computed: {}", list(&step.computes)));
    line(text, depth, &format!("carried past it: {}", list(&step.carries)));
    let reasons: Vec<_> = step.reasons.iter().map(|reason| reason.code.clone()).collect();
    if !reasons.is_empty() {
        line(text, depth, &format!("may reject rows for: {}", list(&reasons)));
    }
}

fn explain_dedup(text: &mut String, depth: usize, dedup: &DeduplicatePlan) {
    let keys = match dedup.keys.as_slice() {
        [] => "all columns".to_owned(),
        keys => list(&keys.iter().map(ToString::to_string).collect::<Vec<_>>()),
    };
    let order: Vec<_> = dedup
        .order_by
        .iter()
        .map(|by| {
            let direction = if by.descending { "greatest" } else { "least" };
            let nulls = if by.nulls_first { "first" } else { "last" };
            format!("the {direction} {} (NULL {nulls})", escape(by.column.as_str()))
        })
        .collect();
    let order =
        if order.is_empty() { String::new() } else { format!("{}, then ", order.join(", then ")) };
    let what = format!("{} deduplicate, in the host: one row of each {keys}", dedup.label);
    line(text, depth, &what);
    line(text, depth + 1, &format!("stays: {order}the least row by all its columns"));
}

fn explain_sort(text: &mut String, depth: usize, sort: &SortPlan) {
    let by = sort.by.iter().map(|by| {
        let direction = if by.descending { "descending" } else { "ascending" };
        let nulls = if by.nulls_first { "first" } else { "last" };
        format!("{} {direction} (NULL {nulls})", escape(by.column.as_str()))
    });
    let by = by.collect::<Vec<_>>().join(", then ");
    line(text, depth, &format!("{} sort, in the host: by {by}", sort.label));
}

fn explain_collect(text: &mut String, depth: usize, collect: &CollectPlan) {
    let CollectPlan { label, column, name, max_values } = collect;
    let what = format!(
        "{label} collect, in the host: the values of {} as `{name}`, at most {max_values}",
        escape(column.as_str())
    );
    line(text, depth, &what);
}

fn explain_rule(text: &mut String, depth: usize, rule: &RulePlan) {
    let leads_to = match rule.severity {
        Severity::Fail => "a hit stops the run before anything is written",
        Severity::Warn => "a hit is counted",
        Severity::Drop => "a hit leaves the row out",
        Severity::Quarantine => "a hit sends the row to the quarantine",
    };
    line(text, depth, &format!("rule `{}`: {} ({leads_to})", rule.name, rule.judge));
    if let Some(filter) = &rule.filter {
        line(text, depth + 1, &format!("only rows where {filter}"));
    }
    for reason in &rule.reasons {
        line(text, depth + 1, &format!("{}: {}", reason.code, reason.message));
    }
}

fn explain_pass(text: &mut String, depth: usize, pass: &PassPlan) {
    let what = format!(
        "rules judged in one pass by `{}`: {} ({})",
        pass.component,
        pass.described_as,
        spread(&pass.statefulness)
    );
    line(text, depth, &what);
    line(text, depth + 1, &pass.digest);
    line(text, depth + 1, &format!("judges: {}", list(&pass.rules)));
    line(text, depth + 1, &format!("config: {}", pass.config));
    line(text, depth + 1, &format!("enter the sandbox: {}", list(&pass.enters)));
}

fn explain_destination(text: &mut String, to: &DestinationPlan) {
    let load = to.load.name();
    line(text, 0, &format!("destination `{}`: {} {}, {load}", to.name, to.format.name(), to.path));
    let now = match to.target {
        TargetState::New => "not there yet: created".to_owned(),
        TargetState::Exists(Some(version)) => format!("there, at version {version}"),
        TargetState::Exists(None) => "there".to_owned(),
    };
    line(text, 1, &format!("{now}; {}", changes::headline(&to.change, &to.by_date)));
    for detail in changes::details(&to.change) {
        line(text, 1, &detail);
    }
    explain_chain(text, 1, &to.chain);
    line(text, 1, &format!("columns: {}", columns(&to.schema)));
    if !to.partition_columns.is_empty() {
        let columns: Vec<_> = to.partition_columns.iter().map(partition).collect();
        line(text, 1, &format!("partitioned by: {}", list(&columns)));
    }
    match &to.by_date {
        ByDate::No => {}
        ByDate::Into(folders) => {
            let what = format!("date folders: {}, of the run's start in UTC", folders.as_str());
            line(text, 1, &what);
        }
        ByDate::Overruled(folders) => {
            let what = format!(
                "date folders of the connection, {}: not used, since partition columns win",
                folders.as_str()
            );
            line(text, 1, &what);
        }
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
        Statefulness::Keyed(_) => "keyed: one instance a part of the keys",
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
