//! `mcptest run`: loads suites, selects tests, and hands every event to the reporters.

use std::path::PathBuf;

use mcptest_core::diag::{Code, Failure, did_you_mean, printable};
use mcptest_core::event::Event;
use mcptest_core::json::Layout;
use mcptest_core::report::{Cell, Report};
use mcptest_core::suite::AgentTest;
use mcptest_runner::budget::{Budget, Limits};
use mcptest_runner::executor::{self, Mode, Options};
use mcptest_runner::file::Trust;
use mcptest_runner::plan::{Planned, SuiteFile};
use serde::Serialize;

use super::{Environment, Stop, report};
use crate::args::{Format, OnDivergence, Run, Tools, labeled};
use crate::console::Console;
use crate::exit;
use crate::limits::{self, JobLimit};
use crate::progress::Progress;
use crate::report::Reporters;
use crate::select::{self, Selection};
use crate::signals::Signals;
use crate::suites::{self, File};

pub(super) fn run(
    typed: &Run,
    environment: Environment<'_>,
    names: &[String],
    console: &mut Console<'_>,
) -> Result<u8, Stop> {
    let trust = trust(typed.untrusted);
    let given: Vec<PathBuf> = typed.files.iter().chain(&typed.config).cloned().collect();
    let files = suites::load(&given, "run", trust, environment, &mut |text| console.err.complain(text))?;
    let selection =
        Selection { filters: &typed.filter, tags: &typed.tag, skip_tags: &typed.skip_tag, models: &typed.models };
    let mut selected = 0;
    let mut cells: Vec<Planned<'_>> = Vec::new();
    for file in files.iter().filter_map(File::suite) {
        for test in &file.suite.agents {
            for model in selection.models(test) {
                selected += 1;
                if select::in_share(typed.partition, test) {
                    let cell = Cell::new(&file.suite, test, model);
                    cells.push(Planned { file, cell, runs: typed.runs.unwrap_or(test.runs) });
                }
            }
        }
    }
    if selected == 0 && files.iter().all(|file| file.suite().is_some()) {
        return Err(nothing_selected(&files, &selection).into());
    }
    let empty_share = typed.partition.filter(|_| cells.is_empty() && selected > 0);
    let empty_share =
        empty_share.map(|share| format!("partition {share} is empty: every selected test is in another partition"));
    if let Some(format) = typed.list {
        if let Some(note) = empty_share {
            console.err.complain(format!("note: {note}"));
        }
        return list(&files, &cells, format, console);
    }
    let older = report::older(&typed.reporting, &files, trust)?;
    let style = report::style(&typed.reporting, trust, environment);
    let mut reporters = Reporters::new(&typed.reporting.reporter, style, console.out.by_ref())?;
    if let Some(error) = missing_price(typed, &cells) {
        return Err(error.into());
    }
    let mut report = Report::default();
    let traces = reporters.want_traces() || older.is_some();
    let mut emit = |mut event: Event| {
        reporters.event(&event);
        // Traces are large, so they are dropped if no reporter needs them.
        if let Event::RowFinished(row) = &mut event
            && !traces
        {
            row.trace = None;
        }
        report.take(event);
    };
    labeled(&typed.reporting.label).into_iter().for_each(&mut emit);
    if typed.allow_inconclusive {
        emit(Event::InconclusiveAllowed);
    }
    if let Some(note) = empty_share {
        emit(Event::Note(note));
    }
    judge(typed, (environment, names), &files, &cells, &mut emit);
    let mut code = report.exit_code();
    let (failures, has_regressed) = report::finish(reporters, &report, older.as_ref());
    if has_regressed {
        code = code.max(exit::FAILED);
    }
    for failure in failures {
        console.err.complain(failure);
        code = exit::ERROR;
    }
    Ok(code)
}

