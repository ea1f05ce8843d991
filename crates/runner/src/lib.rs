//! From a suite to events: the part that talks to models and MCP servers, and that records and replays runs.
//!
//! Empty so far: it grows with the first command that runs something.

/// Compiles and runs the code of the README, which needs the library as a user has it.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
