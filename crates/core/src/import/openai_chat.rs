//! Conversations of the Chat Completions interface of `OpenAI` and of the many that copy it.
//!
//! A record is a list of messages, or an object that has one: a training example, a logged request, or a logged request
//! with its reply in `choices` or `response`. Arguments stand as JSON text, and as a value where an imitator writes
//! one. Ids may be missing, empty or used again. Whether a call failed is not told. The count of tokens beside a reply is
//! for that reply alone: earlier replies of the same conversation had a price too, which then is unknown.

pub(super) mod messages;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::listed::Listed;
use super::look::Look;
use super::stray::{self, Stray};
use super::tellings::{self, Also};
use super::wire::{self, Name, Text};
use super::{ImportError, Imported, Options, Record, Unit};
use crate::trace::StopReason;
use messages::{At, Message, PARTS, Talk, Usage};

const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];

/// Keys that messages or records of other formats have beside `role` or `messages`.
const OTHERS_MESSAGE: [&str; 4] = ["type", "parts", "turn_idx", "requestor"];
const OTHERS_RECORD: [&str; 6] = ["system", "epoch", "termination_reason", "reward_info", "traj", "stop_reason"];

pub(super) fn sniff(look: &Look<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let found = |unit, why: &'static str| Some((unit, Cow::Borrowed(why)));
    if are_messages(look) {
        return found(Unit::Record, "its elements have `role` and `content`");
    }
    if is_message(look) {
        return found(Unit::Message, "it has `role` and `content`");
    }
    if OTHERS_RECORD.iter().any(|key| look.get(key).is_some()) {
        return None;
    }
    if look.inside("messages").is_some_and(|list| are_messages(&list)) {
        return found(Unit::Record, "it has `messages` with `role` and `content`");
    }
    if look.text("object").as_deref() == Some("chat.completion") {
        return found(Unit::Record, "its `object` is `chat.completion`");
    }
    let asked = look.inside("request").and_then(|request| request.inside("messages"));
    let answered = look.inside("response").is_some_and(|response| response.has(&["choices"]));
    if answered && asked.is_some_and(|list| are_messages(&list)) {
        return found(Unit::Record, "it has `request.messages` and `response.choices`");
    }
    None
}

fn are_messages(look: &Look<'_>) -> bool {
    let Look::List(items) = look else { return false };
    !items.is_empty() && items.iter().all(|item| Look::at(item.get()).is_some_and(|message| is_message(&message)))
}

fn is_message(look: &Look<'_>) -> bool {
    let Look::Object(map) = look else { return false };
    look.text("role").is_some_and(|role| ROLES.contains(&&*role))
        && ["content", "tool_calls", "function_call", "refusal"].iter().any(|key| map.contains_key(*key))
        && !OTHERS_MESSAGE.iter().any(|key| look.get(key).is_some())
        && look.inside("content").is_none_or(|content| match &content {
            Look::List(_) => PARTS.fit(&content),
            Look::Object(_) => false,
            Look::Other => true,
        })
        && look.inside("tool_calls").is_none_or(|calls| {
            calls
                .elements()
                .iter()
                .all(|call| ["function", "custom"].iter().any(|key| matches!(call.inside(key), Some(Look::Object(_)))))
        })
}

/// Keys of a record that are read, and keys beside a conversation that tell of calls which nobody made: what there was to call,
/// and what should have been called.
const READ: [&str; 17] = [
    "id",
    "model",
    "messages",
    "request",
    "choices",
    "usage",
    "response",
    "tool_calls",
    "toolCalls",
    "steps",
    "input",
    "inputs",
    "output",
    "outputs",
    "completion",
    "conversation",
    "history",
];
const NOT_MADE: [&str; 17] = [
    "tools",
    "functions",
    "metadata",
    "expected",
    "expected_output",
    "expected_tool_calls",
    "reference",
    "reference_output",
    "reference_outputs",
    "ground_truth",
    "gold",
    "golden",
    "target",
    "ideal",
    "label",
    "labels",
    "rubric",
];

