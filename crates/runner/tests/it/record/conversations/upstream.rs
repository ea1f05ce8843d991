//! The model and the servers of a script: every request waits until the script answers it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use mcptest_core::ledger::{Body, Ledger, Mcp, Message, Side, What};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};

use super::Rng;

pub(super) struct Reply {
    /// Everything that is written, in pieces.
    pieces: Vec<Vec<u8>>,
    /// The connection is closed after it.
    is_last: bool,
    pub(super) encoding: &'static str,
    /// The body as it is sent, if it is sent to its end.
    pub(super) body: Option<Vec<u8>>,
}

impl Reply {
    /// The connection is closed without a response.
    pub(super) fn none() -> Self {
        Self { pieces: Vec::new(), is_last: true, encoding: "", body: None }
    }

    pub(super) fn empty(status: u16) -> Self {
        Self::with(status, "content-length: 0\r\n", Vec::new(), "")
    }

    fn with(status: u16, headers: &str, body: Vec<u8>, encoding: &'static str) -> Self {
        let head = format!("HTTP/1.1 {status} Status\r\n{headers}\r\n").into_bytes();
        Self { pieces: vec![head, body.clone()], is_last: false, encoding, body: Some(body) }
    }

    /// A response of the model.
    pub(super) fn new(status: u16, body: &Body, is_cut: bool, rng: &mut Rng) -> Self {
        let (kind, text) = match body {
            Body::Json { rest, .. } => ("application/json", rest.to_string()),
            Body::Events(events) => {
                let event = |event: &mcptest_core::ledger::Event| {
                    let name = event.name.as_ref().map_or_else(String::new, |name| format!("event: {name}\n"));
                    let data = event.data.as_str().map_or_else(|| event.data.to_string(), str::to_owned);
                    format!("{name}data: {data}\n\n")
                };
                ("text/event-stream", events.iter().map(event).collect())
            }
            other => unreachable!("no script has {other:?}"),
        };
        Self::encoded(status, kind, text.as_bytes(), is_cut, rng)
    }

    /// A message of a server, as it is or as an event.
    pub(super) fn message(message: &Value, rng: &mut Rng) -> Self {
        if rng.chance(50) {
            return Self::encoded(200, "application/json", message.to_string().as_bytes(), false, rng);
        }
        let event = format!(": hello\n\nevent: message\ndata: {message}\n\n");
        Self::encoded(200, "text/event-stream", event.as_bytes(), false, rng)
    }

    fn encoded(status: u16, kind: &str, text: &[u8], is_cut: bool, rng: &mut Rng) -> Self {
        let (encoding, body) = match rng.below(4) {
            0 => ("gzip", Self::gzip(text, !is_cut)),
            1 if !is_cut => ("zstd", zstd::encode_all(text, 1).unwrap()),
            _ => ("identity", text.to_vec()),
        };
        let encoded = if encoding == "identity" { String::new() } else { format!("content-encoding: {encoding}\r\n") };
        let headers = format!("content-type: {kind}\r\n{encoded}");
        if !is_cut && rng.chance(30) {
            return Self::with(status, &format!("{headers}content-length: {}\r\n", body.len()), body, encoding);
        }
        let mut pieces =
            vec![format!("HTTP/1.1 {status} Status\r\n{headers}transfer-encoding: chunked\r\n\r\n").into_bytes()];
        let mut rest = &*body;
        while !rest.is_empty() {
            let (first, more) = rest.split_at(rest.len().min(1 + rng.below(2000)));
            pieces.push([format!("{:x}\r\n", first.len()).as_bytes(), first, b"\r\n"].concat());
            rest = more;
        }
        if !is_cut {
            pieces.push(b"0\r\n\r\n".to_vec());
        }
        Self { pieces, is_last: is_cut, encoding, body: (!is_cut).then_some(body) }
    }

    pub(super) fn gzip(text: &[u8], is_whole: bool) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(text).unwrap();
        if is_whole {
            return out.finish().unwrap();
        }
        out.flush().unwrap();
        out.get_ref().clone()
    }
}

type Waiting = Arc<(Mutex<BTreeMap<String, oneshot::Sender<Reply>>>, Notify)>;

pub(super) struct Upstream {
    pub(super) address: SocketAddr,
    /// Requests without an answer, by their key.
    waiting: Waiting,
    /// The keys of requests to servers, by their entries in the script.
    keys: BTreeMap<u64, String>,
}

impl Upstream {
    pub(super) async fn start(script: &Ledger) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let waiting = Waiting::default();
        let all = Arc::clone(&waiting);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&all)));
            }
        });
        let keys = script.entries.iter().filter_map(|entry| match &entry.what {
            What::Mcp(Mcp { server, from: Side::Program, message: Message::Json(message), .. }) => {
                Some((entry.seq, format!("{server} {}", message.get("id")?)))
            }
            _ => None,
        });
        Self { address, waiting, keys: keys.collect() }
    }

    /// The key of the request that something answers.
    pub(super) fn by_seq(&self, server: &str, seq: Option<u64>) -> String {
        let key = &self.keys[&seq.unwrap()];
        assert!(key.starts_with(server));
        key.clone()
    }

    pub(super) async fn arrival(&self, key: &str) {
        loop {
            let arrived = self.waiting.1.notified();
            if self.waiting.0.lock().unwrap().contains_key(key) {
                return;
            }
            arrived.await;
        }
    }

    pub(super) fn answer(&self, key: &str, reply: Reply) {
        let waiting = self.waiting.0.lock().unwrap().remove(key);
        // The client no longer waits for a late answer.
        let _ = waiting.map(|waiting| waiting.send(reply));
    }
}

async fn serve(mut stream: TcpStream, waiting: Waiting) {
    let mut kept = Vec::new();
    let mut chunk = vec![0; 16 << 10];
    loop {
        let find = |kept: &[u8]| kept.windows(4).position(|window| window == b"\r\n\r\n");
        let (key, all) = loop {
            if let Some(end) = find(&kept) {
                let head = String::from_utf8_lossy(&kept[..end]).into_owned();
                let header = |name: &str| {
                    head.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
                };
                let length: usize = header("content-length:").map_or(0, |length| length.parse().unwrap());
                if kept.len() >= end + 4 + length {
                    break (header("x-place:").unwrap(), end + 4 + length);
                }
            }
            let Ok(count @ 1..) = stream.read(&mut chunk).await else { return };
            kept.extend_from_slice(&chunk[..count]);
        };
        kept.drain(..all);
        let (answer, reply) = oneshot::channel();
        waiting.0.lock().unwrap().insert(key, answer);
        waiting.1.notify_waiters();
        let Ok(Reply { pieces, is_last, .. }) = reply.await else { return };
        for piece in pieces {
            if stream.write_all(&piece).await.is_err() || stream.flush().await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
        if is_last {
            return;
        }
    }
}
