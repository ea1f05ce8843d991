//! The recording proxy between clients and servers of MCP: what each side sees, and what the ledger contains.

mod clients;
mod conversations;
mod lines;
mod remote;
mod rerun;
mod stdio;

use std::net::SocketAddr;
use std::path::Path;

use mcptest_core::ledger::{Entry, Ledger, Mcp, Message, Side, What};
use mcptest_runner::mcp::Endpoint;
use mcptest_runner::process::Processes;
use mcptest_runner::record::{Player, Recording, RerunSetup, Setup, Upstreams};
use serde_json::{Value, json};

use crate::fake::{Fake, within};

/// A recording with one server, `fake`.
pub(crate) struct Proxy {
    recording: Recording,
    pub(crate) url: String,
}

impl Proxy {
    pub(crate) async fn start(endpoint: Endpoint, processes: &Processes) -> Self {
        let setup = Setup {
            faults: Vec::new(),
            servers: vec![("fake".to_owned(), endpoint)],
            processes: processes.clone(),
            upstreams: Upstreams::new(&|_| None).unwrap(),
            secrets: Vec::new(),
            shim: Path::new("mcptest"),
            no_proxy: None,
            rerun: None,
        };
        let recording = Recording::start(setup).await.unwrap();
        let url = recording.variables()["MCPTEST_URL_FAKE"].clone();
        Self { recording, url }
    }

    pub(crate) async fn before(fake: &Fake) -> Self {
        Self::start(Endpoint::Command(fake.launch.clone()), &fake.processes).await
    }

    pub(crate) async fn in_front_of(address: SocketAddr) -> Self {
        let url = format!("http://{address}/mcp");
        let endpoint = Endpoint::Url { url, headers: [].into(), bearer: None };
        Self::start(endpoint, &Processes::default()).await
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::Url { url: self.url.clone(), headers: [].into(), bearer: None }
    }

    /// Answers from a ledger.
    pub(crate) async fn rerun(player: &Player) -> Self {
        let rerun = RerunSetup { player: player.clone(), servers: vec!["fake".to_owned()] };
        Self::rerunning(rerun, Vec::new(), Processes::default()).await
    }

    /// Compares what a server gets with a ledger.
    pub(crate) async fn live(fake: &Fake, player: &Player) -> Self {
        let rerun = RerunSetup { player: player.clone(), servers: Vec::new() };
        let servers = vec![("fake".to_owned(), Endpoint::Command(fake.launch.clone()))];
        Self::rerunning(rerun, servers, fake.processes.clone()).await
    }

    async fn rerunning(rerun: RerunSetup, servers: Vec<(String, Endpoint)>, processes: Processes) -> Self {
        // Sets up TLS for the client of the test. A program that runs again needs none.
        drop(Upstreams::new(&|_| None).unwrap());
        let setup = Setup {
            faults: Vec::new(),
            servers,
            processes,
            upstreams: Upstreams::none(),
            secrets: Vec::new(),
            shim: Path::new("mcptest"),
            no_proxy: None,
            rerun: Some(rerun),
        };
        let recording = Recording::start(setup).await.unwrap();
        let url = recording.variables()["MCPTEST_URL_FAKE"].clone();
        Self { recording, url }
    }

    pub(crate) fn variable(&self, name: &str) -> String {
        self.recording.variables()[name].clone()
    }

    /// Ends the recording. Returns its entries in short.
    pub(crate) async fn finish(self) -> Vec<String> {
        self.ledger().await.entries.iter().map(short).collect()
    }

    pub(crate) async fn ledger(self) -> Ledger {
        within(self.recording.finish()).await.0
    }
}

