//! Events as they happen, one JSON object per line.

use mcptest_core::event::Event;
use mcptest_core::json::Layout;
use mcptest_core::report::{FORMAT, Report};

/// The first line: which version of the format the others have.
pub(super) fn begin() -> String {
    line("begin", |out| out.key("mcptest").plain(FORMAT))
}

/// The line of an event.
pub(super) fn event(event: &Event) -> String {
    match event {
        Event::SuiteStarted { file } => line("suite_started", |out| out.key("file").text(file)),
        Event::SuiteRefused { file, why } => line("suite_refused", |out| {
            out.key("file").text(file);
            out.key("why").text(why);
        }),
        Event::RowFinished(row) => line("row_finished", |out| {
            out.key("row");
            row.write(out);
        }),
        Event::CellFinished { test, model } => line("cell_finished", |out| {
            out.key("model").text(model);
            out.key("test").text(test);
        }),
        Event::Note(text) => line("note", |out| out.key("text").text(text)),
        Event::Stopped(why) => line("stopped", |out| out.key("text").text(why)),
    }
}

/// The last line: how it ended.
pub(super) fn end(report: &Report) -> String {
    line("end", |out| {
        out.key("exit_code").plain(report.exit_code());
        out.key("totals");
        report.totals.write(out);
    })
}

fn line(event: &str, fill: impl FnOnce(&mut Layout)) -> String {
    let mut out = Layout::line();
    out.object(|out| {
        out.key("event").text(event);
        fill(out);
    });
    let mut text = out.take();
    text.push('\n');
    text
}
