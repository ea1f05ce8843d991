//! What an agent CLI prints: its answer, and its own account of its calls. The importers read both.

use super::{Format, ImportError, Options, claude_code, codex, gemini_cli};
use crate::json;
use crate::trace::{ToolCall, ToolResult};

/// The events among the lines of an output. Other lines are other output of the program.
fn events(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with('{') && json::check(line).is_ok()).collect()
}

/// The answer, if there is one. An error says why the CLI did not come to one.
pub(crate) fn answer(format: Format, text: &str) -> Result<Option<String>, String> {
    let events = events(text);
    match format {
        Format::Codex => codex::answer(&events),
        Format::GeminiCli => gemini_cli::answer(&events),
        _ => claude_code::answer(&events),
    }
}

/// Calls, each with its result where that is known.
pub(crate) type Calls = Vec<(ToolCall, Option<ToolResult>)>;

/// Every call that the CLI says it made, of sub-agents too, with how it went. `None` if it prints no account.
pub(crate) fn calls(format: Format, text: &str) -> Result<Option<Calls>, ImportError> {
    let mut pieces = Vec::new();
    for event in events(text) {
        pieces.extend(format.split(event)?);
    }
    let texts: Vec<&str> = pieces.iter().map(|piece| &*piece.text).collect();
    let mut out = None;
    for imported in format.join("", &texts, &Options::default())? {
        let trace = imported.trace;
        let (Some(calls), Some(results)) = (trace.tool_calls, trace.tool_results) else { continue };
        out.get_or_insert_with(Vec::new).extend(calls.into_iter().zip(results));
    }
    Ok(out)
}
