//! Tests against models, for suites that run a test on several.

use serde::Serialize;

use super::{Family, Row, RowVerdict};

/// What became of one test on one model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GridCell {
    pub model: String,
    pub passed: usize,
    pub runs: usize,
    /// The worst verdict of its rows; absent where the test does not run on the model.
    #[serde(serialize_with = "super::verdict_or_null")]
    pub verdict: RowVerdict,
}

/// One test on every model it ran on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GridLine {
    /// Its cells, in the order of its models.
    pub cells: Vec<GridCell>,
    pub test: String,
}

/// The tests of a suite that ran on several models, in the order of the file.
pub fn grid(rows: &[Row]) -> Vec<GridLine> {
    let mut lines: Vec<GridLine> = Vec::new();
    for row in rows {
        // Rows of a test are adjacent, and so are rows of a cell.
        if lines.last().is_none_or(|line| line.test != row.test) {
            lines.push(GridLine { test: row.test.clone(), cells: Vec::new() });
        }
        let Some(line) = lines.last_mut() else { continue };
        if line.cells.last().is_none_or(|cell| cell.model != row.model) {
            let cell = GridCell { model: row.model.clone(), verdict: RowVerdict::Pass, passed: 0, runs: 0 };
            line.cells.push(cell);
        }
        let Some(cell) = line.cells.last_mut() else { continue };
        if severity(row.verdict) > severity(cell.verdict) {
            cell.verdict = row.verdict;
        }
        if row.family == Family::Run {
            cell.runs += 1;
            cell.passed += usize::from(row.verdict == RowVerdict::Pass);
        }
    }
    lines.retain(|line| line.cells.len() > 1);
    lines
}

/// How much a verdict says about a cell. Failed runs that were absorbed leave the verdict to the gate that absorbed them.
pub(super) fn severity(verdict: RowVerdict) -> u8 {
    match verdict {
        RowVerdict::Absorbed | RowVerdict::Pass => 0,
        RowVerdict::Skipped | RowVerdict::Unjudged => 1,
        RowVerdict::Inconclusive => 2,
        RowVerdict::Unassessable => 3,
        RowVerdict::Fail => 4,
        RowVerdict::Error => 5,
    }
}
