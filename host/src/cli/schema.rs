//! `wasmhost schema`.

use crate::cli::outcome::Exit;
use crate::cli::render;
use crate::flow;

pub(super) fn schema() -> Exit {
    render::json(&flow::json_schema());
    Exit::Done
}
