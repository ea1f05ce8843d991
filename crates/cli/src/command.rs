//! The commands: each prints to the console and returns an exit code, or why it stopped.

mod cassette;
mod compare;
mod completions;
mod convert;
mod explain;
mod infer;
mod init;
mod mock;
mod model_baseline;
mod mutate;
mod parallel;
mod record;
mod report;
mod run_suites;
mod runs;
mod schema;
mod score;
mod serve;
mod shim;
mod validate;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use mcptest_core::diag::{Code, Failure, printable};

use crate::args::{Cli, Command};
use crate::console::{Console, Stream};
use crate::{exit, pages, signals};

pub type Environment<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// Why a command stopped: the message for standard error. The exit code is 2; `record` uses a different one.
struct Stop(String);

impl<P> From<Failure<P>> for Stop
where
    Failure<P>: Display,
{
    fn from(error: Failure<P>) -> Self {
        Self(error.to_string())
    }
}

/// Runs what the arguments ask for and returns the exit code. `names` are the environment variables that are set.
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    environment: Environment<'_>,
    names: &[String],
    out: &mut impl Write,
    err: &mut impl Write,
) -> ExitCode {
    pages::prefer_small();
    let mut console = Console { out: Stream::new(out), err: Stream::new(err) };
    let args: Vec<OsString> = args.into_iter().collect();
    // The recorded command may itself exit with 2.
    let failed = if args.get(1).is_some_and(|word| word == "record") { exit::RECORD_FAILED } else { exit::ERROR };
    let code = match Cli::try_parse_from(args) {
        Ok(typed) => dispatch(&typed.command, environment, names, &mut console),
        Err(error) => usage(&error, &mut console),
    };
    ExitCode::from(code.unwrap_or_else(|Stop(message)| {
        console.err.complain(message);
        failed
    }))
}

fn dispatch(
    command: &Command,
    environment: Environment<'_>,
    names: &[String],
    console: &mut Console<'_>,
) -> Result<u8, Stop> {
    pages::fit(command);
    signals::ignore_sigxfsz();
    match command {
        Command::Init(typed) => init::run(typed, environment, names, console),
        Command::Run(typed) => run_suites::run(typed, environment, names, console),
        Command::Score(typed) => score::run(typed, environment, console),
        Command::Convert(typed) => convert::run(typed, console),
        Command::Infer(typed) => infer::run(typed, console),
        Command::Mutate(typed) => mutate::run(typed, environment, console),
        Command::Compare(typed) => compare::run(typed, environment, console),
        Command::ModelBaseline(typed) => model_baseline::run(typed, environment, console),
        Command::Report(typed) => report::run(typed, environment, console),
        Command::Record(typed) => Ok(record::run(typed, environment, names, &mut console.err)),
        Command::Cassette(typed) => cassette::run(typed, environment, console),
        Command::Validate(typed) => validate::run(typed, environment, console),
        Command::Schema(typed) => schema::run(typed, console),
        Command::Mock(typed) => mock::run(typed, console),
        Command::Shim(typed) => shim::run(typed),
        Command::ServeJson(_) => serve::run(environment, console),
        Command::Runs(typed) => runs::run(typed, console),
        Command::Explain(typed) => explain::run(typed, console),
        Command::Completions(typed) => completions::run(typed, console),
    }
}

/// Help and version are data. Anything else that clap reports is an error.
fn usage(error: &clap::Error, console: &mut Console<'_>) -> Result<u8, Stop> {
    let text = error.render().to_string();
    if !error.use_stderr() {
        console.out.print(&text)?;
        return Ok(exit::OK);
    }
    Err(bad_usage(error))
}

/// What clap says about arguments.
fn bad_usage(error: &clap::Error) -> Stop {
    // What was typed is quoted.
    let text = error.render().to_string().replacen("error: ", &format!("error[{}]: ", Code::BadArgument), 1);
    Stop(text.lines().map(|line| printable(line) + "\n").collect())
}
