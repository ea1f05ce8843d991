//! The attributes of spans in several conventions: the versions of the `GenAI` conventions of OpenTelemetry, `OpenInference`,
//! Traceloop, the Agent Development Kit of Google, the AI SDK of Vercel, Langfuse, `LangSmith`, `MLflow`, and spans of MCP
//! clients and servers.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::ImportError;
use super::super::wire::{self, Whole};
use super::attributes::Attribute;
use super::wrappers::{self, Given};
use super::{Span, Status};
use crate::trace::{CallError, ErrorKind, Tokens};

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const TOOL_NAME: &str = "gen_ai.tool.name";

/// Whether the span is of an MCP client or server.
pub(super) fn is_mcp(span: &Span<'_>) -> bool {
    span.attributes.has(&["mcp.method.name"])
}

/// The name of the tool, if an attribute has it.
pub(super) fn name_in_attributes<'s>(span: &'s Span<'_>) -> Result<Option<&'s str>, ImportError> {
    span.attributes.text(&[TOOL_NAME, "tool.name", "mcp.tool.name", "traceloop.entity.name", "ai.toolCall.name"])
}

/// The name of the tool that ran.
pub(super) fn tool_name<'s>(span: &'s Span<'_>) -> Result<&'s str, ImportError> {
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
    name.ok_or_else(|| {
        ImportError::new("it is a span of a tool and does not name the tool")
            .hint("set the attribute `gen_ai.tool.name`")
    })
}

/// The id the model gave the call.
pub(super) fn call_id(span: &Span<'_>) -> Result<Option<String>, ImportError> {
    let keys = ["gen_ai.tool.call.id", "tool.id", "tool_call.id", "ai.toolCall.id"];
    Ok(span.attributes.text(&keys)?.map(str::to_owned))
}

/// The server of the tool, if the span names it.
pub(super) fn server(span: &Span<'_>) -> Result<Option<String>, ImportError> {
    Ok(span.attributes.text(&["mcp.server.name", "fastmcp.server.name"])?.map(str::to_owned))
}

/// Attributes that hold arguments.
const ARGUMENTS: [&str; 9] = [
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.args",
    "gcp.vertex.agent.tool_call_args",
    "tool_arguments",
    "ai.toolCall.args",
    INPUT,
    "langfuse.observation.input",
    "langsmith.inputs",
    "mlflow.spanInputs",
];
const INPUT: &str = "input.value";
pub(super) const ADK_RESPONSE: &str = "gcp.vertex.agent.tool_response";
const LANGSMITH_OUTPUTS: &str = "langsmith.outputs";
const WRAPPED_ARGUMENTS: &str = "traceloop.entity.input";
const PARAMETERS: &str = "tool.parameters";

