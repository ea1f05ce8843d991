//! Gates and their metrics.

use mcptest_core::eval::{GATES, GateInfo, MetricInfo, MetricKind, RunScope};

use super::page::{Page, capital};

/// Points of a guide that are shown unless all are requested: as many as fit on one screen.
const READING: usize = 2;
const LIMITS: usize = 2;

/// The gate of a name; with `all`, in full.
pub(super) fn gate(name: &str, all: bool, page: &mut Page) {
    let Some(gate) = GATES.iter().find(|gate| gate.kind.name().eq_ignore_ascii_case(name)) else { return };
    let guide = gate.kind.guide();
    let reads = match gate.scope {
        RunScope::PerRun => "a gate, reads each run",
        RunScope::OverRuns => "a gate, reads all runs together",
    };
    page.subject(gate.kind.name(), reads);
    page.text(gate.question);
    page.text(guide.measures);
    if !guide.example.is_empty() {
        page.heading("Example");
        page.code(guide.example);
    }
    if !gate.params.is_empty() {
        page.heading("Parameters");
        page.table(gate.params.iter().map(|param| (param.name, param.meaning)));
    }
    page.heading("Metrics");
    let names: Vec<String> = gate.metrics.iter().map(|metric| format!("{}.{}", gate.prefix, metric.name)).collect();
    page.item("", &names.join(", "));
    let bounds: Vec<String> = gate
        .default
        .iter()
        .map(|bound| format!("`{}.{}` is at least {}", gate.prefix, bound.metric, bound.at_least))
        .collect();
    page.text(&format!("Without `expect:` it passes when {}.", bounds.join(" and ")));
    let (reading, limits) = if all { (usize::MAX, usize::MAX) } else { (READING, LIMITS) };
    page.points("How to read it", guide.reading.iter().copied().take(reading));
    page.points("What it cannot detect", guide.limits.iter().copied().take(limits));
    if all {
        if !guide.formula.is_empty() {
            page.heading("How its numbers are computed");
            page.code(guide.formula);
        }
        page.points("Where it comes from", [guide.source]);
    } else {
        page.text(&format!(
            "`mcptest explain {} --all` shows everything; `mcptest explain {}` explains a metric.",
            gate.kind, names[0]
        ));
    }
}

/// The metric of a name, with or without its gate.
pub(super) fn metric(name: &str, page: &mut Page) {
    let wanted = name.split('[').next().unwrap_or(name).to_lowercase();
    for gate in &GATES {
        for metric in gate.metrics {
            let full = format!("{}.{}", gate.prefix, metric.name);
            // `passed` alone is a metric of several gates; each is explained.
            if full == wanted || metric.name == wanted {
                explain_metric(gate, metric, &full, page);
            }
        }
    }
}

fn explain_metric(gate: &GateInfo, metric: &MetricInfo, full: &str, page: &mut Page) {
    page.subject(full, &format!("a metric of {}", gate.kind));
    page.text(&format!("{}.", capital(metric.meaning)));
    page.heading("About it");
    page.item("value", metric.kind.describe());
    let read = match gate.scope {
        RunScope::PerRun => "one run",
        RunScope::OverRuns => "all runs of a test",
    };
    page.item("computed of", read);
    page.item("when absent", "the recording lacks what it is computed from, and an assertion on it is `unassessable`");
    for bound in gate.default.iter().filter(|bound| bound.metric == metric.name) {
        page.item("by default", &format!("the gate passes when it is at least {}", bound.at_least));
    }
    page.heading("An assertion on it");
    page.code(&format!(
        "{}:\n  expect:\n    - {{ target: {full}{}, matcher: {} }}",
        gate.kind,
        if metric.kind == MetricKind::Percents { "[1]" } else { "" },
        matcher(metric.kind)
    ));
    let formula = gate.kind.guide().formula;
    if !formula.is_empty() {
        page.heading(&format!("How {} computes", gate.kind));
        page.code(formula);
    }
}

fn matcher(kind: MetricKind) -> &'static str {
    match kind {
        MetricKind::Flag => "{ exact: 1 }",
        MetricKind::Count => "{ schema: { maximum: 2 } }",
        MetricKind::Ratio => "{ schema: { minimum: 0.7 } }",
        MetricKind::Percent | MetricKind::Percents => "{ schema: { minimum: 80 } }",
        MetricKind::Millis => "{ schema: { maximum: 5000 } }",
    }
}

/// What is wrong with a target below a gate, and a suggestion.
pub(super) fn refused(root: &str, name: &str) -> Option<(String, String)> {
    let gates: Vec<&GateInfo> = GATES.iter().filter(|gate| gate.prefix == root || gate.kind.name() == root).collect();
    let first = gates.first()?;
    let known: Vec<String> = gates
        .iter()
        .flat_map(|gate| {
            let metrics = gate.metrics.iter().map(|metric| format!("{}.{}", gate.prefix, metric.name));
            metrics.chain(gate.params.iter().map(|param| format!("{}.{}", gate.kind, param.name)))
        })
        .collect();
    let asked = format!("{root}.{name}");
    let hint = mcptest_core::diag::suggest(&asked, known.iter().map(String::as_str));
    Some((format!("`{}` has no metric and no parameter `{name}`", first.kind), hint))
}
