//! The answer of a program: where it is in what the program printed or wrote.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::json;
use crate::target::{Selection, Target};

/// Where a program leaves its answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AnswerFormat {
    /// Standard output is the answer.
    #[default]
    Stdout,
    /// A file, relative to the working folder of the program.
    File(String),
    /// A text inside the JSON value on standard output.
    Json(Target),
    /// The events of `claude -p --output-format stream-json` or `json`.
    ClaudeStream,
    /// The events of `codex exec --json`.
    CodexExec,
    /// The events of `gemini -o stream-json`.
    GeminiStream,
}

/// How the formats are written.
pub const FORMATS: &str = "stdout, file:PATH, json:PATH, claude-stream, codex-exec or gemini-stream";

/// Why a text is not a valid format, or why an answer cannot be found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AnswerError(String);

impl FromStr for AnswerFormat {
    type Err = AnswerError;

    fn from_str(text: &str) -> Result<Self, AnswerError> {
        match text.split_once(':') {
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.to_owned())),
            Some(("json", path)) => {
                let bad = |error| AnswerError(format!("`{path}` is not a path into JSON: {error}"));
                Target::parse(path).map(Self::Json).map_err(bad)
            }
            None if text == "stdout" => Ok(Self::Stdout),
            None if text == "claude-stream" => Ok(Self::ClaudeStream),
            None if text == "codex-exec" => Ok(Self::CodexExec),
            None if text == "gemini-stream" => Ok(Self::GeminiStream),
            _ => Err(AnswerError(format!("expected {FORMATS}"))),
        }
    }
}

impl fmt::Display for AnswerFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout => f.write_str("stdout"),
            Self::File(path) => write!(f, "file:{path}"),
            Self::Json(path) => write!(f, "json:{path}"),
            Self::ClaudeStream => f.write_str("claude-stream"),
            Self::CodexExec => f.write_str("codex-exec"),
            Self::GeminiStream => f.write_str("gemini-stream"),
        }
    }
}

impl AnswerFormat {
    /// The answer in what was printed, or in the file. White space at its end does not belong to it.
    pub fn read(&self, text: &str) -> Result<String, AnswerError> {
        let found = match self {
            Self::Stdout | Self::File(_) => Some(text.to_owned()),
            Self::Json(path) => Some(in_json(path, text)?),
            Self::ClaudeStream => claude(text)?,
            Self::CodexExec => codex(text)?,
            Self::GeminiStream => gemini(text)?,
        };
        let found = found.ok_or_else(|| AnswerError(format!("there is no answer among its events ({self})")))?;
        Ok(found.trim_end().to_owned())
    }
}

fn in_json(path: &Target, text: &str) -> Result<String, AnswerError> {
    let value = json::parse(text).map_err(|error| AnswerError(format!("standard output is not JSON: {error}")))?;
    match path.select(&value) {
        Selection::Found(found) => match &*found {
            Value::String(text) => Ok(text.clone()),
            other => {
                Err(AnswerError(format!("`{path}` in standard output is {}, not a string", json::describe(other))))
            }
        },
        Selection::Nothing { reason, .. } => Err(AnswerError(format!("`{path}` is not in standard output: {reason}"))),
    }
}

/// The JSON objects of a stream, one a line. Other lines are what programs print besides: they are skipped.
fn events(text: &str) -> impl Iterator<Item = Value> {
    text.lines().filter(|line| line.starts_with('{')).filter_map(|line| json::parse(line).ok())
}

fn word<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

/// The text of the `result` event. `--output-format json` prints that event alone.
fn claude(text: &str) -> Result<Option<String>, AnswerError> {
    let results = events(text).filter(|event| word(event, "type") == Some("result"));
    let Some(last) = results.last() else { return Ok(None) };
    match (word(&last, "result"), word(&last, "subtype")) {
        (Some(answer), _) => Ok(Some(answer.to_owned())),
        (None, subtype) => Err(AnswerError(format!("it ended without an answer ({})", subtype.unwrap_or("no reason")))),
    }
}

