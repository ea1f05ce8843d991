//! Messages of `LangChain` and states of `LangGraph`: a list of messages, an object with `messages`, a state with
//! `values.messages`, or a run with `inputs` and `outputs`.
//!
//! A message comes in three shapes: `{type, data}`, the same fields flat, and `{lc, type: "constructor", id, kwargs}`. A
//! `type` and no `role` is what tells them from the messages of `OpenAI`. Calls that the model garbled stand apart, in
//! `invalid_tool_calls`; the blocks of a content often repeat calls that `tool_calls` has; old logs have them only in
//! `additional_kwargs`, as the provider gave them; a streamed message may lie in chunks with the same id.

mod calls;
mod message;
mod said;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::builder::Builder;
use super::listed::Listed;
use super::look::Look;
use super::stray::{self, Stray};
use super::tellings::{self, Also};
use super::wire::{self, Text};
use super::{ImportError, Imported, Options, Record, Unit};
use message::{Message, Reader, Speaker};

/// What can stand around messages.
#[derive(Deserialize)]
#[serde(expecting = "an object with `messages`")]
struct Around<'a> {
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    values: Option<&'a RawValue>,
    #[serde(borrow)]
    inputs: Option<&'a RawValue>,
    #[serde(borrow)]
    outputs: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    thread_id: Option<&'a RawValue>,
    #[serde(borrow)]
    config: Option<&'a RawValue>,
    #[serde(borrow)]
    checkpoint: Option<&'a RawValue>,
    #[serde(borrow)]
    child_runs: Option<Vec<Run<'a>>>,
    /// Calls of agents that keep no messages.
    #[serde(default)]
    intermediate_steps: Stray,
}

/// A run inside the run that a record is.
#[derive(Deserialize)]
#[serde(expecting = "a run")]
struct Run<'a> {
    #[serde(borrow, rename = "run_type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    child_runs: Option<Vec<Run<'a>>>,
}

pub(super) fn sniff(look: &Look<'_>) -> Option<(Unit, Cow<'static, str>)> {
    if let Some(why) = told_by_message(look) {
        return Some((Unit::Message, why));
    }
    if matches!(look, Look::List(_)) {
        return look.elements().iter().find_map(told_by_message).map(|why| (Unit::Record, why));
    }
    let around = [None, Some("values"), Some("outputs"), Some("inputs")];
    around.iter().find_map(|key| {
        let messages = match key {
            None => look.inside("messages")?,
            Some(key) => look.inside(key)?.inside("messages")?,
        };
        messages.elements().iter().find_map(told_by_message).map(|why| (Unit::Record, why))
    })
}

