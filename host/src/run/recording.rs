//! Filling the record while a run goes on.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::DateTime;
use chrono::Utc;
use percent_encoding::percent_decode_str;
use sha2::Digest;
use sha2::Sha256;

use crate::evidence::DestinationRecord;
use crate::evidence::ErrorRecord;
use crate::evidence::FilterRecord;
use crate::evidence::Outcome;
use crate::evidence::Record;
use crate::evidence::SHAPE;
use crate::evidence::SourceRecord;
use crate::evidence::Status;
use crate::evidence::StockRecord;
use crate::flow::Flow;
use crate::flow::Sensitive;
use crate::flow::SqlRows;
use crate::plan::Plan;
use crate::plan::StockPlan;
use crate::run::error::RunError;
use crate::run::error::Whose;
use crate::table::Counts;
use crate::table::RunId;

/// A record of a run that has done nothing yet.
pub(super) fn begin(flow: &Arc<Flow>, run_id: RunId, now: DateTime<Utc>) -> Record {
    Record {
        shape: SHAPE,
        wasmhost: env!("CARGO_PKG_VERSION").to_owned(),
        run_id,
        flow: flow.name.clone(),
        flow_file: flow.file.display().to_string(),
        flow_digest: flow.digest.clone(),
        vars: vars(flow),
        started_at: now,
        finished_at: now,
        status: Status::Failed,
        source: None,
        components: Vec::new(),
        rules: Vec::new(),
        rows_read: 0,
        rows_filtered: 0,
        rows_rejected: 0,
        rows_dropped: 0,
        rows_quarantined: 0,
        rows_main: 0,
        rows_written: 0,
        destinations: Vec::new(),
        quarantine: None,
        limits: None,
        error: None,
    }
}

/// The variables, but those that a password was made of.
fn vars(flow: &Flow) -> BTreeMap<String, String> {
    let is_secret = |value: &str| {
        let decoded = percent_decode_str(value).decode_utf8_lossy();
        flow.passwords().map(Sensitive::reveal).any(|password| {
            // A part of it, too; short ones stand in many texts.
            let is_part = password.contains(value) && 2 * value.len() >= password.len();
            is_part || value.contains(password) || decoded.contains(password)
        })
    };
    let shown = |value: &String| match is_secret(value) {
        true => "***".to_owned(),
        false => value.clone(),
    };
    flow.vars.iter().map(|(name, value)| (name.clone(), shown(value))).collect()
}

/// A number that the run id decides, for components that want randomness.
pub(super) fn seed(run_id: &RunId) -> u64 {
    let digest = Sha256::digest(run_id.as_str().as_bytes());
    digest.iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte))
}

/// What the plan says.
pub(super) fn planned(record: &mut Record, plan: &Plan) {
    record.limits = Some(plan.limits.clone());
    record.source = Some(SourceRecord {
        name: plan.source.name.clone(),
        path: plan.source.path.to_string(),
        format: plan.source.format.to_owned(),
        version: match &plan.source.stock {
            StockPlan::Files { version, .. } => *version,
            StockPlan::Rows(_) => None,
        },
        stock: match &plan.source.stock {
            StockPlan::Files { files, .. } => StockRecord::Files {
                files: files.len() as u64,
                bytes: files.iter().map(|file| file.bytes).sum(),
            },
            StockPlan::Rows(SqlRows::Query(query)) => StockRecord::Query { query: query.clone() },
            StockPlan::Rows(table @ SqlRows::Table { .. }) => {
                StockRecord::Table { table: table.label() }
            }
        },
        filter: plan.source.filter.as_ref().map(|filter| FilterRecord {
            sql: filter.sql.clone(),
            rows_filtered: 0,
            rows_skipped: 0,
            files_skipped: filter.files_skipped,
            asked: filter.asked.clone(),
        }),
    });
    let destination = |to: &crate::plan::DestinationPlan| DestinationRecord {
        name: to.name.clone(),
        format: to.format.name().to_owned(),
        load_type: to.load.name().to_owned(),
        path: to.path.to_string(),
        outcome: Outcome::Untouched,
        rows_filtered: 0,
        rows_rejected: 0,
        rows_dropped: 0,
        rows_quarantined: 0,
        rows_final: 0,
        rules: Vec::new(),
        counts: Counts::default(),
        metrics_source: "counted".to_owned(),
        version: None,
        optimization: None,
    };
    record.destinations = plan.destinations.iter().map(destination).collect();
}

/// Why it failed.
pub(super) fn fail(record: &mut Record, error: &RunError) {
    let (status, kind) = match error.whose() {
        Whose::User => (Status::Failed, "user"),
        Whose::World => (Status::Failed, "world"),
        Whose::Unknown => (Status::Unknown, "unknown"),
    };
    record.status = status;
    record.error = Some(ErrorRecord {
        kind: kind.to_owned(),
        message: error.to_string(),
        problems: error.problems().to_vec(),
    });
}
