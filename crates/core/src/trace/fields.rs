//! The table of the parts of a trace: the type and meaning of each, and what its absence means.
//!
//! It follows from the types of a trace. Documents, `mcptest explain` and the JSON Schema of reports are made from it.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::{Described as _, Kind, Trace};
use crate::diag::did_you_mean;
use crate::target::{Step, Target};

/// One part of a trace.
#[derive(Debug, Clone)]
pub struct Field {
    /// The target that selects it, with `[*]` for any item.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// What it says, without a final period.
    pub meaning: &'static str,
    /// What its absence means.
    pub absent: &'static str,
}

/// Where a target leads.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// To a part that is in the table.
    Field(&'static Field),
    /// Below a part, to something that the maker of its value decides on.
    Below(&'static Field),
    /// Nowhere: no trace has this.
    Nowhere {
        /// The last part on the path that exists; none if the first name is unknown.
        inside: Option<&'static Field>,
        /// The part that was probably meant.
        near: Option<&'static Field>,
    },
}

impl Field {
    /// Whether what is below it is not part of the format.
    pub fn is_open(&self) -> bool {
        matches!(self.kind, Kind::Any | Kind::Open(_))
    }

    /// The parts directly below.
    pub fn parts(&self) -> impl Iterator<Item = &'static Field> {
        let depth = steps(&self.path).len() + 1;
        FIELDS.iter().filter(move |field| {
            let below = field.path.strip_prefix(&self.path).is_some_and(|rest| rest.starts_with(['.', '[']));
            below && steps(&field.path).len() == depth
        })
    }
}

/// Every part of a trace, each followed by what is below it.
pub static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| {
    let mut out = Vec::new();
    list("", Trace::KIND, &mut out);
    out
});

fn list(path: &str, kind: Kind, out: &mut Vec<Field>) {
    let mut add = |path: String, kind: Kind, meaning: &'static str, absent| {
        out.push(Field { path: path.clone(), kind, meaning: meaning.trim().trim_end_matches('.'), absent });
        list(&path, kind, out);
    };
    match kind {
        Kind::Object { members, .. } => {
            for member in members {
                let dot = if path.is_empty() { "" } else { "." };
                let absent = member.absent.unwrap_or("never: it is always there");
                add(format!("{path}{dot}{}", member.name), member.kind, member.meaning, absent);
            }
        }
        Kind::List(item) => {
            let (Kind::Open(about) | Kind::Object { about, .. } | Kind::Nullable(Kind::Object { about, .. })) = item
            else {
                return add(format!("{path}[*]"), *item, "One item.", "there is no such item");
            };
            add(format!("{path}[*]"), *item, about, "there is no such item");
        }
        Kind::Nullable(kind) => list(path, *kind, out),
        _ => {}
    }
}

/// The JSON Schema of a part of a trace. What is described as `$defs/count` is up to the schema around it.
pub(crate) fn schema(kind: Kind) -> Value {
    match kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Count => json!({ "$ref": "#/$defs/count" }),
        Kind::Integer => json!({ "type": "integer" }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Any => json!({}),
        Kind::Open(_) => json!({ "type": "object" }),
        Kind::Words(words) => json!({ "enum": words }),
        Kind::List(item) => json!({ "type": "array", "items": schema(*item) }),
        Kind::Nullable(kind) => json!({ "oneOf": [{ "type": "null" }, schema(*kind)] }),
        Kind::Object { about, members } => {
            let mut properties = Map::new();
            for member in members {
                let mut described = schema(member.kind);
                described["description"] = member.meaning.trim().into();
                properties.insert(member.name.to_owned(), described);
            }
            let required: Vec<_> = members.iter().filter(|key| key.absent.is_none()).map(|key| key.name).collect();
            let mut object = json!({ "type": "object", "description": about.trim(), "properties": properties });
            if !required.is_empty() {
                object["required"] = required.into();
            }
            object
        }
    }
}

/// Where a target leads in a trace.
///
/// ```
/// use mcptest_core::Target;
/// use mcptest_core::trace::{Place, locate};
///
/// let target = Target::parse("tool_calls[-1].args.city").unwrap();
/// assert!(matches!(locate(&target), Place::Below(field) if field.path == "tool_calls[*].args"));
/// ```
pub fn locate(target: &Target) -> Place {
    let asked: Vec<Option<&str>> = target
        .steps()
        .iter()
        .map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) | Step::Every => None,
        })
        .collect();
    let mut inside: Option<&'static Field> = None;
    for count in 1..=asked.len() {
        match FIELDS.iter().find(|field| steps(&field.path) == asked[..count]) {
            Some(field) => inside = Some(field),
            None => match inside.filter(|field| field.is_open()) {
                Some(field) => return Place::Below(field),
                None => return Place::Nowhere { inside, near: near(inside, asked[count - 1]) },
            },
        }
    }
    inside.map_or(Place::Nowhere { inside: None, near: None }, Place::Field)
}

