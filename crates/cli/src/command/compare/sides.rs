//! The two sides of a comparison, read from the named input: a report, cassettes, score lines or a baseline.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcptest_core::compare::{ScoreLines, Side, TestRuns};
use mcptest_core::diag::Code;
use mcptest_core::event::Event;
use mcptest_core::report::{self, Attempt, Cell, Origin, Report};
use mcptest_core::suite::MAX_RUNS;
use mcptest_runner::cassette::Cassette;
use mcptest_runner::file::Trust;
use mcptest_runner::plan::SuiteFile;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::command::{Environment, Stop, report as saved};
use crate::console::Console;
use crate::input::{self, FileError, Wanted, file_error};
use crate::report::Named;
use crate::suites::{self, File};

/// Version of a baseline. Readers take this one only.
pub(in crate::command) const BASELINE: u32 = 1;

const HINT: &str = "name a saved report (`mcptest run --reporter json=FILE`), a folder of cassettes, the output of `mcptest score`, or a model baseline";

/// A baseline, as stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::command) struct Baseline {
    pub(in crate::command) mcptest_baseline: u32,
    pub(in crate::command) tests: Vec<TestRuns>,
}

/// Loads the suites that judge cassettes.
pub(in crate::command) fn suites(
    paths: &[PathBuf],
    environment: Environment<'_>,
    console: &mut Console<'_>,
) -> Result<Vec<File>, Stop> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let files = suites::load(paths, "compare", Trust::Trusted, environment, &mut |text| console.err.complain(text))?;
    match files.iter().find_map(|file| if let File::Refused { why, .. } = file { Some(why) } else { None }) {
        Some(why) => Err(Stop(why.clone())),
        None => Ok(files),
    }
}

/// Reads one side; `suites` judge cassettes.
pub(in crate::command) fn read(path: &Path, suites: &[File], trust: Trust) -> Result<Named, FileError> {
    let side = if path.is_dir() { cassettes(path, suites, trust)? } else { file(path, trust)? };
    Ok(Named { name: input::shown(path), side })
}

fn file(path: &Path, trust: Trust) -> Result<Side, FileError> {
    let foreign = |why: &str| {
        let message = format!("is neither a saved report, nor output of `mcptest score`, nor a model baseline: {why}");
        file_error(Code::NotComparable, path, message, HINT)
    };
    let text = String::from_utf8(saved::bytes(path, trust)?)
        .map_err(|error| foreign(&format!("it is not text: byte {} is not UTF-8", error.utf8_error().valid_up_to())))?;
    let first = text.trim_start().lines().next().unwrap_or("");
    // `score` writes one object per line, recognized by its keys.
    let is_line = |line: &str| {
        serde_json::from_str::<Value>(line)
            .is_ok_and(|line| line.get("failures").is_some() && line.get("metrics").is_some())
    };
    if is_line(first) {
        return lines(path, &text);
    }
    if first.starts_with('{') && text.contains("\"mcptest_baseline\"") {
        return baseline(path, &text);
    }
    match report::read(&text) {
        Ok(events) => {
            let mut report = Report::default();
            for event in events {
                report.take(event);
            }
            Ok(Side::of_report(&report))
        }
        Err(report::ReportError::Foreign(why)) => Err(foreign(&why)),
        Err(error) => Err(file_error(Code::NotAReport, path, error.to_string(), error.hint())),
    }
}

/// Lines of `mcptest score`.
fn lines(path: &Path, text: &str) -> Result<Side, FileError> {
    let mut out = ScoreLines::default();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        out.add(line).map_err(|error| {
            file_error(
                Code::NotScoreOutput,
                path,
                format!("line {number}: {error}"),
                "write it again with `mcptest score`",
            )
        })?;
    }
    Ok(out.finish())
}

pub(in crate::command) fn baseline(path: &Path, text: &str) -> Result<Side, FileError> {
    #[derive(Deserialize)]
    struct Head {
        mcptest_baseline: Option<u64>,
    }
    let broken = |error: &serde_json::Error| {
        let message = format!("is not a model baseline: line {}, column {}: {error}", error.line(), error.column());
        file_error(Code::NotComparable, path, message, "restore the file, or capture it again")
    };
    let head: Head = serde_json::from_str(text).map_err(|error| broken(&error))?;
    if let Some(version) = head.mcptest_baseline.filter(|version| *version != u64::from(BASELINE)) {
        let message = format!("is a model baseline of version {version}, and this program reads version {BASELINE}");
        return Err(file_error(Code::NotComparable, path, message, "capture it again with this version of mcptest"));
    }
    let found: Baseline = serde_json::from_str(text).map_err(|error| broken(&error))?;
    Ok(Side { tests: found.tests, ..Side::default() })
}

