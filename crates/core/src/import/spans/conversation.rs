//! One conversation, put together from the spans of its replies.
//!
//! Every reply comes with the messages before it, so each repeats the earlier ones. Only what follows the last known reply is
//! new. A recorder may cut or rewrite these earlier messages; then everything up to the last reply among them counts as known,
//! except messages with a call that was not known before.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::mem;

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::message::{Call, Message, Part};
use super::super::shape::Shape;
use super::super::{ImportError, bedrock, wire};
use super::attributes::{Attribute, Attributes};
use super::{Span, documents, flattened, messages};
use crate::json;
use crate::trace::{Role, StopReason};

#[derive(Default)]
pub(super) struct Conversation {
    /// Each message with its time.
    pub(super) messages: Vec<(u64, Message)>,
    /// Whether messages may be missing: recording them is optional.
    gap: bool,
    /// The text of the last reply, where its span has it; empty when the reply has no text.
    pub(super) closing: Option<String>,
    /// Why the last reply ended, according to its message.
    pub(super) stop: Option<StopReason>,
    /// When the last reply was complete.
    pub(super) end: u64,
    /// Every known call, once by its id and once by its name and arguments.
    known: BTreeSet<String>,
}

const VERCEL_PROMPT: &str = "ai.prompt.messages";

/// Messages as a span has them.
enum Recorded<'a> {
    /// A list as JSON, and its key.
    Json(Cow<'a, str>, &'static str),
    /// Messages; `None` for a system prompt.
    Read(Vec<Option<Message>>),
}

impl Conversation {
    /// Adds a reply and the messages before it, each from the first span that has them. The outermost span comes first.
    pub(super) fn append(&mut self, spans: &[&Span<'_>], start: u64, end: u64) -> Result<(), ImportError> {
        let (mut before, mut after) = (None, None);
        for span in spans {
            let at = |error: ImportError| error.at(span.label());
            before = before.map_or_else(|| input(span).map_err(at), |known| Ok(Some(known)))?;
            after = after.map_or_else(|| output(span).map_err(at), |known| Ok(Some(known)))?;
        }
        let label = spans.first().map(|span| span.label()).unwrap_or_default();
        match before {
            Some(recorded) => self.append_new(recorded, start).map_err(|error| error.at(&label))?,
            None => self.gap = true,
        }
        (self.closing, self.stop, self.end) = (None, None, end);
        match after {
            Some(recorded) => {
                let mut replies = Vec::new();
                let all = |message| {
                    replies.push(message);
                    false
                };
                each_backwards(recorded, Role::Assistant, all).map_err(|error| error.at(&label))?;
                replies.reverse();
                // A list without any reply is one that was not recorded.
                self.gap |= replies.is_empty();
                for message in joined_replies(replies) {
                    self.closing = Some(message.text().unwrap_or_default().into_string());
                    self.stop = message.stop;
                    self.push(end, message);
                }
            }
            None => self.gap = true,
        }
        Ok(())
    }

    /// Adds those of the messages before a reply that are new.
    fn append_new(&mut self, recorded: Recorded<'_>, time: u64) -> Result<(), ImportError> {
        let anchor = self.messages.iter().rev().map(|(_, message)| message).find(|message| is_reply(message));
        // From the last message to the first, and where the latest run of replies begins.
        let (mut late, mut run, mut found): (Vec<Message>, usize, bool) = (Vec::new(), 0, false);
        each_backwards(recorded, Role::User, |message| {
            if !(is_reply(&message) && late.last().is_some_and(is_reply)) {
                run = late.len();
            }
            late.push(message);
            let last = late.len() - 1;
            // The items of a reply may be messages of their own.
            let since = [last, run].into_iter().find(|&at| anchor.is_some_and(|anchor| is_repeat(anchor, &late[at..])));
            if let Some(since) = since {
                late.truncate(since);
                found = true;
            }
            found
        })?;
        let has_history = found || late.iter().any(is_reply);
        late.reverse();
        if anchor.is_none() {
            // There are only questions so far, and these repeat them.
            self.messages.clear();
            // What comes before the last question is history: earlier turns, whose calls are those of their own traces.
            let question = late.iter().rposition(is_question);
            if let Some(before) = question.and_then(|at| late[..at].iter().rposition(|one| one.role != Role::User)) {
                let history: Vec<Message> = late.drain(..=before).collect();
                self.known.extend(history.iter().flat_map(Message::calls).flat_map(names_of));
            }
        } else if !found && let Some(last) = late.iter().rposition(is_reply) {
            let fresh = late.split_off(last + 1);
            let earlier = mem::replace(&mut late, fresh);
            let unknown = earlier.into_iter().filter(|message| self.has_unknown_call(message)).collect::<Vec<_>>();
            late.splice(0..0, unknown);
        }
        self.gap &= !has_history;
        for message in joined_replies(late) {
            self.push(time, message);
        }
        Ok(())
    }

    fn push(&mut self, time: u64, message: Message) {
        self.known.extend(message.calls().flat_map(names_of));
        self.messages.push((time, message));
    }

    fn has_unknown_call(&self, message: &Message) -> bool {
        message.calls().any(|call| !names_of(call).any(|name| self.known.contains(&name)))
    }

    /// Whether no message is missing.
    pub(super) fn is_complete(&self) -> bool {
        !self.gap && !self.messages.is_empty()
    }
}

fn is_reply(message: &Message) -> bool {
    message.role == Role::Assistant
}

/// Whether a message of the user has text. Some APIs put answers into messages of the user.
fn is_question(message: &Message) -> bool {
    message.role == Role::User && (message.texts().next().is_some() || message.answers().next().is_none())
}

/// Replies that follow each other as one: recorders of some APIs write every item of a reply as a message of its own. A text
/// after calls is another reply.
fn joined_replies(messages: Vec<Message>) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        let continues = |last: &Message| last.calls().next().is_none() || message.texts().next().is_none();
        match out.last_mut().filter(|last| is_reply(last) && is_reply(&message) && continues(last)) {
            Some(last) => {
                last.parts.extend(message.parts);
                last.stop = message.stop;
            }
            None => out.push(message),
        }
    }
    out
}

