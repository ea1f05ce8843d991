//! Mutants of the recorded runs of suites.

use mcptest_core::diag::RunError;
use mcptest_core::event::Event;
use mcptest_core::mutate::{self, Options, Run, Subject};
use mcptest_core::report::{Cell, Family, Row};
use mcptest_runner::budget::{Budget, Limits};
use mcptest_runner::executor::{self, Mode};
use mcptest_runner::file::Trust;
use mcptest_runner::plan::Planned;

use super::findings::{Findings, Judged};
use super::tally;
use crate::args::Mutate;
use crate::command::score::threads;
use crate::command::{Environment, Stop, parallel, run_suites};
use crate::console::Console;
use crate::select::Selection;
use crate::signals::Signals;
use crate::suites::{self, File};

/// A test on a model with its traces.
struct Replayed<'a> {
    planned: &'a Planned<'a>,
    runs: Vec<Run>,
}

pub(super) fn mutate(
    typed: &Mutate,
    options: &Options,
    environment: Environment<'_>,
    findings: &mut Findings,
    console: &mut Console<'_>,
) -> Result<(), Stop> {
    let Console { out, err } = console;
    let files = suites::load(&typed.files, "mutate", Trust::Trusted, environment, &mut |text| err.complain(text))?;
    let selection = Selection { filters: &typed.filter, ..Selection::default() };
    let mut cells: Vec<Planned<'_>> = Vec::new();
    for file in files.iter().filter_map(File::suite) {
        for test in &file.suite.agents {
            let planned = |model| {
                let cell = Cell::new(&file.suite, test, model);
                Planned { file, cell, runs: test.runs }
            };
            cells.extend(selection.models(test).into_iter().map(planned));
        }
    }
    if cells.is_empty() && files.iter().all(|file| file.suite().is_some()) {
        return Err(run_suites::nothing_selected(&files, &selection).into());
    }
    for file in &files {
        if let File::Refused { why, name } = file {
            findings.tally.errors += 1;
            err.complain(why);
            findings.event(Event::SuiteRefused { file: name.clone(), why: why.clone() });
        }
    }
    let mut replayed = Vec::new();
    replay(&cells, threads(&typed.reading), environment, &mut |event| {
        if let Event::CellFinished { .. } | Event::SuiteStarted { .. } | Event::Note(_) | Event::Stopped(_) = &event {
            findings.event(event);
            return;
        }
        let Event::RowFinished(mut row) = event else { return };
        if findings.wants_rows() {
            findings.event(Event::RowFinished(row.clone()));
        }
        replayed.push((row.trace.take(), row));
    });
    let mut subjects = Vec::new();
    let mut rows = replayed.into_iter().peekable();
    for planned in &cells {
        let mut runs = Vec::new();
        let mut is_whole = true;
        let is_of_cell = |row: &Row| row.test == planned.cell.test.name && row.model == planned.cell.model;
        while let Some((trace, row)) = rows.next_if(|(_, row)| is_of_cell(row)) {
            if row.family != Family::Run {
                continue;
            }
            match trace {
                Some(trace) => runs.push(Run { name: row.name, trace: *trace }),
                None => {
                    is_whole = false;
                    let why = row.error.unwrap_or_else(|| RunError::new("it was not run"));
                    let name = format!("{}: {}", planned.file.shown, row.name);
                    findings.complain(&why.moved(name), err);
                }
            }
        }
        // A cell with a run that cannot be replayed is not judged, as in `mcptest run`.
        if is_whole && !runs.is_empty() {
            subjects.push(Replayed { planned, runs });
        }
    }
    parallel::in_order(subjects, threads(&typed.reading), &|subject| judged(subject, options), &mut |judged| {
        findings.judged(judged, out, err);
    });
    findings.finish_complaints(err);
    Ok(())
}

fn judged(replayed: Replayed<'_>, options: &Options) -> Judged {
    let Replayed { planned, runs } = replayed;
    let test = planned.cell.test;
    let names = runs.iter().map(|run| run.name.clone()).collect();
    let mut subject = Subject { expect: &test.expect, gates: &test.gates, runs, is_group: true };
    let mut mutants = Vec::new();
    let result = mutate::mutate(&mut subject, options, &mut |mutant| mutants.push(mutant));
    Judged {
        source: planned.file.shown.clone(),
        name: planned.cell.row_name(1, None, None),
        runs: names,
        checks: tally::checks(!test.expect.is_empty(), &test.gates),
        result: result.map(|untried| (mutants, untried)),
    }
}

/// Replays cassettes, and runs scripted tests that have none.
fn replay(cells: &[Planned<'_>], jobs: usize, environment: Environment<'_>, emit: &mut dyn FnMut(Event)) {
    let signals = Signals::default();
    signals.listen();
    let budget = Budget::new(Limits::default());
    let options = executor::Options {
        mode: Mode::Replay,
        jobs,
        fail_fast: false,
        allow_inconclusive: false,
        program: std::env::current_exe().ok(),
        environment,
        names: &[],
        interrupt: &signals.interrupt,
        processes: &signals.processes,
        budget: &budget,
        on_progress: &|_| {},
    };
    executor::execute(cells, &options, emit);
}
