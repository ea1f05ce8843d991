//! A fault at a call: the reply is withheld, late, or another one than the server's.

use std::time::Duration;

use hyper::Response;
use mcptest_core::ledger::Message;
use mcptest_core::trace::FaultKind;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::super::body::{Body, broken, whole};
use super::super::fault::{ActiveFault, At};
use super::Tape;
use super::stdio::json_response;

/// The id and the tool of a call.
pub(super) fn call(text: &[u8]) -> Option<(Value, String)> {
    let message: Value = serde_json::from_slice(text).ok()?;
    let tool = message.pointer("/params/name")?.as_str()?.to_owned();
    Some((message.get("id")?.clone(), tool))
}

/// Records that the program disconnected, unless the exchange ends in another way.
struct Left<'a> {
    tape: &'a Tape,
    connection: u64,
    seq: Option<u64>,
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        if let Some(seq) = self.seq {
            self.tape.left(self.connection, seq);
        }
    }
}

/// What a client gets instead of the server's reply; `None` to send the call on. The call is entered already.
pub(super) async fn inject(
    mut active: ActiveFault,
    tape: &Tape,
    connection: u64,
    seq: u64,
    id: &Value,
) -> Option<Response<Body>> {
    active.at = Some(At::Call(seq));
    let key = id.to_string();
    let mut left = Left { tape, connection, seq: Some(seq) };
    let reply = match active.fault.kind {
        FaultKind::Slow => {
            let wait = Duration::from_millis(active.fault.delay_ms);
            tokio::select! {
                () = sleep(wait) => {}
                () = tape.recorder.faults().canceled(&tape.server, &key) => {
                    left.seq = None;
                    drop(active);
                    return std::future::pending().await;
                }
            }
            left.seq = None;
            active.delayed();
            return None;
        }
        FaultKind::Error => json!({ "error": { "code": -32_603, "message": "internal error" } }),
        FaultKind::IsError => {
            json!({ "result": { "content": [{ "type": "text", "text": "the tool failed" }], "isError": true } })
        }
        FaultKind::Drop => {
            left.seq = None;
            tape.server(connection, Message::End("the connection was closed".to_owned()), Some(seq));
            return Some(json_response(broken()));
        }
        _ => {
            // Withheld until the program cancels the call, closes the connection, or is stopped.
            tape.recorder.faults().canceled(&tape.server, &key).await;
            left.seq = None;
            drop(active);
            return std::future::pending().await;
        }
    };
    left.seq = None;
    let mut message = json!({ "jsonrpc": "2.0", "id": id });
    if let (Value::Object(message), Value::Object(reply)) = (&mut message, reply) {
        message.extend(reply);
    }
    tape.server(connection, Message::Json(message.clone()), Some(seq));
    Some(json_response(whole(message.to_string())))
}
