//! Gates: pure functions that turn traces into metrics and a verdict. One file per gate.
//!
//! Each gate file holds parameters, evaluation and metrics; [`GATES`] is the one table of what a gate is called,
//! takes, measures and asserts by default. Documentation, target checks and tests are driven by that table.

mod gate;
pub mod golden_path;
mod guide;
pub(crate) mod matching;
pub mod narrative;
pub mod recovery;
pub mod reliability;
pub mod stability;
mod table;
pub mod trace_validation;
pub mod trajectory;
pub mod trajectory_axes;

pub use crate::trace::tool_calls_from_envelope;
pub(crate) use gate::Judge;
pub use gate::{Expect, GateFailure, GateOutcome, Metrics, Verdict};
pub use golden_path::{GoldenPath, GoldenPathGate, PathScore, score_golden_path};
pub use guide::GateGuide;
pub use narrative::{ExtractionMode, Narrative, NarrativeParams, NarrativeReport};
pub use recovery::{RecoveryGate, RecoveryMarks, RecoveryParams, RecoveryReport, score_recovery};
pub use reliability::{
    Confidence, ReliabilityError, ReliabilityGate, ReliabilitySummary, confidence_band, recommend_runs, summarize,
};
pub use stability::{
    StabilityAcross, StabilityFloors, StabilityGate, StabilityReport, agent_stability, agent_stability_across,
    drift_flags,
};
pub use table::{
    ASSERTION, Bound, CALL, DEPENDENCY, EXPECT, GATES, GateInfo, GateKind, MetricInfo, MetricKind, ORDER, RunScope,
};
pub use trace_validation::validate_trace;
pub use trajectory::{
    CallRule, ExpectedArgs, ExpectedCall, ExpectedTrace, MatchMode, StatusRule, TraceMismatch, TraceValidation,
    Trajectory, TrajectoryParams, WithinTurn,
};
pub use trajectory_axes::{AxesParams, DependencyEdge, OrderEdge, TrajectoryAxes};
