//! `mcptest score`: a verdict and metrics for every trace of every input, and for every group of runs.

mod complaints;
mod lines;
mod listing;
mod merge;
mod rows;
mod summary;
mod tasks;

use std::io::{ErrorKind, IsTerminal as _, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcptest_core::Target;
use mcptest_core::cassette::note_on_oldest;
use mcptest_core::diag::{self, Code, Failure, Severity};
use mcptest_core::event::Event;
use mcptest_core::import::{Options, Servers};
use mcptest_core::json;
use mcptest_core::report::Report;
use mcptest_core::score::{Groups, Outcome, Run, Scorer};
use mcptest_core::suite::{self, GateFile, Variables, yaml};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub(super) use self::complaints::Complaints;
use self::lines::{LineKind, Outputs, ScoredBatch};
use self::listing::Listing;
use self::summary::Summary;
use self::tasks::MatchedTasks;
use super::{Environment, Stop};
use crate::args::{Output, ReadingArgs, Score, labeled};
use crate::console::{Console, Stream, printed};
use crate::corpus::source::{self, Source};
use crate::corpus::{LeftOut, ReadOptions, pipeline};
use crate::exit;
use crate::input;
use crate::progress::ReadProgress;
use crate::report::text::many;
use crate::report::{Color, Reporters, Style, Verbosity};
use mcptest_runner::file::Trust;

pub(super) fn run(typed: &Score, environment: Environment<'_>, console: &mut Console<'_>) -> Result<u8, Stop> {
    let gates = match &typed.gates {
        Some(path) => Some(load_gates(path, environment, console)?),
        None => None,
    };
    let scorer = scorer(typed, gates)?;
    let sources = source::expand(&typed.inputs, &mut |note| console.err.complain(note));
    over(typed, scorer, &sources, environment, console)
}

/// Scores these sources instead of the inputs on the command line.
pub(super) fn over(
    typed: &Score,
    scorer: Scorer,
    sources: &[Source],
    environment: Environment<'_>,
    console: &mut Console<'_>,
) -> Result<u8, Stop> {
    if typed.merge {
        return merge::run(typed, &scorer, sources, console);
    }
    let (reading, options) = reading(&typed.reading, typed.verbose)?;
    let output = output(typed);
    // A report shows complete traces and the result of every check.
    let wants_rows = !typed.reporter.is_empty() || output == Output::Pretty;
    let scorer = if wants_rows { scorer } else { scorer.without_lines() };
    let style = Style::new(Verbosity::Normal, Color::Auto, environment);
    score(typed, output, &scorer, sources, &reading, &options, style, console)
}

/// What to print on standard output.
fn output(typed: &Score) -> Output {
    let is_taken = || typed.reporter.iter().any(crate::report::Choice::is_on_stdout);
    typed.output.unwrap_or_else(|| match std::io::stdout().is_terminal() {
        true if is_taken() => Output::None,
        true => Output::Pretty,
        false => Output::Jsonl,
    })
}

/// How inputs are read, from the arguments.
pub(super) fn reading(typed: &ReadingArgs, verbose: bool) -> Result<(ReadOptions, Options), Failure> {
    let servers = Servers::parse(&typed.server_prefix)
        .map_err(|error| Failure::error((), format!("--server-prefix: {error}")).code(Code::BadArgument))?;
    let reading = ReadOptions { from: typed.from.0, max_record: typed.max_record_bytes(), verbose };
    Ok((reading, Options { servers }))
}

/// Most threads by default: each keeps a batch of the input in memory.
const MANY: usize = 32;

/// How many threads to use.
pub(super) fn threads(typed: &ReadingArgs) -> usize {
    let processors = || std::thread::available_parallelism().map_or(2, std::num::NonZero::get).min(MANY);
    typed.jobs.map_or_else(processors, usize::from)
}

pub(super) fn scorer(typed: &Score, gates: Option<Loaded>) -> Result<Scorer, Stop> {
    let outcome = outcome(typed.outcome.as_ref(), typed.outcome_pass.as_deref());
    let gates = gates.map(|(gates, _)| gates);
    let rules = rules(gates.as_ref(), outcome.as_ref());
    Scorer::new(gates, outcome).map(|scorer| scorer.with_rules(rules)).map_err(|error| {
        let hint = "add a gate for single runs, or say where records state their outcome: --outcome";
        let file = typed.gates.as_deref().map_or_else(String::new, |path| path.display().to_string());
        Failure::error(file, error.to_string()).code(Code::ReliabilityWithoutChecks).hint(hint).into()
    })
}

/// The outcome that records state: a path, and the value of a run that passed, as JSON or as text.
pub(super) fn outcome(path: Option<&Target>, pass: Option<&str>) -> Option<Outcome> {
    let value = |pass: &str| json::parse(pass).unwrap_or_else(|_| Value::String(pass.to_owned()));
    path.zip(pass).map(|(path, pass)| Outcome { path: path.clone(), pass: value(pass) })
}

/// Bytes of the fingerprint: every line has it, and it only has to distinguish the gates files of one team.
const FINGERPRINT: usize = 6;

/// A fingerprint of gates and outcome, independent of the layout of their file.
fn rules(gates: Option<&GateFile>, outcome: Option<&Outcome>) -> String {
    let gates = gates.map(|gates| &gates.content);
    let outcome = outcome.map(|outcome| (outcome.path.to_string(), &outcome.pass));
    let rules = json::canonical(&json!([gates, outcome]));
    STANDARD.encode(&Sha256::digest(rules.as_bytes())[..FINGERPRINT])
}

/// A gates file, and the same as it is written.
pub(super) type Loaded = (GateFile, Value);

/// Loads a gates file. Warnings are printed.
pub(super) fn load_gates(path: &Path, environment: Environment<'_>, console: &mut Console<'_>) -> Result<Loaded, Stop> {
    read_gates(&input::read(path, Trust::Trusted)?, &input::folder(path), environment, console)
}

/// Reads gates whose relative paths are in `folder`.
pub(super) fn read_gates(
    source: &diag::Source,
    folder: &str,
    environment: Environment<'_>,
    console: &mut Console<'_>,
) -> Result<Loaded, Stop> {
    let loaded = suite::load_gates(source, &Variables { suite_dir: folder, outside: environment });
    let mut errors = String::new();
    for diagnostic in &loaded.diagnostics {
        let text = diagnostic.render(source);
        match diagnostic.severity {
            Severity::Error => errors.push_str(&text),
            Severity::Warning => console.err.complain(text),
        }
    }
    let value = loaded.value.ok_or(Stop(errors))?;
    let written = yaml::tree(source).map_or(Value::Null, yaml::Node::to_json);
    Ok((value, written))
}

/// Notes about options that have no effect, or that may be missing.
fn notes(typed: &Score, has_no_groups: bool, is_whole: bool) -> Vec<&'static str> {
    let mut out = Vec::new();
    if typed.outcome.is_some() && has_no_groups {
        out.push("note[outcome-without-group]: outcomes are counted per group, and no record names a group\nhint: say where it is with --group-by");
    }
    if typed.gates.is_none() && typed.outcome.is_none() && is_whole {
        out.push(
            "note: metrics only; --gates FILE adds verdicts, with gates such as `narrative: {}` (`mcptest explain narrative`)",
        );
    }
    out
}

