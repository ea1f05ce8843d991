//! From a server: a snapshot of its tools, calls of one to three of them with valid arguments, and gates for those.
//!
//! The suite uses the snapshot. The real server is in it as comments: the calls are generated, and must not reach a server that
//! does something.

use mcptest_core::diag::{Code, Failure, printable};
use mcptest_core::matcher::Schema;
use mcptest_core::redact::Redactor;
use mcptest_core::trace::{ToolCall, ToolResult};
use mcptest_core::{MatchResult, Trace, json};
use mcptest_runner::catalog::Tool;
use serde_json::{Map, Value, json};

use super::draft::Draft;
use super::files::{File, SUITE};
use super::gates::{self, Candidate, Variant};
use super::server::ListedServer;
use super::stop;
use super::suite::{Call, Script, Suite, Turn};
use super::yaml::{self, Dollar};
use crate::report::text::many;

/// The files it consists of.
pub(super) const NAMES: [&str; 3] = [SUITE, "mcptest/tools.json", "mcptest/script.yml"];

/// Most tools that the script calls.
const MOST: usize = 3;

/// The longest readable arguments, in bytes of JSON.
const READABLE: usize = 400;

/// A tool that the script calls.
#[derive(Debug, Clone, PartialEq)]
struct Chosen<'a> {
    name: &'a str,
    args: Value,
    /// The arguments match the tool's schema.
    fits: bool,
    /// Its description calls it deprecated.
    is_old: bool,
    caution: Caution,
}

/// How likely it is that a tool changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Caution {
    /// It says that it is read-only.
    ReadOnly,
    /// It says nothing, and its name sounds read-only.
    Looks,
    May,
}

pub(super) fn draft(server: ListedServer) -> Result<Draft, Failure> {
    let ListedServer { name, tools, real } = server;
    let server = server_name(name.as_deref(), &tools);
    let chosen = choose(&tools);
    if chosen.is_empty() {
        return Err(stop(
            Code::NoTools,
            "no tool of the server has a name that a suite can use",
            "give its tools names",
        ));
    }
    let names: Vec<&str> = chosen.iter().map(|chosen| chosen.name).collect();
    let listed: Vec<Value> = tools.iter().map(listing).collect();
    let snapshot = Redactor::new([]).value(json!({ "tools": listed }));
    let closing = format!("That is what {} returned.", in_words(&names));
    let trace = trace(&chosen, &closing);
    let gates = [trajectory(&chosen), gates::golden_path(&names), gates::narrative()]
        .map(|candidate| candidate.settle(&[&trace]))
        .to_vec();
    let count = many(tools.len(), "tool");
    let about_cwd = real.lines.iter().any(|line| line.starts_with("cwd: ")).then(|| {
        "`cwd` is the folder in which `mcptest init` was run, so that relative paths in the command still work."
            .to_owned()
    });
    let suite = Suite {
        about: vec![
            format!(
                "Generated from the {count} of a server. It passes right away: `mcptest run` needs no key, no network and no model."
            ),
            "A script (mcptest/script.yml) replaces the model and calls some of them. A mock server answers from a snapshot of \
             the tools (mcptest/tools.json), so no tool of the real server is called."
                .to_owned(),
        ],
        server: server.clone(),
        tools: NAMES[1],
        about_server: vec![
            "A mock server with the tools of the real one. The lines below it are the real server: replace the mock with them \
             once you use a real model. The calls of the script have made-up arguments."
                .to_owned(),
        ]
        .into_iter()
        .chain(about_cwd)
        .collect(),
        real: real.lines.clone(),
        test: "calls the requested tools",
        about_prompt: Some(
            "The calls below must have these values. When you use the real server, change them here, below and in \
             mcptest/script.yml together."
                .to_owned(),
        ),
        prompt: prompt(&chosen),
        max_turns: None,
        gates,
    };
    let mut turns: Vec<Turn> = chosen
        .iter()
        .map(|chosen| Turn {
            calls: vec![Call { tool: chosen.name.to_owned(), args: chosen.args.clone() }],
            ..Turn::default()
        })
        .collect();
    turns.push(Turn { text: Some(closing), ..Turn::default() });
    let about = vec![
        "The replies of the scripted model, turn by turn. The arguments are generated from the schemas of the tools; write \
         your own."
            .to_owned(),
    ];
    let script = Script { about, turns, tokens: None };
    let what = [
        "the suite: server, model, test",
        "a snapshot of the tools, for the mock server",
        "the script that replaces the model",
    ];
    let texts = [suite.text(), yaml::json(&snapshot), script.text()];
    let files = NAMES.into_iter().zip(what).zip(texts).map(|((name, what), text)| File { name, what, text });
    let called: Vec<String> = names.iter().map(|name| json::cut(&printable(name), 60)).collect();
    let mut lines = vec![format!(
        "The server `{server}` has {count}; the script calls {}.\nIt was stopped, and none of its tools was called: the suite runs against the snapshot.",
        called.join(", ")
    )];
    lines.extend(caution(&chosen));
    let mut notes = Vec::new();
    if !real.hidden.is_empty() {
        let hidden: Vec<String> = real.hidden.iter().map(|name| format!("${{{name}}}")).collect();
        notes.push(format!(
            "values that may be secret were not written; the suite reads them from {}",
            hidden.join(", ")
        ));
    }
    Ok(Draft { files: files.collect(), lines, notes })
}

