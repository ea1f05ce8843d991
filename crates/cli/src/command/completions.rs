//! `mcptest completions`: scripts that complete commands and options in a shell.

use clap_complete::generate;

use super::Answer;
use crate::args::Completions;
use crate::exit;

pub(super) fn run(typed: &Completions) -> Answer {
    let mut command = crate::cli();
    let name = command.get_name().to_owned();
    let mut out = Vec::new();
    generate(typed.shell, &mut command, name, &mut out);
    Answer { data: String::from_utf8_lossy(&out).into_owned(), complaints: String::new(), code: exit::OK }
}
