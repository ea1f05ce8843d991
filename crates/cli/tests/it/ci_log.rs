//! The log of a CI server: nothing that mcptest prints is a command to it, regardless of who wrote the text.

#[path = "../../src/console/runners.rs"]
mod runners;

use serde_json::{Value, json};

use self::runners::{HOSTILE, commands, is_invisible};
use super::Folder;

/// What every command is tried with: files with a hostile text wherever there is a text.
fn here(text: &str) -> Folder {
    let suite = json!({
        "models": { "demo": { "provider": "script", "script": "demo.yml" }, text: { "provider": "script", "script": text } },
        "agents": [{
            "name": text,
            "model": "demo",
            "prompt": text,
            "tags": [text],
            "trajectory": { "calls": [{ "name": text, "args": { "exact": { text: text } } }] },
            "expect": [
                { "target": "final_response", "matcher": { "exact": format!("{text}.") }, "message": text },
                { "target": "tool_calls[0].args", "matcher": { "contains": { text: format!("{text}.") } } },
            ],
            "narrative": { "aliases": { "send": [text] } },
        }],
    });
    let script = json!({ "script": 1, "runs": [{ "turns": [
        { "text": text, "calls": [{ "tool": format!("{text}x"), "args": { text: text } }] },
        { "text": format!("I sent it. {text}") },
    ] }] });
    let trace = |group: &str| {
        json!({
            "id": text, "group": group,
            "tool_calls": [{ "name": text, "server": text, "args": { text: text } }],
            "tool_results": [{ "is_error": true, "content": [{ "type": "text", "text": text }] }],
            "final_response": format!("I sent the mail. {text}"),
        })
    };
    let broken = format!("agents:\n  - nam: {text}\n    prompt: [{text}\n{text}: &x\n");
    let gates = json!({
        "narrative": {},
        "reliability": {},
        "trajectory": { "calls": [{ "name": format!("{text}y") }] },
        "expect": [{ "target": "final_response", "matcher": { "exact": text }, "message": text }],
    });
    Folder::with(&[
        ("suite.yml", &suite.to_string()),
        ("demo.yml", &script.to_string()),
        ("broken.yml", &broken),
        ("unknown.yml", &json!({ text: 1, "agents": [{ "name": text, text: text }] }).to_string()),
        ("traces.jsonl", &format!("{}\n{}\n", trace(text), trace(text))),
        (
            "bad.jsonl",
            &format!("{{\"tool_calls\": {text}\n{{\"tool_calls\": [{{\"name\": 1, {}: 2}}]}}\n", json!(text)),
        ),
        ("gates.yml", &gates.to_string()),
        ("tools.json", &json!({ "tools": [{ "name": text, "inputSchema": text }], text: 1 }).to_string()),
    ])
}

