//! The comparison as one JSON object.

use mcptest_core::compare::{GateShift, Measure, ModelComparison, Passes, Shift, TestComparison};
use mcptest_core::json::Layout;
use serde_json::{Value, json};

use super::Compared;

pub(super) fn text(compared: &Compared) -> String {
    let Compared { old, new, found } = compared;
    let mut value = json!({
        "verdict": found.outcome.as_str(),
        "old": old,
        "new": new,
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
    if !found.models.is_empty() {
        value["models"] = found.models.iter().map(model).collect();
    }
    Layout::PRETTY.text(&value) + "\n"
}

fn test(found: &TestComparison) -> Value {
    let side = |passes: Passes| {
        let mut out = json!({ "runs": passes.runs, "passed": passes.passed });
        if passes.runs > 0 {
            let (low, high) = passes.interval();
            (out["low"], out["high"]) = (json!(low), json!(high));
        }
        out
    };
    let mut out = json!({
        "name": found.name,
        "old": side(found.old),
        "new": side(found.new),
        "p_value": found.p_value,
        "adjusted_p_value": found.adjusted,
        "verdict": found.outcome.as_str(),
        "difference": found.difference.map(|(low, high)| json!({ "low": low, "high": high })),
        "measures": measures(&found.measures),
        "drift": {
            "paths": shifts(&found.drift.paths),
            "tools": shifts(&found.drift.tools),
            "shapes": shifts(&found.drift.shapes),
            "gates": gates(&found.drift.gates),
            "refusals": found.drift.refusals.map(|(old, new)| json!({ "old": old, "new": new })),
        },
        "notes": found.notes,
    });
    if found.p_value.is_some() {
        out["method"] = json!(if found.flips.is_some() { "mcnemar" } else { "fisher" });
    }
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

fn model(found: &ModelComparison) -> Value {
    let side = |passes: Passes| json!({ "runs": passes.runs, "passed": passes.passed });
    json!({
        "name": found.model,
        "tests": found.tests,
        "old": side(found.old),
        "new": side(found.new),
        "p_value": found.p_value,
        "adjusted_p_value": found.adjusted,
        "verdict": found.outcome.as_str(),
        "drift": found.has_drift,
    })
}

fn gates(found: &[GateShift]) -> Value {
    found.iter().map(|gate| json!({ "name": gate.name, "old": gate.old, "new": gate.new })).collect()
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
