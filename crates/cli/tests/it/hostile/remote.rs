//! Servers over Streamable HTTP, on loopback.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::{Ends, Row, STEER, check};

const ENDPOINT: &str = "check that `url` is the endpoint of an MCP server over Streamable HTTP, and that it runs";
/// `STEER` as an excerpt of an answer is shown.
const SHOWN: &str = "\\u{1b}]0;owned\\u{7}\\u{1b}[2J\\u{9b}31m ::error::owned\u{202e}evil\u{2066}\\u{0}\\u{7f}";
/// The message about a broken connection; `HOST` is replaced by the server.
const BROKE: &str = "the connection to HOST was lost before a response arrived";
const FILLER: &[u8] = &[b'x'; 1 << 16];
/// More of it than any bound here allows.
const MUCH: usize = 20_000;
/// Megabytes for a text that grows to a limit: it is copied as it grows, and the allocator keeps what it had for some milliseconds.
const GROWN: u64 = 120;

/// How a request of this number is answered.
trait Act: Fn(&mut TcpStream, i64) -> io::Result<()> + Send + Sync + 'static {}

impl<F: Fn(&mut TcpStream, i64) -> io::Result<()> + Send + Sync + 'static> Act for F {}

/// A correct server, except for one method or one tool.
struct Remote {
    address: SocketAddr,
    /// Sessions that requests were made in, each as often as it came.
    sessions: Arc<Mutex<Vec<String>>>,
}

impl Remote {
    /// The thread waits for connections as long as the tests run; those it accepts end with the client.
    fn start(at: &'static str, act: impl Act) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let sessions = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&sessions);
        let act = Arc::new(act);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, act) = (Arc::clone(&seen), Arc::clone(&act));
                thread::spawn(move || {
                    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
                    stream.set_write_timeout(Some(Duration::from_secs(30))).unwrap();
                    // The client hangs up when it has had enough, which is what is tested.
                    let _ = converse(&stream, at, &*act, &seen);
                });
            }
        });
        Self { address, sessions }
    }
}

