//! The comparison for pull requests.

use mcptest_core::compare::{Comparison, Passes, TestComparison};

use super::sides::Named;
use super::text::{details, headline, is_quiet, label, measures, ordered, shown_p, sign, totals};
use crate::report::markdown::{cell, code};
use crate::report::text::many;

/// Most tests in the table.
const MAX_ROWS: usize = 100;

/// Maximum items of one kind listed per test.
const MAX_DRIFT: usize = 5;

pub(super) fn text(found: &Comparison, old: &Named, new: &Named) -> String {
    let mut out = format!("## {} mcptest compare: {}\n\n", sign(found.outcome), headline(found));
    out.push_str(&format!("{} → {}: {}.\n", code(&old.name), code(&new.name), totals(found)));
    if let Some(measures) = measures(&found.measures) {
        out.push_str(&format!("\nPer run: {measures}.\n"));
    }
    let shown: Vec<&TestComparison> = ordered(found).into_iter().filter(|test| !is_quiet(test)).collect();
    if !shown.is_empty() {
        out.push_str("\n| result | test | before | after | p | adjusted |\n| --- | --- | --- | --- | --- | --- |\n");
        for test in shown.iter().take(MAX_ROWS) {
            let side = |passes: Passes| format!("{}/{}", passes.passed, passes.runs);
            let p_value = |p_value: Option<f64>| p_value.map_or_else(String::new, shown_p);
            out.push_str(&format!(
                "| {} {} | {} | {} | {} | {} | {} |\n",
                sign(test.outcome),
                test.outcome,
                cell(&label(test)),
                side(test.old),
                side(test.new),
                p_value(test.p_value),
                p_value(test.adjusted),
            ));
        }
    }
    if shown.len() > MAX_ROWS {
        out.push_str(&format!("\nand {}\n", many(shown.len() - MAX_ROWS, "more test")));
    }
    let explained = shown.iter().take(MAX_ROWS).filter_map(|test| {
        let lines = details(test, MAX_DRIFT);
        (!lines.is_empty()).then_some((test, lines))
    });
    let mut has_details = false;
    for (test, lines) in explained {
        if !std::mem::replace(&mut has_details, true) {
            out.push_str("\n<details><summary>What changed</summary>\n");
        }
        out.push_str(&format!("\n{}\n", code(&label(test))));
        for line in lines {
            out.push_str(&format!("- {}\n", code(&line)));
        }
    }
    if has_details {
        out.push_str("\n</details>\n");
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
    out
}
