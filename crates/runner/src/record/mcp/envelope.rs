//! The parts of a message that routing needs. The rest is forwarded unchanged.

use serde::Deserialize;
use serde_json::Value;

use crate::mcp::message::Parts;
use crate::mcp::negotiation::MODERN;

/// What a message is about.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Envelope {
    pub(super) id: Option<Value>,
    pub(super) method: Option<String>,
    /// The progress token of a request, or the token that a progress notification refers to.
    pub(super) token: Option<Value>,
    /// The request that a notification belongs to: the one to cancel, or the subscription.
    pub(super) about: Option<Value>,
    /// Whether it states a revision without a handshake.
    pub(super) is_modern: bool,
    pub(super) is_error: bool,
}

/// The parts of `params` that matter. Other parts are skipped.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Params {
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
    #[serde(rename = "progressToken")]
    token: Option<Value>,
    #[serde(rename = "requestId")]
    request: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta {
    #[serde(rename = "progressToken")]
    token: Option<Value>,
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    revision: Option<Value>,
    #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
    subscription: Option<Value>,
}

impl Envelope {
    /// `None` if the text is not a message.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let envelope = Self::of(&Parts::read(text)?);
        envelope.is_message().then_some(envelope)
    }

    /// What can be read from the beginning of a long message.
    pub(super) fn begin(text: &[u8]) -> Self {
        Self::of(&Parts::begin(text))
    }

    fn of(parts: &Parts<'_>) -> Self {
        let params = parts.params.and_then(|params| serde_json::from_str::<Params>(params.get()).ok());
        let Params { meta, token, request } = params.unwrap_or_default();
        let meta = meta.unwrap_or_default();
        Self {
            id: parts.id.and_then(|id| serde_json::from_str(id.get()).ok()),
            method: parts.method.and_then(|method| serde_json::from_str(method.get()).ok()),
            token: token.or(meta.token),
            about: request.or(meta.subscription),
            is_modern: meta.revision.is_some_and(|revision| revision.as_str() >= Some(MODERN)),
            is_error: parts.error.is_some_and(|error| error.get() != "null"),
        }
    }

    fn is_message(&self) -> bool {
        self.method.is_some() || self.id.is_some() || self.is_error
    }

    pub(super) fn is_request(&self) -> bool {
        self.method.is_some() && self.id.as_ref().is_some_and(|id| !id.is_null())
    }

    pub(super) fn is_reply(&self) -> bool {
        self.method.is_none()
    }

    pub(super) fn is(&self, method: &str) -> bool {
        self.method.as_deref() == Some(method)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_routing_fields_of_a_message_are_read() {
        let call = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","arguments":{"a":1,"a":2},
            "_meta":{"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28","x":[]}}}"#;
        let expected = Envelope {
            id: Some(json!("a")),
            method: Some("tools/call".to_owned()),
            token: Some(json!(7)),
            is_modern: true,
            ..Envelope::default()
        };
        assert_eq!(Envelope::read(call.as_bytes()), Some(expected));
        let cancel = r#"{"method":"notifications/cancelled","params":{"requestId":5,"reason":"late"}}"#;
        assert_eq!(Envelope::read(cancel.as_bytes()).unwrap().about, Some(json!(5)));
        let reply = Envelope::read(br#"{"id":1,"result":{},"error":null}"#).unwrap();
        assert!(reply.is_reply() && !reply.is_error && !reply.is_request());
        for text in ["", "[]", "{}", "null", "hello", r#"{"method":5}"#, r#"{"id":1"#] {
            assert_eq!(Envelope::read(text.as_bytes()), None, "{text}");
        }
    }
}
