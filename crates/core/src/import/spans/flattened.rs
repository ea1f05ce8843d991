//! Messages that are flattened into attributes, one attribute per field: `llm.output_messages.0.message.role` in
//! `OpenInference`, `gen_ai.completion.0.role` in Traceloop.

use std::collections::BTreeMap;

use super::super::message::{Answer, Call, Message, Part, stop_reason};
use super::super::{ImportError, results, wire};
use super::attributes::{Attribute, Attributes};
use super::messages::{calls_in_text, role};
use crate::trace::{LazyText, Role};

/// Words between fields that add nothing to them.
const FILLERS: [&str; 4] = ["message", "tool_call", "function", "message_content"];

#[derive(Default)]
struct Flat {
    role: Option<String>,
    content: Option<String>,
    tool_call_id: Option<String>,
    finish: Option<String>,
    texts: BTreeMap<u32, String>,
    parts: BTreeMap<u32, Piece>,
    calls: BTreeMap<u32, Piece>,
}

#[derive(Default)]
struct Piece {
    kind: Option<String>,
    text: Option<String>,
    id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
}

/// The messages below a prefix; none when there is no such attribute.
pub(super) fn messages(
    attributes: &Attributes<'_>,
    prefix: &str,
    default: Role,
) -> Result<Option<Vec<Option<Message>>>, ImportError> {
    let mut flat: BTreeMap<u32, Flat> = BTreeMap::new();
    for (rest, found) in attributes.below(prefix) {
        let Some(text) = found.map_err(|error| error.at(format_args!("{prefix}{rest}")))?.map(Attribute::document)
        else {
            continue;
        };
        let mut words = rest.split('.').filter(|word| !FILLERS.contains(word));
        let Some(place) = words.next().and_then(|word| word.parse().ok()) else { continue };
        let message = flat.entry(place).or_default();
        let words: Vec<&str> = words.collect();
        put(message, &words, text.into_owned());
    }
    if flat.is_empty() {
        return Ok(None);
    }
    let built = flat
        .into_iter()
        .map(|(place, flat)| build(flat, default).map_err(|error| error.at(format_args!("{prefix}{place}"))));
    built.collect::<Result<Vec<_>, _>>().map(Some)
}

fn put(message: &mut Flat, words: &[&str], text: String) {
    let number = |word: &str| word.parse::<u32>().ok();
    match words {
        ["role"] => message.role = Some(text),
        ["content"] => message.content = Some(text),
        ["tool_call_id"] => message.tool_call_id = Some(text),
        ["finish_reason"] => message.finish = Some(text),
        ["function_call_name"] => message.calls.entry(0).or_default().name = Some(text),
        ["function_call_arguments_json"] => message.calls.entry(0).or_default().arguments = Some(text),
        ["content", place] => {
            if let Some(place) = number(place) {
                message.texts.insert(place, text);
            }
        }
        [list @ ("contents" | "tool_calls"), place, field @ ..] => {
            let Some(place) = number(place) else { return };
            let parts = if *list == "contents" { &mut message.parts } else { &mut message.calls };
            let part = parts.entry(place).or_default();
            match field {
                ["type"] => part.kind = Some(text),
                ["text"] => part.text = Some(text),
                ["id"] => part.id = Some(text),
                ["name"] => part.name = Some(text),
                ["arguments" | "input"] => part.arguments = Some(text),
                _ => {}
            }
        }
        _ => {}
    }
}

/// The message; `None` for a system prompt.
fn build(flat: Flat, default: Role) -> Result<Option<Message>, ImportError> {
    let role = flat.role.as_deref().map_or(Ok(Some(default)), role)?;
    let mut out = Message::new(role.unwrap_or(Role::User));
    out.stop = flat.finish.as_deref().and_then(stop_reason);
    let calls = flat
        .content
        .as_deref()
        .and_then(|text| calls_in_text(text, role, flat.tool_call_id.is_some(), flat.finish.as_deref()));
    if let Some(calls) = calls {
        return Ok(Some(Message { role: Role::Assistant, parts: calls, ..out }));
    }
    // Some recorders write the text of the parts a second time as the content.
    let parts = LazyText::joined(flat.parts.values().filter_map(|piece| piece.text.as_deref().map(LazyText::from)));
    let content = flat.content.filter(|text| !text.is_empty() && Some(&**text) != parts.as_deref());
    out.parts.extend(content.into_iter().chain(flat.texts.into_values()).map(|text| Part::Text(text.into())));
    let is_listed = !flat.calls.is_empty();
    for (place, piece) in flat.parts {
        let kind = piece.kind.as_deref().unwrap_or("text");
        let is_call = ["tool", "call", "function"].iter().any(|word| kind.contains(word));
        match piece {
            Piece { text: Some(text), .. } if kind == "text" => out.parts.push(Part::Text(text.into())),
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
    if flat.role.as_deref() == Some("tool-response") {
        // It has the answers of all calls of a reply as one text; the spans of the calls have each.
        out.parts.clear();
    } else if role == Some(Role::Tool) {
        let result = results::of_text(out.text().unwrap_or_default(), None);
        out.parts.retain(|part| !matches!(part, Part::Text(_)));
        out.parts.push(Part::Answer(Answer { id: flat.tool_call_id, result, ..Answer::default() }));
    }
    Ok(role.map(|_| out))
}

impl Piece {
    fn call(self) -> Result<Call, ImportError> {
        let name = self.name.ok_or_else(|| ImportError::new("it is a call without a name"))?;
        let args = self.arguments.map(|text| wire::arguments_in_text(&text));
        Ok(Call { id: self.id, name, args, ..Call::default() })
    }
}
