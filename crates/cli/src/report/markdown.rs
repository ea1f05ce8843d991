//! The report for pull requests: flipped verdicts, then failures, then pass rates of tests with several runs.

use std::collections::BTreeMap;

use mcptest_core::diag::printable;
use mcptest_core::json;
use mcptest_core::report::{Family, Paths, Report, Row, RowOrder, RowVerdict};

use super::comparison::{self, Compared};
use super::detail::{Line, explain, mark, reason, text_without_calls};
use super::style::WIDTH;
use super::text::{many, runs as numbers};
use super::{paths, summary};
use crate::console::escape;

/// Most bytes of a comment; platforms reject longer ones.
pub(super) const COMMENT: usize = 60_000;

/// Most characters of a name in a table.
const MAX_NAME: usize = 160;

/// Most rows of one table.
const MAX_ROWS: usize = 50;

/// The report, in at most this many bytes.
pub(super) fn text(report: &Report, compared: Option<&Compared>, most: usize) -> String {
    let mut out = format!("## {}\n\n{}\n", title(report, compared), summary::totals(report));
    let origins = summary::origins(report);
    if !origins.is_empty() {
        out.push_str(&format!("\nRuns: {origins}.\n"));
    }
    let facts = summary::facts(report);
    if !facts.is_empty() {
        let facts: Vec<String> = facts.iter().map(|(name, value)| format!("{}: {}", name, code(value))).collect();
        out.push_str(&format!("\n{}\n", facts.join(", ")));
    }
    for note in &report.notes {
        out.push_str(&format!("\n> {}\n", code(&note.text)));
    }
    if let Some(compared) = compared {
        out.push_str(&comparison::section(compared));
    }
    // The printed text is measured: platforms reject a comment that is too long.
    let mut out = escape(&out);
    let runs = escape(&runs(report));
    failures(report, most.saturating_sub(out.len() + runs.len()), &mut out);
    out.push_str(&runs);
    out
}

fn title(report: &Report, compared: Option<&Compared>) -> String {
    let counts = report.counts();
    let bad: usize =
        RowVerdict::ALL.iter().filter(|verdict| verdict.is_bad()).map(|verdict| counts.verdicts.of(*verdict)).sum();
    let bad = match (counts.tests, counts.unread) {
        (0, 0) if bad == 0 && counts.unmet > 0 => many(counts.unmet, "task"),
        (0, 0) => many(bad, "trace"),
        (0, unread) => many(bad + unread, "record"),
        (_, _) => many(bad, "test"),
    };
    match report.exit_code() {
        0 if compared.is_some_and(Compared::has_regressed) => "✗ mcptest: tests regressed".to_owned(),
        0 if counts.verdicts.inconclusive > 0 => {
            format!("✓ mcptest: nothing failed, {} inconclusive, which is allowed", counts.verdicts.inconclusive)
        }
        0 => "✓ mcptest: everything passed".to_owned(),
        1 => format!("✗ mcptest: {bad} failed"),
        _ if report.totals.error == 0 => "! mcptest: not everything could run".to_owned(),
        _ => format!("! mcptest: {bad} failed or could not run"),
    }
}

/// Everything that does not pass, up to the size limit.
fn failures(report: &Report, most: usize, out: &mut String) {
    let mut text = String::new();
    let mut left_out = 0;
    for suite in &report.suites {
        let refused = suite.refused.as_ref().map(|why| {
            let why: Vec<String> = why.trim_end().lines().map(|line| printable(line).into_owned()).collect();
            details("! ERROR", &suite.file, "", "the suite could not be used", &why)
        });
        let blocks = merge_runs(&suite.rows).into_iter().map(|(row, runs)| failure(row, &runs, &suite.file));
        for block in refused.into_iter().chain(blocks).map(|block| escape(&block)) {
            if left_out > 0 || text.len() + block.len() > most {
                left_out += 1;
            } else {
                text.push_str(&block);
            }
        }
    }
    if text.is_empty() && left_out == 0 {
        return;
    }
    out.push_str(&format!("\n### Failures\n{text}"));
    if left_out > 0 {
        out.push_str(&format!("\nand {}, omitted for space\n", many(left_out, "more failure")));
    }
}

