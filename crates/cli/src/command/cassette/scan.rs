//! `mcptest cassette scan`: finds secrets in existing files. Reports where they are, never their values.

mod search;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcptest_core::diag::{Failure, printable};
use mcptest_core::json::Layout;
use mcptest_core::redact::Redactor;
use mcptest_core::suite::Variables;
use mcptest_runner::file::Trust;
use mcptest_runner::secrets::{self, Secrets};
use serde::Serialize;

use self::search::{Finding, search};
use super::super::{Environment, Stop};
use super::{HINT_FOLDER, cassette_error};
use crate::args::{CassetteScan, Format};
use crate::console::Console;
use crate::exit;
use crate::input::{self, FileError, Wanted, io_error};
use crate::report::text::{many, one_line};
use crate::suites::{self, File};

const WRITTEN: Wanted = Wanted {
    is_meant: |path| {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        ending.is_some_and(|ending| ["json", "jsonl", "ndjson", "xml", "html", "md"].contains(&&*ending))
    },
    leaves_out_pipes: false,
    none: "no recording and no report in this folder or below it",
};

/// What to search, and for what.
#[derive(Default)]
struct Search {
    files: BTreeSet<PathBuf>,
    values: Vec<(String, String)>,
    /// Variables that suites name and that are not set.
    unset: BTreeSet<String>,
    complaints: String,
    refused: bool,
}

pub(super) fn run(typed: &CassetteScan, environment: Environment<'_>, console: &mut Console<'_>) -> Result<u8, Stop> {
    let mut search = Search::default();
    search.gather(&typed.files, environment)?;
    for name in &search.unset {
        let name = printable(name);
        search.complaints.push_str(&format!("note: {name} is not set, so its value is not searched for\n"));
    }
    search.values.extend(secrets::usual(&environment));
    let redactor = Redactor::new(std::mem::take(&mut search.values));
    let files: Vec<PathBuf> = std::mem::take(&mut search.files).into_iter().collect();
    let mut found: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
    for (path, result) in files.iter().zip(search_all(&files, &redactor)) {
        match result {
            Ok(findings) if findings.is_empty() => {}
            Ok(findings) => drop(found.insert(input::shown(path), findings)),
            Err(error) => search.refuse(&io_error(path, &error)),
        }
    }
    let data = match typed.format {
        Format::Human => human(&found, files.len()),
        Format::Json => json(&found, files.len(), &search.unset),
    };
    let code = match (search.refused, found.is_empty()) {
        (true, _) => exit::ERROR,
        (false, false) => exit::FAILED,
        (false, true) => exit::OK,
    };
    console.err.complain(search.complaints);
    console.out.print(&data)?;
    Ok(code)
}

impl Search {
    /// Collects files and secrets. `Err` if there are no files.
    fn gather(&mut self, named: &[PathBuf], environment: Environment<'_>) -> Result<(), Failure> {
        if named.is_empty() {
            for file in suites::load(&[], "cassette scan", Trust::Trusted, environment, &mut |_| {})? {
                self.take(&file, environment);
            }
            return Ok(());
        }
        for path in named {
            let is_suite = path.extension().is_some_and(|ending| ending == "yml" || ending == "yaml");
            if path.is_dir() {
                self.folder(path, environment);
            } else if is_suite {
                for file in
                    suites::load(std::slice::from_ref(path), "cassette scan", Trust::Trusted, environment, &mut |_| {})?
                {
                    self.take(&file, environment);
                }
            } else {
                self.files.insert(path.clone());
            }
        }
        Ok(())
    }

    /// Everything in a folder. Its suites say which variables matter.
    fn folder(&mut self, path: &Path, environment: Environment<'_>) {
        let has_yaml = input::expand(&[path.to_owned()], Trust::Trusted, &mut |_| {}).iter().any(Result::is_ok);
        if has_yaml
            && let Ok(files) =
                suites::load(&[path.to_owned()], "cassette scan", Trust::Trusted, environment, &mut |_| {})
        {
            for file in files.iter().filter(|file| file.suite().is_some() || is_broken_suite(file, path)) {
                self.take(file, environment);
            }
        }
        let note = &mut |note: &str| self.complaints.push_str(&format!("{note}\n"));
        for file in input::files(path, &WRITTEN, Trust::Trusted, note) {
            match file {
                Ok(file) => drop(self.files.insert(file.path)),
                // Suites without recordings are clean.
                Err(_) if has_yaml => {}
                Err(refusal) => self.refuse(&refusal),
            }
        }
    }

