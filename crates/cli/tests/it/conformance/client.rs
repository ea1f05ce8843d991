//! The scenarios for clients. Each is a server that the suite starts; `mcptest run` plays a script against it.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::judge::Judge;
use super::{REVISIONS, Running, Suite, checks};
use crate::Folder;

/// A scenario: its name, the revisions it is run in, the calls of the script, and what comes back: whether it is an error, and
/// the text.
struct Scenario {
    name: &'static str,
    revisions: &'static [&'static str],
    calls: Vec<(&'static str, Value)>,
    results: Vec<(bool, &'static str)>,
}

const LEGACY: &[&str] = &[REVISIONS[0]];
const MODERN: &[&str] = &[REVISIONS[1]];

const SUITE: &str = "\
models: { demo: { provider: script, script: script.yml } }
servers: { far: { url: \"${CONFORMANCE_URL}\", timeout_ms: 10000 } }
agents:
  - name: t
    model: demo
    servers: [far]
    prompt: Go.
    max_turns: 30
    trajectory: { mode: subset, calls: [] }
";

fn scenarios() -> Vec<Scenario> {
    let scenario = |name, revisions, calls: Vec<_>, results: Vec<_>| {
        assert_eq!(calls.len(), results.len(), "{name}");
        Scenario { name, revisions, calls, results }
    };
    // None of these is offered, so the calls reach no server.
    let invalid = [
        ("invalid_empty_header", "unknown tool: invalid_empty_header"),
        ("invalid_object_header", "unknown tool: invalid_object_header"),
        ("invalid_array_header", "unknown tool: invalid_array_header"),
        ("invalid_null_header", "unknown tool: invalid_null_header"),
        ("invalid_number_header", "unknown tool: invalid_number_header"),
        ("invalid_duplicate_same_case", "unknown tool: invalid_duplicate_same_case"),
        ("invalid_duplicate_diff_case", "unknown tool: invalid_duplicate_diff_case"),
        ("invalid_space_in_name", "unknown tool: invalid_space_in_name"),
        ("invalid_colon_in_name", "unknown tool: invalid_colon_in_name"),
        ("invalid_non_ascii_name", "unknown tool: invalid_non_ascii_name"),
        ("invalid_control_char_name", "unknown tool: invalid_control_char_name"),
    ];
    let declined = "the server asked for input (`input_required`), which mcptest declines";
    let custom = json!({
        "region": "us-west1", "priority": 42, "verbose": false, "debug": true, "empty_val": "",
        "method_val": "test-method", "float_val": 2.5, "non_ascii_val": "Hello, 世界", "whitespace_val": " padded ",
        "leading_space_val": " us-west1", "trailing_space_val": "us-west1 ", "internal_space_val": "us west 1",
        "control_char_val": "line1\nline2", "crlf_val": "line1\r\nline2", "tab_val": "\tindented",
        "query": "SELECT * FROM users",
    });
    let nothing = || json!({});
    vec![
        scenario("initialize", LEGACY, vec![], vec![]),
        scenario(
            "tools_call",
            &REVISIONS,
            vec![("add_numbers", json!({ "a": 2, "b": 3 }))],
            vec![(false, "The sum of 2 and 3 is 5")],
        ),
        scenario(
            "elicitation-sep1034-client-defaults",
            LEGACY,
            vec![("test_client_elicitation_defaults", nothing())],
            vec![(false, "Elicitation was not accepted")],
        ),
        scenario(
            "sse-retry",
            LEGACY,
            vec![("test_reconnection", nothing())],
            vec![(false, "Reconnection test completed successfully")],
        ),
        scenario("request-metadata", MODERN, vec![], vec![]),
        scenario(
            "sep-2322-client-request-state",
            MODERN,
            ["test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state", "test_mrtr_no_result_type"]
                .map(|tool| (tool, json!({})))
                .to_vec(),
            vec![(true, declined), (false, "unrelated-ok"), (true, declined), (false, "no-result-type-test-ok")],
        ),
        scenario(
            "http-standard-headers",
            MODERN,
            vec![("test_headers", nothing()), ("my-hyphenated-tool", nothing())],
            vec![(false, "Headers test completed"); 2],
        ),
        scenario(
            "http-custom-headers",
            MODERN,
            vec![
                ("test_custom_headers", custom),
                (
                    "test_custom_headers_null",
                    json!({ "region": "us-east1", "priority": 1, "verbose": null, "query": "SELECT 1" }),
                ),
            ],
            vec![(false, "Custom headers test completed"); 2],
        ),
        scenario(
            "http-invalid-tool-headers",
            MODERN,
            [("valid_tool", json!({ "region": "us-west1" }))]
                .into_iter()
                .chain(invalid.map(|(tool, _)| (tool, json!({}))))
                .collect(),
            [(false, "Tool call received")].into_iter().chain(invalid.map(|(_, text)| (true, text))).collect(),
        ),
        scenario("json-schema-ref-no-deref", MODERN, vec![], vec![]),
        scenario(
            "json-schema-2020-12-preservation",
            &REVISIONS,
            vec![("json_schema_echo", json!({ "schema": "that of json_schema_2020_12_tool" }))],
            vec![(false, "echoed")],
        ),
    ]
}

/// Runs the script, and returns the recording.
fn record(here: &Folder, url: &str, calls: &[(&str, Value)]) -> Value {
    let turn = |(tool, args): &(&str, Value)| json!({ "calls": [{ "tool": tool, "args": args }] });
    let turns: Vec<Value> = calls.iter().map(turn).chain([json!({ "text": "Done." })]).collect();
    let script = json!({ "script": 1, "runs": [{ "turns": turns }] });
    here.write("script.yml", script.to_string().as_bytes());
    let mut command = here.command(&["run", "suite.yml", "--record"]);
    let output = command.env("CONFORMANCE_URL", url).output().unwrap();
    let cassette = here.0.join("cassettes/suite/t/demo/1.json");
    assert!(cassette.exists(), "{output:?}");
    serde_json::from_slice(&fs::read(cassette).unwrap()).unwrap()
}

impl Scenario {
    /// Runs the scenario, and returns its checks.
    fn run(&self, suite: &Suite, revision: &str) -> Vec<Value> {
        let here = Folder::with(&[("suite.yml", SUITE)]);
        let out = here.0.join("out");
        let line = ["client", "--scenario", self.name, "--spec-version", revision, "-o", out.to_str().unwrap()];
        let (mut server, url) = Running::start(&mut suite.command(&line), "Server URL: ");
        let mut calls = self.calls.clone();
        if self.name == "json-schema-2020-12-preservation" {
            // What the client saw of a schema is what it calls a tool with.
            let seen = record(&here, &url, &[]);
            let tools = seen["observed"]["servers"]["far"]["tools"].as_array().unwrap();
            let tool = tools.iter().find(|tool| tool["name"] == "json_schema_2020_12_tool").unwrap();
            calls[0].1["schema"] = tool["input_schema"].clone();
        }
        let cassette = record(&here, &url, &calls);
        server.stop();
        let results: Vec<(bool, &str)> = cassette["trace"]["tool_results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|result| (result["is_error"].as_bool().unwrap(), result["content"][0]["text"].as_str().unwrap()))
            .collect();
        assert_eq!(results, self.results, "{} in {revision}", self.name);
        let protocol = cassette["observed"]["servers"]["far"]["protocol"].as_str().unwrap();
        assert_eq!(protocol == REVISIONS[1], revision == REVISIONS[1], "{} in {revision}: {protocol}", self.name);
        let folders: Vec<PathBuf> = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(folders.len(), 1, "{folders:?}");
        checks(&folders[0]).1
    }
}

#[test]
fn the_client_conforms() {
    let Some(suite) = Suite::new() else { return };
    let mut judge = Judge::new("client", suite.scenarios("--client"));
    for scenario in scenarios() {
        assert!(!judge.leaves_out(scenario.name), "{} is run, and on the list of what does not apply", scenario.name);
        for revision in scenario.revisions {
            judge.take(scenario.name, revision, &scenario.run(&suite, revision));
        }
    }
    judge.finish();
}
