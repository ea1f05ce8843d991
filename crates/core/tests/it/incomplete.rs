//! Assertions on envelopes with missing evidence.

use mcptest_core::assertion::Check;
use mcptest_core::suite::Gates;
use mcptest_core::{Assertion, Scope, Verdict, judge};
use serde_json::{Value, json};

use crate::support::read;

/// What an assertion says: `pass`, `fail`, or why it is not assessable.
fn check(target: &str, matcher: &Value, envelope: &Value) -> String {
    let assertion = Assertion::compile(Scope::Envelope, target, matcher, None).unwrap_or_else(|why| panic!("{why}"));
    match assertion.check(envelope) {
        Check::Pass => "pass".to_owned(),
        Check::Fail { .. } => "fail".to_owned(),
        Check::Unassessable { reason } => {
            let start = format!("`{target}` is not assessable: ");
            reason.strip_prefix(&start).unwrap_or_else(|| panic!("{reason}")).to_owned()
        }
    }
}

fn table(envelope: Value, cases: &[(&str, Value, &str)]) {
    for (target, matcher, expected) in cases {
        assert_eq!(check(target, matcher, &envelope), *expected, "{target} {matcher}");
    }
}

/// Three calls; the last result is null.
fn one_result_missing() -> Value {
    json!({
        "tool_calls": [{ "name": "a", "args": { "path": "/tmp/x" } }, { "name": "b", "args": {} }, { "name": "c" }],
        "tool_results": [
            { "is_error": false, "content": [{ "type": "text", "text": "one" }] },
            { "is_error": true, "content": [{ "type": "text", "text": "two" }], "error": { "kind": "tool", "message": "two" } },
            null,
        ],
    })
}

const NO_RESULT: &str = "`tool_results[2]` was not recorded";

#[test]
fn a_list_with_a_missing_result_is_decided_by_known_results_or_unassessable() {
    table(
        one_result_missing(),
        &[
            ("tool_results[*].is_error", json!({ "contains": true }), "pass"),
            ("tool_results[*].is_error", json!({ "not": { "contains": true } }), "fail"),
            ("tool_results[*].is_error", json!({ "not": { "not": { "contains": true } } }), "pass"),
            ("tool_results[*].is_error", json!({ "contains-all": [true, false] }), "pass"),
            ("tool_results[*].is_error", json!({ "not": { "contains-all": [true, false] } }), "fail"),
            ("tool_results[*].is_error", json!({ "exact": [false, true] }), NO_RESULT),
            ("tool_results[*].is_error", json!({ "exact": [false, true, true] }), NO_RESULT),
            ("tool_results[*].is_error", json!({ "exact": [false] }), "fail"),
            ("tool_results[*].is_error", json!({ "exact": [true, true, true] }), "fail"),
            ("tool_results[*].is_error", json!({ "not": { "exact": [true, false] } }), "pass"),
            ("tool_results[*].is_error", json!({ "not": { "exact": [false, true] } }), NO_RESULT),
            ("tool_results[*].is_error", json!({ "schema": { "items": { "const": false } } }), "fail"),
            ("tool_results[*].is_error", json!({ "schema": { "items": { "type": "boolean" } } }), NO_RESULT),
            ("tool_results[*].is_error", json!({ "schema": { "contains": { "const": true } } }), "pass"),
            ("tool_results[*].is_error", json!({ "schema": { "contains": { "const": 1 } } }), NO_RESULT),
            ("tool_results[*].is_error", json!({ "schema": { "minItems": 2 } }), "pass"),
            ("tool_results[*].is_error", json!({ "schema": { "minItems": 3 } }), NO_RESULT),
            ("tool_results[*].is_error", json!({ "schema": { "maxItems": 1 } }), "fail"),
            ("tool_results[*].is_error", json!({ "schema": { "maxItems": 9 } }), NO_RESULT),
            ("tool_results[*].content[*].text", json!({ "contains": "tw" }), "pass"),
            ("tool_results[*].content[*].text", json!({ "contains": "three" }), NO_RESULT),
            ("tool_results[*].content[*].text", json!({ "not": { "contains": "three" } }), NO_RESULT),
            ("tool_results[*].content[*].text", json!({ "icontains": "TWO" }), "pass"),
            ("tool_results[*].content[*].text", json!({ "icontains": "three" }), NO_RESULT),
            ("tool_results[*].content[*].text", json!({ "not": { "icontains": "TWO" } }), "fail"),
            ("tool_results[*].content[*].text", json!({ "regex": "^t" }), "pass"),
            ("tool_results[*].content[*].text", json!({ "regex": "^x" }), NO_RESULT),
            ("tool_results[*].content[*].text", json!({ "not": { "regex": "^x" } }), NO_RESULT),
            ("tool_results[*].content[*].text", json!({ "not": { "regex": "^t" } }), "fail"),
            ("tool_results[*].content[*].text", json!({ "contains": ["one"] }), "pass"),
            ("tool_results[*].content[*].text", json!({ "contains": ["one", "one"] }), NO_RESULT),
            ("tool_results[*].content[*].text", json!({ "not": { "contains": ["one", "one"] } }), NO_RESULT),
            // The calls are all there, and so is everything that does not depend on the missing one.
            ("tool_calls[*].name", json!({ "not": { "contains": "delete" } }), "pass"),
            ("tool_results[0].is_error", json!({ "exact": false }), "pass"),
            ("tool_results[1].content[0].text", json!({ "exact": "two" }), "pass"),
        ],
    );
}