/// A record that is an object.
#[derive(Deserialize)]
struct Logged<'a> {
    id: Option<Name>,
    #[serde(borrow)]
    model: Option<Text<'a>>,
    messages: Option<Listed<Message<'a>>>,
    request: Option<Request<'a>>,
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<Usage>,
    response: Option<Completion<'a>>,
    #[serde(default)]
    tool_calls: Stray,
    #[serde(default, rename = "toolCalls")]
    camel_calls: Stray,
    #[serde(default)]
    steps: Stray,
    // Where a record may tell the conversation once more.
    input: Option<&'a RawValue>,
    inputs: Option<&'a RawValue>,
    output: Option<&'a RawValue>,
    outputs: Option<&'a RawValue>,
    completion: Option<&'a RawValue>,
    conversation: Option<&'a RawValue>,
    history: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    model: Option<Text<'a>>,
    messages: Option<Listed<Message<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "a completion with `choices`")]
struct Completion<'a> {
    id: Option<Name>,
    #[serde(borrow)]
    model: Option<Text<'a>>,
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Option<Message<'a>>,
    finish_reason: Option<Text<'a>>,
}

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    let mut talk = Talk::new(options, |_, _| None);
    let (id, model, stop) = if record.text.trim_start().starts_with('[') {
        let messages: Listed<Message<'a>> = wire::typed(record.text)?;
        not_empty(&messages)?;
        add_all(&mut talk, &messages, true)?;
        (None, None, None)
    } else {
        logged(&mut talk, wire::typed(record.text)?, record.text)?
    };
    let stop = if talk.refused { Some(StopReason::Refused) } else { stop };
    let trace = talk.builder.finish(model, stop, None);
    Ok(vec![Imported { id, group: None, fields: record.text.into(), trace }])
}

/// Name, model and end of a record that is an object.
type Known = (Option<String>, Option<String>, Option<StopReason>);

fn logged<'a>(talk: &mut Talk<'_>, mut record: Logged<'a>, text: &'a str) -> Result<Known, ImportError> {
    let strays = [("tool_calls", record.tool_calls), ("toolCalls", record.camel_calls), ("steps", record.steps)];
    stray::refuse(&"record", &strays)?;
    check_beside(text)?;
    let longer = record.longer(text)?;
    let sent = record.request.as_ref().and_then(|request| request.messages.as_ref()).map(|messages| messages.len());
    if let Some((key, list)) = longer {
        record.messages = Some(wire::typed(list.get()).map_err(|error| error.at(key))?);
    }
    let Logged { id, model, messages, request, choices, usage, response, .. } = record;
    let (asked_model, asked) = request.map_or((None, None), |request| (request.model, request.messages));
    let Some(messages) = messages.or(asked) else {
        return Err(ImportError::new("it has no `messages`")
            .hint("a reply alone is no trace: put the messages that were sent beside it as `messages`"));
    };
    not_empty(&messages)?;
    let reply = match (choices, response) {
        (Some(_), Some(_)) => {
            return Err(ImportError::new("it has both `choices` and `response`").hint("keep the one that is the reply"));
        }
        (Some(choices), None) => Some(("", None, None, choices, usage)),
        (None, Some(response)) => {
            let choices = response.choices.ok_or_else(|| {
                ImportError::new("response has no `choices`").hint("a reply holds its message in `choices[0].message`")
            })?;
            Some(("response.", response.id, response.model, choices, response.usage.or(usage)))
        }
        (None, None) => None,
    };
    let text_of = |model: Option<Text<'_>>| model.map(|model| model.0.into_owned());
    let Some((prefix, reply_id, reply_model, choices, usage)) = reply else {
        add_all(talk, &messages, usage.is_none())?;
        if let Some(usage) = usage {
            talk.builder.spend(Some(usage.tokens()));
        }
        return Ok((id.map(|id| id.0), text_of(model.or(asked_model)), None));
    };
    let [Choice { message: Some(message), finish_reason }] = &choices[..] else {
        let found = if choices.len() == 1 { "one without".to_owned() } else { choices.len().to_string() };
        return Err(ImportError::new(format!("{prefix}choices must be one reply with a `message`, found {found}"))
            .hint("which of several replies the agent went on with is not told; keep that one"));
    };
    // Some loggers append the reply to the messages they sent, and then all that came after it.
    if sent.is_some_and(|sent| sent + 1 < messages.len() && messages[sent].same(message)) {
        add_all(talk, &messages, true)?;
        return Ok((id.or(reply_id).map(|id| id.0), text_of(reply_model.or(model).or(asked_model)), None));
    }
    let repeated = messages.last().is_some_and(|last| last.same(message));
    add_all(talk, &messages[..messages.len() - usize::from(repeated)], true)?;
    talk.add(message, &format_args!("{prefix}choices[0].message"))?;
    talk.builder.spend(usage.map(Usage::tokens).or_else(|| message.tokens()));
    let stop = finish_reason.as_deref().filter(|_| !message.makes_calls()).and_then(stop);
    Ok((id.or(reply_id).map(|id| id.0), text_of(reply_model.or(model).or(asked_model)), stop))
}