/// Commands that print untrusted text; `TEXT` is that text.
const LINES: [&[&str]; 46] = [
    &["run", "suite.yml", "--reporter", "json=run.json", "--reporter", "pretty=/dev/stderr"],
    &["run", "suite.yml", "--verbose"],
    &["run", "suite.yml", "--reporter", "json"],
    &["run", "suite.yml", "--reporter", "ndjson"],
    &["run", "suite.yml", "--reporter", "junit"],
    &["run", "suite.yml", "--reporter", "markdown"],
    &["run", "suite.yml", "--reporter", "html"],
    &["run", "suite.yml", "--reporter", "github"],
    &["run", "suite.yml", "--list"],
    &["run", "suite.yml", "--filter", "TEXT nowhere"],
    &["run", "suite.yml", "--tag", "TEXT nowhere"],
    &["run", "suite.yml", "broken.yml", "unknown.yml", "TEXT.yml"],
    &["run", "suite.yml", "broken.yml", "unknown.yml", "TEXT.yml", "--reporter", "github"],
    &["run", "suite.yml", "--reporter", "TEXT"],
    &["run", "suite.yml", "--reporter", "json=TEXT/x"],
    &["run", "suite.yml", "--record"],
    &["run", "suite.yml", "--live"],
    &["report", "run.json"],
    &["report", "run.json", "--compare", "run.json", "--reporter", "markdown"],
    &["report", "traces.jsonl"],
    &["cassette", "list", "suite.yml"],
    &["cassette", "list", "suite.yml", "--format", "json"],
    &["cassette", "show", "cassettes"],
    &["cassette", "show", "RECORDED"],
    &["cassette", "scan", "."],
    &["cassette", "scan", ".", "--format", "json"],
    &["cassette", "prune", "suite.yml"],
    &["validate", "."],
    &["validate", ".", "--format", "json"],
    &["validate", "broken.yml", "unknown.yml", "gates.yml", "TEXT"],
    &["score", "traces.jsonl"],
    &["score", "traces.jsonl", "--gates", "gates.yml"],
    &["score", "traces.jsonl", "bad.jsonl", "--gates", "gates.yml", "--verbose"],
    &["score", "traces.jsonl", "--gates", "gates.yml", "--output", "none", "--reporter", "pretty"],
    &["score", "traces.jsonl", "--gates", "gates.yml", "--output", "none", "--reporter", "github"],
    &["score", "traces.jsonl", "--gates", "unknown.yml"],
    &["score", "--merge", "parts.jsonl", "--gates", "gates.yml"],
    &["score", "--merge", "traces.jsonl"],
    &["score", "traces.jsonl", "--group-by", "TEXT"],
    &["convert", "traces.jsonl", "bad.jsonl"],
    &["explain", "TEXT"],
    &["explain", "error: TEXT", "unknown key `TEXT`"],
    &["init", "made", "--from-trace", "traces.jsonl"],
    &["mock", "--tools-from", "tools.json"],
    &["TEXT", "--TEXT"],
    &["runs", "--half-width", "TEXT"],
];

/// What a line prints, first on standard output and then on standard error.
fn printed(here: &Folder, line: &[&str], text: &str) -> [String; 2] {
    let recorded = || -> String {
        let mut folder = here.0.join("cassettes");
        while folder.is_dir() {
            folder = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        }
        folder.to_str().unwrap().to_owned()
    };
    let line: Vec<String> =
        line.iter().map(|word| if *word == "RECORDED" { recorded() } else { word.replace("TEXT", text) }).collect();
    let words: Vec<&str> = line.iter().map(String::as_str).collect();
    let output = here.command(&words).stdin(std::process::Stdio::null()).output().unwrap();
    assert!(matches!(output.status.code(), Some(0..=2)), "{words:?}: {:?}", output.status);
    [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn no_command_prints_a_command_to_a_ci_server() {
    let mut escaped = 0;
    for text in HOSTILE {
        let here = here(text);
        let parts = here.command(&["score", "traces.jsonl", "--gates", "gates.yml"]).output().unwrap();
        here.write("parts.jsonl", &parts.stdout);
        here.command(&["run", "suite.yml", "--record"]).output().unwrap();
        for line in LINES {
            let is_github = line.contains(&"github");
            let is_json = line.ends_with(&["--format", "json"])
                || line.ends_with(&["--reporter", "json"])
                || matches!(line[0], "convert")
                || (line[0] == "score" && !line.contains(&"--reporter"));
            let printed = printed(&here, line, text);
            for (at, shown) in printed.iter().enumerate() {
                let own = |name: &str| is_github && at == 0 && ["error", "notice", "warning"].contains(&name);
                let found: Vec<_> = commands(shown).into_iter().filter(|found| !own(&found.name)).collect();
                assert_eq!(found, [], "{line:?} with {text:?}");
                escaped += shown.matches("##\\u").count() + shown.matches(":\\u003a").count();
                // JSON is for programs.
                let hidden: String = shown.chars().filter(|c| is_invisible(*c)).collect();
                let is_for_people = at == 1 || !is_json;
                assert!(hidden.is_empty() || !is_for_people, "{line:?} prints {}", hidden.escape_unicode());
            }
            if is_json {
                let values = serde_json::Deserializer::from_str(&printed[0]).into_iter::<Value>();
                assert!(values.into_iter().all(|value| value.is_ok()), "{line:?} with {text:?}: {}", printed[0]);
            }
        }
    }
    // The texts were there.
    assert!(escaped > 1000, "{escaped}");
}
