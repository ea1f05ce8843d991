//! The one table of what a trace holds: each part with its type, what it says, and what its absence means.
//!
//! Documents and `mcptest explain` are made from it; a test holds it against what is really written.

use crate::diag::did_you_mean;
use crate::target::{Step, Target};

/// One part of a trace.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The target that selects it, with `[*]` where any item is meant.
    pub path: &'static str,
    /// What it is.
    pub holds: &'static str,
    /// Whether whoever made the value decides what lies below it.
    pub open: bool,
    /// What it says.
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
        /// The last part on the way; none when the first name is unknown already.
        inside: Option<&'static Field>,
        /// The part that was probably meant.
        near: Option<&'static Field>,
    },
}

const fn field(path: &'static str, holds: &'static str, meaning: &'static str, absent: &'static str) -> Field {
    Field { path, holds, open: false, meaning, absent }
}

impl Field {
    const fn open(self) -> Self {
        Self { open: true, ..self }
    }

    /// The parts directly below.
    pub fn parts(&self) -> impl Iterator<Item = &'static Field> {
        let depth = steps(self.path).len() + 1;
        let path = self.path;
        FIELDS.iter().filter(move |field| {
            let below = field.path.strip_prefix(path).is_some_and(|rest| rest.starts_with(['.', '[']));
            below && steps(field.path).len() == depth
        })
    }
}

const NOT_RECORDED: &str = "the recording does not say";

/// Every part of a trace, in the order of the envelope.
pub static FIELDS: [Field; 40] = [
    field(
        "tool_calls",
        "list",
        "every tool call, in the order in which they were sent",
        "nobody recorded what was called: gates that read calls are `unassessable`; an empty list says that nothing was called",
    ),
    field("tool_calls[*]", "object", "one call", "there was no such call"),
    field(
        "tool_calls[*].name",
        "text",
        "name of the tool, without the prefix of its server",
        "never: every call has a name",
    ),
    field(
        "tool_calls[*].server",
        "text",
        "server that owns the tool; empty for a tool that no server has",
        NOT_RECORDED,
    ),
    field(
        "tool_calls[*].args",
        "any value",
        "the arguments as the model wrote them; text that is no JSON stays text",
        "the arguments were not recorded: a `trajectory` that compares them is `unassessable`",
    )
    .open(),
    field(
        "tool_calls[*].caller",
        "object",
        "who made the call, where code that the model wrote made it",
        "the model itself made the call",
    )
    .open(),
    field("tool_calls[*].id", "text", "the provider's name for the call", "the provider gave it none"),
    field(
        "tool_calls[*].turn",
        "whole number",
        "index into `conversation.turns` of the message that asked for the call",
        NOT_RECORDED,
    ),
    field(
        "tool_results",
        "list",
        "the answers: item i answers call i",
        "no answers were recorded: gates that read them are `unassessable`",
    ),
    field(
        "tool_results[*]",
        "object or null",
        "one answer; null where none is known",
        "no answer to that call is known",
    ),
    field(
        "tool_results[*].is_error",
        "true or false",
        "whether the call failed",
        "whether the call succeeded was not recorded",
    ),
    field("tool_results[*].content", "list", "the blocks of content that the tool answered with", NOT_RECORDED),
    field(
        "tool_results[*].content[*]",
        "object",
        "one block, as the protocol has it: `type`, and `text` in a block of text",
        "the answer has no such block",
    )
    .open(),
    field(
        "tool_results[*].structured_content",
        "any value",
        "the structured answer of the tool",
        "the tool gave none; where `content` is absent too, the recording does not say",
    )
    .open(),
    field(
        "tool_results[*].error",
        "object",
        "how the call failed",
        "the call did not fail; where it did, the recording does not say how",
    ),
    field(
        "tool_results[*].error.kind",
        "one of tool, jsonrpc, http, timeout, transport, fault",
        "the layer that failed",
        "never: every error has a kind",
    ),
    field(
        "tool_results[*].error.code",
        "whole number",
        "code of the JSON-RPC error or HTTP status",
        "the failure has no code",
    ),
    field("tool_results[*].error.message", "text", "the message as it arrived", "never: every error has a message"),
    field("tool_results[*].fault", "object", "the injected fault that the call met", "the call met none"),
    field("tool_results[*].fault.name", "text", "name of the fault in the suite", "never: every fault has a name"),
    field(
        "tool_results[*].fault.kind",
        "one of hang, wedged, slow, recover_after, error, is_error, drop",
        "what was injected",
        "never: every fault has a kind",
    ),
    field(
        "tool_results[*].fault.effect",
        "one of timeout, delay, error",
        "what the agent saw of it",
        "never: every fault has an effect",
    ),
    field(
        "tool_results[*].fault.ms",
        "whole number",
        "virtual time that the call took",
        "never: every fault has a time",
    ),
    field(
        "tool_results[*].duration_ms",
        "whole number",
        "milliseconds that the call took when it was recorded; replays keep it",
        NOT_RECORDED,
    ),
    field("tool_names", "list", "the names of `tool_calls`, in the same order", "the calls were not recorded"),
    field("tool_names[*]", "text", "one name", "there was no such call"),
    field(
        "final_response",
        "text",
        "text of the last message of the assistant; empty when it has none",
        "the closing message was not recorded: `narrative` and `recovery` are `unassessable`",
    ),
    field("conversation", "object", "the exchange around the calls", "nothing of it was recorded"),
    field("conversation.model", "text", "the model that answered", NOT_RECORDED),
    field("conversation.turns", "list", "the messages in order", "the messages were not recorded"),
    field("conversation.turns[*]", "object", "one message", "there was no such message"),
    field(
        "conversation.turns[*].role",
        "one of user, assistant, tool",
        "who speaks",
        "never: every message has a role",
    ),
    field(
        "conversation.turns[*].content",
        "text or null",
        "the text; null for a message that carries none, such as one with calls alone",
        "never: a message without text has null",
    ),
    field("conversation.tokens", "object", "tokens of the whole run", "no usage was recorded"),
    field("conversation.tokens.input", "whole number", "tokens read", NOT_RECORDED),
    field("conversation.tokens.output", "whole number", "tokens written", NOT_RECORDED),
    field("conversation.tokens.cached", "whole number", "tokens that came from a cache", NOT_RECORDED),
    field(
        "conversation.tokens.total",
        "whole number",
        "all tokens, as the provider counted them",
        "the provider gave no sum; `stability` adds input and output then",
    ),
    field(
        "conversation.stop_reason",
        "one of completed, max_turns, max_tokens, refused, error",
        "why the run ended",
        "not recorded: `recovery` is `unassessable`",
    ),
    field(
        "conversation.duration_ms",
        "whole number",
        "milliseconds that the run took when it was recorded; replays keep it",
        NOT_RECORDED,
    ),
];

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
        match FIELDS.iter().find(|field| steps(field.path) == asked[..count]) {
            Some(field) => inside = Some(field),
            None => match inside.filter(|field| field.open) {
                Some(field) => return Place::Below(field),
                None => return Place::Nowhere { inside, near: near(inside, asked[count - 1]) },
            },
        }
    }
    inside.map_or(Place::Nowhere { inside: None, near: None }, Place::Field)
}

