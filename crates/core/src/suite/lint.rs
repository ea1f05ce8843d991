//! Warnings about suites that are valid but suspicious.

use std::collections::BTreeSet;
use std::ops::Range;

use super::lower::{Places, provider_of};
use super::yaml::Node;
use super::{AgentTest, Gates, Provider, Suite};
use crate::assertion::Assertion;
use crate::diag::{Code, Diagnostic};
use crate::eval::{GoldenPath, TrajectoryAxesGate, Verdict, score_golden_path};
use crate::judge;
use crate::trace::{Conversation, FaultKind, LazyText, StopReason, Tokens, ToolCall, Trace};

type Warn<'a> = dyn FnMut(Code, Range<usize>, String, &str) + 'a;
type PlaceOf<'a> = dyn Fn(&str) -> Range<usize> + 'a;

pub(super) fn lint(suite: &Suite, places: &Places, out: &mut Vec<Diagnostic>) {
    let mut warn = |code: Code, span: Range<usize>, message: String, hint: &str| {
        out.push(warning(code, span, message, hint));
    };
    lint_unused(suite, places, &mut warn);
    for (agent, keys) in suite.agents.iter().zip(&places.agents) {
        let place = |key: &str| keys.get(key).or_else(|| keys.get("name")).cloned().unwrap_or(0..0);
        lint_evidence(agent, &place, &mut warn);
        lint_gates(&agent.gates, &place, &mut warn);
        lint_reliability(agent, &place, &mut warn);
        lint_faults(suite, agent, &place, &mut warn);
        lint_temperature(suite, agent, &place, &mut warn);
    }
}

/// Entries that nothing in the suite uses.
fn lint_unused(suite: &Suite, places: &Places, warn: &mut Warn<'_>) {
    let used: BTreeSet<&String> = suite.agents.iter().flat_map(|agent| &agent.servers).collect();
    let targeted: BTreeSet<&String> = suite.faults.iter().filter_map(|fault| fault.server.as_ref()).collect();
    let injected: BTreeSet<usize> = suite.agents.iter().flat_map(|agent| agent.inject.iter().copied()).collect();
    for (name, span) in &places.servers {
        if !targeted.contains(name) && !used.contains(name) {
            warn(
                Code::UnusedEntry,
                span.clone(),
                format!("no test uses server `{name}`"),
                "remove it, or name it in a test's `servers:`",
            );
        }
    }
    for (at, fault) in suite.faults.iter().enumerate() {
        if !injected.contains(&at) {
            let message = format!("no test injects fault `{}`", fault.name);
            warn(Code::UnusedEntry, places.faults[at].clone(), message, "remove it, or name it in a test's `inject:`");
        }
    }
    let run: BTreeSet<&String> =
        suite.agents.iter().filter(|test| test.is_program).flat_map(|test| &test.models).collect();
    for (name, span) in places.programs.iter().filter(|(name, _)| !run.contains(name)) {
        let message = format!("no test runs program `{name}`");
        warn(Code::UnusedEntry, span.clone(), message, "remove it, or name it in a test's `program:`");
    }
    let (read, in_prompts) = (suite.variables_read(), suite.variables_in_prompts());
    for (name, span) in &places.public {
        if name == "SUITE_DIR" {
            warn(Code::UnusedPublicVariable, span.clone(), "`SUITE_DIR` is always public".to_owned(), "remove it");
        } else if !read.contains(name.as_str()) && !in_prompts.contains(name.as_str()) {
            let message = format!("nothing in this file uses variable `{name}`");
            warn(Code::UnusedPublicVariable, span.clone(), message, "correct the name, or remove it from `public:`");
        }
    }
}

