//! `wasmhost schema`.

use std::process::ExitCode;

use crate::cli::outcome::Exit;
use crate::cli::render;
use crate::flow;

pub(super) fn schema() -> ExitCode {
    render::json(&flow::json_schema());
    Exit::Done.into()
}
