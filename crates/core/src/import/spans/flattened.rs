//! Messages that lie flattened in attributes, one attribute per field: `llm.output_messages.0.message.role` in
//! `OpenInference`, `gen_ai.completion.0.role` in Traceloop.

use std::collections::BTreeMap;

use super::super::{ImportError, results, wire};
use super::attributes::{Attribute, Attributes};
use super::messages::{Answer, Mention, Message, Speaker, speaker};

/// Words between fields that add nothing to them.
const FILLERS: [&str; 4] = ["message", "tool_call", "function", "message_content"];

#[derive(Default)]
struct Flat {
    role: Option<String>,
    content: Option<String>,
    tool_call_id: Option<String>,
    finish: Option<String>,
    texts: BTreeMap<u32, String>,
    /// Parts by place, each with the name of its type.
    parts: BTreeMap<u32, Part>,
    calls: BTreeMap<u32, Part>,
}

#[derive(Default)]
struct Part {
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
    default: Speaker,
) -> Result<Option<Vec<Message>>, ImportError> {
    let mut flat: BTreeMap<u32, Flat> = BTreeMap::new();
    for (rest, found) in attributes.below(prefix) {
        let Some(text) = found.map_err(|error| error.at(&format!("{prefix}{rest}")))?.map(Attribute::document) else {
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
        .map(|(place, flat)| build(flat, default).map_err(|error| error.at(&format!("{prefix}{place}"))));
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

fn build(flat: Flat, default: Speaker) -> Result<Message, ImportError> {
    let mut out = Message::new(flat.role.as_deref().map_or(Ok(default), speaker)?);
    out.finish = flat.finish;
    out.texts.extend(flat.content.filter(|text| !text.is_empty()));
    out.texts.extend(flat.texts.into_values());
    let listed = !flat.calls.is_empty();
    for (place, part) in flat.parts {
        let kind = part.kind.as_deref().unwrap_or("text");
        let is_call = ["tool", "call", "function"].iter().any(|word| kind.contains(word));
        match part {
            Part { text: Some(text), .. } if kind == "text" => out.texts.push(text),
            // Calls that are listed beside the parts are told once.
            _ if !is_call || listed => {}
            part if part.name.is_some() => out.calls.push(mention(part)?),
            _ => return Err(ImportError::new(format!("contents.{place} is a {kind} without a name"))),
        }
    }
    for (place, call) in flat.calls {
        out.calls.push(mention(call).map_err(|error| error.at(&format!("tool_calls.{place}")))?);
    }
    if out.speaker == Speaker::Tool {
        let result = results::of_text(&out.texts.join("\n"), None);
        out.texts.clear();
        out.answers.push(Answer { id: flat.tool_call_id, result });
    }
    Ok(out)
}

fn mention(part: Part) -> Result<Mention, ImportError> {
    let name = part.name.ok_or_else(|| ImportError::new("it is a call without a name"))?;
    Ok(Mention { id: part.id, name, args: part.arguments.map(|text| wire::arguments_in_text(&text)) })
}
