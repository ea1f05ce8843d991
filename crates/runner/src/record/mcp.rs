//! The MCP side: one endpoint per server, which forwards every message both ways and enters it into the ledger.
//!
//! `stdio` serves HTTP clients from a child, whose messages `pipe` routes; `remote` serves them from a server at a URL. `lines`
//! serves clients that only start programs: `shim` is what they start, and `relay` leads them to a URL. `envelope` is what is
//! read of a message to route it. `recorded` answers in place of a server.

mod envelope;
mod fault;
mod lines;
mod pipe;
mod recorded;
mod relay;
mod remote;
pub(super) mod shim;
mod stdio;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use mcptest_core::ledger::{self, Mcp, Message, Side, WhyUnread};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::body::Body;
use super::capture::{self, Capture};
use super::ledger::Recorder;
use super::listen::plain;
use super::replay::Player;
use crate::mcp::{Endpoint, Problem};
use crate::process::Processes;
use recorded::Server;
use remote::Remote;
use stdio::Stdio;

/// The endpoints of a recording, by the name of the server.
#[derive(Debug)]
pub(super) struct Gateways {
    by_name: BTreeMap<String, Gateway>,
    /// Shims that are connected.
    shims: Mutex<JoinSet<()>>,
    /// Set when the recording ends.
    closing: watch::Sender<bool>,
}

/// The endpoint of one server.
#[derive(Debug)]
enum Gateway {
    Stdio(Stdio),
    Remote(Remote),
    Recorded(Server),
}

impl Gateways {
    pub(super) fn new(
        servers: Vec<(String, Endpoint)>,
        processes: &Processes,
        recorder: &Recorder,
        player: Option<&Player>,
    ) -> Result<Self, Problem> {
        let gateway = |(name, endpoint): (String, Endpoint)| {
            let tape = Tape { server: name.clone(), recorder: recorder.clone(), player: player.cloned() };
            let gateway = match endpoint {
                Endpoint::Command(launch) => Gateway::Stdio(Stdio::new(launch, processes.clone(), tape)),
                endpoint @ Endpoint::Url { .. } => Gateway::Remote(Remote::new(endpoint, tape)?),
            };
            Ok((name, gateway))
        };
        let by_name = servers.into_iter().map(gateway).collect::<Result<_, Problem>>()?;
        Ok(Self { by_name, shims: Mutex::default(), closing: watch::Sender::new(false) })
    }

    /// Endpoints that answer from a recording.
    pub(super) fn recorded(servers: &[String], player: &Player) -> Self {
        let gateway = |name: &String| (name.clone(), Gateway::Recorded(Server::new(name.clone(), player.clone())));
        let by_name = servers.iter().map(gateway).collect();
        Self { by_name, shims: Mutex::default(), closing: watch::Sender::new(false) }
    }

    /// Answers a request of a client over HTTP.
    pub(super) async fn serve(&self, server: &str, request: Request<Incoming>) -> Response<Body> {
        match self.by_name.get(server) {
            Some(Gateway::Stdio(stdio)) => stdio.serve(request).await,
            Some(Gateway::Remote(remote)) => remote.serve(request).await,
            Some(Gateway::Recorded(server)) => server.serve(request).await,
            None => plain(StatusCode::NOT_FOUND, "no such server"),
        }
    }

    /// Answers a shim, whose connection becomes a stream of lines.
    pub(super) fn lines(&self, server: &str, request: Request<Incoming>) -> Response<Body> {
        match self.by_name.get(server) {
            Some(gateway) => lines::upgrade(self, gateway, request),
            None => plain(StatusCode::NOT_FOUND, "no such server"),
        }
    }

    fn spawn(&self, shim: impl Future<Output = ()> + Send + 'static) {
        let mut shims = self.shims.lock().unwrap_or_else(PoisonError::into_inner);
        while shims.try_join_next().is_some() {}
        shims.spawn(shim);
    }

    /// Ends all children and shims. Connections over HTTP are closed before.
    pub(super) async fn close(&self) {
        self.closing.send_replace(true);
        let mut ending = std::mem::take(&mut *self.shims.lock().unwrap_or_else(PoisonError::into_inner));
        for gateway in self.by_name.values() {
            if let Gateway::Stdio(stdio) = gateway {
                stdio.close(&mut ending);
            }
        }
        ending.join_all().await;
    }
}

/// Where the messages of one server are entered.
#[derive(Debug, Clone)]
struct Tape {
    server: String,
    recorder: Recorder,
    /// What the program is compared with if it runs again.
    player: Option<Player>,
}

impl Tape {
    /// Whether a message of the program may reach the server: not if a rerun has diverged.
    async fn admits(&self, text: &[u8], is_whole: bool) -> bool {
        match &self.player {
            Some(player) => player.admits(&self.server, text, is_whole).await,
            None => true,
        }
    }

    /// The answer to a message that was not admitted.
    fn refusal(&self) -> Response<Body> {
        let why = self.player.as_ref().map_or_else(String::new, Player::refusal);
        stdio::rejection(StatusCode::BAD_REQUEST, -32000, &why)
    }

    fn enter(&self, connection: u64, from: Side, message: Message, reply_to: Option<u64>) -> u64 {
        let server = self.server.clone();
        self.recorder.mcp(Mcp { server, connection, from, message, reply_to, status: None })
    }

    /// A message of the program. Returns its number.
    fn program(&self, connection: u64, message: Message) -> u64 {
        self.enter(connection, Side::Program, message, None)
    }

    /// The program closed the connection before the reply to its message, which cancels it.
    fn left(&self, connection: u64, seq: u64) {
        let end = Message::End("the program closed the connection".to_owned());
        self.enter(connection, Side::Program, end, Some(seq));
    }

    fn server(&self, connection: u64, message: Message, reply_to: Option<u64>) {
        self.enter(connection, Side::Server, message, reply_to);
    }
}

/// A message as the ledger keeps it. It is not longer than what is kept.
fn message(text: &[u8]) -> Message {
    let parsed = match str::from_utf8(text) {
        Ok(text) => ledger::parse(text),
        Err(_) => Err(WhyUnread::Malformed("it is not UTF-8".to_owned())),
    };
    parsed.map_or_else(|why| Message::Unread(capture::unread(why, text)), Message::Json)
}

/// What was captured, as the ledger keeps it.
fn captured(capture: Capture) -> Message {
    capture.finish().map_or_else(Message::Unread, |text| message(&text))
}
