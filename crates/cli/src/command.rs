//! The commands: each turns what was typed into text and an exit code; this file writes the text.
//!
//! Data goes to standard output, everything else to standard error.

mod cassette;
mod completions;
mod convert;
mod explain;
mod init;
mod mock;
mod report;
mod run_suites;
mod runs;
mod schema;
mod score;
mod validate;

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;
use mcptest_core::diag::{Code, printable};

use crate::args::{Cli, Command};
use crate::console::Console;
use crate::exit;
use crate::report::stdout_error;
use crate::signals;

/// Answers for environment variables.
pub type Environment<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// What a command has to say.
struct Answer {
    /// For standard output.
    data: String,
    /// For standard error.
    complaints: String,
    code: u8,
}

/// Runs what the arguments ask for and returns the exit code.
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    environment: Environment<'_>,
    out: &mut impl Write,
    err: &mut impl Write,
) -> ExitCode {
    let (out, err) = (&mut Console::new(out), &mut Console::new(err));
    let command = match Cli::try_parse_from(args) {
        Ok(typed) => typed.command,
        Err(error) => return finish(&usage(&error), out, err),
    };
    signals::ignore_sigxfsz();
    let answer = match command {
        Command::Init(typed) => init::run(&typed, environment),
        Command::Run(typed) => return ExitCode::from(run_suites::run(&typed, environment, out, err)),
        Command::Score(typed) => return ExitCode::from(score::run(&typed, environment, out, err)),
        Command::Convert(typed) => return ExitCode::from(convert::run(&typed, out, err)),
        Command::Report(typed) => return ExitCode::from(report::run(&typed, environment, out, err)),
        Command::Cassette(typed) => cassette::run(&typed, environment),
        Command::Validate(typed) => validate::run(&typed, environment),
        Command::Schema(typed) => schema::run(&typed),
        Command::Mock(typed) => mock::run(&typed, out, err),
        Command::Runs(typed) => runs::run(&typed),
        Command::Explain(typed) => explain::run(&typed),
        Command::Completions(typed) => completions::run(&typed),
    };
    finish(&answer, out, err)
}

/// Prints what a command answered.
fn finish(answer: &Answer, out: &mut Console<'_>, err: &mut Console<'_>) -> ExitCode {
    // When standard error is closed too, the exit code is all that is left to say it with.
    let _ = err.write_all(answer.complaints.as_bytes());
    match out.write_all(answer.data.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::from(answer.code),
        // Whoever reads has seen enough, as in `mcptest schema | head -1`.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::from(answer.code),
        Err(error) => {
            let _ = writeln!(err, "{}", stdout_error(&error));
            ExitCode::from(exit::ERROR)
        }
    }
}

/// Help and version are data; anything else that stops the reading of arguments is a complaint.
fn usage(error: &clap::Error) -> Answer {
    let text = error.render().to_string();
    if error.use_stderr() {
        // What was typed is quoted.
        let text = text.replacen("error: ", &format!("error[{}]: ", Code::BadArgument), 1);
        let complaints = text.lines().map(|line| printable(line) + "\n").collect();
        Answer { data: String::new(), complaints, code: exit::ERROR }
    } else {
        Answer { data: text, complaints: String::new(), code: exit::OK }
    }
}
