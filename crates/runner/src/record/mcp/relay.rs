//! A shim whose server is at a URL: each line is a POST, and what comes back is a line.
//!
//! The link of the runner's own client does it: sessions, headers of the stateless era, and streams that are resumed.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcptest_core::ledger::{Message, Side};
use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt as _, BufReader, split};
use tokio::sync::{mpsc, watch};

use super::envelope::Envelope;
use super::lines::{Io, closed};
use super::{Tape, message};
use crate::mcp::exchange::{Exchange, Failure, Reply};
use crate::mcp::headers::HeaderArgs;
use crate::mcp::http::Http;
use crate::mcp::lines::LineReader;
use crate::mcp::negotiation::MODERN;
use crate::mcp::{Endpoint, MAX_LINE};

/// A request of the program.
struct PendingRequest {
    number: i64,
    seq: u64,
    method: String,
}

struct Relay<'a> {
    tape: &'a Tape,
    connection: u64,
    exchange: Arc<Exchange>,
    http: Http,
    /// Requests without a reply, by their id.
    asked: BTreeMap<String, PendingRequest>,
    repeated: HeaderArgs,
    failures: mpsc::UnboundedSender<(String, Failure)>,
}

/// Relays lines until the program leaves or the recording ends.
pub(super) async fn serve(endpoint: &Endpoint, tape: &Tape, io: Io, mut closing: watch::Receiver<bool>) {
    let Endpoint::Url { url, headers, bearer } = endpoint else { return };
    let connection = tape.recorder.connection();
    let (received, mut from_server) = mpsc::unbounded_channel();
    let exchange = Arc::new(Exchange::relaying(received));
    let http = match Http::new(url, headers, bearer.as_deref(), &exchange) {
        Ok(http) => http,
        Err(problem) => {
            tape.server(connection, Message::End(problem.to_string()), None);
            return;
        }
    };
    let (failures, mut failed) = mpsc::unbounded_channel();
    let mut relay =
        Relay { tape, connection, exchange, http, asked: BTreeMap::new(), repeated: HeaderArgs::default(), failures };
    let (from_program, mut to_program) = split(io);
    let mut lines = LineReader::new(BufReader::new(from_program), MAX_LINE);
    let mut is_open = true;
    let why = loop {
        // Half-closed: the program still waits for its replies.
        if !is_open && relay.asked.is_empty() {
            break "the program closed the connection";
        }
        tokio::select! {
            line = lines.next(), if is_open => match line {
                Ok(Some(line)) => relay.sent(line.trim_ascii()).await,
                Ok(None) | Err(_) => is_open = false,
            },
            Some(line) = from_server.recv() => {
                let line = relay.received(&line);
                if !write(&mut to_program, &line).await {
                    break "the program closed the connection";
                }
            }
            Some((id, failure)) = failed.recv() => {
                if let Some(line) = relay.failed(&id, &failure)
                    && !write(&mut to_program, line.to_string().as_bytes()).await
                {
                    break "the program closed the connection";
                }
            }
            () = closed(&mut closing) => break "the recording ended",
        }
    };
    tape.enter(connection, Side::Program, Message::End(why.to_owned()), None);
    let _ = to_program.shutdown().await;
    relay.http.end().await;
}

async fn write(to: &mut (impl AsyncWrite + Unpin), line: &[u8]) -> bool {
    to.write_all(&[line, b"\n"].concat()).await.is_ok() && to.flush().await.is_ok()
}

impl Relay<'_> {
    async fn sent(&mut self, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        if !self.tape.admits(line, true).await {
            return;
        }
        let seq = self.tape.program(self.connection, message(line));
        let (Some(envelope), Ok(mut routed)) = (Envelope::read(line), serde_json::from_slice::<Value>(line)) else {
            return;
        };
        if envelope.is_modern {
            self.exchange.set_revision(Some(MODERN));
        }
        let id = envelope.id.as_ref().map(Value::to_string);
        if let (true, Some(id), Some(method)) = (envelope.is_request(), id, envelope.method) {
            let (number, reply) = self.exchange.request();
            routed["id"] = number.into();
            self.asked.insert(id.clone(), PendingRequest { number, seq, method });
            let failures = self.failures.clone();
            tokio::spawn(async move {
                if let Ok((Reply::Failed(failure), _)) = reply.await {
                    let _ = failures.send((id, failure));
                }
            });
        } else {
            // The link distinguishes requests from other messages by their number.
            if let Value::Object(map) = &mut routed {
                map.remove("id");
            }
            let canceled = envelope.about.and_then(|id| self.asked.get(&id.to_string()));
            if let (Some(asked), Some(request)) = (canceled, routed.pointer_mut("/params/requestId")) {
                *request = asked.number.into();
            }
        }
        if let Err(failure) = self.http.push(routed, line.to_vec()).await {
            self.tape.server(self.connection, Message::End(failure.to_string()), Some(seq));
        }
    }

    /// Enters a message of the server, and learns what further requests must repeat. Returns the line.
    fn received(&mut self, line: &[u8]) -> Vec<u8> {
        let envelope = Envelope::read(line).unwrap_or_default();
        let id = envelope.id.as_ref().filter(|_| envelope.is_reply());
        let asked = id.and_then(|id| self.asked.remove(&id.to_string()));
        self.tape.server(self.connection, message(line), asked.as_ref().map(|asked| asked.seq));
        let result = |key: &str| {
            let reply: Option<Value> = serde_json::from_slice(line).ok();
            reply.and_then(|mut reply| reply.get_mut("result")?.get_mut(key).map(Value::take))
        };
        match asked.as_ref().map(|asked| asked.method.as_str()) {
            Some("initialize") => {
                self.exchange.set_revision(result("protocolVersion").as_ref().and_then(Value::as_str));
            }
            Some("tools/list") => {
                for tool in result("tools").as_ref().and_then(Value::as_array).into_iter().flatten() {
                    if let (Some(name), Some(schema)) = (tool["name"].as_str(), tool.get("inputSchema")) {
                        self.repeated.add(name, schema);
                    }
                }
                self.http.repeat(self.repeated.clone());
            }
            _ => {}
        }
        // An event may have several lines.
        line.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect()
    }

    /// The reply to a request that failed below the protocol.
    fn failed(&mut self, id: &str, failure: &Failure) -> Option<Value> {
        let asked = self.asked.remove(id)?;
        let text = failure.to_string();
        let entry = match failure {
            Failure::Status(status, _) => Message::Status(*status),
            _ => Message::End(text.clone()),
        };
        self.tape.server(self.connection, entry, Some(asked.seq));
        let id: Value = serde_json::from_str(id).ok()?;
        Some(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32000, "message": format!("mcptest: {text}") } }))
    }
}
