//! `mcptest compare`: two sets of runs, read, compared and printed.

pub(super) mod sides;

use mcptest_core::compare::{CompareOptions, Comparison, Outcome};
use mcptest_core::diag::{Code, Failure};
use mcptest_runner::file::Trust;

use super::{Environment, Stop};
use crate::args::{Compare, CompareOutput, Comparing, FailOnChange};
use crate::console::Console;
use crate::exit;
use crate::report::{Compared, Named};

pub(super) fn run(typed: &Compare, environment: Environment<'_>, console: &mut Console<'_>) -> Result<u8, Stop> {
    let suites = sides::suites(&typed.comparing.suite, environment, console)?;
    let old = sides::read(&typed.old, &suites, Trust::Trusted)?;
    let new = sides::read(&typed.new, &suites, Trust::Trusted)?;
    print(&old, &new, &typed.comparing, false, console)
}

/// Compares two sides, prints the result, and returns the exit code.
pub(super) fn print(
    old: &Named,
    new: &Named,
    typed: &Comparing,
    by_model: bool,
    console: &mut Console<'_>,
) -> Result<u8, Stop> {
    let margin = typed.margin.map(|points| points / 100.0);
    let compared = Compared::new(old, new, &CompareOptions { margin, price: typed.price, by_model });
    if let Some(failure) = nothing(&compared) {
        return Err(failure.into());
    }
    let text = match typed.output {
        CompareOutput::Pretty => compared.pretty(typed.verbose),
        CompareOutput::Json => compared.json(),
        CompareOutput::Markdown => compared.markdown(),
        CompareOutput::Html => compared.html(),
    };
    console.out.print(&text)?;
    if compared.found.pooled.is_none() && matches!(typed.fail_on, FailOnChange::Regression | FailOnChange::Flip) {
        console.err.complain(unjudged(old, new));
        return Ok(exit::ERROR);
    }
    Ok(exit_code(&compared.found, typed.fail_on))
}

/// Why there is nothing to compare, if that is so. A comparison of nothing must not look like one without a difference.
pub(super) fn nothing(compared: &Compared) -> Option<Failure> {
    let Compared { old, new, found } = compared;
    if !found.tests.is_empty() {
        return None;
    }
    let message = format!("{old} and {new} have no test in common");
    let hint = match (found.gone.first(), found.added.first()) {
        (Some(gone), Some(added)) => format!("one has `{gone}`, the other `{added}`"),
        _ => "one of them has no tests".to_owned(),
    };
    Some(Failure::error((), message).code(Code::NothingToCompare).hint(hint))
}

/// No test has a judged run on both sides, so neither a regression nor a flip could be found.
fn unjudged(old: &Named, new: &Named) -> Failure {
    let has_verdicts =
        |named: &Named| named.side.tests.iter().flat_map(|test| &test.runs).any(|run| run.passed.is_some());
    let message = match (has_verdicts(old), has_verdicts(new)) {
        (false, false) => format!("{} and {} have no verdicts", old.name, new.name),
        (false, true) => format!("{} has no verdicts", old.name),
        (true, false) => format!("{} has no verdicts", new.name),
        (true, true) => format!("no test has verdicts in both {} and {}", old.name, new.name),
    };
    let hint = "judge cassettes with --suite, or compare only what runs did with --fail-on drift or none";
    Failure::error((), message).code(Code::NothingToCompare).hint(hint)
}

fn exit_code(found: &Comparison, fail_on: FailOnChange) -> u8 {
    let fails = match fail_on {
        FailOnChange::Regression => found.outcome == Outcome::Regressed,
        FailOnChange::Flip => found.outcome == Outcome::Regressed || found.has_flips(),
        FailOnChange::Drift => found.has_drift(),
        FailOnChange::None => false,
    };
    if fails { exit::FAILED } else { exit::OK }
}