#[expect(clippy::too_many_arguments, reason = "each is a different thing, and there is one caller")]
fn score(
    typed: &Score,
    output: Output,
    scorer: &Scorer,
    sources: &[Source],
    reading: &ReadOptions,
    options: &Options,
    style: Style,
    console: &mut Console<'_>,
) -> Result<u8, Stop> {
    let Console { out, err } = console;
    let mut complaints = Complaints::default();
    let prints = output == Output::Jsonl;
    let mut listing = (output == Output::Pretty).then(|| Listing::new(&style));
    let wants_rows = !typed.reporter.is_empty() || listing.is_some();
    let (mut no_lines, mut no_reports) = (std::io::sink(), std::io::sink());
    let (lines, reports): (&mut dyn Write, Stream<'_>) = match output {
        Output::Jsonl | Output::Pretty => (out, Stream::new(&mut no_reports)),
        Output::None => (&mut no_lines, out.by_ref()),
    };
    let wants_reports = !typed.reporter.is_empty();
    let mut reporters = wants_reports.then(|| reporters(typed, output, style, reports)).transpose()?;
    let mut report = Report::default();
    let mut listed = Ok(());
    let mut emit = |event: Event, lines: &mut dyn Write| {
        if let Some(listing) = listing.as_mut().filter(|_| listed.is_ok()) {
            listed = listing.event(&event, lines);
        }
        if let Some(reporters) = &mut reporters {
            reporters.event(&event);
            report.take(event);
        }
    };
    for event in opening(typed, scorer) {
        emit(event, lines);
    }
    let progress = Arc::new(AtomicU64::new(0));
    let bar = ReadProgress::new(source::total(sources), &progress);
    let mut groups = Groups::default();
    let mut summary = Summary::default();
    let mut left_out = LeftOut::default();
    let mut printer = lines::Printer::default();
    let mut broken_out = None;
    let (mut shown, mut number): (Option<Arc<str>>, u64) = (None, 0);
    let group_by = typed.group_by.as_ref().map(|key| &key.0);
    let mut met = MatchedTasks::default();
    let outputs = Outputs { lines: prints, rows: wants_rows };
    let work = |job: &_| ScoredBatch::of(job, scorer, options, group_by, outputs);
    pipeline::run(sources, reading, threads(&typed.reading), &progress, &work, &mut |mut batch: ScoredBatch| {
        bar.advance(batch.traces.len() as u64);
        left_out.add(&batch.source, batch.left_out, &batch.faults);
        if let Some(note) = batch.note.take() {
            bar.pause(|| err.complain(format!("note: {note}")));
        }
        let written = if prints { printer.write(&batch, lines) } else { Ok(()) };
        let source = Arc::clone(&batch.source);
        for fault in batch.faults.drain(..) {
            bar.pause(|| complaints.fault(&source, &fault, err));
        }
        for scored in batch.traces.drain(..) {
            if let LineKind::Trace(verdict) = scored.verdict {
                summary.trace(verdict);
            }
            met.add(scored.tasks.as_deref());
            summary.old += usize::from(scored.is_old);
            if let Some(row) = scored.row {
                let is_first = shown.replace(Arc::clone(&source)).is_none_or(|last| last != source);
                number = if is_first { 0 } else { number + 1 };
                bar.pause(|| rows::emit(&source, row, number, is_first, &mut |event| emit(event, lines)));
            }
            count_run(&mut groups, scored.run);
        }
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                broken_out = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    bar.finish();
    let mut has_groups = false;
    lines::groups(groups.lines(scorer), threads(&typed.reading), &mut |part| {
        for line in &part.groups {
            summary.group(line);
            if wants_rows {
                rows::group(line, !std::mem::replace(&mut has_groups, true), &mut |event| emit(event, lines));
            }
        }
        if prints && broken_out.is_none() {
            broken_out = lines.write_all(&part.text).err();
        }
    });
    let unmet = met.unmet(scorer, typed.gates.as_deref(), complaints.count());
    report_problems(typed, &groups, &unmet, &mut |event| emit(event, lines));
    if let Some(listing) = listing.as_mut().filter(|_| listed.is_ok()) {
        listed = listing.finish(lines);
    }
    broken_out = broken_out.or(listed.err());
    complaints.finish(err);
    left_out.note().into_iter().for_each(|note| err.complain(note));
    let mut code =
        finish(typed, scorer, &summary, &groups, complaints.count(), err).max(met.finish(scorer, unmet, err));
    if let Some(reporters) = reporters {
        for unwritten in reporters.finish(&report, None) {
            err.complain(unwritten);
            code = exit::ERROR;
        }
    }
    printed_all(broken_out).map(|()| code)
}

fn printed_all(broken_out: Option<std::io::Error>) -> Result<(), Stop> {
    match broken_out {
        // The reader has closed the pipe, as in `mcptest score .. | head -1`, but not everything was scored.
        Some(error) if error.kind() == ErrorKind::BrokenPipe => {
            let message = "standard output was closed before everything was scored";
            Err(Failure::error((), message).code(Code::StdoutFailed).into())
        }
        Some(error) => Ok(printed(Err(error))?),
        None => Ok(()),
    }
}

/// Prints the summary and returns the exit code.
fn finish(
    typed: &Score,
    scorer: &Scorer,
    summary: &Summary,
    groups: &Groups,
    faults: usize,
    err: &mut Stream<'_>,
) -> u8 {
    err.complain(summary.text(faults));
    let homeless = faults.saturating_sub(groups.unread());
    if homeless > 0 && groups.has_runs() && scorer.judges_groups() {
        let what = if homeless == 1 { "record or input may belong" } else { "records or inputs may belong" };
        err.complain(format!(
            "note: {homeless} unreadable {what} to any group, so groups are judged without what is in there"
        ));
    }
    if typed.allow_inconclusive && summary.inconclusive() > 0 {
        let inconclusive = many(summary.inconclusive(), "inconclusive group");
        err.complain(format!("note: {inconclusive} allowed by --allow-inconclusive"));
    }
    for note in notes(typed, groups.is_empty(), !summary.is_empty() && faults == 0) {
        err.complain(note);
    }
    if let Some(note) = note_on_oldest(summary.old) {
        err.complain(format!("note: {note}"));
    }
    if let Some(mixed) = summary.mixed_groups() {
        err.complain(mixed);
    }
    if let Some(failure) = no_outcome(typed, groups) {
        err.complain(failure.moved(()));
        return exit::ERROR;
    }
    match faults {
        0 if summary.is_empty() => {
            err.complain("error[empty-input]: no traces in these inputs");
            exit::ERROR
        }
        0 => summary.exit_code(typed.allow_inconclusive),
        _ => exit::ERROR,
    }
}

/// Adds a run to its group, or that it could not be read.
fn count_run(groups: &mut Groups, run: Option<(String, Option<Run>)>) {
    match run {
        Some((group, Some(run))) => groups.add(&group, run),
        Some((group, None)) => groups.add_unread(&group),
        None => {}
    }
}

/// Puts what is wrong with the whole run into the reports.
fn report_problems(typed: &Score, groups: &Groups, unmet: &[(usize, Failure<String>)], emit: &mut dyn FnMut(Event)) {
    let gates = typed.gates.as_ref().map_or_else(String::new, |path| path.display().to_string());
    rows::problems(&gates, unmet, emit);
    let no_outcome: Vec<_> = no_outcome(typed, groups).map(|failure| (0, failure)).into_iter().collect();
    rows::problems("outcomes", &no_outcome, emit);
}

/// That no run has an outcome where `--outcome` says it is.
fn no_outcome(typed: &Score, groups: &Groups) -> Option<Failure<String>> {
    let path = typed.outcome.as_ref().filter(|_| groups.has_runs() && !groups.has_outcomes())?;
    let hint = "`--outcome` is a path in the record as it is in the file";
    let message = format!("no record has a value at `{path}`");
    Some(Failure::error("--outcome".to_owned(), message).code(Code::NoOutcome).hint(hint))
}

/// What reports say before the first trace.
fn opening(typed: &Score, scorer: &Scorer) -> Vec<Event> {
    let mut out: Vec<Event> = labeled(&typed.label).into_iter().collect();
    if typed.allow_inconclusive {
        out.push(Event::InconclusiveAllowed);
    }
    if typed.gates.is_some() && scorer.judges_trace(true) == Some(false) {
        out.push(Event::Note("the gates judge groups of runs only, so single traces have no verdict".to_owned()));
    }
    out
}

/// The reporters. None of them may write to the output that has the lines.
fn reporters<'a>(typed: &Score, output: Output, style: Style, out: Stream<'a>) -> Result<Reporters<'a>, Failure> {
    if output != Output::None
        && let Some(taken) = typed.reporter.iter().find(|choice| choice.is_on_stdout())
    {
        let taken = taken.name();
        let message = format!("standard output is used for trace lines, so {taken} cannot use it too");
        let hint = format!("--output none, or --reporter {taken}=PATH");
        return Err(Failure::error((), message).code(Code::StdoutInUse).hint(hint));
    }
    Reporters::only(typed.reporter.clone(), style, out)
}
