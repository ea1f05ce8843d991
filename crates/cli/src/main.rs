//! The `mcptest` command: passes on arguments and environment, and returns the exit code.

use std::process::ExitCode;

/// A trace is many small values, and this one makes and drops them in a third of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
fn main() -> ExitCode {
    mcptest::install_panic_hook();
    let environment = |name: &str| std::env::var(name).ok();
    let names: Vec<String> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    mcptest::run(std::env::args_os(), &environment, &names, &mut std::io::stdout(), &mut std::io::stderr())
}
