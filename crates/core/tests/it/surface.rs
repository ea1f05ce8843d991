//! The promised surface of the library: every name, with its signature, and no visible module beyond those listed.

use mcptest_core::eval::recovery::Recovery;
use mcptest_core::eval::stability::Session;
use mcptest_core::eval::trajectory_axes::EdgeResult;
use mcptest_core::eval::{
    CallRule, Confidence, DependencyEdge, ExpectedArgs, ExpectedCall, ExpectedTrace, ExtractionMode, GateOutcome,
    GoldenPath, GoldenPathGate, GoldenPathParams, MatchMode, NarrativeGate, NarrativeParams, NarrativeReport,
    OrderEdge, PathScore, RecoveryGate, RecoveryMarks, RecoveryParams, RecoveryReport, ReliabilityError,
    ReliabilityGate, ReliabilityParams, ReliabilitySummary, StabilityAcross, StabilityFloors, StabilityGate,
    StabilityParams, StabilityReport, TraceMismatch, TraceValidation, TrajectoryAxesGate, TrajectoryAxesParams,
    TrajectoryGate, TrajectoryParams,
};
use mcptest_core::trace::ToolCall;
use mcptest_core::{
    Assertion, AssertionDiff, ConversationTrace, JsonError, Matcher, Problem, Problems, Scope, Target, Trace, Verdict,
};
use serde_json::Value;

/// Modules that the documentation shows.
const MODULES: [&str; 5] = ["assertion", "eval", "matcher", "target", "trace"];

#[test]
fn only_the_promised_modules_are_visible() {
    let source = include_str!("../../src/lib.rs");
    let lines: Vec<&str> = source.lines().collect();
    let is_visible = |at: usize| at == 0 || lines[at - 1] != "#[doc(hidden)]";
    let visible: Vec<_> = lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| Some((at, line.strip_prefix("pub mod ")?.strip_suffix(';')?)))
        .filter(|(at, _)| is_visible(*at))
        .map(|(_, name)| name)
        .collect();
    assert_eq!(visible, MODULES);
}

#[test]
fn every_gate_is_built_and_evaluated_the_same_way() {
    let _: fn(TrajectoryParams) -> Result<TrajectoryGate, Problems> = TrajectoryGate::new;
    let _: fn(TrajectoryAxesParams) -> Result<TrajectoryAxesGate, Problems> = TrajectoryAxesGate::new;
    let _: fn(GoldenPathParams) -> Result<GoldenPathGate, Problems> = GoldenPathGate::new;
    let _: fn(StabilityParams) -> Result<StabilityGate, Problems> = StabilityGate::new;
    let _: fn(ReliabilityParams) -> Result<ReliabilityGate, Problems> = ReliabilityGate::new;
    let _: fn(RecoveryParams) -> Result<RecoveryGate, Problems> = RecoveryGate::new;
    let _: fn(NarrativeParams) -> Result<NarrativeGate, Problems> = NarrativeGate::new;
    let _: fn(&TrajectoryGate, &Trace) -> GateOutcome<TraceValidation> = TrajectoryGate::evaluate;
    let _: fn(&TrajectoryAxesGate, &Trace) -> GateOutcome<Vec<EdgeResult>> = TrajectoryAxesGate::evaluate;
    let _: fn(&GoldenPathGate, &Trace) -> GateOutcome<Option<PathScore>> = GoldenPathGate::evaluate;
    let _: fn(&StabilityGate, &[&Trace]) -> GateOutcome<Vec<Session>> = StabilityGate::evaluate;
    let _: fn(&ReliabilityGate, &[bool]) -> GateOutcome<ReliabilitySummary> = ReliabilityGate::evaluate;
    let _: fn(&RecoveryGate, &Trace) -> GateOutcome<Option<Recovery>> = RecoveryGate::evaluate;
    let _: fn(&NarrativeGate, &Trace) -> GateOutcome<NarrativeReport> = NarrativeGate::evaluate;
}

