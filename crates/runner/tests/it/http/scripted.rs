//! A server that writes exactly the bytes it is reported to, and remembers what it was sent.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcptest_core::suite::Protocol;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::Remote;
use crate::fake::BOUND;

/// A request as it came.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    /// `POST /mcp`
    pub(crate) line: String,
    /// By their names in small letters.
    pub(crate) headers: BTreeMap<String, String>,
    /// Null if there is none.
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// What the server does with a request.
pub(crate) enum Answer {
    /// Writes this and closes the connection.
    Whole(Vec<u8>),
    /// Writes this and keeps the connection until the client closes it.
    Open(Vec<u8>),
    /// Writes the first, and the second again and again until the client has enough.
    Endless(Vec<u8>, Vec<u8>),
}

pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    /// Methods of the requests whose connection the client closed while it was open.
    left: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Scripted {
    /// A server that answers everything by this.
    pub(crate) async fn start(script: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, left) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
        let (script, seen, gone) = (Arc::new(script), Arc::clone(&requests), Arc::clone(&left));
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (script, seen, gone) = (Arc::clone(&script), Arc::clone(&seen), Arc::clone(&gone));
                connections.spawn(tokio::time::timeout(BOUND, async move {
                    let mut stream = stream;
                    let Some(request) = receive(&mut stream).await else { return };
                    seen.lock().unwrap().push(request.clone());
                    match script(&request) {
                        Answer::Whole(bytes) => drop(stream.write_all(&bytes).await),
                        Answer::Open(bytes) => {
                            let _ = stream.write_all(&bytes).await;
                            let _ = stream.read(&mut [0; 1]).await;
                            gone.lock().unwrap().push(request.method().to_owned());
                        }
                        Answer::Endless(first, again) => {
                            let _ = stream.write_all(&first).await;
                            while stream.write_all(&again).await.is_ok() {}
                            gone.lock().unwrap().push(request.method().to_owned());
                        }
                    }
                }));
            }
        });
        Self { address, requests, left, task }
    }

    /// A server with a handshake and a session, whose calls are answered by this.
    pub(crate) async fn legacy(calls: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self::start(move |request| match request.method() {
            "tools/call" => calls(request),
            _ => handshake(request),
        })
        .await
    }

    /// A server without a handshake, whose calls are answered by this.
    pub(crate) async fn modern(calls: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self::start(move |request| match request.method() {
            "tools/call" => calls(request),
            "server/discover" => result(
                request,
                &json!({
                    "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} },
                    "ttlMs": 0, "cacheScope": "private",
                }),
            ),
            _ => handshake(request),
        })
        .await
    }

    pub(crate) fn remote(&self, protocol: Protocol) -> Remote {
        Remote::at(self.address, protocol)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn left(&self) -> Vec<String> {
        self.left.lock().unwrap().clone()
    }
}

/// The answers that come before a call.
pub(crate) fn handshake(request: &Request) -> Answer {
    match request.method() {
        "initialize" => {
            let hello = json!({
                "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                "serverInfo": { "name": "scripted", "version": "1" },
            });
            let body = reply(request, &hello).to_string();
            http("200 OK", "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n", body.as_bytes())
        }
        "tools/list" => result(
            request,
            &json!({ "resultType": "complete", "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] }),
        ),
        "server/discover" => http("400 Bad Request", "", b"no session"),
        _ if request.line.starts_with("DELETE") => http("204 No Content", "", b""),
        _ => http("202 Accepted", "", b""),
    }
}

/// A reply to a request.
pub(crate) fn reply(request: &Request, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": request.body["id"], "result": result })
}

pub(crate) fn result(request: &Request, value: &Value) -> Answer {
    http("200 OK", "Content-Type: application/json\r\n", reply(request, value).to_string().as_bytes())
}

/// The result of a call that says this.
pub(crate) fn saying(request: &Request, words: &str) -> Value {
    reply(request, &json!({ "resultType": "complete", "content": [{ "type": "text", "text": words }] }))
}

pub(crate) fn http(status: &str, headers: &str, body: &[u8]) -> Answer {
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    Answer::Whole([head.as_bytes(), body].concat())
}

/// The head of a stream of events that ends with the connection.
pub(crate) const STREAM: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\n";

pub(crate) fn stream(text: &str) -> Vec<u8> {
    format!("{STREAM}{text}").into_bytes()
}

async fn receive(stream: &mut TcpStream) -> Option<Request> {
    let mut all = Vec::new();
    let mut piece = [0; 4096];
    let head = loop {
        if let Some(at) = all.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        let read = tokio::time::timeout(Duration::from_secs(10), stream.read(&mut piece)).await.ok()?.ok()?;
        if read == 0 {
            return None;
        }
        all.extend_from_slice(&piece[..read]);
    };
    let text = String::from_utf8(all[..head].to_vec()).unwrap();
    let (line, rest) = text.split_once("\r\n").unwrap();
    let pair = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    let headers: BTreeMap<String, String> = rest.lines().filter_map(pair).collect();
    let length: usize = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = all.split_off(head + 4);
    while body.len() < length {
        let read = stream.read(&mut piece).await.ok()?;
        if read == 0 {
            return None;
        }
        body.extend_from_slice(&piece[..read]);
    }
    let line = line.trim_end_matches(" HTTP/1.1").to_owned();
    Some(Request { line, headers, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
}
