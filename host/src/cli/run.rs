//! `wasmhost run`.

use std::path::Path;

use crate::cli::call;
use crate::cli::call::RunCall;
use crate::cli::outcome::Exit;
use crate::cli::render;
use crate::cli::render::Progress;
use crate::evidence::Status;
use crate::run;
use crate::run::World;

pub(super) fn run(call: &RunCall) -> Result<Exit, Exit> {
    // Views are files of this process, and go with it.
    let views = tempfile::tempdir().map_err(|error| {
        render::err(&format!("error: there is no folder for views: {error}"));
        Exit::World
    })?;
    let mut exit = Exit::Done;
    for path in &call.paths {
        exit = match call.preview {
            Some(rows) => preview(call, path, views.path(), rows)?,
            None => one(call, path, views.path())?,
        };
        if exit != Exit::Done {
            break;
        }
    }
    Ok(exit)
}

fn one(call: &RunCall, path: &Path, views: &Path) -> Result<Exit, Exit> {
    let RunCall { run_id, json, quiet, .. } = call;
    let world = World::Real;
    let run_id = run_id.clone().unwrap_or_else(|| world.run_id());
    let flow = call::read(path, &call.values, world, &run_id, views).map_err(|problems| {
        render::problems(&problems, *json);
        Exit::User
    })?;
    let runtime = super::runtime()?;
    let progress = Progress::new(*json || *quiet);
    let ended = runtime.block_on(run::run(&flow, world, run_id, &|event| progress.event(&event)));
    progress.finish();
    if *json {
        render::json(&ended.record);
    } else if !quiet {
        render::record(&ended.record);
    }
    match &ended.error {
        Some(error) => render::error(error, false),
        None if ended.record.status == Status::Rejected => render::rejected(&ended.record),
        None => {}
    }
    match &ended.evidence {
        Ok(path) if !json && !quiet => render::out(&format!("  evidence: {}", path.display())),
        Ok(_) => {}
        Err(error) => {
            render::err(&format!("warning: the run's evidence could not be kept: {error}"))
        }
    }
    Ok(Exit::of_run(&ended))
}

fn preview(call: &RunCall, path: &Path, views: &Path, rows: usize) -> Result<Exit, Exit> {
    let world = World::Real;
    let run_id = world.run_id();
    let flow = call::read(path, &call.values, world, &run_id, views).map_err(|problems| {
        render::problems(&problems, false);
        Exit::User
    })?;
    let runtime = super::runtime()?;
    match runtime.block_on(run::preview(&flow, world, &run_id, rows)) {
        Ok(stages) => {
            stages.iter().for_each(render::stage);
            Ok(Exit::Done)
        }
        Err(error) => {
            render::error(&error, false);
            Err(Exit::of_error(&error))
        }
    }
}