/// The attribute in which a span has the arguments.
pub(super) fn key_of_arguments(span: &Span<'_>) -> Option<&'static str> {
    let keys = ARGUMENTS.into_iter().chain([WRAPPED_ARGUMENTS, PARAMETERS]);
    keys.into_iter().find(|key| matches!(span.attributes.get(key), Ok(Some(_))))
}

/// The arguments. Recording them is optional.
pub(super) fn arguments(span: &Span<'_>) -> Result<Option<Value>, ImportError> {
    given(span).map(|given| given.args)
}

/// The arguments, and the id of the call where it is recorded with them.
pub(super) fn given(span: &Span<'_>) -> Result<Given, ImportError> {
    if let Some((key, found)) = span.attributes.first(&ARGUMENTS)? {
        let mut value = parse_arguments(found)?;
        let wrapper = match &mut value {
            Value::Object(map) if span.attributes.has(&["langsmith.span.kind"]) => wrappers::of_langsmith(map),
            Value::Object(map) => match wrappers::of_callback(map) {
                None => wrappers::of_wrapper(map, key == INPUT && takes_no_kwargs(span, map)?),
                callback => callback,
            },
            _ => None,
        };
        return Ok(wrapper.unwrap_or(Given { args: Some(value), id: None }));
    }
    if let Some(found) = span.attributes.get(WRAPPED_ARGUMENTS)? {
        let Value::Object(mut map) = parse_arguments(found)? else { return Ok(Given::default()) };
        return Ok(wrappers::of_callback(&mut map).unwrap_or_else(|| wrappers::of_entity(&mut map)));
    }
    // This attribute is for the schema of the parameters; recorders also put the arguments there.
    let Some(found) = span.attributes.get(PARAMETERS)? else { return Ok(Given::default()) };
    let args = Some(parse_arguments(found)?).filter(|value| value.is_object() && !is_schema(value));
    Ok(Given { args, id: None })
}

fn is_schema(value: &Value) -> bool {
    value.get("properties").is_some() || value.get("type").is_some()
}

/// Whether the schema of the tool shows that it has no parameter `kwargs`: then that key of the arguments is the recorder's.
fn takes_no_kwargs(span: &Span<'_>, args: &Map<String, Value>) -> Result<bool, ImportError> {
    let schema = match span.attributes.get(PARAMETERS)? {
        None => return Ok(false),
        // Most arguments have no such key.
        Some(Attribute::Text(..)) if !args.contains_key("kwargs") => return Ok(false),
        Some(found) => parse_arguments(found)?,
    };
    Ok(is_schema(&schema) && schema.get("properties").and_then(|all| all.get("kwargs")).is_none())
}

fn parse_arguments(found: &Attribute<'_>) -> Result<Value, ImportError> {
    match found {
        Attribute::Text(text, _) => Ok(wire::arguments_in_text(text)),
        json @ Attribute::Json(_) => json.value(),
    }
}

/// The answer. Recording it is optional.
pub(super) fn answer(span: &Span<'_>) -> Result<Option<Value>, ImportError> {
    let keys = [
        "gen_ai.tool.call.result",
        "gen_ai.output",
        ADK_RESPONSE,
        "tool_response",
        "ai.toolCall.result",
        "output.value",
        "langfuse.observation.output",
        LANGSMITH_OUTPUTS,
        "mlflow.spanOutputs",
        "traceloop.entity.output",
    ];
    match span.attributes.first(&keys)? {
        // `MLflow` writes every value as JSON.
        Some(("mlflow.spanOutputs", found)) => {
            let text = found.document();
            Ok(Some(wire::parse(text).unwrap_or_else(|_| Value::String(text.to_owned()))))
        }
        // In a file for analysis it is JSON in a text.
        Some((LANGSMITH_OUTPUTS, found)) => wire::parse(found.document()).map(wrappers::output_of_langsmith).map(Some),
        Some((_, found)) => found.value().map(Some),
        None => Ok(None),
    }
}

/// The status in attributes, where exporters to systems without a status keep it.
pub(super) fn status(span: &Span<'_>) -> Result<Status, ImportError> {
    let code = span.attributes.get("otel.status_code")?.map(Attribute::document);
    let error = span.attributes.get("error")?.map(Attribute::document);
    let flag = match error.map(str::trim) {
        None | Some("") => Status::Unset,
        Some(word) if word.eq_ignore_ascii_case("false") => Status::Unset,
        Some(word) if word.eq_ignore_ascii_case("true") => Status::Failed,
        Some(_) => Status::Unknown,
    };
    let level = span.attributes.text(&["langfuse.observation.level", "gen_ai.tool.status"])?;
    let has_failed = level.is_some_and(|level| level.eq_ignore_ascii_case("error"));
    let level = if has_failed { Status::Failed } else { Status::Unset };
    Ok(code.map_or(Status::Unset, Status::by_code).max(flag).max(level))
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
    if message.is_none() {
        message = span.attributes.text(&["langfuse.observation.status_message"])?.map(str::to_owned);
    }
    for event in &span.events {
        if message.is_none() {
            message = event.attributes.text(&["exception.message", "exception.type"])?.map(str::to_owned);
        }
    }
    let code = match span.attributes.text(&["rpc.response.status_code", "rpc.jsonrpc.error_code"])? {
        Some(code) => code.parse::<i64>().ok(),
        None => kind.and_then(|kind| kind.parse().ok()),
    };
    let name = kind.unwrap_or_default();
    let layer = match code {
        Some(code) if code < 0 => ErrorKind::Jsonrpc,
        Some(400..=599) => ErrorKind::Http,
        _ => layer_of(name),
    };
    let code = code.filter(|_| layer != ErrorKind::Tool && layer != ErrorKind::Timeout);
    Ok(Some(CallError { kind: layer, code, message: message.unwrap_or_else(|| name.to_owned()) }))
}

/// The layer that raised an error of this name: an exception, with or without its module, or an error code of the system.
fn layer_of(name: &str) -> ErrorKind {
    let name = name.to_ascii_lowercase();
    let last = name.rsplit(['.', ':', '/']).next().unwrap_or_default();
    let is_http = name.starts_with("httpx.") || name.starts_with("httpcore.");
    let is_transport = last.contains("connection")
        || last.starts_with("connect")
        || last.starts_with("econn")
        || matches!(last, "remoteprotocolerror" | "networkerror" | "transporterror" | "brokenpipeerror" | "epipe")
        || (is_http && matches!(last, "readerror" | "writeerror" | "closeerror"));
    if name.contains("timeout") {
        ErrorKind::Timeout
    } else if is_transport {
        ErrorKind::Transport
    } else if last == "mcperror" || last.starts_with("jsonrpc") {
        ErrorKind::Jsonrpc
    } else {
        ErrorKind::Tool
    }
}

/// The model that replied, else the requested one.
pub(super) fn model(span: &Span<'_>) -> Result<Option<String>, ImportError> {
    let keys = [
        "gen_ai.response.model",
        "gen_ai.request.model",
        "llm.response.model_name",
        "llm.model_name",
        "llm.request.model_name",
        "ai.response.model",
        "ai.model.id",
        "langfuse.observation.model.name",
        "mlflow.llm.model",
    ];
    // MLflow writes every attribute as JSON.
    Ok(span.attributes.text(&keys)?.map(|name| name.trim_matches('"').to_owned()))
}

/// What a reply cost; `None` when its span does not say.
pub(super) fn tokens(span: &Span<'_>) -> Result<Option<Tokens>, ImportError> {
    let count = |keys: &[&str]| span.attributes.count(keys);
    let tokens = Tokens {
        input: count(&[
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.prompt_tokens",
            "llm.token_count.prompt",
            "ai.usage.inputTokens",
            "ai.usage.promptTokens",
        ])?,
        output: count(&[
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.completion_tokens",
            "llm.token_count.completion",
            "ai.usage.outputTokens",
            "ai.usage.completionTokens",
        ])?,
        cached: count(&[
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.cache_read_input_tokens",
            "llm.token_count.prompt_details.cache_read",
            "ai.usage.cachedInputTokens",
        ])?,
        total: count(&[
            "gen_ai.usage.total_tokens",
            "llm.usage.total_tokens",
            "llm.token_count.total",
            "ai.usage.totalTokens",
        ])?,
    };
    if tokens != (Tokens { cached: tokens.cached, ..Tokens::default() }) {
        return Ok(Some(tokens));
    }
    let keys = ["langfuse.observation.usage_details", "mlflow.chat.tokenUsage"];
    let Some((key, found)) = span.attributes.first(&keys)? else { return Ok(None) };
    let read = found.read::<Counts>().map_err(|error| error.at(format_args!("attribute `{key}`")))?;
    let of = |counts: &[Option<Whole>]| counts.iter().flatten().next().map(|count| count.0);
    let tokens = Tokens {
        input: of(&[read.input, read.input_tokens, read.prompt_tokens]),
        output: of(&[read.output, read.output_tokens, read.completion_tokens]),
        cached: of(&[read.input_cached_tokens, read.input_cache_read, read.cache_read_input_tokens]),
        total: of(&[read.total, read.total_tokens]),
    };
    Ok((tokens != Tokens { cached: tokens.cached, ..Tokens::default() }).then_some(tokens))
}

/// Tokens as one object, with the keys of its recorder or of the API that replied. A table has all of them as columns.
#[derive(Deserialize)]
struct Counts {
    input: Option<Whole>,
    input_tokens: Option<Whole>,
    prompt_tokens: Option<Whole>,
    output: Option<Whole>,
    output_tokens: Option<Whole>,
    completion_tokens: Option<Whole>,
    total: Option<Whole>,
    total_tokens: Option<Whole>,
    input_cached_tokens: Option<Whole>,
    input_cache_read: Option<Whole>,
    cache_read_input_tokens: Option<Whole>,
}

/// Why a reply ended, as its span records it.
pub(super) fn finish(span: &Span<'_>) -> Result<Option<String>, ImportError> {
    let keys = ["gen_ai.response.finish_reasons", "llm.response.finish_reason", "ai.response.finishReason"];
    let found = span.attributes.first(&keys)?;
    Ok(found.and_then(|(_, found)| found.words().pop()))
}

/// Whether a span has messages or tokens, as that of a model has.
pub(super) fn has_reply(span: &Span<'_>) -> Result<bool, ImportError> {
    let has_messages = span.attributes.has(&["gen_ai.input.messages", "gen_ai.output.messages"])
        || span.attributes.below("llm.output_messages.").next().is_some()
        || span.attributes.below("llm.input_messages.").next().is_some();
    Ok(has_messages || tokens(span)?.is_some())
}
