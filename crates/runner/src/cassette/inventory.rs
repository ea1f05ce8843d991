//! The recordings in the folder of a suite, compared with the suite: which of them can be replayed, are refused, are missing,
//! or are used by no test. Nothing is changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mcptest_core::diag::RunError;
use mcptest_core::report::Cell;
use mcptest_core::suite::AgentTest;
use serde_json::Value;

use super::{Cassette, CassetteError, Folder, OLDEST, slug, store};
use crate::plan::SuiteFile;

/// A recording, or several runs in a row that have none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where the recording is, or would be for the first missing run.
    pub path: PathBuf,
    pub test: Option<String>,
    pub model: Option<String>,
    /// The run, or the first of several.
    pub run: u64,
    /// The last of several consecutive runs without a recording; otherwise the run.
    pub last_run: u64,
    pub state: State,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    Ok,
    /// It can be replayed, and was edited after recording.
    Edited,
    /// It can be replayed; its format does not detect edits.
    Old,
    /// The suite has changed; the fields that differ.
    Stale(String),
    /// It cannot be used; why.
    Broken(String),
    /// No test replays it; why.
    Unused(String),
    /// A replay needs it, and it does not exist.
    Missing,
    /// Unknown, because its model's script has errors.
    Unknown(RunError),
}

impl State {
    /// The state in one word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Edited => "edited",
            Self::Old => "old",
            Self::Stale(_) => "stale",
            Self::Broken(_) => "broken",
            Self::Unused(_) => "unused",
            Self::Missing => "missing",
            Self::Unknown(_) => "unknown",
        }
    }

    fn of(loaded: Result<Cassette, CassetteError>) -> Self {
        match loaded {
            Ok(Cassette { edited: true, .. }) => Self::Edited,
            Ok(Cassette { version: OLDEST, .. }) => Self::Old,
            Ok(_) => Self::Ok,
            Err(CassetteError::Stale { changes, .. }) => Self::Stale(changes),
            Err(CassetteError::Missing { .. }) => Self::Missing,
            Err(error) => Self::Broken(error.why()),
        }
    }
}

/// Every recording of a suite and every run that lacks one, in the order of paths.
pub fn inventory(file: &SuiteFile) -> Result<Vec<Entry>, CassetteError> {
    let folder = file.cassettes();
    let mut out = Vec::new();
    for test in &file.suite.agents {
        for model in &test.models {
            let recorded = folder.runs(&test.name, model)?;
            // Without recordings a scripted model runs live, and nothing is missing.
            if !recorded.is_empty() || !file.is_scripted(test, model) {
                let inputs = file.cell_inputs(test, model).map(|cell| cell.inputs);
                cell(&folder, (test, model), &recorded, &inputs, &mut out);
            }
        }
    }
    let known: BTreeSet<PathBuf> = out.iter().map(|entry| entry.path.clone()).collect();
    for path in folder.files()?.into_iter().filter(|path| !known.contains(path)) {
        out.extend(unused(file, path));
    }
    out.sort_by(|a, b| (a.path.parent(), a.run).cmp(&(b.path.parent(), b.run)));
    Ok(out)
}

/// The recordings of a cell.
fn cell(
    folder: &Folder,
    (test, model): (&AgentTest, &str),
    recorded: &[u64],
    inputs: &Result<Value, RunError>,
    out: &mut Vec<Entry>,
) {
    let mut add = |run: u64, last_run: u64, state: State| {
        let path = folder.path(&test.name, model, run);
        let (test, model) = (Some(test.name.clone()), Some(model.to_owned()));
        out.push(Entry { path, test, model, run, last_run, state });
    };
    let mut next = 1;
    let rule = (Cell { test, faults: &[], model, price: None }).settles();
    let mut outcomes = Vec::new();
    for run in recorded.iter().copied() {
        if run > test.runs {
            let runs = if test.runs == 1 { "1 run".to_owned() } else { format!("{} runs", test.runs) };
            add(run, run, State::Unused(format!("`{}` has {runs}", test.name)));
            continue;
        }
        if run > next {
            add(next, run - 1, State::Missing);
        }
        next = run + 1;
        let loaded = inputs.as_ref().map(|inputs| folder.load(&test.name, model, run, inputs));
        if let (Some(_), Ok(Ok(cassette))) = (&rule, &loaded) {
            outcomes.push(Cell { test, faults: &[], model, price: None }.passes(&cassette.trace));
        }
        add(
            run,
            run,
            match loaded {
                Ok(loaded) => State::of(loaded),
                Err(trouble) => State::Unknown(trouble.clone()),
            },
        );
    }
    match rule {
        // Runs that stopped early are all there, unless they settle nothing: then at least the next one is missing.
        Some(rule) if next <= test.runs && rule.settled(&outcomes).is_none() => {
            add(next, next.max(test.settles_from.unwrap_or(1)), State::Missing);
        }
        None if next <= test.runs => add(next, test.runs, State::Missing),
        _ => {}
    }
}

/// A recording of a test or a model that the suite does not have.
fn unused(file: &SuiteFile, path: PathBuf) -> Option<Entry> {
    let run = store::run_of(&path)?;
    let holds = Cassette::open(&path).ok();
    let folder = path.parent().and_then(Path::parent).and_then(Path::file_name);
    let place_of = file.suite.agents.iter().find(|test| folder.is_some_and(|folder| *folder == *slug(&test.name)));
    let is_cell = |holds: &Cassette| {
        let mut tests = file.suite.agents.iter();
        tests.any(|test| test.name == holds.test && test.models.contains(&holds.model))
    };
    let why = match (place_of, &holds) {
        (_, Some(holds)) if is_cell(holds) => {
            format!("recordings of `{}` on `{}` are stored elsewhere", holds.test, holds.model)
        }
        (Some(test), Some(holds)) => format!("`{}` does not run on `{}`", test.name, holds.model),
        (Some(test), None) => format!("`{}` runs on no model that matches its folder", test.name),
        (None, Some(holds)) => format!("there is no test `{}`", holds.test),
        (None, None) => "no test matches its folder".to_owned(),
    };
    let (test, model) = holds.map(|holds| (holds.test, holds.model)).unzip();
    Some(Entry { path, test, model, run, last_run: run, state: State::Unused(why) })
}
