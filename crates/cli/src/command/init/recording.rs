//! The first trace of a file, read like `mcptest score` does.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use mcptest_core::Trace;
use mcptest_core::diag::{Code, Failure};
use mcptest_core::import::Options;
use mcptest_core::redact::Redactor;
use mcptest_core::trace::ToolCall;

use super::cassette::Cassette;
use super::stop;
use crate::corpus::{Job, ReadOptions, RecordError, pipeline, source};
use crate::input::shown;
use crate::report::text::many;

/// Most bytes of one record, the default of `mcptest score`.
const MAX_RECORD: usize = 64 * 1024 * 1024;

/// A trace with at least one call.
#[derive(Debug, Clone)]
pub(super) struct Recording {
    /// The name of its file.
    pub(super) file: String,
    pub(super) trace: Trace,
    pub(super) calls: Vec<ToolCall>,
    /// What its file adds, if it is a cassette.
    pub(super) cassette: Option<Cassette>,
    pub(super) notes: Vec<String>,
}

/// The first trace, the number of traces, and read errors.
#[derive(Default)]
struct Traces {
    first: Option<(Trace, Option<Cassette>)>,
    count: usize,
    faults: Vec<RecordError>,
}

pub(super) fn first(path: &Path) -> Result<Recording, Failure> {
    let mut all = read(path)?;
    let file = path.file_name().map_or_else(|| "standard input".to_owned(), |name| name.to_string_lossy().into_owned());
    let file = if file == "-" { "standard input".to_owned() } else { file };
    let Some((trace, cassette)) = all.first.take() else {
        return Err(match all.faults.first() {
            Some(fault) => {
                let place = fault.place.map_or_else(String::new, |offset| format!(" byte {offset}:"));
                let message = format!("{}:{place} {}", shown(path), fault.message);
                Failure { code: fault.code, ..Failure::error((), message).hint(hint(fault, path)) }
            }
            None => {
                let message = format!("{}: it contains no trace", shown(path));
                stop(Code::EmptyInput, message, "give a file that `mcptest score` can read")
            }
        });
    };
    let mut notes = Vec::new();
    if all.count > 1 {
        notes.push(format!("{file} contains {} more; the first was used", many(all.count - 1, "trace")));
    }
    if !all.faults.is_empty() {
        notes.push(format!(
            "{} of {file} could not be read; `mcptest score` shows why",
            many(all.faults.len(), "record")
        ));
    }
    let (trace, is_redacted) = redacted(trace, path)?;
    if is_redacted {
        notes.push("what looks like a secret is written as `[redacted:..]`".to_owned());
    }
    let calls = trace.tool_calls.clone().unwrap_or_else(Vec::new);
    if calls.is_empty() {
        let what = if trace.tool_calls.is_some() { "makes no call" } else { "does not record its calls" };
        let message = format!("{}: the first trace {what}, and a suite checks calls", shown(path));
        return Err(stop(
            Code::EmptyInput,
            message,
            "put a trace with calls first; `mcptest convert` writes one trace per line",
        ));
    }
    Ok(Recording { file, trace, calls, cassette, notes })
}

/// The hint for a read error. This command has no `--from`.
fn hint(fault: &RecordError, path: &Path) -> String {
    match &fault.hint {
        Some(hint) if hint.contains("--from") => {
            format!(
                "`mcptest convert --from FORMAT {} > trace.jsonl` converts it to a file that can be read",
                shown(path)
            )
        }
        Some(hint) => hint.clone(),
        None => "give a file that `mcptest score` can read".to_owned(),
    }
}

/// Reads the whole file, to count its traces, and keeps the first.
fn read(path: &Path) -> Result<Traces, Failure> {
    if path.is_dir() {
        return Err(stop(Code::BadArgument, format!("{}: is a folder", shown(path)), "name one file"));
    }
    let sources = source::expand(&[path.to_owned()], &mut |_| {});
    let reading = ReadOptions { from: None, max_record: MAX_RECORD, verbose: false };
    let options = Options::default();
    let work = |job: &Job| {
        let mut traces = Traces::default();
        job.read(&options, None, &mut |found| match found {
            Ok((one, ..)) => {
                traces.count += 1;
                traces.first.get_or_insert_with(|| (one.trace, Cassette::of(&one.fields)));
            }
            Err(unread) => traces.faults.push(unread.fault),
        });
        traces
    };
    let mut all = Traces::default();
    pipeline::run(&sources, &reading, 1, &Arc::new(AtomicU64::new(0)), &work, &mut |traces: Traces| {
        all.count += traces.count;
        all.first = all.first.take().or(traces.first);
        all.faults.extend(traces.faults);
        ControlFlow::Continue(())
    });
    Ok(all)
}

/// The redacted trace, and whether anything was redacted.
fn redacted(trace: Trace, path: &Path) -> Result<(Trace, bool), Failure> {
    let envelope = trace.to_envelope();
    let clean = Redactor::new([]).value(envelope.clone());
    if clean == envelope {
        return Ok((trace, false));
    }
    let trace = Trace::from_envelope(&clean).map_err(|error| {
        let message = format!("{}: without its secrets the trace cannot be read: {error}", shown(path));
        stop(Code::InvalidRecord, message, "remove them by hand")
    })?;
    Ok((trace, true))
}