/// Whether messages, the last one first, repeat a reply. Ids are not compared: some recorders give a call another id when they
/// repeat it.
fn is_repeat(reply: &Message, again: &[Message]) -> bool {
    let is_said = |part: &&Part| !matches!(part, Part::Other);
    let size = |message: &Message| message.parts.iter().filter(is_said).count();
    // Comparing what cannot be the same would take too long.
    let mut left = size(reply);
    let fits = again.iter().all(|message| {
        let own = size(message);
        let is_less = own <= left && is_reply(message);
        left = left.saturating_sub(own);
        is_less
    });
    if !fits || left > 0 {
        return false;
    }
    let all = || again.iter().rev();
    reply.texts().eq(all().flat_map(Message::texts))
        && reply
            .calls()
            .map(|call| (&call.name, &call.args))
            .eq(all().flat_map(Message::calls).map(|call| (&call.name, &call.args)))
        && reply.answers().map(|answer| &answer.result).eq(all().flat_map(Message::answers).map(|one| &one.result))
}

/// What a call is known by: its id, and its name with its arguments.
fn names_of(call: &Call) -> impl Iterator<Item = String> {
    let id = call.id.as_ref().map(|id| format!("id {id}"));
    let args = call.args.as_ref().map_or_else(String::new, json::canonical);
    id.into_iter().chain([format!("call {} {args}", call.name)])
}

