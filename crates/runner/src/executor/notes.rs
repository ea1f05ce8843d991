//! What is noted at the end of a run of many tests: recordings that were edited or are old, and runs that were saved.

use mcptest_core::cassette::note_on_oldest;
use mcptest_core::eval::GateKind;
use mcptest_core::report::{Family, Row, RowVerdict};

use crate::plan::Planned;

/// Notes about all runs that are not verdicts.
#[derive(Default)]
pub(super) struct RunNotes {
    pub(super) edited: usize,
    pub(super) old: usize,
    /// Tests whose runs stopped early, and how many runs of how many that saved.
    settled: usize,
    saved: u64,
    planned: u64,
}

impl RunNotes {
    /// Counts a test whose runs stop early.
    pub(super) fn settle(&mut self, planned: &Planned<'_>, rows: &[Row]) {
        let is_settled = |row: &Row| {
            row.gate == Some(GateKind::Reliability) && matches!(row.verdict, RowVerdict::Pass | RowVerdict::Fail)
        };
        let runs = rows.iter().filter(|row| row.family == Family::Run).count() as u64;
        if planned.cell.settles().is_some() && rows.iter().any(is_settled) && runs < planned.runs {
            self.settled += 1;
            self.saved += planned.runs - runs;
            self.planned += planned.runs;
        }
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let count = |count: usize, one: &str, many: &str| match count {
            1 => format!("1 recording {one}"),
            count => format!("{count} recordings {many}"),
        };
        let mut out = Vec::new();
        if self.saved > 0 {
            let tests = if self.settled == 1 { "1 test".to_owned() } else { format!("{} tests", self.settled) };
            out.push(format!("{tests} settled early: {} of {} runs saved", self.saved, self.planned));
        }
        if self.edited > 0 {
            let what = count(self.edited, "was", "were");
            out.push(format!("{what} edited after recording and accepted with `mcptest cassette accept`"));
        }
        out.extend(note_on_oldest(self.old));
        out
    }
}