/// The part that a name which leads nowhere was probably meant as: one beside it, or below the items of a list.
fn near(inside: Option<&'static Field>, name: Option<&str>) -> Option<&'static Field> {
    let candidates: Vec<&'static Field> = match inside {
        Some(field) => {
            let parts: Vec<_> = field.parts().collect();
            let below = parts.iter().filter(|part| part.path.ends_with("[*]")).flat_map(|part| part.parts());
            parts.iter().copied().chain(below).collect()
        }
        None => FIELDS.iter().filter(|field| steps(field.path).len() == 1).collect(),
    };
    let last = |field: &&'static Field| steps(field.path).last().copied().flatten();
    let meant = did_you_mean(name?, candidates.iter().filter_map(last))?;
    candidates.into_iter().find(|field| last(field) == Some(meant))
}

/// A path of the table as keys, with none for any item of a list.
fn steps(path: &'static str) -> Vec<Option<&'static str>> {
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

    use serde_json::{Value, json};

    use super::*;
    use crate::trace::{ErrorKind, FaultEffect, FaultKind, Role, StopReason, Trace};

    /// The paths of everything in a value, as the table writes them; what lies below an open part is left out.
    fn paths(value: &Value, path: &str, out: &mut BTreeSet<String>) {
        if !path.is_empty() {
            out.insert(path.to_owned());
        }
        if FIELDS.iter().any(|field| field.path == path && field.open) {
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
    fn the_table_has_exactly_what_a_trace_with_everything_is_written_with() {
        let full = json!({
            "tool_calls": [{ "name": "a", "server": "s", "args": { "x": 1 }, "caller": { "type": "code" }, "id": "1", "turn": 0 }],
            "tool_results": [{
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
        paths(&Trace::read(&full).unwrap().to_envelope(), "", &mut written);
        let table: BTreeSet<String> = FIELDS.iter().map(|field| field.path.to_owned()).collect();
        assert_eq!(table, written);
        assert_eq!(table.len(), FIELDS.len(), "each part once");
    }

    #[test]
    fn closed_sets_of_words_are_whole() {
        let words = |path: &str| FIELDS.iter().find(|field| field.path == path).unwrap().holds;
        let one_of = |all: Vec<&str>| format!("one of {}", all.join(", "));
        assert_eq!(
            words("tool_results[*].error.kind"),
            one_of(ErrorKind::ALL.iter().map(|word| word.as_str()).collect())
        );
        assert_eq!(
            words("tool_results[*].fault.kind"),
            one_of(FaultKind::ALL.iter().map(|word| word.as_str()).collect())
        );
        assert_eq!(
            words("tool_results[*].fault.effect"),
            one_of(FaultEffect::ALL.iter().map(|word| word.as_str()).collect())
        );
        assert_eq!(words("conversation.turns[*].role"), one_of(Role::ALL.iter().map(|word| word.as_str()).collect()));
        assert_eq!(
            words("conversation.stop_reason"),
            one_of(StopReason::ALL.iter().map(|word| word.as_str()).collect())
        );
    }

    fn told(path: &str) -> String {
        let name = |field: Option<&Field>| field.map_or("-", |field| field.path);
        match locate(&Target::parse(path).unwrap()) {
            Place::Field(field) => field.path.to_owned(),
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
            assert_eq!(told(path), found, "{path}");
        }
    }
}
