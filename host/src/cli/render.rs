//! Printing. Results go to the standard output, everything else to the standard error.

use std::io;
use std::io::IsTerminal as _;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use arrow::util::pretty::pretty_format_batches;
use indicatif::ProgressBar;
use indicatif::ProgressStyle;
use serde::Serialize;
use serde_json::json;

use crate::evidence::DestinationRecord;
use crate::evidence::Outcome;
use crate::evidence::Record;
use crate::evidence::StockRecord;
use crate::plan::StockPlan;
use crate::problem::Problem;
use crate::problem::escape;
use crate::run::Event;
use crate::run::RunError;
use crate::run::Shown;
use crate::table::Counts;
use crate::table::Optimization;
use crate::table::RuleTally;
use crate::table::Severity;

/// How often plain lines say how far a run is.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// How often the bar moves while nothing is read.
const REDRAW_EVERY: Duration = Duration::from_millis(120);

/// A line of result. A reader that has gone away is no error of ours.
pub(super) fn out(line: &str) {
    let _ = writeln!(io::stdout().lock(), "{line}");
}

/// A line for the person who waits.
pub(super) fn err(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// A value as JSON.
pub(super) fn json(value: &impl Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => out(&text),
        Err(error) => err(&format!("cannot be shown as JSON: {error}")),
    }
}

/// The first rows after a stage.
pub(super) fn stage(shown: &Shown) {
    out(&format!("{}: {} rows", shown.stage, shown.rows));
    match pretty_format_batches(&shown.first) {
        Ok(table) if !shown.first.is_empty() => out(&table.to_string()),
        Ok(_) => {}
        Err(error) => err(&format!("cannot be shown: {error}")),
    }
    for rule in &shown.rules {
        for reason in &rule.reasons {
            let counts = &reason.counts;
            let tables = reason.table_findings.iter();
            let tables: String = tables
                .map(|(measured, most)| format!(", measured {measured}, allowed {most}"))
                .collect();
            out(&format!(
                "  rule `{}`, {}: {} passed, {} failed, {} skipped{tables}",
                rule.name, reason.code, counts.passed, counts.failed, counts.skipped
            ));
        }
    }
}

/// All problems, each with place, what and hint; as JSON on the standard output where that is asked.
pub(super) fn problems(problems: &[Problem], as_json: bool) {
    if as_json {
        json(&json!({ "status": "failed", "error": { "kind": "user", "problems": problems } }));
    }
    for problem in problems {
        err(&problem.to_string());
    }
    err(&format!("{} problem(s)", problems.len()));
}

/// An error of a command that has no record.
pub(super) fn error(error: &RunError, as_json: bool) {
    match error {
        RunError::Problems(list) => problems(list, as_json),
        other => {
            if as_json {
                json(&json!({ "status": "failed", "error": { "message": other.to_string() } }));
            }
            err(&format!("error: {other}"));
            if let Some(hint) = other.way_out() {
                err(&format!("  hint: {}", escape(hint)));
            }
        }
    }
}

/// How a run goes: a bar on a terminal, plain lines elsewhere.
pub(super) enum Progress {
    /// Nothing is shown.
    Silent,
    /// A bar that is redrawn.
    Bar(ProgressBar),
    /// Lines.
    Lines(Mutex<Instant>),
}

impl Progress {
    pub(super) fn new(silent: bool) -> Self {
        if silent {
            return Self::Silent;
        }
        if io::stderr().is_terminal() {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) =
                ProgressStyle::with_template("{spinner} {elapsed} {human_pos} rows {msg}")
            {
                bar.set_style(style);
            }
            bar.set_message("read; looking at source, components and targets");
            bar.enable_steady_tick(REDRAW_EVERY);
            return Self::Bar(bar);
        }
        Self::Lines(Mutex::new(Instant::now()))
    }

    pub(super) fn event(&self, event: &Event<'_>) {
        match self {
            Self::Silent => {}
            Self::Bar(bar) => match event {
                Event::Planned(plan) => bar.set_message(format!("read of {}", plan.source.path)),
                Event::Read(rows) => bar.set_position(*rows),
                Event::Prepared => bar.set_message("read; all destinations are ready"),
                Event::Committed(to) => bar.set_message(format!("read; {} committed", to.name)),
            },
            Self::Lines(last) => match event {
                Event::Planned(plan) => {
                    let source = &plan.source;
                    let what = match &source.stock {
                        StockPlan::Files { files, .. } => format!("{} file(s)", files.len()),
                        StockPlan::Rows(rows) => rows.label(),
                    };
                    err(&format!("reading {what} of {}", source.path));
                }
                Event::Read(rows) => {
                    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                    if last.elapsed() >= LINE_EVERY {
                        *last = Instant::now();
                        err(&format!("{rows} rows read"));
                    }
                }
                Event::Prepared | Event::Committed(_) => {}
            },
        }
    }

    pub(super) fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// A run's record in words.
