//! Events of `OpenHands`: a trajectory as a list, or a record of its evaluation with a `history`.
//!
//! An action of the agent comes with the reply of the model that made the call, and several actions may share one reply. An
//! observation answers the call with its id, or the action that caused it. Events of the software development kit have a
//! `kind`, and name their call themselves.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::bounded_list::{BoundedList, Element};
use super::builder::Builder;
use super::message::{Answer, Call, Message, Part, Place, Spent, id};
use super::shape::Shape;
use super::wire::{self, Name, Text};
use super::{ImportError, Imported, Options, Record, Unit, openai_chat, results};
use crate::trace::{Role, StopReason, ToolResult};

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let is_event = |shape: &Shape<'_>| {
        let kind = shape.text("kind");
        let is_named = kind.is_some_and(|kind| kind.ends_with("Event") || kind.ends_with("Observation"));
        let is_older = shape.text("action").is_some() || shape.text("observation").is_some();
        shape.has(&["id", "timestamp", "source"]) && (is_named || is_older)
    };
    let unit = match shape {
        Shape::Object(_) if is_event(shape) => Unit::Message,
        Shape::Object(_) if shape.child("history")?.elements().first().is_some_and(is_event) => Unit::Record,
        Shape::List(_) if shape.elements().first().is_some_and(is_event) => Unit::Record,
        _ => return None,
    };
    Some((unit, Cow::Borrowed("it has events with a `source`")))
}

#[derive(Deserialize)]
struct Evaluated<'a> {
    instance_id: Option<Name>,
    #[serde(borrow)]
    history: Option<BoundedList<Event<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an event")]
struct Event<'a> {
    id: Option<Name>,
    #[serde(borrow)]
    source: Option<Text<'a>>,
    /// A word, or in the development kit an object.
    action: Option<&'a RawValue>,
    observation: Option<&'a RawValue>,
    args: Option<Args<'a>>,
    cause: Option<Name>,
    content: Option<&'a RawValue>,
    success: Option<bool>,
    tool_call_metadata: Option<Metadata<'a>>,
    kind: Option<Text<'a>>,
    tool_name: Option<Text<'a>>,
    tool_call_id: Option<Text<'a>>,
    tool_call: Option<ModelCall<'a>>,
    llm_response_id: Option<Text<'a>>,
    thought: Option<&'a RawValue>,
    llm_message: Option<&'a RawValue>,
    error: Option<Text<'a>>,
    rejection_reason: Option<Text<'a>>,
}

impl Element for Event<'_> {
    fn is_incomplete(&self) -> bool {
        self.source.is_none()
    }
}

/// The arguments of an action, as far as they are words of the agent.
#[derive(Deserialize)]
struct Args<'a> {
    #[serde(borrow)]
    content: Option<Text<'a>>,
    final_thought: Option<Text<'a>>,
    thought: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow)]
    function_name: Option<Text<'a>>,
    tool_call_id: Option<Text<'a>>,
    model_response: Option<ModelResponse<'a>>,
}

#[derive(Deserialize)]
struct ModelResponse<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    model: Option<Text<'a>>,
    choices: Option<Vec<Choice<'a>>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ModelCall<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    arguments: Option<&'a RawValue>,
}

/// Actions that call no tool.
const NO_CALLS: [&str; 10] = [
    "message",
    "system",
    "finish",
    "reject",
    "think",
    "recall",
    "change_agent_state",
    "condensation",
    "condensation_request",
    "null",
];

/// The call with which an agent ends its work and answers.
const FINISH: &str = "finish";

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    let (name, list, events) = if record.text.trim_start().starts_with('[') {
        (None, "", wire::typed(record.text)?)
    } else {
        let record: Evaluated<'_> = wire::typed(record.text)?;
        let events = record.history.ok_or_else(|| ImportError::new("it has no `history`"))?;
        (record.instance_id.map(|name| name.0), "history", events)
    };
    let mut run = Run { builder: Builder::new(options), turn: None, asked: BTreeSet::new(), closing: None };
    for (at, event) in events.iter().enumerate() {
        let place = Place::Element(list, at);
        run.add(event, place).map_err(|error| error.at(place))?;
    }
    run.close()?;
    let trace = run.builder.finish(None, None);
    Ok(vec![Imported { id: name, group: None, seal: None, fields: record.text.into(), trace }])
}

