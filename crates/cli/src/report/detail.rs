//! The details of a row, as lines that are the same in every text report.

use mcptest_core::diag::printable;
use mcptest_core::eval::GateFailure;
use mcptest_core::json;
use mcptest_core::judge::{CheckResult, Receipt, Recovered};
use mcptest_core::report::{Row, RowVerdict};
use mcptest_core::{AssertionDiff, Verdict};
use serde_json::Value;

use super::evidence::{self, listed};
use super::paint::Tone;
use super::rerun_command;
use super::text::{indent, lines, many, one_line, wrap};

/// Most reasons of one check, and most differences of one reason.
const MAX_REASONS: usize = 10;
const MAX_DIFFS: usize = 8;

/// Most characters of a value.
const MAX_VALUE: usize = 80;

/// A line and its indentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) depth: usize,
    pub(super) text: String,
    pub(super) tone: Tone,
    /// It is not wrapped: a command to copy, or a line with carets below it.
    is_fixed: bool,
}

impl Line {
    /// The line as text of this width.
    pub(super) fn put(&self, out: &mut String, width: usize, is_colored: bool) {
        let mut text = String::new();
        if self.is_fixed {
            text = format!("{}{}\n", " ".repeat(indent(self.depth)), self.text);
        } else {
            wrap(&mut text, width, indent(self.depth), &self.text);
        }
        out.push_str(&self.tone.paint(&text, is_colored));
    }

    /// The line without wrapping.
    pub(super) fn plain(&self) -> String {
        format!("{}{}", "  ".repeat(self.depth), self.text)
    }
}

struct Lines {
    all: Vec<Line>,
    width: usize,
}

impl Lines {
    fn add(&mut self, depth: usize, text: impl Into<String>) {
        self.toned(depth, Tone::Plain, text);
    }

    fn toned(&mut self, depth: usize, tone: Tone, text: impl Into<String>) {
        self.all.push(Line { depth, text: text.into(), tone, is_fixed: false });
    }

    fn fixed(&mut self, depth: usize, tone: Tone, text: impl Into<String>) {
        self.all.push(Line { depth, text: text.into(), tone, is_fixed: true });
    }

    fn all(&mut self, depth: usize, texts: Vec<String>) {
        for text in texts {
            self.add(depth, text);
        }
    }
}

/// The mark and the word of a verdict; either one suffices, also without color.
pub(super) fn mark(verdict: RowVerdict) -> (&'static str, &'static str) {
    match verdict {
        RowVerdict::Pass => ("✓", "PASS"),
        RowVerdict::Fail => ("✗", "FAIL"),
        RowVerdict::Inconclusive => ("≈", "INCONCLUSIVE"),
        RowVerdict::Unassessable => ("?", "UNASSESSABLE"),
        RowVerdict::Error => ("!", "ERROR"),
        RowVerdict::Absorbed => ("~", "ABSORBED"),
        RowVerdict::Skipped => ("-", "SKIPPED"),
        RowVerdict::Unjudged => ("·", "UNJUDGED"),
    }
}

/// Everything below the name of a row: checks with their numbers, reasons, differences, receipts, and for a row that failed the
/// evidence, the place in the suite, and the command to run it again. An absorbed run does not count as failed.
pub(super) fn explain(row: &Row, file: &str, width: usize) -> Vec<Line> {
    let mut out = Lines { all: Vec::new(), width };
    reasons(row, &mut out);
    push_other_details(row, &mut out);
    if row.verdict.is_bad() {
        if row.checks.iter().any(|checked| checked.verdict == Verdict::Fail) {
            for (depth, text) in evidence::lines(row) {
                out.add(depth, text);
            }
        }
        place(row, file, &mut out);
        if let Some(command) = rerun_command::command(row, file) {
            out.fixed(0, Tone::Advice, format!("rerun: {command}"));
        }
    }
    out.all
}

/// Details other than checks: outcomes of faults, advice of a model.
pub(super) fn other_details(row: &Row, width: usize) -> Vec<Line> {
    let mut out = Lines { all: Vec::new(), width };
    push_other_details(row, &mut out);
    out.all
}

/// The details without the calls: runs that are grouped failed for the same reasons, but with different calls.
pub(super) fn text_without_calls(row: &Row) -> String {
    let mut out = Lines { all: Vec::new(), width: usize::MAX };
    reasons(row, &mut out);
    push_other_details(row, &mut out);
    out.all.iter().map(Line::plain).collect::<Vec<_>>().join("\n")
}

