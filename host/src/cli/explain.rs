//! `wasmhost explain`.

use crate::cli::call::FlowCall;
use crate::cli::outcome::Exit;
use crate::cli::render;
use crate::plan;
use crate::run;
use crate::run::World;

pub(super) fn explain(call: &FlowCall) -> Result<Exit, Exit> {
    let world = World::Real;
    let run_id = world.run_id();
    let flow = super::read(&call.flow, world, &run_id, call.json)?;
    let runtime = super::runtime()?;
    match runtime.block_on(run::plan(&flow, world, &run_id)) {
        Ok(plan) => {
            if call.json {
                render::json(&plan);
            } else {
                render::out(plan::explain(&plan).trim_end());
            }
            Ok(Exit::Done)
        }
        Err(error) => {
            render::error(&error, call.json);
            Err(Exit::of_error(&error))
        }
    }
}
