//! `mcptest run`: loads suites, selects tests, and hands every event to the reporters.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use mcptest_core::diag::{did_you_mean, printable};
use mcptest_core::event::Event;
use mcptest_core::report::{Family, Report, Row, RowVerdict, Trouble, row_name};
use mcptest_core::suite::{self, AgentTest, Suite, Variables};

use super::Environment;
use crate::args::Run;
use crate::exit;
use crate::input::{self, Refusal};
use crate::report::Reporters;
use crate::select::{self, Selection};

/// A file that was named, and what became of it.
struct File {
    /// As it was typed.
    name: String,
    suite: Result<Suite, String>,
}

/// One selected test of a suite, on one model.
struct Cell<'a> {
    test: &'a AgentTest,
    model: &'a str,
    runs: u64,
}

impl Cell<'_> {
    /// The name of the cell, or of one of its runs.
    fn name(&self, run: Option<u64>) -> String {
        row_name(&self.test.name, self.test.is_matrix.then_some(self.model), run.filter(|_| self.runs > 1), None)
    }
}

pub(super) fn run(typed: &Run, environment: Environment<'_>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let mut complain = |text: &str| {
        // When standard error is closed too, the exit code is all that is left to say it with.
        let _ = err.write_all(format!("{}\n", text.trim_end()).as_bytes());
    };
    let paths = match paths(typed) {
        Ok(paths) => paths,
        Err(complaint) => {
            complain(&complaint);
            return exit::ERROR;
        }
    };
    let files: Vec<File> = input::expand(&paths)
        .into_iter()
        .map(|path| match path.and_then(|path| load(&path, environment, &mut complain)) {
            Ok(file) => file,
            Err(refusal) => refused(refusal),
        })
        .collect();
    let selection =
        Selection { filters: &typed.filter, tags: &typed.tag, skip_tags: &typed.skip_tag, models: &typed.models };
    let (mut selected, mut shared) = (0, 0);
    let cells: Vec<Vec<Cell<'_>>> = files
        .iter()
        .map(|file| {
            let tests = file.suite.iter().flat_map(|suite| &suite.agents);
            let all = tests.flat_map(|test| selection.models(test).into_iter().map(move |model| (test, model)));
            let mut cells = Vec::new();
            for (test, model) in all {
                selected += 1;
                if select::in_share(typed.partition, test) {
                    shared += 1;
                    cells.push(Cell { test, model, runs: typed.runs.unwrap_or(test.runs) });
                }
            }
            cells
        })
        .collect();
    if selected == 0 && files.iter().all(|file| file.suite.is_ok()) {
        complain(&nothing(&files, &selection));
        return exit::ERROR;
    }
    if typed.list {
        return list(&files, &cells, out, &mut complain);
    }
    let mut reporters = match Reporters::new(&typed.reporter, typed.verbosity(), out) {
        Ok(reporters) => reporters,
        Err(bad) => {
            complain(&format!("error: {bad}"));
            return exit::ERROR;
        }
    };
    let mut report = Report::default();
    let mut emit = |event: Event| {
        reporters.event(&event);
        report.take(event);
    };
    if let Some(share) = typed.partition.filter(|_| shared == 0 && selected > 0) {
        emit(Event::Note(format!("share {share} is empty: every selected test is in another one")));
    }
    judge(&files, &cells, typed.fail_fast, &mut emit);
    let mut code = report.exit_code();
    for unwritten in reporters.finish(&report) {
        complain(&format!("error: {unwritten}"));
        code = exit::ERROR;
    }
    code
}

