//! `mcptest completions`: scripts that complete commands and options in a shell.

use clap_complete::generate;

use super::Stop;
use crate::args::Completions;
use crate::console::Console;
use crate::exit;

pub(super) fn run(typed: &Completions, console: &mut Console<'_>) -> Result<u8, Stop> {
    let mut command = crate::cli();
    let name = command.get_name().to_owned();
    let mut out = Vec::new();
    generate(typed.shell, &mut command, name, &mut out);
    console.out.print(&String::from_utf8_lossy(&out))?;
    Ok(exit::OK)
}
