//! The generated parts of `docs/gates.md` and of one page per gate below `docs/gates/`.

use mcptest_core::eval::{GateInfo, RunScope};

use super::keys::{Page, inner, key_table, row, table};
use super::lines::{item, paragraph};

/// One row per gate, linked to its page below `folder`.
pub(super) fn overview(gates: &[GateInfo], folder: &str) -> String {
    let mut rows = table(&["gate", "reads", "question"]);
    for gate in gates {
        let link = format!("[`{name}`]({folder}{name}.md)", name = gate.kind);
        rows.push_str(&row(&[&link, scope(gate.scope), gate.question]));
    }
    rows
}

/// The parameters, metrics and default of every gate.
pub(super) fn summaries(gates: &[GateInfo]) -> String {
    let mut text = String::new();
    for gate in gates {
        text.push_str(&format!("## {}\n\n{} [More](gates/{}.md).\n\n", gate.kind, gate.question, gate.kind));
        let names = |names: Vec<String>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let params = gate.params.iter().map(|param| param.name.to_owned()).chain(["expect".to_owned()]).collect();
        let metrics = gate.metrics.iter().map(|metric| format!("{}.{}", gate.prefix, metric.name)).collect();
        text.push_str(&item(&format!("parameters: {}", names(params))));
        text.push_str(&item(&format!("metrics: {}", names(metrics))));
        text.push_str(&item(&format!("default: {}", default(gate))));
        text.push('\n');
    }
    text
}

/// What a gate measures and how to read it.
pub(super) fn guide(gate: &GateInfo) -> String {
    let (kind, guide) = (gate.kind, gate.kind.guide());
    let mut text = format!("{}\n\n", gate.question);
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
    text
}

/// Parameters, metrics, formula, limits and source of a gate.
pub(super) fn reference(gate: &GateInfo) -> String {
    let guide = gate.kind.guide();
    let mut text = format!("## Parameters\n\n{}", parameters(gate));
    text.push_str(&format!("\n## Metrics\n\n{}\nDefault assertion: {}.\n", metrics(gate), default(gate)));
    text.push_str(&format!("\n## How it is computed\n\n```text\n{}\n```\n", guide.formula));
    text.push_str("\n## Limits\n\n");
    guide.limits.iter().for_each(|point| text.push_str(&item(point)));
    text.push_str(&format!("\n## Background\n\n{}", paragraph(guide.source)));
    text
}

fn parameters(gate: &GateInfo) -> String {
    if gate.params.is_empty() {
        return "Only `expect`, a list of [assertions](../suite.md#assertion).\n".to_owned();
    }
    let page = Page::Gate(gate.kind);
    let mut text = key_table("parameter", gate.params, page);
    text.push_str("\nAlso `expect`, a list of [assertions](../suite.md#assertion).\n");
    for block in gate.params.iter().filter_map(|param| inner(&param.value_type)) {
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