/// Runs the selected cells of every suite and emits what becomes of them, in the order of the files.
fn judge(files: &[File], cells: &[Vec<Cell<'_>>], fail_fast: bool, emit: &mut dyn FnMut(Event)) {
    let mut stopped = false;
    for (file, cells) in files.iter().zip(cells) {
        if let Err(why) = &file.suite {
            emit(Event::SuiteRefused { file: file.name.clone(), why: why.clone() });
            continue;
        }
        emit(Event::SuiteStarted { file: file.name.clone() });
        for (cell, run) in cells.iter().flat_map(|cell| (1..=cell.runs).map(move |run| (cell, run))) {
            emit(Event::RowFinished(Box::new(unwired(cell, run, stopped))));
            stopped = fail_fast;
        }
    }
}

/// The row of a run that nothing runs.
fn unwired(cell: &Cell<'_>, run: u64, stopped: bool) -> Row {
    let trouble = Trouble { message: "no runner is wired".to_owned(), hint: None };
    Row {
        name: cell.name(Some(run)),
        family: Family::Run,
        test: cell.test.name.clone(),
        model: cell.model.to_owned(),
        run: Some(run),
        gate: None,
        line: cell.test.line,
        verdict: if stopped { RowVerdict::Skipped } else { RowVerdict::Error },
        origin: None,
        checks: Vec::new(),
        error: (!stopped).then_some(trouble),
        receipts: Vec::new(),
        duration_ms: None,
        trace: None,
    }
}

/// The files and folders that were named, or the suite that is found without a name.
fn paths(typed: &Run) -> Result<Vec<PathBuf>, String> {
    let named: Vec<PathBuf> = typed.files.iter().chain(&typed.config).cloned().collect();
    if !named.is_empty() {
        return Ok(named);
    }
    let found: Vec<PathBuf> =
        ["mcptest.yaml", "mcptest.yml"].map(PathBuf::from).into_iter().filter(|path| path.is_file()).collect();
    if found.is_empty() {
        let what = "error: no suite was named, and there is no mcptest.yaml or mcptest.yml in the current folder";
        return Err(format!("{what}\nhint: name a file or a folder, as in `mcptest run tests/`"));
    }
    Ok(found)
}

/// Loads a suite. What is wrong with it becomes part of the report; warnings are said at once.
fn load(path: &Path, environment: Environment<'_>, complain: &mut dyn FnMut(&str)) -> Result<File, Refusal> {
    let source = input::read(path)?;
    let folder = input::folder(path);
    let loaded = suite::load(&source, &Variables { suite_dir: &folder, outside: environment });
    let said: Vec<String> = loaded.diagnostics.iter().map(|diagnostic| diagnostic.render(&source)).collect();
    let suite = loaded.value.ok_or_else(|| said.join("\n"));
    if suite.is_ok() {
        for warning in &said {
            complain(warning);
        }
    }
    Ok(File { name: source.name().to_owned(), suite })
}

fn refused(Refusal { path, message, hint }: Refusal) -> File {
    let why = format!("error: {}: {message}\nhint: {}\n", printable(&path), printable(&hint));
    File { name: path, suite: Err(why) }
}

/// Says that no test fits, and which word may have been meant.
fn nothing(files: &[File], selection: &Selection<'_>) -> String {
    let tests: Vec<&AgentTest> =
        files.iter().filter_map(|file| file.suite.as_ref().ok()).flat_map(|suite| &suite.agents).collect();
    if tests.is_empty() {
        return "error: nothing to run: the suites have no tests\nhint: write one below `agents:`".to_owned();
    }
    let tags = || tests.iter().flat_map(|test| &test.tags).map(String::as_str);
    let models = || tests.iter().flat_map(|test| &test.models).map(String::as_str);
    let unknown_tag = selection.tags.iter().find(|tag| tags().all(|known| known != *tag));
    let unknown_model = selection.models.iter().find(|model| models().all(|known| known != *model));
    let near = unknown_tag
        .and_then(|tag| did_you_mean(tag, tags()))
        .or_else(|| unknown_model.and_then(|model| did_you_mean(model, models())));
    let hint = match near {
        Some(near) => format!("did you mean `{}`?", printable(near)),
        None => "`mcptest run --list` without these shows every test".to_owned(),
    };
    let count = match tests.len() {
        1 => "the one test there is does not fit".to_owned(),
        count => format!("none of {count} tests fits"),
    };
    format!("error: nothing is selected: {count} {}\nhint: {hint}", selection.typed())
}

/// One line per cell: where its test stands, and its name.
fn list(files: &[File], cells: &[Vec<Cell<'_>>], out: &mut dyn Write, complain: &mut dyn FnMut(&str)) -> u8 {
    let (mut text, mut code) = (String::new(), exit::OK);
    for (file, cells) in files.iter().zip(cells) {
        if let Err(why) = &file.suite {
            complain(why);
            code = exit::ERROR;
        }
        for cell in cells {
            let runs = if cell.runs == 1 { String::new() } else { format!(" ({} runs)", cell.runs) };
            let (name, line) = (cell.name(None), cell.test.line);
            text.push_str(&format!("{}:{line}: {}{runs}\n", printable(&file.name), printable(&name)));
        }
    }
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            complain(&format!("error: cannot write to standard output: {error}"));
            exit::ERROR
        }
        _ => code,
    }
}