#[test]
fn a_path_into_missing_evidence_is_unassessable() {
    table(
        one_result_missing(),
        &[
            ("tool_results[2].is_error", json!({ "exact": false }), NO_RESULT),
            ("tool_results[2].is_error", json!({ "not": { "exact": true } }), NO_RESULT),
            ("tool_results[-1].is_error", json!({ "exact": true }), "`tool_results[-1]` was not recorded"),
            ("tool_results[2]", json!({ "exact": null }), NO_RESULT),
            ("tool_results[-1]", json!({ "schema": { "type": "object" } }), "`tool_results[-1]` was not recorded"),
            ("tool_calls[-1].args.path", json!({ "exact": "x" }), "`tool_calls[-1].args` was not recorded"),
            ("tool_calls[2].args", json!({ "exact": {} }), "`tool_calls[2].args` was not recorded"),
            ("tool_calls[2].server", json!({ "exact": "s" }), "`tool_calls[2].server` was not recorded"),
            ("final_response", json!({ "contains": "x" }), "`final_response` was not recorded"),
            ("conversation.tokens.total", json!({ "schema": { "maximum": 5 } }), "`conversation` was not recorded"),
        ],
    );
    table(
        json!({ "final_response": "ok", "conversation": { "tokens": { "input": 5 } } }),
        &[
            ("tool_calls", json!({ "exact": [] }), "`tool_calls` was not recorded"),
            ("tool_calls[*].name", json!({ "not": { "contains": "x" } }), "`tool_calls` was not recorded"),
            ("tool_names", json!({ "not": { "contains": "x" } }), "`tool_names` was not recorded"),
            ("tool_results[*].is_error", json!({ "exact": [] }), "`tool_results` was not recorded"),
            ("conversation.tokens.total", json!({ "exact": 5 }), "`conversation.tokens.total` was not recorded"),
            ("conversation.tokens.input", json!({ "exact": 5 }), "pass"),
            ("conversation.turns[*].role", json!({ "exact": [] }), "`conversation.turns` was not recorded"),
        ],
    );
}