#[test]
fn functions_have_their_promised_signatures() {
    use mcptest_core::eval::{
        agent_stability, agent_stability_across, confidence_band, drift_flags, recommend_runs, score_golden_path,
        score_recovery, summarize, tool_calls_from_envelope, validate_trace,
    };
    let _: fn(&Value) -> Vec<ToolCall> = tool_calls_from_envelope;
    let _: fn(&[ToolCall], &ExpectedTrace) -> Result<TraceValidation, Problems> = validate_trace;
    let _: fn(&[ToolCall], &GoldenPath) -> PathScore = score_golden_path;
    let _: fn(&Value) -> StabilityReport = agent_stability;
    let _: fn(&[Value]) -> StabilityAcross = agent_stability_across;
    let _: fn(&StabilityReport, &StabilityFloors) -> Vec<&'static str> = drift_flags;
    let _: fn(&StabilityReport) -> f64 = StabilityReport::weakest_score;
    let _: fn(&StabilityReport) -> String = StabilityReport::summary;
    let _: fn(&RecoveryMarks) -> RecoveryReport = score_recovery;
    let _: fn(f64, u32) -> Result<u64, ReliabilityError> = recommend_runs;
    let _: fn(u64, u32) -> Result<f64, ReliabilityError> = confidence_band;
    let _: fn(&[bool]) -> ReliabilitySummary = summarize;
    let _: fn(&ReliabilitySummary, &str) -> Option<Value> = ReliabilitySummary::resolve_target;
    let _: fn(&ReliabilitySummary) -> Value = ReliabilitySummary::metrics_object;
    let _: fn(&ConversationTrace) -> Value = ConversationTrace::to_envelope;
    let _: fn(&Trace) -> Value = Trace::to_envelope;
    let _: [fn(Vec<ExpectedCall>) -> ExpectedTrace; 5] = [
        ExpectedTrace::strict,
        ExpectedTrace::subsequence,
        ExpectedTrace::unordered,
        ExpectedTrace::superset,
        ExpectedTrace::subset,
    ];
}

/// The same names by module.
mod by_module {
    #![expect(unused_imports, reason = "the test is that these paths exist")]
    use mcptest_core::eval::narrative::{ExtractionMode, NarrativeReport};
    use mcptest_core::eval::recovery::{RecoveryMarks, RecoveryReport, score_recovery};
    use mcptest_core::eval::reliability::{ReliabilitySummary, confidence_band, recommend_runs, summarize};
    use mcptest_core::eval::stability::{
        StabilityAcross, StabilityFloors, StabilityReport, agent_stability, agent_stability_across, drift_flags,
    };
    use mcptest_core::eval::trace_validation::{
        ExpectedArgs, ExpectedCall, ExpectedTrace, GoldenPath, PathScore, TraceMismatch, TraceValidation,
        score_golden_path, tool_calls_from_envelope, validate_trace,
    };
}

#[test]
fn types_have_their_promised_fields() {
    fn exists<T>() {}
    exists::<(ExpectedArgs, ExtractionMode, MatchMode, Confidence, TraceMismatch, CallRule, DependencyEdge, OrderEdge)>(
    );
    exists::<(Assertion, AssertionDiff, Scope, Matcher, Target, Problem, JsonError, Verdict)>();
    let call = ExpectedCall { name: "a".into(), args: ExpectedArgs::Any };
    assert_eq!(ExpectedCall::by_name("a"), call);
    let golden = GoldenPath {
        calls: vec!["a".into()],
        allow_extra_steps: false,
        penalize_backtracking: true,
        penalize_repeated_tools: true,
    };
    assert_eq!(GoldenPath::new(["a"]), golden);
    let half = StabilityFloors {
        tool_usage_stability: 0.5,
        response_consistency: 0.5,
        redundancy: 0.5,
        cost_per_progress: 0.5,
    };
    assert_eq!(StabilityFloors::default(), half);
}
