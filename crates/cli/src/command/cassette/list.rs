//! `mcptest cassette list`: every cassette of a suite, and whether it still matches.

use mcptest_core::diag::printable;
use mcptest_core::json::Layout;
use mcptest_runner::cassette::{Entry, OLDEST, State, inventory};
use serde::Serialize;

use super::super::{Environment, Stop};
use super::{HINT_FOLDER, cassette_error};
use crate::args::{CassetteList, Format};
use crate::console::Console;
use crate::exit;
use crate::report::text::{many, one_line};
use crate::suites::File;

/// One suite: its recordings, or an error.
struct Listed {
    file: String,
    found: Result<Vec<Entry>, String>,
}

/// The number of entries in each state; runs without a recording are counted individually.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
struct Counts {
    ok: u64,
    edited: u64,
    old: u64,
    stale: u64,
    broken: u64,
    unused: u64,
    unknown: u64,
    missing: u64,
}

pub(super) fn run(typed: &CassetteList, environment: Environment<'_>, console: &mut Console<'_>) -> Result<u8, Stop> {
    let files = super::load(&typed.files, "cassette list", environment, console)?;
    let mut listed = Vec::new();
    for file in files {
        listed.push(match file {
            File::Refused { name, why } => Listed { file: name, found: Err(why) },
            File::Suite(file) => {
                let found = inventory(&file).map_err(|error| {
                    let error = cassette_error(&error, HINT_FOLDER);
                    console.err.complain(&error);
                    error.to_string()
                });
                Listed { file: file.shown, found }
            }
        });
    }
    for suite in &listed {
        console.err.complain(script_errors(suite));
    }
    let counts = count(&listed);
    let data = match typed.format {
        Format::Human => human(&listed, &counts),
        Format::Json => json(&listed, counts),
    };
    let unusable = listed.iter().any(|suite| suite.found.is_err());
    let code = match counts {
        _ if unusable => exit::ERROR,
        Counts { broken: 0, unknown: 0, stale: 0, missing: 0, .. } => exit::OK,
        Counts { broken: 0, unknown: 0, .. } => exit::FAILED,
        _ => exit::ERROR,
    };
    console.out.print(&data)?;
    Ok(code)
}

fn entries(listed: &[Listed]) -> impl Iterator<Item = (&str, &Entry)> {
    listed.iter().flat_map(|suite| suite.found.iter().flatten().map(|entry| (&*suite.file, entry)))
}

fn count(listed: &[Listed]) -> Counts {
    let mut counts = Counts::default();
    for (_, entry) in entries(listed) {
        let of = match entry.state {
            State::Ok => &mut counts.ok,
            State::Edited => &mut counts.edited,
            State::Old => &mut counts.old,
            State::Stale(_) => &mut counts.stale,
            State::Broken(_) => &mut counts.broken,
            State::Unused(_) => &mut counts.unused,
            State::Unknown(_) => &mut counts.unknown,
            State::Missing => &mut counts.missing,
        };
        *of = of.saturating_add((entry.last_run - entry.run).saturating_add(1));
    }
    counts
}

/// The errors of the scripts of a suite, each once.
fn script_errors(suite: &Listed) -> String {
    let mut errors = Vec::new();
    for entry in suite.found.iter().flatten() {
        if let State::Unknown(error) = &entry.state
            && !errors.contains(&error)
        {
            errors.push(error);
        }
    }
    let lines: Vec<String> =
        errors.into_iter().map(|error| error.clone().moved(suite.file.clone()).to_string()).collect();
    lines.join("\n")
}

/// Why a cassette is not ok.
fn why(entry: &Entry) -> Option<String> {
    match &entry.state {
        State::Ok => None,
        State::Edited => Some("it was edited, and the edit was accepted".to_owned()),
        State::Old => Some(format!("format version {OLDEST} does not detect edits")),
        State::Stale(why) | State::Broken(why) | State::Unused(why) => Some(why.clone()),
        State::Unknown(_) => Some("its model's script has errors".to_owned()),
        State::Missing => {
            let (test, model) = (entry.test.as_deref().unwrap_or("?"), entry.model.as_deref().unwrap_or("?"));
            let runs = match entry.last_run {
                last if last == entry.run => format!("run {last} of `{test}` on `{model}` is"),
                last => format!("runs {} to {last} of `{test}` on `{model}` are", entry.run),
            };
            Some(format!("{runs} not recorded"))
        }
    }
}

