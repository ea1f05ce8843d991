//! Project automation: `cargo xtask ci`, `tidy`, `gen [--check]`, `docs [--write]`, `servers`, `browser`,
//! `fuzz`.
//!
//! This file reads the arguments and turns the result into an exit code: 0 for well, 1 when a check said no, 2 when
//! something could not run. It is meant for this repository only and is never published.

mod browser;
mod cargo;
mod ci;
mod documents;
mod failure;
mod fuzz;
mod generate;
mod out;
mod servers;
mod tidy;
mod tree;

use std::path::Path;
use std::process::ExitCode;

use failure::Failure;

const USAGE: &str = "\
usage: cargo xtask <command>

  ci             everything that must hold before a merge
  tidy           what the compiler and clippy cannot check
  gen            write the generated files
  gen --check    fail when a generated file is stale
  docs           try out what the documents show
  docs --write   show in them what commands print now
  servers        install the real servers and the conformance suite that some tests talk to
  browser        open pages of the html report in Chromium and hold them against what they must show
  fuzz --minutes N [TARGET..]
                 try the targets of fuzz/, or those that are named, for so long together";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
enum Task {
    Ci,
    Tidy,
    Generate(generate::Mode),
    Documents(documents::Mode),
    Servers,
    Browser,
    Fuzz(fuzz::Asked),
    Help,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = parse(&args).and_then(|task| run(&task));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            out::complain(&format!("error: {failure}"));
            failure.exit_code()
        }
    }
}

fn parse(args: &[String]) -> Result<Task, Failure> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["ci"] => Ok(Task::Ci),
        ["tidy"] => Ok(Task::Tidy),
        ["gen"] => Ok(Task::Generate(generate::Mode::Write)),
        ["gen", "--check"] => Ok(Task::Generate(generate::Mode::Check)),
        ["docs"] => Ok(Task::Documents(documents::Mode::Check)),
        ["docs", "--write"] => Ok(Task::Documents(documents::Mode::Write)),
        ["servers"] => Ok(Task::Servers),
        ["browser"] => Ok(Task::Browser),
        ["fuzz", rest @ ..] => fuzz::Asked::parse(rest).map(Task::Fuzz),
        ["-h" | "--help" | "help"] => Ok(Task::Help),
        [] => Err(Failure::broken(format!("no command given\n{USAGE}"))),
        _ => Err(Failure::broken(format!("cannot make sense of `{}`\n{USAGE}", words.join(" ")))),
    }
}

fn run(task: &Task) -> Result<(), Failure> {
    let root = root()?;
    match task {
        Task::Ci => ci::run(root, is_ci()),
        Task::Tidy => tidy::run(root),
        Task::Generate(mode) => generate::run(root, *mode),
        Task::Documents(mode) => documents::run(root, *mode),
        Task::Servers => servers::run(root),
        Task::Browser => browser::run(root),
        Task::Fuzz(asked) => fuzz::run(root, asked),
        Task::Help => {
            out::say(USAGE);
            Ok(())
        }
    }
}

/// Whether a CI server runs this, where whatever cannot be installed is a failure.
fn is_ci() -> bool {
    std::env::vars_os().any(|(name, value)| name == "CI" && value == "true")
}

/// The root of the repository, which is where this package's folder stands.
fn root() -> Result<&'static Path, Failure> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().ok_or_else(|| Failure::broken("the package stands in no folder".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(line: &str) -> Result<Task, Failure> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&args)
    }

    #[test]
    fn every_command_of_the_usage_is_understood() {
        assert_eq!(task("ci"), Ok(Task::Ci));
        assert_eq!(task("tidy"), Ok(Task::Tidy));
        assert_eq!(task("gen"), Ok(Task::Generate(generate::Mode::Write)));
        assert_eq!(task("gen --check"), Ok(Task::Generate(generate::Mode::Check)));
        assert_eq!(task("docs"), Ok(Task::Documents(documents::Mode::Check)));
        assert_eq!(task("docs --write"), Ok(Task::Documents(documents::Mode::Write)));
        assert_eq!(task("servers"), Ok(Task::Servers));
        assert_eq!(task("browser"), Ok(Task::Browser));
        assert!(matches!(task("fuzz --minutes 5 suite"), Ok(Task::Fuzz(_))));
        assert_eq!(task("--help"), Ok(Task::Help));
    }

    #[test]
    fn anything_else_is_refused_and_never_taken_for_a_command() {
        for line in ["", "CI", "ci --fast", "gen --chek", "gen --check extra", "docs --check", "tidy ci", "fuzz"] {
            let failure = task(line).unwrap_err();
            assert!(matches!(failure, Failure::Broken(_)), "{line}");
        }
    }
}
