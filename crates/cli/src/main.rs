//! The `mcptest` command: hands over arguments and environment, and returns the exit code.

mod args;
mod command;
#[expect(dead_code, reason = "the command that reads records is built on it")]
mod corpus;
mod exit;
mod input;
mod kind;
mod progress;
mod report;
mod select;
mod signals;
mod suites;

use std::process::ExitCode;

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
fn main() -> ExitCode {
    let environment = |name: &str| std::env::var(name).ok();
    command::run(std::env::args_os(), &environment, &mut std::io::stdout(), &mut std::io::stderr())
}
