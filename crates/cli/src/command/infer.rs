//! `mcptest infer`: gates that all good runs satisfy.

pub(super) mod file;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use mcptest_core::diag::{Code, Failure, Source};
use mcptest_core::import::Imported;
use mcptest_core::infer::{self, Options, Run};
use mcptest_core::score::{Outcome, RecordKey, RecordView};
use mcptest_core::suite::{self, Variables};
use mcptest_core::{Trace, json};
use mcptest_runner::temp_file::TempFile;
use serde_json::Value;

use self::file::Section;
use super::score::{Complaints, outcome, reading, threads};
use super::{Stop, parallel};
use crate::args::Infer;
use crate::console::Console;
use crate::corpus::{Job, LeftOut, RecordError, pipeline, source};
use crate::exit;
use crate::input::shown;
use crate::progress::ReadProgress;
use crate::report::text::many;

/// The result of a job.
struct Batch {
    source: Arc<str>,
    learned: Vec<Learned>,
    faults: Vec<RecordError>,
    note: Option<String>,
    left_out: usize,
}

struct Learned {
    /// Its task, as the record says it.
    task: Option<Value>,
    /// None if the run is not good.
    run: Option<Run>,
    /// Tools that change something.
    actions: Vec<String>,
    why_not: Option<WhyNot>,
}

/// Why a run is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WhyNot {
    Failed,
    NoOutcome,
    Incomplete,
}

/// The runs of one task.
struct Task {
    value: Option<Value>,
    good: Vec<Run>,
    runs: usize,
}

/// All tasks, in order of first appearance.
#[derive(Default)]
struct Tasks {
    places: BTreeMap<Option<String>, usize>,
    all: Vec<Task>,
    actions: BTreeSet<String>,
    why_not: Vec<WhyNot>,
}

impl Tasks {
    fn add(&mut self, learned: Learned) {
        let Learned { task, run, actions, why_not } = learned;
        let key = task.as_ref().map(json::canonical);
        let at = *self.places.entry(key).or_insert(self.all.len());
        if at == self.all.len() {
            self.all.push(Task { value: task, good: Vec::new(), runs: 0 });
        }
        self.all[at].runs += 1;
        self.all[at].good.extend(run);
        self.actions.extend(actions);
        self.why_not.extend(why_not);
    }
}

pub(super) fn run(typed: &Infer, console: &mut Console<'_>) -> Result<u8, Stop> {
    if let Some(path) = typed.out.as_deref().filter(|path| path.symlink_metadata().is_ok()) {
        return Err(exists(path).into());
    }
    let Console { out, err } = console;
    let (how, options) = reading(&typed.reading, typed.verbose)?;
    let outcome = outcome(typed.outcome.as_ref(), typed.outcome_pass.as_deref());
    let group_by = typed.group_by.as_ref().map(|key| &key.0);
    let mut complaints = Complaints::default();
    let sources = source::expand(&typed.inputs, &mut |note| err.complain(note));
    let progress = Arc::new(AtomicU64::new(0));
    let bar = ReadProgress::new(source::total(&sources), &progress);
    let work = |job: &Job| {
        let note = job.note();
        let mut batch =
            Batch { source: Arc::clone(&job.source), learned: Vec::new(), faults: Vec::new(), note, left_out: 0 };
        let left_out = job.read(&options, group_by, &mut |found| match found {
            Ok((one, group, _)) => batch.learned.push(learn(one, group, group_by, &job.source, outcome.as_ref())),
            Err(unread) => batch.faults.push(unread.fault),
        });
        batch.left_out = left_out;
        batch
    };
    let mut tasks = Tasks::default();
    let mut left_out = LeftOut::default();
    pipeline::run(&sources, &how, threads(&typed.reading), &progress, &work, &mut |batch: Batch| {
        bar.advance(batch.learned.len() as u64);
        left_out.add(&batch.source, batch.left_out, &batch.faults);
        if let Some(note) = batch.note {
            bar.pause(|| err.complain(format!("note: {note}")));
        }
        for fault in &batch.faults {
            bar.pause(|| complaints.fault(&batch.source, fault, err));
        }
        batch.learned.into_iter().for_each(|learned| tasks.add(learned));
        ControlFlow::Continue(())
    });
    bar.finish();
    complaints.finish(err);
    left_out.note().into_iter().for_each(|note| err.complain(note));
    let Tasks { mut all, actions, why_not, .. } = tasks;
    let has_tasks = all.iter().any(|task| task.value.is_some());
    if let Some(at) = all.iter().position(|task| has_tasks && task.value.is_none()) {
        let without = all.remove(at);
        err.complain(format!("note: {} without a group left out", many(without.runs, "trace")));
    }
    for (which, what) in [
        (WhyNot::Incomplete, "left out, because the recording is incomplete or the program failed"),
        (WhyNot::NoOutcome, "left out, because the record does not say how the run ended"),
    ] {
        let count = why_not.iter().filter(|why| **why == which).count();
        if count > 0 {
            err.complain(format!("note: {} {what}", many(count, "trace")));
        }
    }
    let key = group_by.cloned().unwrap_or(RecordKey::Group);
    let options = Options { lookups: typed.lookups };
    let mut sections = Vec::new();
    let infer = |task: Task| {
        let runs: Vec<&Run> = task.good.iter().collect();
        let inferred =
            if runs.is_empty() { infer::Inferred::default() } else { infer::infer(&runs, &actions, options) };
        let when = task.value.map(|value| (key.clone(), value));
        let last_resort = infer::last_resort(&runs).filter(|_| inferred.is_empty());
        (Section { when, good: task.good.len(), runs: task.runs, inferred }, last_resort)
    };
    let mut calls_unrecorded = 0;
    let mut last_resorts = Vec::new();
    parallel::in_order(all, threads(&typed.reading), &infer, &mut |(section, last_resort)| {
        calls_unrecorded += usize::from(section.inferred.left_out.iter().any(|(gate, _)| *gate == "trajectory"));
        last_resorts.push(last_resort);
        sections.push(section);
    });
    let good: usize = sections.iter().map(|section| section.good).sum();
    if sections.iter().all(|section| section.inferred.is_empty()) {
        return Err(nothing(good, typed.outcome.is_some(), calls_unrecorded > 0).into());
    }
    for (section, last_resort) in sections.iter_mut().zip(last_resorts).filter(|(section, _)| section.when.is_some()) {
        section.inferred.expect.extend(last_resort);
    }
    let lines: usize = sections.iter().map(|section| section.inferred.len()).sum();
    let text = file::text(&about(typed, &sections), &sections);
    check(&text)?;
    match &typed.out {
        Some(path) => write(path, &text)?,
        None => out.print(&text)?,
    }
    err.complain(summary(&sections, good, lines));
    Ok(if complaints.count() > 0 { exit::ERROR } else { exit::OK })
}

