//! `mcptest mutate`: changes recorded runs on purpose, and reports which changed runs the checks let pass.

mod findings;
mod pretty;
mod suites;
mod tally;
mod traces;

use std::io::{ErrorKind, IsTerminal as _};

use mcptest_core::diag::{Code, Failure};
use mcptest_core::mutate::{Operator, Options};

use self::findings::Findings;
use super::{Environment, Stop};
use crate::args::{FailOn, Mutate, MutateOutput};
use crate::console::{Console, printed};
use crate::exit;
use crate::report::{Color, MutationPage, Style, Verbosity};

pub(super) fn run(typed: &Mutate, environment: Environment<'_>, console: &mut Console<'_>) -> Result<u8, Stop> {
    let default = || if std::io::stdout().is_terminal() { MutateOutput::Pretty } else { MutateOutput::Jsonl };
    let output = typed.output.unwrap_or_else(default);
    let operators = match typed.operators.as_slice() {
        [] => Operator::ALL.to_vec(),
        chosen => chosen.iter().flat_map(|chosen| chosen.0.clone()).collect(),
    };
    let options =
        Options { operators, limit: typed.max_mutants.map(|most| usize::try_from(most).unwrap_or(usize::MAX)) };
    let mut findings = Findings::new(output, typed.html.as_deref().map(MutationPage::new));
    match &typed.gates {
        Some(gates) => traces::mutate(typed, gates, &options, environment, &mut findings, console)?,
        None => suites::mutate(typed, &options, environment, &mut findings, console)?,
    }
    let code = finish(typed, &findings, console);
    let style = Style::new(Verbosity::Normal, Color::Auto, environment);
    let mut broken_out = findings.broken_out.take();
    if output == MutateOutput::Pretty && broken_out.is_none() {
        let text = pretty::text(&findings, typed.verbose, &style);
        broken_out = console.out.print(&text).err().map(|error| std::io::Error::other(error.message));
    }
    if let Some(unwritten) = findings.write_page() {
        console.err.complain(unwritten);
        return Ok(exit::ERROR);
    }
    match broken_out {
        // The reader has closed the pipe, as in `mcptest mutate .. | head -1`, but not everything was printed.
        Some(error) if error.kind() == ErrorKind::BrokenPipe && output == MutateOutput::Jsonl => {
            let message = "standard output was closed before every mutant was printed";
            Err(Failure::error((), message).code(Code::StdoutFailed).into())
        }
        Some(error) => Ok(printed(Err(error)).map(|()| code)?),
        None => Ok(code),
    }
}

/// Reports what kept runs from being changed, and returns the exit code.
fn finish(typed: &Mutate, findings: &Findings, console: &mut Console<'_>) -> u8 {
    let Findings { tally, .. } = findings;
    if findings.output != MutateOutput::Pretty && tally.subjects > 0 {
        console.err.complain(tally.summary(findings.word));
    }
    if tally.errors > 0 {
        return exit::ERROR;
    }
    if tally.mutants() == 0 {
        let message = match tally.subjects {
            0 => "there is no run to change".to_owned(),
            _ => "none of the operators applies to these runs, so nothing was tested".to_owned(),
        };
        let hint = "omit --operators and --filter, and check that the runs make calls or end with a message";
        console.err.complain(Failure::error((), message).code(Code::NoMutants).hint(hint));
        return exit::ERROR;
    }
    if typed.fail_on == FailOn::Missed && tally.missed() > 0 { exit::FAILED } else { exit::OK }
}
