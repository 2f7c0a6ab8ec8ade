//! `wasmhost run`.

use crate::cli::call::RunCall;
use crate::cli::outcome::Exit;
use crate::cli::render;
use crate::cli::render::Progress;
use crate::evidence::Status;
use crate::run;
use crate::run::World;

pub(super) fn run(call: RunCall) -> Result<Exit, Exit> {
    let RunCall { flow, run_id, json, quiet } = call;
    let world = World::Real;
    let run_id = run_id.unwrap_or_else(|| world.run_id());
    let flow = super::read(&flow, world, &run_id, json)?;
    let runtime = super::runtime()?;
    let progress = Progress::new(json || quiet);
    let ended = runtime.block_on(run::run(&flow, world, run_id, &|event| progress.event(&event)));
    progress.finish();
    if json {
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
