//! Trajectories in the Agent Trajectory Interchange Format (ATIF), which Harbor and others write.
//!
//! A step of the agent has its message, its calls, and what was observed after them. A result names its call, except where
//! a step has only one. Trajectories of sub-agents are traces of their own.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::bounded_list::{BoundedList, Element};
use super::builder::Builder;
use super::message::{Answer, At, Call, Message, Part, Place, Spent, Usage, UsageKeys};
use super::shape::Shape;
use super::wire::{self, Text, null_as_default};
use super::{ImportError, Imported, Options, Record, Unit, results};
use crate::trace::Role;

const USAGE: UsageKeys = UsageKeys {
    input: "prompt_tokens",
    output: "completion_tokens",
    total: None,
    cached: &["cached_tokens"],
    written: None,
};

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let version = shape.text("schema_version")?;
    (version.starts_with("ATIF") && shape.get("steps").is_some())
        .then(|| (Unit::Record, format!("its `schema_version` is {version:?}").into()))
}

#[derive(Deserialize)]
#[serde(expecting = "a trajectory")]
struct Trajectory<'a> {
    #[serde(borrow)]
    schema_version: Option<Text<'a>>,
    session_id: Option<Text<'a>>,
    #[serde(rename = "trajectory_id")]
    own_id: Option<Text<'a>>,
    agent: Option<Agent<'a>>,
    steps: Option<BoundedList<Step<'a>>>,
    #[serde(default, deserialize_with = "null_as_default")]
    subagent_trajectories: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Agent<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    model_name: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "a step")]
struct Step<'a> {
    #[serde(borrow)]
    source: Option<Text<'a>>,
    model_name: Option<Text<'a>>,
    message: Option<&'a RawValue>,
    tool_calls: Option<BoundedList<StepCall<'a>>>,
    observation: Option<Observation<'a>>,
    metrics: Option<&'a RawValue>,
    /// Whether the step repeats one of an earlier trajectory.
    is_copied_context: Option<bool>,
}

impl Element for Step<'_> {
    fn is_incomplete(&self) -> bool {
        self.source.is_none()
    }
}

#[derive(Deserialize)]
#[serde(expecting = "a call")]
struct StepCall<'a> {
    #[serde(borrow)]
    tool_call_id: Option<Text<'a>>,
    function_name: Option<Text<'a>>,
    arguments: Option<&'a RawValue>,
}

impl Element for StepCall<'_> {
    fn is_incomplete(&self) -> bool {
        self.function_name.is_none()
    }
}

#[derive(Deserialize)]
#[serde(expecting = "an observation")]
struct Observation<'a> {
    #[serde(borrow, default, deserialize_with = "null_as_default")]
    results: Vec<StepResult<'a>>,
}

#[derive(Deserialize)]
struct StepResult<'a> {
    #[serde(borrow)]
    source_call_id: Option<Text<'a>>,
    content: Option<&'a RawValue>,
    /// Not part of the format, but written by some.
    is_error: Option<bool>,
}

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    let mut out = Vec::new();
    add(record.text, None, options, &mut out)?;
    Ok(out)
}

/// Adds the trace of a trajectory, and those of the trajectories inside it.
fn add<'a>(
    text: &'a str,
    parent: Option<&str>,
    options: &Options,
    out: &mut Vec<Imported<'a>>,
) -> Result<(), ImportError> {
    let trajectory: Trajectory<'a> = wire::typed(text)?;
    if trajectory.schema_version.is_none() {
        return Err(ImportError::new("it has no `schema_version`").hint("a trajectory has one such as \"ATIF-v1.6\""));
    }
    let Some(steps) = &trajectory.steps else { return Err(ImportError::new("it has no `steps`")) };
    let mut builder = Builder::new(options);
    for (at, step) in steps.iter().enumerate().filter(|(_, step)| step.is_copied_context != Some(true)) {
        let place = Place::Element("steps", at);
        for message in step.read().map_err(|error| error.at(place))? {
            builder.add(message, &place)?;
        }
    }
    let name = trajectory.agent.as_ref().and_then(|agent| agent.name.as_deref());
    let own = trajectory.own_id.as_deref().or(trajectory.session_id.as_deref());
    let id = match (parent, own.or(name)) {
        (Some(parent), Some(own)) => Some(format!("{parent}/{own}")),
        (parent, own) => own.or(parent).map(str::to_owned),
    };
    let model = trajectory.agent.as_ref().and_then(|agent| agent.model_name.as_deref()).map(str::to_owned);
    let trace = builder.finish(model, None);
    out.push(Imported { id: id.clone(), group: None, seal: None, fields: text.into(), trace });
    for (at, inner) in trajectory.subagent_trajectories.iter().enumerate() {
        add(inner.get(), id.as_deref(), options, out)
            .map_err(|error| error.at(format_args!("subagent_trajectories[{at}]")))?;
    }
    Ok(())
}