/// By what a message is told.
fn told_by_message(look: &Look<'_>) -> Option<Cow<'static, str>> {
    let kind = look.text("type")?;
    if kind == "constructor" || kind == "not_implemented" {
        let class = class(look.get("id")?)?;
        return (look.has(&["lc"]) && class.contains("Message"))
            .then(|| format!("it has a serialised `{class}`").into());
    }
    let is_known = Speaker::of(&kind).is_some() && !look.has(&["sessionId"]) && !look.has(&["session_id"]);
    let wrapped = look.inside("data").is_some_and(|data| data.get("content").is_some());
    // `chat` is the one type whose messages have a role too.
    let flat = look.has(&["content"]) && (!look.has(&["role"]) || kind == "chat");
    (is_known && (wrapped || flat)).then(|| format!("it has messages of type `{kind}`").into())
}

/// The name of a class, the last part of its path.
fn class(id: &RawValue) -> Option<String> {
    serde_json::from_str::<Vec<String>>(id.get()).ok()?.pop()
}

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    let mut reader = Reader::new(options);
    let mut id = None;
    if record.text.trim_start().starts_with('[') {
        reader.messages("", &wire::typed::<Listed<Message<'a>>>(record.text)?)?;
    } else {
        let around: Around<'a> = wire::typed(record.text)?;
        let lists = lists(&around, record.text)?;
        for (name, list) in &lists {
            reader.messages(name, list)?;
        }
        check_runs(around.child_runs.as_deref().unwrap_or_default(), reader.builder())?;
        id = name(&around);
    }
    Ok(vec![Imported { id, group: None, fields: record.text.into(), trace: reader.finish() }])
}

/// Tools may run where no message tells of it, such as inside an agent that is a tool itself. Runs that are recorded have to
/// be calls of the messages then.
fn check_runs(runs: &[Run<'_>], builder: &Builder<'_>) -> Result<(), ImportError> {
    let mut ran: BTreeMap<String, usize> = BTreeMap::new();
    let mut open: Vec<&Run<'_>> = runs.iter().collect();
    while let Some(run) = open.pop() {
        open.extend(run.child_runs.iter().flatten());
        if run.kind.as_deref() == Some("tool") {
            let name = run.name.as_deref().unwrap_or_default();
            *ran.entry(builder.split(name).1).or_default() += 1;
        }
    }
    let mut called: BTreeMap<&str, usize> = BTreeMap::new();
    for call in builder.calls() {
        *called.entry(&call.name).or_default() += 1;
    }
    for (name, times) in ran {
        let told = called.get(&*name).copied().unwrap_or(0);
        if times > told {
            return Err(ImportError::new(format!(
                "child_runs has more runs of the tool {name:?} than the messages have calls of it: {times} against {told}"
            ))
            .hint(
                "a trace without those calls could be judged wrongly; runs with messages can be scored by themselves",
            ));
        }
    }
    Ok(())
}

/// The lists of messages of a record, with their names.
fn lists<'a>(around: &Around<'a>, text: &'a str) -> Result<Vec<(&'static str, Listed<Message<'a>>)>, ImportError> {
    stray::refuse(&"record", &[("intermediate_steps", around.intermediate_steps)])?;
    let [values, outputs, inputs] = [("values", around.values), ("outputs", around.outputs), ("inputs", around.inputs)];
    let tellings = [
        around.messages.map(|list| ("messages", list)),
        inside(values)?.map(|list| ("values.messages", list)),
        inside(outputs)?.map(|list| ("outputs.messages", list)),
    ];
    let mut tellings = tellings.into_iter().flatten();
    let Some(first) = tellings.next() else {
        if matches!(Look::at(text), Some(look) if told_by_message(&look).is_some()) {
            return Ok(vec![("", Listed(vec![wire::typed(text)?]))]);
        }
        return Err(ImportError::new("it has no `messages`, and none below `values` or `outputs`")
            .hint("a record is a list of messages or an object around one; `--from` names the format of a file"));
    };
    let beside: Vec<Also<'a>> = tellings.map(|(key, list)| Also::whole(key, Some(list))).collect();
    let longest =
        if beside.is_empty() { None } else { tellings::longest(first.0, tellings::gists(first.1)?, &beside)? };
    let (key, raw) = longest.unwrap_or(first);
    let told = list(key, raw)?;
    let Some(sent) = inside(inputs)? else { return Ok(vec![(key, told)]) };
    // A state repeats what went in; what a single step puts out does not.
    if key == "outputs.messages" && !told.iter().any(Message::is_of_the_user) {
        return Ok(vec![("inputs.messages", list("inputs.messages", sent)?), (key, told)]);
    }
    tellings::check_among(("inputs.messages", sent), (key, raw), is_of_the_model)?;
    Ok(vec![(key, told)])
}

/// The list of messages inside of what stands at a key.
fn inside<'a>((key, raw): (&str, Option<&'a RawValue>)) -> Result<Option<&'a RawValue>, ImportError> {
    #[derive(Deserialize)]
    struct Inside<'a> {
        #[serde(borrow)]
        messages: Option<&'a RawValue>,
        #[serde(default)]
        intermediate_steps: Stray,
    }
    let Some(raw) = raw.filter(|raw| raw.get().starts_with('{')) else { return Ok(None) };
    let found: Inside<'a> = wire::typed(raw.get()).map_err(|error| error.at(key))?;
    stray::refuse(&key, &[("intermediate_steps", found.intermediate_steps)])?;
    Ok(found.messages)
}

/// Whether a message, in this format or one that its users write instead, is of the model or of a tool.
fn is_of_the_model(look: &Look<'_>) -> bool {
    let kind = match look.text("type") {
        Some(kind) if kind == "constructor" => look.get("id").and_then(class).map(Cow::Owned),
        kind => kind,
    };
    let speaker = kind.and_then(|kind| Speaker::of(&kind));
    let is_role = look.text("role").is_some_and(|role| matches!(&*role, "assistant" | "ai" | "tool" | "function"));
    is_role || matches!(speaker, Some(Speaker::Ai | Speaker::AiChunk | Speaker::Tool | Speaker::Function))
}

fn list<'a>(name: &str, raw: &'a RawValue) -> Result<Listed<Message<'a>>, ImportError> {
    wire::typed(raw.get()).map_err(|error| ImportError {
        offset: None,
        message: format!("{name}: {}", error.message),
        hint: error.hint,
    })
}

/// What a record calls itself: its own id, or the thread it is a state of.
fn name(around: &Around<'_>) -> Option<String> {
    let own = around.id.or(around.thread_id).and_then(wire::name);
    let thread = |look: Look<'_>| look.get("thread_id").and_then(wire::name);
    let configured = || thread(Look::at(around.config?.get())?.inside("configurable")?);
    let checkpoint = || thread(Look::at(around.checkpoint?.get())?);
    own.or_else(configured).or_else(checkpoint)
}
