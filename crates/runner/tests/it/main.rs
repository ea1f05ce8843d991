//! The runner: its parts alone, and against servers that misbehave.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot run its subject fails loudly"
)]

mod agent;
mod cassette;
mod fake;
mod fault;
mod fuzzed;
mod http;
mod mcp;
mod process;
mod record;
mod script;
mod support;
mod wire;
