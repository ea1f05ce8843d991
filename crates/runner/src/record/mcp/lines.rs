//! Clients that only start programs: their shim connects here, and the connection becomes a stream of lines in both directions.
//!
//! A child gets the lines unchanged and in order; each client has its own child.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue, UPGRADE};
use hyper::upgrade::Upgraded;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use mcptest_core::ledger::{Message, Side};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, split};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::super::body::Body;
use super::super::capture::{Capture, MAX_KEPT};
use super::super::listen::plain;
use super::envelope::Envelope;
use super::shim::PROTOCOL;
use super::stdio::{empty, failure};
use super::{Gateway, Gateways, Tape, captured, message, relay};
use crate::mcp::MAX_LINE;
use crate::mcp::lines::{DRAIN_GRACE, LineReader};
use crate::mcp::server::{EXIT_GRACE, stderr_tail};
use crate::process::Spawned;

const FAULTS: &str =
    "a fault targets this server, and `mcptest shim` cannot inject it: connect over HTTP, with MCPTEST_MCP_CONFIG";

const LEFT: &str = "the program closed the connection";

pub(super) type Io = TokioIo<Upgraded>;

pub(super) fn upgrade(gateways: &Gateways, gateway: &Gateway, request: Request<Incoming>) -> Response<Body> {
    let is_shim = request.headers().get(UPGRADE).is_some_and(|name| name == PROTOCOL);
    if !is_shim {
        return plain(StatusCode::UPGRADE_REQUIRED, "this address is for `mcptest shim`");
    }
    // Lines are forwarded unchanged, so a fault would not be injected, and its test would pass without it.
    let tape = match gateway {
        Gateway::Stdio(stdio) => Some(&stdio.tape),
        Gateway::Remote(remote) => Some(&remote.tape),
        Gateway::Recorded(_) => None,
    };
    if tape.is_some_and(|tape| tape.recorder.faults().targets_server(&tape.server)) {
        return plain(StatusCode::NOT_IMPLEMENTED, FAULTS);
    }
    let upgraded = hyper::upgrade::on(request);
    let closing = gateways.closing.subscribe();
    match gateway {
        Gateway::Stdio(stdio) => {
            let connection = stdio.tape.recorder.connection();
            match stdio.spawn(connection) {
                Ok(spawned) => {
                    let tape = stdio.tape.clone();
                    gateways.spawn(async move {
                        if let Ok(io) = upgraded.await {
                            serve(&tape, connection, spawned, TokioIo::new(io), closing).await;
                        }
                    });
                }
                Err(error) => return failure(&Value::Null, &error),
            }
        }
        Gateway::Recorded(server) => {
            let server = server.clone();
            gateways.spawn(async move {
                if let Ok(io) = upgraded.await {
                    server.lines(TokioIo::new(io), closing).await;
                }
            });
        }
        Gateway::Remote(remote) => {
            let (endpoint, tape) = (remote.endpoint.clone(), remote.tape.clone());
            gateways.spawn(async move {
                if let Ok(io) = upgraded.await {
                    relay::serve(&endpoint, &tape, TokioIo::new(io), closing).await;
                }
            });
        }
    }
    let mut response = empty(StatusCode::SWITCHING_PROTOCOLS);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
    response.headers_mut().insert(UPGRADE, HeaderValue::from_static(PROTOCOL));
    response
}

/// Waits for the end of the recording.
pub(super) async fn closed(closing: &mut watch::Receiver<bool>) {
    // Fails when the recording has ended, which also ends this.
    let _ = closing.wait_for(|closing| *closing).await;
}

/// Requests of the program that wait for a reply.
type Pending = watch::Sender<BTreeSet<String>>;

