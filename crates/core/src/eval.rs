//! Gates: pure functions from traces to metrics and a verdict. One file per gate.
//!
//! Every gate is built with `XGate::new(XParams)`, which reports every problem of the parameters at once, and evaluated with
//! `evaluate`, which cannot fail. [`GATES`] is the table of every gate's name, parameters, metrics and default assertion.
//! Documentation, target checks and tests are driven by that table.

mod gate;
pub mod golden_path;
#[doc(hidden)]
mod guide;
pub(crate) mod matching;
mod metrics;
pub mod narrative;
pub mod recovery;
pub mod reliability;
pub mod stability;
#[doc(hidden)]
mod table;
pub mod trace_validation;
pub mod trajectory;
pub mod trajectory_axes;

pub use crate::trace::tool_calls_from_envelope;
pub use gate::{Expect, GateFailure, GateKind, GateOutcome, Verdict};
pub(crate) use gate::{Judge, plural};
pub use golden_path::{GoldenPath, GoldenPathGate, GoldenPathParams, PathScore, score_golden_path};
#[doc(hidden)]
pub use guide::GateGuide;
pub(crate) use metrics::MetricValue;
pub use metrics::Metrics;
pub use narrative::{ExtractionMode, NarrativeGate, NarrativeParams, NarrativeReport};
pub use recovery::{FaultScope, RecoveryGate, RecoveryMarks, RecoveryParams, RecoveryReport, score_recovery};
pub use reliability::{
    Confidence, ReliabilityError, ReliabilityGate, ReliabilityParams, ReliabilitySummary, confidence_band,
    recommend_runs, summarize,
};
pub use stability::{
    Dimensions, StabilityAcross, StabilityFloors, StabilityGate, StabilityParams, StabilityReport, agent_stability,
    agent_stability_across, drift_flags,
};
#[doc(hidden)]
pub use table::{ASSERTION, Bound, CALL, DEPENDENCY, EXPECT, GATES, GateInfo, MetricInfo, MetricKind, ORDER, RunScope};
pub use trace_validation::validate_trace;
pub use trajectory::{
    CallRule, ExpectedArgs, ExpectedCall, ExpectedTrace, MatchMode, StatusRule, TraceMismatch, TraceValidation,
    TrajectoryGate, TrajectoryParams, WithinTurn,
};
pub use trajectory_axes::{DependencyEdge, OrderEdge, TrajectoryAxesGate, TrajectoryAxesParams};