/// A warning about tools that may change something.
fn caution(chosen: &[Chosen<'_>]) -> Option<String> {
    let is_safe = chosen.iter().all(|chosen| chosen.caution == Caution::ReadOnly);
    (!is_safe).then(|| {
        "No tool says of itself that it only reads (readOnlyHint), so look at the script before you\n\
                        let it talk to the real server."
            .to_owned()
    })
}

/// A tool as `tools/list` has it.
fn listing(tool: &Tool) -> Value {
    let mut out = Map::from_iter([("name".to_owned(), json!(tool.name))]);
    out.extend(tool.description.as_ref().map(|text| ("description".to_owned(), json!(text))));
    out.insert("inputSchema".to_owned(), tool.input_schema.clone());
    out.extend(tool.annotations.as_ref().map(|value| ("annotations".to_owned(), value.clone())));
    out.extend(tool.other.clone());
    Value::Object(out)
}

/// A name for the suite, as close to the server's own as possible.
fn server_name(own: Option<&str>, tools: &[Tool]) -> String {
    const LONGEST: usize = 40;
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = own.unwrap_or_default().chars().map(plain).collect();
    let parts: Vec<&str> = name.split('-').filter(|part| !part.is_empty()).collect();
    let name: String = parts.join("-").chars().take(LONGEST).collect();
    let name = name.trim_end_matches('-');
    // A tool with this prefix would look like a tool with the prefix of the server.
    let is_prefix = tools.iter().any(|tool| tool.name.split_once("__").is_some_and(|(before, _)| before == name));
    if name.starts_with(|c: char| c.is_ascii_lowercase()) && !is_prefix { name.to_owned() } else { "tested".to_owned() }
}

/// One to three tools to call: read-only ones, otherwise one that is probably harmless. The choice is deterministic.
fn choose(tools: &[Tool]) -> Vec<Chosen<'_>> {
    // A suite cannot name a tool with a blank name.
    let named = tools.iter().filter(|tool| !tool.name.trim().is_empty());
    let mut all: Vec<(usize, Chosen<'_>)> = named.map(chosen).enumerate().collect();
    let is_long = |chosen: &Chosen<'_>| json::canonical(&chosen.args).len() > READABLE;
    // The safest come first, then those with valid and readable arguments.
    all.sort_by_key(|(at, chosen)| {
        (chosen.caution == Caution::May, !chosen.fits, chosen.is_old || is_long(chosen), chosen.caution, *at)
    });
    let first = all.first().map(|(_, chosen)| (chosen.caution, chosen.fits));
    let most = if first.is_some_and(|(caution, _)| caution == Caution::May) { 1 } else { MOST };
    let mut out: Vec<(usize, Chosen<'_>)> =
        all.into_iter().filter(|(_, chosen)| Some((chosen.caution, chosen.fits)) == first).take(most).collect();
    out.sort_by_key(|(at, _)| *at);
    out.into_iter().map(|(_, chosen)| chosen).collect()
}

fn chosen(tool: &Tool) -> Chosen<'_> {
    let args = mcptest_mock::sample(&tool.input_schema);
    let args = if args.is_object() { args } else { json!({}) };
    let fits = Schema::foreign(&tool.input_schema).is_ok_and(|schema| schema.check(&args) == MatchResult::Holds);
    let hint = |name: &str| tool.annotations.as_ref().and_then(|hints| hints.get(name)).and_then(Value::as_bool);
    let caution = match hint("readOnlyHint") {
        Some(true) => Caution::ReadOnly,
        None if hint("destructiveHint") != Some(true) && looks(&tool.name) => Caution::Looks,
        _ => Caution::May,
    };
    let is_old = tool.description.as_ref().is_some_and(|text| text.to_lowercase().contains("deprecated"));
    Chosen { name: &tool.name, args, fits, is_old, caution }
}

/// Whether a name begins with a verb of read-only tools.
fn looks(name: &str) -> bool {
    const WORDS: [&str; 14] = [
        "check", "count", "describe", "echo", "fetch", "find", "get", "list", "lookup", "query", "read", "search",
        "show", "view",
    ];
    let word: String = name.chars().take_while(char::is_ascii_alphabetic).collect();
    // Words may be joined in camel case, as in `listFiles`.
    let joint =
        word.as_bytes().windows(2).position(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let end = joint.map_or(word.len(), |at| at + 1);
    WORDS.contains(&word[..end].to_ascii_lowercase().as_str())
}

/// The prompt: the calls with their arguments, since the gates require both.
fn prompt(chosen: &[Chosen<'_>]) -> String {
    let call = |chosen: &Chosen<'_>| {
        let has_args = chosen.args.as_object().is_some_and(|args| !args.is_empty());
        let args = if has_args {
            format!("with the arguments {}", json::canonical(&chosen.args))
        } else {
            "without arguments".to_owned()
        };
        format!("{} {args}", chosen.name)
    };
    let calls: Vec<String> = chosen.iter().map(call).collect();
    format!("Call {}. Then say what came back.", calls.join(", then "))
}

/// `a`, `a and b`, `a, b and c`.
fn in_words(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// The trace that a run of these files produces, with the parts that gates need.
fn trace(chosen: &[Chosen<'_>], closing: &str) -> Trace {
    let call = |chosen: &Chosen<'_>| ToolCall {
        name: chosen.name.to_owned(),
        args: Some(chosen.args.clone()),
        ..ToolCall::default()
    };
    let result = |chosen: &Chosen<'_>| {
        Some(ToolResult { is_error: Some(!chosen.fits), content: Some(Vec::new()), ..ToolResult::default() })
    };
    Trace {
        tool_calls: Some(chosen.iter().map(call).collect()),
        tool_results: Some(chosen.iter().map(result).collect()),
        final_response: Some(closing.into()),
        ..Trace::default()
    }
}

fn trajectory(chosen: &[Chosen<'_>]) -> Candidate {
    let mut about =
        vec!["The calls in this order, with these arguments. See it fail: change an argument below.".to_owned()];
    if chosen.iter().any(|chosen| !chosen.fits) {
        about.push("No arguments that fit its schema could be made up, so the mock answers with an error.".to_owned());
    }
    let mut lines = vec!["trajectory:".to_owned(), "  calls:".to_owned()];
    lines.extend(chosen.iter().map(|chosen| {
        let name = yaml::text(chosen.name, Dollar::Sign);
        let args = yaml::value(&json!({ "exact": chosen.args }), Dollar::Sign);
        let status = if chosen.fits { "ok" } else { "error" };
        format!("    - {{ name: {name}, args: {args}, status: {status} }}")
    }));
    Candidate { gate: "trajectory", ways: vec![Variant { about, lines }] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, annotations: Value, schema: Value) -> Tool {
        Tool {
            name: name.to_owned(),
            description: None,
            input_schema: schema,
            annotations: Some(annotations).filter(|value| !value.is_null()),
            other: Map::new(),
        }
    }

    fn names(tools: &[Tool]) -> Vec<&str> {
        choose(tools).into_iter().map(|chosen| chosen.name).collect()
    }

    #[test]
    fn only_read_only_tools_are_called() {
        let read = || json!({ "readOnlyHint": true });
        let object = || json!({ "type": "object" });
        let tools = [
            tool("delete", json!({ "destructiveHint": true }), object()),
            tool("get_a", Value::Null, object()),
            tool("b", read(), object()),
            tool("c", read(), object()),
            tool("d", read(), object()),
            tool("e", read(), object()),
        ];
        assert_eq!(names(&tools), ["b", "c", "d"]);
        assert_eq!(names(&tools[..3]), ["b"]);
        assert_eq!(names(&tools[..2]), ["get_a"]);
        assert_eq!(names(&tools[..1]), ["delete"]);
    }

    #[test]
    fn tools_whose_arguments_cannot_be_made_up_come_last() {
        let read = || json!({ "readOnlyHint": true });
        let odd = json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "string", "pattern": "^[0-9]{9}$" } } });
        let tools = [tool("a", read(), odd.clone()), tool("b", read(), json!({ "type": "object" }))];
        assert_eq!(names(&tools), ["b"]);
        let only = choose(&tools[..1]);
        assert_eq!(
            only,
            [Chosen {
                name: "a",
                args: json!({ "a": "text" }),
                fits: false,
                is_old: false,
                caution: Caution::ReadOnly
            }]
        );
    }

    #[test]
    fn read_only_tools_are_recognized_by_name() {
        for name in ["get_user", "listFiles", "search", "READ-file", "find.it"] {
            assert!(looks(name), "{name}");
        }
        for name in ["getaway", "delete_user", "setReadOnly", "", "søk"] {
            assert!(!looks(name), "{name}");
        }
    }

    #[test]
    fn a_server_keeps_its_name_as_far_as_a_suite_allows() {
        let check = |own: Option<&str>, expected: &str| assert_eq!(server_name(own, &[]), expected);
        check(Some("secure-filesystem-server"), "secure-filesystem-server");
        check(Some("My Server (v2)!"), "my-server-v2");
        check(Some("7zip"), "tested");
        check(Some("søk"), "s-k");
        check(None, "tested");
        let tools = [tool("fs__read", Value::Null, json!({}))];
        assert_eq!(server_name(Some("fs"), &tools), "tested");
    }
}