pub(super) fn record(record: &Record) {
    let seconds = (record.finished_at - record.started_at).as_seconds_f64();
    let status = word(&record.status);
    out(&format!("run {} of flow {}: {status} in {seconds:.1} s", record.run_id, record.flow));
    if let Some(source) = &record.source {
        let what = match &source.stock {
            StockRecord::Files { files, .. } => format!("{files} file(s)"),
            StockRecord::Table { table } => table.clone(),
            StockRecord::Query { .. } => "query".to_owned(),
        };
        out(&format!("  read {} rows from {} ({what})", record.rows_read, source.path));
    }
    if let Some(filter) = record.source.as_ref().and_then(|source| source.filter.as_ref()) {
        out(&format!("  {} rows left out by the source's filter", filter.rows_filtered));
        if filter.rows_skipped + filter.files_skipped > 0 {
            out(&format!(
                "  not read, since it rules them out: {} file(s), and {} rows of others",
                filter.files_skipped, filter.rows_skipped
            ));
        }
        if let Some(asked) = &filter.asked {
            out(&format!("  the server sent only rows where: {}", escape(asked)));
        }
    }
    let left = [
        (record.rows_filtered, "left out by filters"),
        (record.rows_rejected, "rejected by transforms"),
        (record.rows_dropped, "dropped by rules"),
        (record.rows_quarantined, "quarantined by rules"),
    ];
    for (rows, what) in left.into_iter().filter(|(rows, _)| *rows > 0) {
        out(&format!("  {rows} rows {what}"));
    }
    rules(&record.rules);
    if let Some(quarantine) = record.quarantine.as_ref().filter(|quarantine| quarantine.rows > 0) {
        out(&format!("  quarantine: {} rows in {}", quarantine.rows, quarantine.path));
    }
    record.destinations.iter().for_each(destination);
    for component in &record.components {
        for line in &component.usage.log {
            out(&format!("  {} says {}: {}", component.component, word(&line.level), line.text));
        }
        if component.usage.log_lines_dropped > 0 {
            out(&format!(
                "  {}: {} more lines over the log's limits",
                component.component, component.usage.log_lines_dropped
            ));
        }
    }
}

/// What the rules of a chain found.
fn rules(rules: &[RuleTally]) {
    for rule in rules {
        for reason in &rule.reasons {
            let counts = reason.counts;
            let found: String = reason
                .table_findings
                .iter()
                .map(|(measured, threshold)| format!("; found {measured}, allowed {threshold}"))
                .collect();
            out(&format!(
                "  rule {} / {} ({}): {} passed, {} failed, {} skipped{found}",
                rule.name,
                reason.code,
                word(&rule.severity),
                counts.passed,
                counts.failed,
                counts.skipped
            ));
        }
    }
}

/// Which rules said no, for whoever does not read the record.
pub(super) fn rejected(record: &Record) {
    let own = record.destinations.iter().flat_map(|to| &to.rules);
    let rules = record.rules.iter().chain(own);
    let rules = rules.filter(|rule| rule.severity == Severity::Fail && rule.is_hit());
    let rules: Vec<_> = rules.map(|rule| format!("`{}`", rule.name)).collect();
    err(&format!("rejected by {}: no destination was written", rules.join(", ")));
}

fn destination(to: &DestinationRecord) {
    let version = to.version.map(|version| format!(", version {version}")).unwrap_or_default();
    let what = match to.outcome {
        Outcome::Committed => {
            let counts = told(&to.counts);
            format!("{} rows written{counts}{version}", to.counts.rows_written)
        }
        Outcome::AlreadyCommitted => {
            format!("this run id was committed before; nothing written{version}")
        }
        Outcome::Skipped => "there already; left as it is".to_owned(),
        Outcome::Untouched => "untouched".to_owned(),
        Outcome::Unknown => "outcome unknown: look at the table before running again".to_owned(),
    };
    let then = match &to.optimization {
        None => String::new(),
        Some(Optimization::Done { files_removed, files_added, version }) => {
            format!("; then {files_removed} files became {files_added}, version {version}")
        }
        Some(Optimization::Skipped(why)) => format!("; not optimized: {why}"),
    };
    out(&format!("  {} ({} {}) {}: {what}{then}", to.name, to.format, to.load_type, to.path));
    let left = [
        (to.rows_filtered, "left out by its filters"),
        (to.rows_rejected, "rejected by its transforms"),
        (to.rows_dropped, "dropped by its rules"),
        (to.rows_quarantined, "quarantined by its rules"),
    ];
    for (rows, what) in left.into_iter().filter(|(rows, _)| *rows > 0) {
        out(&format!("    {rows} rows {what}"));
    }
    rules(&to.rules);
}

/// What became of the rows, and of those that were there.
fn told(counts: &Counts) -> String {
    let all = [
        (counts.rows_inserted, "inserted"),
        (counts.rows_updated, "updated"),
        (counts.rows_unchanged, "unchanged"),
        (counts.rows_ignored_late, "late"),
        (counts.rows_unmatched_by_condition, "left by the condition"),
        (counts.duplicates_dropped, "repeated"),
        (counts.rows_deleting, "deleting"),
        (counts.rows_deleted.unwrap_or_default(), "deleted"),
        (counts.versions_closed, "versions closed"),
        (counts.versions_split, "versions split"),
    ];
    let told = all.iter().filter(|(rows, _)| *rows > 0);
    let mut told: String = told.map(|(rows, what)| format!(", {rows} {what}")).collect();
    if counts.rows_deleted.is_none() {
        told.push_str(", an unknown number deleted");
    }
    told
}

/// A word as the evidence spells it.
pub(super) fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(ToOwned::to_owned))
        .unwrap_or_default()
}
