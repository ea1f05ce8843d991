//! Small builders that several areas share.

use mcptest_core::eval::{
    Expect, GateKind, GateOutcome, RecoveryGate, RecoveryParams, ReliabilityGate, ReliabilityParams, StabilityGate,
    StabilityParams,
};
use mcptest_core::{Assertion, Scope, Trace, Verdict};
use serde_json::{Value, json};

/// A trace that must be readable.
pub(crate) fn read(envelope: Value) -> Trace {
    Trace::from_envelope(&envelope).unwrap()
}

/// A trace that called these tools, without arguments and without anything else known.
pub(crate) fn called(names: &[&str]) -> Trace {
    let calls: Vec<_> = names.iter().map(|name| json!({ "name": name, "server": "s", "args": {} })).collect();
    read(json!({ "tool_calls": calls }))
}

/// The gate with its default parameters.
pub(crate) fn stability() -> StabilityGate {
    StabilityGate::new(StabilityParams::default()).unwrap()
}

/// The gate with its default parameters.
pub(crate) fn reliability() -> ReliabilityGate {
    ReliabilityGate::new(ReliabilityParams::default()).unwrap()
}

/// The gate with its default parameters.
pub(crate) fn recovery() -> RecoveryGate {
    RecoveryGate::new(RecoveryParams::default()).unwrap()
}

/// The author's own assertions.
pub(crate) fn own(kind: GateKind, assertions: &[(&str, Value)]) -> Expect {
    let compile = |(target, matcher): &(&str, Value)| {
        Assertion::compile(Scope::Gate(kind), target, matcher, None).unwrap_or_else(|problems| panic!("{problems}"))
    };
    Expect::Custom(assertions.iter().map(compile).collect())
}

/// Verdict and reasons, as `target: reason`.
pub(crate) fn judged<D>(outcome: &GateOutcome<D>) -> (Verdict, Vec<String>) {
    let reasons = outcome.failures.iter().map(|failure| format!("{}: {}", failure.target, failure.reason));
    (outcome.verdict, reasons.collect())
}

/// A list nested `levels` deep.
pub(crate) fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}
