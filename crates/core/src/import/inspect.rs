//! Logs of Inspect: a document with the samples of an evaluation, or one sample of it.
//!
//! `messages` of a sample is its whole conversation. The events of a sample repeat it in more detail and, in newer logs,
//! with references in place of messages; only the times of tools are taken from them. Long texts may be in `attachments`,
//! with `attachment://` and a name in their place.

mod conversation;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::builder::Builder;
use super::copy_budget::CopyBudget;
use super::duplicates;
use super::message::{Place, Spent, Usage, UsageKeys, stop_reason};
use super::shape::Shape;
use super::wire::{self, Text, Whole, null_as_default};
use super::{ImportError, Imported, Options, Record, Unit};
use crate::json;
use crate::trace::{StopReason, Tokens};
use conversation::{Attachments, Context, SampleMessage};

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let is_list = |key: &str| shape.get(key).is_some_and(|value| value.get().starts_with('['));
    if shape.has(&["eval", "status"]) && is_list("samples") {
        return Some((Unit::Record, "it has `eval` and `samples`".into()));
    }
    let is_sample = shape.has(&["id", "epoch", "input", "target"]) && is_list("messages");
    is_sample.then_some((Unit::Record, Cow::Borrowed("it has `epoch`, `target` and `messages`")))
}

/// A log, or its keys without the samples.
#[derive(Deserialize)]
struct Log<'a> {
    #[serde(borrow)]
    eval: Option<Eval<'a>>,
    samples: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Eval<'a> {
    #[serde(borrow)]
    model: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Sample<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    epoch: Option<Whole>,
    messages: Option<Vec<&'a RawValue>>,
    #[serde(default, deserialize_with = "null_as_default")]
    output: Output<'a>,
    #[serde(default, deserialize_with = "null_as_default")]
    model_usage: BTreeMap<Text<'a>, &'a RawValue>,
    error: Option<&'a RawValue>,
    limit: Option<Limit<'a>>,
    total_time: Option<f64>,
    attachments: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "null_as_default")]
    events: Vec<Event<'a>>,
}

#[derive(Deserialize, Default)]
struct Output<'a> {
    #[serde(borrow)]
    model: Option<Text<'a>>,
    stop_reason: Option<Text<'a>>,
    #[serde(default, deserialize_with = "null_as_default")]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    stop_reason: Option<Text<'a>>,
}

const USAGE: UsageKeys = UsageKeys {
    input: "input_tokens",
    output: "output_tokens",
    total: Some("total_tokens"),
    cached: &["input_tokens_cache_read"],
    written: Some("input_tokens_cache_write"),
};

#[derive(Deserialize)]
struct Limit<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "event")]
    kind: Option<Text<'a>>,
    id: Option<&'a RawValue>,
    working_time: Option<f64>,
}

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    let log: Log<'_> = wire::typed(record.text)?;
    let Some(samples) = log.samples else {
        if log.eval.is_some() {
            return Err(ImportError::new("the log has no samples").hint("a log without samples cannot be evaluated"));
        }
        let header: Option<Log<'_>> = record.header.map(wire::typed).transpose()?;
        let eval = header.and_then(|header| header.eval);
        return Ok(vec![sample(record.text, eval.as_ref(), options)?]);
    };
    let budget = CopyBudget::of(record.text);
    let model = log.eval.as_ref().and_then(|eval| eval.model.as_deref());
    let samples = samples.into_iter().enumerate();
    let read = samples.map(|(place, raw)| {
        budget.take(model.map_or(0, str::len), "eval.model")?;
        sample(raw.get(), log.eval.as_ref(), options).map_err(|error| error.at(format_args!("samples[{place}]")))
    });
    read.collect()
}