fn learn(
    one: Imported<'_>,
    group: Option<String>,
    group_by: Option<&RecordKey>,
    source: &str,
    outcome: Option<&Outcome>,
) -> Learned {
    let task = match group_by {
        // With its type: 7 and "7" are different values in a gates file.
        Some(key) => {
            let record = RecordView { fields: &one.fields, source, group: group.as_deref() };
            key.value(&record).ok().flatten()
        }
        None => group.map(Value::String),
    };
    let passed = outcome.map_or(Some(true), |outcome| outcome.passed(&one.fields));
    let run = Run::new(one.trace);
    let actions = run.actions().map(str::to_owned).collect::<BTreeSet<String>>().into_iter().collect();
    let why_not = match passed {
        Some(false) => Some(WhyNot::Failed),
        None => Some(WhyNot::NoOutcome),
        Some(true) if run.incomplete().is_some() => Some(WhyNot::Incomplete),
        Some(true) => None,
    };
    Learned { task, run: why_not.is_none().then_some(run), actions, why_not }
}

/// The comment at the top of the file.
fn about(typed: &Infer, sections: &[Section]) -> Vec<String> {
    let inputs: Vec<String> = typed.inputs.iter().map(|input| shown(input)).collect();
    let runs: usize = sections.iter().map(|section| section.runs).sum();
    let good: usize = sections.iter().map(|section| section.good).sum();
    let first = format!("Inferred from {good} good of {} in {}.", many(runs, "run"), inputs.join(", "));
    let then = "Each line ends with its evidence: the fewer runs, the weaker it is. Remove what is true by accident.";
    let has_gap = sections.iter().any(|section| section.good > 0 && section.inferred.is_empty());
    let except = if has_gap { ", except those of tasks with nothing to require" } else { "" };
    let then = format!("Every good run passes these gates{except}. {then}");
    vec![first, then]
}

/// The file is parsed like any other gates file before it is printed.
fn check(text: &str) -> Result<(), Failure> {
    let source = Source::new("gates.yml", text);
    let loaded = suite::load_gates(&source, &Variables { suite_dir: ".", outside: &|_| None });
    match (loaded.value, loaded.diagnostics.first()) {
        (Some(_), _) => Ok(()),
        (None, found) => {
            let why = found.map_or_else(String::new, |found| found.message.clone());
            let message = format!("the inferred gates cannot be written as a file: {why}");
            Err(Failure::error((), message).code(Code::NothingInferred).hint("group the traces with --group-by"))
        }
    }
}

fn nothing(good: usize, has_outcome: bool, lacks_calls: bool) -> Failure {
    let (message, hint) = match good {
        0 if has_outcome => ("no run passed", "compare --outcome and --outcome-pass with a record"),
        0 => ("there is no run to infer from", "name inputs with traces, as for `mcptest score`"),
        _ if lacks_calls => (
            "there is nothing to require: the calls of the good runs were not all recorded",
            "record the calls, or leave out runs without them; `mcptest convert` shows what a record has",
        ),
        _ => ("the good runs have nothing in common", "group the runs of the same task with --group-by"),
    };
    Failure::error((), message).code(Code::NothingInferred).hint(hint)
}

fn exists(path: &Path) -> Failure {
    let message = format!("{} already exists, and nothing is overwritten", shown(path));
    Failure::error((), message).code(Code::FileExists).hint("move it, or name another file")
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = TempFile::create(path).and_then(|mut temp_file| {
        temp_file.write_all(text.as_bytes())?;
        temp_file.place_new()
    });
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists(path),
        _ => {
            let message = format!("{} cannot be written: {error}", shown(path));
            Failure::error((), message).code(Code::FileNotWritten).hint("check the folder and its permissions")
        }
    })
}

fn summary(sections: &[Section], good: usize, lines: usize) -> String {
    let tasks = sections.iter().filter(|section| section.when.is_some()).count();
    let lines = many(lines, "line");
    let good = many(good, "good run");
    if tasks == 0 {
        return format!("{good}: {lines}");
    }
    let empty = sections.iter().filter(|section| section.inferred.is_empty()).count();
    let without = if empty == 0 { String::new() } else { format!("; {} without one", many(empty, "task")) };
    format!("{good} of {}: {lines}{without}", many(tasks, "task"))
}

/// The gates of one recorded run that other runs of it also pass.
pub(super) fn from_one(trace: &Trace, replayed: &Trace) -> infer::Inferred {
    let run = Run::new(trace.clone());
    let mut inferred = infer::infer(&[&run], &BTreeSet::new(), Options { lookups: true });
    inferred.keep_passing(&[replayed]);
    inferred
}