/// Copies lines between a shim and its child until either ends.
async fn serve(tape: &Tape, connection: u64, spawned: Spawned, io: Io, mut closing: watch::Receiver<bool>) {
    let Spawned { child, stdin, stdout } = spawned;
    let (from_program, mut to_program) = split(io);
    let pending: Arc<Pending> = Arc::new(Pending::default());
    let has_left = Arc::new(AtomicBool::new(false));
    let up = {
        let (tape, pending, has_left) = (tape.clone(), Arc::clone(&pending), Arc::clone(&has_left));
        tokio::spawn(async move {
            let mut stdin = stdin;
            let at_end = pump(from_program, &mut stdin, &tape, connection, Side::Program, &pending).await;
            has_left.store(at_end, Ordering::Relaxed);
        })
    };
    let mut exit = child.exit();
    let why = {
        let down = async {
            let copied = pump(stdout, &mut to_program, tape, connection, Side::Server, &pending);
            let gone = async {
                if exit.wait_for(Option::is_some).await.is_ok() {
                    sleep(DRAIN_GRACE).await;
                }
            };
            tokio::select! {
                _ = copied => {}
                () = gone => {}
            }
        };
        tokio::pin!(down);
        let abort = up.abort_handle();
        let left = async {
            let _ = up.await;
            // Half-closed: the program still waits for its replies.
            let _ = pending.subscribe().wait_for(BTreeSet::is_empty).await;
            child.end().await;
        };
        let why = tokio::select! {
            () = &mut down => has_left.load(Ordering::Relaxed).then_some(LEFT),
            () = left => {
                let _ = timeout(DRAIN_GRACE, &mut down).await;
                Some(LEFT)
            }
            () = closed(&mut closing) => {
                // The program may have left before, and the child may take a while to end.
                Some(if has_left.load(Ordering::Relaxed) { LEFT } else { "the recording ended" })
            }
        };
        // Its input is closed by that.
        abort.abort();
        why
    };
    let _ = to_program.shutdown().await;
    let why = match (why, child.exit_within(EXIT_GRACE).await) {
        (Some(why), _) => why.to_owned(),
        (None, Some(status)) => format!("the server exited ({status}){}", stderr_tail(&child.stderr().await)),
        (None, None) => format!("the server closed its standard output{}", stderr_tail(&child.stderr().await)),
    };
    tape.server(connection, Message::End(why), None);
    child.end().await;
}

/// Copies lines, and records each before it is passed on. Returns true if the input ended, false if the output was closed.
async fn pump(
    from: impl AsyncRead + Unpin,
    to: &mut (impl AsyncWrite + Unpin),
    tape: &Tape,
    connection: u64,
    side: Side,
    pending: &Pending,
) -> bool {
    let mut lines = LineReader::new(BufReader::with_capacity(64 * 1024, from), MAX_LINE);
    loop {
        let line = match lines.next().await {
            Ok(Some(line)) => [line, b"\n"].concat(),
            Ok(None) => return true,
            Err(_) => {
                if !pump_long(&mut lines, to, tape, connection, side, pending).await {
                    return false;
                }
                continue;
            }
        };
        if side == Side::Program && !tape.admits(&line, true).await {
            // The program is being stopped.
            continue;
        }
        if !line.trim_ascii().is_empty() {
            tape.enter(connection, side, message(line.trim_ascii()), None);
            if let Some(envelope) = Envelope::read(&line) {
                note(pending, side, &envelope);
            }
        }
        if to.write_all(&line).await.is_err() || to.flush().await.is_err() {
            return false;
        }
    }
}

/// Copies a line that is too long to keep. Returns whether the other side still reads.
async fn pump_long(
    lines: &mut LineReader<BufReader<impl AsyncRead + Unpin>>,
    to: &mut (impl AsyncWrite + Unpin),
    tape: &Tape,
    connection: u64,
    side: Side,
    pending: &Pending,
) -> bool {
    if side == Side::Program && !tape.admits(&[], false).await {
        return false;
    }
    let mut capture = Capture::new(MAX_KEPT);
    let mut envelope = None;
    while let Some(part) = lines.part().await {
        envelope.get_or_insert_with(|| Envelope::begin(&part));
        capture.push(&part);
        if to.write_all(&part).await.is_err() {
            return false;
        }
    }
    tape.enter(connection, side, captured(capture), None);
    note(pending, side, &envelope.unwrap_or_default());
    to.write_all(b"\n").await.is_ok() && to.flush().await.is_ok()
}

fn note(pending: &Pending, side: Side, envelope: &Envelope) {
    let Some(id) = &envelope.id else { return };
    pending.send_modify(|ids| {
        match side {
            Side::Program if envelope.is_request() => ids.insert(id.to_string()),
            Side::Server if envelope.is_reply() => ids.remove(&id.to_string()),
            _ => false,
        };
    });
}
