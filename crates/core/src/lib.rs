//! Deterministic gates over recorded agent traces.
//!
//! A [`Trace`] is what a run observably did: tool calls, arguments, results, usage. A gate turns traces into
//! metrics and a [`Verdict`]. Everything here is a pure function: no I/O, no clock, no model, no randomness, and
//! no input makes it panic. Evidence that was not recorded stays unknown: a gate that needs it answers
//! [`Verdict::Unassessable`], never a pass.
//!
//! ```
//! use mcptest_core::Trace;
//! use mcptest_core::eval::{ExpectedCall, Trajectory, TrajectoryParams, MatchMode};
//! use mcptest_core::Verdict;
//! use serde_json::json;
//!
//! let trace = Trace::read(&json!({
//!     "tool_calls": [
//!         { "name": "find_room", "server": "hotel", "args": { "city": "Bergen" } },
//!         { "name": "hold_room", "server": "hotel", "args": { "room": 12 } },
//!     ],
//! }))?;
//! let gate = Trajectory::new(TrajectoryParams {
//!     mode: MatchMode::Subsequence,
//!     calls: vec![ExpectedCall::by_name("hold_room").into()],
//!     ..TrajectoryParams::default()
//! })?;
//! assert_eq!(gate.evaluate(&trace).verdict, Verdict::Pass);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(missing_docs)]

pub mod assertion;
pub mod cassette;
pub mod diag;
pub mod eval;
pub mod event;
pub mod import;
pub mod json;
pub mod judge;
pub mod keys;
pub mod matcher;
pub mod redact;
pub mod report;
pub mod score;
pub mod suite;
pub mod target;
pub mod template;
pub mod trace;

pub use assertion::{Assertion, AssertionDiff, Scope};
pub use diag::{Problem, Problems};
pub use eval::{GateOutcome, Verdict};
pub use json::JsonError;
pub use matcher::{Answer, Matcher};
pub use target::Target;
pub use trace::{ConversationTrace, Trace};

/// Compiles and runs the code of docs/library.md.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct LibraryPage;
