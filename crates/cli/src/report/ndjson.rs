//! Events as they happen, one JSON object per line.

use std::collections::BTreeMap;

use mcptest_core::event::Event;
use mcptest_core::json::Layout;
use mcptest_core::report::{FORMAT, Report, Row, Totals};
use serde::Serialize;

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    Begin { mcptest: u32 },
    SuiteStarted { file: &'a str },
    SuiteRefused { file: &'a str, why: &'a str },
    RowFinished { row: &'a Row },
    CellFinished { model: &'a str, test: &'a str },
    Labeled { labels: &'a BTreeMap<String, String> },
    InconclusiveAllowed,
    Note { text: &'a str },
    Stopped { text: &'a str },
    End { exit_code: u8, totals: &'a Totals },
}

impl Line<'_> {
    fn text(&self) -> String {
        Layout::LINE.text(self) + "\n"
    }
}

/// The first line: which version of the format the others have.
pub(super) fn begin() -> String {
    Line::Begin { mcptest: FORMAT }.text()
}

pub(super) fn event(event: &Event) -> String {
    let line = match event {
        Event::SuiteStarted { file } => Line::SuiteStarted { file },
        Event::SuiteRefused { file, why } => Line::SuiteRefused { file, why },
        Event::RowFinished(row) => Line::RowFinished { row },
        Event::CellFinished { test, model } => Line::CellFinished { model, test },
        Event::Labeled(labels) => Line::Labeled { labels },
        Event::InconclusiveAllowed => Line::InconclusiveAllowed,
        Event::Note(text) => Line::Note { text },
        Event::Stopped(text) => Line::Stopped { text },
    };
    line.text()
}

/// The last line: how it ended.
pub(super) fn end(report: &Report) -> String {
    Line::End { exit_code: report.exit_code(), totals: &report.totals }.text()
}
