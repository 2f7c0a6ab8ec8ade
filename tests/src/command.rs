//! The command, built with the tests, so that no test meets a stale one.

fn main() -> std::process::ExitCode {
    wasmhost::cli::main()
}
