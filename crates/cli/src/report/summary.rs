//! The few lines that a report for people ends with, and that others begin with.

use mcptest_core::diag::printable;
use mcptest_core::report::{Flip, Flips, Report, RowVerdict, Totals};

use super::detail::mark;
use super::text::many;

/// Such as "12 rows: 10 pass, 1 fail, 1 error".
pub(super) fn totals(totals: &Totals, refused: usize) -> String {
    let counts = RowVerdict::ALL.iter().map(|verdict| (totals.of(*verdict), verdict));
    let parts: Vec<String> = counts
        .filter(|(count, _)| *count > 0)
        .map(|(count, verdict)| match verdict {
            RowVerdict::Unjudged => format!("{count} not judged"),
            _ => format!("{count} {verdict}"),
        })
        .collect();
    let mut line = match totals.rows() {
        0 => "no rows".to_owned(),
        rows => format!("{}: {}", many(rows, "row"), parts.join(", ")),
    };
    if refused > 0 {
        line.push_str(&format!("; {} could not be used", many(refused, "suite")));
    }
    line
}

/// The worst that happened.
pub(super) fn worst(report: &Report) -> RowVerdict {
    match report.exit_code() {
        0 if report.totals.unjudged > 0 && report.totals.pass + report.totals.absorbed == 0 => RowVerdict::Unjudged,
        0 => RowVerdict::Pass,
        1 => RowVerdict::Fail,
        _ => RowVerdict::Error,
    }
}

/// How many rows changed in which way: `1 worse, 2 better`; nothing when none did.
pub(super) fn flips(flips: &Flips) -> String {
    let Flips { worse, better, other, added, gone, rates } = flips;
    let counts = [
        (worse.len(), "worse"),
        (better.len(), "better"),
        (other.len(), "otherwise"),
        (added.len(), "new"),
        (gone.len(), "gone"),
    ];
    let mut parts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    if !rates.is_empty() {
        parts.push(format!("{} at another rate", many(rates.len(), "test")));
    }
    parts.join(", ")
}

/// Such as `✗ fail, was pass: books a seat, in tests/weather.yml`.
pub(super) fn flip(flip: &Flip) -> String {
    let name = if flip.name == flip.file {
        printable(&flip.file).into_owned()
    } else {
        format!("{}, in {}", printable(&flip.name), printable(&flip.file))
    };
    let sign = |verdict: RowVerdict| mark(verdict).0;
    match (flip.before, flip.after) {
        (Some(before), Some(after)) => format!("{} {after}, was {before}: {name}", sign(after)),
        (None, Some(after)) => format!("{} {after}, new: {name}", sign(after)),
        (Some(before), None) => format!("- gone, was {before}: {name}"),
        (None, None) => name,
    }
}
