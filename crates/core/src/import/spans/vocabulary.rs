//! The attributes of spans in several conventions: the versions of the `GenAI` conventions of OpenTelemetry, `OpenInference`,
//! Traceloop, the Agent Development Kit of Google, and spans of MCP clients and servers.

use std::borrow::Cow;

use serde_json::Value;

use super::super::{ImportError, wire};
use super::attributes::Attribute;
use super::{Span, Status};
use crate::trace::{CallError, ErrorKind, Tokens};

/// What a span records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A model replied.
    Model,
    /// A tool ran.
    Tool,
    /// An agent was at work.
    Agent,
    /// Anything else.
    Other,
}

const OPERATION: &str = "gen_ai.operation.name";
const TOOL_NAME: &str = "gen_ai.tool.name";

pub(super) fn kind(span: &Span<'_>) -> Result<Kind, ImportError> {
    let kind = known_kind(span)?;
    // A call in unknown words must not be left out.
    if kind == Kind::Other && span.attributes.has(&[TOOL_NAME, "gen_ai.tool.call.id", "tool.name", "ai.toolCall.name"])
    {
        return Err(ImportError::new("it names a tool, but does not say that the tool ran").hint(
            "tools run in spans with `gen_ai.operation.name` of `execute_tool` or `openinference.span.kind` of `TOOL`",
        ));
    }
    Ok(kind)
}

fn known_kind(span: &Span<'_>) -> Result<Kind, ImportError> {
    let word = |key: &str| span.attributes.text(&[key]);
    if word("mcp.method.name")?.as_deref() == Some("tools/call") {
        return Ok(Kind::Tool);
    }
    if let Some(operation) = word(OPERATION)? {
        return Ok(match &*operation {
            "chat" | "generate_content" | "text_completion" => Kind::Model,
            "execute_tool" => Kind::Tool,
            "invoke_agent" | "create_agent" | "invoke_workflow" => Kind::Agent,
            _ => Kind::Other,
        });
    }
    if let Some(kind) = word("openinference.span.kind")? {
        return Ok(match &*kind.to_ascii_uppercase() {
            "LLM" => Kind::Model,
            "TOOL" => Kind::Tool,
            "AGENT" => Kind::Agent,
            _ => Kind::Other,
        });
    }
    if let Some(kind) = word("traceloop.span.kind")? {
        return Ok(match &*kind.to_ascii_lowercase() {
            "tool" => Kind::Tool,
            "agent" | "workflow" => Kind::Agent,
            _ => Kind::Other,
        });
    }
    let is_tool = span.attributes.has(&[TOOL_NAME]) || span.name.starts_with("execute_tool ");
    // Recorders that name no operation still name the model.
    let is_model = span.attributes.has(&["gen_ai.request.model", "gen_ai.response.model", "llm.request.type"]);
    Ok(match (is_tool, is_model) {
        (true, _) => Kind::Tool,
        (false, true) => Kind::Model,
        (false, false) => Kind::Other,
    })
}

/// Whether the span is of an MCP client or server.
pub(super) fn is_mcp(span: &Span<'_>) -> bool {
    span.attributes.has(&["mcp.method.name"])
}

/// The name of the tool, if an attribute has it.
pub(super) fn name_in_attributes<'a>(span: &Span<'a>) -> Result<Option<Cow<'a, str>>, ImportError> {
    span.attributes.text(&[TOOL_NAME, "tool.name", "mcp.tool.name", "traceloop.entity.name"])
}

/// The name of the tool that ran.
pub(super) fn tool_name<'s>(span: &'s Span<'_>) -> Result<Cow<'s, str>, ImportError> {
    if let Some(name) = name_in_attributes(span)? {
        return Ok(name);
    }
    let name = &*span.name;
    let after = |word: &str| name.split_once(word).map(|(_, rest)| rest.trim()).filter(|rest| !rest.is_empty());
    let is_mcp = is_mcp(span);
    let name = match (after("execute_tool "), after("tools/call ")) {
        (Some(rest), _) | (None, Some(rest)) => Some(rest),
        // In `OpenInference` the span has the name of its tool.
        (None, None) => Some(name.strip_suffix(".tool").unwrap_or(name)).filter(|name| !name.is_empty() && !is_mcp),
    };
    name.map(Cow::Borrowed).ok_or_else(|| {
        ImportError::new("it is a span of a tool and does not name the tool")
            .hint("set the attribute `gen_ai.tool.name`")
    })
}

