//! `mcptest cassette show`: prints the contents of a cassette.

use mcptest_core::diag::printable;
use mcptest_core::json;
use mcptest_core::trace::{Conversation, Program, Tokens, ToolCall, ToolResult, Trace};
use mcptest_runner::cassette::{Cassette, VERSION};
use serde_json::Value;

use super::super::Stop;
use super::file_error;
use crate::args::CassetteShow;
use crate::console::Console;
use crate::exit;
use crate::report::text::{lines, one_line};

/// Most characters of a value.
const MAX_VALUE: usize = 160;

/// Most requests of a program.
const MAX_REQUESTS: usize = 50;

/// Shown for everything that a recording may lack.
const UNKNOWN: &str = "not recorded";

pub(super) fn run(typed: &CassetteShow, console: &mut Console<'_>) -> Result<u8, Stop> {
    let (mut shown, mut code) = (Vec::new(), exit::OK);
    for path in &typed.files {
        match Cassette::open(path) {
            Ok(cassette) => shown.push(show(&path.to_string_lossy(), &cassette)),
            Err(error) => {
                let hint = "`mcptest cassette list` shows where cassettes are and what is wrong with them";
                console.err.complain(file_error(&path.to_string_lossy(), &error, hint));
                code = exit::ERROR;
            }
        }
    }
    console.out.print(&shown.join("\n"))?;
    Ok(code)
}

fn show(path: &str, cassette: &Cassette) -> String {
    let Cassette { test, model, run, inputs, advisory, trace, version, edited, .. } = cassette;
    let mut out = format!("{}\n", printable(path));
    field(&mut out, "test", &one_line(test));
    field(&mut out, "model", &one_line(model));
    field(&mut out, "run", &run.to_string());
    if *edited {
        field(&mut out, "edited", "after it was recorded; the edit was accepted");
    }
    if *version < VERSION {
        field(&mut out, "version", &format!("{version}, which does not detect edits"));
    }
    out.push_str("  inputs\n");
    match inputs {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            for key in keys {
                out.push_str(&format!("    {:<9} {}\n", printable(key), value(&map[key])));
            }
        }
        other => out.push_str(&format!("    {}\n", value(other))),
    }
    calls(trace, &mut out);
    match trace.final_response.as_deref() {
        None => field(&mut out, "answer", UNKNOWN),
        Some(text) if text.trim().is_empty() => field(&mut out, "answer", "empty"),
        Some(text) => {
            out.push_str("  answer\n");
            for line in lines(text) {
                out.push_str(&format!("    {line}\n"));
            }
        }
    }
    if let Some(advisory) = advisory {
        field(&mut out, "advisory", &value(advisory));
    }
    field(&mut out, "tokens", &tokens(&trace.conversation.tokens));
    field(&mut out, "end", &end(&trace.conversation));
    if let Some(program) = &trace.program {
        self::program(program, &mut out);
    }
    out
}

/// How a recorded program ended, and its requests to its model and servers.
fn program(program: &Program, out: &mut String) {
    let exit = program.exit.map_or_else(|| "did not end on its own".to_owned(), |code| format!("exit code {code}"));
    let incomplete =
        program.incomplete.as_deref().map(|why| format!("; the recording is incomplete: {}", one_line(why)));
    field(out, "program", &format!("{exit}{}", incomplete.unwrap_or_default()));
    let Some(passed) = program.timeline.as_deref().filter(|passed| !passed.is_empty()) else { return };
    out.push_str("  requests\n");
    for one in passed.iter().take(MAX_REQUESTS) {
        let whom = one.server.as_deref().map_or_else(|| one.side.to_string(), one_line);
        let (what, status) = (one_line(&one.what), one_line(&one.status));
        let took = one.duration_ms.map_or_else(String::new, |ms| format!(" after {ms} ms"));
        out.push_str(&format!("    {:>6} ms  {whom}: {what}: {status}{took}\n", one.ms));
    }
    if passed.len() > MAX_REQUESTS {
        out.push_str(&format!("    and {} more\n", passed.len() - MAX_REQUESTS));
    }
}