/// An entry on one line: its connection, who sent it, what it is, and what it answers.
fn short(entry: &Entry) -> String {
    let What::Mcp(Mcp { connection, from, message, reply_to, .. }) = &entry.what else { panic!("{entry:?}") };
    let from = match from {
        Side::Program => ">",
        Side::Server => "<",
    };
    let what = match message {
        Message::Json(value) => {
            let id = value.get("id").map_or_else(String::new, |id| format!(" #{id}"));
            match (value.get("method"), value.get("result"), value.get("error")) {
                (Some(method), _, _) => format!("{}{id}", method.as_str().unwrap()),
                (None, Some(result), _) => match result.pointer("/content/0/text").and_then(Value::as_str) {
                    Some(text) => format!("result{id} {text}"),
                    None => format!("result{id}"),
                },
                (None, None, Some(error)) => format!("error{id} {}", error["code"]),
                _ => value.to_string(),
            }
        }
        Message::Unread(unread) => format!("unread {} {}", unread.bytes, unread.why),
        Message::Status(status) => format!("status {status}"),
        Message::End(why) => format!("end: {why}"),
    };
    let answers = reply_to.map_or_else(String::new, |seq| format!(" ({seq})"));
    format!("{connection} {from} {what}{answers}")
}

/// A plain HTTP client.
pub(crate) struct Raw {
    http: reqwest::Client,
    url: String,
    /// Headers of every request.
    pub(crate) headers: Vec<(&'static str, String)>,
}

/// A response that has been read to its end.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The messages in it, or its text.
    pub(crate) messages: Vec<Value>,
    pub(crate) is_stream: bool,
}

impl Raw {
    pub(crate) fn new(url: &str) -> Self {
        let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
        Self { http, url: url.to_owned(), headers: Vec::new() }
    }

    pub(crate) fn request(&self, method: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method.parse().unwrap(), &self.url);
        self.headers.iter().fold(request, |request, (name, value)| request.header(*name, value))
    }

    /// Sends a message; the response may still be under way.
    pub(crate) async fn send(&self, message: &Value) -> reqwest::Response {
        let accept = "application/json, text/event-stream";
        let request = self.request("POST").header("accept", accept).header("content-type", "application/json");
        within(request.body(message.to_string()).send()).await.unwrap()
    }

    pub(crate) async fn post(&self, message: &Value) -> Answer {
        read(self.send(message).await).await
    }

    pub(crate) async fn initialize(&mut self) {
        let client = json!({ "name": "raw", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let response = self.send(&request(0, "initialize", params)).await;
        let session = response.headers().get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
        assert_eq!(read(response).await.status, 200);
        self.headers.extend(session.map(|session| ("mcp-session-id", session)));
        let greeting = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.post(&greeting).await.status, 202);
    }
}

pub(crate) async fn read(response: reqwest::Response) -> Answer {
    let kind = response.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
    let kind = kind.map(|kind| kind.split(';').next().unwrap().to_owned());
    let (status, is_stream) = (response.status().as_u16(), kind.as_deref() == Some("text/event-stream"));
    let text = within(response.text()).await.unwrap();
    let messages = match kind.as_deref() {
        Some("text/event-stream") => {
            text.lines().filter_map(|line| line.strip_prefix("data: ")).map(|data| data.parse().unwrap()).collect()
        }
        Some("application/json") => vec![text.parse().unwrap()],
        _ if text.is_empty() => Vec::new(),
        _ => vec![text.into()],
    };
    Answer { status, messages, is_stream }
}

/// A stream whose events are read one at a time.
pub(crate) struct Stream {
    response: reqwest::Response,
    text: String,
}

impl Stream {
    pub(crate) fn new(response: reqwest::Response) -> Self {
        assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/event-stream"));
        Self { response, text: String::new() }
    }

    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let event: String = self.text.drain(..end + 2).collect();
                let data = event.lines().find_map(|line| line.strip_prefix("data: ")).map(|data| data.parse().unwrap());
                if data.is_some() {
                    return data;
                }
                continue;
            }
            let chunk = within(self.response.chunk()).await.unwrap()?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}

pub(crate) fn request(id: impl Into<Value>, method: &str, params: impl Into<Value>) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params.into() })
}

pub(crate) fn call(id: impl Into<Value>, tool: &str, args: impl Into<Value>) -> Value {
    request(id, "tools/call", json!({ "name": tool, "arguments": args.into() }))
}

/// The same without a session.
pub(crate) fn modern(id: impl Into<Value>, tool: &str, args: impl Into<Value>) -> Value {
    let mut call = call(id, tool, args);
    call["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 0,
    });
    call
}

pub(crate) fn text_result(id: impl Into<Value>, text: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "result": { "content": [{ "type": "text", "text": text }] } })
}
