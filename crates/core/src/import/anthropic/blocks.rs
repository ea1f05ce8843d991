//! The blocks of a message: text, calls and answers. Sessions of Claude Code hold the same blocks.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::import::builder::Builder;
use crate::import::content::{Content, Place, joined};
use crate::import::listed::Element;
use crate::import::wire::{self, Text};
use crate::import::{ImportError, results};
use crate::json;
use crate::trace::{LazyValue, Role, ToolCall, ToolResult};

/// One block, with the keys of all kinds of blocks that matter.
#[derive(Debug, Deserialize)]
#[serde(expecting = "a block")]
pub(in crate::import) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    caller: Option<&'a RawValue>,
    #[serde(borrow)]
    server_name: Option<Text<'a>>,
    #[serde(borrow)]
    tool_use_id: Option<Text<'a>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    is_error: Option<bool>,
}

/// What a block does to a call, and the id of the call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::import) enum About<'a> {
    Call(Text<'a>),
    Answer(Text<'a>),
}

/// What a recorder tells of a message beside its content.
#[derive(Debug, Default)]
pub(in crate::import) struct Beside {
    /// The message is the harness's and no turn, whatever it says.
    pub(in crate::import) is_hidden: bool,
    /// How long the one call took that the message answers.
    pub(in crate::import) duration_ms: Option<u64>,
    /// What the one call that the message answers gave beside its content.
    pub(in crate::import) structured_content: Option<Value>,
}

/// What a block is to a trace.
enum Part {
    Text,
    Call,
    Answer,
    /// Thinking, images and the like.
    Other,
}

impl Element for Block<'_> {
    fn is_void(&self) -> bool {
        self.kind.is_none()
    }
}

