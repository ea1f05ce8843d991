//! `mcptest model-baseline`: named captures of what models do, compared across releases.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use mcptest_core::diag::{Code, Failure, printable};
use mcptest_core::json::Layout;
use mcptest_runner::file::Trust;

use super::compare::sides::{self, BASELINE, Baseline};
use super::{Environment, Stop, compare};
use crate::args::{BaselineCapture, BaselineDiff, ModelBaseline, ModelBaselineCommand};
use crate::console::Console;
use crate::exit;
use crate::input::{self, file_error, io_error};
use crate::report::Named;
use crate::report::text::many;

pub(super) fn run(typed: &ModelBaseline, environment: Environment<'_>, console: &mut Console<'_>) -> Result<u8, Stop> {
    match &typed.command {
        ModelBaselineCommand::Capture(capture) => self::capture(capture, &typed.dir, environment, console),
        ModelBaselineCommand::Diff(diff) => self::diff(diff, &typed.dir, environment, console),
        ModelBaselineCommand::List(_) => list(&typed.dir, console),
    }
}

fn capture(
    typed: &BaselineCapture,
    dir: &Path,
    environment: Environment<'_>,
    console: &mut Console<'_>,
) -> Result<u8, Stop> {
    let is_sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if typed.name.is_empty() || typed.name.starts_with('.') || !typed.name.chars().all(is_sound) {
        let message = format!("`{}` cannot be the name of a baseline", printable(&typed.name));
        let hint = "use letters, digits, `.`, `_` and `-`, as in `2026-10`";
        return Err(Failure::error((), message).code(Code::BadArgument).hint(hint).into());
    }
    let suites = sides::suites(&typed.suite, environment, console)?;
    let Named { side, name } = sides::read(&typed.runs, &suites, Trust::Trusted)?;
    for note in &side.notes {
        console.err.complain(format!("note: {note}"));
    }
    if side.tests.is_empty() {
        let message = format!("{} has no tests", printable(&name));
        return Err(Failure::error((), message)
            .code(Code::NothingToCompare)
            .hint("capture runs of at least one test")
            .into());
    }
    let path = dir.join(format!("{}.json", typed.name));
    if path.exists() && !typed.force {
        let hint = "choose another name, or replace it with --force";
        return Err(file_error(Code::FileExists, &path, "this baseline exists", hint).into());
    }
    let mut tests = side.tests;
    // The order of the source says nothing, and a sorted file changes only where runs do.
    tests.sort_by(|a, b| (&a.suite, &a.test, &a.model).cmp(&(&b.suite, &b.test, &b.model)));
    let (count, runs) = (tests.len(), tests.iter().map(|test| test.runs.len()).sum());
    let text = Layout::PRETTY.text(&Baseline { mcptest_baseline: BASELINE, tests }) + "\n";
    fs::create_dir_all(dir).map_err(|error| io_error(dir, &error))?;
    if let Some(failure) = crate::report::to_file(&path, Trust::Trusted, |out| out.write_all(text.as_bytes())) {
        return Err(failure.into());
    }
    console.out.print(&format!("{}: {}, {}\n", input::shown(&path), many(count, "test"), many(runs, "run")))?;
    Ok(exit::OK)
}

fn diff(typed: &BaselineDiff, dir: &Path, environment: Environment<'_>, console: &mut Console<'_>) -> Result<u8, Stop> {
    let suites = sides::suites(&typed.comparing.suite, environment, console)?;
    let read = |named: &Path| {
        let stored = dir.join(format!("{}.json", named.display()));
        let path = if named.exists() || !stored.exists() { named } else { &stored };
        sides::read(path, &suites, Trust::Trusted)
    };
    let missing = |named: &Path| -> Option<Stop> {
        let stored = dir.join(format!("{}.json", named.display()));
        if named.exists() || stored.exists() {
            return None;
        }
        let message = format!("there is no baseline `{}` in {}", printable(&input::shown(named)), input::shown(dir));
        let hint = "`mcptest model-baseline list` lists them";
        Some(Failure::error((), message).code(Code::NoSuchFile).hint(hint).into())
    };
    if let Some(stop) = [&typed.old, &typed.new].into_iter().find_map(|named| missing(named)) {
        return Err(stop);
    }
    let (old, new) = (read(&typed.old)?, read(&typed.new)?);
    compare::print(&old, &new, &typed.comparing, true, console)
}

fn list(dir: &Path, console: &mut Console<'_>) -> Result<u8, Stop> {
    let mut paths: Vec<PathBuf> = match fs::read_dir(dir) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(io_error(dir, &error).into()),
    };
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "json"));
    paths.sort();
    if paths.is_empty() {
        console.err.complain(format!(
            "note: no baselines in {}; `mcptest model-baseline capture` writes one",
            input::shown(dir)
        ));
    }
    let (mut text, mut code) = (String::new(), exit::OK);
    for path in paths {
        match sides::read(&path, &[], Trust::Trusted) {
            Ok(Named { side, .. }) => {
                let models: BTreeSet<&str> =
                    side.tests.iter().map(|test| &*test.model).filter(|model| !model.is_empty()).collect();
                let runs = side.tests.iter().map(|test| test.runs.len()).sum();
                let name = path.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
                let models =
                    models.into_iter().map(|model| printable(model).into_owned()).collect::<Vec<_>>().join(", ");
                let on = if models.is_empty() { String::new() } else { format!(" on {models}") };
                text.push_str(&format!(
                    "{}: {}, {}{on}\n",
                    printable(&name),
                    many(side.tests.len(), "test"),
                    many(runs, "run")
                ));
            }
            Err(error) => {
                console.err.complain(error);
                code = exit::ERROR;
            }
        }
    }
    console.out.print(&text)?;
    Ok(code)
}
