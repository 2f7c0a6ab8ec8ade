//! `wasmhost explain`.

use std::process::ExitCode;

use crate::cli::call::FlowCall;
use crate::cli::outcome::Exit;
use crate::cli::render;
use crate::plan;
use crate::run;
use crate::run::World;

pub(super) fn explain(call: &FlowCall) -> ExitCode {
    let world = World::Real;
    let run_id = world.run_id();
    let flow = match call.flow.read(world, &run_id) {
        Ok(flow) => flow,
        Err(problems) => {
            render::problems(&problems, call.json);
            return Exit::User.into();
        }
    };
    let runtime = match super::runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            render::err(&format!("error: no threads to plan on: {error}"));
            return Exit::World.into();
        }
    };
    match runtime.block_on(run::plan(&flow, world, &run_id)) {
        Ok(plan) => {
            if call.json {
                render::json(&plan);
            } else {
                render::out(plan::explain(&plan).trim_end());
            }
            Exit::Done.into()
        }
        Err(error) => {
            render::error(&error, call.json);
            Exit::of_error(&error).into()
        }
    }
}
