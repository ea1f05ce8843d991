//! The command `mcptest`: everything between what was typed and an exit code.
//!
//! This is a library so that documents and man pages are generated from the same tables that the program uses. Programs
//! that want to judge traces use `mcptest-core`.

mod args;
pub mod codes;
mod command;
mod console;
mod corpus;
mod exit;
mod explain;
mod input;
mod kind;
mod limits;
mod pages;
mod panics;
mod progress;
mod report;
mod select;
mod signals;
mod suites;
mod words;
mod wrap;

pub use command::{Environment, run};
pub use panics::install_panic_hook;
pub use wrap::wrap;

pub fn cli() -> clap::Command {
    <args::Cli as clap::CommandFactory>::command()
}
