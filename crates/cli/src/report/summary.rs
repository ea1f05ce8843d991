//! The summary lines of reports.

use mcptest_core::diag::Code;
use mcptest_core::report::{Counts, Family, Origin, Report, Row, RowVerdict, Totals};

use super::text::many;

/// Such as "9 tests, 22 runs: 7 passed, 1 failed, 1 error".
pub(super) fn totals(report: &Report) -> String {
    let Counts { tests, runs, traces, unread, unmet, groups, verdicts } = report.counts();
    let counted = [(tests, "test"), (runs, "run"), (traces, "trace"), (groups, "group")];
    let counted: Vec<String> =
        counted.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| many(count, noun)).collect();
    let mut line = match counted.as_slice() {
        [] if unread + unmet > 0 => "no traces".to_owned(),
        [] => "no tests".to_owned(),
        counted => format!("{}: {}", counted.join(", "), self::verdicts(&verdicts)),
    };
    if report.allows_inconclusive && verdicts.inconclusive > 0 {
        line.push_str(" (allowed)");
    }
    if unread > 0 {
        line.push_str(&format!("; {} could not be read", many(unread, "record")));
    }
    if unmet > 0 {
        line.push_str(&format!("; {} without a trace", many(unmet, "task")));
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

/// Where the evidence of the runs comes from, as in "22 replayed (2 edited), 4 rerun"; empty if it is unknown for every run.
pub(super) fn origins(report: &Report) -> String {
    let rows = || report.suites.iter().flat_map(|suite| &suite.rows).filter(|row| row.family == Family::Run);
    let origins = Origin::ALL.iter().map(|origin| Some(*origin)).chain([None]);
    let parts = origins.filter_map(|origin| {
        let of = || rows().filter(|row| row.origin == origin);
        match (origin, of().count(), of().filter(|row| row.edited).count()) {
            (Some(_), 0, _) | (None, _, 0) => None,
            (Some(origin), count, 0) => Some(format!("{count} {origin}")),
            (Some(origin), count, edited) => Some(format!("{count} {origin} ({edited} edited)")),
            (None, _, edited) => Some(format!("{edited} edited")),
        }
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Facts about the run, by their names: its labels, and what the runs cost where that is known.
pub(super) fn facts(report: &Report) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = report.labels.clone().into_iter().collect();
    let rows = report.suites.iter().flat_map(|suite| &suite.rows);
    let is_run = |row: &&Row| row.family == Family::Run && row.run.is_some() && row.verdict != RowVerdict::Skipped;
    let (mut cost, mut known, mut all) = (0.0, 0, 0);
    for row in rows.filter(is_run) {
        all += 1;
        cost += row.cost.unwrap_or(0.0);
        known += usize::from(row.cost.is_some());
    }
    if known > 0 && !report.labels.contains_key("cost") {
        let of = if known < all { format!(" for {known} of {}", many(all, "run")) } else { String::new() };
        out.push(("cost".to_owned(), format!("{cost:.4}{of}")));
    }
    out
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
