//! Chunks of `streamGenerateContent`. A call is always in one piece.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Assembled, copy, list};

#[derive(Default)]
struct Candidate {
    rest: Map<String, Value>,
    role: Option<Value>,
    parts: Vec<Value>,
}

pub(super) fn assemble(chunks: &[&Value]) -> Option<Assembled> {
    let mut body = Map::new();
    let mut candidates: BTreeMap<u64, Candidate> = BTreeMap::new();
    for chunk in chunks {
        copy(chunk, &mut body, &["responseId", "modelVersion", "usageMetadata", "promptFeedback"]);
        for candidate in list(chunk, "candidates") {
            let index = candidate.get("index").and_then(Value::as_u64).unwrap_or(0);
            candidates.entry(index).or_default().add(candidate);
        }
    }
    // A prompt that is blocked has no candidates.
    let is_blocked = body.contains_key("promptFeedback");
    if candidates.is_empty() && !is_blocked {
        return None;
    }
    let is_cut = candidates.values().any(|candidate| !candidate.rest.contains_key("finishReason"));
    let candidates: Vec<Value> = candidates.into_values().map(Candidate::finish).collect();
    body.insert("candidates".to_owned(), candidates.into());
    Some(Assembled { body, is_cut })
}

impl Candidate {
    fn add(&mut self, candidate: &Value) {
        copy(candidate, &mut self.rest, &["finishReason", "groundingMetadata", "index"]);
        let Some(content) = candidate.get("content") else { return };
        self.role = self.role.take().or_else(|| content.get("role").cloned());
        for part in list(content, "parts") {
            if let Some(more) = part.get("text").and_then(Value::as_str)
                && let Some(last) = self.parts.last_mut().and_then(Value::as_object_mut)
                && last.get("thought") == part.get("thought")
                && let Some(Value::String(text)) = last.get_mut("text")
            {
                text.push_str(more);
            } else {
                self.parts.push(part.clone());
            }
        }
    }

    fn finish(self) -> Value {
        let mut out = self.rest;
        let role = self.role.unwrap_or_else(|| "model".into());
        out.insert("content".to_owned(), json!({ "role": role, "parts": self.parts }));
        Value::Object(out)
    }
}
