//! Mutants of traces that other programs recorded.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use mcptest_core::Assertion;
use mcptest_core::diag::{Code, Failure};
use mcptest_core::eval::Verdict;
use mcptest_core::event::Event;
use mcptest_core::import::{ImportError, Imported};
use mcptest_core::mutate::{self, NotPassing, Options, Run, Subject};
use mcptest_core::report::{Row, RowVerdict};
use mcptest_core::score::{RecordView, Scorer};
use mcptest_core::suite::{GateFile, Gates};

use super::findings::{Findings, Judged};
use super::tally;
use crate::args::{Mutate, MutateOutput};
use crate::command::score::{Complaints, load_gates, reading, threads};
use crate::command::{Environment, Stop, parallel};
use crate::console::Console;
use crate::corpus::{self, Job, LeftOut, RecordError, pipeline, source};
use crate::progress::ReadProgress;

/// The result of a job.
struct Batch {
    source: Arc<str>,
    /// `None` for a trace that was not selected. It counts among the traces of its source.
    found: Vec<Option<Found>>,
    faults: Vec<RecordError>,
    note: Option<String>,
    left_out: usize,
}

struct Found {
    group: Option<String>,
    run: Run,
    checks: Arc<Checks>,
}

/// Traces per thread that are judged before their mutants are printed. A trace has hundreds of mutants, and a batch of the input
/// hundreds of traces, so the mutants of a whole batch would take gigabytes.
const AT_ONCE: usize = 4;

/// Groups in order of first appearance. A run without a group is its own group.
#[derive(Default)]
struct Groups {
    all: Vec<RunGroup>,
    places: BTreeMap<String, usize>,
}

struct RunGroup {
    name: String,
    runs: Vec<Run>,
    /// Whether it is one, and not a run that names none.
    is_group: bool,
    /// The checks of its first run.
    checks: Arc<Checks>,
    /// Whether its runs belong to different tasks.
    is_mixed: bool,
}

impl Groups {
    fn add(&mut self, group: Option<String>, run: Run, checks: Arc<Checks>) {
        let Some(group) = group else {
            let name = run.name.clone();
            self.all.push(RunGroup { name, runs: vec![run], is_group: false, checks, is_mixed: false });
            return;
        };
        let at = *self.places.entry(group.clone()).or_insert(self.all.len());
        match self.all.get_mut(at) {
            Some(known) => {
                known.is_mixed |= known.checks.tasks != checks.tasks;
                known.runs.push(run);
            }
            None => self.all.push(RunGroup { name: group, runs: vec![run], is_group: true, checks, is_mixed: false }),
        }
    }
}

/// The checks of some traces.
struct Checks {
    expect: Vec<Assertion>,
    gates: Gates,
    /// Places of the tasks that they come from.
    tasks: Vec<u32>,
}