/// Refuses a record with calls under a key that is not read.
fn check_beside(text: &str) -> Result<(), ImportError> {
    if !stray::is_hinted(text) {
        return Ok(());
    }
    let Some(Look::Object(keys)) = Look::at(text) else { return Ok(()) };
    let beside = keys.iter().filter(|(key, _)| !READ.contains(&&***key) && !NOT_MADE.contains(&&***key));
    for (key, value) in beside {
        stray::refuse(&"record", &[(key, Stray::below(key, value.get()))])?;
    }
    Ok(())
}

impl<'a> Logged<'a> {
    /// The list that holds the conversation and more, where the record tells it more than once.
    fn longer(&self, text: &'a str) -> Result<Option<tellings::Place<'a>>, ImportError> {
        let asked_too =
            self.messages.is_some() && self.request.as_ref().is_some_and(|request| request.messages.is_some());
        let beside =
            [self.input, self.inputs, self.output, self.outputs, self.completion, self.conversation, self.history];
        if !asked_too && beside.iter().all(Option::is_none) {
            return Ok(None);
        }
        let look = Look::at(text);
        let asked = look.as_ref().and_then(|look| look.inside("request")?.get("messages"));
        let own = look.as_ref().and_then(|look| look.get("messages"));
        let (key, own, asked) = match (own, asked) {
            (Some(own), asked) => ("messages", own, asked),
            (None, Some(asked)) => ("request.messages", asked, None),
            (None, None) => return Ok(None),
        };
        let beside = [
            Also::whole("request.messages", asked),
            Also::whole("input", self.input),
            Also::whole("inputs", self.inputs),
            Also::whole("conversation", self.conversation),
            Also::whole("history", self.history),
            Also::reply("output", self.output),
            Also::reply("outputs", self.outputs),
            Also::reply("completion", self.completion),
        ];
        tellings::longest(key, tellings::gists_for(own, &beside)?, &beside)
    }
}

fn not_empty(messages: &[Message<'_>]) -> Result<(), ImportError> {
    if messages.is_empty() {
        return Err(ImportError::new("there are no messages").hint("an empty conversation has nothing to judge"));
    }
    Ok(())
}

/// Adds all messages, and what each reply says it spent where that is wanted.
fn add_all(talk: &mut Talk<'_>, messages: &[Message<'_>], spend: bool) -> Result<(), ImportError> {
    for (at, message) in messages.iter().enumerate() {
        talk.add(message, &At("messages", at))?;
        if spend && message.is_reply() {
            talk.builder.spend(message.tokens());
        }
    }
    Ok(())
}

/// Why a reply that wants no tools ended. One that wants some has not ended the run, and how it went on is not told;
/// imitators call its end `stop` all the same.
fn stop(word: &str) -> Option<StopReason> {
    match word {
        "stop" => Some(StopReason::Completed),
        "length" => Some(StopReason::MaxTokens),
        "content_filter" => Some(StopReason::Refused),
        _ => None,
    }
}