/// Rows that did not pass, in order; runs of a test with the same failure are one entry with all their numbers.
fn merge_runs(rows: &[Row]) -> Vec<(&Row, Vec<u64>)> {
    let mut out: Vec<(&Row, Vec<u64>)> = Vec::new();
    let mut known: BTreeMap<(String, RowVerdict, &str, String), usize> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.verdict.is_bad()) {
        let Some((name, run)) = row.name_without_run().zip(row.run) else {
            out.push((row, Vec::new()));
            continue;
        };
        let at = *known.entry((name, row.verdict, row.source(), text_without_calls(row))).or_insert(out.len());
        if at == out.len() {
            out.push((row, Vec::new()));
        }
        out[at].1.push(run);
    }
    out
}

fn failure(row: &Row, runs: &[u64], file: &str) -> String {
    let (mark, word) = mark(row.verdict);
    let lines: Vec<String> = explain(row, file, WIDTH).iter().map(Line::plain).collect();
    let name = match row.name_without_run() {
        Some(name) => format!("{name} {}", numbers(runs)),
        None => row.name.clone(),
    };
    details(&format!("{mark} {word}"), &name, row.source(), &reason(row), &lines)
}

fn details(verdict: &str, name: &str, source: &str, reason: &str, lines: &[String]) -> String {
    let source = if source.is_empty() { String::new() } else { format!(" ({source})") };
    let text = lines.join("\n");
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    // Inside code, GitHub does not turn `@name` into a mention or text into links.
    format!(
        "\n<details><summary>{verdict} <code>{}</code>{source}: <code>{}</code></summary>\n\n{fence}text\n{text}\n{fence}\n\n</details>\n",
        html(&printable(&json::cut(name, MAX_NAME))),
        html(reason)
    )
}

/// Tests with several runs: how many pass, and by which paths.
fn runs(report: &Report) -> String {
    let mut table = String::new();
    let mut count = 0;
    for suite in &report.suites {
        let mut rows = suite.rows.iter().peekable();
        let (mut ways, mut passed, mut all) = (Paths::default(), 0, 0);
        let mut name = None;
        while let Some(row) = rows.next() {
            let is_last = rows.peek().is_none_or(|next| !RowOrder::of(row).goes_on_with(next));
            if row.family == Family::Run && row.run.is_some() {
                name = name.or_else(|| row.name_without_run());
                let is_pass = row.verdict == RowVerdict::Pass;
                // A run that was not made, or could not be judged, has no path.
                if !matches!(row.verdict, RowVerdict::Skipped | RowVerdict::Error) {
                    ways.add(row.trace.as_deref(), is_pass);
                }
                passed += usize::from(is_pass);
                all += 1;
            }
            if is_last {
                if let Some(name) = name.take() {
                    count += 1;
                    if count <= MAX_ROWS {
                        let ways = paths::one_line(&ways);
                        table.push_str(&format!("| {} | {passed}/{all} | {} |\n", cell(&name), cell(&ways)));
                    }
                }
                (ways, passed, all) = (Paths::default(), 0, 0);
            }
        }
    }
    if table.is_empty() {
        return table;
    }
    let mut out =
        format!("\n### Tests with several runs\n\n| test | runs pass | paths |\n| --- | --- | --- |\n{table}");
    if count > MAX_ROWS {
        out.push_str(&format!("\nand {}\n", many(count - MAX_ROWS, "more test")));
    }
    out
}

/// Text of a table: as code, so that text from an agent or a suite creates no mentions or links.
pub(crate) fn cell(text: &str) -> String {
    if text.is_empty() { String::new() } else { code(text).replace('|', "\\|") }
}

pub(crate) fn code(text: &str) -> String {
    let text = printable(&json::cut(text, MAX_NAME)).replace('\t', " ");
    let fence = "`".repeat(longest_run(&text) + 1);
    // The delimiters of a code span must not touch a backtick of its text.
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Text with HTML tags escaped.
fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
