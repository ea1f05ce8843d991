//! The comparison as one JSON object.

use mcptest_core::compare::{Comparison, Measure, Passes, Shift, TestComparison};
use mcptest_core::json::Layout;
use serde_json::{Value, json};

use super::sides::Named;

pub(super) fn text(found: &Comparison, old: &Named, new: &Named) -> String {
    let value = json!({
        "verdict": found.outcome.as_str(),
        "old": old.name,
        "new": new.name,
        "pooled": {
            "p_value": found.pooled,
            "difference": found.difference.map(|(estimate, low, high)| json!({ "estimate": estimate, "low": low, "high": high })),
        },
        "tests": found.tests.iter().map(test).collect::<Vec<_>>(),
        "only_old": found.gone,
        "only_new": found.added,
        "measures": measures(&found.measures),
        "notes": found.notes,
    });
    Layout::PRETTY.text(&value) + "\n"
}

fn test(found: &TestComparison) -> Value {
    let side = |passes: Passes| {
        let (low, high) = passes.interval();
        json!({ "runs": passes.runs, "passed": passes.passed, "low": low, "high": high })
    };
    let mut out = json!({
        "name": found.name,
        "old": side(found.old),
        "new": side(found.new),
        "p_value": found.p_value,
        "adjusted_p_value": found.adjusted,
        "method": if found.flips.is_some() { "mcnemar" } else { "fisher" },
        "verdict": found.outcome.as_str(),
        "difference": found.difference.map(|(low, high)| json!({ "low": low, "high": high })),
        "measures": measures(&found.measures),
        "drift": {
            "paths": shifts(&found.drift.paths),
            "tools": shifts(&found.drift.tools),
            "shapes": shifts(&found.drift.shapes),
            "refusals": found.drift.refusals.map(|(old, new)| json!({ "old": old, "new": new })),
        },
        "notes": found.notes,
    });
    if let Some((lost, gained)) = &found.flips {
        out["flips"] = json!({ "lost": lost, "gained": gained });
    }
    if !found.suite.is_empty() {
        out["suite"] = json!(found.suite);
    }
    if let Some((old, new)) = &found.models {
        out["models"] = json!({ "old": old, "new": new });
    }
    out
}

fn measures(found: &[Measure]) -> Value {
    found
        .iter()
        .map(|one| (one.name.to_owned(), json!({ "old": one.old, "new": one.new })))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn shifts(found: &[Shift]) -> Value {
    found.iter().map(|shift| json!({ "name": shift.name, "old": shift.old, "new": shift.new })).collect()
}
