//! The blocks of a message: text, calls and answers. Sessions of Claude Code have the same blocks.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::import::bounded_list::Element;
use crate::import::content::Content;
use crate::import::message::{Answer, At, Call, Part, Place, Server, UsageKeys, is_provider_error};
use crate::import::wire::{self, Text};
use crate::import::{ImportError, results};
use crate::json;
use crate::trace::{LazyText, ToolResult};

/// Tokens of the cache are not among those of the input.
pub(in crate::import) const USAGE: UsageKeys = UsageKeys {
    input: "input_tokens",
    output: "output_tokens",
    total: None,
    cached: &["cache_read_input_tokens"],
    written: Some("cache_creation_input_tokens"),
};

/// One block. Which keys it has depends on its type.
#[derive(Debug, Deserialize)]
#[serde(expecting = "a block")]
pub(in crate::import) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    text: Option<Text<'a>>,
    id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    input: Option<&'a RawValue>,
    caller: Option<&'a RawValue>,
    server_name: Option<Text<'a>>,
    tool_use_id: Option<Text<'a>>,
    content: Option<&'a RawValue>,
    is_error: Option<bool>,
}

/// Whether a block makes or answers a call, and the id of the call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::import) enum About<'a> {
    Call(Text<'a>),
    Answer(Text<'a>),
}

impl Element for Block<'_> {
    fn is_incomplete(&self) -> bool {
        self.kind.is_none()
    }
}

impl<'a> Block<'a> {
    pub(in crate::import) fn about(&self) -> Option<About<'a>> {
        let call = self.id.clone().map(About::Call);
        call.or_else(|| self.tool_use_id.clone().map(About::Answer))
    }

    /// What the block is. An unknown block is left out only when nothing about it suggests a call.
    fn read(&self, place: Place<'_>, at: At) -> Result<Part, ImportError> {
        let Some(kind) = self.kind.as_deref() else {
            return Err(ImportError::new(format!("{place}{at}.type must be a text, but the key is missing"))
                .hint("blocks of this format have a type; `--from` names the format of a file"));
        };
        Ok(match kind {
            "text" => Part::text(self.text.as_ref()),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => Part::Call(self.call(kind, place, at)?),
            "thinking" | "redacted_thinking" | "image" | "document" | "search_result" | "tool_reference" => Part::Other,
            _ if kind == "tool_result" || kind.ends_with("_tool_result") => {
                let result = self.result().map_err(|error| error.at(format_args!("{place}{at}.content")))?;
                Part::Answer(Answer { id: self.tool_use_id.as_deref().map(str::to_owned), function: None, result, at })
            }
            _ => {
                let could_be_call = ["tool", "call", "function"].iter().any(|word| kind.contains(word))
                    || self.input.is_some()
                    || self.tool_use_id.is_some();
                if could_be_call {
                    return Err(ImportError::unknown(format_args!("{place}{at}.type"), kind));
                }
                Part::Other
            }
        })
    }

    fn call(&self, kind: &str, place: Place<'_>, at: At) -> Result<Call, ImportError> {
        let Some(name) = self.name.as_deref() else {
            return Err(ImportError::new(format!("{place}{at}.name must be a text, but the key is missing")));
        };
        let args = wire::optional(self.input, wire::arguments, format_args!("{place}{at}.input"))?;
        let caller = wire::optional(self.caller, wire::value, format_args!("{place}{at}.caller"))?;
        if let Some(other) = caller.as_ref().filter(|caller| !caller.is_object()) {
            let found = json::describe(other);
            return Err(ImportError::new(format!("{place}{at}.caller must be an object, found {found}")));
        }
        let caller = caller.filter(|caller| caller.get("type").and_then(Value::as_str) != Some("direct"));
        let server = match kind {
            "mcp_tool_use" => Server::Known(self.server_name.as_deref().map(str::to_owned)),
            "server_tool_use" => Server::provider(),
            _ => Server::FromName,
        };
        let id = self.id.as_deref().map(str::to_owned);
        Ok(Call { id, name: name.to_owned(), server, args, caller, at, ..Call::default() })
    }

    /// An answer without `is_error` has not failed. Tools that the provider runs have no such flag: their errors are a type of
    /// content.
    fn result(&self) -> Result<ToolResult, ImportError> {
        let is_error = Some(self.is_error.unwrap_or(false));
        let Some(raw) = self.content else { return Ok(results::of_value(Value::Null, is_error)) };
        if let Some(text) = Text::part(raw) {
            return Ok(results::of_text(text.lazy(), is_error));
        }
        if let Some(result) = results::of_text_blocks(raw, is_error) {
            return Ok(result);
        }
        Ok(match wire::value(raw)? {
            Value::Array(blocks) => results::of_list(blocks.into_iter().map(as_mcp).collect(), is_error),
            other => {
                let has_failed = is_provider_error(&other);
                results::of_value(other, if has_failed { Some(true) } else { is_error })
            }
        })
    }
}

/// An image as MCP writes it; every other block as it is.
fn as_mcp(block: Value) -> Value {
    if block.get("type").and_then(Value::as_str) != Some("image") {
        return block;
    }
    match (block.pointer("/source/data"), block.pointer("/source/media_type")) {
        (Some(data), Some(mime)) => serde_json::json!({ "type": "image", "data": data, "mimeType": mime }),
        _ => block,
    }
}

/// The parts of a message, one for each block.
pub(in crate::import) fn parts(content: &Content<'_, Block<'_>>, place: Place<'_>) -> Result<Vec<Part>, ImportError> {
    match content {
        Content::Text(text) if text.is_empty() => Ok(Vec::new()),
        Content::Text(text) => Ok(vec![Part::Text(text.lazy())]),
        Content::List(blocks) => {
            let mut parts = Vec::with_capacity(blocks.len());
            for (at, block) in blocks.iter().enumerate() {
                parts.push(block.read(place, At::new("content", at))?);
            }
            Ok(parts)
        }
    }
}

/// Checks a system prompt, which is not a message of the trace and must not hold calls.
pub(in crate::import) fn check_system(content: &Content<'_, Block<'_>>, place: Place<'_>) -> Result<(), ImportError> {
    for part in parts(content, place)? {
        if let Part::Call(Call { at, .. }) | Part::Answer(Answer { at, .. }) = part {
            return Err(ImportError::new(format!("{place}{at} is a call or an answer in a message of the system")));
        }
    }
    Ok(())
}

/// The text of a list of blocks; `None` for anything else.
pub(in crate::import) fn texts(content: &str) -> Option<LazyText> {
    let Content::List(blocks) = wire::piece::<Content<'_, Block<'_>>>(content).ok()? else { return None };
    if blocks.iter().any(Element::is_incomplete) {
        return None;
    }
    LazyText::joined(blocks.iter().filter_map(|block| block.text.as_ref()?.said()))
}
