//! `mcptest compare`: two sets of runs, read, compared and printed.

mod html;
mod json;
mod markdown;
pub(super) mod sides;
mod text;

use mcptest_core::compare::{CompareOptions, Comparison, Outcome, compare};
use mcptest_core::diag::{Code, Failure};

use self::sides::Named;
use super::{Environment, Stop};
use crate::args::{Compare, CompareOutput, Comparing, FailOnChange};
use crate::console::Console;
use crate::exit;

pub(super) fn run(typed: &Compare, environment: Environment<'_>, console: &mut Console<'_>) -> Result<u8, Stop> {
    let suite = sides::suite(typed.comparing.suite.as_deref(), environment, console)?;
    let old = sides::read(&typed.old, suite.as_ref())?;
    let new = sides::read(&typed.new, suite.as_ref())?;
    print(&old, &new, &typed.comparing, console)
}

/// Compares two sides, prints the result, and returns the exit code.
pub(super) fn print(old: &Named, new: &Named, typed: &Comparing, console: &mut Console<'_>) -> Result<u8, Stop> {
    let options = CompareOptions { margin: typed.margin.map(|points| points / 100.0), price: typed.price };
    let found = compare(&old.side, &new.side, &options);
    if found.tests.is_empty() {
        let message = format!("{} and {} have no test in common", old.name, new.name);
        let hint = match (found.gone.first(), found.added.first()) {
            (Some(gone), Some(added)) => format!("one has `{gone}`, the other `{added}`"),
            _ => "one of them has no tests".to_owned(),
        };
        return Err(Failure::error((), message).code(Code::NothingToCompare).hint(hint).into());
    }
    let text = match typed.output {
        CompareOutput::Pretty => text::pretty(&found, old, new, typed.verbose),
        CompareOutput::Json => json::text(&found, old, new),
        CompareOutput::Markdown => markdown::text(&found, old, new),
        CompareOutput::Html => html::page(&found, old, new),
    };
    console.out.print(&text)?;
    Ok(exit_code(&found, typed.fail_on))
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
