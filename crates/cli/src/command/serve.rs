//! `mcptest serve-json`: answers requests from another program, one line of JSON each, using the code of the other
//! commands.
//!
//! Requests are answered in order. Scoring and recording go on in the background between requests: `scoring` and `recording`
//! have one session each. When standard input ends, all sessions end.

mod cassettes;
mod protocol;
mod recording;
mod scoring;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::thread;

use mcptest_core::diag::{Code, Failure};
use serde_json::json;

use self::protocol::{Answer, Request};
use self::recording::Recorded;
use self::scoring::Scoring;
use super::{Environment, Stop};
use crate::console::Console;
use crate::exit;

/// The version of the protocol. A client of another version gets an error from `hello`.
const PROTOCOL: u64 = 1;

/// The longest request. Clients send large corpora in many requests.
const MAX_REQUEST: u64 = 1 << 30;

pub(super) fn run(environment: Environment<'_>, console: &mut Console<'_>) -> Result<u8, Stop> {
    let mut input = BufReader::with_capacity(1 << 18, io::stdin().lock());
    thread::scope(|scope| {
        let mut sessions =
            Sessions { scope, environment, scoring: BTreeMap::new(), recording: BTreeMap::new(), last: 0 };
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = input.by_ref().take(MAX_REQUEST).read_until(b'\n', &mut line);
            read.map_err(|error| unusable("read standard input", &error))?;
            if line.is_empty() {
                return Ok(exit::OK);
            }
            if line.last() != Some(&b'\n') && line.len() as u64 >= MAX_REQUEST {
                return Err(bad_request("a request has more than 1 GiB; send records in several requests".to_owned()));
            }
            let reply = reply(&line, &mut sessions);
            let written = console.out.write_all(&reply).and_then(|()| console.out.flush());
            match written {
                // The other program has exited.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(exit::OK),
                written => written.map_err(|error| unusable("write to standard output", &error))?,
            }
        }
    })
}

fn unusable(what: &str, error: &io::Error) -> Failure {
    Failure::error((), format!("cannot {what}: {error}")).code(Code::StdoutFailed)
}

/// The reply to a line, with its end.
fn reply(line: &[u8], sessions: &mut Sessions<'_, '_>) -> Vec<u8> {
    match protocol::parse(line) {
        Ok((id, request)) => protocol::reply(id, sessions.answer(request)),
        Err((id, why)) => protocol::reply(id, Err(bad_request(format!("this request cannot be read: {why}")))),
    }
}

/// Everything that is in progress.
struct Sessions<'scope, 'env> {
    scope: &'scope thread::Scope<'scope, 'env>,
    environment: Environment<'env>,
    scoring: BTreeMap<u64, Scoring<'scope>>,
    recording: BTreeMap<u64, Recorded<'scope>>,
    /// The number of the latest session.
    last: u64,
}

impl Sessions<'_, '_> {
    fn answer(&mut self, request: Request<'_>) -> Result<Answer, Stop> {
        match request {
            Request::Hello { protocol } => match protocol {
                None | Some(PROTOCOL) => {
                    Ok(Answer::Value(json!({ "protocol": PROTOCOL, "version": env!("CARGO_PKG_VERSION") })))
                }
                Some(other) => Err(bad_request(format!(
                    "this program supports version {PROTOCOL} of its protocol, not version {other}"
                ))),
            },
            Request::Gates(gates) => scoring::gates(&gates, self.environment).map(Answer::Value),
            Request::ScoreStart(asked) => {
                let (session, messages) = Scoring::start(&asked, self.scope, self.environment)?;
                self.last += 1;
                self.scoring.insert(self.last, session);
                Ok(Answer::Value(json!({ "session": self.last, "messages": messages })))
            }
            Request::ScoreAdd { session, records } => {
                let scoring = self.scoring.get_mut(&session).ok_or_else(|| unknown(session))?;
                Ok(Answer::Lines(scoring.add(&records)))
            }
            Request::ScoreFinish { session } => {
                Ok(self.scoring.remove(&session).ok_or_else(|| unknown(session))?.finish())
            }
            Request::RecordStart(asked) => {
                let (session, variables) = Recorded::start(asked, self.scope)?;
                self.last += 1;
                self.recording.insert(self.last, session);
                Ok(Answer::Value(json!({ "session": self.last, "variables": variables })))
            }
            Request::RecordFinish(end) => {
                let recorded = self.recording.remove(&end.session).ok_or_else(|| unknown(end.session))?;
                recorded.finish(end).map(Answer::Value)
            }
            Request::CassettesStart(of) => cassettes::start(&of).map(Answer::Value),
            Request::CassettesSave(asked) => cassettes::save(asked).map(Answer::Value),
            Request::CassettesLoad(asked) => cassettes::load(&asked).map(Answer::Value),
        }
    }
}

fn unknown(session: u64) -> Stop {
    bad_request(format!("there is no session {session}"))
}

fn bad_request(message: String) -> Stop {
    Failure::error((), message).code(Code::BadArgument).into()
}
