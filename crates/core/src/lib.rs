//! Deterministic gates over recorded agent traces.
//!
//! A [`Trace`] is what a run observably did: tool calls, arguments, results, usage. A gate turns traces into
//! metrics and a [`Verdict`]. Everything here is a pure function: no I/O, no clock, no model, no randomness, and
//! no input makes it panic. Evidence that was not recorded stays unknown: a gate that needs it returns
//! [`Verdict::Unassessable`], never a pass.
//!
//! What this page lists is the promised surface. Modules marked `#[doc(hidden)]` belong to the `mcptest` program and may
//! change in any release.
//!
//! ```
//! use mcptest_core::Trace;
//! use mcptest_core::eval::{ExpectedCall, TrajectoryGate, TrajectoryParams, MatchMode};
//! use mcptest_core::Verdict;
//! use serde_json::json;
//!
//! let trace = Trace::from_envelope(&json!({
//!     "tool_calls": [
//!         { "name": "find_room", "server": "hotel", "args": { "city": "Bergen" } },
//!         { "name": "hold_room", "server": "hotel", "args": { "room": 12 } },
//!     ],
//! }))?;
//! let gate = TrajectoryGate::new(TrajectoryParams {
//!     mode: MatchMode::Subsequence,
//!     calls: vec![ExpectedCall::by_name("hold_room").into()],
//!     ..TrajectoryParams::default()
//! })?;
//! assert_eq!(gate.evaluate(&trace).verdict, Verdict::Pass);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(missing_docs)]

pub mod assertion;
pub mod eval;
pub mod matcher;
pub mod target;
pub mod trace;

// Used by the `mcptest` program only, and not part of the promised surface.
#[doc(hidden)]
pub mod answer;
#[doc(hidden)]
pub mod cassette;
#[doc(hidden)]
pub mod compare;
#[doc(hidden)]
pub mod diag;
#[doc(hidden)]
pub mod event;
#[doc(hidden)]
pub mod import;
#[doc(hidden)]
pub mod infer;
#[doc(hidden)]
pub mod json;
#[doc(hidden)]
pub mod judge;
#[doc(hidden)]
pub mod keys;
#[doc(hidden)]
pub mod ledger;
#[doc(hidden)]
pub mod loopback;
#[doc(hidden)]
pub mod mutate;
#[doc(hidden)]
pub mod redact;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod score;
#[doc(hidden)]
pub mod stats;
#[doc(hidden)]
pub mod suite;
#[doc(hidden)]
pub mod template;

pub use assertion::{Assertion, AssertionDiff, Scope};
#[doc(inline)]
pub use diag::{Problem, Problems};
pub use eval::{GateOutcome, Verdict};
#[doc(inline)]
pub use json::JsonError;
pub use matcher::{MatchResult, Matcher};
pub use target::Target;
pub use trace::{ConversationTrace, Trace};

/// Compiles and runs the code of docs/library.md.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct LibraryPage;