/// Tests whose verdict does not depend on what the agent did.
fn lint_evidence(agent: &AgentTest, place: &PlaceOf<'_>, warn: &mut Warn<'_>) {
    if agent.gates.judges_runs() || !agent.expect.is_empty() {
        if rests_on_prose(&agent.expect, &agent.gates) {
            let message = format!("the verdict of `{}` rests on prose", agent.name);
            warn(Code::ReliesOnProse, place("expect"), message, PROSE_HINT);
        } else if passes_on_nothing(agent) {
            let hint = "add a `trajectory:` or an `expect:` that fails when the agent does nothing";
            warn(
                Code::PassesOnEmptyTrace,
                place("name"),
                format!("`{}` passes when the agent makes no calls", agent.name),
                hint,
            );
        }
    }
}

fn lint_reliability(agent: &AgentTest, place: &PlaceOf<'_>, warn: &mut Warn<'_>) {
    if let Some(gate) = &agent.gates.reliability {
        let runs = usize::try_from(agent.runs).unwrap_or(usize::MAX).min(10_000);
        // Some gates require a mix of outcomes. Try a few mixes to distinguish them from gates that never pass.
        let passes = |passed: usize| {
            let outcomes: Vec<_> = (0..runs).map(|at| at < passed).collect();
            gate.evaluate(&outcomes).verdict == Verdict::Pass
        };
        let mixes = (1..=8).map(|eighth| runs * eighth / 8).rev();
        if !mixes.into_iter().any(passes) && !passes(0) {
            let message = format!("`reliability` cannot pass with {} runs, regardless of their outcomes", agent.runs);
            let needed = gate.requirement().and_then(|requirement| requirement.straight_passes());
            let hint = needed.map_or_else(
                || "raise `runs:`, or lower the requirement".to_owned(),
                |needed| format!("set `runs:` to at least {needed}, or lower the requirement"),
            );
            warn(Code::ReliabilityCannotPass, place("reliability"), message, &hint);
        } else if passes(0) && passes(runs) {
            warn(
                Code::ReliabilityAlwaysPasses,
                place("reliability"),
                "`reliability` passes even when every run fails".to_owned(),
                "raise the requirement",
            );
        }
    }
}

fn lint_faults(suite: &Suite, agent: &AgentTest, place: &PlaceOf<'_>, warn: &mut Warn<'_>) {
    let budget = agent.gates.detection_budget_ms();
    for fault in agent.inject.iter().map(|at| &suite.faults[*at]) {
        if let Some(server) = fault.server.as_ref().filter(|server| !agent.servers.contains(server)) {
            let message = format!("`{}` targets server `{server}`, which this test does not use", fault.name);
            warn(
                Code::FaultOnUnusedServer,
                place("inject"),
                message,
                "add the server to the test's `servers:`, or inject another fault",
            );
        }
        // `recovery` can judge a late answer, unless it requires what only follows a timeout.
        let is_seen = agent
            .gates
            .recovery
            .as_ref()
            .is_some_and(|gate| !gate.params().require_call && !gate.params().require_clean_timeout);
        if fault.kind == FaultKind::Slow && fault.delay_ms < budget && !is_seen && !agent.is_program {
            let message = format!(
                "`{}` delays answers by {} ms, within the budget of {budget} ms, so it never causes a timeout",
                fault.name, fault.delay_ms
            );
            warn(
                Code::FaultWithinTimeout,
                place("inject"),
                message,
                "raise `delay_ms:` to the budget, or lower `max_detection_ms:`",
            );
        }
    }
}

fn lint_temperature(suite: &Suite, agent: &AgentTest, place: &PlaceOf<'_>, warn: &mut Warn<'_>) {
    if agent.temperature.is_some() && !agent.is_program {
        let rejects = |name: &&String| {
            let provider = suite.models.get(*name).map_or_else(|| provider_of(name), |model| Some(model.provider));
            provider == Some(Provider::Anthropic)
        };
        if let Some(name) = agent.models.iter().find(rejects) {
            warn(
                Code::TemperatureRefused,
                place("temperature"),
                format!("`{name}` rejects `temperature`"),
                "remove it; replays are repeatable without it",
            );
        }
    }
}