#[test]
fn a_value_known_to_be_absent_fails() {
    table(
        one_result_missing(),
        &[
            ("tool_calls[0].args.city", json!({ "exact": "x" }), "fail"),
            ("tool_calls[0].args.city", json!({ "not": { "exact": "x" } }), "fail"),
            ("tool_calls[3].name", json!({ "exact": "x" }), "fail"),
            ("tool_results[3].is_error", json!({ "exact": false }), "fail"),
            ("tool_results[-4].is_error", json!({ "exact": false }), "fail"),
            ("tool_calls[*].caller.type", json!({ "not": { "contains": "x" } }), "fail"),
            ("tool_calls[0].id", json!({ "exact": "x" }), "fail"),
            ("tool_results[0].error.kind", json!({ "exact": "tool" }), "fail"),
            ("tool_results[0].fault.name", json!({ "exact": "f" }), "fail"),
            ("tool_results[0].structured_content.x", json!({ "exact": 1 }), "fail"),
        ],
    );
    // Elements that are known not to have the rest are left out.
    table(
        json!({
            "tool_calls": [{ "name": "a", "args": { "path": "x" } }, { "name": "b", "args": {} }],
            "tool_results": [{ "is_error": false }, { "is_error": true, "error": { "kind": "http", "message": "no" } }],
        }),
        &[
            ("tool_calls[*].args.path", json!({ "exact": ["x"] }), "pass"),
            ("tool_calls[*].args.path", json!({ "not": { "contains": "y" } }), "pass"),
            ("tool_results[*].error.kind", json!({ "exact": ["http"] }), "pass"),
        ],
    );
}

#[test]
fn a_short_or_absent_list_of_results_has_one_per_call() {
    let calls = json!([{ "name": "a" }, { "name": "b" }]);
    let no_error = json!({ "not": { "contains": true } });
    for (results, expected) in [
        (json!([]), "`tool_results[0]` was not recorded (and 1 more)"),
        (json!(null), "`tool_results[0]` was not recorded (and 1 more)"),
        (json!([{ "is_error": false }]), "`tool_results[1]` was not recorded"),
        (json!([{ "is_error": false }, {}]), "`tool_results[1].is_error` was not recorded"),
        (json!([{ "is_error": false }, { "is_error": null }]), "`tool_results[1].is_error` was not recorded"),
        (
            json!([{ "is_error": false }, { "is_error": false, "error": { "kind": "tool", "message": "x" } }]),
            "`tool_results[1].is_error` is false next to an error",
        ),
        (json!([{ "is_error": false }, { "is_error": false }]), "pass"),
        (json!([{ "is_error": true }]), "fail"),
    ] {
        let envelope = json!({ "tool_calls": calls, "tool_results": results });
        assert_eq!(check("tool_results[*].is_error", &no_error, &envelope), expected, "{envelope}");
    }
    let short = json!({ "tool_calls": calls, "tool_results": [{ "is_error": false }] });
    table(
        short,
        &[
            ("tool_results[-1].is_error", json!({ "exact": false }), "`tool_results[-1]` was not recorded"),
            ("tool_results[-2].is_error", json!({ "exact": false }), "pass"),
            ("tool_results", json!({ "schema": { "minItems": 2 } }), "pass"),
            ("tool_results", json!({ "schema": { "maxItems": 1 } }), "fail"),
        ],
    );
    // Nothing was called, so there are no results, whether or not that was recorded.
    assert_eq!(check("tool_results[*].is_error", &no_error, &json!({ "tool_calls": [] })), "pass");
}

#[test]
fn missing_or_unparsed_arguments_prove_nothing_about_their_content() {
    let no_args = "`tool_calls[1].args` was not recorded";
    table(
        json!({ "tool_calls": [{ "name": "a", "args": { "path": "x" } }, { "name": "b" }] }),
        &[
            ("tool_calls[*].args.path", json!({ "not": { "contains": "/etc" } }), no_args),
            ("tool_calls[*].args.path", json!({ "contains": "x" }), "pass"),
            ("tool_calls[*].args", json!({ "not": { "contains": { "path": "/etc" } } }), no_args),
            ("tool_calls[*].args", json!({ "contains": { "path": "x" } }), "pass"),
        ],
    );
    let not_parsed = "`tool_calls[1].args` could not be parsed";
    table(
        json!({ "tool_calls": [{ "name": "a", "args": { "path": "x" } }, { "name": "b", "args": "{\"path\": \"/etc" }] }),
        &[
            ("tool_calls[*].args.path", json!({ "not": { "contains": "/etc" } }), not_parsed),
            ("tool_calls[*].args.path", json!({ "contains": "x" }), "pass"),
            ("tool_calls[*].args", json!({ "not": { "contains": { "path": "/etc" } } }), not_parsed),
            ("tool_calls[1].args.path", json!({ "exact": "/etc" }), not_parsed),
            ("tool_calls[1].args", json!({ "exact": { "path": "/etc" } }), not_parsed),
            ("tool_calls[1].args", json!({ "not": { "exact": { "path": "/etc" } } }), not_parsed),
            ("tool_calls[1].args", json!({ "schema": { "type": "object" } }), not_parsed),
            // As a text it is known.
            ("tool_calls[1].args", json!({ "contains": "/etc" }), "pass"),
            ("tool_calls[1].args", json!({ "regex": "passwd" }), "fail"),
            ("tool_calls[1].args", json!({ "exact": "{\"path\": \"/etc" }), "pass"),
        ],
    );
}

