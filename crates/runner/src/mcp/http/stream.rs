//! Streams of events: those that answer a request, and the one on which a server speaks on its own.
//!
//! Up to revision 2025-11-25 a server may close a stream before its reply and have the client ask for the rest, with the id
//! of the last event and after the time that the server says. A server that gives its events no ids cannot be asked so.

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Response, StatusCode};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::super::events::{Events, TooLong};
use super::super::exchange::Failure;
use super::super::lines::MAX_LINE;
use super::{MAX_ANSWER, Peer, broke, kind};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How long a stream is read after its reply. Second replies are counted; a stream that is left open costs no more.
const AFTER_REPLY: Duration = Duration::from_secs(1);
/// How long to wait before a stream is resumed, where the server does not say.
const RETRY: Duration = Duration::from_secs(1);
/// The shortest wait, so that a server that closes every stream at once is not asked in a tight loop.
const MIN_RETRY: Duration = Duration::from_millis(50);
/// The number of no request, for a stream that answers none.
const NO_REQUEST: i64 = -1;
/// How much is read of a stream to see what it begins with.
const START: usize = 4096;

impl Peer {
    /// Reads the answer to a request up to its reply, and a little further for a second one.
    pub(super) async fn stream(&self, mut response: Response, number: i64) -> Result<(), Failure> {
        let mut events = Events::new(MAX_LINE);
        let mut left = MAX_ANSWER;
        loop {
            let lost = match response.chunk().await {
                Ok(Some(chunk)) => {
                    self.events(&chunk, &mut events, &mut left, number)?;
                    if self.exchange.waits(number) {
                        continue;
                    }
                    let rest = async {
                        while let Ok(Some(chunk)) = response.chunk().await {
                            if self.events(&chunk, &mut events, &mut left, number).is_err() {
                                return;
                            }
                        }
                    };
                    let _ = timeout(AFTER_REPLY, rest).await;
                    return Ok(());
                }
                Ok(None) => Failure::Broken("the server's stream ended without a reply".to_owned()),
                Err(error) => broke(&self.url, &error),
            };
            response = self.resume(&mut events, number, lost).await?;
        }
    }

    /// Takes in bytes of a stream of which `left` may still come.
    fn events(&self, chunk: &[u8], events: &mut Events, left: &mut usize, number: i64) -> Result<(), Failure> {
        super::spend(left, chunk.len(), MAX_ANSWER)?;
        events
            .push(chunk, |data| self.take(number, data))
            .map_err(|TooLong(limit)| Failure::Broken(format!("the server sent an event of more than {limit} bytes")))
    }

    /// Asks for the rest of a stream that ended without its reply; `lost` is what is reported where nobody can be asked.
    async fn resume(&self, events: &mut Events, number: i64, lost: Failure) -> Result<Response, Failure> {
        let Some(id) = last_id(events).filter(|_| self.negotiation().modern.is_none()) else { return Err(lost) };
        pause(events).await;
        if !self.exchange.waits(number) {
            return Err(lost);
        }
        events.resume();
        let response = self.get(Some(id)).await?;
        if is_stream(&response) {
            return Ok(response);
        }
        let status = response.status();
        let answer = match self.refusal(response).await.0 {
            Failure::Status(_, what) if !status.is_success() => what,
            Failure::Broken(what) => return Err(Failure::Broken(what)),
            _ => format!("{status} and no stream of events"),
        };
        let what =
            format!("the server's stream ended without a reply, and a request for the rest was answered {answer}");
        Err(Failure::Broken(what))
    }

    /// Answers what the server asks outside of any answer, while it keeps a stream open for that. Most servers do not.
    /// `opened` hears when it is known whether this one does.
    pub(super) async fn listen(&self, opened: oneshot::Sender<()>) {
        let mut events = Events::new(MAX_LINE);
        let mut opened = Some(opened);
        loop {
            let response = self.get(last_id(&events)).await;
            if let Some(opened) = opened.take() {
                // Whoever waited may have gone on.
                let _ = opened.send(());
            }
            let Some(mut response) = response.ok().filter(is_stream) else { return };
            let mut left = MAX_ANSWER;
            while let Ok(Some(chunk)) = response.chunk().await {
                if self.events(&chunk, &mut events, &mut left, NO_REQUEST).is_err() {
                    return;
                }
            }
            pause(&events).await;
            events.resume();
        }
    }

    /// Whether the address speaks the transport of revision 2024-11-05: it opens a stream that begins with an `endpoint` event.
    pub(super) async fn speaks_http_sse(&self) -> bool {
        let Some(mut response) = self.get(None).await.ok().filter(is_stream) else { return false };
        let mut start = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            start.extend_from_slice(&chunk[..chunk.len().min(START)]);
            let text = String::from_utf8_lossy(&start);
            if text.lines().any(|line| matches!(line.trim_end(), "event: endpoint" | "event:endpoint")) {
                return true;
            }
            if start.len() >= START {
                return false;
            }
        }
        false
    }

    /// Asks for a stream, from an event on or from now on.
    async fn get(&self, last_id: Option<HeaderValue>) -> Result<Response, Failure> {
        let mut headers = self.headers(&Value::Null);
        headers.remove(CONTENT_TYPE);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = last_id {
            headers.insert(LAST_EVENT_ID, id);
        }
        self.send(self.client.get(self.url.clone()).headers(headers)).await
    }
}

fn is_stream(response: &Response) -> bool {
    response.status() == StatusCode::OK && kind(response) == "text/event-stream"
}

fn last_id(events: &Events) -> Option<HeaderValue> {
    events.last_id().and_then(|id| HeaderValue::from_bytes(id).ok())
}

/// Waits as long as the server wants.
async fn pause(events: &Events) {
    sleep(events.retry().unwrap_or(RETRY).max(MIN_RETRY)).await;
}
