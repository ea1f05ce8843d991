//! Trajectories of SWE-agent, each one run with its `history`, and of mini-swe-agent, with `messages`.
//!
//! With function calling these are messages of Chat Completions, and an answer may list the ids of several calls. Without it
//! the model writes commands as text: each is a call of `bash`, which a message of the user answers. Demonstrations at the
//! beginning are not part of the run.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::bounded_list::{BoundedList, Element};
use super::builder::Builder;
use super::message::{Answer, Call, Message, Part, Place, Spent, Usage, UsageKeys};
use super::shape::Shape;
use super::wire::{self, Text, null_as_default};
use super::{ImportError, Imported, Options, Record, Unit, openai_chat, results};
use crate::trace::{Role, StopReason};

const USAGE: UsageKeys =
    UsageKeys { input: "tokens_sent", output: "tokens_received", total: None, cached: &[], written: None };

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let format = shape.text("trajectory_format").filter(|format| format.starts_with("mini-swe-agent"));
    if let Some(format) = format {
        return Some((Unit::Record, format!("its `trajectory_format` is {format:?}").into()));
    }
    let first = shape.child("history")?.elements().into_iter().next()?;
    let is_own = first.has(&["role", "content"]) && (first.has(&["agent"]) || shape.get("trajectory").is_some());
    is_own.then_some((Unit::Record, Cow::Borrowed("it has the `history` of an agent")))
}

#[derive(Deserialize)]
#[serde(expecting = "a trajectory")]
struct SavedRun<'a> {
    #[serde(borrow)]
    history: Option<BoundedList<Entry<'a>>>,
    messages: Option<BoundedList<Entry<'a>>>,
    #[serde(default, deserialize_with = "null_as_default")]
    trajectory: Vec<Step<'a>>,
    info: Option<Info<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "a message")]
struct Entry<'a> {
    #[serde(borrow)]
    role: Option<Text<'a>>,
    content: Option<&'a RawValue>,
    tool_calls: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "null_as_default")]
    tool_call_ids: Vec<Text<'a>>,
    tool_call_id: Option<Text<'a>>,
    action: Option<Text<'a>>,
    #[serde(default, deserialize_with = "null_as_default")]
    extra: Extra<'a>,
    is_demo: Option<bool>,
}

impl Element for Entry<'_> {
    fn is_incomplete(&self) -> bool {
        self.role.is_none()
    }
}

#[derive(Deserialize, Default)]
struct Extra<'a> {
    #[serde(borrow, default, deserialize_with = "null_as_default")]
    actions: Vec<Action<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an action")]
struct Action<'a> {
    #[serde(borrow)]
    command: Text<'a>,
}

#[derive(Deserialize)]
#[serde(expecting = "a step")]
struct Step<'a> {
    #[serde(borrow)]
    action: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Info<'a> {
    #[serde(borrow)]
    exit_status: Option<Text<'a>>,
    model_stats: Option<&'a RawValue>,
}

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    let run: SavedRun<'_> = wire::typed(record.text)?;
    let (key, list) = match (&run.history, &run.messages) {
        (Some(history), _) => ("history", history),
        (None, Some(messages)) => ("messages", messages),
        (None, None) => return Err(ImportError::new("it has no `history`")),
    };
    let mut builder = Builder::new(options);
    // How many commands in texts have no answer yet.
    let mut waiting = 0;
    for (at, entry) in list.iter().enumerate().filter(|(_, entry)| entry.is_demo != Some(true)) {
        let place = Place::Element(key, at);
        if let Some(message) = entry.read(&mut waiting, place).map_err(|error| error.at(place))? {
            builder.add(Message { spent: Spent::Nothing, ..message }, &place)?;
        }
    }
    let is_action = |step: &&Step<'_>| step.action.as_deref().is_some_and(|action| !action.trim().is_empty());
    let (actions, calls) = (run.trajectory.iter().filter(is_action).count(), builder.calls().len());
    if actions > calls {
        let message = format!("its `trajectory` has {actions} actions, but its `history` has {calls} of them");
        return Err(ImportError::new(message).hint("a trace without those calls could pass by mistake"));
    }
    let info = run.info.as_ref();
    let usage = USAGE.read(info.and_then(|info| info.model_stats), "info.model_stats")?;
    builder.spend(Spent::reported(usage.map(Usage::with_cache_in_input)));
    builder.stop = match info.and_then(|info| info.exit_status.as_deref()) {
        Some("submitted" | "Submitted") => Some(StopReason::Completed),
        Some(status) if status.contains("error") => Some(StopReason::Error),
        _ => None,
    };
    let trace = builder.finish(None, None);
    Ok(vec![Imported { id: None, group: None, seal: None, fields: record.text.into(), trace }])
}

impl Entry<'_> {
    /// What the message says.
    fn read(&self, waiting: &mut usize, place: Place<'_>) -> Result<Option<Message>, ImportError> {
        let role = self.role.as_deref().unwrap_or_default();
        let content = self.content.map_or("null", RawValue::get);
        let said = |role: &str| openai_chat::message(&format!(r#"{{"role":"{role}","content":{content}}}"#), place);
        let text = || Ok::<_, ImportError>(said("user")?.and_then(|message| message.text()).unwrap_or_default());
        let answer = |text: &str, id: Option<&str>| {
            let result = results::of_text(text.into(), None);
            Part::Answer(Answer { id: id.map(str::to_owned), result, ..Answer::default() })
        };
        match role {
            "assistant" => {
                let mut message = said(role)?.unwrap_or_else(|| Message::new(Role::Assistant));
                message.parts.extend(self.calls(place)?);
                *waiting = message.calls().filter(|call| call.id.is_none()).count();
                Ok(Some(message))
            }
            "tool" => {
                let text = text()?;
                let ids = self.tool_call_ids.iter().chain(&self.tool_call_id);
                Ok(Some(Message::with_parts(Role::Tool, ids.map(|id| answer(&text, Some(id))).collect())))
            }
            "user" if *waiting > 0 => {
                *waiting -= 1;
                Ok(Some(Message::with_parts(Role::Tool, vec![answer(&text()?, None)])))
            }
            "system" | "user" => said(role),
            // The end of the run.
            "exit" => Ok(None),
            other => Err(ImportError::must_be("role", "system, user, assistant, tool or exit", Some(other))),
        }
    }

    fn calls(&self, place: Place<'_>) -> Result<Vec<Part>, ImportError> {
        if let Some(calls) = self.tool_calls.filter(|calls| !matches!(calls.get(), "null" | "[]")) {
            let calls = format!(r#"{{"role":"assistant","content":null,"tool_calls":{}}}"#, calls.get());
            return Ok(openai_chat::message(&calls, place)?.map(|message| message.parts).unwrap_or_default());
        }
        let actions = self.extra.actions.iter().map(|action| &*action.command).chain(self.action.as_deref());
        let call = |command: &str| {
            let args = Some(json!({ "command": command }));
            Part::Call(Call { name: "bash".to_owned(), args, ..Call::default() })
        };
        Ok(actions.filter(|action| !action.trim().is_empty()).map(call).collect())
    }
}
