//! `docs/gates.md` and a page per gate below `docs/gates/`, made from the table of gates and what there is to say about
//! each. One part of a page is written by hand, between two marks: runs that fail, with what they print.

use mcptest_core::eval::{GateInfo, RunScope};

use super::keys::{Page, inner, key_table, row, table};
use super::lines::{item, paragraph};
use crate::failure::Failure;

const BY_HAND: &str = "<!-- written by hand from here -->";
const BY_HAND_END: &str = "<!-- to here -->";

/// One row per gate, linked to its page below `folder`.
pub(super) fn overview(gates: &[GateInfo], folder: &str) -> String {
    let mut rows = table(&["gate", "reads", "question"]);
    for gate in gates {
        let link = format!("[`{name}`]({folder}{name}.md)", name = gate.kind);
        rows.push_str(&row(&[&link, scope(gate.scope), gate.question]));
    }
    rows
}

/// What holds for every gate, and what each has, at a glance.
pub(super) fn index(gates: &[GateInfo]) -> String {
    let mut text = String::from(
        "<!-- Written by `cargo xtask gen` from crates/core/src/eval/table.rs. Edit the table, not this file. -->\n\
         # Gates\n\n\
         A gate computes metrics from recorded evidence and asserts on them. Its verdict is `pass`, `fail`, `unassessable` (the\n\
         recording lacks the evidence to decide) or `error` (it could not be evaluated). Gates are pure functions of the\n\
         recording: no model is called, and the same recording gives the same verdict everywhere.\n\n\
         Put a gate in a test of a [suite](suite.md#agent-test), or in a [gates file](suite.md#gates-file) to\n\
         [score existing traces](scoring.md). Each gate has a page with what it measures, how to read its output, how its\n\
         metrics are computed, and its limits. `mcptest explain GATE` prints the same in a terminal.\n\n",
    );
    text.push_str(&overview(gates, "gates/"));
    text.push_str(
        "\n## Rules for every gate\n\n\
         - Every gate takes `expect`: a list of [assertions](suite.md#assertion) on its own metrics. They replace the default\n\
        \x20 assertion and nothing else: a limit set by a parameter applies with or without `expect`.\n\
         - A metric without evidence has no value, and an assertion on it is `unassessable`. That counts as a failure: no gate\n\
        \x20 passes because evidence is missing.\n\
         - A gate that reads each run is part of that run's result. A gate that reads all runs together has its own result, and\n\
        \x20 so does `recovery`.\n\
         - Reports for people round numbers; JSON has every digit.\n",
    );
    for gate in gates {
        text.push_str(&format!("\n## {}\n\n{} [More](gates/{}.md).\n\n", gate.kind, gate.question, gate.kind));
        let names = |names: Vec<String>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let params = gate.params.iter().map(|param| param.name.to_owned()).chain(["expect".to_owned()]).collect();
        let metrics = gate.metrics.iter().map(|metric| format!("{}.{}", gate.prefix, metric.name)).collect();
        text.push_str(&item(&format!("parameters: {}", names(params))));
        text.push_str(&item(&format!("metrics: {}", names(metrics))));
        text.push_str(&item(&format!("default: {}", default(gate))));
    }
    text
}

/// The page of a gate. What was written by hand is taken over from the page as it is.
pub(super) fn page(gate: &GateInfo, path: &str, old: &str) -> Result<String, Failure> {
    let (kind, guide) = (gate.kind, gate.kind.guide());
    let by_hand = by_hand(path, old)?;
    let mut text = format!(
        "<!-- Written by `cargo xtask gen` from crates/core/src/eval/table.rs and crates/core/src/eval/guide/{kind}.rs.\n     \
         Edit those. Only the part between the two marks below is written by hand. -->\n\
         # {kind}\n\n{}\n\n",
        gate.question
    );
    let reads = scope(gate.scope);
    text.push_str(&paragraph(&format!(
        "Reads: {reads}. In a terminal: `mcptest explain {kind}`. All gates: [gates](../gates.md)."
    )));
    text.push_str(&format!("\n## What it measures\n\n{}", paragraph(guide.measures)));
    text.push_str(&format!(
        "\nAs a [gates file](../suite.md#gates-file); in a suite, put the same block in a [test](../suite.md#agent-test):\n\n\
         ```yaml\n{}```\n",
        guide.example
    ));
    text.push_str("\n## How to read it\n\n");
    guide.reading.iter().for_each(|point| text.push_str(&item(point)));
    text.push_str(&format!("\n{BY_HAND}\n{by_hand}{BY_HAND_END}\n\n## Parameters\n\n"));
    text.push_str(&parameters(gate));
    text.push_str(&format!("\n## Metrics\n\n{}\nDefault assertion: {}.\n", metrics(gate), default(gate)));
    text.push_str(&format!("\n## How it is computed\n\n```text\n{}\n```\n", guide.formula));
    text.push_str("\n## Limits\n\n");
    guide.limits.iter().for_each(|point| text.push_str(&item(point)));
    text.push_str(&format!("\n## Background\n\n{}", paragraph(guide.source)));
    Ok(text)
}