fn human(listed: &[Listed], counts: &Counts) -> String {
    let mut out = String::new();
    for suite in listed {
        let Ok(found) = &suite.found else { continue };
        out.push_str(&format!("{}\n", printable(&suite.file)));
        if found.is_empty() {
            out.push_str("  no cassettes, and none needed\n");
        }
        for entry in found {
            let path = entry.path.to_string_lossy();
            let why = why(entry).map_or_else(String::new, |why| format!(": {}", one_line(&why)));
            out.push_str(&format!("  {:<8} {}{why}\n", entry.state.as_str(), printable(&path)));
        }
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(&format!("{}\n", summary(counts)));
    let suites = |is: fn(&State) -> bool| {
        let mut names: Vec<String> =
            entries(listed).filter(|(_, entry)| is(&entry.state)).map(|(file, _)| one_line(file)).collect();
        names.dedup();
        names.join(" ")
    };
    let record = suites(|state| matches!(state, State::Stale(_) | State::Broken(_) | State::Missing));
    if !record.is_empty() {
        out.push_str(&format!("hint: to re-record what is stale, broken or missing: mcptest run --record {record}\n"));
    }
    let prune = suites(|state| matches!(state, State::Unused(_)));
    if !prune.is_empty() {
        out.push_str(&format!("hint: to remove what is unused: mcptest cassette prune {prune}\n"));
    }
    out
}

/// Such as "4 cassettes: 2 ok, 1 stale, 1 unused; 3 missing".
fn summary(counts: &Counts) -> String {
    let Counts { ok, edited, old, stale, broken, unused, unknown, missing } = *counts;
    let usable = [(ok, "ok"), (edited, "edited"), (old, "old")];
    let others = [(stale, "stale"), (broken, "broken"), (unused, "unused"), (unknown, "unknown")];
    let states = [&usable[..], &others].concat();
    let there: u64 = states.iter().map(|(count, _)| count).sum();
    let states: Vec<String> =
        states.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let mut line = match there {
        0 => "no cassettes".to_owned(),
        _ => {
            let there = many(usize::try_from(there).unwrap_or(usize::MAX), "cassette");
            format!("{there}: {}", states.join(", "))
        }
    };
    if missing > 0 {
        line.push_str(&format!("; {missing} missing"));
    }
    line
}

/// The output for tools. Keys may be added; existing keys keep their meaning while `version` is 1.
#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    suites: Vec<SuiteReport<'a>>,
    counts: Counts,
}

#[derive(Serialize)]
struct SuiteReport<'a> {
    file: &'a str,
    /// Why the state of the suite's cassettes is unknown.
    refused: Option<&'a str>,
    cassettes: Vec<EntryReport<'a>>,
}

/// `run` and `last_run` differ only where several runs in a row are missing; the path is the first run's.
#[derive(Serialize)]
struct EntryReport<'a> {
    state: &'static str,
    path: String,
    test: Option<&'a str>,
    model: Option<&'a str>,
    run: u64,
    last_run: u64,
    why: Option<String>,
}

impl<'a> EntryReport<'a> {
    fn of(entry: &'a Entry) -> Self {
        Self {
            state: entry.state.as_str(),
            path: entry.path.to_string_lossy().into_owned(),
            test: entry.test.as_deref(),
            model: entry.model.as_deref(),
            run: entry.run,
            last_run: entry.last_run,
            why: why(entry),
        }
    }
}

impl<'a> SuiteReport<'a> {
    fn of(suite: &'a Listed) -> Self {
        Self {
            file: &suite.file,
            refused: suite.found.as_ref().err().map(|why| why.trim_end()),
            cassettes: suite.found.iter().flatten().map(EntryReport::of).collect(),
        }
    }
}

fn json(listed: &[Listed], counts: Counts) -> String {
    let report = Report { version: 1, suites: listed.iter().map(SuiteReport::of).collect(), counts };
    Layout::PRETTY.text(&report) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_counts_only_existing_kinds() {
        let zero = Counts::default();
        assert_eq!(summary(&zero), "no cassettes");
        assert_eq!(summary(&Counts { missing: 3, ..zero }), "no cassettes; 3 missing");
        assert_eq!(summary(&Counts { ok: 1, ..zero }), "1 cassette: 1 ok");
        let all = Counts { ok: 1, edited: 7, old: 8, stale: 2, broken: 3, unused: 4, unknown: 5, missing: 6 };
        assert_eq!(
            summary(&all),
            "30 cassettes: 1 ok, 7 edited, 8 old, 2 stale, 3 broken, 4 unused, 5 unknown; 6 missing"
        );
    }
}
