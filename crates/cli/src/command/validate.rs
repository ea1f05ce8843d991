//! `mcptest validate`: reports all errors in all files without running anything.

use std::path::Path;

use mcptest_core::diag::{Code, Diagnostic, Failure, Severity, Source};
use mcptest_core::json::Layout;
use mcptest_core::suite::{self, Variables, yaml};
use mcptest_runner::executor;
use mcptest_runner::file::{self, Trust};
use mcptest_runner::provider::script;
use serde::Serialize;

use super::run_suites::trust;
use super::{Environment, Stop};
use crate::args::{Format, Validate};
use crate::console::Console;
use crate::exit;
use crate::input::{self, FileError, file_error};
use crate::kind::Kind;
use crate::report::text::many;
use crate::suites;

/// What became of one path.
enum Outcome {
    Checked { source: Source, diagnostics: Vec<Diagnostic> },
    Refused(FileError),
}

#[derive(Default)]
struct Counts {
    valid: usize,
    wrong: usize,
    refused: usize,
    errors: usize,
    warnings: usize,
}

pub(super) fn run(typed: &Validate, environment: Environment<'_>, console: &mut Console<'_>) -> Result<u8, Stop> {
    let files = suites::default_suites(&typed.files, "validate")?;
    let outcomes: Vec<Outcome> = input::expand(&files, trust(typed.untrusted), &mut |note| console.err.complain(note))
        .into_iter()
        .map(|path| match path.and_then(|path| check(&path, typed, environment)) {
            Ok(outcome) => outcome,
            Err(refusal) => Outcome::Refused(refusal),
        })
        .collect();
    let counts = count(&outcomes);
    for outcome in &outcomes {
        if let Outcome::Refused(refusal) = outcome {
            console.err.complain(refusal);
        }
    }
    let data = match typed.format {
        Format::Human => human(&outcomes, &counts),
        Format::Json => json(&outcomes, &counts),
    };
    let sound = counts.wrong == 0 && counts.refused == 0;
    console.out.print(&data)?;
    Ok(if sound { exit::OK } else { exit::ERROR })
}

fn check(path: &Path, typed: &Validate, environment: Environment<'_>) -> Result<Outcome, FileError> {
    let trust = trust(typed.untrusted);
    let source = input::read(path, trust)?;
    let folder = input::folder(path);
    let variables = Variables { suite_dir: &folder, outside: environment };
    let kind = if typed.gates { Kind::Gates } else { Kind::of(&source) };
    let mut diagnostics = match kind {
        Kind::Gates => suite::load_gates(&source, &variables).diagnostics,
        Kind::Suite => check_suite(path, &source, &variables, trust),
        Kind::Script => script::load(&source).diagnostics,
        Kind::Mock => mcptest_mock::load(&source).diagnostics,
        Kind::Cassette => {
            let hint = "`mcptest cassette list SUITE` shows which recordings of a suite still match";
            return Err(file_error(Code::NotASuite, path, "is a cassette, not a suite", hint));
        }
    };
    if typed.deny_warnings {
        for diagnostic in &mut diagnostics {
            diagnostic.severity = Severity::Error;
        }
    }
    Ok(Outcome::Checked { source, diagnostics })
}

/// A suite, and whether the scripts that it names can be used: without them it cannot run.
fn check_suite(path: &Path, source: &Source, variables: &Variables<'_>, trust: Trust) -> Vec<Diagnostic> {
    let loaded = match trust {
        Trust::Trusted => suite::load(source, variables),
        Trust::Untrusted => suite::load_untrusted(source, variables.suite_dir),
    };
    let mut diagnostics = loaded.diagnostics;
    let (Some(suite), Ok(root)) = (loaded.value, yaml::tree(source)) else { return diagnostics };
    for (name, model) in &suite.models {
        let Some(script) = &model.script else { continue };
        let Some(error) = unusable(path, script, trust) else { continue };
        let place = ["models", name, "script"].iter().try_fold(root, |node, key| node.get(key));
        let span = place.map_or(0..0, |node| node.span.clone());
        diagnostics.push(error.moved(span));
    }
    let nodes = root.get("agents").map_or(&[][..], yaml::Node::items);
    for (test, node) in suite.agents.iter().zip(nodes).filter(|(test, _)| !test.unread.is_empty()) {
        diagnostics.push(executor::unread(&test.unread).moved(node.place("/name", false)));
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.place.start);
    diagnostics
}

/// Why a script cannot be used.
fn unusable(suite: &Path, script: &str, trust: Trust) -> Option<Failure> {
    let path = suite.with_file_name(script);
    if trust == Trust::Untrusted && !file::is_below(Path::new(script)) {
        let message = format!("the script {}: it is outside the suite's folder and is not read", path.display());
        return Some(Failure::error((), message).code(Code::UntrustedSuite).hint("put it next to the suite"));
    }
    match input::read(&path, trust) {
        Err(error) => {
            let message = format!("the script {}: {}", error.place, error.message);
            let hint = "`script:` is a path relative to the suite's folder";
            Some(Failure { code: error.code, ..Failure::error((), message).hint(hint) })
        }
        Ok(source) if script::load(&source).value.is_none() => {
            let message = format!("the script {} has errors", source.name());
            let hint = format!("`mcptest validate {}` shows them", source.name());
            Some(Failure::error((), message).code(Code::ScriptUnusable).hint(hint))
        }
        Ok(_) => None,
    }
}

