//! The comparison as text, and the texts that the other outputs share.

use mcptest_core::compare::{Comparison, GateShift, Measure, ModelComparison, Outcome, Passes, Shift, TestComparison};
use mcptest_core::diag::printable;

use super::Compared;
use crate::report::style::WIDTH;
use crate::report::text::{hang, many, one_line};

/// Maximum tests and drifted items shown.
const MAX_TESTS: usize = 20;
const MAX_DRIFT: usize = 3;

pub(super) fn pretty(compared: &Compared, verbose: bool) -> String {
    let Compared { old, new, found } = compared;
    let mut out = String::new();
    hang(&mut out, WIDTH, 0, 2, &format!("{}: {} -> {}", headline(found), one_line(old), one_line(new)));
    body(found, verbose, WIDTH, 0, &mut out);
    out
}

/// What changed since an older run, below the report of the new one.
pub(in crate::report) fn since(compared: &Compared, verbose: bool, width: usize) -> String {
    let mut out = String::new();
    hang(&mut out, width, 0, 2, &format!("since {}: {}", one_line(&compared.old), headline(&compared.found)));
    body(&compared.found, verbose, width, 2, &mut out);
    out
}

/// Everything but the first line.
fn body(found: &Comparison, verbose: bool, width: usize, margin: usize, out: &mut String) {
    let mut line = |indent: usize, text: &str| hang(out, width, margin + indent, margin + indent + 2, text);
    line(0, &totals(found));
    for measure in measures(&found.measures) {
        line(0, &measure);
    }
    for model in &found.models {
        line(0, &self::model(model));
    }
    let shown: Vec<&TestComparison> = ordered(found).into_iter().filter(|test| verbose || !is_quiet(test)).collect();
    let most = if verbose { shown.len() } else { MAX_TESTS };
    for test in shown.iter().take(most) {
        line(0, &format!("{} {:<12}  {}", sign(test.outcome), test.outcome.as_str(), one_line(&label(test))));
        line(4, &rates(test));
        for detail in details(test, if verbose { usize::MAX } else { MAX_DRIFT }) {
            line(4, &one_line(&detail));
        }
    }
    if shown.len() > most {
        line(0, &format!("and {}; --verbose shows them", many(shown.len() - most, "more test")));
    }
    let quiet = found.tests.len() - shown.len();
    if quiet > 0 {
        line(0, &format!("= {} without a change", many(quiet, "test")));
    }
    for (names, where_) in [(&found.gone, "OLD"), (&found.added, "NEW")] {
        if !names.is_empty() {
            line(0, &format!("only in {where_}: {}", listed(names, verbose)));
        }
    }
    for note in &found.notes {
        line(0, &format!("note: {}", one_line(note)));
    }
}

fn model(found: &ModelComparison) -> String {
    let ModelComparison { model, tests, old, new, .. } = found;
    let mut out = format!("{} {:<12}  model {}: ", sign(found.outcome), found.outcome.as_str(), one_line(model));
    out.push_str(&format!(
        "{}, {} before, {} after",
        many(*tests, "test"),
        rate(old.passed, old.runs),
        rate(new.passed, new.runs)
    ));
    if let (Some(p_value), Some(adjusted)) = (found.p_value, found.adjusted) {
        out.push_str(&format!("; pooled p {}, adjusted {}", shown_p(p_value), shown_p(adjusted)));
    }
    if found.has_drift {
        out.push_str("; it drifted");
    }
    out
}

fn listed(names: &[String], verbose: bool) -> String {
    let most = if verbose { names.len() } else { 5 };
    let mut out = names.iter().take(most).map(|name| printable(name).into_owned()).collect::<Vec<_>>().join(", ");
    if names.len() > most {
        out.push_str(&format!(" and {} more", names.len() - most));
    }
    out
}

/// Such as `regressed, pooled p 0.0012`.
pub(in crate::report) fn headline(found: &Comparison) -> String {
    let p_value =
        found.pooled.map_or_else(|| "no test could be compared".to_owned(), |p| format!("pooled p {}", shown_p(p)));
    format!("{}, {p_value}", found.outcome)
}

/// Passes of all tests, and how far apart they are.
pub(super) fn totals(found: &Comparison) -> String {
    let sum = |side: fn(&TestComparison) -> Passes| {
        found.tests.iter().map(side).fold((0, 0), |(passed, runs), one| (passed + one.passed, runs + one.runs))
    };
    let ((old, old_runs), (new, new_runs)) = (sum(|test| test.old), sum(|test| test.new));
    let mut out =
        format!("{}, {} before, {} after", many(found.tests.len(), "test"), rate(old, old_runs), rate(new, new_runs));
    if let Some((estimate, low, high)) = found.difference {
        out.push_str(&format!(
            "; difference {} points, 90% interval {} to {}",
            points(estimate),
            points(low),
            points(high)
        ));
    }
    out
}

fn rate(passed: u64, runs: u64) -> String {
    if runs == 0 {
        return "no judged runs".to_owned();
    }
    format!("{passed}/{runs} runs pass ({:.1}%)", 100.0 * passed as f64 / runs as f64)
}

fn points(share: f64) -> String {
    let points = format!("{:+.1}", 100.0 * share);
    if points == "-0.0" { "+0.0".to_owned() } else { points }
}

