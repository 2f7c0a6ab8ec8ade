//! `wasmhost check`.

use std::process::ExitCode;

use serde_json::json;

use crate::cli::call::FlowCall;
use crate::cli::outcome::Exit;
use crate::cli::render;
use crate::run;
use crate::run::World;

pub(super) fn check(call: &FlowCall) -> ExitCode {
    let world = World::Real;
    let flow = match call.flow.read(world, &world.run_id()) {
        Ok(flow) => flow,
        Err(problems) => {
            render::problems(&problems, call.json);
            return Exit::User.into();
        }
    };
    match run::check(&flow, world) {
        Ok(components) if call.json => {
            render::json(
                &json!({ "status": "succeeded", "flow": flow.name, "components": components }),
            );
            Exit::Done.into()
        }
        Ok(components) => {
            render::out(&format!("flow {}: no problems", flow.name));
            for component in components {
                render::out(&format!(
                    "  {} {}: {}",
                    component.name, component.version, component.summary
                ));
            }
            Exit::Done.into()
        }
        Err(error) => {
            render::error(&error, call.json);
            Exit::of_error(&error).into()
        }
    }
}