impl<'a> Block<'a> {
    /// The call that the block makes or answers.
    pub(in crate::import) fn about(&self) -> Option<About<'a>> {
        let makes = self.id.clone().map(About::Call);
        makes.or_else(|| self.tool_use_id.clone().map(About::Answer))
    }

    /// What this block is. A block of a type that is not known is passed over only when nothing about it speaks of a call.
    fn part(&self, place: Place<'_>, at: usize) -> Result<Part, ImportError> {
        let Some(kind) = self.kind.as_deref() else {
            return Err(ImportError::new(format!("{place}.content[{at}].type must be a text, found no such key"))
                .hint("blocks of this format have a type; `--from` names the format of a file"));
        };
        Ok(match kind {
            "text" => Part::Text,
            "tool_use" | "server_tool_use" | "mcp_tool_use" => Part::Call,
            "tool_result" => Part::Answer,
            "thinking" | "redacted_thinking" | "image" | "document" | "search_result" | "tool_reference" => Part::Other,
            _ if kind.ends_with("_tool_result") => Part::Answer,
            _ => {
                let speaks_of_calls = ["tool", "call", "function"].iter().any(|word| kind.contains(word))
                    || self.input.is_some()
                    || self.tool_use_id.is_some();
                if speaks_of_calls {
                    return Err(ImportError::new(format!("{place}.content[{at}].type {kind:?} is not known"))
                        .hint("it may hold a call or an answer, and a trace without it could be judged wrongly"));
                }
                Part::Other
            }
        })
    }

    fn call(&self, builder: &mut Builder<'_>, turn: usize, place: Place<'_>, at: usize) -> Result<(), ImportError> {
        let Some(name) = self.name.as_deref() else {
            return Err(ImportError::new(format!("{place}.content[{at}].name must be a text, found no such key")));
        };
        let inside = |key: &str, error: ImportError| ImportError {
            message: format!("{place}.content[{at}].{key}: {}", error.message),
            ..error
        };
        let args = self.input.map(wire::arguments).transpose().map_err(|error| inside("input", error))?;
        let caller = self.caller.map(wire::value).transpose().map_err(|error| inside("caller", error))?;
        if let Some(strange) = caller.as_ref().filter(|caller| !caller.is_object()) {
            let found = json::describe(strange);
            return Err(ImportError::new(format!("{place}.content[{at}].caller must be an object, found {found}")));
        }
        let caller = caller.filter(|caller| caller.get("type").and_then(Value::as_str) != Some("direct"));
        let (server, name) = match self.kind.as_deref() {
            Some("mcp_tool_use") => (self.server_name.as_deref(), name),
            // The provider runs it itself: no server has it.
            Some("server_tool_use") => (Some(""), name),
            _ => builder.options().servers.split(name),
        };
        let call = ToolCall {
            name: name.to_owned(),
            server: server.map(str::to_owned),
            args,
            caller,
            id: self.id.as_deref().map(str::to_owned),
            turn: Some(turn),
        };
        builder.made(call);
        Ok(())
    }

    fn answer(
        &self,
        builder: &mut Builder<'_>,
        place: Place<'_>,
        at: usize,
        beside: Option<&Beside>,
    ) -> Result<(), ImportError> {
        let mut result = self.result().map_err(|error| ImportError {
            message: format!("{place}.content[{at}].content: {}", error.message),
            ..error
        })?;
        if let Some(beside) = beside {
            result.duration_ms = beside.duration_ms;
            result.structured_content =
                beside.structured_content.clone().map(LazyValue::from).or(result.structured_content);
        }
        builder.answer(self.tool_use_id.as_deref(), result, &format!("{place}.content[{at}]"))?;
        Ok(())
    }

    /// An answer without `is_error` did not fail. Tools that the provider runs have no such flag: their failures are a
    /// type of content.
    fn result(&self) -> Result<ToolResult, ImportError> {
        let told = Some(self.is_error.unwrap_or(false));
        let Some(raw) = self.content else { return Ok(results::of_value(Value::Null, told)) };
        if raw.get().starts_with('"') {
            return Ok(results::of_text(&wire::typed::<Text<'_>>(raw.get())?, told));
        }
        Ok(match wire::value(raw)? {
            Value::Array(blocks) if blocks.iter().all(|block| block.get("type").is_some_and(Value::is_string)) => {
                results::of_blocks(blocks.into_iter().map(as_mcp).collect(), told)
            }
            other => {
                let kind = other.get("type").and_then(Value::as_str).unwrap_or_default();
                let failed = kind.ends_with("_tool_result_error");
                results::of_value(other, if failed { Some(true) } else { told })
            }
        })
    }
}

/// An image in the words of MCP; every other block as it is.
fn as_mcp(block: Value) -> Value {
    if block.get("type").and_then(Value::as_str) != Some("image") {
        return block;
    }
    match (block.pointer("/source/data"), block.pointer("/source/media_type")) {
        (Some(data), Some(mime)) => serde_json::json!({ "type": "image", "data": data, "mimeType": mime }),
        _ => block,
    }
}

/// A message of the model, whose turn is there already.
pub(in crate::import) fn assistant(
    builder: &mut Builder<'_>,
    turn: usize,
    content: &Content<'_, Block<'_>>,
    place: Place<'_>,
) -> Result<(), ImportError> {
    let blocks = match content {
        Content::Text(text) => {
            if !text.is_empty() {
                builder.say(turn, text);
            }
            return Ok(());
        }
        Content::List(blocks) => blocks,
    };
    for (at, block) in blocks.iter().enumerate() {
        match block.part(place, at)? {
            Part::Text => {
                if let Some(text) = block.text.as_deref().filter(|text| !text.is_empty()) {
                    builder.say(turn, text);
                }
            }
            Part::Call => block.call(builder, turn, place, at)?,
            Part::Answer => block.answer(builder, place, at, None)?,
            Part::Other => {}
        }
    }
    Ok(())
}

/// A message of the user: answers first, as the interface wants them, and a turn unless there is nothing but answers.
pub(in crate::import) fn user(
    builder: &mut Builder<'_>,
    content: &Content<'_, Block<'_>>,
    place: Place<'_>,
    beside: &Beside,
) -> Result<(), ImportError> {
    let (said, is_turn) = match content {
        Content::Text(text) => (joined([&**text].into_iter()), true),
        Content::List(blocks) => {
            let mut answers = Vec::new();
            let mut texts = Vec::new();
            for (at, block) in blocks.iter().enumerate() {
                match block.part(place, at)? {
                    Part::Text => texts.extend(block.text.as_deref()),
                    Part::Answer => answers.push((at, block)),
                    Part::Other => {}
                    Part::Call => {
                        return Err(ImportError::new(format!(
                            "{place}.content[{at}] is a call in a message of the user"
                        ))
                        .hint("only the model makes calls; a trace whose messages changed places cannot be judged"));
                    }
                }
            }
            let lone = (answers.len() == 1).then_some(beside);
            for (at, block) in &answers {
                block.answer(builder, place, *at, lone)?;
            }
            (joined(texts.iter().copied()), !texts.is_empty() || answers.len() < blocks.len() || blocks.is_empty())
        }
    };
    if is_turn && !beside.is_hidden {
        builder.turn(Role::User, said);
    }
    Ok(())
}

/// Instructions of the system are no turn, and cannot hold calls.
pub(in crate::import) fn instructions(content: &Content<'_, Block<'_>>, place: Place<'_>) -> Result<(), ImportError> {
    let Content::List(blocks) = content else { return Ok(()) };
    for (at, block) in blocks.iter().enumerate() {
        if matches!(block.part(place, at)?, Part::Call | Part::Answer) {
            return Err(ImportError::new(format!(
                "{place}.content[{at}] is a call or an answer in a message of the system"
            )));
        }
    }
    Ok(())
}

/// The text of a list of blocks; nothing for anything else, such as a list that was not kept whole.
pub(in crate::import) fn texts(content: &str) -> Option<String> {
    let Content::List(blocks) = wire::typed::<Content<'_, Block<'_>>>(content).ok()? else { return None };
    if blocks.iter().any(Element::is_void) {
        return None;
    }
    joined(blocks.iter().filter_map(|block| block.text.as_deref()))
}
