//! Gates on a recorded trace: `cargo run -q -p mcptest-core --example score [TRACE.json]`.
//!
//! Without a file it reads the trace in `examples/data/trace.json`: an agent that books a seat, meets a dead tool,
//! tries again and writes an email. With a file it shows what needs no parameters: the session's sub-scores.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example reads a file and prints; the library does neither"
)]

use std::error::Error;

use mcptest_core::eval::stability::SUB_SCORES;
use mcptest_core::eval::{
    DependencyEdge, ExpectedArgs, ExpectedCall, GateOutcome, GoldenPath, GoldenPathGate, MatchMode, NarrativeGate,
    NarrativeParams, OrderEdge, RecoveryGate, RecoveryParams, ReliabilityGate, ReliabilityParams, StabilityGate,
    StabilityParams, TrajectoryAxesGate, TrajectoryAxesParams, TrajectoryGate, TrajectoryParams,
};
use mcptest_core::{Trace, Verdict, json};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1) {
        Some(path) => {
            let trace = read(&std::fs::read_to_string(&path)?).map_err(|error| format!("{path}: {error}"))?;
            sub_scores(&trace);
            Ok(())
        }
        None => all_gates(&read(include_str!("data/trace.json"))?),
    }
}

/// A text is read strictly twice: as JSON without duplicate keys, then as a trace.
fn read(text: &str) -> Result<Trace, Box<dyn Error>> {
    Ok(Trace::from_envelope(&json::parse(text)?)?)
}

fn sub_scores(trace: &Trace) {
    let session = mcptest_core::eval::stability::Session::of(trace);
    for (name, score) in SUB_SCORES.iter().zip(&session.scores) {
        let value = score.value.map_or_else(|| "absent".to_owned(), |value| format!("{value:.2}"));
        println!("{name:<22}{value:<8}{}", score.reason);
    }
}

fn all_gates(trace: &Trace) -> Result<(), Box<dyn Error>> {
    let trajectory = TrajectoryGate::new(TrajectoryParams {
        mode: MatchMode::Subsequence,
        calls: vec![
            ExpectedCall { name: "find_trains".into(), args: ExpectedArgs::Subset(json!({ "to": "Bergen" })) }.into(),
            ExpectedCall { name: "hold_seat".into(), args: ExpectedArgs::Exact(json!({ "train": "R61", "class": 2 })) }
                .into(),
            ExpectedCall::by_name("send_email").into(),
        ],
        ..TrajectoryParams::default()
    })?;
    let axes = TrajectoryAxesGate::new(TrajectoryAxesParams {
        dependencies: vec![DependencyEdge {
            producer: "find_trains".into(),
            consumer: "hold_seat".into(),
            via: Some("train".into()),
            ..DependencyEdge::default()
        }],
        order: vec![OrderEdge { first: "hold_seat".into(), second: "send_email".into(), required: true }],
        ..TrajectoryAxesParams::default()
    })?;
    let golden = GoldenPathGate::new(GoldenPath::new(["find_trains", "hold_seat", "send_email"]).into())?;
    let recovery = RecoveryGate::new(RecoveryParams {
        max_recovery_ms: Some(5000),
        require_clean_timeout: true,
        require_call: true,
        ..RecoveryParams::default()
    })?;
    let narrative = NarrativeGate::new(NarrativeParams::default())?;
    let (trajectory, recovery) = (trajectory.evaluate(trace), recovery.evaluate(trace));
    let passed = trajectory.verdict == Verdict::Pass && recovery.verdict == Verdict::Pass;
    show("trajectory", &trajectory);
    show("trajectory_axes", &axes.evaluate(trace));
    show("golden_path", &golden.evaluate(trace));
    show("recovery", &recovery);
    show("narrative", &narrative.evaluate(trace));
    // Gates over runs need several runs. Here one trace stands for three identical runs.
    show("stability", &StabilityGate::new(StabilityParams::default())?.evaluate(&[trace, trace, trace]));
    show("reliability", &ReliabilityGate::new(ReliabilityParams::default())?.evaluate(&[passed; 3]));
    Ok(())
}

fn show<D>(gate: &str, outcome: &GateOutcome<D>) {
    if outcome.failures.is_empty() {
        println!("{:<6}{gate:<17}{}", outcome.verdict.as_str(), outcome.line);
    }
    for failure in &outcome.failures {
        println!("{:<6}{gate:<17}{}", outcome.verdict.as_str(), failure.reason);
    }
}