    /// Adds the cassettes of a suite, and the variables that it names.
    fn take(&mut self, file: &File, environment: Environment<'_>) {
        let file = match file {
            File::Suite(file) => file,
            File::Refused { why, .. } => {
                self.complaints.push_str(why);
                self.refused = true;
                return;
            }
        };
        let folder = input::folder(&file.path);
        let Secrets { values, unset } =
            secrets::known(&file.suite, &Variables { suite_dir: &folder, outside: &environment });
        self.values.extend(values);
        self.unset.extend(unset);
        match file.cassettes().files() {
            Ok(files) => self.files.extend(files),
            Err(error) => {
                self.complaints.push_str(&format!("{}\n", cassette_error(&error, HINT_FOLDER)));
                self.refused = true;
            }
        }
    }

    fn refuse(&mut self, refusal: &FileError) {
        self.complaints.push_str(&format!("{refusal}\n"));
        self.refused = true;
    }
}

/// A folder without a suite is refused under its own name, which is not an error here.
fn is_broken_suite(file: &File, folder: &Path) -> bool {
    matches!(file, File::Refused { name, .. } if *name != input::shown(folder))
}

/// Searches files in parallel; results are in the order of the files.
fn search_all(files: &[PathBuf], redactor: &Redactor) -> Vec<std::io::Result<Vec<Finding>>> {
    let next = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<usize, std::io::Result<Vec<Finding>>>> = Mutex::default();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(8);
    let search = || {
        while let Some((at, path)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            files.get(at).map(|path| (at, path))
        } {
            let found = search(path, redactor);
            results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(at, found);
        }
    };
    std::thread::scope(|scope| {
        // This thread searches too, so other threads are optional.
        for _ in 1..threads.min(files.len()) {
            if std::thread::Builder::new().spawn_scoped(scope, search).is_err() {
                break;
            }
        }
        search();
    });
    results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).into_values().collect()
}

/// Where a finding is, in its file.
fn place(finding: &Finding) -> String {
    match (finding.line, &finding.pointer) {
        (None, None) => String::new(),
        (None, Some(pointer)) if pointer.is_empty() => "the value itself".to_owned(),
        (None, Some(pointer)) => pointer.clone(),
        (Some(line), None) => format!("line {line}"),
        (Some(line), Some(pointer)) => format!("line {line} {pointer}"),
    }
}

fn human(found: &BTreeMap<String, Vec<Finding>>, files: usize) -> String {
    let mut out = String::new();
    for (file, findings) in found {
        out.push_str(&format!("{}\n", printable(file)));
        let mut seen = BTreeSet::new();
        for finding in findings.iter().filter(|finding| seen.insert(*finding)) {
            out.push_str(&format!("  {}: {}\n", one_line(&place(finding)), one_line(&finding.placeholder)));
        }
    }
    let searched = many(files, "file");
    if found.is_empty() {
        out.push_str(&format!("no secrets in {searched}\n"));
        return out;
    }
    let secrets: BTreeSet<&str> = found.values().flatten().map(|finding| finding.placeholder.as_str()).collect();
    out.push_str(&format!("\n{} in {} of {searched}\n", many(secrets.len(), "secret"), found.len()));
    out.push_str("hint: revoke them first, since anyone with the files has them; then re-record, or write the\n");
    out.push_str("      placeholders into the files\n");
    out
}

/// The output for tools. Keys may be added; existing keys keep their meaning while `version` is 1.
#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    files: usize,
    findings: Vec<FindingReport<'a>>,
    /// Variables that are not set, so their values were not searched for.
    unset: &'a BTreeSet<String>,
}

#[derive(Serialize)]
struct FindingReport<'a> {
    file: &'a str,
    line: Option<usize>,
    pointer: Option<&'a str>,
    kind: &'a str,
    placeholder: &'a str,
}

fn json(found: &BTreeMap<String, Vec<Finding>>, files: usize, unset: &BTreeSet<String>) -> String {
    let mut findings = Vec::new();
    for (file, all) in found {
        let mut seen = BTreeSet::new();
        findings.extend(all.iter().filter(|finding| seen.insert(*finding)).map(|finding| FindingReport {
            file,
            line: finding.line,
            pointer: finding.pointer.as_deref(),
            kind: finding.kind(),
            placeholder: &finding.placeholder,
        }));
    }
    let report = Report { version: 1, files, findings, unset };
    Layout::PRETTY.text(&report) + "\n"
}
