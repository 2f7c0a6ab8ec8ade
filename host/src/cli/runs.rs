//! `wasmhost runs`.

use serde_json::json;

use crate::cli::call::RunsCall;
use crate::cli::outcome::Exit;
use crate::cli::render;
use crate::evidence::EvidenceError;
use crate::evidence::Folder;
use crate::evidence::Record;
use crate::name::FlowName;
use crate::run::World;
use crate::table::RunId;

pub(super) fn runs(call: &RunsCall) -> Result<Exit, Exit> {
    let world = World::Real;
    let flow = super::read(&call.flow, world, &world.run_id(), call.json)?;
    let folder = Folder::of(&flow.state);
    let shown = match call.run_id.as_deref() {
        None => list(&folder, &flow.name, call.json),
        Some("latest") => latest(&folder, &flow.name).map(|record| show(&record, call.json)),
        Some(id) => match RunId::new(id) {
            Ok(id) => folder.get(&flow.name, &id).map(|record| show(&record, call.json)),
            Err(what) => {
                render::err(&format!("error: {what}"));
                return Err(Exit::User);
            }
        },
    };
    match shown {
        Ok(()) => Ok(Exit::Done),
        Err(error) => {
            render::err(&format!("error: {error}"));
            match error {
                EvidenceError::Io { .. } => Err(Exit::World),
                EvidenceError::Unreadable { .. } | EvidenceError::NoSuchRun { .. } => {
                    Err(Exit::User)
                }
            }
        }
    }
}

fn list(folder: &Folder, flow: &FlowName, as_json: bool) -> Result<(), EvidenceError> {
    let records = readable(folder, flow)?;
    if as_json {
        render::json(&json!(records));
    } else if records.is_empty() {
        render::out(&format!("flow {flow} has no runs yet"));
    } else {
        for record in records {
            let started = record.started_at.format("%Y-%m-%d %H:%M:%S");
            let status = render::word(&record.status);
            let (read, written) = (record.rows_read, record.rows_written);
            render::out(&format!(
                "{}  {started} UTC  {status:13}  {read} rows read, {written} written",
                record.run_id
            ));
        }
    }
    Ok(())
}

fn latest(folder: &Folder, flow: &FlowName) -> Result<Record, EvidenceError> {
    let none = || EvidenceError::Unreadable {
        path: flow.as_str().into(),
        what: "the flow has no runs yet".to_owned(),
    };
    readable(folder, flow)?.into_iter().next_back().ok_or_else(none)
}

/// The flow's records, oldest first; those that cannot be read are told and left out.
fn readable(folder: &Folder, flow: &FlowName) -> Result<Vec<Record>, EvidenceError> {
    let records = folder.list(flow)?;
    for unreadable in records.iter().filter_map(|record| record.as_ref().err()) {
        render::err(&format!("warning: {unreadable}"));
    }
    Ok(records.into_iter().flatten().collect())
}

fn show(record: &Record, as_json: bool) {
    if as_json {
        render::json(record);
        return;
    }
    render::record(record);
    if let Some(error) = &record.error {
        render::out(&format!("  error ({}): {}", error.kind, error.message));
    }
}
