//! Servers at an address: the mock, a scripted one that says exactly what it is reported, and the official one for Python.

pub(crate) mod mock;
mod python;
pub(crate) mod scripted;
mod streams;
mod wire;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use mcptest_core::suite::Protocol;
use mcptest_runner::mcp::{ConnectError, Connection, Endpoint, Target};
use mcptest_runner::process::Processes;

use crate::fake::within;

/// A server that has not been connected to.
pub(crate) struct Remote {
    url: String,
    headers: BTreeMap<String, String>,
    bearer: Option<String>,
    timeout: Duration,
    protocol: Protocol,
}

impl Remote {
    pub(crate) fn at(address: SocketAddr, protocol: Protocol) -> Self {
        Self::new(format!("http://{address}/mcp"), protocol)
    }

    pub(crate) fn new(url: String, protocol: Protocol) -> Self {
        Self { url, headers: BTreeMap::new(), bearer: None, timeout: Duration::from_secs(10), protocol }
    }

    pub(crate) fn patient(mut self, ms: u64) -> Self {
        self.timeout = Duration::from_millis(ms);
        self
    }

    pub(crate) fn with(mut self, header: &str, value: &str) -> Self {
        self.headers.insert(header.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn bearing(mut self, token: &str) -> Self {
        self.bearer = Some(token.to_owned());
        self
    }

    pub(crate) async fn connect(&self) -> Result<Connection, ConnectError> {
        let endpoint =
            Endpoint::Url { url: self.url.clone(), headers: self.headers.clone(), bearer: self.bearer.clone() };
        let processes = Processes::default();
        let target =
            Target { name: "far", endpoint, timeout: self.timeout, protocol: self.protocol, processes: &processes };
        within(Connection::open(&target)).await
    }

    pub(crate) async fn open(&self) -> Connection {
        match self.connect().await {
            Ok(connection) => connection,
            Err(error) => panic!("{error}"),
        }
    }

    /// The error of connecting, with its hint.
    pub(crate) async fn error(&self) -> String {
        let error = self.connect().await.unwrap_err();
        format!("{error}\nhint: {}", error.hint())
    }
}

/// Waits until something is so.
pub(crate) async fn until(mut holds: impl FnMut() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not within five seconds");
}
