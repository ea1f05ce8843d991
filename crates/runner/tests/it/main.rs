//! Tests of the runner.

mod agent;
mod cassette;
mod fault;
mod plan;
mod script;
mod support;