/// Answers the requests on one connection.
fn converse(stream: &TcpStream, at: &str, act: &impl Act, sessions: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    loop {
        let (mut length, mut line) = (0, String::new());
        while reader.read_line(&mut line)? > 2 {
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if let Some(value) = lower.strip_prefix("mcp-session-id:") {
                sessions.lock().unwrap().push(value.trim().to_owned());
            }
            line.clear();
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        // A session that ended, or a client that disconnected.
        let Ok(message) = serde_json::from_slice::<Value>(&body) else { return Ok(()) };
        let tool = message["params"]["name"].as_str();
        let method = tool.or(message["method"].as_str()).unwrap_or("");
        let Some(id) = message["id"].as_i64() else {
            writer.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")?;
            continue;
        };
        if method == at {
            return act(&mut stream.try_clone()?, id);
        }
        let mut head = "200 OK".to_owned();
        if method != "initialize" {
            head.push_str("\r\nmcp-session-id: another");
        }
        writer.write_all(&response(&head, "application/json", reply(id, method).to_string().as_bytes()))?;
    }
}

fn text(words: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": words }] })
}

/// The answers of a correct server.
fn reply(id: i64, method: &str) -> Value {
    let schema = json!({ "type": "object" });
    let result = match method {
        "initialize" => {
            json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": { "name": "far", "version": "1" } })
        }
        "tools/list" => {
            json!({ "tools": [{ "name": "attack", "inputSchema": schema }, { "name": "echo", "inputSchema": schema }] })
        }
        "attack" => text("attacked"),
        _ => text("still here"),
    };
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// Every answer closes its connection and announces it; otherwise the next request might use a connection that is closing.
fn response(status: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// The head of an answer whose end is the end of the connection.
fn endless(stream: &mut TcpStream, kind: &str) -> io::Result<()> {
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n")
}

fn drip(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    for byte in bytes.iter().cycle().take(300) {
        stream.write_all(&[*byte])?;
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

fn status(stream: &mut TcpStream, line: &str) -> io::Result<()> {
    stream.write_all(&response(line, "text/plain", STEER.as_bytes()))
}

fn events(stream: &mut TcpStream, id: i64, before: &str, times: usize) -> io::Result<()> {
    endless(stream, "text/event-stream")?;
    let before = before.repeat(100);
    for _ in 0..times / 100 {
        stream.write_all(before.as_bytes())?;
    }
    write!(stream, "data: {}\n\n", reply(id, "attack"))
}

fn bomb(json: &[u8], times: usize) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(b"{\"jsonrpc\":\"2.0\",\"x\":\"").unwrap();
    for _ in 0..times {
        packed.write_all(json).unwrap();
    }
    packed.finish().unwrap()
}

fn row(mode: &'static str, at: &'static str, act: impl Act, ends: Ends) -> Row {
    let remote = Remote::start(at, act);
    let ends = match ends {
        Ends::Refused(message, hint) => Ends::Refused(message.replace("HOST", &remote.address.to_string()), hint),
        Ends::Answers(answers) => {
            Ends::Answers(answers.iter().map(|answer| answer.replace("HOST", &remote.address.to_string())).collect())
        }
    };
    Row::new(mode, format!("url: \"http://{}/mcp\"", remote.address), ends)
}

/// Nobody, who counts his visitors.
pub(super) fn nobody() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let visits = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&visits);
    thread::spawn(move || listener.incoming().for_each(|_| _ = count.fetch_add(1, Ordering::Relaxed)));
    (address, visits)
}

fn refused(mode: &'static str, at: &'static str, act: impl Act, message: &str, hint: &'static str) -> Row {
    row(mode, at, act, Ends::Refused(format!("server `bad`: {message}"), hint))
}

fn goes_on(mode: &'static str, act: impl Act, answer: &str) -> Row {
    let answers = vec![answer.to_owned(), "ok: still here".to_owned()];
    row(mode, "attack", act, Ends::Answers(answers))
}

#[test]
fn a_redirect_is_reported_and_not_followed() {
    let (elsewhere, visits) = nobody();
    check(vec![
        refused(
            "a redirect",
            "initialize",
            move |stream, _| {
                write!(
                    stream,
                    "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://{elsewhere}/mcp\r\ncontent-length: 0\r\n\r\n"
                )
            },
            &format!(
                "responded to `initialize` with 307 Temporary Redirect and redirects to `{elsewhere}`; redirects are not followed"
            ),
            "set `url` to the target of the redirect, if you trust it with your headers",
        ),
        goes_on(
            "a redirect of a call",
            move |stream, _| {
                write!(
                    stream,
                    "HTTP/1.1 308 Permanent Redirect\r\nlocation: http://{elsewhere}/mcp\r\ncontent-length: 0\r\n\r\n"
                )
            },
            &format!(
                "http 308: the server answered 308 Permanent Redirect and redirects to `{elsewhere}`; redirects are not followed"
            ),
        ),
    ]);
    assert_eq!(visits.load(Ordering::Relaxed), 0, "a redirect was followed");
}

#[test]
fn a_remote_server_that_denies_access_is_reported_with_its_status() {
    let denied = |mode, line: &'static str, hint| {
        let message = format!("responded to `initialize` with {line}: {SHOWN}");
        refused(mode, "initialize", move |stream, _| status(stream, line), &message, hint)
    };
    check(vec![
        denied("401", "401 Unauthorized", "set `bearer_token_env` to a variable that holds a token the server accepts"),
        denied("403", "403 Forbidden", "the server denies access: check the permissions of the token, and `headers`"),
        denied("404", "404 Not Found", "check the path in `url`: it is that of the endpoint, often `/mcp`"),
        denied("429", "429 Too Many Requests", "the server is rate limiting: wait, or run fewer tests at once"),
        denied("500", "500 Internal Server Error", "check the server's log"),
    ]);
}

#[test]
fn a_remote_server_that_does_not_open_the_protocol_is_reported_with_what_it_did() {
    check(vec![
        refused(
            "an unknown revision",
            "initialize",
            |stream, id| {
                let mut reply = reply(id, "initialize");
                reply["result"]["protocolVersion"] = STEER.into();
                stream.write_all(&response("200 OK", "application/json", reply.to_string().as_bytes()))
            },
            &format!(
                "uses protocol revision `{}…`, which mcptest does not support",
                STEER.trim_end_matches(['\0', '\u{7f}'])
            ),
            "update the server, or mcptest",
        ),
        refused(
            "slow headers",
            "initialize",
            |stream, _| drip(stream, b"HTTP/1.1 200 OK\r\nx: "),
            "did not answer `initialize` within 2000 ms",
            "check `url`, or raise `timeout_ms`",
        )
        .patient(2000),
        refused(
            "no answer",
            "initialize",
            |stream, _| drip(stream, b""),
            &format!("no reply to `initialize`: {BROKE}: connection closed before message completed"),
            ENDPOINT,
        ),
        refused(
            "huge headers",
            "tools/list",
            |stream, _| {
                stream.write_all(b"HTTP/1.1 200 OK\r\nx: ")?;
                (0..MUCH).try_for_each(|_| stream.write_all(FILLER))
            },
            &format!("no reply to `tools/list`: {BROKE}: message head is too large"),
            ENDPOINT,
        ),
        refused(
            "many headers",
            "tools/list",
            |stream, _| {
                let mut head = "HTTP/1.1 200 OK\r\n".to_owned();
                for n in 0..MUCH {
                    write!(head, "x-{n}: y\r\n").unwrap();
                }
                stream.write_all(head.as_bytes())
            },
            &format!("no reply to `tools/list`: {BROKE}: message head is too large"),
            ENDPOINT,
        ),
        refused(
            "a web page",
            "tools/list",
            |stream, _| stream.write_all(&response("200 OK", "text/html", STEER.as_bytes())),
            &format!(
                "no reply to `tools/list`: the server answered 200 OK with `text/html`, which is neither JSON nor an event stream: {SHOWN}"
            ),
            ENDPOINT,
        ),
    ]);
}

#[test]
fn a_remote_server_with_an_invalid_reply_fails_that_call() {
    let too_long = "transport: the server's response has more than 16777216 bytes";
    check(vec![
        goes_on(
            "503",
            |stream, _| status(stream, "503 Service Unavailable"),
            &format!("http 503: the server answered 503 Service Unavailable: {SHOWN}"),
        ),
        goes_on(
            "a body without end",
            |stream, _| {
                endless(stream, "application/json")?;
                (0..MUCH).try_for_each(|_| stream.write_all(FILLER))
            },
            too_long,
        )
        .taking(GROWN),
        goes_on(
            "a refusal without end",
            |stream, _| {
                write!(stream, "HTTP/1.1 500 Oh\r\nconnection: close\r\n\r\n")?;
                (0..MUCH).try_for_each(|_| stream.write_all(FILLER))
            },
            &format!("http 500: the server answered 500 Internal Server Error: {}…", "x".repeat(103)),
        ),
        goes_on(
            "a body that breaks off",
            |stream, _| {
                stream.write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{\"json",
                )
            },
            "transport: the connection to HOST was lost during the response: end of file before message length reached",
        ),
        goes_on(
            "a connection that is closed",
            |_, _| Ok(()),
            &format!("transport: {BROKE}: connection closed before message completed"),
        ),
        goes_on(
            "no HTTP",
            |stream, _| stream.write_all(STEER.as_bytes()),
            &format!("transport: {BROKE}: invalid HTTP version parsed"),
        ),
        goes_on(
            "a packed body without end",
            |stream, _| {
                let body = bomb(FILLER, 1200);
                write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                )?;
                stream.write_all(&body)
            },
            too_long,
        ),
        goes_on(
            "many small objects",
            |stream, id| {
                let body =
                    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":[{}0]}}", "{\"\":0},".repeat(2_000_000));
                stream.write_all(&response("200 OK", "application/json", body.as_bytes()))
            },
            "jsonrpc: the server's reply is not a valid tools/call result: it would take more than 67108864 bytes of memory",
        ),
        goes_on(
            "a result of 50 MB",
            |stream, id| {
                let mut reply = reply(id, "attack");
                reply["result"]["content"][0]["text"] = "x".repeat(50_000_000).into();
                stream.write_all(&response("200 OK", "application/json", reply.to_string().as_bytes()))
            },
            too_long,
        )
        .taking(GROWN),
        goes_on(
            "no JSON",
            |stream, _| stream.write_all(&response("200 OK", "application/json", STEER.as_bytes())),
            &format!("transport: the server's response is not a reply to the request: {SHOWN}"),
        ),
        goes_on(
            "another's reply",
            |stream, id| {
                stream.write_all(&response(
                    "200 OK",
                    "application/json",
                    reply(id + 1, "attack").to_string().as_bytes(),
                ))
            },
            "transport: the server's response is not a reply to the request: {\"id\":3,\"jsonrpc\":\"2.0\",\"result\":{\"content\":[{\"text\":\"attacked\",\"type\":\"text\"}]}}",
        ),
    ]);
}