fn count(outcomes: &[Outcome]) -> Counts {
    let mut counts = Counts::default();
    for outcome in outcomes {
        match outcome {
            Outcome::Checked { diagnostics, .. } => {
                let errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
                counts.errors += errors;
                counts.warnings += diagnostics.len() - errors;
                *(if errors == 0 { &mut counts.valid } else { &mut counts.wrong }) += 1;
            }
            Outcome::Refused(_) => {
                counts.refused += 1;
                counts.errors += 1;
            }
        }
    }
    counts
}

fn human(outcomes: &[Outcome], counts: &Counts) -> String {
    let mut out = String::new();
    for outcome in outcomes {
        if let Outcome::Checked { source, diagnostics } = outcome {
            for diagnostic in diagnostics {
                out.push_str(&diagnostic.render(source));
                out.push('\n');
            }
        }
    }
    let codes = |severity| {
        outcomes.iter().find_map(move |outcome| match outcome {
            Outcome::Checked { diagnostics, .. } => {
                diagnostics.iter().filter(|found| found.severity == severity).find_map(|found| found.code)
            }
            Outcome::Refused(_) => None,
        })
    };
    if let Some(code) = codes(Severity::Error).or_else(|| codes(Severity::Warning)) {
        out.push_str(&format!("for more: mcptest explain {code}\n"));
    }
    out.push_str(&summary(counts));
    out.push('\n');
    out
}

/// Such as "3 files: 2 valid, 1 with 4 errors, 1 warning".
fn summary(counts: &Counts) -> String {
    let Counts { valid, wrong, refused, errors, warnings } = *counts;
    let mut parts = Vec::new();
    if valid > 0 {
        parts.push(format!("{valid} valid"));
    }
    if wrong > 0 {
        parts.push(format!("{wrong} with {}", many(errors - refused, "error")));
    }
    if warnings > 0 {
        parts.push(many(warnings, "warning"));
    }
    let mut line = match valid + wrong {
        0 => "no file checked".to_owned(),
        files => format!("{}: {}", many(files, "file"), parts.join(", ")),
    };
    if refused > 0 {
        line.push_str(&format!("; {} could not be checked", many(refused, "path")));
    }
    line
}

/// The output for tools. Keys may be added; existing keys keep their meaning while `version` is 1.
#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    files: Vec<FileReport<'a>>,
    errors: usize,
    warnings: usize,
}

#[derive(Serialize)]
struct FileReport<'a> {
    file: &'a str,
    ok: bool,
    diagnostics: Vec<Finding<'a>>,
}

/// Places count from 1, columns in characters, the end is the first character after; all null where the file could not
/// be read.
#[derive(Serialize)]
struct Finding<'a> {
    severity: &'static str,
    code: Option<Code>,
    file: &'a str,
    line: Option<usize>,
    column: Option<usize>,
    end_line: Option<usize>,
    end_column: Option<usize>,
    message: &'a str,
    hint: Option<&'a str>,
}

impl<'a> Finding<'a> {
    fn of(diagnostic: &'a Diagnostic, source: &'a Source) -> Self {
        let (start, end) = (source.place(diagnostic.place.start), source.place(diagnostic.place.end));
        Self {
            severity: diagnostic.severity.as_str(),
            code: diagnostic.code,
            file: source.name(),
            line: Some(start.0),
            column: Some(start.1),
            end_line: Some(end.0),
            end_column: Some(end.1),
            message: &diagnostic.message,
            hint: diagnostic.hint.as_deref(),
        }
    }

    fn refused(refusal: &'a FileError) -> Self {
        Self {
            severity: Severity::Error.as_str(),
            code: refusal.code,
            file: &refusal.place,
            line: None,
            column: None,
            end_line: None,
            end_column: None,
            message: &refusal.message,
            hint: refusal.hint.as_deref(),
        }
    }
}

fn json(outcomes: &[Outcome], counts: &Counts) -> String {
    let files = outcomes.iter().map(|outcome| match outcome {
        Outcome::Checked { source, diagnostics } => FileReport {
            file: source.name(),
            ok: diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error),
            diagnostics: diagnostics.iter().map(|diagnostic| Finding::of(diagnostic, source)).collect(),
        },
        Outcome::Refused(refusal) => {
            FileReport { file: &refusal.place, ok: false, diagnostics: vec![Finding::refused(refusal)] }
        }
    });
    let report = Report { version: 1, files: files.collect(), errors: counts.errors, warnings: counts.warnings };
    Layout::PRETTY.text(&report) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_counts_only_existing_kinds() {
        let line =
            |valid, wrong, refused, errors, warnings| summary(&Counts { valid, wrong, refused, errors, warnings });
        assert_eq!(line(1, 0, 0, 0, 0), "1 file: 1 valid");
        assert_eq!(line(2, 1, 0, 4, 1), "3 files: 2 valid, 1 with 4 errors, 1 warning");
        assert_eq!(line(0, 2, 1, 2, 2), "2 files: 2 with 1 error, 2 warnings; 1 path could not be checked");
        assert_eq!(line(0, 0, 2, 2, 0), "no file checked; 2 paths could not be checked");
    }
}
