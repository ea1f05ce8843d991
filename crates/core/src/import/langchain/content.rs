//! The content of a message: a text, or a list of texts and blocks.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::import::bounded_list::Element;
use crate::import::message::{Answer, At, Call, Part, Place, Server, id, is_provider_error};
use crate::import::shape::Shape;
use crate::import::wire::{self, Text};
use crate::import::{ImportError, content, results};
use crate::json;

pub(super) type Content<'a> = content::Content<'a, ContentPart<'a>>;

pub(super) enum ContentPart<'a> {
    Text(Text<'a>),
    Block(Box<Block<'a>>),
}

#[derive(Deserialize)]
#[serde(expecting = "a text or a block")]
pub(super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    text: Option<Text<'a>>,
    id: Option<Text<'a>>,
    call_id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    server_name: Option<Text<'a>>,
    args: Option<&'a RawValue>,
    input: Option<&'a RawValue>,
    arguments: Option<&'a RawValue>,
    tool_use_id: Option<Text<'a>>,
    tool_call_id: Option<Text<'a>>,
    content: Option<&'a RawValue>,
    output: Option<&'a RawValue>,
    status: Option<Text<'a>>,
    is_error: Option<bool>,
    /// The block of the provider in a block of type `non_standard`.
    value: Option<&'a RawValue>,
}

impl<'de: 'a, 'a> Deserialize<'de> for ContentPart<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Build;
        impl<'de> Visitor<'de> for Build {
            type Value = ContentPart<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a block")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(ContentPart::Text(text.into()))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(ContentPart::Text(text.to_owned().into()))
            }
            fn visit_some<D: Deserializer<'de>>(self, raw: D) -> Result<Self::Value, D::Error> {
                Text::escaped(raw).map(ContentPart::Text)
            }
            fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
                from.deserialize_any(self)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Block::deserialize(MapAccessDeserializer::new(map)).map(|block| ContentPart::Block(Box::new(block)))
            }
        }
        deserializer.deserialize_newtype_struct(json::TEXT_KEY, Build)
    }
}

impl Element for ContentPart<'_> {
    fn is_incomplete(&self) -> bool {
        matches!(self, ContentPart::Block(block) if block.kind.is_none())
    }
}

/// A part of a content.
pub(super) enum Read {
    Part(Part),
    /// A call that `tool_calls` usually has as well: its id, and the call.
    Repeated(Option<String>, Result<Call, ImportError>),
    /// A piece of such a call.
    Fragment,
}

/// The parts of a content, without empty texts.
pub(super) fn read(content: Option<&RawValue>, place: Place<'_>) -> Result<Vec<Read>, ImportError> {
    let Some(raw) = content else { return Ok(Vec::new()) };
    let text = |text: &Text<'_>| Read::Part(Part::text(Some(text)));
    match wire::part::<Content<'_>>(raw).map_err(|error| error.at(format_args!("{place}.content")))? {
        Content::Text(whole) => Ok(vec![text(&whole)]),
        Content::List(parts) => {
            let mut read = Vec::with_capacity(parts.len());
            for (at, part) in parts.iter().enumerate() {
                read.push(match part {
                    ContentPart::Text(whole) => text(whole),
                    ContentPart::Block(block) => block.read(place, At::new("content", at))?,
                });
            }
            Ok(read)
        }
    }
}

impl Block<'_> {
    fn read(&self, place: Place<'_>, at: At) -> Result<Read, ImportError> {
        let Some(kind) = self.kind.as_deref() else {
            return Err(ImportError::new(format!("{place}{at}.type must be a text, but the key is missing"))
                .hint("a block without a type may hold a call, an answer or the last words of the model"));
        };
        Ok(Read::Part(match kind {
            "text" | "output_text" => Part::text(self.text.as_ref()),
            "tool_use" | "tool_call" | "function_call" => {
                return Ok(Read::Repeated(self.own_id(), self.call(kind, place, at)));
            }
            "tool_call_chunk" | "invalid_tool_call" | "input_json_delta" => return Ok(Read::Fragment),
            "server_tool_use" | "server_tool_call" | "mcp_tool_use" => Part::Call(self.call(kind, place, at)?),
            _ if kind == "server_tool_result" || (kind.ends_with("_tool_result") && self.tool_use_id.is_some()) => {
                Part::Answer(self.answer(at)?)
            }
            _ => {
                let inner = self.value.and_then(|raw| Shape::part(raw.get())?.text("type")).unwrap_or_default();
                let is_call = |kind: &str| kind.contains("tool") || kind.ends_with("_call");
                if is_call(kind) || is_call(&inner) || self.input.is_some() {
                    return Err(ImportError::unknown(format_args!("{place}{at}.type"), kind));
                }
                Part::Other
            }
        }))
    }

    fn call(&self, kind: &str, place: Place<'_>, at: At) -> Result<Call, ImportError> {
        let args = wire::optional(
            self.args.or(self.input).or(self.arguments),
            wire::arguments,
            format_args!("{place}{at}.args"),
        )?;
        let server = match kind {
            "mcp_tool_use" => Server::Known(self.server_name.as_deref().map(str::to_owned)),
            "server_tool_use" | "server_tool_call" => Server::provider(),
            _ => Server::FromName,
        };
        let name = named(self.name.as_ref(), place, at)?;
        Ok(Call { id: self.own_id(), name, server, args, at, ..Call::default() })
    }

    fn own_id(&self) -> Option<String> {
        id(self.call_id.as_deref().or(self.id.as_deref()))
    }

    fn answer(&self, at: At) -> Result<Answer, ImportError> {
        let value = self.output.or(self.content).map(wire::value).transpose()?.unwrap_or(Value::Null);
        let is_error = if is_provider_error(&value) {
            Some(true)
        } else {
            self.is_error.or(self.status.as_deref().map(|status| status == "error"))
        };
        let id = self.tool_use_id.as_deref().or(self.tool_call_id.as_deref()).map(str::to_owned);
        Ok(Answer { id, function: None, result: results::of_value(value, is_error), at })
    }
}

/// The name of a call.
pub(super) fn named(name: Option<&Text<'_>>, place: Place<'_>, at: At) -> Result<String, ImportError> {
    name.map(|name| name.to_string())
        .ok_or_else(|| ImportError::new(format!("{place}{at}.name must be a text, but the key is missing")))
}
