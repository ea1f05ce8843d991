//! The lenient, total readers for library callers: what cannot be read is absent.
//!
//! Programs that decide a verdict read with [`Trace::from_envelope`] instead, which refuses what it does not understand.

use serde_json::{Map, Value};

use super::{Conversation, LazyText, Role, Tokens, ToolCall, Trace, Turn};
use crate::json;

/// The recorded calls of an envelope, or of a cassette that nests one under `trace`; none when neither has a list.
///
/// ```
/// use mcptest_core::eval::tool_calls_from_envelope;
/// use serde_json::json;
///
/// let cassette = json!({ "trace": { "tool_calls": [{ "name": "read_meter", "args": { "id": 7 } }] } });
/// assert_eq!(tool_calls_from_envelope(&cassette)[0].name, "read_meter");
/// assert!(tool_calls_from_envelope(&json!("not a trace")).is_empty());
/// ```
pub fn tool_calls_from_envelope(envelope: &Value) -> Vec<ToolCall> {
    let nested = envelope.get("trace").and_then(|trace| trace.get("tool_calls")?.as_array());
    let list = nested.or_else(|| envelope.get("tool_calls")?.as_array());
    list.map_or_else(Vec::new, |list| list.iter().map(call).collect())
}

/// The value at `key`, with `null` read as absent.
fn get<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    map.get(key).filter(|value| !value.is_null())
}

fn part<'a>(envelope: &'a Value, key: &str) -> Option<&'a Value> {
    let nested = envelope.get("trace").and_then(|trace| trace.get(key));
    nested.or_else(|| envelope.get(key))
}

/// A call whose name cannot be read has the empty name: it still counts as a call, and no expectation fits it.
fn call(value: &Value) -> ToolCall {
    let nothing = Map::new();
    let map = value.as_object().unwrap_or(&nothing);
    let text = |key| get(map, key).and_then(Value::as_str).map(str::to_owned);
    ToolCall {
        name: text("name").unwrap_or_else(String::new),
        server: text("server"),
        args: get(map, "args").or_else(|| get(map, "arguments")).map(bounded),
        id: text("id"),
        ..ToolCall::default()
    }
}

/// Arguments too deep to compare are kept as text: distinct from each other, and equal to no expectation.
fn bounded(args: &Value) -> Value {
    if json::deeper_than(args, json::MAX_DEPTH) { Value::String(json::canonical(args)) } else { args.clone() }
}

/// As much of a trace as stability reads, with every gap taken as empty: no calls, `{}`, no turns, no tokens.
pub(crate) fn read_lenient(envelope: &Value) -> Trace {
    let conversation = part(envelope, "conversation");
    let turns = conversation.and_then(|c| c.get("turns")?.as_array());
    let token = |key| json::number_text(conversation?.get("tokens")?.get(key)?.as_number()?).parse().ok();
    let tokens = Tokens { input: token("input"), output: token("output"), cached: None, total: token("total") };
    let mut tool_calls = tool_calls_from_envelope(envelope);
    for call in &mut tool_calls {
        call.args.get_or_insert_with(|| Value::Object(Map::new()));
    }
    Trace {
        tool_calls: Some(tool_calls),
        conversation: Conversation {
            turns: Some(turns.map_or_else(Vec::new, |turns| turns.iter().filter_map(turn).collect())),
            tokens: Tokens { total: tokens.spent().or(Some(0)), ..tokens },
            ..Conversation::default()
        },
        ..Trace::default()
    }
}

fn turn(value: &Value) -> Option<Turn> {
    let role = Role::from_word(value.get("role")?.as_str()?)?;
    Some(Turn { role, content: value.get("content").and_then(Value::as_str).map(LazyText::from) })
}
