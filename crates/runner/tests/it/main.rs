//! Tests of the runner.

mod agent;
mod cassette;
mod fault;
mod script;
mod support;
