//! Project automation, for this repository only.
//!
//! This file reads the arguments and turns the result into an exit code: 0 for success, 1 when a check failed, 2 when something
//! could not run.

mod browser;
mod cargo;
mod ci;
mod documents;
mod failure;
mod fuzz;
mod generate;
mod out;
mod python;
mod servers;
mod tidy;
mod tree;

use std::path::Path;
use std::process::ExitCode;

use ci::Tier;
use failure::Failure;

const USAGE: &str = "\
usage: cargo xtask <command>

  ci             everything that must pass before a merge
  full           the same with far more cases, and the slow checks: run it by hand, and weekly
  tidy           rules that the compiler and clippy cannot check
  gen            write the generated files
  gen --check    fail when a generated file is stale
  docs           run the examples in the documents
  docs --write   update the documents with what the examples print
  servers        install the real servers, the conformance suite and the agents that some tests use
  servers --all  the same with the agents that only `full` tests
  python         build, install and test the Python package
  python --all   the same with a release build, with SDKs, on Spark and on Ray, and its benchmark
  browser        check the pages of the HTML report in Chromium
  fuzz --minutes N [TARGET..]
                 fuzz the named targets, or all of them, for N minutes in total";

/// What to do with a file that is not up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Check,
    Write,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            out::complain(&format!("error: {failure}"));
            failure.exit_code()
        }
    }
}

fn run(args: &[String]) -> Result<(), Failure> {
    let root = root()?;
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["ci"] => ci::run(root, Tier::Ci, is_ci()),
        ["full"] => ci::run(root, Tier::Full, is_ci()),
        ["tidy"] => tidy::run(root),
        ["gen"] => generate::run(root, Mode::Write),
        ["gen", "--check"] => generate::run(root, Mode::Check),
        ["docs"] => documents::run(root, Mode::Check),
        ["docs", "--write"] => documents::run(root, Mode::Write),
        ["servers"] => servers::run(root, Tier::Ci),
        ["servers", "--all"] => servers::run(root, Tier::Full),
        ["python"] => python::run(root, Tier::Ci),
        ["python", "--all"] => python::run(root, Tier::Full),
        ["browser"] => browser::prepare(root)?.check(root, true),
        ["fuzz", rest @ ..] => fuzz::run(root, &fuzz::Request::parse(rest)?),
        ["-h" | "--help" | "help"] => {
            out::say(USAGE);
            Ok(())
        }
        _ => Err(Failure::broken(format!("unknown command `{}`\n{USAGE}", words.join(" ")))),
    }
}

fn is_ci() -> bool {
    std::env::vars_os().any(|(name, value)| name == "CI" && value == "true")
}

/// The root of the repository: the parent of this package's folder.
fn root() -> Result<&'static Path, Failure> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().ok_or_else(|| Failure::broken("this package has no parent folder".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_command_is_an_error_and_never_taken_for_another() {
        for line in ["", "CI", "ci --fast", "gen --chek", "gen --check extra", "docs --check", "tidy ci", "fuzz"] {
            let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert!(matches!(run(&args), Err(Failure::Broken(_))), "{line}");
        }
    }
}