#[test]
fn calls_and_results_are_judged_by_their_known_parts() {
    let envelope = json!({
        "tool_calls": [
            { "name": "a", "server": "s", "turn": 0, "args": { "x": 1 } },
            { "name": "b", "server": "s", "turn": 0 },
        ],
        "tool_results": [{ "is_error": false, "content": [], "duration_ms": 1 }, null],
    });
    let no_args = "`tool_calls[1].args` was not recorded";
    let no_result = "`tool_results[1]` was not recorded";
    table(
        envelope,
        &[
            ("tool_calls", json!({ "contains": { "name": "b" } }), "pass"),
            ("tool_calls", json!({ "not": { "contains": { "name": "delete" } } }), "pass"),
            ("tool_calls", json!({ "not": { "contains": { "args": { "force": true } } } }), no_args),
            ("tool_calls", json!({ "contains": { "name": "b", "args": {} } }), no_args),
            ("tool_calls", json!({ "not": { "contains": { "name": "a", "args": { "x": 2 } } } }), "pass"),
            ("tool_calls", json!({ "contains": [{ "name": "a" }, { "name": "b" }] }), "pass"),
            ("tool_calls", json!({ "contains": [{ "args": {} }, { "args": {} }] }), no_args),
            ("tool_calls", json!({ "contains": [{ "args": { "y": 1 } }, { "args": {} }] }), no_args),
            ("tool_calls", json!({ "contains": [{ "args": { "y": 1 } }, { "args": { "z": 1 } }] }), "fail"),
            ("tool_calls", json!({ "schema": { "maxItems": 2, "minItems": 1, "type": "array" } }), "pass"),
            ("tool_calls", json!({ "schema": { "items": { "required": ["name"] } } }), "pass"),
            ("tool_calls", json!({ "schema": { "items": { "required": ["args"] } } }), no_args),
            ("tool_calls", json!({ "schema": { "items": { "properties": { "name": { "const": "a" } } } } }), "fail"),
            ("tool_calls", json!({ "schema": { "items": { "not": { "required": ["id"] } } } }), "pass"),
            ("tool_calls", json!({ "schema": { "uniqueItems": true } }), no_args),
            ("tool_calls[1]", json!({ "exact": { "name": "b", "server": "s", "turn": 0 } }), no_args),
            ("tool_calls[1]", json!({ "exact": { "name": "c", "server": "s", "turn": 0 } }), "fail"),
            ("tool_calls[1]", json!({ "exact": { "name": "b", "server": "s", "turn": 0, "args": {} } }), no_args),
            (
                "tool_calls[0]",
                json!({ "exact": { "name": "a", "server": "s", "turn": 0, "args": { "x": 1 } } }),
                "pass",
            ),
            (
                "tool_calls[1]",
                json!({ "schema": { "anyOf": [{ "required": ["args"] }, { "required": ["name"] }] } }),
                "pass",
            ),
            (
                "tool_calls[1]",
                json!({ "schema": { "oneOf": [{ "required": ["args"] }, { "required": ["name"] }] } }),
                no_args,
            ),
            (
                "tool_calls[1]",
                json!({ "schema": { "allOf": [{ "required": ["args"] }, { "required": ["id"] }] } }),
                "fail",
            ),
            ("tool_calls[1]", json!({ "schema": { "minimum": 1 } }), "fail"),
            ("tool_results", json!({ "not": { "contains": { "is_error": true } } }), no_result),
            ("tool_results", json!({ "contains": { "is_error": false } }), "pass"),
            ("tool_results[*]", json!({ "not": { "contains": { "is_error": true } } }), no_result),
            ("tool_results[*]", json!({ "schema": { "minItems": 2 } }), "pass"),
        ],
    );
}