/// The cassettes in and below a folder.
fn cassettes(path: &Path, suites: &[File], trust: Trust) -> Result<Side, FileError> {
    const CASSETTES: Wanted = Wanted {
        is_meant: |path| {
            path.extension().is_some_and(|ext| ext == "json")
                && path.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| stem.parse::<u64>().is_ok())
        },
        leaves_out_pipes: true,
        none: "no cassette in this folder or below it",
    };
    let mut side = Side::default();
    let mut skipped = Vec::new();
    let mut found: BTreeMap<(String, String, String), BTreeMap<u64, Cassette>> = BTreeMap::new();
    for file in input::files(path, &CASSETTES, trust, &mut |note| skipped.push(note.to_owned())) {
        let path = file?.path;
        let cassette = Cassette::open_as(&path, trust)
            .map_err(|error| file_error(error.code(), &path, error.why(), "record it again, or remove it"))?;
        // cassettes/SUITE/TEST/MODEL/RUN.json
        let stem = path
            .ancestors()
            .nth(3)
            .and_then(Path::file_name)
            .map_or(String::new(), |name| name.to_string_lossy().into_owned());
        let key = (stem, cassette.test.clone(), cassette.model.clone());
        let run = cassette.run;
        if run > MAX_RUNS {
            let message = format!("is run {run}, more than the limit of {MAX_RUNS}");
            return Err(file_error(Code::NotComparable, &path, message, "record it again, or remove it"));
        }
        if found.entry(key).or_default().insert(run, cassette).is_some() {
            let message = format!("run {run} of this test is in the folder twice");
            let hint = "name a folder with one set of recordings";
            return Err(file_error(Code::NotComparable, &path, message, hint));
        }
    }
    side.notes.extend(skipped.iter().map(|note| note.trim_start_matches("note: ").to_owned()));
    let mut unknown = 0;
    for ((stem, test, model), runs) in found {
        // The suite that the folder is named after; a suite may have been renamed.
        let named = |file: &&SuiteFile| file.path.file_stem().is_some_and(|name| *name == *stem);
        let known = |file: &SuiteFile| file.suite.agents.iter().position(|known| known.name == test);
        let files = || suites.iter().filter_map(File::suite);
        let file = files().filter(named).chain(files()).find(|file| known(file).is_some());
        let cell = file.and_then(|file| {
            let test = file.suite.agents.get(known(file)?)?;
            Some(Cell::new(&file.suite, test, &model))
        });
        if let Some((cell, file)) = cell.zip(file) {
            side.tests.extend(judged(&cell, &file.shown, runs).tests);
            continue;
        }
        unknown += usize::from(!suites.is_empty());
        let mut out = TestRuns::new(&stem, &test, &model);
        for (run, cassette) in runs {
            out.add(Some(run.to_string()), None, Some(&cassette.trace));
        }
        side.tests.push(out);
    }
    if suites.is_empty() {
        side.notes.push("cassettes have no verdicts; --suite judges them".to_owned());
    }
    if unknown > 0 {
        let tests = if unknown == 1 {
            "test is not in the suite, and has".to_owned()
        } else {
            "tests are not in the suite, and have".to_owned()
        };
        side.notes.push(format!("{unknown} recorded {tests} no verdicts"));
    }
    Ok(side)
}

/// The recorded runs of a cell, judged as a replay would judge them.
fn judged(cell: &Cell<'_>, file: &str, mut runs: BTreeMap<u64, Cassette>) -> Side {
    let last = runs.keys().next_back().copied().unwrap_or(0);
    let attempt = |cassette: Cassette| Attempt::Traced(Box::new(cassette.trace.into()));
    // A gap keeps its number, so that the runs after it keep theirs.
    let attempts = (1..=last).map(|run| runs.remove(&run).map_or(Attempt::Skipped, attempt));
    let rows = cell.rows(attempts.map(|attempt| (Some(Origin::Replayed), attempt)).collect());
    let mut report = Report::default();
    report.take(Event::SuiteStarted { file: file.to_owned() });
    for row in rows {
        report.take(Event::RowFinished(Box::new(row)));
    }
    Side::of_report(&report)
}
