//! Messages that are flattened into attributes, one attribute per field: `llm.output_messages.0.message.role` in
//! `OpenInference`, `gen_ai.completion.0.role` in Traceloop.

use std::collections::BTreeMap;

use super::super::message::{Answer, Call, Message, Part, stop_reason};
use super::super::{ImportError, results, wire};
use super::attributes::{Attribute, Attributes};
use super::messages::{calls_in_text, role};
use crate::trace::{LazyText, Role};

/// Whether a word between fields adds nothing to them.
fn is_filler(word: &str) -> bool {
    matches!(word, "message" | "tool_call" | "function" | "message_content")
}

#[derive(Default)]
struct Flat<'s> {
    role: Option<&'s str>,
    content: Option<&'s Attribute<'s>>,
    tool_call_id: Option<&'s str>,
    finish: Option<&'s str>,
    texts: BTreeMap<u32, &'s Attribute<'s>>,
    parts: BTreeMap<u32, Piece<'s>>,
    calls: BTreeMap<u32, Piece<'s>>,
}

#[derive(Default)]
struct Piece<'s> {
    kind: Option<&'s str>,
    text: Option<&'s Attribute<'s>>,
    id: Option<&'s str>,
    name: Option<&'s str>,
    arguments: Option<&'s str>,
}

/// A message that can be read.
pub(super) struct Flattened<'s>(Inner<'s>);

enum Inner<'s> {
    Read(Option<Message>),
    /// One without anything that could be wrong. Most are history, and not needed.
    Sound(Flat<'s>),
}

impl Flattened<'_> {
    /// The message; `None` for a system prompt.
    pub(super) fn read(self, default: Role) -> Result<Option<Message>, ImportError> {
        match self.0 {
            Inner::Read(message) => Ok(message),
            Inner::Sound(flat) => build(flat, default),
        }
    }
}

/// The messages below a prefix; none when there is no such attribute.
pub(super) fn messages<'s>(
    attributes: &'s Attributes<'_>,
    prefix: &'static str,
    default: Role,
) -> Result<Option<Vec<Flattened<'s>>>, ImportError> {
    let mut flat: BTreeMap<u32, Flat<'s>> = BTreeMap::new();
    for (rest, found) in attributes.below(prefix) {
        let Some(found) = found.map_err(|error| error.at(format_args!("{prefix}{rest}")))? else { continue };
        let mut words = rest.split('.').filter(|word| !is_filler(word));
        let Some(place) = words.next().and_then(|word| word.parse().ok()) else { continue };
        let message = flat.entry(place).or_default();
        // No field has four words, so more of them make no difference.
        let mut path = [""; 4];
        let count = path.iter_mut().zip(words).map(|(place, word)| *place = word).count();
        put(message, &path[..count], found);
    }
    if flat.is_empty() {
        return Ok(None);
    }
    let built = flat.into_iter().map(|(place, flat)| {
        if flat.is_sound() {
            return Ok(Flattened(Inner::Sound(flat)));
        }
        let read = build(flat, default).map_err(|error| error.at(format_args!("{prefix}{place}")))?;
        Ok(Flattened(Inner::Read(read)))
    });
    built.collect::<Result<Vec<_>, _>>().map(Some)
}

impl Flat<'_> {
    /// Whether it has neither calls nor a role that is not known.
    fn is_sound(&self) -> bool {
        let is_text = |piece: &Piece<'_>| piece.kind.is_none_or(|kind| kind == "text") && piece.text.is_some();
        self.role.is_none_or(|word| role(word).is_ok()) && self.calls.is_empty() && self.parts.values().all(is_text)
    }
}