/// The rates of a test with their intervals, and the test of the difference.
pub(super) fn rates(test: &TestComparison) -> String {
    let side = |passes: Passes| match passes.runs {
        0 => "no judged runs".to_owned(),
        runs => {
            let (low, high) = passes.interval();
            format!("{}/{runs} ({:.1}% to {:.1}%)", passes.passed, 100.0 * low, 100.0 * high)
        }
    };
    let mut out = format!("{} -> {}", side(test.old), side(test.new));
    if let (Some(p_value), Some(adjusted)) = (test.p_value, test.adjusted) {
        let method = match &test.flips {
            Some((lost, gained)) => format!("{} lost, {} gained, McNemar", lost.len(), gained.len()),
            None => "not paired, Fisher".to_owned(),
        };
        out.push_str(&format!("; {method} p {}, adjusted {}", shown_p(p_value), shown_p(adjusted)));
    }
    out
}

/// Further details about a test, with at most `most` items of each kind.
pub(super) fn details(test: &TestComparison, most: usize) -> Vec<String> {
    let mut out = Vec::new();
    if let Some((old, new)) = &test.models {
        out.push(format!("model: {old} -> {new}"));
    }
    if let Some((lost, gained)) = &test.flips {
        for (ids, what) in [(lost, "lost"), (gained, "gained")] {
            if !ids.is_empty() {
                let more = ids.len().saturating_sub(10);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                out.push(format!("{what}: run {}{more}", ids.iter().take(10).cloned().collect::<Vec<_>>().join(", ")));
            }
        }
    }
    out.extend(measures(&test.measures));
    for (shifts, what, unit) in [
        (&test.drift.paths, "path", "run"),
        (&test.drift.tools, "tool", "call"),
        (&test.drift.shapes, "arguments", "call"),
    ] {
        for (is_new, sign, word) in [(true, "+", "gained"), (false, "-", "lost")] {
            let of = |shift: &&Shift| (shift.old == 0) == is_new;
            for shift in shifts.iter().filter(of).take(most) {
                let count = if is_new { shift.new } else { shift.old };
                let count = many(usize::try_from(count).unwrap_or(usize::MAX), unit);
                out.push(format!("{sign} {what} {word}: {} ({count})", shift.name));
            }
            let all = shifts.iter().filter(of).count();
            if all > most {
                out.push(format!("{sign} and {} {word}", many(all - most, &format!("more {what}"))));
            }
        }
    }
    for GateShift { name, old, new } in &test.drift.gates {
        out.push(format!("{name} over all runs: {old} -> {new}"));
    }
    if let Some((old, new)) = test.drift.refusals {
        out.push(format!("refusals: {old} -> {new}"));
    }
    out.extend(test.notes.iter().map(|note| format!("note: {note}")));
    out
}

/// Means per run, such as `per run: calls 5.1 -> 4.8 (-5.9%)`, with the time on its own line: it differs from run to run.
pub(super) fn measures(found: &[Measure]) -> Vec<String> {
    let one = |measure: &Measure| {
        let Measure { name, old, new } = *measure;
        let (digits, unit) = match name {
            "cost" => (4, ""),
            "duration_ms" => (1, " ms"),
            _ => (1, ""),
        };
        let change = if old > 0.0 { format!(" ({:+.1}%)", 100.0 * (new - old) / old) } else { String::new() };
        if old.to_bits() == new.to_bits() {
            format!("{old:.digits$}{unit}")
        } else {
            format!("{old:.digits$}{unit} -> {new:.digits$}{unit}{change}")
        }
    };
    let (time, rest): (Vec<&Measure>, Vec<&Measure>) = found.iter().partition(|measure| measure.name == "duration_ms");
    let rest: Vec<String> = rest.into_iter().map(|measure| format!("{} {}", measure.name, one(measure))).collect();
    let rest = (!rest.is_empty()).then(|| format!("per run: {}", rest.join(", ")));
    rest.into_iter().chain(time.into_iter().map(|time| format!("time per run: {}", one(time)))).collect()
}

/// The name of a test, and its suite where there is one.
pub(super) fn label(test: &TestComparison) -> String {
    if test.suite.is_empty() { test.name.clone() } else { format!("{}, in {}", test.name, test.suite) }
}

/// Tests, those that say most first.
pub(super) fn ordered(found: &Comparison) -> Vec<&TestComparison> {
    let rank = |outcome: Outcome| match outcome {
        Outcome::Regressed => 0,
        Outcome::Improved => 1,
        Outcome::Inconclusive => 2,
        Outcome::Same => 3,
    };
    let mut out: Vec<&TestComparison> = found.tests.iter().collect();
    out.sort_by(|a, b| {
        let p_value = |test: &TestComparison| test.p_value.unwrap_or(1.0);
        rank(a.outcome).cmp(&rank(b.outcome)).then(p_value(a).total_cmp(&p_value(b)))
    });
    out
}

/// Whether there is nothing to say about a test.
pub(super) fn is_quiet(test: &TestComparison) -> bool {
    let is_changed =
        |measure: &Measure| measure.old.to_bits() != measure.new.to_bits() && measure.name != "duration_ms";
    let has_flips = test.flips.as_ref().is_some_and(|(lost, gained)| !lost.is_empty() || !gained.is_empty());
    (test.outcome == Outcome::Same || test.is_unjudged())
        && test.drift.is_empty()
        && test.notes.is_empty()
        && !has_flips
        && !test.measures.iter().any(is_changed)
}

pub(super) fn sign(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Regressed => "✗",
        Outcome::Improved => "✓",
        Outcome::Same => "=",
        Outcome::Inconclusive => "≈",
    }
}

pub(super) fn shown_p(p_value: f64) -> String {
    if p_value < 0.0001 { "below 0.0001".to_owned() } else { format!("{p_value:.4}") }
}
