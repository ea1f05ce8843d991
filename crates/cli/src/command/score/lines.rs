//! The lines on standard output.
//!
//! A batch is scored without knowing how many traces came before it, so the index of a trace is inserted when its line is
//! printed.

use std::io::{self, Write};
use std::sync::Arc;

use mcptest_core::import::{Imported, Options};
use mcptest_core::json::Layout;
use mcptest_core::report::{Row, RowVerdict};
use mcptest_core::score::{GroupLine, Lines, RecordKey, Run, Scored, Scorer, TraceLine};
use serde::Serialize;

use super::rows;
use crate::corpus::{Found, Job, RecordError, Unread, in_source, place_of};

/// The usual size of the lines of a job, to avoid reallocations.
const USUAL: usize = 1 << 15;

/// The result of a job.
pub(super) struct ScoredBatch {
    pub(super) source: Arc<str>,
    /// Lines, each without its index; none unless they are printed.
    text: Vec<u8>,
    cuts: Vec<usize>,
    pub(super) traces: Vec<ScoredTrace>,
    pub(super) faults: Vec<RecordError>,
    pub(super) note: Option<String>,
    /// Traces of spans without an agent.
    pub(super) left_out: usize,
}

/// What is kept of a trace after its line was written.
pub(super) struct ScoredTrace {
    pub(super) verdict: LineKind,
    /// Its group, and what that needs to know of it; no run if there is no trace.
    pub(super) run: Option<(String, Option<Run>)>,
    /// It comes from a cassette in which an edit would go unnoticed.
    pub(super) is_old: bool,
    pub(super) row: Option<Box<Row>>,
    /// Places of its tasks in the gates file; none if the file has no tasks.
    pub(super) tasks: Option<Vec<u32>>,
}

/// What to produce for every trace.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outputs {
    /// Its line for standard output.
    pub(super) lines: bool,
    /// Its row for reports.
    pub(super) rows: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum LineKind {
    /// Its verdict; `None` if it was not judged.
    Trace(Option<RowVerdict>),
    /// There is no trace; it is counted as an error.
    Unread,
}

impl ScoredBatch {
    /// Scores every trace of a job.
    pub(super) fn of(
        job: &Job,
        scorer: &Scorer,
        options: &Options,
        group_by: Option<&RecordKey>,
        outputs: Outputs,
    ) -> Self {
        let mut out = Self {
            source: Arc::clone(&job.source),
            text: Vec::with_capacity(if outputs.lines { USUAL } else { 0 }),
            cuts: Vec::new(),
            traces: Vec::new(),
            faults: Vec::new(),
            note: job.note(),
            left_out: 0,
        };
        let left_out = job.read(options, group_by, &mut |found| match score(found, scorer, &job.source) {
            Ok((mut one, group, mut result)) => {
                if outputs.lines {
                    out.line(&TraceLine::new(&one, group.as_deref(), &result, scorer.trace_rules()));
                }
                let run = result.run.take();
                let is_old = one.is_of_oldest_version();
                let row = outputs.rows.then(|| {
                    let trace = std::mem::take(&mut one.trace);
                    rows::trace(&one, trace, &result)
                });
                let run = group.zip(run.map(Some));
                let (verdict, tasks) = (LineKind::Trace(result.verdict), result.tasks.take());
                out.traces.push(ScoredTrace { verdict, run, is_old, row, tasks });
            }
            Err(Unread { fault, id, group }) => {
                if outputs.lines {
                    let (id, group) = (id.as_deref(), group.as_deref());
                    out.line(&TraceLine::unread(id, group, &place_of(&fault), &fault.message));
                }
                out.traces.push(ScoredTrace {
                    verdict: LineKind::Unread,
                    run: group.map(|group| (group, None)),
                    is_old: false,
                    row: outputs.rows.then(|| rows::fault(&fault)),
                    tasks: None,
                });
                out.faults.push(fault);
            }
        });
        out.left_out = left_out;
        out
    }

    /// Adds a line: source and index, then the members of `line`.
    fn line(&mut self, line: &TraceLine<'_>) {
        self.text.extend_from_slice(b"{\"source\":");
        put(&mut self.text, &*self.source);
        self.text.extend_from_slice(b",\"index\":");
        let cut = self.text.len();
        self.cuts.push(cut);
        put(&mut self.text, line);
        // The next object continues the one already begun.
        self.text[cut] = b',';
        self.text.push(b'\n');
    }
}

fn score<'a>(
    found: Found<'a>,
    scorer: &Scorer,
    source: &str,
) -> Result<(Imported<'a>, Option<String>, Scored), Unread> {
    let (one, group, offset) = found?;
    match scorer.score(&one, group.as_deref(), source) {
        Ok(result) => Ok((one, group, result)),
        Err(error) => Err(Unread { fault: in_source(error, offset), id: one.id, group }),
    }
}

/// Writing JSON into memory cannot fail.
fn put(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let _ = Layout::EXACT_LINE.write(value, out);
}

/// Inserts the index of every line, which restarts with every source.
#[derive(Default)]
pub(super) struct Printer {
    source: Option<Arc<str>>,
    next: u64,
}

impl Printer {
    pub(super) fn write(&mut self, batch: &ScoredBatch, out: &mut dyn Write) -> io::Result<()> {
        if self.source.as_ref().is_none_or(|source| *source != batch.source) {
            self.source = Some(Arc::clone(&batch.source));
            self.next = 0;
        }
        if batch.cuts.is_empty() {
            return Ok(());
        }
        let mut text = Vec::with_capacity(batch.text.len() + 8 * batch.cuts.len());
        let mut from = 0;
        for cut in &batch.cuts {
            text.extend_from_slice(&batch.text[from..*cut]);
            write!(text, "{}", self.next)?;
            self.next += 1;
            from = *cut;
        }
        text.extend_from_slice(&batch.text[from..]);
        out.write_all(&text)?;
        out.flush()
    }
}

/// Runs whose groups are judged by one thread at a time: enough to be worth a thread, few enough to fit in memory.
const PART: u64 = 1024;

pub(super) struct Part<'a> {
    pub(super) groups: Vec<GroupLine<'a>>,
    pub(super) text: Vec<u8>,
}

impl<'a> Part<'a> {
    fn of(lines: Lines<'a>) -> Self {
        let mut part = Self { groups: Vec::new(), text: Vec::new() };
        for line in lines {
            put(&mut part.text, &line);
            part.text.push(b'\n');
            part.groups.push(line);
        }
        part
    }
}

/// Judges groups on several threads, and passes them on in order.
pub(super) fn groups(mut lines: Lines<'_>, threads: usize, take: &mut dyn FnMut(Part<'_>)) {
    loop {
        let parts: Vec<Lines<'_>> = (0..threads).map_while(|_| lines.part(PART)).collect();
        match parts.len() {
            0 => return,
            // For a small corpus, starting a thread is not worth it.
            1 => parts.into_iter().for_each(|part| take(Part::of(part))),
            _ => std::thread::scope(|scope| {
                let started = parts.into_iter().map(|part| {
                    let mine = part.clone();
                    std::thread::Builder::new().spawn_scoped(scope, || Part::of(part)).map_err(|_| mine)
                });
                for part in started.collect::<Vec<_>>() {
                    take(match part {
                        Ok(judged) => judged.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                        // Without a thread it is judged here.
                        Err(part) => Part::of(part),
                    });
                }
            }),
        }
    }
}
