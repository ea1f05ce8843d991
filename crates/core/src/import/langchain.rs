//! Messages of `LangChain` and states of `LangGraph`: a list of messages, an object with `messages`, a state with
//! `values.messages`, or a run with `inputs` and `outputs`.
//!
//! A message comes in three shapes: `{type, data}`, the same fields flat, and `{lc, type: "constructor", id, kwargs}`. Unlike
//! messages of `OpenAI` they have a `type` and no `role`. Calls with invalid arguments are in `invalid_tool_calls`. The
//! content often repeats calls that `tool_calls` has. Old logs have calls only in `additional_kwargs`, as the provider gave
//! them. A streamed message may be recorded in chunks with the same id.

mod calls;
mod content;
mod message;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::bounded_list::BoundedList;
use super::builder::Builder;
use super::duplicates::{self, Repeat};
use super::message::{Message, Place};
use super::shape::Shape;
use super::unread_calls::{self, UnreadCalls};
use super::wire::{self, Text};
use super::{ImportError, Imported, Options, Record, Unit, langsmith};
use message::{LcMessage, Speaker};

/// A record that is an object.
#[derive(Deserialize)]
#[serde(expecting = "an object with `messages`")]
struct Around<'a> {
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    values: Option<&'a RawValue>,
    inputs: Option<&'a RawValue>,
    outputs: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    thread_id: Option<&'a RawValue>,
    config: Option<&'a RawValue>,
    checkpoint: Option<&'a RawValue>,
    child_runs: Option<Vec<Run<'a>>>,
    /// Calls of agents that keep no messages.
    #[serde(default)]
    intermediate_steps: UnreadCalls,
}

/// A run inside the run that a record is.
#[derive(Deserialize)]
#[serde(expecting = "a run")]
struct Run<'a> {
    #[serde(borrow, rename = "run_type")]
    kind: Option<Text<'a>>,
    name: Option<Text<'a>>,
    child_runs: Option<Vec<Run<'a>>>,
}

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    if let Some(why) = recognize_message(shape) {
        return Some((Unit::Message, why));
    }
    if matches!(shape, Shape::List(_)) {
        return shape.elements().iter().find_map(recognize_message).map(|why| (Unit::Record, why));
    }
    // A run without the runs inside of it is one row of an export.
    if langsmith::is_row(shape) && shape.get("child_runs").is_none_or(|runs| runs.get() == "[]") {
        return None;
    }
    let around = [None, Some("values"), Some("outputs"), Some("inputs")];
    around.iter().find_map(|key| {
        let messages = match key {
            None => shape.child("messages")?,
            Some(key) => shape.child(key)?.child("messages")?,
        };
        messages.elements().iter().find_map(recognize_message).map(|why| (Unit::Record, why))
    })
}

/// What shows that a message is of this format.
fn recognize_message(shape: &Shape<'_>) -> Option<Cow<'static, str>> {
    let kind = shape.text("type")?;
    if kind == "constructor" || kind == "not_implemented" {
        let class = class(shape.get("id")?)?;
        return (shape.has(&["lc"]) && class.contains("Message"))
            .then(|| format!("it has a serialized `{class}`").into());
    }
    let is_known = Speaker::of(&kind).is_some() && !shape.has(&["sessionId"]) && !shape.has(&["session_id"]);
    let wrapped = shape.child("data").is_some_and(|data| data.get("content").is_some());
    // `chat` is the one type whose messages have a role too.
    let flat = shape.has(&["content"]) && (!shape.has(&["role"]) || kind == "chat");
    (is_known && (wrapped || flat)).then(|| format!("it has messages of type `{kind}`").into())
}

/// The name of a class, the last part of its path.
fn class(id: &RawValue) -> Option<String> {
    serde_json::from_str::<Vec<String>>(id.get()).ok()?.pop()
}

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    let mut builder = Builder::new(options);
    let mut id = None;
    if record.text.trim_start().starts_with('[') {
        let messages = wire::typed::<BoundedList<LcMessage<'a>>>(record.text)?;
        message::add_all(&mut builder, "", &messages)?;
        builder.refuse_reply_alone(messages.len())?;
    } else {
        let around: Around<'a> = wire::typed(record.text)?;
        let lists = lists(&around, record.text)?;
        for (name, list) in &lists {
            message::add_all(&mut builder, name, list)?;
        }
        check_runs(around.child_runs.as_deref().unwrap_or_default(), &builder, options)?;
        id = name(&around);
    }
    Ok(vec![Imported { id, group: None, seal: None, fields: record.text.into(), trace: builder.finish(None, None) }])
}

/// What one message says; `None` for a system prompt.
pub(super) fn message(text: &str, place: Place<'_>) -> Result<Option<Message>, ImportError> {
    message::one(&wire::piece(text)?, place)
}

/// Whether a type is that of a message.
pub(super) fn is_message_type(word: &str) -> bool {
    word == "constructor" || Speaker::of(word).is_some()
}

