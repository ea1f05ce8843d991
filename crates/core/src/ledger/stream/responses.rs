//! Events of the Responses API. The last one has the whole reply; without it there are the items that were finished.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Assembled, list};

pub(super) fn assemble(events: &[&Value]) -> Option<Assembled> {
    let mut reply: Option<(Map<String, Value>, bool)> = None;
    let mut items: BTreeMap<u64, Value> = BTreeMap::new();
    for event in events {
        let response = || event.get("response").and_then(Value::as_object).cloned();
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "response.created" | "response.in_progress" | "response.queued" => {
                reply = reply.or(response().map(|response| (response, true)));
            }
            "response.completed" | "response.incomplete" => {
                reply = response().map(|response| (response, false)).or(reply);
            }
            "response.failed" => reply = response().map(|response| (response, true)).or(reply),
            "response.output_item.done" => {
                let next = items.last_key_value().map_or(0, |(last, _)| last + 1);
                let index = event.get("output_index").and_then(Value::as_u64).unwrap_or(next);
                items.extend(event.get("item").map(|item| (index, item.clone())));
            }
            _ => {}
        }
    }
    let (mut body, is_cut) = reply.or_else(|| (!items.is_empty()).then(|| (Map::new(), true)))?;
    // Some servers leave the items out of the last event.
    if is_cut || list(&Value::Object(body.clone()), "output").is_empty() {
        body.insert("output".to_owned(), items.into_values().collect());
    }
    Some(Assembled { body, is_cut })
}