#[test]
fn a_remote_server_with_a_broken_stream_fails_at_most_that_call() {
    let much = "transport: the server's response has more than 67108864 bytes";
    check(vec![
        goes_on(
            "an event without end",
            |stream, _| {
                endless(stream, "text/event-stream")?;
                stream.write_all(b"data: ")?;
                (0..MUCH).try_for_each(|_| stream.write_all(FILLER))
            },
            "transport: the server sent an event of more than 16777216 bytes",
        )
        .taking(GROWN),
        goes_on(
            "events without end",
            |stream, _| {
                endless(stream, "text/event-stream")?;
                let comments = ": still here\n\n".repeat(10_000);
                (0..MUCH).try_for_each(|_| stream.write_all(comments.as_bytes()))
            },
            much,
        ),
        goes_on(
            "slow events without end",
            |stream, _| {
                endless(stream, "text/event-stream")?;
                drip(stream, b": ping\n\n")
            },
            "timeout: no answer within 2000 ms",
        )
        .patient(2000),
        goes_on(
            "a stream that goes on after its reply",
            |stream, id| {
                events(stream, id, "", 0)?;
                drip(stream, b"data: x\n\n")
            },
            "ok: attacked",
        ),
        goes_on(
            "questions without end",
            |stream, id| {
                let ask =
                    "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sampling/createMessage\",\"params\":{}}\n\n";
                events(stream, id, ask, 20_000)
            },
            "ok: attacked",
        ),
        goes_on(
            "a stream that breaks off",
            |stream, _| {
                endless(stream, "text/event-stream")?;
                stream.write_all(b"data: {\"jsonrpc\":\"2.0\",")
            },
            "transport: the server's stream ended without a reply",
        ),
    ]);
}

#[test]
fn a_session_id_is_only_taken_from_the_handshake() {
    let open = |stream: &mut TcpStream, id| {
        let head = "200 OK\r\nconnection: close\r\nmcp-session-id: first";
        stream.write_all(&response(head, "application/json", reply(id, "initialize").to_string().as_bytes()))
    };
    let remote = Remote::start("initialize", open);
    let answers = ["ok: attacked", "ok: still here"].map(str::to_owned).to_vec();
    check(vec![Row::new("a session", format!("url: \"http://{}/mcp\"", remote.address), Ends::Answers(answers))]);
    let seen = remote.sessions.lock().unwrap().clone();
    // Initialized, a request for a stream and for the list, two calls, and the end of the session.
    assert_eq!(seen, ["first"; 6]);
}