/// Hands over messages from the last to the first until `take` says to stop. System prompts are left out.
fn each_backwards(
    recorded: Recorded<'_>,
    default: Role,
    mut take: impl FnMut(Message) -> bool,
) -> Result<(), ImportError> {
    match recorded {
        Recorded::Read(list) => {
            list.into_iter().rev().flatten().any(take);
        }
        Recorded::Json(text, key) => {
            let items: Vec<&RawValue> = wire::typed(&text).map_err(|error| {
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

/// The messages before a reply.
fn input<'a>(span: &Span<'a>) -> Result<Option<Recorded<'a>>, ImportError> {
    let flat = ["llm.input_messages.", "gen_ai.prompt."];
    if let Some(found) = side(span, Role::User, "gen_ai.input.messages", "gen_ai.prompt", flat)? {
        return Ok(Some(found));
    }
    if let Some(found) = span.attributes.get(VERCEL_PROMPT)? {
        return Ok(Some(Recorded::Json(found.document(), VERCEL_PROMPT)));
    }
    document(span, &["langfuse.observation.input", "langsmith.inputs", "mlflow.spanInputs"], Role::User)
}

/// Whether a span has the reply.
pub(super) fn has_reply(span: &Span<'_>) -> Result<bool, ImportError> {
    output(span).map(|reply| reply.is_some())
}

/// The reply.
fn output<'a>(span: &Span<'a>) -> Result<Option<Recorded<'a>>, ImportError> {
    let flat = ["llm.output_messages.", "gen_ai.completion."];
    if let Some(found) = side(span, Role::Assistant, "gen_ai.output.messages", "gen_ai.completion", flat)? {
        return Ok(Some(found));
    }
    if let Some(reply) = vercel_reply(span)? {
        return Ok(Some(Recorded::Read(vec![Some(reply)])));
    }
    document(span, &["langfuse.observation.output", "langsmith.outputs", "mlflow.spanOutputs"], Role::Assistant)
}

/// The reply as the AI SDK of Vercel records it: its text and its calls.
fn vercel_reply(span: &Span<'_>) -> Result<Option<Message>, ImportError> {
    const CALLS: &str = "ai.response.toolCalls";
    let said = span.attributes.first(&["ai.response.text", "ai.response.object"])?;
    let calls = span.attributes.get(CALLS)?;
    if said.is_none() && calls.is_none() {
        return Ok(None);
    }
    let text = said.map(|(_, text)| text.document().into_owned()).filter(|text| !text.is_empty());
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
fn document<'a>(span: &Span<'a>, keys: &[&str], role: Role) -> Result<Option<Recorded<'a>>, ImportError> {
    let Some((key, found)) = span.attributes.first(keys)? else { return Ok(None) };
    let read = documents::messages(&found.document(), role);
    read.map(|list| Some(Recorded::Read(list))).map_err(|error| error.at(format_args!("attribute `{key}`")))
}

fn side<'a>(
    span: &Span<'a>,
    role: Role,
    key: &'static str,
    old: &'static str,
    flat: [&str; 2],
) -> Result<Option<Recorded<'a>>, ImportError> {
    for attributes in std::iter::once(&span.attributes).chain(span.events.iter().map(|event| &event.attributes)) {
        if let Some(found) = attributes.get(key)? {
            return Ok(Some(Recorded::Json(found.document(), key)));
        }
        if let Some(found) = attributes.get(old)? {
            let text = found.document();
            // Some recorders write plain text under this older key.
            if text.trim_start().starts_with('[') {
                return Ok(Some(Recorded::Json(text, old)));
            }
            let message = Message::with_parts(role, vec![Part::Text(text.into_owned().into())]);
            return Ok(Some(Recorded::Read(vec![Some(message)])));
        }
    }
    for prefix in flat {
        if let Some(list) = flattened::messages(&span.attributes, prefix, role)? {
            return Ok(Some(Recorded::Read(list)));
        }
    }
    from_events(span, role)
}

/// The messages that a span has in events, one in each.
fn from_events<'a>(span: &Span<'a>, side: Role) -> Result<Option<Recorded<'a>>, ImportError> {
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
fn strands<'a>(attributes: &Attributes<'a>) -> Result<Option<Cow<'a, str>>, ImportError> {
    let Some((_, found)) = attributes.first(&["content", "message"])? else { return Ok(None) };
    let text = found.document();
    let is_typed = |block: &Shape<'_>| !matches!(block, Shape::Object(_)) || block.get("type").is_some();
    let blocks = if text.starts_with("[{") { Shape::of(&text) } else { None };
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
        let Some(found) = attributes.get(key)? else { continue };
        let holds_json = matches!(key, "tool_calls" | "message") || matches!(found, Attribute::Json(_));
        let document = found.document();
        out.push_str(if out.len() > 1 { "," } else { "" });
        out.push_str(&format!("\"{field}\":"));
        if holds_json {
            out.push_str(&document);
        } else {
            json::write_canonical(&Value::String(document.into_owned()), &mut out);
        }
    }
    out.push('}');
    Ok(out)
}
