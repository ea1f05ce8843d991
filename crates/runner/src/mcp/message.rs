//! A line as a JSON-RPC message. Pure.
//!
//! Parsed JSON can take a hundred times the memory of its text. So parts that are not needed are skipped without being built, and
//! the memory of the others is estimated first.

use std::fmt;

use mcptest_core::json;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::exchange::{Failure, Reply};

/// The most memory that a reply may take, approximately.
const MAX_COST: usize = 64 * 1024 * 1024;
/// The most levels its result or error may have. A recording nests it some levels deeper, and JSON with more than 127 levels is
/// not read back.
const MAX_LEVELS: usize = 100;
/// The longest id of a server's request: it is kept until the answer is sent.
const MAX_ID: usize = 1024;

/// The memory of an object with up to eleven keys, and of every other value, key or list, at most.
const OBJECT: usize = 704;
const VALUE: usize = 64;

pub(super) enum Message {
    Notification,
    Request {
        id: Value,
        method: String,
    },
    Reply {
        id: Option<i64>,
        reply: Reply,
        /// The memory of the reply, approximately.
        cost: usize,
    },
}

impl Message {
    /// Reads a line; `None` if it is not a message.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let parts = Parts::read(line)?;
        if parts.jsonrpc?.get() != "\"2.0\"" {
            return None;
        }
        let id = match parts.id.map(RawValue::get) {
            Some(id) if id.len() > MAX_ID => return None,
            Some(id) => Some(json::parse(id).ok()?),
            None => None,
        };
        match (parts.method, id) {
            (None, _) if parts.result.is_none() && parts.error.is_none_or(|error| error.get() == "null") => None,
            (None, id) => {
                let (reply, cost) = read(line);
                Some(Self::Reply { id: number(id), reply, cost })
            }
            (Some(method), id) => {
                let method = serde_json::from_str(method.get()).ok()?;
                Some(id.map_or(Self::Notification, |id| Self::Request { id, method }))
            }
        }
    }
}

/// Our request ids are numbers. An id that comes back as a string is accepted, as common clients do.
fn number(id: Option<Value>) -> Option<i64> {
    match id? {
        Value::String(text) => text.parse().ok(),
        id => id.as_i64(),
    }
}

/// The reply and its memory. It is read strictly: a reply with a duplicate key is ambiguous.
fn read(line: &[u8]) -> (Reply, usize) {
    let Weight { cost, levels } = Weight::of(line);
    let unreadable = |why| (Reply::Failed(Failure::Unreadable(why)), cost);
    if levels > MAX_LEVELS + 1 {
        return unreadable(format!("it has more than {MAX_LEVELS} levels"));
    }
    if cost > MAX_COST {
        return unreadable(format!("it would take more than {MAX_COST} bytes of memory"));
    }
    let malformed = |why| (Reply::Failed(Failure::Malformed(why)), cost);
    let Ok(text) = str::from_utf8(line) else { return malformed("it is not UTF-8".to_owned()) };
    let mut reply = match json::parse(text) {
        Ok(reply) => reply,
        Err(error) => return malformed(error.message),
    };
    let mut part = |key: &str| reply.get_mut(key).map(Value::take);
    // Some servers send both, one of them null.
    let reply = match part("error").filter(|error| !error.is_null()) {
        Some(error) => Reply::Error(error),
        None => Reply::Result(part("result").unwrap_or(Value::Null)),
    };
    (reply, cost)
}

/// The size of a value, estimated from its text.
#[derive(Debug, PartialEq, Eq)]
struct Weight {
    cost: usize,
    levels: usize,
}

impl Weight {
    fn of(json: &[u8]) -> Self {
        let (mut cost, mut depth, mut levels) = (json.len(), 0_usize, 0);
        let (mut in_text, mut is_escaped) = (false, false);
        for byte in json {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = in_text,
                b'"' => in_text = !in_text,
                _ if in_text => {}
                b'{' | b'[' => {
                    cost += if *byte == b'{' { OBJECT } else { VALUE };
                    depth += 1;
                    levels = levels.max(depth);
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                b',' | b':' => cost += VALUE,
                _ => {}
            }
        }
        Self { cost, levels }
    }
}

/// The parts of a message that matter here, as text. Null is not the same as absent. Of duplicate parts the last one is used,
/// which is enough to find the kind of message: replies are read again, strictly.
#[derive(Default)]
pub(crate) struct Parts<'a> {
    pub(crate) jsonrpc: Option<&'a RawValue>,
    pub(crate) id: Option<&'a RawValue>,
    pub(crate) method: Option<&'a RawValue>,
    pub(crate) params: Option<&'a RawValue>,
    pub(crate) result: Option<&'a RawValue>,
    pub(crate) error: Option<&'a RawValue>,
}

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    #[serde(other)]
    Other,
}

impl<'a> Parts<'a> {
    /// `None` if the text is not an object.
    pub(crate) fn read(text: &'a [u8]) -> Option<Self> {
        let mut parts = Self::default();
        let mut source = serde_json::Deserializer::from_slice(text);
        source.deserialize_map(PartsVisitor(&mut parts)).and_then(|()| source.end()).ok()?;
        Some(parts)
    }

    /// The parts that are complete in the beginning of a text.
    pub(crate) fn begin(text: &'a [u8]) -> Self {
        let mut parts = Self::default();
        // It fails where the text was cut.
        let _ = serde_json::Deserializer::from_slice(text).deserialize_map(PartsVisitor(&mut parts));
        parts
    }
}

struct PartsVisitor<'p, 'a>(&'p mut Parts<'a>);

