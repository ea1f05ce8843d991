//! Messages as spans record them: as JSON, in documents, flattened into attributes, or in events.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::message::{Message, Part};
use super::super::shape::Shape;
use super::super::{ImportError, bedrock};
use super::attributes::{Attribute, Attributes};
use super::documents::{Found, Seen};
use super::flattened::Flattened;
use super::lists::Lists;
use super::{Span, documents, flattened, messages};
use crate::json;
use crate::trace::Role;

const VERCEL_PROMPT: &str = "ai.prompt.messages";

/// Messages as a span has them.
pub(super) enum Recorded<'s> {
    /// A list as JSON, and its key.
    Json(&'s Attribute<'s>, &'static str),
    /// Those of a document.
    Document(Vec<Found<'s>>),
    /// Those that are flattened into attributes.
    Flattened(Vec<Flattened<'s>>),
    /// Messages; `None` for a system prompt.
    Read(Vec<Option<Message>>),
}

impl<'s> Recorded<'s> {
    /// Hands over messages from the last to the first until `take` says to stop. System prompts are left out.
    pub(super) fn each_backwards(
        self,
        default: Role,
        lists: &mut Lists<'s>,
        mut take: impl FnMut(Message) -> bool,
    ) -> Result<(), ImportError> {
        match self {
            Self::Read(list) => {
                list.into_iter().rev().flatten().any(take);
            }
            Self::Document(list) => {
                for found in list.into_iter().rev() {
                    let is_enough = match found {
                        Found::Read(message) => message.is_some_and(&mut take),
                        Found::Repeated(item) => item.read(default)?.into_iter().rev().flatten().any(&mut take),
                    };
                    if is_enough {
                        break;
                    }
                }
            }
            Self::Flattened(list) => {
                for one in list.into_iter().rev() {
                    if one.read(default)?.is_some_and(&mut take) {
                        break;
                    }
                }
            }
            Self::Json(found, key) => {
                let items: Vec<&RawValue> = lists.read(found).map_err(|error| {
                    error.at(key).hint("a recorder that cuts long values may have cut it: raise its limits")
                })?;
                for (place, item) in items.into_iter().enumerate().rev() {
                    let message = messages::checked(item.get(), Some(default));
                    let message = message.map_err(|error| error.at(format_args!("{key}[{place}]")))?;
                    if message.is_some_and(&mut take) {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The messages before a reply.
pub(super) fn input<'s>(span: &'s Span<'_>, seen: &mut Seen<'s>) -> Result<Option<Recorded<'s>>, ImportError> {
    let flat = ["llm.input_messages.", "gen_ai.prompt."];
    if let Some(found) = side(span, Role::User, "gen_ai.input.messages", "gen_ai.prompt", flat)? {
        return Ok(Some(found));
    }
    if let Some(found) = span.attributes.get(VERCEL_PROMPT)? {
        return Ok(Some(Recorded::Json(found, VERCEL_PROMPT)));
    }
    document(span, &["langfuse.observation.input", "langsmith.inputs", "mlflow.spanInputs"], Role::User, seen)
}

/// Whether a span has the reply.
pub(super) fn has_reply(span: &Span<'_>) -> Result<bool, ImportError> {
    output(span).map(|reply| reply.is_some())
}

/// The reply.
pub(super) fn output<'s>(span: &'s Span<'_>) -> Result<Option<Recorded<'s>>, ImportError> {
    let flat = ["llm.output_messages.", "gen_ai.completion."];
    if let Some(found) = side(span, Role::Assistant, "gen_ai.output.messages", "gen_ai.completion", flat)? {
        return Ok(Some(found));
    }
    if let Some(reply) = vercel_reply(span)? {
        return Ok(Some(Recorded::Read(vec![Some(reply)])));
    }
    document(
        span,
        &["langfuse.observation.output", "langsmith.outputs", "mlflow.spanOutputs"],
        Role::Assistant,
        &mut Seen::default(),
    )
}

/// The reply as the AI SDK of Vercel records it: its text and its calls.
fn vercel_reply(span: &Span<'_>) -> Result<Option<Message>, ImportError> {
    const CALLS: &str = "ai.response.toolCalls";
    let said = span.attributes.first(&["ai.response.text", "ai.response.object"])?;
    let calls = span.attributes.get(CALLS)?;
    if said.is_none() && calls.is_none() {
        return Ok(None);
    }
    let text = said.map(|(_, text)| text.document()).filter(|text| !text.is_empty());
    let mut reply =
        Message::with_parts(Role::Assistant, text.map(|text| Part::Text(text.into())).into_iter().collect());
    if let Some(calls) = calls {
        let text = format!(r#"{{"tool_calls":{}}}"#, calls.document());
        let read = messages::message(&text, Some(Role::Assistant)).map_err(|error| error.at(CALLS))?;
        reply.parts.extend(read.into_iter().flat_map(|read| read.parts));
    }
    Ok(Some(reply))
}

/// The messages in the first of some attributes whose shape is open.
fn document<'s>(
    span: &'s Span<'_>,
    keys: &[&str],
    role: Role,
    seen: &mut Seen<'s>,
) -> Result<Option<Recorded<'s>>, ImportError> {
    let Some((key, found)) = span.attributes.first(keys)? else { return Ok(None) };
    let read = documents::messages(found, role, seen);
    read.map(|list| Some(Recorded::Document(list))).map_err(|error| error.at(format_args!("attribute `{key}`")))
}

fn side<'s>(
    span: &'s Span<'_>,
    role: Role,
    key: &'static str,
    old: &'static str,
    flat: [&'static str; 2],
) -> Result<Option<Recorded<'s>>, ImportError> {
    for attributes in std::iter::once(&span.attributes).chain(span.events.iter().map(|event| &event.attributes)) {
        if let Some(found) = attributes.get(key)? {
            return Ok(Some(Recorded::Json(found, key)));
        }
        if let Some(found) = attributes.get(old)? {
            let text = found.document();
            // Some recorders write plain text under this older key.
            if text.trim_start().starts_with('[') {
                return Ok(Some(Recorded::Json(found, old)));
            }
            let message = Message::with_parts(role, vec![Part::Text(text.into())]);
            return Ok(Some(Recorded::Read(vec![Some(message)])));
        }
    }
    for prefix in flat {
        if let Some(list) = flattened::messages(&span.attributes, prefix, role)? {
            return Ok(Some(Recorded::Flattened(list)));
        }
    }
    from_events(span, role)
}

/// The messages that a span has in events, one in each.
fn from_events<'s>(span: &'s Span<'_>, side: Role) -> Result<Option<Recorded<'s>>, ImportError> {
    let mut list = Vec::new();
    for event in &span.events {
        let role = match &*event.name {
            "gen_ai.system.message" => None,
            "gen_ai.user.message" => Some(Role::User),
            "gen_ai.assistant.message" | "gen_ai.choice" => Some(Role::Assistant),
            "gen_ai.tool.message" => Some(Role::Tool),
            _ => continue,
        };
        if (event.name == "gen_ai.choice") == (side == Role::Assistant) {
            let read = match strands(&event.attributes)?.zip(role) {
                Some((blocks, role)) => {
                    let speaker = if role == Role::Assistant { "assistant" } else { "user" };
                    let text = format!(r#"{{"role":"{speaker}","content":{blocks}}}"#);
                    bedrock::message(&text).map(|message| Some(Message { role, ..message }))
                }
                None => messages::message(&event_as_message(&event.attributes)?, role),
            };
            list.push(read.map_err(|error| error.at(&event.name))?);
        }
    }
    Ok((!list.is_empty()).then_some(Recorded::Read(list)))
}

/// The blocks of an event of Strands, which have no type: the key of a block is its type.
fn strands<'s>(attributes: &'s Attributes<'_>) -> Result<Option<&'s str>, ImportError> {
    let Some((_, found)) = attributes.first(&["content", "message"])? else { return Ok(None) };
    let text = found.document();
    let is_typed = |block: &Shape<'_>| !matches!(block, Shape::Object(_)) || block.get("type").is_some();
    let blocks = if text.starts_with("[{") { Shape::of(text) } else { None };
    let is_strands = blocks.is_some_and(|blocks| !blocks.elements().iter().any(is_typed));
    Ok(is_strands.then_some(text))
}

/// An event as the JSON of a message. What is structured in a message may be JSON text in an event.
fn event_as_message(attributes: &Attributes<'_>) -> Result<String, ImportError> {
    let mut out = String::from("{");
    let fields = [
        ("content", "content"),
        ("id", "tool_call_id"),
        ("finish_reason", "finish_reason"),
        ("tool_calls", "tool_calls"),
        ("message", "message"),
    ];
    for (key, field) in fields {
        let holds_json = matches!(key, "tool_calls" | "message");
        let text = if holds_json { None } else { attributes.raw_text(key) };
        let found = if text.is_some() { None } else { attributes.get(key)? };
        if text.is_none() && found.is_none() {
            continue;
        }
        out.push_str(if out.len() > 1 { ",\"" } else { "\"" });
        out.push_str(field);
        out.push_str("\":");
        match found {
            Some(Attribute::Text(text, _)) if !holds_json => {
                json::write_canonical(&Value::String(text.to_string()), &mut out);
            }
            found => out.push_str(text.or(found.map(Attribute::document)).unwrap_or_default()),
        }
    }
    out.push('}');
    Ok(out)
}
