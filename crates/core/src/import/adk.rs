//! Sessions and evaluation sets of the Agent Development Kit of Google.
//!
//! A session has events with contents of the Gemini API. An event that is partial is repeated by a whole one. An evaluation
//! set has the expected conversations of its cases: what the agent is meant to do, written in the same words as what it did.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::bounded_list::{BoundedList, Element};
use super::builder::Builder;
use super::gemini;
use super::message::{Message, Part, Place, stop_reason};
use super::shape::Shape;
use super::wire::{self, Name, Text, null_as_default};
use super::{ImportError, Imported, Options, Record, Unit};
use crate::trace::{Role, StopReason};

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let is_list = |key: &str| shape.get(key).is_some_and(|value| value.get().starts_with('['));
    if is_list("events") && (shape.has(&["appName"]) || shape.has(&["app_name"])) {
        return Some((Unit::Record, "it has `events` and the name of an app".into()));
    }
    let is_set = is_list("eval_cases") || is_list("evalCases");
    is_set.then_some((Unit::Record, Cow::Borrowed("it has `eval_cases`")))
}

#[derive(Deserialize)]
struct Session<'a> {
    id: Option<Name>,
    #[serde(borrow)]
    events: Option<BoundedList<Event<'a>>>,
    #[serde(alias = "evalCases")]
    eval_cases: Option<Vec<Case<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an event")]
struct Event<'a> {
    #[serde(borrow)]
    author: Option<Text<'a>>,
    content: Option<&'a RawValue>,
    partial: Option<bool>,
    #[serde(alias = "errorCode")]
    error_code: Option<Text<'a>>,
    #[serde(alias = "finishReason")]
    finish_reason: Option<Text<'a>>,
}

impl Element for Event<'_> {
    fn is_incomplete(&self) -> bool {
        self.author.is_none()
    }
}

#[derive(Deserialize)]
struct Case<'a> {
    #[serde(alias = "evalId")]
    eval_id: Option<Name>,
    #[serde(borrow, default, deserialize_with = "null_as_default")]
    conversation: Vec<Invocation<'a>>,
}

#[derive(Deserialize)]
struct Invocation<'a> {
    #[serde(borrow, alias = "userContent")]
    user_content: Option<&'a RawValue>,
    #[serde(alias = "finalResponse")]
    final_response: Option<&'a RawValue>,
    #[serde(alias = "intermediateData")]
    intermediate_data: Option<Intermediate<'a>>,
}

#[derive(Deserialize)]
struct Intermediate<'a> {
    #[serde(borrow, default, alias = "toolUses", deserialize_with = "null_as_default")]
    tool_uses: Vec<&'a RawValue>,
    #[serde(default, alias = "toolResponses", deserialize_with = "null_as_default")]
    tool_responses: Vec<&'a RawValue>,
    #[serde(default, alias = "invocationEvents", deserialize_with = "null_as_default")]
    invocation_events: Vec<Event<'a>>,
}

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    let session: Session<'a> = wire::typed(record.text)?;
    if let Some(cases) = session.eval_cases {
        let cases = cases.iter().enumerate();
        return cases
            .map(|(at, case)| {
                let mut builder = Builder::new(options);
                for (turn, invocation) in case.conversation.iter().enumerate() {
                    let place = format!("eval_cases[{at}].conversation[{turn}]");
                    invocation.add_to(&mut builder).map_err(|error| error.at(&place))?;
                }
                let id = case.eval_id.as_ref().map(|id| id.0.clone());
                let fields = serde_json::json!({ "eval_id": id }).to_string().into();
                Ok(Imported { id, group: None, seal: None, fields, trace: builder.finish(None, None) })
            })
            .collect();
    }
    let Some(events) = &session.events else { return Err(ImportError::new("it has no `events`")) };
    let mut builder = Builder::new(options);
    for (at, event) in events.iter().enumerate() {
        let place = Place::Element("events", at);
        event.add_to(&mut builder, &format!("{place}.content"))?;
    }
    let trace = builder.finish(None, None);
    let id = session.id.map(|id| id.0);
    Ok(vec![Imported { id, group: None, seal: None, fields: record.text.into(), trace }])
}

impl Event<'_> {
    fn add_to(&self, builder: &mut Builder<'_>, place: &str) -> Result<(), ImportError> {
        if self.error_code.is_some() {
            builder.stop = Some(StopReason::Error);
        }
        let Some(content) = self.content.filter(|raw| self.partial != Some(true) && raw.get() != "null") else {
            return Ok(());
        };
        let read = gemini::message(content.get(), Place::Key(place)).map_err(|error| match error.place {
            Some(_) => error.at(place),
            None => error,
        })?;
        let Some(mut message) = read else { return Ok(()) };
        // Contents that an agent writes have its role or none; answers have that of the user.
        let answers = message.answers().next().is_some();
        if self.author.as_deref().is_some_and(|author| author != "user") && !answers {
            message.role = Role::Assistant;
        }
        let calls = message.calls().next().is_some();
        message.stop = self.finish_reason.as_deref().filter(|_| !calls).and_then(stop_reason);
        if message.parts.iter().any(|part| !matches!(part, Part::Other)) {
            builder.add(message, &place)?;
        }
        Ok(())
    }
}

impl Invocation<'_> {
    fn add_to(&self, builder: &mut Builder<'_>) -> Result<(), ImportError> {
        let mut add = |raw: &RawValue, key: &str, role: Role| -> Result<(), ImportError> {
            let Some(message) = gemini::message(raw.get(), Place::Key(key))? else { return Ok(()) };
            builder.add(Message { role, ..message }, &key).map(|_| ())
        };
        if let Some(raw) = self.user_content {
            add(raw, "user_content", Role::User)?;
        }
        if let Some(data) = &self.intermediate_data {
            // Functions are those of a content, which has them as parts.
            let content = |key: &str, raw: &RawValue| {
                RawValue::from_string(format!(r#"{{"parts":[{{"{key}":{}}}]}}"#, raw.get())).ok()
            };
            for (at, raw) in data.tool_uses.iter().enumerate() {
                if let Some(raw) = content("functionCall", raw) {
                    add(&raw, &format!("intermediate_data.tool_uses[{at}]"), Role::Assistant)?;
                }
            }
            for (at, raw) in data.tool_responses.iter().enumerate() {
                if let Some(raw) = content("functionResponse", raw) {
                    add(&raw, &format!("intermediate_data.tool_responses[{at}]"), Role::User)?;
                }
            }
        }
        for (at, event) in self.intermediate_data.iter().flat_map(|data| &data.invocation_events).enumerate() {
            event.add_to(builder, &format!("intermediate_data.invocation_events[{at}].content"))?;
        }
        if let Some(raw) = self.final_response {
            let Some(message) = gemini::message(raw.get(), Place::Key("final_response"))? else { return Ok(()) };
            builder.add(Message { role: Role::Assistant, ..message }, &"final_response")?;
        }
        Ok(())
    }
}
