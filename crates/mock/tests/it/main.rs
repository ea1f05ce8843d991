//! The mock server as its clients meet it: over pipes and over HTTP, byte for byte and through official clients.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot run its subject fails loudly"
)]

mod clients;
mod http;
mod log;
mod manifest;
mod raw;

use std::sync::Arc;

use mcptest_core::diag::Source;
use mcptest_mock::{Faults, Server, load};

/// A server with tools for every kind of answer.
const TOOLS: &str = include_str!("tools.yml");

/// A server from the text of a file and faults.
fn server_of(text: &str, faults: &[&str]) -> Arc<Server> {
    let source = Source::new("tools.yml", text);
    let loaded = load(&source);
    let rendered: String = loaded.diagnostics.iter().map(|diagnostic| diagnostic.render(&source)).collect();
    let spec = loaded.value.unwrap_or_else(|| panic!("{rendered}"));
    let tools: Vec<&str> = spec.tools.iter().map(|tool| tool.name.as_str()).collect();
    let faults = Faults::read(faults, &tools).unwrap();
    Arc::new(Server::new(spec, faults))
}

fn server(faults: &[&str]) -> Arc<Server> {
    server_of(TOOLS, faults)
}
