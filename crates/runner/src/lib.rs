//! From a suite to events, by talking to the world: models, servers, cassettes.
//!
//! Everything that is judged is judged by `mcptest-core`, from the trace alone.

pub mod agent;
pub mod budget;
pub mod cassette;
pub mod catalog;
pub mod clock;
pub mod executor;
pub mod fault;
pub mod file;
pub mod interrupt;
mod live;
pub mod mcp;
mod model;
pub mod plan;
pub mod process;
mod program;
pub mod provider;
pub mod record;
mod resolver;
pub mod runtime;
pub mod secrets;
pub mod temp_file;
mod tls;