/// The part that an unknown name probably means: a sibling, or a key of the items of a list.
fn near(inside: Option<&'static Field>, name: Option<&str>) -> Option<&'static Field> {
    let candidates: Vec<&'static Field> = match inside {
        Some(field) => {
            let parts: Vec<_> = field.parts().collect();
            let below = parts.iter().filter(|part| part.path.ends_with("[*]")).flat_map(|part| part.parts());
            parts.iter().copied().chain(below).collect()
        }
        None => FIELDS.iter().filter(|field| steps(&field.path).len() == 1).collect(),
    };
    let last = |field: &&'static Field| steps(&field.path).last().copied().flatten();
    let meant = did_you_mean(name?, candidates.iter().filter_map(last))?;
    candidates.into_iter().find(|field| last(field) == Some(meant))
}

/// A path of the table as keys, with none for any item of a list.
fn steps(path: &str) -> Vec<Option<&str>> {
    let mut out = Vec::new();
    for part in path.split('.') {
        let mut rest = part;
        while let Some(before) = rest.strip_suffix("[*]") {
            rest = before;
        }
        out.push(Some(rest));
        out.extend(std::iter::repeat_n(None, (part.len() - rest.len()) / "[*]".len()));
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The paths of everything in a value, as the table writes them; what is below an open part is left out.
    fn paths(value: &Value, path: &str, out: &mut BTreeSet<String>) {
        if !path.is_empty() {
            out.insert(path.to_owned());
        }
        if FIELDS.iter().any(|field| field.path == path && field.is_open()) {
            return;
        }
        match value {
            Value::Object(map) => {
                for (key, inner) in map {
                    let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    paths(inner, &below, out);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| paths(item, &format!("{path}[*]"), out)),
            _ => {}
        }
    }

    #[test]
    fn the_table_has_exactly_the_keys_of_a_full_trace() {
        let full = json!({
            "tool_calls": [
                {
                    "name": "a",
                    "server": "s",
                    "args": { "x": 1 },
                    "asked_args": {},
                    "caller": { "type": "code" },
                    "id": "1",
                    "turn": 0,
                    "witness": "both",
                },
                { "name": "a", "retry_of": 0 },
            ],
            "answer_source": "program",
            "program": {
                "exit": 0,
                "failed": "its answer is empty",
                "faults": [{ "duration_ms": 1, "effect": "error", "kind": "model_error", "ms": 0, "name": "f" }],
                "incomplete": "interrupted",
                "notes": ["a call is missing"],
                "output": "bye",
                "timeline": [
                    { "ms": 0, "side": "mcp", "server": "s", "what": "tools/call a", "status": "ok", "duration_ms": 1 },
                ],
            },
            "tool_results": [{
                "shown": "differs",
                "is_error": true,
                "content": [{ "type": "text", "text": "no" }],
                "structured_content": { "y": 2 },
                "error": { "kind": "jsonrpc", "code": -1, "message": "no" },
                "fault": { "name": "f", "kind": "error", "effect": "error", "ms": 0 },
                "duration_ms": 3,
            }],
            "final_response": "done",
            "conversation": {
                "model": "m",
                "turns": [{ "role": "assistant", "content": "done" }],
                "tokens": { "input": 1, "output": 2, "cached": 0, "total": 3 },
                "stop_reason": "completed",
                "duration_ms": 4,
            },
        });
        let mut written = BTreeSet::new();
        paths(&Trace::from_envelope(&full).unwrap().to_envelope(), "", &mut written);
        let table: BTreeSet<String> = FIELDS.iter().map(|field| field.path.clone()).collect();
        assert_eq!(table, written);
        assert_eq!(table.len(), FIELDS.len(), "each part once");
    }

    fn located(path: &str) -> String {
        let name = |field: Option<&'static Field>| field.map_or("-", |field| field.path.as_str());
        match locate(&Target::parse(path).unwrap()) {
            Place::Field(field) => field.path.clone(),
            Place::Below(field) => format!("below {}", field.path),
            Place::Nowhere { inside, near } => format!("nowhere in {}, near {}", name(inside), name(near)),
        }
    }

    #[test]
    fn a_target_leads_to_a_part_below_one_or_nowhere() {
        for (path, found) in [
            ("tool_calls", "tool_calls"),
            ("tool_calls[0]", "tool_calls[*]"),
            ("tool_calls[-1].name", "tool_calls[*].name"),
            ("tool_calls[*].args.city[0]", "below tool_calls[*].args"),
            ("tool_results[*].content[0].text", "below tool_results[*].content[*]"),
            ("conversation.tokens.total", "conversation.tokens.total"),
            ("tool_cals", "nowhere in -, near tool_calls"),
            ("weather", "nowhere in -, near -"),
            ("conversation.tokens.totl", "nowhere in conversation.tokens, near conversation.tokens.total"),
            ("tool_calls.name", "nowhere in tool_calls, near tool_calls[*].name"),
            ("final_response[0]", "nowhere in final_response, near -"),
            ("tool_names[0].x", "nowhere in tool_names[*], near -"),
        ] {
            assert_eq!(located(path), found, "{path}");
        }
    }
}