/// The part that is written by hand, with the line breaks around it.
fn by_hand<'a>(path: &str, old: &'a str) -> Result<&'a str, Failure> {
    let part = old.split_once(BY_HAND).and_then(|(_, rest)| rest.split_once(BY_HAND_END)).map(|(part, _)| part);
    let part = part.and_then(|part| part.strip_prefix('\n')).unwrap_or_default();
    if part.lines().any(|line| line == "```console") {
        return Ok(part);
    }
    Err(Failure::broken(format!(
        "{path} shows no run\nhint: write a run that fails, as a `console` block, between the lines `{BY_HAND}` and \
         `{BY_HAND_END}`"
    )))
}

fn parameters(gate: &GateInfo) -> String {
    if gate.params.is_empty() {
        return "Only `expect`, a list of [assertions](../suite.md#assertion).\n".to_owned();
    }
    let page = Page::Gate(gate.kind);
    let mut text = key_table("parameter", gate.params, page);
    text.push_str("\nAlso `expect`, a list of [assertions](../suite.md#assertion).\n");
    for block in gate.params.iter().filter_map(|param| inner(&param.takes)) {
        let keys = key_table("key", block.keys, page);
        text.push_str(&format!("\n### {}\n\n{}\n\n{keys}", block.name, block.about));
    }
    text
}

fn metrics(gate: &GateInfo) -> String {
    let mut text = table(&["metric", "value", "meaning"]);
    for metric in gate.metrics {
        let target = format!("`{}.{}`", gate.prefix, metric.name);
        text.push_str(&row(&[&target, metric.kind.describe(), metric.meaning]));
    }
    text
}

/// The default assertion in words.
fn default(gate: &GateInfo) -> String {
    let bound = |bound: &mcptest_core::eval::Bound| {
        format!("`{}.{}` is at least {}", gate.prefix, bound.metric, bound.at_least)
    };
    gate.default.iter().map(bound).collect::<Vec<_>>().join(" and ")
}

fn scope(scope: RunScope) -> &'static str {
    match scope {
        RunScope::PerRun => "each run",
        RunScope::OverRuns => "all runs together",
    }
}

#[cfg(test)]
mod tests {
    use mcptest_core::eval::GATES;

    use super::*;

    const SHOWN: &str = "<!-- written by hand from here -->\n\nMine.\n\n```console\n$ true\n```\n\n<!-- to here -->\n";

    #[test]
    fn every_parameter_metric_and_default_of_every_gate_is_on_its_page_and_in_the_index() {
        let index = index(&GATES);
        for gate in &GATES {
            let page = page(gate, "x.md", SHOWN).unwrap();
            let (_, rest) = index.split_once(&format!("\n## {}\n", gate.kind)).expect(gate.prefix);
            let section = rest.split("\n## ").next().unwrap();
            for text in [gate.question, &default(gate)] {
                assert!(page.contains(text) && section.contains(text.split(' ').next().unwrap()), "{}", gate.kind);
            }
            for param in gate.params {
                assert!(page.contains(&format!("\n| `{}` | ", param.name)), "{}.{}", gate.kind, param.name);
                assert!(section.contains(&format!("`{}`", param.name)), "{}.{}", gate.kind, param.name);
            }
            for metric in gate.metrics {
                let target = format!("`{}.{}`", gate.prefix, metric.name);
                assert!(page.contains(&format!("\n| {target} | ")) && section.contains(&target), "{target}");
            }
        }
    }

    #[test]
    fn every_word_about_a_gate_is_on_its_page() {
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for gate in &GATES {
            let guide = gate.kind.guide();
            let page = page(gate, "x.md", SHOWN).unwrap();
            assert!(page.contains(guide.example) && page.contains(guide.formula), "{}", gate.kind);
            for text in guide.reading.iter().chain(guide.limits).chain([&guide.measures, &guide.source]) {
                assert!(flat(&page).contains(&flat(text)), "{}: {text}", gate.kind);
            }
        }
    }

    #[test]
    fn what_is_written_by_hand_stays_and_a_page_without_a_run_is_refused() {
        let gate = &GATES[0];
        let once = page(gate, "x.md", SHOWN).unwrap();
        assert!(once.contains(SHOWN));
        assert_eq!(page(gate, "x.md", &once), Ok(once.clone()));
        for old in ["", BY_HAND, &SHOWN.replace("console", "text"), &SHOWN.replace(BY_HAND_END, "")] {
            let failure = page(gate, "docs/gates/x.md", old).unwrap_err().to_string();
            assert!(failure.starts_with("docs/gates/x.md shows no run\nhint: write a run that fails"), "{failure}");
        }
    }

    #[test]
    fn lines_of_a_page_are_filled_up_to_a_width() {
        let word = "x".repeat(59);
        assert_eq!(paragraph(&format!("{word} {word} y z")), format!("{word} {word}\ny z\n"));
        assert_eq!(paragraph(&format!("{word} {word}x y")), format!("{word} {word}x\ny\n"));
        assert_eq!(item(&format!("{word} {word} y")), format!("- {word}\n  {word} y\n"));
    }
}