/// Tools may run without a message about it, such as inside an agent that is a tool itself. A recorded run of a tool must be a
/// call of the messages.
fn check_runs(runs: &[Run<'_>], builder: &Builder<'_>, options: &Options) -> Result<(), ImportError> {
    let mut ran: BTreeMap<&str, usize> = BTreeMap::new();
    let mut open: Vec<&Run<'_>> = runs.iter().collect();
    while let Some(run) = open.pop() {
        open.extend(run.child_runs.iter().flatten());
        if run.kind.as_deref() == Some("tool") {
            let name = run.name.as_deref().unwrap_or_default();
            *ran.entry(options.servers.split(name).1).or_default() += 1;
        }
    }
    let mut called: BTreeMap<&str, usize> = BTreeMap::new();
    for call in builder.calls() {
        *called.entry(&call.name).or_default() += 1;
    }
    for (name, times) in ran {
        let calls = called.get(name).copied().unwrap_or(0);
        if times > calls {
            return Err(ImportError::new(format!(
                "child_runs has {times} runs of the tool {name:?}, but the messages have {calls} calls of it"
            ))
            .hint(
                "a trace without those calls could pass by mistake; runs with messages can be scored by themselves",
            ));
        }
    }
    Ok(())
}

/// The lists of messages of a record, with their names.
fn lists<'a>(
    around: &Around<'a>,
    text: &'a str,
) -> Result<Vec<(&'static str, BoundedList<LcMessage<'a>>)>, ImportError> {
    unread_calls::refuse(&"record", &[("intermediate_steps", around.intermediate_steps)])?;
    let copies = [
        around.messages.map(|list| ("messages", list)),
        inside("values", around.values)?.map(|list| ("values.messages", list)),
        inside("outputs", around.outputs)?.map(|list| ("outputs.messages", list)),
    ];
    let mut copies = copies.into_iter().flatten();
    let Some(first) = copies.next() else {
        if matches!(Shape::part(text), Some(shape) if recognize_message(&shape).is_some()) {
            return Err(ImportError::reply_alone("messages"));
        }
        return Err(ImportError::new("it has no `messages`, and none in `values` or `outputs`")
            .hint("a record is a list of messages or an object with one; `--from` names the format of a file"));
    };
    let repeats: Vec<Repeat<'a>> = copies.map(Repeat::list).collect();
    let longest =
        if repeats.is_empty() { None } else { duplicates::longest(first.0, duplicates::keys(first.1)?, &repeats)? };
    let (key, raw) = longest.unwrap_or(first);
    let messages = list(key, raw)?;
    let Some(sent) = inside("inputs", around.inputs)? else { return Ok(vec![(key, messages)]) };
    // A state repeats its input; the output of a single step does not.
    if key == "outputs.messages" && !messages.iter().any(LcMessage::is_of_the_user) {
        return Ok(vec![("inputs.messages", list("inputs.messages", sent)?), (key, messages)]);
    }
    duplicates::check_included(("inputs.messages", sent), (key, raw), is_of_the_model)?;
    Ok(vec![(key, messages)])
}

/// The list of messages in the value of a key.
fn inside<'a>(key: &str, raw: Option<&'a RawValue>) -> Result<Option<&'a RawValue>, ImportError> {
    #[derive(Deserialize)]
    struct Inside<'a> {
        #[serde(borrow)]
        messages: Option<&'a RawValue>,
        #[serde(default)]
        intermediate_steps: UnreadCalls,
    }
    let Some(raw) = raw.filter(|raw| raw.get().starts_with('{')) else { return Ok(None) };
    let found: Inside<'a> = wire::part(raw).map_err(|error| error.at(key))?;
    unread_calls::refuse(&key, &[("intermediate_steps", found.intermediate_steps)])?;
    Ok(found.messages)
}

/// Whether a message, of this format or of one that its users write instead, is of the model or of a tool.
fn is_of_the_model(shape: &Shape<'_>) -> bool {
    let kind = match shape.text("type") {
        Some(kind) if kind == "constructor" => shape.get("id").and_then(class).map(Cow::Owned),
        kind => kind,
    };
    let speaker = kind.and_then(|kind| Speaker::of(&kind));
    let is_role = shape.text("role").is_some_and(|role| matches!(&*role, "assistant" | "ai" | "tool" | "function"));
    is_role || matches!(speaker, Some(Speaker::Ai | Speaker::AiChunk | Speaker::Tool | Speaker::Function))
}

fn list<'a>(name: &str, raw: &'a RawValue) -> Result<BoundedList<LcMessage<'a>>, ImportError> {
    wire::part(raw).map_err(|error| error.at(name))
}

/// What a record calls itself: its own id, or the thread it is a state of.
fn name(around: &Around<'_>) -> Option<String> {
    let own = around.id.or(around.thread_id).and_then(wire::name);
    let thread = |shape: Shape<'_>| shape.get("thread_id").and_then(wire::name);
    let configured = || thread(Shape::part(around.config?.get())?.child("configurable")?);
    let checkpoint = || thread(Shape::part(around.checkpoint?.get())?);
    own.or_else(configured).or_else(checkpoint)
}
