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

/// A request as it arrived; names of headers are in lower case.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: BTreeMap<String, String>,
    /// Null when there was none.
    pub(super) body: Value,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// What is answered.
pub(super) struct Answer {
    status: u16,
    headers: &'static str,
    body: String,
}

impl Answer {
    pub(super) fn json(body: &Value) -> Self {
        Self { status: 200, headers: "", body: body.to_string() }
    }

    /// A status, and further lines of the head, each with its line break.
    pub(super) fn status(status: u16, headers: &'static str, body: impl Into<String>) -> Self {
        Self { status, headers, body: body.into() }
    }
}

/// Answers a request. The number counts the requests from 1.
type Answers = dyn Fn(&Request, usize) -> Answer + Send + Sync;

/// The server. It ends with the test.
pub(super) struct Loopback {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    is_over: Arc<AtomicBool>,
    accepts: Option<JoinHandle<()>>,
}

impl Loopback {
    pub(super) fn start(answers: impl Fn(&Request, usize) -> Answer + Send + Sync + 'static) -> Self {
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
    pub(super) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn requests(&self) -> Vec<Request> {
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
    let Answer { status, headers, body } = answers(&request, count);
    let head = format!(
        "HTTP/1.1 {status} Answer\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n",
        body.len()
    );
    let mut stream = stream;
    // Whoever has hung up meanwhile shows it on its own side.
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
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
