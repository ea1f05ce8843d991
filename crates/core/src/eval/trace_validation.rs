//! Offline trace validation for library callers: recorded calls against an expected trace, pass or fail.
//!
//! This is a two-valued form of the trajectory gate. It takes plain calls, reads absent arguments as `{}`, and has no
//! servers, statuses or optional calls; [`TrajectoryGate`] has them all.

use serde_json::{Map, Value};

pub use super::golden_path::{GoldenPath, PathScore, score_golden_path};
pub use super::trajectory::{ExpectedArgs, ExpectedCall, ExpectedTrace, MatchMode, TraceMismatch, TraceValidation};
use super::trajectory::{RecordedCall, TrajectoryGate, TrajectoryParams};
use crate::diag::{Code, Problem, Problems};
pub use crate::trace::{ToolCall, tool_calls_from_envelope};

/// Validates recorded calls. An error means that an expectation is malformed; a mismatch is a result.
///
/// ```
/// use mcptest_core::eval::{
///     ExpectedArgs, ExpectedCall, ExpectedTrace, tool_calls_from_envelope, validate_trace,
/// };
/// use serde_json::json;
///
/// let calls = tool_calls_from_envelope(&json!({
///     "tool_calls": [
///         { "name": "log_in", "args": {} },
///         { "name": "find_flight", "args": { "to": "Oslo", "day": "Friday" } },
///         { "name": "hold_seat", "args": { "seat": "12A" } },
///     ],
/// }));
/// let expected = ExpectedTrace::subsequence(vec![
///     ExpectedCall { name: "find_flight".into(), args: ExpectedArgs::Subset(json!({ "to": "Oslo" })) },
///     ExpectedCall::by_name("hold_seat"),
/// ]);
/// let result = validate_trace(&calls, &expected)?;
/// assert!(result.passed);
///
/// let strict = validate_trace(&calls, &ExpectedTrace::strict(expected.calls))?;
/// assert_eq!(strict.mismatches[0].diffs[0].path, "/name");
/// # Ok::<(), mcptest_core::Problems>(())
/// ```
pub fn validate_trace(calls: &[ToolCall], expected: &ExpectedTrace) -> Result<TraceValidation, Problems> {
    let gate = TrajectoryGate::new(TrajectoryParams {
        mode: expected.mode,
        calls: expected.calls.iter().cloned().map(Into::into).collect(),
        ..TrajectoryParams::default()
    })?;
    let none = Value::Object(Map::new());
    let seen: Vec<_> =
        calls.iter().map(|call| RecordedCall::new(call, Some(call.args.as_ref().unwrap_or(&none)), None)).collect();
    let too_large = |reason: String| Problems::from(Problem::new(Code::FileTooLarge, "/calls", reason));
    let (validation, _) = gate.validate(&seen).map_err(|error| too_large(error.to_string()))?;
    Ok(validation)
}