fn reasons(row: &Row, out: &mut Lines) {
    if let Some(error) = &row.error {
        let label = error.code.map_or_else(String::new, |_| format!("{}: ", error.label()));
        out.all(0, lines(&format!("{label}{}", error.message)));
        if let Some(hint) = &error.hint {
            out.toned(0, Tone::Advice, format!("hint: {}", one_line(hint)));
        }
    }
    for checked in &row.checks {
        check(checked, out);
    }
}

fn push_other_details(row: &Row, out: &mut Lines) {
    for receipt in &row.receipts {
        out.add(0, receipt_line(receipt));
    }
    if let Some(advisory) = &row.advisory {
        out.add(0, format!("advisory, not judged: {}", one_line(advisory)));
    }
}

/// The place in the suite of what failed, and its line with carets.
fn place(row: &Row, file: &str, out: &mut Lines) {
    let file = printable(file);
    match &row.mark {
        Some(mark) => {
            out.toned(0, Tone::Place, format!("at {file}:{}:{}", mark.line, mark.column));
            // A terminal would break a line that is too long, and the carets would be in the wrong place.
            let room = out.width.saturating_sub(indent(0) + 1);
            let [above, text, carets] = mark.within(room).lines();
            let carets: String = carets.chars().take(room).collect();
            out.fixed(0, Tone::Place, above);
            out.fixed(0, Tone::Plain, json::cut(&text, room));
            out.fixed(0, Tone::Carets, carets);
        }
        None if row.line > 0 => out.toned(0, Tone::Place, format!("at {file}:{}", row.line)),
        None => {}
    }
}

/// The first failure of a row, on one line.
pub(super) fn reason(row: &Row) -> String {
    if let Some(trouble) = &row.error {
        return one_line(&trouble.message);
    }
    let worst = row.checks.iter().map(|checked| checked.verdict).max();
    let worst = row.checks.iter().find(|checked| Some(checked.verdict) == worst);
    worst.map_or_else(String::new, |checked| {
        let why = checked.failures.first().map_or(&checked.line, |failure| &failure.reason);
        format!("{}: {}", checked.name, one_line(why))
    })
}

/// A check and its numbers: `trajectory: 1 mismatch (strict)`.
pub(super) fn numbers(checked: &CheckResult) -> String {
    format!("{}: {}", checked.name, one_line(&checked.line))
}

fn check(checked: &CheckResult, out: &mut Lines) {
    let verdict = RowVerdict::from(checked.verdict);
    let (mark, _) = mark(verdict);
    // Some gates put their numbers into the reason; they are not repeated.
    let in_reason = checked.failures.first().is_some_and(|failure| failure.reason.starts_with(&checked.line));
    let mut failures = checked.failures.iter();
    match failures.next().filter(|_| in_reason) {
        Some(first) => {
            out.toned(0, Tone::Marked(verdict), format!("{mark} {}: {}", checked.name, one_line(&first.reason)));
            diffs(first, 1, out);
        }
        None => {
            out.toned(0, Tone::Marked(verdict), format!("{mark} {}", numbers(checked)));
            failures = checked.failures.iter();
        }
    }
    if checked.verdict == Verdict::Pass {
        return;
    }
    for failure in failures.by_ref().take(MAX_REASONS) {
        out.add(1, one_line(&failure.reason));
        diffs(failure, 2, out);
    }
    let more = failures.count();
    if more > 0 {
        out.add(1, format!("and {}", many(more, "more reason")));
    }
}

fn diffs(failure: &GateFailure, depth: usize, out: &mut Lines) {
    // A difference of the whole value is already in the reason, unless it was cut there.
    let quoted = |value: &Value| {
        let shown = json::excerpt(value, MAX_VALUE);
        !shown.ends_with('…') && failure.reason.contains(&shown)
    };
    // Reasons have numbers of gates with at most four decimals.
    let rounded = |value: &Value| {
        let text = value.as_f64().filter(|_| value.is_f64()).map(|number| format!("{number:.4}"));
        text.is_some_and(|text| failure.reason.contains(text.trim_end_matches('0')))
    };
    let is_new = |diff: &&AssertionDiff| {
        let mut sides = diff.expected.iter().chain(&diff.actual);
        !diff.path.is_empty() || !sides.all(|side| quoted(side) || rounded(side))
    };
    let mut all = failure.diffs.iter().filter(is_new);
    for found in all.by_ref().take(MAX_DIFFS) {
        diff(found, depth, out);
    }
    let more = all.count();
    if more > 0 {
        out.add(depth, format!("and {}", many(more, "more difference")));
    }
}

