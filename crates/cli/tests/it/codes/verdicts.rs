//! Verdicts that look wrong at first.

use super::{SCRIPT, TOOLS, desk, printed, suite};
use crate::Folder;
use mcptest_core::diag::Code;

/// What is printed of a test with these keys.
fn judged(keys: &str) -> String {
    printed(&desk(&suite(keys)), &["run", "ok.yml"])
}

/// The same with a dead tool.
fn suite_with_fault(tool: &str, keys: &str) -> String {
    let faults = format!("faults: [{{ name: dead, target: {{ tool: {tool} }}, kind: hang }}]\n");
    printed(&desk(&(faults + &suite(&format!("inject: [dead]\n    {keys}")))), &["run", "ok.yml"])
}

/// The same with another script.
fn scripted(script: &str, keys: &str) -> String {
    let here = desk(&suite(keys));
    here.write("demo.yml", script.as_bytes());
    printed(&here, &["run", "ok.yml"])
}

/// The part of a report from this row on; earlier rows have other failures.
fn row(report: &str, mark: &str) -> String {
    report[report.find(mark).unwrap()..].to_owned()
}

pub(super) fn provoked() -> Vec<(Code, String)> {
    let scored =
        Folder::with(&[("ok.jsonl", "{\"tool_calls\":[{\"name\":\"a\"}]}\n"), ("gates.yml", "narrative: {}\n")]);
    let deleted = "script: 1\nruns: [{ turns: [{ calls: [{ tool: delete_note }] }, { text: I deleted the note. }] }]\n";
    let many = "script: 1\nruns:\n  - turns:\n      - calls: [{ tool: search }, { tool: delete_note }, { tool: other }]\n      - text: Done.\n";
    let twice =
        "script: 1\nruns: [{ turns: [{ calls: [{ tool: search }, { tool: delete_note }] }, { text: Done. }] }]\n";
    let mixed =
        "script: 1\nruns:\n  - turns: [{ calls: [{ tool: search }] }, { text: Done. }]\n  - turns: [{ text: Done. }]\n";
    let half = suite("runs: 2\n    trajectory: { calls: [{ name: search }] }\n    stability: {}");
    let missing = Folder::with(&[("ok.yml", &half), ("demo.yml", SCRIPT), ("tools.yml", TOOLS)]);
    printed(&missing, &["run", "ok.yml", "--record"]);
    std::fs::remove_file(missing.0.join("cassettes/ok/finds-it-48ae7370/demo/2.json")).unwrap();
    let endless = "script: 1\nruns: [{ turns: [{ calls: [{ tool: search }] }, { calls: [{ tool: search }] }] }]\n";
    let cut = desk(&suite("max_turns: 2\n    trajectory: { mode: superset, calls: [{ name: search }] }"));
    cut.write("demo.yml", endless.as_bytes());
    let second = suite("trajectory: { calls: [{ name: delete_note }] }")
        + "  - { name: second, model: demo, servers: [desk], prompt: Find., trajectory: { calls: [{ name: search }] } }\n";
    vec![
        (Code::NotAssessable, printed(&scored, &["score", "ok.jsonl", "--gates", "gates.yml"])),
        (
            Code::AbsorbedRun,
            scripted(
                mixed,
                "runs: 2\n    trajectory: { calls: [{ name: search }] }\n    reliability: { expect: [{ target: reliability.pass_rate, matcher: { schema: { minimum: 40 } } }] }",
            ),
        ),
        (Code::ClaimWithoutCall, judged("trajectory: { calls: [{ name: search }] }\n    narrative: {}")),
        (
            Code::ClaimOfFailedCall,
            scripted(deleted, "trajectory: { calls: [{ name: delete_note }] }\n    narrative: {}"),
        ),
        (
            Code::DivergenceOverLimit,
            scripted(
                "script: 1\nruns: [{ turns: [{ calls: [{ tool: search }] }, { text: Done. }] }]\n",
                "trajectory: { calls: [{ name: search }] }\n    narrative: { max_divergence_score: 0 }",
            ),
        ),
        (Code::SelectsNothing, judged("expect: [{ target: \"tool_calls[1].name\", matcher: { exact: x } }]")),
        (Code::CannotBeJudged, judged("expect: [{ target: tool_calls, matcher: { regex: x } }]")),
        (Code::MissingCall, judged("trajectory: { calls: [{ name: search }, { name: delete_note }] }")),
        (Code::ExtraCall, scripted(twice, "trajectory: { calls: [{ name: search }] }")),
        (Code::CallMismatch, judged("trajectory: { calls: [{ name: search, args: { exact: { q: snow } } }] }")),
        (
            Code::WrongOrder,
            judged(
                "trajectory: { calls: [{ name: search }] }\n    trajectory_axes: { dependencies: [{ producer: delete_note, consumer: search }] }",
            ),
        ),
        (Code::WastedCalls, judged("trajectory: { calls: [{ name: search }] }\n    golden_path: { calls: [] }")),
        (Code::FaultNotHit, suite_with_fault("delete_note", "recovery: {}")),
        (Code::NotRecovered, suite_with_fault("search", "recovery: { require_call: true }")),
        (
            Code::ReliabilityFailed,
            judged(
                "runs: 2\n    expect: [{ target: final_response, matcher: { contains: found } }, { target: tool_names, matcher: { contains: search } }]\n    reliability: {}",
            ),
        ),
        (
            Code::TooFewRuns,
            judged(
                "runs: 2\n    expect: [{ target: tool_names, matcher: { contains: search } }]\n    reliability: { at_least: 0.9 }",
            ),
        ),
        (
            Code::UnstableRuns,
            scripted(many, "runs: 2\n    trajectory: { mode: superset, calls: [{ name: search }] }\n    stability: {}"),
        ),
        (Code::RunsWithErrors, row(&printed(&missing, &["run", "ok.yml"]), "finds it (stability)")),
        (Code::AssertionFailed, judged("expect: [{ target: tool_names, matcher: { contains: delete_note } }]")),
        (Code::RunCutOff, printed(&cut, &["run", "ok.yml", "--reporter", "json"])),
        (Code::SkippedTests, row(&printed(&desk(&second), &["run", "ok.yml", "--fail-fast"]), "- SKIPPED")),
    ]
}
