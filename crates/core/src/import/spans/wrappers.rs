//! Arguments inside of what frameworks record around them.

use serde_json::{Map, Value};

use super::super::wire;

/// The arguments of a call, and its id where the recorder wrote it next to them.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// `None` where they are unclear.
    pub(super) args: Option<Value>,
    pub(super) id: Option<String>,
}

impl Given {
    fn of(args: Option<Value>) -> Self {
        Self { args: args.filter(Value::is_object), id: None }
    }
}

/// What a callback of `LangChain` got: the input as text and as `inputs`, and the id among the other arguments. `None` for
/// anything else.
pub(super) fn of_callback(map: &mut Map<String, Value>) -> Option<Given> {
    if !map.get("input_str")?.is_string() || !map.get("kwargs")?.is_object() {
        return None;
    }
    let id = map.get("kwargs").and_then(|more| more.get("tool_call_id")).and_then(Value::as_str).map(str::to_owned);
    let text = match map.remove("input_str") {
        Some(Value::String(text)) => wire::parse(&text).ok(),
        _ => None,
    };
    let args = map.remove("inputs").filter(Value::is_object).or(text);
    Some(Given { id, ..Given::of(args) })
}

/// What a wrapper of a Python function got: positional arguments, which have no names, and named ones. Where `kwargs` may be an
/// argument of the tool, it is the recorder's only next to `args`.
pub(super) fn of_wrapper(map: &mut Map<String, Value>, is_certain: bool) -> Option<Given> {
    let is_known = |key: &str| matches!(key, "args" | "kwargs" | "sanitize_inputs_outputs");
    let is_wrapper = map.get("kwargs").is_some_and(Value::is_object) && map.keys().all(|key| is_known(key));
    if !is_wrapper || !(is_certain || map.get("args").is_some_and(Value::is_array)) {
        return None;
    }
    let has_no_names = map.get("args").is_some_and(|args| !args.as_array().is_some_and(Vec::is_empty));
    Some(Given::of(map.remove("kwargs").filter(|_| !has_no_names)))
}

/// What `LangSmith` records of a tool: its arguments as an object, or as a callback of `LangChain` prints them.
pub(super) fn of_langsmith(map: &mut Map<String, Value>) -> Option<Given> {
    if map.len() != 1 {
        return None;
    }
    match map.get("input")? {
        Value::Object(_) => Some(Given::of(map.remove("input"))),
        Value::String(text) => Some(Given { args: Some(wire::arguments_in_text(text)), id: None }),
        _ => None,
    }
}

/// What a tool returned, in the outputs that `LangSmith` records.
pub(super) fn output_of_langsmith(outputs: Value) -> Value {
    match outputs {
        Value::Object(mut map) if map.len() == 1 && map.contains_key("output") => {
            map.remove("output").unwrap_or(Value::Null)
        }
        other => other,
    }
}

/// What Traceloop records of any call.
pub(super) fn of_entity(map: &mut Map<String, Value>) -> Given {
    let is_call = map.get("args").is_none_or(|args| args.as_array().is_some_and(Vec::is_empty));
    Given::of(map.remove("kwargs").filter(|_| is_call).or_else(|| map.remove("inputs")))
}
