//! Filling the record while a run goes on.

use std::sync::Arc;

use chrono::DateTime;
use chrono::Utc;
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
use crate::flow::Flow;
use crate::plan::Plan;
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
        vars: flow.vars.clone(),
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
        version: plan.source.version,
        files: plan.source.files.len() as u64,
        bytes: plan.source.files.iter().map(|file| file.bytes).sum(),
        filter: plan.source.filter.as_ref().map(|filter| FilterRecord {
            sql: filter.sql.clone(),
            rows_filtered: 0,
            rows_skipped: 0,
            files_skipped: filter.files_skipped,
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