/// The last message of the agent.
fn codex(text: &str) -> Result<Option<String>, AnswerError> {
    let mut answer = None;
    for event in events(text) {
        match (word(&event, "type"), event.get("item")) {
            (Some("item.completed"), Some(item)) if word(item, "type") == Some("agent_message") => {
                answer = word(item, "text").map(str::to_owned);
            }
            (Some("turn.failed"), _) => {
                let why = event.pointer("/error/message").and_then(Value::as_str).unwrap_or("no reason");
                return Err(AnswerError(format!("its turn failed: {why}")));
            }
            _ => {}
        }
    }
    Ok(answer)
}

/// The assistant's text after the last tool call.
fn gemini(text: &str) -> Result<Option<String>, AnswerError> {
    let mut answer: Option<String> = None;
    for event in events(text) {
        match (word(&event, "type"), word(&event, "role"), word(&event, "content")) {
            (Some("message"), Some("assistant"), Some(content)) => {
                let is_delta = event.get("delta").and_then(Value::as_bool).unwrap_or(false);
                let so_far = answer.take().filter(|_| is_delta);
                answer = Some(so_far.map_or_else(|| content.to_owned(), |so_far| so_far + content));
            }
            (Some("tool_use" | "tool_result"), ..) => answer = None,
            (Some("result"), ..) if word(&event, "status") == Some("error") => {
                let why = event.pointer("/error/message").and_then(Value::as_str).unwrap_or("no reason");
                return Err(AnswerError(format!("it ended with an error: {why}")));
            }
            _ => {}
        }
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: &str, text: &str) -> Result<String, String> {
        let parsed: AnswerFormat = format.parse().unwrap();
        assert_eq!(parsed.to_string(), format);
        parsed.read(text).map_err(|error| error.to_string())
    }

    #[test]
    fn an_answer_is_found_in_every_format() {
        let five = Ok("The sum is 5.".to_owned());
        assert_eq!(read("stdout", "The sum is 5.\n\n"), five);
        assert_eq!(read("file:out/answer.txt", "The sum is 5.\n"), five);
        assert_eq!(read("json:reply.texts[-1]", r#"{"reply":{"texts":["","The sum is 5."]}}"#), five);
        let claude = "noise\n{\"type\":\"assistant\"}\n{\"type\":\"result\",\"result\":\"The sum is 5.\"}\n";
        assert_eq!(read("claude-stream", claude), five);
        let codex = r#"{"type":"item.completed","item":{"type":"agent_message","text":"Adding."}}
{"type":"item.completed","item":{"type":"mcp_tool_call"}}
{"type":"item.completed","item":{"type":"agent_message","text":"The sum is 5."}}
{"type":"turn.completed"}"#;
        assert_eq!(read("codex-exec", codex), five);
        let gemini = r#"{"type":"message","role":"user","content":"Add"}
{"type":"message","role":"assistant","content":"Adding.","delta":true}
{"type":"tool_use"}
{"type":"tool_result"}
{"type":"message","role":"assistant","content":"The sum ","delta":true}
{"type":"message","role":"assistant","content":"is 5.","delta":true}
{"type":"result","status":"success"}"#;
        assert_eq!(read("gemini-stream", gemini), five);
    }

    #[test]
    fn a_missing_answer_says_why() {
        let error_of = |format: &str, text: &str| read(format, text).unwrap_err();
        assert_eq!(error_of("claude-stream", "{}"), "there is no answer among its events (claude-stream)");
        assert_eq!(
            error_of("claude-stream", r#"{"type":"result","subtype":"error_max_turns"}"#),
            "it ended without an answer (error_max_turns)"
        );
        assert_eq!(
            error_of("codex-exec", r#"{"type":"turn.failed","error":{"message":"no key"}}"#),
            "its turn failed: no key"
        );
        assert!(error_of("json:a", "[").starts_with("standard output is not JSON"));
        assert!(error_of("json:a", "{}").starts_with("`a` is not in standard output"));
        assert!(error_of("json:a", r#"{"a":1}"#).starts_with("`a` in standard output is a number"));
        for wrong in ["", "file:", "json:", "stdin", "codex"] {
            assert!(wrong.parse::<AnswerFormat>().is_err(), "{wrong}");
        }
    }
}
