//! What a span records, by the words of each vocabulary.

use super::super::ImportError;
use super::Span;
use super::vocabulary::{OPERATION, TOOL_NAME};

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

/// An attribute, and the kind by its value in lowercase.
type Vocabulary = (&'static str, fn(&str) -> Kind);

/// The name in the span that the Agent Development Kit adds after parallel calls. It is no call.
const MERGED: &str = "(merged tools)";

pub(super) fn kind(span: &Span<'_>) -> Result<Kind, ImportError> {
    let kind = known_kind(span)?;
    if kind == Kind::Tool && span.attributes.text(&[TOOL_NAME])? == Some(MERGED) {
        return Ok(Kind::Other);
    }
    // A call in unknown words must not be left out.
    if kind == Kind::Other && span.attributes.has(&[TOOL_NAME, "gen_ai.tool.call.id", "tool.name", "ai.toolCall.name"])
    {
        return Err(ImportError::new("it names a tool, but does not say that the tool ran").hint(
            "tools run in spans with `gen_ai.operation.name` of `execute_tool` or `openinference.span.kind` of `TOOL`",
        ));
    }
    if kind == Kind::Agent && span.attributes.has(&["tool.name"]) {
        return Err(ImportError::new("it is a span of an agent and names a tool: its recorder writes events as spans")
            .hint("which of them are calls is unclear; a newer version of the recorder has one span for each call"));
    }
    Ok(kind)
}

fn known_kind(span: &Span<'_>) -> Result<Kind, ImportError> {
    let word = |key: &str| span.attributes.text(&[key]);
    if word("mcp.method.name")? == Some("tools/call") {
        return Ok(Kind::Tool);
    }
    if let Some(operation) = word(OPERATION)? {
        return Ok(match operation {
            "chat" | "generate_content" | "text_completion" | "call_llm" => Kind::Model,
            "execute_tool" => Kind::Tool,
            "invoke_agent" | "invoke_workflow" => Kind::Agent,
            _ => Kind::Other,
        });
    }
    let vocabularies: [Vocabulary; 6] = [
        ("openinference.span.kind", |kind| match kind {
            "llm" => Kind::Model,
            "tool" => Kind::Tool,
            "agent" => Kind::Agent,
            _ => Kind::Other,
        }),
        ("traceloop.span.kind", |kind| match kind {
            "tool" => Kind::Tool,
            "agent" | "workflow" => Kind::Agent,
            _ => Kind::Other,
        }),
        ("ai.operationId", vercel),
        ("langfuse.observation.type", |kind| match kind {
            "generation" => Kind::Model,
            "tool" => Kind::Tool,
            "agent" => Kind::Agent,
            _ => Kind::Other,
        }),
        ("langsmith.span.kind", |kind| match kind {
            "llm" => Kind::Model,
            "tool" => Kind::Tool,
            _ => Kind::Other,
        }),
        ("mlflow.spanType", |kind| match kind.trim_matches('"') {
            "llm" | "chat_model" => Kind::Model,
            "tool" => Kind::Tool,
            "agent" => Kind::Agent,
            _ => Kind::Other,
        }),
    ];
    for (key, read) in vocabularies {
        if let Some(found) = word(key)? {
            return Ok(read(&found.to_ascii_lowercase()));
        }
    }
    // Older versions of the AI SDK name the operation only together with the function.
    if let Some(operation) = word("operation.name")?.filter(|operation| operation.starts_with("ai.")) {
        let name = operation.split(' ').next().unwrap_or_default();
        return Ok(vercel(&name.to_ascii_lowercase()));
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

/// The operations of the AI SDK of Vercel. A span around the others repeats what the inner ones record.
fn vercel(operation: &str) -> Kind {
    match operation {
        "ai.toolcall" => Kind::Tool,
        "ai.generatetext" | "ai.streamtext" | "ai.generateobject" | "ai.streamobject" => Kind::Agent,
        inner if inner.ends_with(".dogenerate") || inner.ends_with(".dostream") => Kind::Model,
        _ => Kind::Other,
    }
}
