//! Results of tau-bench and tau2, which test an agent with a simulated user.
//!
//! A record of tau-bench is one run, with its conversation in `traj` as messages of Chat Completions. It has no flag for a call
//! that failed, but its harness answers such a call with a fixed text. Runs that broke keep only the error, and agents that
//! act through plain text record no calls.
//!
//! tau2 writes one document with all runs in `simulations`, or one file for each. There the simulated user calls tools too,
//! marked with `requestor`; those calls and their answers are left out.

mod tau2;

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::bounded_list::BoundedList;
use super::builder::Builder;
use super::copy_budget::CopyBudget;
use super::duplicates;
use super::message::Place;
use super::openai_chat::{self, messages::ChatMessage};
use super::shape::Shape;
use super::wire::{self, Name, Text};
use super::{ImportError, Imported, Options, Record, Unit};
use crate::trace::{Conversation, LazyText, StopReason, Trace};

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let found = |why: &'static str| Some((Unit::Record, Cow::Borrowed(why)));
    let is_list = |key: &str| matches!(shape.child(key), Some(Shape::List(_)));
    if shape.has(&["task_id"]) && is_list("traj") {
        return found("it has `task_id` and `traj`");
    }
    if is_list("simulations") && (shape.has(&["info"]) || shape.has(&["tasks"])) {
        return found("it has `simulations`");
    }
    if shape.has(&["task_id", "termination_reason"]) && (is_list("messages") || is_list("ticks")) {
        return found("it has `task_id`, `termination_reason` and `messages`");
    }
    None
}

/// A run of either program, or a document with runs of tau2.
#[derive(Deserialize)]
struct Run<'a> {
    id: Option<Name>,
    task_id: Option<Name>,
    trial: Option<Name>,
    info: Option<Info<'a>>,
    #[serde(borrow)]
    traj: Option<BoundedList<ChatMessage<'a>>>,
    messages: Option<BoundedList<tau2::TauMessage<'a>>>,
    ticks: Option<IgnoredAny>,
    termination_reason: Option<Text<'a>>,
    duration: Option<f64>,
    simulations: Option<Vec<&'a RawValue>>,
    simulation_index: Option<Vec<IgnoredAny>>,
}

/// Information about a run, or about all of them.
#[derive(Deserialize)]
struct Info<'a> {
    /// Why a run of tau-bench broke.
    error: Option<IgnoredAny>,
    #[serde(borrow)]
    agent_info: Option<AgentInfo<'a>>,
}

#[derive(Deserialize)]
struct AgentInfo<'a> {
    #[serde(borrow)]
    llm: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Header<'a> {
    #[serde(borrow)]
    info: Option<Info<'a>>,
}

impl Info<'_> {
    fn model(&self) -> Option<&str> {
        self.agent_info.as_ref()?.llm.as_deref()
    }
}

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    let run: Run<'a> = wire::typed(record.text)?;
    let Some(simulations) = &run.simulations else {
        let header: Option<Header<'_>> = record.header.map(wire::typed).transpose()?;
        let model = header.as_ref().and_then(|header| header.info.as_ref()?.model());
        return Ok(vec![run.imported(record.text, model, options)?]);
    };
    if simulations.is_empty() && run.simulation_index.is_some_and(|index| !index.is_empty()) {
        return Err(ImportError::new(
            "`simulations` is empty, and `simulation_index` names runs in files of their own",
        )
        .hint("read the files in the folder `simulations` next to this file"));
    }
    for (key, is_present) in [("traj", run.traj.is_some()), ("messages", run.messages.is_some())] {
        if is_present {
            return Err(duplicates::differ("simulations", key));
        }
    }
    let model = run.info.as_ref().and_then(Info::model);
    let budget = CopyBudget::of(record.text);
    let mut out = Vec::new();
    for (at, raw) in simulations.iter().enumerate() {
        budget.take(model.map_or(0, str::len), "info.agent_info.llm")?;
        let text = raw.get();
        let read = wire::piece::<Run<'a>>(text).and_then(|run| run.imported(text, model, options));
        out.push(read.map_err(|error| {
            let place = error.place.map(|offset| offset + (text.as_ptr().addr() - record.text.as_ptr().addr()));
            ImportError { place, ..error.at(format!("simulations[{at}]")) }
        })?);
    }
    Ok(out)
}

