//! The envelope of this project, with the name and the group that a record may have.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::shape::Shape;
use super::wire::Text;
use super::{ImportError, Imported, Record, Unit, cassette, unread_calls, wire};
use crate::cassette::{Seal, VERSION};
use crate::trace::{Envelope, Trace};

/// Keys under which other formats keep a conversation: next to the keys of an envelope the calls would be there twice.
const OTHERS: [&str; 4] = ["messages", "traj", "values", "simulations"];

/// Keys of which any shows an envelope.
const KEYS: [&str; 3] = ["tool_calls", "tool_results", "conversation"];

/// The key that makes a nested trace a cassette, whose digest shows whether it was edited.
#[derive(Deserialize)]
struct Sealed {
    mcptest: Option<IgnoredAny>,
}

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let key = KEYS.iter().chain(&["final_response"]).find(|key| shape.get(key).is_some())?;
    // A message of a conversation and a step of a run have calls too, and a reply of a provider may name the conversation it
    // belongs to.
    let is_other = ["role", "type", "object", "step_number"].iter().chain(&OTHERS).any(|key| shape.has(&[key]));
    (!is_other).then(|| (Unit::Record, format!("it has `{key}`").into()))
}

pub(super) fn read(record: Record<'_>) -> Result<Vec<Imported<'_>>, ImportError> {
    let mut envelope: Envelope = wire::typed(record.text).map_err(|error| with_hint(error, record.text))?;
    let own = [envelope.tool_calls.is_some(), envelope.tool_results.is_some(), envelope.conversation.is_some()];
    let others = [&envelope.messages, &envelope.traj, &envelope.values, &envelope.simulations];
    let is_other = others.map(Option::is_some).into_iter().chain([envelope.trace.is_some()]);
    let first = |names: &[&'static str], mut there: &mut dyn Iterator<Item = bool>| {
        names.iter().copied().zip(&mut there).find_map(|(name, is_there)| is_there.then_some(name))
    };
    let other = first(&[OTHERS.as_slice(), &["trace"]].concat(), &mut is_other.into_iter());
    if let Some((own, other)) = first(&KEYS, &mut own.into_iter()).zip(other) {
        let message = format!("it describes its run twice: in `{own}`, as envelopes do, and in `{other}`");
        return Err(ImportError::new(message).hint("keep one of them, or name the format to read with --from"));
    }
    if envelope.trace.is_some() && wire::typed::<Sealed>(record.text)?.mcptest.is_some() {
        return cassette::read(record);
    }
    check_calls(&envelope)?;
    let (id, group) = (envelope.id.take(), envelope.group.take());
    let seal = envelope.edited.then_some(Seal { version: VERSION, edited: true });
    let tools = std::mem::take(&mut envelope.read_only_tools);
    let mut trace = envelope.trace()?;
    if trace == Trace::default() {
        let message = "it describes no run: it has none of `tool_calls`, `final_response` and `conversation`";
        return Err(ImportError::new(message));
    }
    let each = |(server, tools): (String, Vec<String>)| tools.into_iter().map(move |tool| (server.clone(), tool));
    trace.read_only = tools.into_iter().flat_map(each).collect();
    Ok(vec![Imported { id, group, seal, fields: record.text.into(), trace }])
}

/// Adds a hint where the calls are those of a message, as steps of `smolagents` have them.
fn with_hint(error: ImportError, text: &str) -> ImportError {
    let calls = Shape::part(text).and_then(|shape| shape.child("tool_calls"));
    let has_function = calls.is_some_and(|calls| calls.elements().iter().any(|call| call.has(&["function"])));
    if !has_function || error.hint.is_some() {
        return error;
    }
    error.hint("a call of an envelope has a `name` and `args`; score messages as a whole list, and runs of smolagents as spans")
}

/// Refuses calls that an envelope does not read: those under keys of other programs, and names without a call.
fn check_calls(envelope: &Envelope) -> Result<(), ImportError> {
    let others = [
        ("toolCalls", &envelope.camel_calls),
        ("toolInvocations", &envelope.invocations),
        ("function_call", &envelope.function_call),
        ("functionCall", &envelope.camel_call),
        ("function_calls", &envelope.function_calls),
        ("tool_uses", &envelope.tool_uses),
        ("intermediate_steps", &envelope.intermediate_steps),
    ];
    for (key, raw) in others {
        if let Some(raw) = raw {
            unread_calls::refuse(&"record", &[(key, wire::part(raw)?)])?;
        }
    }
    let names = envelope.tool_names.as_ref().filter(|names| names.get() != "null");
    let Some((names, calls)) = names.zip(envelope.tool_calls.as_ref()) else { return Ok(()) };
    let names: Vec<Text<'_>> = wire::part(names).map_err(|error| error.at("tool_names"))?;
    let is_same = names.len() == calls.len() && names.iter().zip(calls).all(|(name, call)| **name == *call.name);
    if is_same {
        return Ok(());
    }
    let message = "`tool_names` are not the names in `tool_calls`";
    Err(ImportError::new(message).hint("a call may be missing; correct `tool_calls`, or leave `tool_names` out"))
}

impl Imported<'_> {
    /// The trace as an envelope, with everything else that a record of that format may say.
    pub fn to_envelope(&self) -> Value {
        let mut out = self.trace.to_envelope();
        let Some(map) = out.as_object_mut() else { return out };
        for (key, word) in [("id", &self.id), ("group", &self.group)] {
            if let Some(word) = word {
                map.insert(key.to_owned(), word.as_str().into());
            }
        }
        if self.is_edited() {
            map.insert("edited".to_owned(), true.into());
        }
        let mut tools: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (server, tool) in &self.trace.read_only {
            tools.entry(server).or_default().push(tool);
        }
        if !tools.is_empty() {
            map.insert("read_only_tools".to_owned(), json!(tools));
        }
        out
    }
}