fn diff(diff: &AssertionDiff, depth: usize, out: &mut Lines) {
    let place = if diff.path.is_empty() { "value" } else { &diff.path };
    let mut head = one_line(place);
    if !diff.note.is_empty() {
        head.push_str(&format!(": {}", one_line(&diff.note)));
    }
    let (expected, recorded) = values(diff);
    let words = [expected.map(|text| format!("expected {text}")), recorded.map(|text| format!("recorded {text}"))];
    let words: Vec<String> = words.into_iter().flatten().collect();
    let line = [&[head.clone()], &*words].concat().join(", ");
    if indent(depth) + line.chars().count() <= out.width {
        return out.add(depth, line);
    }
    out.add(depth, head);
    out.all(depth + 1, words);
}

/// The two sides of a difference.
fn values(diff: &AssertionDiff) -> (Option<String>, Option<String>) {
    let shown = |text: &str| printable(text).into_owned();
    if let (Some(expected), Some(actual)) = (&diff.expected, &diff.actual) {
        let (expected, actual) = json::excerpts(expected, actual, MAX_VALUE);
        return (Some(shown(&expected)), Some(shown(&actual)));
    }
    let side = |value: &Option<Value>| value.as_ref().map(|value| shown(&json::excerpt(value, MAX_VALUE)));
    (side(&diff.expected), side(&diff.actual))
}

/// What became of one injected fault: `fault dead-search (hang): injected into calls 0, 1; hit twice; recovered by call 2`.
fn receipt_line(receipt: &Receipt) -> String {
    let injected = match &*receipt.injected {
        [] => "injected into no call".to_owned(),
        [one] => format!("injected into call {one}"),
        several => format!("injected into calls {}", listed(several.iter().map(ToString::to_string))),
    };
    let met = match receipt.met.len() {
        0 if !receipt.injected.is_empty() => "answered late, none denied".to_owned(),
        0 => "never hit".to_owned(),
        1 => "hit once".to_owned(),
        2 => "hit twice".to_owned(),
        times => format!("hit {times} times"),
    };
    let recovered = match receipt.recovered {
        Recovered::Unmet => String::new(),
        Recovered::Call(at) => format!("; recovered by call {at}"),
        Recovered::Answer => "; answered without the tool".to_owned(),
        Recovered::Not => "; not recovered".to_owned(),
    };
    format!("fault {} ({}): {injected}; {met}{recovered}", one_line(&receipt.fault), receipt.kind)
}

#[cfg(test)]
mod tests {
    use mcptest_core::eval::Metrics;
    use mcptest_core::trace::FaultKind;
    use serde_json::json;

    use super::*;

    fn lines_of(fill: impl FnOnce(&mut Lines)) -> Vec<String> {
        let mut out = Lines { all: Vec::new(), width: 100 };
        fill(&mut out);
        out.all.into_iter().map(|line| format!("{}{}", "  ".repeat(line.depth), line.text)).collect()
    }

    fn between(expected: Option<Value>, actual: Option<Value>) -> Vec<String> {
        let found = AssertionDiff { path: "/a".to_owned(), expected, actual, note: "differs".to_owned() };
        lines_of(|out| diff(&found, 0, out))
    }

    #[test]
    fn a_difference_is_one_line_where_it_fits() {
        assert_eq!(between(Some(json!(1)), Some(json!("x"))), ["/a: differs, expected 1, recorded \"x\""]);
        assert_eq!(between(Some(json!(1)), None), ["/a: differs, expected 1"]);
        assert_eq!(between(None, Some(json!(1))), ["/a: differs, recorded 1"]);
        assert_eq!(between(None, None), ["/a: differs"]);
        let long = "x".repeat(40);
        let quoted = format!("\"{long}\"");
        assert_eq!(
            between(Some(json!(long)), Some(json!(quoted))),
            ["/a: differs".to_owned(), format!("  expected {quoted}"), format!("  recorded \"\\\"{long}\\\"\"")]
        );
    }