impl<'de> Visitor<'de> for PartsVisitor<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let parts = self.0;
        while let Some(key) = map.next_key()? {
            let part = match key {
                Key::Jsonrpc => &mut parts.jsonrpc,
                Key::Id => &mut parts.id,
                Key::Method => &mut parts.method,
                Key::Params => &mut parts.params,
                Key::Result => &mut parts.result,
                Key::Error => &mut parts.error,
                Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *part = Some(map.next_value()?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reply(line: &str) -> (Option<i64>, Reply) {
        match Message::read(line.as_bytes()) {
            Some(Message::Reply { id, reply, .. }) => (id, reply),
            _ => panic!("{line}"),
        }
    }

    fn with_result(result: &str) -> Reply {
        reply(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)).1
    }

    #[test]
    fn a_null_is_a_result_and_not_an_error() {
        assert_eq!(reply(r#"{"jsonrpc":"2.0","id":1,"result":null}"#), (Some(1), Reply::Result(Value::Null)));
        let both = r#"{"error":null,"jsonrpc":"2.0","result":[1],"id":"2"}"#;
        assert_eq!(reply(both), (Some(2), Reply::Result(json!([1]))));
        let error = r#"{"jsonrpc":"2.0","id":null,"result":1,"error":"x"}"#;
        assert_eq!(reply(error), (None, Reply::Error(json!("x"))));
    }

    #[test]
    fn a_reply_with_a_duplicate_key_at_any_level_is_an_error() {
        let cases = [
            (r#""result":{"isError":true,"isError":false,"content":[]}"#, "result: duplicate key \"isError\""),
            (
                r#""result":{"content":[{"type":"text","text":"a","te\u0078t":"b"}]}"#,
                "result.content[0]: duplicate key \"text\"",
            ),
            (
                r#""error":{"code":1,"message":"a","data":{"x":[{"y":1,"y":1}]}}"#,
                "error.data.x[0]: duplicate key \"y\"",
            ),
            (r#""result":{"content":[]},"result":{"content":[],"isError":true}"#, "duplicate key \"result\""),
            (r#""result":{},"error":{"code":1},"error":null"#, "duplicate key \"error\""),
            (r#""result":{},"jsonrpc":"2.0""#, "duplicate key \"jsonrpc\""),
            (r#""id":1,"result":{}"#, "duplicate key \"id\""),
            (r#""result":{},"_meta":1,"_meta":2"#, "duplicate key \"_meta\""),
        ];
        for (rest, why) in cases {
            let expected = (Some(1), Reply::Failed(Failure::Malformed(why.to_owned())));
            assert_eq!(reply(&format!(r#"{{"jsonrpc":"2.0","id":1,{rest}}}"#)), expected, "{rest}");
        }
    }

    #[test]
    fn a_reply_that_is_not_utf_8_is_an_error() {
        let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"x\":\"\xff\"}";
        let Some(Message::Reply { reply, .. }) = Message::read(line) else { panic!("no reply") };
        assert_eq!(reply, Reply::Failed(Failure::Malformed("it is not UTF-8".to_owned())));
    }

    #[test]
    fn skipped_parts_may_have_any_depth_and_shape() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let note = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{deep},"x":1e999}}"#);
        assert!(matches!(Message::read(note.as_bytes()), Some(Message::Notification)));
        let torn = note.replacen(']', "", 1);
        assert!(Message::read(torn.as_bytes()).is_none());
    }

    #[test]
    fn a_request_with_a_number_that_is_too_long_is_invalid() {
        let ask = |length: usize| {
            let line = json!({ "jsonrpc": "2.0", "id": "x".repeat(length), "method": "ping" }).to_string();
            Message::read(line.as_bytes()).is_some()
        };
        assert_eq!((ask(MAX_ID - 2), ask(MAX_ID - 1)), (true, false));
    }

    #[test]
    fn an_unreadable_reply_says_why() {
        let check = |result: &str, why: &str| {
            assert_eq!(with_result(result), Reply::Failed(Failure::Unreadable(why.to_owned())));
        };
        let levels = |count: usize| "[".repeat(count) + &"]".repeat(count);
        assert!(matches!(with_result(&levels(MAX_LEVELS)), Reply::Result(_)));
        check(&levels(MAX_LEVELS + 1), "it has more than 100 levels");
        let range = Reply::Failed(Failure::Malformed("result: number out of range".to_owned()));
        assert_eq!(with_result("1e999"), range);
        let objects = format!("[{}0]", r#"{"":0},"#.repeat(100_000));
        check(&objects, "it would take more than 67108864 bytes of memory");
        // The same characters inside a string are just text.
        let text = Value::from(objects).to_string();
        assert_eq!(Weight::of(text.as_bytes()), Weight { cost: text.len(), levels: 0 });
        assert!(matches!(with_result(&text), Reply::Result(Value::String(_))));
    }

    #[test]
    fn the_beginning_of_a_message_has_the_parts_that_are_complete() {
        let parts = Parts::begin(br#"{"id":7,"jsonrpc":"2.0","result":{"content":[{"text":"xx"#);
        assert_eq!(parts.id.map(RawValue::get), Some("7"));
        assert!(parts.result.is_none() && parts.method.is_none());
    }

    #[test]
    fn a_backslash_escapes_in_texts_and_only_there() {
        let json = br#"{"\\":"\"[{,:","a":[]}"#;
        assert_eq!(Weight::of(json), Weight { cost: json.len() + OBJECT + 4 * VALUE, levels: 2 });
    }
}