impl<'a> Run<'a> {
    fn imported(self, text: &'a str, model: Option<&str>, options: &Options) -> Result<Imported<'a>, ImportError> {
        let name = match (self.id, self.task_id, self.trial) {
            (Some(id), ..) => Some(id.0),
            (None, Some(task), Some(trial)) => Some(format!("{}/{}", task.0, trial.0)),
            (None, task, _) => task.map(|task| task.0),
        };
        let counts = [self.traj.as_ref().map(|traj| traj.len()), self.messages.as_ref().map(|messages| messages.len())];
        if counts.iter().all(|count| count.is_some_and(|count| count > 0)) {
            return Err(duplicates::differ("traj", "messages"));
        }
        let model = model.map(str::to_owned);
        let duration = self.duration.and_then(wire::milliseconds);
        let trace = match (&self.traj, &self.messages) {
            (Some(traj), _) => {
                let broke = self.info.is_some_and(|info| info.error.is_some());
                if traj.is_empty() {
                    nothing(model, broke.then_some(StopReason::Error), None)
                } else {
                    bench(traj, broke, options)?
                }
            }
            (None, Some(messages)) => {
                let stop = self.termination_reason.as_deref().and_then(tau2::stop);
                if messages.is_empty() {
                    nothing(model, stop, duration)
                } else {
                    let mut builder = tau2::conversation(messages, options)?;
                    builder.stop = stop;
                    builder.finish(model, duration)
                }
            }
            (None, None) if self.ticks.is_some() => {
                return Err(ImportError::new("it has `ticks` in place of `messages`")
                    .hint("voice conversations, in which both sides speak at once, cannot be evaluated"));
            }
            (None, None) => {
                return Err(ImportError::new("it has neither `traj` nor `messages`")
                    .hint("a run of tau-bench has `traj`, one of tau2 `messages`, a document of tau2 `simulations`"));
            }
        };
        Ok(Imported { id: name, group: None, seal: None, fields: text.into(), trace })
    }
}

/// A run that broke before anything was recorded: what it did is unknown.
fn nothing(model: Option<String>, stop_reason: Option<StopReason>, duration_ms: Option<u64>) -> Trace {
    Trace {
        conversation: Conversation { duration_ms, model, stop_reason, ..Conversation::default() },
        ..Trace::default()
    }
}

fn bench(traj: &[ChatMessage<'_>], broke: bool, options: &Options) -> Result<Trace, ImportError> {
    let mut builder = Builder::new(options);
    for (at, message) in traj.iter().enumerate() {
        if message.plain_user_text().is_some_and(|text| text.starts_with("API output: ")) {
            return Err(ImportError::new(format!("traj[{at}].content answers a call in plain text")).hint(
                "the agents `react` and `act` of tau-bench record no calls that could be evaluated; `tool-calling` does",
            ));
        }
        openai_chat::add(&mut builder, message, has_failed, &Place::Element("traj", at))?;
    }
    let is_over = traj.last().and_then(ChatMessage::plain_user_text).is_some_and(|text| text.contains("###STOP###"));
    builder.stop = match (broke, is_over) {
        (true, _) => Some(StopReason::Error),
        (false, true) => Some(StopReason::Completed),
        // A tool or the limit of steps may also have ended the run: the record is the same.
        (false, false) => None,
    };
    Ok(builder.finish(None, None))
}

/// The harness answers by itself when a tool raises an error or does not exist.
#[expect(clippy::unnecessary_wraps, reason = "other formats do not know")]
fn has_failed(name: Option<&str>, text: &LazyText) -> Option<bool> {
    let is_unknown = text.strip_prefix("Unknown action ").is_some_and(|rest| name == Some(rest));
    Some(is_unknown || text.starts_with("Error: "))
}
