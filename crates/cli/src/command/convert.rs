//! `mcptest convert`: converts traces to envelopes.

use std::io::{ErrorKind, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use mcptest_core::json::Layout;

use super::score::{Complaints, reading, threads};
use crate::args::Convert;
use crate::corpus::{Job, RecordError, pipeline, source};
use crate::exit;
use crate::progress::ReadProgress;
use crate::report::stdout_error;

/// The result of a job.
struct ConvertedBatch {
    source: Arc<str>,
    text: Vec<u8>,
    traces: u64,
    faults: Vec<RecordError>,
    note: Option<String>,
}

pub(super) fn run(typed: &Convert, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let (how, options) = match reading(&typed.reading, typed.verbose) {
        Ok(both) => both,
        Err(complaint) => {
            let _ = writeln!(err, "{complaint}");
            return exit::ERROR;
        }
    };
    let mut complaints = Complaints::default();
    let sources = source::expand(&typed.inputs, &mut |note| _ = writeln!(err, "{note}"));
    let progress = Arc::new(AtomicU64::new(0));
    let bar = ReadProgress::new(source::total(&sources), &progress);
    let mut broken_out = None;
    let work = |job: &Job| {
        let note = job.note();
        let mut batch =
            ConvertedBatch { source: Arc::clone(&job.source), text: Vec::new(), traces: 0, faults: Vec::new(), note };
        job.read(&options, typed.group_by.as_ref(), &mut |found| {
            match found {
                Ok((one, group)) => {
                    let mut envelope = one.trace.to_envelope();
                    for (key, word) in [("id", one.id), ("group", group)] {
                        if let (Some(word), Some(map)) = (word, envelope.as_object_mut()) {
                            map.insert(key.to_owned(), word.into());
                        }
                    }
                    // Writing JSON into memory cannot fail.
                    let _ = Layout::EXACT_LINE.write(&envelope, &mut batch.text);
                    batch.text.push(b'\n');
                    batch.traces += 1;
                }
                Err(fault) => batch.faults.push(fault),
            }
        });
        batch
    };
    pipeline::run(&sources, &how, threads(&typed.reading), &progress, &work, &mut |batch: ConvertedBatch| {
        bar.advance(batch.traces);
        if let Some(note) = batch.note {
            let _ = bar.pause(|| writeln!(err, "note: {note}"));
        }
        for fault in &batch.faults {
            bar.pause(|| complaints.fault(&batch.source, fault, err));
        }
        match out.write_all(&batch.text).and_then(|()| out.flush()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                broken_out = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    bar.finish();
    complaints.finish(err);
    let mut code = if complaints.count() > 0 { exit::ERROR } else { exit::OK };
    // The reader has closed the pipe, as in `mcptest convert .. | head -1`.
    if let Some(error) = broken_out.filter(|error| error.kind() != ErrorKind::BrokenPipe) {
        let _ = writeln!(err, "{}", stdout_error(&error));
        code = exit::ERROR;
    }
    code
}
