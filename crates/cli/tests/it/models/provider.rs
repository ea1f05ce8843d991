//! A loopback server for one test: it keeps every request, and a function of the test answers.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

/// Longer than any request takes to arrive.
const LIMIT: Duration = Duration::from_secs(20);

/// More than the limit of an answer.
const ENDLESS: usize = 256 << 20;

const LAST_CHUNK: &str = "0\r\n\r\n";

/// A request as it arrived; names of headers are in lower case.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    /// Null when there was none.
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

pub(crate) struct Answer {
    status: u16,
    /// Further lines of the head, each with its line break.
    headers: String,
    body: Vec<u8>,
    rest: Rest,
}

/// What comes after the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    Nothing,
    /// The body repeatedly, until the client disconnects; no length was announced.
    Endless,
    /// Nothing more, although more was announced, until the client disconnects.
    Silence,
    /// The end of the connection, although more was promised.
    Cut,
}

impl Answer {
    pub(crate) fn json(body: &Value) -> Self {
        Self::status(200, "", body.to_string())
    }

    /// A status, and further lines of the head, each with its line break.
    pub(crate) fn status(status: u16, headers: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: headers.into(), body: body.into(), rest: Rest::Nothing }
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// The same with something else after the body than its end.
    pub(crate) fn then(self, rest: Rest) -> Self {
        Self { rest, ..self }
    }
}

/// Answers a request. The number counts the requests from 1.
type Answers = dyn Fn(&Request, usize) -> Answer + Send + Sync;

/// The server. It ends with the test.
pub(crate) struct Loopback {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    is_over: Arc<AtomicBool>,
    accepts: Option<JoinHandle<()>>,
}

impl Loopback {
    pub(crate) fn start(answers: impl Fn(&Request, usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let is_over = Arc::new(AtomicBool::new(false));
        let answers: Arc<Answers> = Arc::new(answers);
        let (kept, over) = (Arc::clone(&requests), Arc::clone(&is_over));
        let accepts = thread::spawn(move || {
            let mut talks = Vec::new();
            // The end of the test connects once more, so that this does not wait for ever.
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                let (kept, answers) = (Arc::clone(&kept), Arc::clone(&answers));
                talks.push(thread::spawn(move || talk(&stream.unwrap(), &kept, &*answers)));
            }
            for talk in talks {
                let _ = talk.join();
            }
        });
        Self { address, requests, is_over, accepts: Some(accepts) }
    }

    /// Its address, without a path.
    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        if let Some(accepts) = self.accepts.take() {
            let _ = accepts.join();
        }
    }
}

/// One request and its answer.
fn talk(stream: &TcpStream, kept: &Mutex<Vec<Request>>, answers: &Answers) {
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_write_timeout(Some(LIMIT)).unwrap();
    let Some(request) = read(stream) else { return };
    let count = {
        let mut kept = kept.lock().unwrap();
        kept.push(request.clone());
        kept.len()
    };
    let Answer { status, headers, body, rest } = answers(&request, count);
    let kind = if headers.contains("content-type:") { "" } else { "content-type: application/json\r\n" };
    // As providers do it: each event is its own chunk.
    let is_stream = matches!(rest, Rest::Nothing | Rest::Cut) && headers.contains("text/event-stream");
    let mut body = if is_stream { chunked(&body) } else { body };
    if is_stream && rest == Rest::Cut {
        body.truncate(body.len() - LAST_CHUNK.len());
    }
    let length = match rest {
        Rest::Nothing | Rest::Cut if is_stream => "transfer-encoding: chunked\r\n".to_owned(),
        Rest::Nothing => format!("content-length: {}\r\n", body.len()),
        Rest::Endless => String::new(),
        Rest::Silence | Rest::Cut => format!("content-length: {}\r\n", body.len() + 1000),
    };
    let head = format!("HTTP/1.1 {status} Answer\r\n{kind}{length}connection: close\r\n{headers}\r\n");
    let mut stream = stream;
    // Whoever has hung up meanwhile shows it on its own side.
    let mut written = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
    match rest {
        Rest::Nothing | Rest::Cut => {}
        Rest::Endless => {
            let mut sent = body.len();
            while written.is_ok() && sent < ENDLESS {
                written = stream.write_all(&body);
                sent += body.len();
            }
        }
        // Ends when the other side hangs up, or after the limit.
        Rest::Silence => drop(stream.read(&mut [0])),
    }
}

/// The events of a stream, each as a chunk.
fn chunked(body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(body.to_vec()).unwrap();
    let chunk = |event: &str| format!("{:x}\r\n{event}\r\n", event.len());
    let chunks: String = text.split_inclusive("\n\n").map(chunk).collect();
    format!("{chunks}{LAST_CHUNK}").into_bytes()
}

/// A request; nothing when the connection was closed without one.
fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() };
    Some(Request { method, path, headers, body })
}
