//! Event streams: responses to requests, and the stream for the server's own messages.
//!
//! Up to revision 2025-11-25 a server may close a stream before its reply and have the client request the rest, with the id of
//! the last event and after the time that the server sets. Without event ids a stream cannot be resumed.

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

/// How long a stream is read after its reply, to count duplicate replies.
const AFTER_REPLY: Duration = Duration::from_secs(1);
/// How long to wait before resuming a stream, if the server does not say.
const RETRY: Duration = Duration::from_secs(1);
/// The shortest wait, so that a server that closes every stream at once does not cause a tight loop.
const MIN_RETRY: Duration = Duration::from_millis(50);
/// The id for a stream that answers no request.
const NO_REQUEST: i64 = -1;
/// How much of a stream is read to see how it begins.
const START: usize = 4096;

impl Peer {
    /// Reads the response to a request up to its reply, and a little further for duplicates.
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

    /// Takes bytes of a stream of which `left` remain.
    fn events(&self, chunk: &[u8], events: &mut Events, left: &mut usize, number: i64) -> Result<(), Failure> {
        super::spend(left, chunk.len(), MAX_ANSWER)?;
        events
            .push(chunk, |event| {
                if event.is_message() {
                    self.take(number, event.data);
                }
            })
            .map_err(|TooLong(limit)| Failure::Broken(format!("the server sent an event of more than {limit} bytes")))
    }

    /// Requests the rest of a stream that ended without its reply. `lost` is the error if it cannot be resumed.
    async fn resume(&self, events: &mut Events, number: i64, lost: Failure) -> Result<Response, Failure> {
        let Some(id) = last_id(events).filter(|_| !self.is_modern()) else { return Err(lost) };
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
            _ => format!("{status} and no event stream"),
        };
        let what = format!(
            "the server's stream ended without a reply, and the request to resume it was answered with {answer}"
        );
        Err(Failure::Broken(what))
    }

    /// Reads the stream for the server's own messages, if the server has one. `opened` is set once that is known.
    pub(super) async fn listen(&self, opened: oneshot::Sender<()>) {
        let mut events = Events::new(MAX_LINE);
        let mut opened = Some(opened);
        loop {
            let response = self.get(last_id(&events)).await;
            if let Some(opened) = opened.take() {
                // The receiver may have timed out.
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

    /// Whether the URL is an endpoint of revision 2024-11-05: it opens a stream that begins with an `endpoint` event.
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

    /// Requests a stream, from an event on or from now on.
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

/// Waits as long as the server requests.
async fn pause(events: &Events) {
    sleep(events.retry().unwrap_or(RETRY).max(MIN_RETRY)).await;
}
