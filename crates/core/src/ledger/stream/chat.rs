//! Chunks of Chat Completions.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Assembled, append, copy, list};

#[derive(Default)]
struct Choice {
    message: Map<String, Value>,
    calls: BTreeMap<u64, Call>,
    function: Option<Map<String, Value>>,
    finish: Option<Value>,
}

#[derive(Default)]
struct Call {
    call: Map<String, Value>,
    /// The key and the value of `function` or `custom`.
    inner: Option<(&'static str, Map<String, Value>)>,
}

pub(super) fn assemble(chunks: &[&Value]) -> Option<Assembled> {
    let mut body = Map::new();
    let mut choices: BTreeMap<u64, Choice> = BTreeMap::new();
    for chunk in chunks {
        copy(chunk, &mut body, &["id", "model", "usage"]);
        for choice in list(chunk, "choices") {
            let index = choice.get("index").and_then(Value::as_u64).unwrap_or(0);
            choices.entry(index).or_default().add(choice);
        }
    }
    if choices.is_empty() {
        return None;
    }
    let is_cut = choices.values().any(|choice| choice.finish.is_none());
    let choices: Vec<Value> = choices.into_iter().map(|(index, choice)| choice.finish(index)).collect();
    body.insert("object".to_owned(), "chat.completion".into());
    body.insert("choices".to_owned(), choices.into());
    Some(Assembled { body, is_cut })
}

impl Choice {
    fn add(&mut self, choice: &Value) {
        if let Some(reason) = choice.get("finish_reason").filter(|reason| !reason.is_null()) {
            self.finish = Some(reason.clone());
        }
        let Some(Value::Object(delta)) = choice.get("delta") else { return };
        for (key, piece) in delta {
            match key.as_str() {
                "role" => copy(&Value::Object(delta.clone()), &mut self.message, &["role"]),
                "tool_calls" => {}
                "function_call" => {
                    let function = self.function.get_or_insert_default();
                    for (key, piece) in piece.as_object().into_iter().flatten() {
                        append(function, key, piece);
                    }
                }
                _ => append(&mut self.message, key, piece),
            }
        }
        for piece in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let last = self.calls.last_key_value().map(|(index, call)| (*index, call.call.get("id")));
            // Some copies of the API leave the index out, and send every call in one piece.
            let index = piece.get("index").and_then(Value::as_u64).unwrap_or_else(|| match last {
                Some((index, id)) if piece.get("id").is_some_and(|new| Some(new) != id) => index + 1,
                Some((index, _)) => index,
                None => 0,
            });
            self.calls.entry(index).or_default().add(piece);
        }
    }

    fn finish(mut self, index: u64) -> Value {
        self.message.entry("role").or_insert_with(|| "assistant".into());
        self.message.entry("content").or_insert(Value::Null);
        if self.finish.is_none() {
            // The last call was still being written.
            self.calls.pop_last();
            self.function = None;
        }
        if !self.calls.is_empty() {
            let calls: Vec<Value> = self.calls.into_values().map(Call::finish).collect();
            self.message.insert("tool_calls".to_owned(), calls.into());
        }
        if let Some(function) = self.function {
            self.message.insert("function_call".to_owned(), Value::Object(function));
        }
        json!({ "index": index, "message": self.message, "finish_reason": self.finish })
    }
}

impl Call {
    fn add(&mut self, piece: &Value) {
        copy(piece, &mut self.call, &["id", "type"]);
        for kind in ["function", "custom"] {
            let Some(Value::Object(pieces)) = piece.get(kind) else { continue };
            let (_, inner) = self.inner.get_or_insert_with(|| (kind, Map::new()));
            for (key, piece) in pieces {
                // A name that every chunk repeats is one name.
                if key != "name" || inner.get(key) != Some(piece) {
                    append(inner, key, piece);
                }
            }
        }
    }

    fn finish(mut self) -> Value {
        if let Some((kind, inner)) = self.inner {
            self.call.insert(kind.to_owned(), Value::Object(inner));
        }
        Value::Object(self.call)
    }
}
