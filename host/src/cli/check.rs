//! `wasmhost check`.

use serde_json::json;

use crate::cli::call::FlowCall;
use crate::cli::outcome::Exit;
use crate::cli::render;
use crate::run;
use crate::run::World;

pub(super) fn check(call: &FlowCall) -> Result<Exit, Exit> {
    let world = World::Real;
    let flow = super::read(&call.flow, world, &world.run_id(), call.json)?;
    match run::check(&flow, world) {
        Ok(components) if call.json => {
            render::json(
                &json!({ "status": "succeeded", "flow": flow.name, "components": components }),
            );
            Ok(Exit::Done)
        }
        Ok(components) => {
            render::out(&format!("flow {}: no problems", flow.name));
            for component in components {
                render::out(&format!(
                    "  {} {}: {}",
                    component.name, component.version, component.summary
                ));
            }
            Ok(Exit::Done)
        }
        Err(error) => {
            render::error(&error, call.json);
            Err(Exit::of_error(&error))
        }
    }
}