impl Step<'_> {
    /// What a step says, and what was observed after it.
    fn read(&self) -> Result<Vec<Message>, ImportError> {
        let calls: &[StepCall<'_>] = self.tool_calls.as_ref().map_or(&[], |calls| calls);
        let role = match self.source.as_deref() {
            Some("agent") => Role::Assistant,
            Some("user") => Role::User,
            Some("system") if calls.is_empty() => return Ok(Vec::new()),
            Some("system") => return Err(ImportError::new("it is a step of the system and has calls")),
            other => return Err(ImportError::must_be("source", "system, user or agent", other)),
        };
        let mut message = Message::with_parts(role, self.said()?);
        for (at, call) in calls.iter().enumerate() {
            let place = At::new("tool_calls", at);
            let name = call
                .function_name
                .as_deref()
                .ok_or_else(|| ImportError::new(format!("tool_calls[{at}] is a call and has no `function_name`")))?;
            let args = wire::optional(call.arguments, wire::arguments, format_args!("tool_calls[{at}].arguments"))?;
            let id = call.tool_call_id.as_deref().filter(|id| !id.is_empty()).map(str::to_owned);
            message.parts.push(Part::Call(Call { id, name: name.to_owned(), args, at: place, ..Call::default() }));
        }
        if role == Role::Assistant {
            let usage = USAGE.read(self.metrics, "metrics")?;
            message.spent = Spent::reported(usage.map(Usage::with_cache_in_input));
            message.model = self.model_name.as_deref().map(str::to_owned);
        }
        let answers = self.answers(calls)?;
        let answers = (!answers.is_empty()).then(|| Message::with_parts(Role::Tool, answers));
        Ok([message].into_iter().chain(answers).collect())
    }

    fn said(&self) -> Result<Vec<Part>, ImportError> {
        Ok(match wire::optional(self.message, wire::value, "message")? {
            Some(Value::String(text)) if !text.is_empty() => vec![Part::Text(text.into())],
            Some(Value::Array(parts)) => {
                let text = |part: &Value| part.get("text").and_then(Value::as_str).map(str::to_owned);
                parts.iter().map(|part| text(part).map_or(Part::Other, |text| Part::Text(text.into()))).collect()
            }
            _ => Vec::new(),
        })
    }

    /// The answers to the calls of the step. What was observed without a call, such as the state of a sandbox, is none.
    fn answers(&self, calls: &[StepCall<'_>]) -> Result<Vec<Part>, ImportError> {
        let results = self.observation.as_ref().map_or(&[][..], |observation| &observation.results);
        let only = match (calls, results) {
            ([call], [_]) => call.tool_call_id.as_deref(),
            _ => None,
        };
        let mut out = Vec::new();
        for (at, result) in results.iter().enumerate() {
            let place = format!("observation.results[{at}]");
            let named = result.source_call_id.as_deref().filter(|id| !id.is_empty());
            let Some(id) = named.or(only).filter(|_| !calls.is_empty()) else { continue };
            let value = wire::optional(result.content, wire::value, format_args!("{place}.content"))?;
            let result = match value.unwrap_or(Value::Null) {
                Value::Array(list) => results::of_list(list, result.is_error),
                value => results::of_value(value, result.is_error),
            };
            out.push(Part::Answer(Answer { id: Some(id.to_owned()), function: None, result, at: At::default() }));
        }
        Ok(out)
    }
}
