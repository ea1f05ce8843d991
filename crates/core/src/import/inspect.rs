//! Logs of Inspect: a document with the samples of an evaluation, or one sample of it.
//!
//! `messages` of a sample is its whole conversation. The events of a sample tell the same in more detail and, in newer
//! logs, with references in place of messages; only the times of tools are taken from them. Long texts may stand aside, in
//! `attachments`, with `attachment://` and a name in their place.

mod talk;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::builder::Builder;
use super::copies::Copies;
use super::keyed::Keyed;
use super::look::Look;
use super::tellings;
use super::wire::{self, Text, Whole, nothing_for_null};
use super::{ImportError, Imported, Options, Record, Unit};
use crate::json;
use crate::trace::{StopReason, Tokens};
use talk::{Attachments, Message, Talk};

pub(super) fn sniff(look: &Look<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let is_list = |key: &str| look.get(key).is_some_and(|value| value.get().starts_with('['));
    if look.has(&["eval", "status"]) && is_list("samples") {
        return Some((Unit::Record, "it has `eval` and `samples`".into()));
    }
    let is_sample = look.has(&["id", "epoch", "input", "target"]) && is_list("messages");
    is_sample.then_some((Unit::Record, Cow::Borrowed("it has `epoch`, `target` and `messages`")))
}

/// A log, or what stands in it beside its samples.
#[derive(Deserialize)]
struct Log<'a> {
    #[serde(borrow, default)]
    eval: Option<Eval<'a>>,
    #[serde(borrow, default)]
    samples: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Eval<'a> {
    #[serde(borrow, default)]
    model: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Sample<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    epoch: Option<Whole>,
    #[serde(borrow, default)]
    messages: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default, deserialize_with = "nothing_for_null")]
    output: Output<'a>,
    #[serde(borrow, default, deserialize_with = "nothing_for_null")]
    model_usage: Keyed<'a, Usage>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    limit: Option<Limit<'a>>,
    #[serde(default)]
    total_time: Option<f64>,
    #[serde(borrow, default)]
    attachments: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "nothing_for_null")]
    events: Vec<Event<'a>>,
}

#[derive(Deserialize, Default)]
struct Output<'a> {
    #[serde(borrow, default)]
    model: Option<Text<'a>>,
    #[serde(borrow, default)]
    stop_reason: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "nothing_for_null")]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    stop_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    input_tokens: Option<Whole>,
    #[serde(default)]
    output_tokens: Option<Whole>,
    #[serde(default)]
    total_tokens: Option<Whole>,
    #[serde(default)]
    input_tokens_cache_read: Option<Whole>,
    #[serde(default)]
    input_tokens_cache_write: Option<Whole>,
}

#[derive(Deserialize)]
struct Limit<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, rename = "event")]
    kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    working_time: Option<f64>,
}

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    let log: Log<'_> = wire::typed(record.text)?;
    let Some(samples) = log.samples else {
        if log.eval.is_some() {
            return Err(ImportError::new("the log has no samples")
                .hint("a log of only its header cannot be judged: read it with its samples"));
        }
        let header: Option<Log<'_>> = record.header.map(wire::typed).transpose()?;
        let eval = header.and_then(|header| header.eval);
        return Ok(vec![sample(record.text, eval.as_ref(), options)?]);
    };
    let copies = Copies::of(record.text);
    let model = log.eval.as_ref().and_then(|eval| eval.model.as_deref());
    let samples = samples.into_iter().enumerate();
    let read = samples.map(|(place, raw)| {
        copies.take(model.map_or(0, str::len), "eval.model")?;
        sample(raw.get(), log.eval.as_ref(), options).map_err(|error| error.at(&format!("samples[{place}]")))
    });
    read.collect()
}

