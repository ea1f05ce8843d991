//! The two sides of a comparison, read from the named input: a report, cassettes, score lines or a baseline.

use std::collections::BTreeMap;
use std::path::Path;

use mcptest_core::compare::{ScoreLines, Side, TestRuns};
use mcptest_core::diag::Code;
use mcptest_core::report::{self, Cell, Report};
use mcptest_runner::cassette::Cassette;
use mcptest_runner::file::Trust;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::command::{Environment, Stop};
use crate::console::Console;
use crate::input::{self, FileError, Wanted, file_error, io_error};
use crate::suites::{self, File};

/// Largest file that is read.
const MAX_BYTES: u64 = 1 << 30;

/// Version of a baseline. Readers take this one only.
pub(in crate::command) const BASELINE: u32 = 1;

const HINT: &str = "name a saved report (`mcptest run --reporter json=FILE`), a folder of cassettes, the output of `mcptest score`, or a model baseline";

/// A side and what it was read from.
pub(in crate::command) struct Named {
    pub(in crate::command) name: String,
    pub(in crate::command) side: Side,
}

/// A baseline, as stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::command) struct Baseline {
    pub(in crate::command) mcptest_baseline: u32,
    pub(in crate::command) tests: Vec<TestRuns>,
}

/// Loads the suite that judges cassettes.
pub(in crate::command) fn suite(
    path: Option<&Path>,
    environment: Environment<'_>,
    console: &mut Console<'_>,
) -> Result<Option<File>, Stop> {
    let Some(path) = path else { return Ok(None) };
    let mut files = suites::load(&[path.to_owned()], "compare", Trust::Trusted, environment, &mut |text| {
        console.err.complain(text);
    })?;
    match files.pop() {
        Some(File::Refused { why, .. }) => Err(Stop(why)),
        found => Ok(found),
    }
}

/// Reads one side.
pub(in crate::command) fn read(path: &Path, suite: Option<&File>) -> Result<Named, FileError> {
    let side = if path.is_dir() { cassettes(path, suite)? } else { file(path)? };
    Ok(Named { name: input::shown(path), side })
}

fn file(path: &Path) -> Result<Side, FileError> {
    let bytes = input::bytes(path, MAX_BYTES, Trust::Trusted).map_err(|error| io_error(path, &error))?;
    let Some(bytes) = bytes else {
        let message = format!("has more than {MAX_BYTES} bytes, the limit");
        return Err(file_error(Code::FileTooLarge, path, message, "compare fewer runs at once"));
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        let message = format!("is not UTF-8: byte {}", error.utf8_error().valid_up_to());
        file_error(Code::NotUtf8, path, message, HINT)
    })?;
    let first = text.trim_start().lines().next().unwrap_or("");
    // One object per line is what `score` writes; its keys say so.
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
        Err(report::ReportError::Foreign(_)) => {
            let message = "is neither a saved report, nor output of `mcptest score`, nor a model baseline";
            Err(file_error(Code::NotComparable, path, message, HINT))
        }
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
fn cassettes(path: &Path, suite: Option<&File>) -> Result<Side, FileError> {
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
    for path in input::files(path, &CASSETTES, Trust::Trusted, &mut |note| skipped.push(note.to_owned())) {
        let path = path?;
        let cassette = Cassette::open(&path)
            .map_err(|error| file_error(error.code(), &path, error.why(), "record it again, or remove it"))?;
        // cassettes/SUITE/TEST/MODEL/RUN.json
        let stem = path
            .ancestors()
            .nth(3)
            .and_then(Path::file_name)
            .map_or(String::new(), |name| name.to_string_lossy().into_owned());
        let key = (stem, cassette.test.clone(), cassette.model.clone());
        found.entry(key).or_default().insert(cassette.run, cassette);
    }
    side.notes.extend(skipped.iter().map(|note| note.trim_start_matches("note: ").to_owned()));
    let suite = suite.and_then(File::suite);
    let mut unknown = 0;
    for ((stem, test, model), runs) in found {
        let cell = suite.and_then(|file| {
            let test = file.suite.agents.iter().find(|known| known.name == test)?;
            Some(Cell { test, faults: &file.suite.faults, model: &model })
        });
        unknown += usize::from(suite.is_some() && cell.is_none());
        let mut out = TestRuns::new(&stem, &test, &model);
        for (run, cassette) in runs {
            let passed = cell.as_ref().map(|cell| cell.passes(&cassette.trace));
            out.add(Some(run.to_string()), passed, Some(&cassette.trace));
        }
        side.tests.push(out);
    }
    if suite.is_none() {
        side.notes.push("cassettes have no verdicts; --suite judges them".to_owned());
    }
    if unknown > 0 {
        side.notes.push(format!("{unknown} recorded tests are not in the suite, and have no verdicts"));
    }
    Ok(side)
}