fn sample<'a>(text: &'a str, eval: Option<&Eval<'_>>, options: &Options) -> Result<Imported<'a>, ImportError> {
    let sample: Sample<'a> = wire::piece(text)?;
    let messages = sample.messages.ok_or_else(|| {
        ImportError::new("the sample has no `messages`").hint("a log without conversations cannot be evaluated")
    })?;
    let is_kept = !messages.is_empty();
    let attachments = Attachments::of(sample.attachments, text)?;
    let context = Context { attachments, durations: durations(&sample.events) };
    let mut builder = Builder::new(options);
    for (at, raw) in messages.into_iter().enumerate() {
        let place = Place::Element("messages", at);
        let message: SampleMessage<'_> = wire::part(raw).map_err(|error| error.at(place))?;
        if let Some(message) = context.read(&message, place)? {
            builder.add(message, &place)?;
        }
    }

    // The output is the last reply. A limit may stop a sample before its last reply is added to the messages; the calls of that
    // reply were not made.
    let reply = sample.output.choices.first().and_then(|choice| choice.message);
    if is_kept && sample.limit.is_none() && reply.is_some_and(|reply| calls_more(reply, &builder)) {
        return Err(duplicates::differ("messages", "output"));
    }
    for (model, usage) in &sample.model_usage {
        let usage = USAGE.read(Some(usage), format_args!("model_usage.{}", &**model))?;
        builder.spend(Spent::reported(usage.map(tokens)));
    }
    let word = sample.output.choices.into_iter().next().and_then(|choice| choice.stop_reason);
    let word = word.or(sample.output.stop_reason);
    builder.stop = match (sample.error, sample.limit) {
        (Some(_), _) => Some(StopReason::Error),
        (None, Some(limit)) => limited(&limit.kind),
        (None, None) => word.and_then(|word| stop_reason(&word)),
    };
    let model = eval.and_then(|eval| eval.model.clone()).or(sample.output.model).map(Text::into_owned);
    let id = match sample.id.map(wire::value).transpose()? {
        Some(Value::String(id)) => Some(id),
        Some(Value::Number(id)) => Some(json::number_text(&id)),
        Some(other) => {
            return Err(ImportError::new(format!("id must be a text or a number, found {}", json::describe(&other))));
        }
        None => None,
    };
    let id = id.map(|id| sample.epoch.map_or_else(|| id.clone(), |epoch| format!("{id}/{}", epoch.0)));
    let mut trace = builder.finish(model, sample.total_time.and_then(wire::milliseconds));
    // An empty list means that the conversation was not kept.
    trace.conversation.turns = trace.conversation.turns.filter(|_| is_kept);
    Ok(Imported { id, group: None, seal: None, fields: text.into(), trace })
}

/// Whether a reply makes a call that the conversation does not have.
fn calls_more(reply: &RawValue, builder: &Builder<'_>) -> bool {
    let Some(calls) = Shape::part(reply.get()).and_then(|reply| reply.child("tool_calls")) else { return false };
    let known: BTreeSet<Option<&str>> = builder.calls().iter().map(|call| call.id.as_deref()).collect();
    calls.elements().iter().any(|call| !known.contains(&call.text("id").as_deref()))
}

/// Some providers count tokens of the cache apart from the input; the total shows which.
fn tokens(usage: Usage) -> Tokens {
    let sum = |tokens: &Tokens| Some(tokens.input?.saturating_add(tokens.output?));
    let (plain, apart) = (usage.with_cache_in_input(), usage.with_cache_apart());
    let is_apart = usage.total.is_some() && sum(&plain) != usage.total && sum(&apart) == usage.total;
    if is_apart { apart } else { plain }
}

/// How long each call took, by its id; unknown for ids that are reused.
fn durations(events: &[Event<'_>]) -> BTreeMap<String, u64> {
    let mut out: BTreeMap<String, Option<u64>> = BTreeMap::new();
    for event in events.iter().filter(|event| event.kind.as_deref() == Some("tool")) {
        let id = event.id.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
        if let Some(id) = id {
            let time = event.working_time.and_then(wire::milliseconds);
            out.entry(id).and_modify(|known| *known = None).or_insert(time);
        }
    }
    out.into_iter().filter_map(|(id, time)| Some((id, time?))).collect()
}

/// Why a run ended at a limit of the evaluation. A stop by the operator is not a reason.
fn limited(kind: &str) -> Option<StopReason> {
    match kind {
        "message" | "turn" => Some(StopReason::MaxTurns),
        "token" | "context" => Some(StopReason::MaxTokens),
        "time" | "working" | "cost" => Some(StopReason::Error),
        _ => None,
    }
}