fn sample<'a>(text: &'a str, eval: Option<&Eval<'_>>, options: &Options) -> Result<Imported<'a>, ImportError> {
    let sample: Sample<'a> = wire::typed(text)?;
    let messages = sample.messages.ok_or_else(|| {
        ImportError::new("the sample has no `messages`").hint("a log that keeps no conversations cannot be judged")
    })?;
    let is_kept = !messages.is_empty();
    let attachments = Attachments::of(sample.attachments, text)?;
    let mut talk = Talk { builder: Builder::new(options), attachments, durations: durations(&sample.events) };
    for (place, raw) in messages.into_iter().enumerate() {
        let place = format!("messages[{place}]");
        let message: Message<'_> = wire::typed(raw.get()).map_err(|error| error.at(&place))?;
        talk.message(message, &place)?;
    }

    let mut builder = talk.builder;
    // The output is the last reply. A limit may stop a sample between a reply and its place among the messages; its calls
    // were not made then.
    let reply = sample.output.choices.first().and_then(|choice| choice.message);
    if is_kept && sample.limit.is_none() && reply.is_some_and(|reply| calls_more(reply, &builder)) {
        return Err(tellings::differ("messages", "output"));
    }
    for usage in sample.model_usage.0.values() {
        builder.spend(Some(usage.tokens()));
    }
    let told = sample.output.choices.into_iter().next().and_then(|choice| choice.stop_reason);
    let word = told.or(sample.output.stop_reason);
    let stop_reason = match (sample.error, sample.limit) {
        (Some(_), _) => Some(StopReason::Error),
        (None, Some(limit)) => limited(&limit.kind),
        (None, None) => word.and_then(|word| stopped(&word)),
    };
    let model = eval.and_then(|eval| eval.model.clone()).or(sample.output.model).map(|model| model.0.into_owned());
    let id = match sample.id.map(wire::value).transpose()? {
        Some(Value::String(id)) => Some(id),
        Some(Value::Number(id)) => Some(json::number_text(&id)),
        Some(other) => {
            return Err(ImportError::new(format!("id must be a text or a number, found {}", json::describe(&other))));
        }
        None => None,
    };
    let id = id.map(|id| sample.epoch.map_or_else(|| id.clone(), |epoch| format!("{id}/{}", epoch.0)));
    let mut trace = builder.finish(model, stop_reason, sample.total_time.and_then(milliseconds));
    // A list without messages is how a conversation looks that was not kept.
    trace.conversation.turns = trace.conversation.turns.filter(|_| is_kept);
    Ok(Imported { id, group: None, fields: text.into(), trace })
}

/// Whether a reply makes a call that is none of the conversation's.
fn calls_more(reply: &RawValue, builder: &Builder<'_>) -> bool {
    let Some(calls) = Look::at(reply.get()).and_then(|reply| reply.inside("tool_calls")) else { return false };
    let known: BTreeSet<Option<&str>> = builder.calls().iter().map(|call| call.id.as_deref()).collect();
    calls.elements().iter().any(|call| !known.contains(&call.text("id").as_deref()))
}

impl Usage {
    /// Some providers count what a cache served apart from the input; the total shows which.
    fn tokens(&self) -> Tokens {
        let count = |whole: Option<Whole>| whole.map(|whole| whole.0);
        let (input, output, total) = (count(self.input_tokens), count(self.output_tokens), count(self.total_tokens));
        let cached = count(self.input_tokens_cache_read);
        let aside = cached.unwrap_or(0).saturating_add(count(self.input_tokens_cache_write).unwrap_or(0));
        let whole = |input: u64| output.map(|output| input.saturating_add(output));
        let input = input.map(|input| {
            let with_aside = input.saturating_add(aside);
            let is_apart = total.is_some() && whole(input) != total && whole(with_aside) == total;
            if is_apart { with_aside } else { input }
        });
        Tokens { input, output, cached, total }
    }
}

/// How long each call took, by its id; ids that are used again tell nothing.
fn durations(events: &[Event<'_>]) -> BTreeMap<String, u64> {
    let mut out: BTreeMap<String, Option<u64>> = BTreeMap::new();
    for event in events.iter().filter(|event| event.kind.as_deref() == Some("tool")) {
        let id = event.id.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
        if let Some(id) = id {
            let time = event.working_time.and_then(milliseconds);
            out.entry(id).and_modify(|known| *known = None).or_insert(time);
        }
    }
    out.into_iter().filter_map(|(id, time)| Some((id, time?))).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the range of u64")]
fn milliseconds(seconds: f64) -> Option<u64> {
    let time = (seconds * 1000.0).round();
    (0.0..9_007_199_254_740_992.0).contains(&time).then_some(time as u64)
}

fn stopped(word: &str) -> Option<StopReason> {
    match word {
        "stop" => Some(StopReason::Completed),
        "max_tokens" | "model_length" => Some(StopReason::MaxTokens),
        "content_filter" => Some(StopReason::Refused),
        _ => None,
    }
}

/// What a limit of the evaluation means for the run that met it. An operator's word to stop tells nothing.
fn limited(kind: &str) -> Option<StopReason> {
    match kind {
        "message" | "turn" => Some(StopReason::MaxTurns),
        "token" | "context" => Some(StopReason::MaxTokens),
        "time" | "working" | "cost" => Some(StopReason::Error),
        _ => None,
    }
}