#[test]
fn a_result_has_what_its_format_records_and_nothing_more() {
    let envelope = json!({
        "tool_calls": [{ "name": "a" }, { "name": "b" }, { "name": "c" }],
        "tool_results": [
            { "is_error": true, "content": [], "duration_ms": 5 },
            { "is_error": true, "fault": { "name": "f", "kind": "hang", "effect": "timeout", "ms": 9 } },
            { "is_error": false, "structured_content": { "x": 1 } },
        ],
    });
    table(
        envelope,
        &[
            ("tool_results[0].error.kind", json!({ "exact": "tool" }), "`tool_results[0].error` was not recorded"),
            (
                "tool_results[1].structured_content",
                json!({ "exact": 1 }),
                "`tool_results[1].structured_content` was not recorded",
            ),
            ("tool_results[2].content[*].text", json!({ "exact": [] }), "`tool_results[2].content` was not recorded"),
            ("tool_results[*].structured_content.x", json!({ "contains": 1 }), "pass"),
            (
                "tool_results[*].duration_ms",
                json!({ "schema": { "items": { "maximum": 9 } } }),
                "`tool_results[2].duration_ms` was not recorded",
            ),
        ],
    );
}

#[test]
fn the_worst_assertion_decides_the_verdict() {
    let compile = |target: &str, matcher: Value| Assertion::compile(Scope::Envelope, target, &matcher, None).unwrap();
    let open = compile("tool_results[*].is_error", json!({ "not": { "contains": true } }));
    let wrong = compile("tool_calls[0].name", json!({ "exact": "b" }));
    let right = compile("tool_calls[0].name", json!({ "exact": "a" }));
    let trace = read(json!({ "tool_calls": [{ "name": "a" }], "tool_results": [null] }));
    let run = |expect: &[Assertion]| {
        let checks = judge::run(expect, &Gates::default(), &trace);
        let reasons: Vec<_> = checks[0].failures.iter().map(|failure| failure.reason.clone()).collect();
        (checks[0].verdict, checks[0].line.clone(), checks[0].first, reasons)
    };
    let not_known = "`tool_results[*].is_error` is not assessable: `tool_results[0]` was not recorded".to_owned();
    let differs = "`tool_calls[0].name` is \"a\", expected exact \"b\"".to_owned();
    assert_eq!(
        run(&[right.clone(), open.clone()]),
        (Verdict::Unassessable, "1 of 2 assertions passed".to_owned(), Some(1), vec![not_known.clone()])
    );
    assert_eq!(
        run(&[open, wrong, right]),
        (Verdict::Fail, "1 of 3 assertions passed".to_owned(), Some(0), vec![not_known, differs])
    );
}

#[test]
fn an_authors_message_comes_before_the_reason() {
    let matcher = json!({ "exact": "x" });
    let assertion = Assertion::compile(Scope::Envelope, "final_response", &matcher, Some("must say x".into())).unwrap();
    let reason = "must say x (`final_response` is not assessable: `final_response` was not recorded)".to_owned();
    assert_eq!(assertion.check(&json!({})), Check::Unassessable { reason });
}

#[test]
fn a_certain_failure_shows_the_recorded_value() {
    let assertion =
        Assertion::compile(Scope::Envelope, "tool_results[*].is_error", &json!({ "not": { "contains": true } }), None)
            .unwrap();
    let Check::Fail { reason, diffs } = assertion.check(&one_result_missing()) else { panic!("a failure is due") };
    assert_eq!(reason, "`tool_results[*].is_error` is [false,true], expected not contains true");
    assert_eq!(diffs.len(), 1);
}