    #[test]
    fn long_values_are_shown_where_they_differ() {
        let same = "0123456789".repeat(10);
        let end = "e".repeat(200);
        assert_eq!(
            between(Some(json!(format!("{same}A{end}"))), Some(json!(format!("{same}B")))),
            [
                "/a: differs".to_owned(),
                format!("  expected …01234567890123456789A{}…", "e".repeat(59)),
                "  recorded …01234567890123456789B\"".to_owned(),
            ]
        );
        // Values that differ early are shown from their start.
        assert_eq!(
            between(Some(json!(format!("A{same}"))), Some(json!("B"))),
            ["/a: differs".to_owned(), format!("  expected \"A{}…", &same[..78]), "  recorded \"B\"".to_owned()]
        );
    }

    #[test]
    fn a_difference_in_the_reason_is_not_repeated() {
        let failure = |reason: &str, expected: Value, path: &str| GateFailure {
            target: "t".to_owned(),
            reason: reason.to_owned(),
            diffs: vec![AssertionDiff {
                path: path.to_owned(),
                expected: Some(expected),
                actual: Some(json!(2)),
                note: "differs".to_owned(),
            }],
        };
        let diff_lines = |failure: GateFailure| lines_of(|out| diffs(&failure, 0, out));
        assert_eq!(diff_lines(failure("`t` is 2, expected exact 1", json!(1), "")), [""; 0]);
        let again = ["value: differs, expected 1, recorded 2"];
        assert_eq!(diff_lines(failure("`t` is wrong, expected exact 1", json!(1), "")), again);
        assert_eq!(
            diff_lines(failure("`t` is 2, expected exact 1", json!(1), "/b")),
            ["/b: differs, expected 1, recorded 2"]
        );
        let mut third = failure("`t` is 0.3333, expected exact 1", json!(1), "");
        third.diffs[0].actual = Some(json!(1.0 / 3.0));
        assert_eq!(diff_lines(third.clone()), [""; 0]);
        third.diffs[0].actual = Some(json!(0.3334));
        assert_eq!(diff_lines(third), ["value: differs, expected 1, recorded 0.3334"]);
        let long = "x".repeat(100);
        let cut = format!("`t` is 2, expected exact {}", json::excerpt(&json!(long), 80));
        assert_eq!(diff_lines(failure(&cut, json!(long), "")).len(), 3);
    }

    #[test]
    fn many_reasons_and_differences_are_counted_instead_of_listed() {
        let found = |at: usize| AssertionDiff {
            path: format!("/{at}"),
            expected: None,
            actual: None,
            note: "missing".to_owned(),
        };
        let failures = (0..12).map(|at| GateFailure {
            target: "t".to_owned(),
            reason: format!("reason {at}"),
            diffs: if at == 0 { (0..9).map(found).collect() } else { Vec::new() },
        });
        let checked = CheckResult {
            gate: None,
            name: "expect",
            verdict: Verdict::Fail,
            line: "0 of 12 assertions passed".to_owned(),
            metrics: Metrics::default(),
            failures: failures.collect(),
            picture: None,
            first: None,
        };
        let mut expected = vec!["✗ expect: 0 of 12 assertions passed".to_owned(), "  reason 0".to_owned()];
        expected.extend((0..8).map(|at| format!("    /{at}: missing")));
        expected.push("    and 1 more difference".to_owned());
        expected.extend((1..10).map(|at| format!("  reason {at}")));
        expected.push("  and 2 more reasons".to_owned());
        assert_eq!(lines_of(|out| check(&checked, out)), expected);
    }

    #[test]
    fn a_receipt_shows_the_outcome_of_a_fault() {
        let line = |injected: &[usize], met: &[usize], recovered: Recovered| {
            receipt_line(&Receipt {
                fault: "f".to_owned(),
                kind: FaultKind::Hang,
                injected: injected.to_vec(),
                met: met.to_vec(),
                ms: 0,
                recovered,
            })
        };
        assert_eq!(line(&[], &[], Recovered::Unmet), "fault f (hang): injected into no call; never hit");
        assert_eq!(
            line(&[4], &[], Recovered::Unmet),
            "fault f (hang): injected into call 4; answered late, none denied"
        );
        assert_eq!(line(&[4], &[4], Recovered::Not), "fault f (hang): injected into call 4; hit once; not recovered");
        assert_eq!(
            line(&[4], &[4], Recovered::Answer),
            "fault f (hang): injected into call 4; hit once; answered without the tool"
        );
        let all: Vec<usize> = (0..22).collect();
        assert_eq!(
            line(&all, &[1, 2, 3], Recovered::Call(22)),
            "fault f (hang): injected into calls 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, and \
             2 more; hit 3 times; recovered by call 22"
        );
    }
}
