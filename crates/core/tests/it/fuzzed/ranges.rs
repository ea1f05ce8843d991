//! What metrics may be: the names of the table, each with a number of its kind.

use mcptest_core::eval::{GateKind, MetricKind, Metrics};
use serde_json::Value;

/// Holds the metrics of a gate against its row of the table.
pub(crate) fn check(gate: GateKind, metrics: &Metrics) {
    let info = gate.info();
    for (name, value) in metrics.iter() {
        let metric = info.metrics.iter().find(|metric| metric.name == name);
        let metric = metric.unwrap_or_else(|| panic!("{gate}.{name} is not in the table"));
        assert!(is_of(metric.kind, &value), "{gate}.{name} is {value}, which is no {:?}", metric.kind);
    }
    // One that never happened, such as the time until a fault was noticed, has neither a value nor a gap in the evidence.
    let both = |name: &&str| metrics.get(name).is_some() && metrics.why_missing(name).is_some();
    let both = info.metrics.iter().map(|metric| metric.name).find(both);
    assert_eq!(both, None, "a metric of {gate} has a value and lacks the evidence for it");
}

fn is_of(kind: MetricKind, value: &Value) -> bool {
    let within = |most: f64| value.as_f64().is_some_and(|number| (0.0..=most).contains(&number));
    match kind {
        MetricKind::Flag => value.as_f64().is_some_and(|number| number == 0.0 || number == 1.0),
        MetricKind::Count => value.as_u64().is_some(),
        MetricKind::Ratio => within(1.0),
        MetricKind::Percent => within(100.0),
        MetricKind::Millis => within(f64::MAX),
        MetricKind::Percents => {
            value.as_array().is_some_and(|list| list.iter().all(|value| is_of(MetricKind::Percent, value)))
        }
    }
}
