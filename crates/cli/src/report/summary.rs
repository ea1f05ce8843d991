//! The summary lines of reports.

use mcptest_core::diag::{Code, printable};
use mcptest_core::report::{Change, Changes, Counts, Report, RowVerdict, Totals};

use super::detail::mark;
use super::text::many;

/// Such as "9 tests, 22 runs: 7 passed, 1 failed, 1 error".
pub(super) fn totals(report: &Report) -> String {
    let Counts { tests, runs, traces, unread, groups, verdicts } = report.counts();
    let counted = [(tests, "test"), (runs, "run"), (traces, "trace"), (groups, "group")];
    let counted: Vec<String> =
        counted.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| many(count, noun)).collect();
    let mut line = match counted.as_slice() {
        [] if unread > 0 => "no traces".to_owned(),
        [] => "no tests".to_owned(),
        counted => format!("{}: {}", counted.join(", "), self::verdicts(&verdicts)),
    };
    if report.allows_inconclusive && verdicts.inconclusive > 0 {
        line.push_str(" (allowed)");
    }
    if unread > 0 {
        line.push_str(&format!("; {} could not be read", many(unread, "record")));
    }
    if report.refused > 0 {
        line.push_str(&format!("; {} could not be used", many(report.refused, "suite")));
    }
    line
}

/// How many have each verdict, as in "7 passed, 1 failed, 1 error".
pub(crate) fn verdicts(totals: &Totals) -> String {
    let counts = RowVerdict::ALL.iter().map(|verdict| (totals.of(*verdict), verdict));
    let parts = counts.filter(|(count, _)| *count > 0).map(|(count, verdict)| match verdict {
        RowVerdict::Pass => format!("{count} passed"),
        RowVerdict::Fail => format!("{count} failed"),
        RowVerdict::Error => many(count, "error"),
        RowVerdict::Unjudged => format!("{count} not judged"),
        RowVerdict::Inconclusive | RowVerdict::Unassessable | RowVerdict::Absorbed | RowVerdict::Skipped => {
            format!("{count} {verdict}")
        }
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// The first code of an error, which `mcptest explain` explains.
pub(super) fn first_code(report: &Report) -> Option<Code> {
    let mut rows = report.suites.iter().flat_map(|suite| &suite.rows);
    rows.find_map(|row| row.error.as_ref()?.code)
}

pub(super) fn worst(report: &Report) -> RowVerdict {
    match report.exit_code() {
        0 if report.totals.unjudged > 0 && report.totals.pass + report.totals.absorbed == 0 => RowVerdict::Unjudged,
        0 => RowVerdict::Pass,
        1 => RowVerdict::Fail,
        _ => RowVerdict::Error,
    }
}

/// How many rows changed and how: `1 worse, 2 better`; nothing if none did.
pub(super) fn changes(changes: &Changes) -> String {
    let Changes { worse, better, other, added, gone, rates } = changes;
    let counts = [
        (worse.len(), "worse"),
        (better.len(), "better"),
        (other.len(), "changed"),
        (added.len(), "new"),
        (gone.len(), "removed"),
    ];
    let mut parts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    if !rates.is_empty() {
        parts.push(format!("{} with a different pass rate", many(rates.len(), "test")));
    }
    parts.join(", ")
}

/// Such as `✗ fail, was pass: books a seat, in tests/weather.yml`.
pub(super) fn change(change: &Change) -> String {
    let name = if change.name == change.file {
        printable(&change.file).into_owned()
    } else {
        format!("{}, in {}", printable(&change.name), printable(&change.file))
    };
    let sign = |verdict: RowVerdict| mark(verdict).0;
    match (change.before, change.after) {
        (Some(before), Some(after)) => format!("{} {after}, was {before}: {name}", sign(after)),
        (None, Some(after)) => format!("{} {after}, new: {name}", sign(after)),
        (Some(before), None) => format!("- removed, was {before}: {name}"),
        (None, None) => name,
    }
}
