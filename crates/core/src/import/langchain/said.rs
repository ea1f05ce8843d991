//! The content of a message: a text, or a list of texts and blocks.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::import::ImportError;
use crate::import::content::{Content, Place, joined};
use crate::import::listed::Element;
use crate::import::look::Look;
use crate::import::wire::{self, Text};

/// A part of a content: a text by itself, or a block.
pub(super) enum Part<'a> {
    Text(Text<'a>),
    Block(Box<Block<'a>>),
}

#[derive(Deserialize)]
#[serde(expecting = "a text or a block")]
pub(super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) call_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) server_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) args: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_use_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) tool_call_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) status: Option<Text<'a>>,
    pub(super) is_error: Option<bool>,
    /// What a block of type `non_standard` is in the words of its provider.
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Part<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Build;
        impl<'de> Visitor<'de> for Build {
            type Value = Part<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a block")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Part::Text(Text(text.into())))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Part::Text(Text(text.to_owned().into())))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Block::deserialize(MapAccessDeserializer::new(map)).map(|block| Part::Block(Box::new(block)))
            }
        }
        deserializer.deserialize_any(Build)
    }
}

impl Element for Part<'_> {
    fn is_void(&self) -> bool {
        matches!(self, Part::Block(block) if block.kind.is_none())
    }
}

/// What a block is to a trace.
#[derive(PartialEq)]
pub(super) enum Kind {
    Text,
    /// A call that `tool_calls` should have as well.
    Call,
    /// A part of such a call.
    Fragment,
    /// A call that the provider carries out itself; `tool_calls` leaves it out.
    ProviderCall,
    ProviderAnswer,
    Other,
}

impl Block<'_> {
    pub(super) fn kind(&self, place: Place<'_>, at: usize) -> Result<Kind, ImportError> {
        let Some(kind) = self.kind.as_deref() else {
            return Err(ImportError::new(format!("{place}.content[{at}].type must be a text, found no such key"))
                .hint("a block without a type may hold a call or an answer, or what the model said last"));
        };
        Ok(match kind {
            "text" | "output_text" => Kind::Text,
            "tool_use" | "tool_call" | "function_call" => Kind::Call,
            "tool_call_chunk" | "invalid_tool_call" | "input_json_delta" => Kind::Fragment,
            "server_tool_use" | "server_tool_call" | "mcp_tool_use" => Kind::ProviderCall,
            "server_tool_result" => Kind::ProviderAnswer,
            _ if kind.ends_with("_tool_result") && self.tool_use_id.is_some() => Kind::ProviderAnswer,
            _ => {
                let inner = self.value.and_then(|raw| Look::at(raw.get())?.text("type")).unwrap_or_default();
                let is_call = |kind: &str| kind.contains("tool") || kind.ends_with("_call");
                let speaks_of_calls = is_call(kind) || is_call(&inner) || self.input.is_some();
                if speaks_of_calls {
                    return Err(ImportError::new(format!("{place}.content[{at}].type {kind:?} is not known"))
                        .hint("it may hold a call or an answer, and a trace without it could be judged wrongly"));
                }
                Kind::Other
            }
        })
    }

    pub(super) fn own_id(&self) -> Option<&str> {
        self.call_id.as_deref().or(self.id.as_deref()).filter(|id| !id.is_empty())
    }
}

/// What the content of a message says.
pub(super) struct Said<'a>(Option<Content<'a, Part<'a>>>);

impl<'a> Said<'a> {
    pub(super) fn of(content: Option<&'a RawValue>, place: Place<'_>) -> Result<Self, ImportError> {
        let Some(raw) = content else { return Ok(Self(None)) };
        wire::typed(raw.get()).map(|content| Self(Some(content))).map_err(|error| ImportError {
            offset: None,
            message: format!("{place}.content: {}", error.message),
            hint: error.hint,
        })
    }

    pub(super) fn parts(&self) -> &[Part<'a>] {
        match &self.0 {
            Some(Content::List(parts)) => parts,
            _ => &[],
        }
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let whole = match &self.0 {
            Some(Content::Text(text)) => Some(&**text),
            _ => None,
        };
        let blocks = self.parts().iter().filter_map(|part| match part {
            Part::Text(text) => Some(&**text),
            Part::Block(block) if matches!(block.kind.as_deref(), Some("text" | "output_text")) => {
                block.text.as_deref()
            }
            Part::Block(_) => None,
        });
        whole.into_iter().chain(blocks)
    }

    pub(super) fn text(&self) -> Option<String> {
        joined(self.texts())
    }

    /// A person makes no calls.
    pub(super) fn holds_no_call(&self, place: Place<'_>) -> Result<(), ImportError> {
        for (at, part) in self.parts().iter().enumerate() {
            if let Part::Block(block) = part
                && !matches!(block.kind(place, at)?, Kind::Text | Kind::Other)
            {
                return Err(ImportError::new(format!(
                    "{place}.content[{at}] is a call or an answer in a message of the user"
                ))
                .hint("this looks like `anthropic`"));
            }
        }
        Ok(())
    }
}

/// The text of a message over all its chunks. Chunks cut a text anywhere, so they are joined without a seam.
pub(super) fn text(parts: &[Said<'_>]) -> Option<String> {
    match parts {
        [one] => one.text(),
        several => {
            let whole: String = several.iter().flat_map(Said::texts).collect();
            (!whole.is_empty()).then_some(whole)
        }
    }
}
