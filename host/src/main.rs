//! `wasmhost`: arguments in, exit code out.

fn main() -> std::process::ExitCode {
    wasmhost::cli::main()
}