fn put<'s>(message: &mut Flat<'s>, words: &[&str], found: &'s Attribute<'s>) {
    // Texts of history are not needed, so they are not decoded.
    let text = || Some(found.document());
    let number = |word: &str| word.parse::<u32>().ok();
    match words {
        ["role"] => message.role = text(),
        ["content"] => message.content = Some(found),
        ["tool_call_id"] => message.tool_call_id = text(),
        ["finish_reason"] => message.finish = text(),
        ["function_call_name"] => message.calls.entry(0).or_default().name = text(),
        ["function_call_arguments_json"] => message.calls.entry(0).or_default().arguments = text(),
        ["content", place] => {
            if let Some(place) = number(place) {
                message.texts.insert(place, found);
            }
        }
        [list @ ("contents" | "tool_calls"), place, field @ ..] => {
            let Some(place) = number(place) else { return };
            let parts = if *list == "contents" { &mut message.parts } else { &mut message.calls };
            let part = parts.entry(place).or_default();
            match field {
                ["type"] => part.kind = text(),
                ["text"] => part.text = Some(found),
                ["id"] => part.id = text(),
                ["name"] => part.name = text(),
                ["arguments" | "input"] => part.arguments = text(),
                _ => {}
            }
        }
        _ => {}
    }
}

/// The message; `None` for a system prompt.
fn build(flat: Flat<'_>, default: Role) -> Result<Option<Message>, ImportError> {
    let role = flat.role.map_or(Ok(Some(default)), role)?;
    let mut out = Message::new(role.unwrap_or(Role::User));
    out.stop = flat.finish.and_then(stop_reason);
    let has_id = flat.tool_call_id.is_some();
    let calls = flat.content.and_then(|found| match found {
        Attribute::Text(text, _) => calls_in_text(text, role, has_id, flat.finish),
        Attribute::Json(text) => calls_in_text(&(&**text).into(), role, has_id, flat.finish),
    });
    if let Some(calls) = calls {
        return Ok(Some(Message { role: Role::Assistant, parts: calls, ..out }));
    }
    // Some recorders write the text of the parts a second time as the content.
    let parts = LazyText::joined(flat.parts.values().filter_map(|piece| piece.text.map(Attribute::lazy)));
    let content = flat.content.map(Attribute::lazy).filter(|text| !text.is_empty() && Some(text) != parts.as_ref());
    out.parts.extend(content.into_iter().chain(flat.texts.into_values().map(Attribute::lazy)).map(Part::Text));
    let is_listed = !flat.calls.is_empty();
    for (place, piece) in flat.parts {
        let kind = piece.kind.unwrap_or("text");
        let is_call = ["tool", "call", "function"].iter().any(|word| kind.contains(word));
        match piece {
            Piece { text: Some(text), .. } if kind == "text" => out.parts.push(Part::Text(text.lazy())),
            // A call that is also in the list of calls is read there.
            _ if !is_call || is_listed => {}
            piece if piece.name.is_some() => out.parts.push(Part::Call(piece.call()?)),
            _ => return Err(ImportError::new(format!("contents.{place} is a {kind} without a name"))),
        }
    }
    for (place, piece) in flat.calls {
        let call = piece.call().map_err(|error| error.at(format_args!("tool_calls.{place}")))?;
        out.parts.push(Part::Call(call));
    }
    if flat.role == Some("tool-response") {
        // It has the answers of all calls of a reply as one text; the spans of the calls have each.
        out.parts.clear();
    } else if role == Some(Role::Tool) {
        let result = results::of_text(out.text().unwrap_or_default(), None);
        out.parts.retain(|part| !matches!(part, Part::Text(_)));
        out.parts.push(Part::Answer(Answer { id: flat.tool_call_id.map(str::to_owned), result, ..Answer::default() }));
    }
    Ok(role.map(|_| out))
}

impl Piece<'_> {
    fn call(self) -> Result<Call, ImportError> {
        let name = self.name.ok_or_else(|| ImportError::new("it is a call without a name"))?;
        let args = self.arguments.map(wire::arguments_in_text);
        Ok(Call { id: self.id.map(str::to_owned), name: name.to_owned(), args, ..Call::default() })
    }
}
