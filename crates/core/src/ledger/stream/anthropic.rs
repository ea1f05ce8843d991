//! Events of the Messages API.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Assembled, append, copy};

#[derive(Default)]
struct Block {
    keys: Map<String, Value>,
    /// The arguments of a call, in pieces of JSON.
    input: String,
    is_done: bool,
}

pub(super) fn assemble(events: &[&Value]) -> Option<Assembled> {
    let mut body: Option<Map<String, Value>> = None;
    let mut blocks: BTreeMap<u64, Block> = BTreeMap::new();
    let mut is_done = false;
    for event in events {
        let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => body = event.get("message").and_then(Value::as_object).cloned(),
            "content_block_start" => {
                let keys = event.get("content_block").and_then(Value::as_object).cloned().unwrap_or_default();
                blocks.insert(index, Block { keys, ..Block::default() });
            }
            "content_block_delta" => {
                let block = blocks.entry(index).or_default();
                for (key, piece) in event.get("delta").and_then(Value::as_object).into_iter().flatten() {
                    match (key.as_str(), piece) {
                        ("partial_json", Value::String(piece)) => block.input.push_str(piece),
                        ("type", _) => {}
                        _ => append(&mut block.keys, key, piece),
                    }
                }
            }
            "content_block_stop" => blocks.entry(index).or_default().is_done = true,
            "message_delta" => {
                let body = body.get_or_insert_default();
                let delta = event.get("delta").unwrap_or(&Value::Null);
                copy(delta, body, &["stop_reason", "stop_sequence"]);
                is_done |= delta.get("stop_reason").is_some_and(|reason| !reason.is_null());
                // Counts are cumulative, and the first event has some that later ones omit.
                if let Some(usage) = event.get("usage").and_then(Value::as_object) {
                    let known = body.entry("usage").or_insert_with(|| Value::Object(Map::new()));
                    let keys: Vec<&str> = usage.keys().map(String::as_str).collect();
                    if let Value::Object(known) = known {
                        copy(&Value::Object(usage.clone()), known, &keys);
                    }
                }
            }
            "message_stop" => is_done = true,
            _ => {}
        }
    }
    let mut body = body?;
    let content = blocks.into_values().filter_map(|block| block.finish(is_done)).collect();
    body.insert("content".to_owned(), content);
    if !is_done {
        body.remove("usage");
    }
    Some(Assembled { body, is_cut: !is_done })
}

impl Block {
    /// `None` for a call that is not finished.
    fn finish(mut self, is_message_done: bool) -> Option<Value> {
        let is_call = self.keys.contains_key("input");
        if is_call && !self.is_done && !is_message_done {
            return None;
        }
        if !self.input.is_empty() {
            // Text that is not JSON is kept, and matches nothing.
            let input = crate::json::parse(&self.input).unwrap_or(Value::String(self.input));
            self.keys.insert("input".to_owned(), input);
        }
        Some(Value::Object(self.keys))
    }
}