/// Runs the selected cells and emits their results, in the order of the files.
fn judge(
    typed: &Run,
    (environment, names): (Environment<'_>, &[String]),
    files: &[File],
    cells: &[Planned<'_>],
    emit: &mut dyn FnMut(Event),
) {
    let signals = Signals::default();
    signals.listen();
    let mode = match typed {
        Run { record: true, .. } => Mode::Record,
        Run { live: true, .. } => Mode::Live,
        Run { rerun: true, tools, on_divergence, .. } => {
            Mode::Rerun { live_tools: *tools == Tools::Live, judges: *on_divergence == OnDivergence::Judge }
        }
        _ => Mode::Replay,
    };
    let budget = Budget::new(Limits { tokens: typed.max_tokens_total, cost: typed.max_cost });
    let progress = Progress::new(mode == Mode::Replay);
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let mut jobs = typed.jobs.map_or(cores.min(8), usize::from).min(runs(cells));
    let servers = cells.iter().map(|planned| planned.cell.test.servers.len()).max().unwrap_or(0);
    if let Err(JobLimit { jobs: fewer, limit }) = limits::make_room(jobs, servers) {
        // A replay prints the same on every machine, and is not slower for it.
        if mode != Mode::Replay {
            emit(Event::Note(format!(
                "running {fewer} at once instead of {jobs}: at most {limit} open files (`ulimit -n`)"
            )));
        }
        jobs = fewer;
    }
    let options = Options {
        mode,
        jobs,
        fail_fast: typed.fail_fast,
        allow_inconclusive: typed.allow_inconclusive,
        program: std::env::current_exe().ok(),
        environment: if typed.untrusted { &|_| None } else { environment },
        names,
        interrupt: &signals.interrupt,
        processes: &signals.processes,
        budget: &budget,
        on_progress: &|update| progress.update(update),
    };
    // Files that cannot be used are reported in order.
    let mut left = files.iter();
    let mut refused_before = |name: Option<&str>, emit: &mut dyn FnMut(Event)| {
        for file in left.by_ref() {
            match file {
                File::Suite(file) if name == Some(&file.shown) => break,
                File::Suite(_) => {}
                File::Refused { name, why } => {
                    emit(Event::SuiteRefused { file: name.clone(), why: why.clone() });
                }
            }
        }
    };
    executor::execute(cells, &options, &mut |event| {
        progress.suspended(|| {
            if let Event::SuiteStarted { file } = &event {
                refused_before(Some(file), emit);
            }
            emit(event);
        });
    });
    refused_before(None, emit);
    if signals.interrupt.is_set() {
        emit(Event::Stopped("stopped before the end".to_owned()));
    } else if budget.is_over() {
        let spent = budget.spent();
        let cost = if typed.max_cost.is_some() { format!(", {:.4} of money", spent.cost) } else { String::new() };
        emit(Event::Stopped(format!(
            "stopped by the budget: {} tokens{cost} spent, and the next request might exceed it",
            spent.tokens
        )));
    }
}

/// Runs the first test of a suite once and records it.
pub(super) fn record_one(
    file: &SuiteFile,
    (environment, names): (Environment<'_>, &[String]),
    emit: &mut dyn FnMut(Event),
) {
    let cells = file.suite.agents.iter().take(1).filter_map(|test| {
        let cell = Cell::new(&file.suite, test, test.models.first()?);
        Some(Planned { file, cell, runs: 1 })
    });
    let cells: Vec<Planned<'_>> = cells.collect();
    let signals = Signals::default();
    signals.listen();
    let progress = Progress::new(false);
    let options = Options {
        mode: Mode::Record,
        jobs: 1,
        fail_fast: false,
        allow_inconclusive: false,
        program: std::env::current_exe().ok(),
        environment,
        names,
        interrupt: &signals.interrupt,
        processes: &signals.processes,
        budget: &Budget::new(Limits { tokens: None, cost: None }),
        on_progress: &|update| progress.update(update),
    };
    executor::execute(&cells, &options, &mut |event| progress.suspended(|| emit(event)));
}

/// Whose files are read.
pub(super) fn trust(is_untrusted: bool) -> Trust {
    if is_untrusted { Trust::Untrusted } else { Trust::Trusted }
}

/// How many runs there are.
fn runs(cells: &[Planned<'_>]) -> usize {
    let runs = cells.iter().fold(0_u64, |sum, planned| sum.saturating_add(planned.runs));
    usize::try_from(runs).unwrap_or(usize::MAX).max(1)
}

/// A limit on cost needs the price of every model that is called.
fn missing_price(typed: &Run, cells: &[Planned<'_>]) -> Option<Failure> {
    let asked = typed.max_cost.is_some() && (typed.record || typed.live);
    let free = |planned: &&Planned<'_>| {
        let Planned { file, cell, .. } = planned;
        let model = file.suite.models.get(cell.model).filter(|_| !cell.test.is_program);
        !file.is_scripted(cell.test, cell.model) && model.is_none_or(|model| model.price.is_none())
    };
    let Planned { file, cell, .. } = cells.iter().find(free).filter(|_| asked)?;
    if cell.test.is_program {
        let message =
            format!("--max-cost cannot limit program `{}` in {}: its prices are not known", cell.model, file.shown);
        let hint = "use --max-tokens-total; a program that runs is not stopped, but no other one is started";
        return Some(Failure::error((), message).code(Code::NoPrice).hint(hint));
    }
    let message = format!("--max-cost needs the price of model `{}` in {}", cell.model, file.shown);
    let hint = "add it under `models:`, as in `price: { input: 3, output: 15 }` for a million tokens";
    Some(Failure::error((), message).code(Code::NoPrice).hint(hint))
}

/// The error if no test is selected, with a suggestion.
pub(super) fn nothing_selected(files: &[File], selection: &Selection<'_>) -> Failure {
    let tests: Vec<&AgentTest> = files.iter().filter_map(File::suite).flat_map(|file| &file.suite.agents).collect();
    if tests.is_empty() {
        return Failure::error((), "no test to run: the suites have no tests")
            .code(Code::NothingSelected)
            .hint("add one under `agents:`");
    }
    let tags = || tests.iter().flat_map(|test| &test.tags).map(String::as_str);
    let models = || tests.iter().flat_map(|test| &test.models).map(String::as_str);
    let unknown_tag = selection.tags.iter().find(|tag| tags().all(|known| known != *tag));
    let unknown_model = selection.models.iter().find(|model| models().all(|known| known != *model));
    let near = unknown_tag
        .and_then(|tag| did_you_mean(tag, tags()))
        .or_else(|| unknown_model.and_then(|model| did_you_mean(model, models())));
    let hint = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`mcptest run --list` without these options lists every test".to_owned(),
    };
    let count = match tests.len() {
        1 => "the only test does not match".to_owned(),
        count => format!("none of {count} tests matches"),
    };
    Failure::error((), format!("no test is selected: {count} {}", selection.typed()))
        .code(Code::NothingSelected)
        .hint(hint)
}

/// The selected tests for tools, once per model. Keys may be added; existing keys keep their meaning while `version` is 1.
#[derive(Serialize)]
struct Listed<'a> {
    version: u32,
    tests: Vec<ListedTest<'a>>,
}

#[derive(Serialize)]
struct ListedTest<'a> {
    file: &'a str,
    line: usize,
    name: &'a str,
    model: &'a str,
    /// At most, if the runs stop early.
    runs: u64,
}

/// Every cell: the place of its test, and its name.
fn list(files: &[File], cells: &[Planned<'_>], format: Format, console: &mut Console<'_>) -> Result<u8, Stop> {
    let mut code = exit::OK;
    for file in files {
        if let File::Refused { why, .. } = file {
            console.err.complain(why);
            code = exit::ERROR;
        }
    }
    let text = match format {
        Format::Human => cells.iter().map(listed_line).collect(),
        Format::Json => {
            Layout::PRETTY.text(&Listed { version: 1, tests: cells.iter().map(listed_test).collect() }) + "\n"
        }
    };
    console.out.print(&text)?;
    Ok(code)
}

fn listed_line(Planned { file, cell, runs }: &Planned<'_>) -> String {
    let count = match (cell.test.settles_from, *runs) {
        (Some(min), max) if min < max => format!(" ({min} to {max} runs)"),
        (_, 1) => String::new(),
        (_, runs) => format!(" ({runs} runs)"),
    };
    let (name, line) = (cell.row_name(1, None, None), cell.test.line);
    format!("{}:{line}: {}{count}\n", printable(&file.shown), printable(&name))
}

fn listed_test<'a>(Planned { file, cell, runs }: &Planned<'a>) -> ListedTest<'a> {
    ListedTest { file: &file.shown, line: cell.test.line, name: &cell.test.name, model: cell.model, runs: *runs }
}
