//! The `mcptest` command: hands over the arguments and returns the exit code.

mod args;
mod exit;
mod run;

use std::process::ExitCode;

fn main() -> ExitCode {
    run::run(&args::parse(std::env::args_os().skip(1)), &mut std::io::stdout(), &mut std::io::stderr())
}
