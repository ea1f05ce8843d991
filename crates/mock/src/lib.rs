//! An MCP server that misbehaves on request, with its own framing so that it can break it.
//!
//! [`Spec`] is what the server offers, read from a file and never changed. [`Counters`] changes while the server runs.
//! [`serve_stdio`] and [`serve_http`] are the two transports. A pure function decides for each message what is sent, and when.

mod answer;
mod clock;
pub mod fault;
mod http;
mod log;
mod protocol;
mod queue;
mod sample;
mod serve;
pub mod spec;
mod state;
mod stdio;

pub use fault::{Fault, Faults, KINDS};
pub use http::serve as serve_http;
pub use log::Log;
pub use protocol::{LEGACY_VERSIONS, MODERN_VERSION, Server};
pub use sample::of as sample;
pub use serve::{End, ServeError};
pub use spec::{Spec, load};
pub use state::Counters;
pub use stdio::serve as serve_stdio;