/// The checks of a gates file, or of one of its tasks; `is_alone` if no other checks apply to the same traces.
pub(super) fn gate_file(expect: &[Assertion], gates: &Gates, is_alone: bool, node: &Node, out: &mut Vec<Diagnostic>) {
    let place = |key: &str| {
        let entry = node.entries().iter().find(|entry| entry.key == key);
        entry.map_or(0..0, |entry| entry.key_span.clone())
    };
    let mut warn = |code, span, message, hint: &str| out.push(warning(code, span, message, hint));
    if is_alone && rests_on_prose(expect, gates) {
        warn(Code::ReliesOnProse, place("expect"), "the verdict rests on prose".to_owned(), PROSE_HINT);
    }
    lint_gates(gates, &place, &mut warn);
}

const PROSE_HINT: &str = "assert on tool_calls or tool_results: they show what the agent did";

fn warning(code: Code, span: Range<usize>, message: String, hint: &str) -> Diagnostic {
    Diagnostic::warning(span, message).code(code).hint(hint)
}

/// Gates that no run can fail, or that no run can pass.
fn lint_gates(gates: &Gates, place: &PlaceOf<'_>, warn: &mut Warn<'_>) {
    if let Some(gate) = gates.trajectory.as_ref().filter(|gate| gate.accepts_any_trace()) {
        let without = if gate.reference().next().is_some() { "with optional calls only" } else { "without calls" };
        let hint = if gate.reference().next().is_some() {
            "make a call required, or limit extra calls with `max_extra:`"
        } else {
            "list the calls in `calls:`; to allow no calls at all, write `mode: subset`"
        };
        warn(Code::EmptyTrajectory, place("trajectory"), format!("`trajectory` {without} passes on every trace"), hint);
    }
    if gates.trajectory_axes.as_ref().is_some_and(TrajectoryAxesGate::accepts_any_trace) {
        let hint = "name pairs of tools under `dependencies:` or `order:`";
        warn(
            Code::EmptyTrajectory,
            place("trajectory_axes"),
            "`trajectory_axes` without edges passes on every trace".to_owned(),
            hint,
        );
    }
    if let Some(gate) = &gates.golden_path
        && is_wasteful(&gate.params().golden)
    {
        let hint = "the path repeats or revisits a tool: shorten it, or turn off that penalty";
        warn(Code::WastefulGoldenPath, place("golden_path"), "the golden path is itself wasteful".to_owned(), hint);
    }
}

/// Whether every assertion reads the model's prose, and no gate reads what it did.
fn rests_on_prose(expect: &[Assertion], gates: &Gates) -> bool {
    let prose = |target: &str| {
        target == "final_response" || target.starts_with("final_response") || target.starts_with("conversation.turns")
    };
    !gates.judges_runs() && !expect.is_empty() && expect.iter().all(|assertion| prose(&assertion.target().to_string()))
}

/// Whether every per-run check passes on a run that did nothing.
fn passes_on_nothing(agent: &AgentTest) -> bool {
    let nothing = Trace {
        tool_calls: Some(Vec::new()),
        tool_results: Some(Vec::new()),
        final_response: Some(LazyText::default()),
        conversation: Conversation {
            turns: Some(Vec::new()),
            tokens: Tokens { total: Some(0), ..Tokens::default() },
            stop_reason: Some(StopReason::Completed),
            ..Conversation::default()
        },
        ..Trace::default()
    };
    judge::run_tersely(&agent.expect, &agent.gates, &nothing).iter().all(|check| check.verdict == Verdict::Pass)
}

fn is_wasteful(golden: &GoldenPath) -> bool {
    let calls: Vec<_> =
        golden.calls.iter().map(|name| ToolCall { name: name.clone(), ..ToolCall::default() }).collect();
    !score_golden_path(&calls, golden).passed
}
