//! The comparison for pull requests.

use mcptest_core::compare::{Comparison, Outcome, Passes, TestComparison};
use mcptest_core::json;

use super::Compared;
use super::text::{details, headline, is_quiet, label, measures, ordered, shown_p, sign, totals};
use crate::report::markdown::{cell, code};
use crate::report::text::many;

/// Most tests in the table.
const MAX_ROWS: usize = 50;

/// Most characters of a line about a test, and most bytes of all of them: platforms reject a comment that is too long.
const MAX_LINE: usize = 300;
const MAX_DETAILS: usize = 20_000;

/// Most things of a kind that a test lists.
const MAX_DRIFT: usize = 5;

pub(super) fn text(compared: &Compared) -> String {
    let Compared { old, new, found } = compared;
    let mut out = format!("## {} mcptest compare: {}\n\n", sign(found.outcome), headline(found));
    out.push_str(&format!("{} → {}: {}.\n", code(old), code(new), totals(found)));
    body(found, &mut out);
    out
}

/// What changed since an older run, in the report of the new one.
pub(in crate::report) fn section(compared: &Compared) -> String {
    let found = &compared.found;
    let mut out = format!("\n### {} Since {}: {}\n\n", sign(found.outcome), code(&compared.old), headline(found));
    out.push_str(&format!("{}.\n", totals(found)));
    body(found, &mut out);
    out
}

/// Everything but the heading and the totals.
fn body(found: &Comparison, out: &mut String) {
    for measure in measures(&found.measures) {
        out.push_str(&format!("\n{measure}\n"));
    }
    if !found.models.is_empty() {
        out.push_str("\n| result | model | before | after | p | adjusted |\n| --- | --- | --- | --- | --- | --- |\n");
        for model in &found.models {
            row(out, (model.outcome, &model.model), (model.old, model.new), (model.p_value, model.adjusted));
        }
    }
    let shown: Vec<&TestComparison> = ordered(found).into_iter().filter(|test| !is_quiet(test)).collect();
    if !shown.is_empty() {
        out.push_str("\n| result | test | before | after | p | adjusted |\n| --- | --- | --- | --- | --- | --- |\n");
        for test in shown.iter().take(MAX_ROWS) {
            row(out, (test.outcome, &label(test)), (test.old, test.new), (test.p_value, test.adjusted));
        }
    }
    if shown.len() > MAX_ROWS {
        out.push_str(&format!("\nand {}\n", many(shown.len() - MAX_ROWS, "more test")));
    }
    let explained = shown.iter().take(MAX_ROWS).filter_map(|test| {
        let lines = details(test, MAX_DRIFT);
        (!lines.is_empty()).then_some((test, lines))
    });
    let (mut details, mut left_out) = (String::new(), 0);
    for (test, lines) in explained {
        let mut one = format!("\n{}\n\n", cell(&label(test)));
        for line in lines {
            one.push_str(&format!("- {}\n", code(&json::cut(&line, MAX_LINE))));
        }
        if details.len() + one.len() > MAX_DETAILS {
            left_out += 1;
        } else {
            details.push_str(&one);
        }
    }
    if left_out > 0 {
        details.push_str(&format!("\nand {}\n", many(left_out, "more test")));
    }
    if !details.is_empty() {
        out.push_str(&format!("\n<details><summary>What changed</summary>\n{details}\n</details>\n"));
    }
    for (names, side) in [(&found.gone, "OLD"), (&found.added, "NEW")] {
        if !names.is_empty() {
            let listed: Vec<String> = names.iter().take(20).map(|name| code(name)).collect();
            let more = if names.len() > 20 { format!(" and {} more", names.len() - 20) } else { String::new() };
            out.push_str(&format!("\nOnly in {side}: {}{more}\n", listed.join(", ")));
        }
    }
    for note in &found.notes {
        out.push_str(&format!("\nNote: {}\n", code(note)));
    }
}

/// A row of a table.
fn row(
    out: &mut String,
    (outcome, name): (Outcome, &str),
    (old, new): (Passes, Passes),
    (p_value, adjusted): (Option<f64>, Option<f64>),
) {
    let side = |passes: Passes| format!("{}/{}", passes.passed, passes.runs);
    let shown = |p_value: Option<f64>| p_value.map_or_else(String::new, shown_p);
    let (mark, name, old, new) = (sign(outcome), cell(name), side(old), side(new));
    let (p_value, adjusted) = (shown(p_value), shown(adjusted));
    out.push_str(&format!("| {mark} {outcome} | {name} | {old} | {new} | {p_value} | {adjusted} |\n"));
}
