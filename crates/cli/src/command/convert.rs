//! `mcptest convert`: converts traces to envelopes.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use mcptest_core::import::Imported;
use mcptest_core::json::Layout;

use super::Stop;
use super::score::{Complaints, reading, threads};
use crate::args::Convert;
use crate::console::{Console, printed};
use crate::corpus::{Job, LeftOut, RecordError, pipeline, source};
use crate::exit;
use crate::progress::ReadProgress;

/// The result of a job.
struct ConvertedBatch {
    source: Arc<str>,
    text: Vec<u8>,
    traces: u64,
    faults: Vec<RecordError>,
    note: Option<String>,
    left_out: usize,
}

pub(super) fn run(typed: &Convert, console: &mut Console<'_>) -> Result<u8, Stop> {
    let Console { out, err } = console;
    let (how, options) = reading(&typed.reading, typed.verbose)?;
    let mut complaints = Complaints::default();
    let sources = source::expand(&typed.inputs, &mut |note| err.complain(note));
    let progress = Arc::new(AtomicU64::new(0));
    let bar = ReadProgress::new(source::total(&sources), &progress);
    let mut broken_out = None;
    let mut left_out = LeftOut::default();
    let work = |job: &Job| {
        let note = job.note();
        let mut batch = ConvertedBatch {
            source: Arc::clone(&job.source),
            text: Vec::new(),
            traces: 0,
            faults: Vec::new(),
            note,
            left_out: 0,
        };
        let left_out = job.read(&options, typed.group_by.as_ref().map(|key| &key.0), &mut |found| {
            match found {
                Ok((one, group, _)) => {
                    let envelope = Imported { group, ..one }.to_envelope();
                    // Writing JSON into memory cannot fail.
                    let _ = Layout::EXACT_LINE.write(&envelope, &mut batch.text);
                    batch.text.push(b'\n');
                    batch.traces += 1;
                }
                Err(unread) => batch.faults.push(unread.fault),
            }
        });
        batch.left_out = left_out;
        batch
    };
    pipeline::run(&sources, &how, threads(&typed.reading), &progress, &work, &mut |batch: ConvertedBatch| {
        bar.advance(batch.traces);
        left_out.add(&batch.source, batch.left_out, &batch.faults);
        if let Some(note) = batch.note {
            bar.pause(|| err.complain(format!("note: {note}")));
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
    left_out.note().into_iter().for_each(|note| err.complain(note));
    printed(broken_out.map_or(Ok(()), Err))?;
    Ok(if complaints.count() > 0 { exit::ERROR } else { exit::OK })
}