struct Run<'o> {
    builder: Builder<'o>,
    /// The turn of the last reply, and its id.
    turn: Option<(usize, String)>,
    /// Actions without the reply that made them, which observations name as their cause.
    asked: BTreeSet<String>,
    /// What the agent answers with its last call, `finish`. It is said after that call.
    closing: Option<String>,
}

impl Run<'_> {
    /// Whether the last reply has this id.
    fn is_known_reply(&self, key: Option<&str>) -> bool {
        key.is_some() && self.turn.as_ref().map(|(_, known)| known.as_str()) == key
    }

    /// Adds the answer in a call of `finish`.
    fn close(&mut self) -> Result<(), ImportError> {
        let Some(text) = self.closing.take() else { return Ok(()) };
        self.say(Message::with_parts(Role::Assistant, vec![Part::Text(text.into())]), None, Place::Key("finish"))
    }

    fn add(&mut self, event: &Event<'_>, place: Place<'_>) -> Result<(), ImportError> {
        if let Some(kind) = event.kind.as_deref() {
            return self.add_named(event, kind, place);
        }
        let word = |raw: Option<&RawValue>| raw.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
        if let Some(action) = word(event.action) {
            return self.add_action(event, &action, place);
        }
        let Some(observation) = word(event.observation) else {
            return Err(ImportError::new("it has neither `action` nor `observation` as a text"));
        };
        let metadata = event.tool_call_metadata.as_ref();
        let cause = event.cause.as_ref().map(|cause| cause.0.clone()).filter(|cause| self.asked.contains(cause));
        let Some(id) = metadata.and_then(|call| id(call.tool_call_id.as_deref())).or(cause) else { return Ok(()) };
        let is_error = if observation == "error" { Some(true) } else { event.success.map(|success| !success) };
        let value = wire::optional(event.content, wire::value, "content")?;
        self.answer(id, results::of_value(value.unwrap_or(Value::Null), is_error), place)
    }

    fn add_action(&mut self, event: &Event<'_>, action: &str, place: Place<'_>) -> Result<(), ImportError> {
        let is_agent = event.source.as_deref() == Some("agent");
        if let Some(call) = event.tool_call_metadata.as_ref().filter(|_| is_agent) {
            let reply = call.model_response.as_ref();
            let key = reply.and_then(|reply| id(reply.id.as_deref()));
            let answer = event.args.as_ref().and_then(|args| args.final_thought.as_deref());
            let answer = answer.filter(|text| action == FINISH && !text.is_empty()).map(str::to_owned);
            if self.is_known_reply(key.as_deref()) {
                self.closing = answer.or(self.closing.take());
                return Ok(());
            }
            self.close()?;
            let message = reply.and_then(|reply| reply.choices.as_ref()?.first()?.message);
            let mut message = match message {
                Some(raw) => openai_chat::message(raw.get(), Place::Key("message"))?,
                None => None,
            }
            .unwrap_or_else(|| Message::new(Role::Assistant));
            let own = id(call.tool_call_id.as_deref());
            if !message.calls().any(|known| known.id == own) {
                let name = call.function_name.as_deref().unwrap_or(action).to_owned();
                message.parts.push(Part::Call(Call { id: own, name, ..Call::default() }));
            }
            message.model = reply.and_then(|reply| reply.model.as_deref()).map(str::to_owned);
            self.closing = answer;
            return self.say(message, key, place);
        }
        let args = event.args.as_ref();
        let said =
            args.and_then(|args| args.content.as_deref().or(args.final_thought.as_deref()).or(args.thought.as_deref()));
        let texts = said.filter(|text| !text.is_empty()).map(|text| Part::Text(text.into())).into_iter();
        match (event.source.as_deref(), action) {
            (Some("user"), "message") => {
                self.close()?;
                self.builder.add(Message::with_parts(Role::User, texts.collect()), &place).map(|_| ())
            }
            (Some("agent"), "message" | "finish" | "reject" | "think") => {
                self.close()?;
                self.say(Message::with_parts(Role::Assistant, texts.collect()), None, place)
            }
            (Some("agent"), action) if !NO_CALLS.contains(&action) => {
                let own = event.id.as_ref().map(|id| id.0.clone());
                self.asked.extend(own.clone());
                // The arguments of an action are not those of the call.
                let call = Call { id: own, name: action.to_owned(), ..Call::default() };
                self.say(Message::with_parts(Role::Assistant, texts.chain([Part::Call(call)]).collect()), None, place)
            }
            _ => Ok(()),
        }
    }

    /// Adds an event of the development kit.
    fn add_named(&mut self, event: &Event<'_>, kind: &str, place: Place<'_>) -> Result<(), ImportError> {
        let call_id = id(event.tool_call_id.as_deref());
        match (kind, call_id) {
            ("MessageEvent", _) => {
                let Some(raw) = event.llm_message else { return Err(ImportError::new("it has no `llm_message`")) };
                match openai_chat::message(raw.get(), Place::Key("llm_message"))? {
                    Some(message) => {
                        self.close()?;
                        match message.role {
                            Role::Assistant => self.say(message, None, place),
                            Role::User | Role::Tool => self.builder.add(message, &place).map(|_| ()),
                        }
                    }
                    None => Ok(()),
                }
            }
            ("ActionEvent", call_id) => {
                let call = event.tool_call.as_ref();
                let name = call.and_then(|call| call.name.as_deref()).or(event.tool_name.as_deref());
                let name = name.ok_or_else(|| ImportError::new("it is a call and has no `tool_name`"))?.to_owned();
                let args = wire::optional(call.and_then(|call| call.arguments), wire::arguments, "arguments")?;
                let id = call_id.or_else(|| id(call?.id.as_deref()));
                let key = event.llm_response_id.as_deref().map(str::to_owned);
                if !self.is_known_reply(key.as_deref()) {
                    self.close()?;
                }
                let answer = args.as_ref().filter(|_| name == FINISH).and_then(|args| args.get("message")?.as_str());
                let answer = answer.filter(|text| !text.is_empty()).map(str::to_owned);
                self.closing = answer.or(self.closing.take());
                let thought = event.thought.and_then(|raw| wire::part::<Vec<Said<'_>>>(raw).ok());
                let texts = thought.into_iter().flatten().filter_map(|said| said.text?.said());
                let mut parts: Vec<Part> = texts.map(Part::Text).collect();
                parts.push(Part::Call(Call { id, name, args, ..Call::default() }));
                self.say(Message::with_parts(Role::Assistant, parts), key, place)
            }
            ("AgentErrorEvent" | "UserRejectObservation", Some(id)) => {
                let text = event.error.as_deref().or(event.rejection_reason.as_deref()).unwrap_or_default();
                self.answer(id, results::of_text(text.into(), Some(true)), place)
            }
            (_, Some(id)) => {
                let found: Observed<'_> = wire::typed(event.observation.map_or("{}", RawValue::get))?;
                let value = wire::optional(found.content.or(found.output), wire::value, "content")?;
                let result = match value.unwrap_or(Value::Null) {
                    Value::Array(list) => results::of_list(list, found.is_error),
                    value => results::of_value(value, found.is_error),
                };
                self.answer(id, result, place)
            }
            ("ConversationErrorEvent", None) => {
                self.builder.stop = Some(StopReason::Error);
                Ok(())
            }
            _ if event.tool_name.is_some() || event.tool_call.is_some() => Err(ImportError::unknown("kind", kind)),
            _ => Ok(()),
        }
    }

    /// Adds a message of the model. Parts of a known reply are added to that reply.
    fn say(&mut self, message: Message, key: Option<String>, place: Place<'_>) -> Result<(), ImportError> {
        if let Some((turn, _)) = self.turn.as_ref().filter(|_| self.is_known_reply(key.as_deref())) {
            return self.builder.append(*turn, message.parts, &place);
        }
        let turn = self.builder.add(Message { spent: Spent::Unknown, ..message }, &place)?;
        self.turn = turn.zip(key);
        Ok(())
    }

    fn answer(&mut self, id: String, result: ToolResult, place: Place<'_>) -> Result<(), ImportError> {
        let answer = Part::Answer(Answer { id: Some(id), result, ..Answer::default() });
        self.builder.add(Message::with_parts(Role::Tool, vec![answer]), &place).map(|_| ())
    }
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Observed<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    output: Option<&'a RawValue>,
    is_error: Option<bool>,
}
