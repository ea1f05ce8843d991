//! `mcptest completions`: scripts that complete commands and options in a shell.

use clap_complete::generate;
use clap_complete::shells::{Bash, Elvish, Fish, PowerShell, Zsh};

use super::Answer;
use crate::args::{Completions, Shell};
use crate::exit;

pub(super) fn run(typed: &Completions) -> Answer {
    let mut command = crate::typed();
    let name = command.get_name().to_owned();
    let mut out = Vec::new();
    match typed.shell {
        Shell::Bash => generate(Bash, &mut command, name, &mut out),
        Shell::Zsh => generate(Zsh, &mut command, name, &mut out),
        Shell::Fish => generate(Fish, &mut command, name, &mut out),
        Shell::Elvish => generate(Elvish, &mut command, name, &mut out),
        Shell::PowerShell => generate(PowerShell, &mut command, name, &mut out),
    }
    Answer { data: String::from_utf8_lossy(&out).into_owned(), complaints: String::new(), code: exit::OK }
}
