//! The answer of a program: where it is in what the program printed or wrote.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::import::{Format, stream};
use crate::json;
use crate::redact::Redactor;
use crate::target::{Selection, Target};
use crate::trace::{ToolCall, ToolResult};

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
            Self::ClaudeStream | Self::CodexExec | Self::GeminiStream => {
                self.stream().map_or(Ok(None), |format| stream::answer(format, text)).map_err(AnswerError)?
            }
        };
        let found = found.ok_or_else(|| AnswerError(format!("there is no answer among its events ({self})")))?;
        Ok(found.trim_end().to_owned())
    }

    /// The format of the events that are printed.
    fn stream(&self) -> Option<Format> {
        match self {
            Self::Stdout | Self::File(_) | Self::Json(_) => None,
            Self::ClaudeStream => Some(Format::ClaudeCode),
            Self::CodexExec => Some(Format::Codex),
            Self::GeminiStream => Some(Format::GeminiCli),
        }
    }

    /// What the program says about its own calls; `None` for formats and outputs without an account.
    pub fn account(&self, text: &str) -> Option<Result<Account, AnswerError>> {
        let calls = match stream::calls(self.stream()?, text) {
            Ok(calls) => calls?,
            Err(error) => return Some(Err(AnswerError(error.message))),
        };
        let call = |(call, result): (ToolCall, Option<ToolResult>)| AccountCall {
            id: call.id,
            server: call.server,
            name: call.name,
            args: call.args,
            is_error: result.and_then(|result| result.is_error),
        };
        Some(Ok(Account { calls: calls.into_iter().map(call).collect() }))
    }
}

/// What a program says about its own calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    pub calls: Vec<AccountCall>,
}

/// A call that a program says it made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountCall {
    pub id: Option<String>,
    pub server: Option<String>,
    pub name: String,
    pub args: Option<Value>,
    /// Whether it says that the call failed.
    pub is_error: Option<bool>,
}

impl Account {
    #[must_use]
    pub fn redacted(self, redactor: &Redactor) -> Self {
        let text = |text: String| redactor.text(&text).into_owned();
        let call = |call: AccountCall| AccountCall {
            id: call.id.map(text),
            server: call.server,
            name: text(call.name),
            args: call.args.map(|args| redactor.value(args)),
            is_error: call.is_error,
        };
        Self { calls: self.calls.into_iter().map(call).collect() }
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