#[expect(clippy::too_many_lines, reason = "one pass over the input: what a thread does and what is done with it")]
pub(super) fn mutate(
    typed: &Mutate,
    path: &Path,
    options: &Options,
    environment: Environment<'_>,
    findings: &mut Findings,
    console: &mut Console<'_>,
) -> Result<(), Stop> {
    let (file, _) = load_gates(path, environment, console)?;
    let Console { out, err } = console;
    let judges_groups = file.judges_groups();
    let scorer = scorer(file, path)?;
    // Without tasks the checks of all traces are the same.
    let shared = match scorer.tasks() {
        [] => checks_for(&scorer, &RecordView { fields: "{}", source: "", group: None }).ok().map(Arc::new),
        _ => None,
    };
    findings.word = if judges_groups { "group" } else { "trace" };
    let wants_rows = findings.wants_rows();
    let (how, import) = reading(&typed.reading, typed.verbose && findings.output != MutateOutput::Pretty)?;
    let mut complaints = Complaints::default();
    let sources = source::expand(&typed.files, &mut |note| err.complain(note));
    let progress = Arc::new(AtomicU64::new(0));
    let bar = ReadProgress::new(source::total(&sources), &progress);
    let work = |job: &Job| {
        let mut batch = Batch {
            source: Arc::clone(&job.source),
            found: Vec::new(),
            faults: Vec::new(),
            note: job.note(),
            left_out: 0,
        };
        let checks_of = |one: &Imported<'_>, group: Option<&str>| match &shared {
            Some(shared) => Ok(Arc::clone(shared)),
            None => {
                let record = RecordView { fields: &one.fields, source: &job.source, group };
                checks_for(&scorer, &record).map(Arc::new)
            }
        };
        let group_by = typed.group_by.as_ref().map(|key| &key.0);
        let left_out = job.read(&import, group_by, &mut |found| match found {
            Ok((one, group, offset)) => {
                let checks = match checks_of(&one, group.as_deref()) {
                    Ok(checks) => checks,
                    Err(error) => return batch.faults.push(corpus::in_source(error, offset)),
                };
                let name = one.id.unwrap_or_default();
                let shown = if name.is_empty() { &*batch.source } else { name.as_str() };
                if !typed.filter.is_empty() && !typed.filter.iter().any(|filter| filter.takes(shown)) {
                    batch.found.push(None);
                    return;
                }
                let run = Run { name, trace: one.trace };
                batch.found.push(Some(Found { group, run, checks }));
            }
            Err(unread) => batch.faults.push(unread.fault),
        });
        batch.left_out = left_out;
        batch
    };
    let judge_trace = |(at, run, checks): (usize, Run, Arc<Checks>)| {
        let row = wants_rows.then(|| run.trace.clone());
        let judged = checks.judged(String::new(), vec![run], false, options);
        let row = row.map(|trace| row_of(&judged, trace));
        (at, judged, row)
    };
    let threads = threads(&typed.reading);
    let mut groups = Groups::default();
    let mut left_out = LeftOut::default();
    let (mut last, mut index): (Option<Arc<str>>, usize) = (None, 0);
    pipeline::run(&sources, &how, threads, &progress, &work, &mut |batch: Batch| {
        bar.advance(batch.found.len() as u64);
        left_out.add(&batch.source, batch.left_out, &batch.faults);
        if let Some(note) = batch.note {
            bar.pause(|| err.complain(format!("note: {note}")));
        }
        for fault in &batch.faults {
            findings.tally.errors += 1;
            bar.pause(|| complaints.fault(&batch.source, fault, err));
        }
        if last.as_ref().is_none_or(|last| *last != batch.source) {
            (last, index) = (Some(Arc::clone(&batch.source)), 0);
            findings.event(Event::SuiteStarted { file: batch.source.to_string() });
        }
        let unnamed = |at: usize| format!("{} [{at}]", batch.source);
        let mut traces = Vec::new();
        for found in batch.found {
            match found {
                Some(Found { group, mut run, checks }) if judges_groups => {
                    if run.name.is_empty() {
                        run.name = unnamed(index);
                    }
                    groups.add(group, run, checks);
                }
                Some(Found { run, checks, .. }) => traces.push((index, run, checks)),
                None => {}
            }
            index += 1;
        }
        while !traces.is_empty() {
            let rest = traces.split_off(traces.len().min(AT_ONCE * threads));
            let now = std::mem::replace(&mut traces, rest);
            parallel::in_order(now, threads, &judge_trace, &mut |(at, mut judged, row)| {
                judged.source = batch.source.to_string();
                if let Some(mut row) = row {
                    if row.name.is_empty() {
                        row.name = format!("trace {at}");
                        row.test.clone_from(&row.name);
                    }
                    findings.event(Event::RowFinished(row));
                }
                for name in judged.runs.iter_mut().filter(|name| name.is_empty()) {
                    *name = unnamed(at);
                }
                bar.pause(|| findings.judged(judged, out, err));
            });
        }
        if findings.broken_out.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish();
    let judge = |group: RunGroup| {
        let RunGroup { name, runs, is_group, checks, is_mixed } = group;
        if is_mixed { checks.mixed(name, &runs) } else { checks.judged(name, runs, is_group, options) }
    };
    parallel::in_order(groups.all, threads, &judge, &mut |judged| {
        findings.judged(judged, out, err);
    });
    complaints.finish(err);
    left_out.note().into_iter().for_each(|note| err.complain(note));
    findings.finish_complaints(err);
    Ok(())
}

/// What the traces are judged by.
fn scorer(file: GateFile, path: &Path) -> Result<Scorer, Failure<String>> {
    Scorer::new(Some(file), None).map_err(|error| {
        let error = Failure::error(path.display().to_string(), error.to_string());
        error.code(Code::ReliabilityWithoutChecks).hint("add a gate for single runs")
    })
}

fn checks_for(scorer: &Scorer, record: &RecordView<'_>) -> Result<Checks, ImportError> {
    let (expect, gates, tasks) = scorer.checks_for(record)?;
    Ok(Checks { expect, gates, tasks })
}

impl Checks {
    /// A group whose runs have different checks.
    fn mixed(&self, name: String, runs: &[Run]) -> Judged {
        self.refused(name, runs, None, Verdict::Error, "the runs of this group belong to different tasks")
    }

    /// Runs that the checks cannot judge.
    fn refused(&self, name: String, runs: &[Run], run: Option<usize>, verdict: Verdict, reason: &str) -> Judged {
        let not = NotPassing { run, check: "tasks", verdict, reason: reason.to_owned() };
        Judged {
            source: String::new(),
            name,
            runs: runs.iter().map(|run| run.name.clone()).collect(),
            checks: tally::checks(!self.expect.is_empty(), &self.gates),
            result: Err(not),
        }
    }

    fn judged(&self, name: String, runs: Vec<Run>, is_group: bool, options: &Options) -> Judged {
        if self.expect.is_empty() && self.gates.is_empty() {
            let reason = "it belongs to no task, and no gate is for all records";
            return self.refused(name, &runs, Some(0), Verdict::Unassessable, reason);
        }
        let names = runs.iter().map(|run| run.name.clone()).collect();
        let mut subject = Subject { expect: &self.expect, gates: &self.gates, runs, is_group };
        let mut mutants = Vec::new();
        let result = mutate::mutate(&mut subject, options, &mut |mutant| mutants.push(mutant));
        Judged {
            source: String::new(),
            name,
            runs: names,
            checks: tally::checks(!self.expect.is_empty(), &self.gates),
            result: result.map(|untried| (mutants, untried)),
        }
    }
}

/// A row of the page.
fn row_of(judged: &Judged, trace: mcptest_core::Trace) -> Box<Row> {
    let mut row = Box::new(Row::named(judged.runs.first().map_or("", String::as_str)));
    row.model = trace.conversation.model.clone().unwrap_or_default();
    row.verdict = judged.result.as_ref().map_or_else(|why| why.verdict.into(), |_| RowVerdict::Pass);
    row.trace = Some(Box::new(trace));
    row
}