/// The id the model gave the call.
pub(super) fn call_id(span: &Span<'_>) -> Result<Option<String>, ImportError> {
    let keys = ["gen_ai.tool.call.id", "tool.id", "tool_call.id"];
    Ok(span.attributes.text(&keys)?.map(Cow::into_owned))
}

/// The server of the tool, if the span names it.
pub(super) fn server(span: &Span<'_>) -> Result<Option<String>, ImportError> {
    Ok(span.attributes.text(&["mcp.server.name", "fastmcp.server.name"])?.map(Cow::into_owned))
}

/// Attributes that hold arguments.
const ARGUMENTS: [&str; 4] =
    ["gen_ai.tool.call.arguments", "gcp.vertex.agent.tool_call_args", "tool_arguments", "input.value"];
const WRAPPED_ARGUMENTS: &str = "traceloop.entity.input";
const PARAMETERS: &str = "tool.parameters";

/// The attribute in which a span has the arguments.
pub(super) fn key_of_arguments(span: &Span<'_>) -> Option<&'static str> {
    let keys = ARGUMENTS.into_iter().chain([WRAPPED_ARGUMENTS, PARAMETERS]);
    keys.into_iter().find(|key| matches!(span.attributes.get(key), Ok(Some(_))))
}

/// The arguments. Recording them is optional.
pub(super) fn arguments(span: &Span<'_>) -> Result<Option<Value>, ImportError> {
    if let Some((_, found)) = span.attributes.first(&ARGUMENTS)? {
        return parse_arguments(found).map(Some);
    }
    if let Some(found) = span.attributes.get(WRAPPED_ARGUMENTS)? {
        return Ok(unwrapped(parse_arguments(found)?));
    }
    // This attribute is for the schema of the parameters; recorders also put the arguments there.
    let Some(found) = span.attributes.get(PARAMETERS)? else { return Ok(None) };
    let is_schema = |value: &Value| value.get("properties").is_some() || value.get("type").is_some();
    Ok(Some(parse_arguments(found)?).filter(|value| value.is_object() && !is_schema(value)))
}

fn parse_arguments(found: Attribute<'_>) -> Result<Value, ImportError> {
    match found {
        Attribute::Text(text) => Ok(wire::arguments_in_text(&text)),
        json @ Attribute::Json(_) => json.value(),
    }
}

/// The arguments in what Traceloop records of a call; `None` where they are unclear.
fn unwrapped(value: Value) -> Option<Value> {
    let Value::Object(mut map) = value else { return None };
    let is_call = map.get("args").is_none_or(|args| args.as_array().is_some_and(Vec::is_empty));
    let inner = map.remove("kwargs").filter(|_| is_call).or_else(|| map.remove("inputs"));
    inner.filter(Value::is_object)
}

/// The answer. Recording it is optional.
pub(super) fn answer(span: &Span<'_>) -> Result<Option<Value>, ImportError> {
    let keys = ["gen_ai.tool.call.result", "gcp.vertex.agent.tool_response", "tool_response", "output.value"];
    match span.attributes.first(&keys)? {
        Some((_, found)) => found.value().map(Some),
        None => Ok(None),
    }
}

/// The answer in a message of `LangChain`, which its recorder writes in place of the answer: the id of the call, the content,
/// and whether the call failed. `None` for any other answer.
pub(super) fn message_of_tool(answer: &Value) -> Option<(String, Value, bool)> {
    let parsed = match answer {
        Value::String(text) if text.contains("\"tool_call_id\"") => wire::parse(text).ok()?,
        Value::Object(_) => answer.clone(),
        _ => return None,
    };
    let Value::Object(mut map) = parsed else { return None };
    let Some(Value::String(id)) = map.remove("tool_call_id") else { return None };
    let failed = map.get("status").and_then(Value::as_str) == Some("error");
    Some((id, map.remove("content")?, failed))
}

/// The status in attributes, where exporters to systems without a status keep it.
pub(super) fn status(span: &Span<'_>) -> Result<Status, ImportError> {
    let code = span.attributes.get("otel.status_code")?.map(Attribute::document);
    let error = span.attributes.get("error")?.map(Attribute::document);
    let flag = match error.as_deref().map(str::trim) {
        None | Some("") => Status::Unset,
        Some(word) if word.eq_ignore_ascii_case("false") => Status::Unset,
        Some(word) if word.eq_ignore_ascii_case("true") => Status::Failed,
        Some(_) => Status::Unknown,
    };
    Ok(code.map_or(Status::Unset, |code| Status::by_code(&code)).max(flag))
}

/// How a span failed; `None` when it did not. An exception without a status is a failure: a span that handled it would have a
/// good status.
pub(super) fn failure(span: &Span<'_>) -> Result<Option<CallError>, ImportError> {
    let kind = span.attributes.text(&["error.type"])?;
    let raised = span.status == Status::Unset && span.events.iter().any(|event| event.name == "exception");
    if !span.has_failed() && !raised && kind.is_none() {
        return Ok(None);
    }
    let mut message = span.status_message.as_deref().filter(|text| !text.is_empty()).map(str::to_owned);
    for event in &span.events {
        if message.is_none() {
            message = event.attributes.text(&["exception.message", "exception.type"])?.map(Cow::into_owned);
        }
    }
    let code = match span.attributes.text(&["rpc.response.status_code", "rpc.jsonrpc.error_code"])? {
        Some(code) => code.parse::<i64>().ok(),
        None => kind.as_deref().and_then(|kind| kind.parse().ok()),
    };
    let name = kind.as_deref().unwrap_or_default();
    let layer = match code {
        Some(code) if code < 0 => ErrorKind::Jsonrpc,
        Some(400..=599) => ErrorKind::Http,
        _ if name.to_ascii_lowercase().contains("timeout") => ErrorKind::Timeout,
        _ => ErrorKind::Tool,
    };
    let code = code.filter(|_| layer != ErrorKind::Tool && layer != ErrorKind::Timeout);
    Ok(Some(CallError { kind: layer, code, message: message.unwrap_or_else(|| name.to_owned()) }))
}

/// The model that replied, else the requested one.
pub(super) fn model(span: &Span<'_>) -> Result<Option<String>, ImportError> {
    let keys = [
        "gen_ai.response.model",
        "gen_ai.request.model",
        "llm.response.model_name",
        "llm.model_name",
        "llm.request.model_name",
    ];
    Ok(span.attributes.text(&keys)?.map(Cow::into_owned))
}

/// What a reply cost; `None` when its span does not say.
pub(super) fn tokens(span: &Span<'_>) -> Result<Option<Tokens>, ImportError> {
    let count = |keys: &[&str]| span.attributes.count(keys);
    let tokens = Tokens {
        input: count(&["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"])?,
        output: count(&["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"])?,
        cached: count(&[
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.cache_read_input_tokens",
            "llm.token_count.prompt_details.cache_read",
        ])?,
        total: count(&["gen_ai.usage.total_tokens", "llm.usage.total_tokens", "llm.token_count.total"])?,
    };
    Ok((tokens != Tokens { cached: tokens.cached, ..Tokens::default() }).then_some(tokens))
}

/// Why a reply ended, in the words of its span.
pub(super) fn finish(span: &Span<'_>) -> Result<Option<String>, ImportError> {
    let found = span.attributes.first(&["gen_ai.response.finish_reasons", "llm.response.finish_reason"])?;
    Ok(found.and_then(|(_, found)| found.words().pop()))
}

/// Whether a span has messages or tokens, as that of a model has.
pub(super) fn has_reply(span: &Span<'_>) -> Result<bool, ImportError> {
    let has_messages = span.attributes.has(&["gen_ai.input.messages", "gen_ai.output.messages"])
        || span.attributes.below("llm.output_messages.").next().is_some()
        || span.attributes.below("llm.input_messages.").next().is_some();
    Ok(has_messages || tokens(span)?.is_some())
}
