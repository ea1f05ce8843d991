//! A loopback server that records its requests and answers from a list. It frames its answers itself, because some of
//! them have to be wrong.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What the server does on a request.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// Sends these bytes and closes.
    Bytes(Vec<u8>),
    /// Never answers.
    Hang,
}

impl Answer {
    pub(crate) fn new(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        let mut head = format!("HTTP/1.1 {status} \r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        Self::Bytes(format!("{head}\r\n{body}").into_bytes())
    }

    pub(crate) fn json(body: &Value) -> Self {
        Self::new(200, &[("content-type", "application/json")], &body.to_string())
    }

    /// The same without its last bytes.
    pub(crate) fn cut(self, bytes: usize) -> Self {
        match self {
            Self::Bytes(mut all) => {
                all.truncate(all.len() - bytes);
                Self::Bytes(all)
            }
            Self::Hang => Self::Hang,
        }
    }
}

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    /// Method and path.
    pub(crate) line: String,
    /// Headers by their name in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) bytes: Vec<u8>,
}

impl Request {
    /// The body as JSON.
    pub(crate) fn body(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }

    /// The headers of these names, in this order.
    pub(crate) fn head<const N: usize>(&self, names: [&str; N]) -> [Option<&str>; N] {
        names.map(|name| self.headers.get(name).map(String::as_str))
    }
}

/// A server. It stops when it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    serving: JoinHandle<()>,
}

impl Server {
    /// Gives the answers in their order, and the last one from then on.
    pub(crate) async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answers, seen) = (answers.clone(), Arc::clone(&seen));
                tokio::spawn(async move { serve(stream, &answers, &seen).await });
            }
        });
        Self { address, requests, serving }
    }

    /// Its address, as a suite would write it.
    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(mut stream: TcpStream, answers: &[Answer], seen: &Mutex<Vec<Request>>) {
    let Some(request) = read(&mut stream).await else { return };
    let at = {
        let mut seen = seen.lock().unwrap();
        seen.push(request);
        seen.len() - 1
    };
    match answers.get(at).or(answers.last()) {
        Some(Answer::Bytes(bytes)) => {
            // A client that had enough hangs up, which is its right.
            let _ = stream.write_all(bytes).await;
            let _ = stream.shutdown().await;
        }
        // Until the runtime of the test ends.
        Some(Answer::Hang) => std::future::pending().await,
        None => {}
    }
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break String::from_utf8(bytes.drain(..end + 4).collect()).unwrap();
        }
        (stream.read_buf(&mut bytes).await.ok()? > 0).then_some(())?;
    };
    let mut lines = head.lines();
    let line = lines.next()?.trim_end_matches(" HTTP/1.1").to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length")?.parse().ok()?;
    while bytes.len() < length {
        (stream.read_buf(&mut bytes).await.ok()? > 0).then_some(())?;
    }
    Some(Request { line, headers, bytes })
}