fn field(out: &mut String, name: &str, text: &str) {
    out.push_str(&format!("  {name:<8} {text}\n"));
}

fn value(value: &Value) -> String {
    printable(&json::excerpt(value, MAX_VALUE)).into_owned()
}

/// The calls, by the indices that gates and targets use.
fn calls(trace: &Trace, out: &mut String) {
    let calls = match trace.tool_calls.as_deref() {
        None => return field(out, "calls", UNKNOWN),
        Some([]) => return field(out, "calls", "none"),
        Some(calls) => calls,
    };
    out.push_str("  calls\n");
    for (at, call) in calls.iter().enumerate() {
        out.push_str(&format!("    [{at}] {}\n", call_line(call)));
        let result = trace.result(at);
        if result.is_some_and(|result| result.shown.is_some()) {
            out.push_str("        the model was shown something else\n");
        }
        out.push_str(&format!("        {}\n", result.map_or_else(|| format!("answer {UNKNOWN}"), answered)));
        if let Some(fault) = result.and_then(|result| result.fault.as_deref()) {
            let (name, kind, effect, ms) = (one_line(&fault.name), fault.kind, fault.effect, fault.ms);
            out.push_str(&format!("        fault {name} ({kind}): {effect}, {ms} ms\n"));
        }
    }
}

fn call_line(call: &ToolCall) -> String {
    let server = match call.server.as_deref() {
        None => String::new(),
        Some("") => " on no server".to_owned(),
        Some(server) => format!(" on {}", one_line(server)),
    };
    let args = call.args.as_ref().map_or_else(|| format!("arguments {UNKNOWN}"), value);
    let asked = call.asked_args.as_ref().map_or_else(String::new, |asked| format!(", requested with {}", value(asked)));
    let caller = call.caller.as_ref().map_or_else(String::new, |caller| format!(", called by {}", value(caller)));
    let retry = call.retry_of.map_or_else(String::new, |of| format!(", repeats [{of}]"));
    format!("{}{server} {args}{asked}{caller}{retry}", one_line(&call.name))
}

fn answered(result: &ToolResult) -> String {
    let word = match result.failed() {
        Some(true) => "failed",
        Some(false) => "ok",
        None => "ok or failed is not recorded",
    };
    if let Some(error) = &result.error {
        let code = error.code.map_or_else(String::new, |code| format!(" {code}"));
        let message = printable(&json::cut(&error.message, MAX_VALUE)).into_owned();
        return format!("{word} ({}{code}): {message}", error.kind);
    }
    let text = match (&result.structured_content, &result.content) {
        (Some(structured), _) => value(structured),
        (None, Some(blocks)) => match &**blocks {
            [] => "nothing".to_owned(),
            // A single text is easier to read without its block.
            [only] if result.texts().count() == 1 && only.get("type").is_none_or(|kind| kind == "text") => {
                value(&Value::String(result.texts().collect()))
            }
            blocks => value(&blocks.iter().map(|block| (**block).clone()).collect()),
        },
        (None, None) => format!("answer {UNKNOWN}"),
    };
    format!("{word}: {text}")
}

fn tokens(tokens: &Tokens) -> String {
    let parts =
        [(tokens.input, "input"), (tokens.cached, "cached"), (tokens.output, "output"), (tokens.spent(), "total")];
    let parts: Vec<String> =
        parts.iter().filter_map(|(count, what)| count.map(|count| format!("{count} {what}"))).collect();
    if parts.is_empty() { UNKNOWN.to_owned() } else { parts.join(", ") }
}

fn end(conversation: &Conversation) -> String {
    let reason = conversation.stop_reason.map_or(UNKNOWN, |reason| reason.as_str());
    match conversation.duration_ms {
        Some(ms) => format!("{reason} after {ms} ms"),
        None => reason.to_owned(),
    }
}
