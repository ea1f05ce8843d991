//! Reading and writing the envelope.

use mcptest_core::eval::tool_calls_from_envelope;
use mcptest_core::json;
use mcptest_core::trace::{
    AnswerSource, CallError, Conversation, Counterpart, ErrorKind, FaultEffect, FaultKind, FaultMark, LazyText,
    Program, ProgramFault, Role, Shown, StopReason, TimelineEntry, Tokens, ToolCall, ToolResult, Turn, Witness,
};
use mcptest_core::{ConversationTrace, Trace};
use serde_json::{Value, json};

use crate::support::{nested, read};

/// The strict reader rejects `envelope` with exactly this message.
fn refuses(envelope: Value, message: &str) {
    match Trace::from_envelope(&envelope) {
        Ok(trace) => panic!("{envelope} was read as {trace:?}, expected: {message}"),
        Err(error) => assert_eq!(error.to_string(), message, "{envelope}"),
    }
}

#[test]
fn an_invalid_envelope_is_rejected_with_what_was_found() {
    refuses(json!(null), "expected an object, found null");
    refuses(json!([]), "expected an object, found a list");
    refuses(json!("calls"), "expected an object, found a string (\"calls\")");
    refuses(json!(7), "expected an object, found a number");
    refuses(json!({ "trace": [1] }), "trace: expected an object, found a list");
    refuses(json!({ "trace": { "tool_calls": 1 } }), "trace: tool_calls: expected a list, found a number");
    refuses(
        json!({ "trace": { "tool_calls": [{ "name": true }] } }),
        "trace: tool_calls[0].name: expected a string, found a boolean (true)",
    );
}

#[test]
fn every_wrong_type_in_a_call_names_its_place() {
    let with = |key: &str, value: Value, message: &str| {
        let mut call = json!({ "name": "a" });
        call[key] = value;
        refuses(json!({ "tool_calls": [{ "name": "ok" }, call] }), message);
    };
    refuses(json!({ "tool_calls": {} }), "tool_calls: expected a list, found an object");
    refuses(json!({ "tool_calls": "a" }), "tool_calls: expected a list, found a string (\"a\")");
    refuses(json!({ "tool_calls": ["a"] }), "tool_calls[0]: expected an object, found a string (\"a\")");
    refuses(json!({ "tool_calls": [null] }), "tool_calls[0]: expected an object, found null");
    refuses(json!({ "tool_calls": [{}] }), "tool_calls[0]: missing field `name`");
    with("name", json!(null), "tool_calls[1].name: expected a string, found null");
    with("name", json!(["a"]), "tool_calls[1].name: expected a string, found a list");
    with("server", json!(1), "tool_calls[1].server: expected a string, found a number");
    with("caller", json!("code"), "tool_calls[1].caller: expected an object, found a string (\"code\")");
    with("id", json!(4), "tool_calls[1].id: expected a string, found a number");
    with("turn", json!("0"), "tool_calls[1].turn: expected a whole number of at least 0, found a string (\"0\")");
    with("turn", json!(-1), "tool_calls[1].turn: expected a whole number of at least 0, found a number (-1)");
    with("turn", json!(1.5), "tool_calls[1].turn: expected a whole number of at least 0, found a number (1.5)");
}

#[test]
fn every_wrong_type_in_a_result_names_its_place() {
    let with = |key: &str, value: Value, message: &str| {
        refuses(json!({ "tool_calls": [{ "name": "a" }], "tool_results": [{ key: value }] }), message);
    };
    refuses(json!({ "tool_results": {} }), "tool_results: expected a list, found an object");
    refuses(
        json!({ "tool_calls": [{ "name": "a" }], "tool_results": [true] }),
        "tool_results[0]: expected an object, found a boolean (true)",
    );
    with("is_error", json!("no"), "tool_results[0].is_error: expected true or false, found a string (\"no\")");
    with("is_error", json!(0), "tool_results[0].is_error: expected true or false, found a number");
    with("content", json!("text"), "tool_results[0].content: expected a list, found a string (\"text\")");
    with("content", json!([{}, "x"]), "tool_results[0].content[1]: expected an object, found a string (\"x\")");
    with(
        "duration_ms",
        json!(-3),
        "tool_results[0].duration_ms: expected a whole number of at least 0, found a number (-3)",
    );
    with("error", json!("boom"), "tool_results[0].error: expected an object, found a string (\"boom\")");
    with("error", json!({}), "tool_results[0].error: missing field `kind`");
    with(
        "error",
        json!({ "kind": "bang", "message": "" }),
        "tool_results[0].error.kind: expected one of tool, jsonrpc, http, timeout, transport, fault, refused, \
         found a string (\"bang\")",
    );
    with(
        "error",
        json!({ "kind": "timout", "message": "" }),
        "tool_results[0].error.kind: expected one of tool, jsonrpc, http, timeout, transport, fault, refused \
         (did you mean timeout?), found a string (\"timout\")",
    );
    with("error", json!({ "kind": "http" }), "tool_results[0].error: missing field `message`");
    with(
        "error",
        json!({ "kind": "http", "message": 5 }),
        "tool_results[0].error.message: expected a string, found a number",
    );
    with(
        "error",
        json!({ "kind": "http", "message": "", "code": "500" }),
        "tool_results[0].error.code: expected a whole number, found a string (\"500\")",
    );
}

#[test]
fn every_wrong_type_in_a_fault_mark_names_its_place() {
    let with = |fault: Value, message: &str| {
        refuses(json!({ "tool_calls": [{ "name": "a" }], "tool_results": [{ "fault": fault }] }), message);
    };
    with(json!("hang"), "tool_results[0].fault: expected an object, found a string (\"hang\")");
    with(json!({}), "tool_results[0].fault: missing field `effect`");
    with(
        json!({ "name": "f", "kind": "dead", "effect": "timeout", "ms": 1 }),
        "tool_results[0].fault.kind: expected one of hang, wedged, slow, recover_after, error, is_error, drop, model_error, model_slow, model_cut, model_garbage, \
         found a string (\"dead\")",
    );
    with(
        json!({ "name": "f", "kind": "hang", "effect": "nothing", "ms": 1 }),
        "tool_results[0].fault.effect: expected one of timeout, delay, error, found a string (\"nothing\")",
    );
    with(json!({ "name": "f", "kind": "hang", "effect": "timeout" }), "tool_results[0].fault: missing field `ms`");
    with(
        json!({ "name": "f", "kind": "hang", "effect": "timeout", "ms": -1 }),
        "tool_results[0].fault.ms: expected a whole number of at least 0, found a number (-1)",
    );
}

#[test]
fn every_wrong_type_in_the_conversation_names_its_place() {
    let with = |conversation: Value, message: &str| refuses(json!({ "conversation": conversation }), message);
    refuses(json!({ "final_response": ["x"] }), "final_response: expected a string, found a list");
    with(json!([]), "conversation: expected an object, found a list");
    with(json!({ "model": 4 }), "conversation.model: expected a string, found a number");
    with(json!({ "turns": {} }), "conversation.turns: expected a list, found an object");
    with(json!({ "turns": ["hi"] }), "conversation.turns[0]: expected an object, found a string (\"hi\")");
    with(json!({ "turns": [{}] }), "conversation.turns[0]: missing field `content`");
    with(
        json!({ "turns": [{ "role": "assistent", "content": "" }] }),
        "conversation.turns[0].role: expected one of user, assistant, tool (did you mean assistant?), \
         found a string (\"assistent\")",
    );
    with(
        json!({ "turns": [{ "role": "user", "content": [] }] }),
        "conversation.turns[0].content: expected a string, found a list",
    );
    with(json!({ "tokens": 12 }), "conversation.tokens: expected an object, found a number");
    for key in ["input", "output", "cached", "total"] {
        let message = format!("conversation.tokens.{key}: expected a whole number of at least 0, found a number (-1)");
        with(json!({ "tokens": { key: -1 } }), &message);
        let message =
            format!("conversation.tokens.{key}: expected a whole number of at least 0, found a boolean (true)");
        with(json!({ "tokens": { key: true } }), &message);
    }
    with(
        json!({ "stop_reason": "done" }),
        "conversation.stop_reason: expected one of completed, max_turns, max_tokens, refused, error, \
         found a string (\"done\")",
    );
    with(
        json!({ "duration_ms": 0.5 }),
        "conversation.duration_ms: expected a whole number of at least 0, found a number (0.5)",
    );
}

#[test]
fn parts_that_contradict_each_other_are_refused() {
    refuses(
        json!({ "tool_calls": [{ "name": "a" }], "tool_results": [null, null] }),
        "tool_results: expected at most as many as tool_calls (1), found 2",
    );
    refuses(
        json!({ "tool_results": [{}] }),
        "tool_results: expected no such key without tool_calls, found a list of 1",
    );
    refuses(
        json!({
            "tool_calls": [{ "name": "a", "turn": 1 }],
            "conversation": { "turns": [{ "role": "assistant", "content": null }] },
        }),
        "tool_calls[0].turn: expected an index into conversation.turns (length 1), found 1",
    );
    refuses(
        json!({ "tool_calls": [{ "name": "a", "args": {}, "arguments": { "x": 1 } }] }),
        "tool_calls[0]: it has `args` and `arguments`, and only one of them may be there",
    );
}

#[test]
fn absent_is_unknown_and_present_and_empty_is_empty() {
    assert_eq!(read(json!({})), Trace::default());
    let empty = read(json!({ "tool_calls": [], "tool_results": [], "final_response": "",
        "conversation": { "turns": [], "tokens": {} } }));
    assert_eq!(
        empty,
        Trace {
            tool_calls: Some(vec![]),
            tool_results: Some(vec![]),
            final_response: Some(LazyText::default()),
            conversation: Conversation { turns: Some(vec![]), ..Conversation::default() },
            ..Trace::default()
        }
    );
    let call = read(json!({ "tool_calls": [{ "name": "a" }, { "name": "a", "server": "", "args": {} }] }));
    assert_eq!(
        call.tool_calls.unwrap(),
        [
            ToolCall { name: "a".into(), ..ToolCall::default() },
            ToolCall { name: "a".into(), server: Some(String::new()), args: Some(json!({})), ..ToolCall::default() },
        ]
    );
}

#[test]
fn null_reads_like_an_absent_key() {
    let nulls = json!({
        "trace": null, "tool_calls": null, "tool_results": null, "final_response": null, "conversation": null,
    });
    assert_eq!(read(nulls), Trace::default());
    let nulls = json!({
        "tool_calls": [{ "name": "a", "server": null, "args": null, "caller": null, "id": null, "turn": null }],
        "tool_results": [{
            "is_error": null, "content": null, "structured_content": null, "error": null, "fault": null,
            "duration_ms": null,
        }],
        "conversation": {
            "model": null, "turns": null, "stop_reason": null, "duration_ms": null,
            "tokens": { "input": null, "output": null, "cached": null, "total": null },
        },
    });
    let expected = Trace {
        tool_calls: Some(vec![ToolCall { name: "a".into(), ..ToolCall::default() }]),
        tool_results: Some(vec![Some(ToolResult::default())]),
        ..Trace::default()
    };
    assert_eq!(read(nulls), expected);
}

#[test]
fn a_null_result_is_unknown_and_a_null_turn_has_no_text() {
    let trace = read(json!({
        "tool_calls": [{ "name": "a" }, { "name": "b" }, { "name": "c" }],
        "tool_results": [null, { "is_error": false }],
        "conversation": { "turns": [{ "role": "assistant", "content": null }] },
    }));
    assert_eq!(trace.result(0), None);
    assert_eq!(trace.result(1), Some(&ToolResult { is_error: Some(false), ..ToolResult::default() }));
    assert_eq!(trace.result(2), None);
    assert_eq!(trace.conversation.turns.unwrap(), [Turn { role: Role::Assistant, content: None }]);
}

#[test]
fn the_final_response_is_the_text_of_the_last_assistant_message() {
    let of = |turns: Value| read(json!({ "conversation": { "turns": turns } })).final_response;
    assert_eq!(of(json!([])), None);
    assert_eq!(of(json!([{ "role": "user", "content": "hi" }])), None);
    let turns = json!([
        { "role": "assistant", "content": "first" },
        { "role": "assistant", "content": "last" },
        { "role": "tool", "content": "late" },
    ]);
    assert_eq!(of(turns), Some("last".into()));
    let silent = json!([{ "role": "assistant", "content": "first" }, { "role": "assistant", "content": null }]);
    assert_eq!(of(silent), Some(LazyText::default()), "the last message is known and has no text");
}

#[test]
fn a_cassette_is_read_through_its_trace_and_not_next_to_it() {
    let cassette = json!({
        "mcptest": 1,
        "tool_calls": [{ "name": "outer" }],
        "trace": { "tool_calls": [{ "name": "inner", "arguments": { "x": 1 } }] },
    });
    let inner = ToolCall { name: "inner".into(), args: Some(json!({ "x": 1 })), ..ToolCall::default() };
    assert_eq!(tool_calls_from_envelope(&cassette), std::slice::from_ref(&inner));
    assert_eq!(read(cassette).tool_calls.unwrap(), [inner]);
    assert_eq!(read(json!({ "trace": {}, "tool_calls": [{ "name": "outer" }] })).tool_calls, None);
}

#[test]
fn the_lenient_reader_takes_calls_from_either_shape_and_nothing_from_the_rest() {
    let names = |envelope: Value| {
        tool_calls_from_envelope(&envelope).into_iter().map(|call| (call.name, call.args)).collect::<Vec<_>>()
    };
    let one = |name: &str, args: Option<Value>| vec![(name.to_owned(), args)];
    assert_eq!(names(json!({ "tool_calls": [{ "name": "a" }] })), one("a", None));
    assert_eq!(
        names(json!({ "tool_calls": [{ "name": "a", "arguments": { "x": 1 } }] })),
        one("a", Some(json!({ "x": 1 })))
    );
    assert_eq!(names(json!({ "trace": { "final_response": "" }, "tool_calls": [{ "name": "a" }] })), one("a", None));
    assert_eq!(names(json!({ "tool_calls": [7] })), one("", None), "a broken call still counts as a call");
    for nothing in [json!({}), json!([]), json!(null), json!({ "tool_calls": {} }), json!({ "trace": 3 })] {
        assert_eq!(names(nothing), []);
    }
}

#[test]
fn callers_are_kept_unless_they_are_direct() {
    let caller = |value: Value| read(json!({ "tool_calls": [{ "name": "a", "caller": value }] })).tool_calls.unwrap();
    let code = json!({ "type": "code_execution_20250825", "tool_id": "t" });
    assert_eq!(caller(code.clone())[0].caller, Some(code));
    assert_eq!(caller(json!({ "type": "direct" }))[0].caller, None);
    assert_eq!(caller(json!({ "tool_id": "t" }))[0].caller, Some(json!({ "tool_id": "t" })));
}

#[test]
fn integral_floats_are_whole_numbers() {
    let trace = read(json!({ "conversation": { "tokens": { "total": 3.0e3 }, "duration_ms": 5.0 } }));
    assert_eq!(trace.conversation.tokens.total, Some(3000));
    assert_eq!(trace.conversation.duration_ms, Some(5));
}

#[test]
fn tokens_are_the_total_else_input_and_output() {
    let spent = |input, output, total| Tokens { input, output, total, cached: Some(9) }.spent();
    assert_eq!(spent(Some(1), Some(2), Some(10)), Some(10));
    assert_eq!(spent(Some(1), Some(2), None), Some(3));
    assert_eq!(spent(Some(1), None, None), None);
    assert_eq!(spent(None, Some(2), None), None);
    assert_eq!(spent(Some(u64::MAX), Some(2), None), Some(u64::MAX));
}

#[test]
fn a_result_failed_if_any_recorded_field_says_so() {
    let error = CallError { kind: ErrorKind::Http, code: Some(502), message: String::new() };
    let mark = |effect| FaultMark { name: "f".into(), kind: FaultKind::Slow, effect, ms: 1 };
    let unknown = ToolResult::default();
    assert_eq!(unknown.failed(), None);
    assert_eq!(ToolResult { is_error: Some(false), ..unknown.clone() }.failed(), Some(false));
    assert_eq!(ToolResult { is_error: Some(true), ..unknown.clone() }.failed(), Some(true));
    assert_eq!(ToolResult { error: Some(Box::new(error)), ..unknown.clone() }.failed(), Some(true));
    assert_eq!(
        ToolResult { fault: Some(Box::new(mark(FaultEffect::Timeout))), ..unknown.clone() }.failed(),
        Some(true)
    );
    assert_eq!(ToolResult { fault: Some(Box::new(mark(FaultEffect::Error))), ..unknown.clone() }.failed(), Some(true));
    assert_eq!(ToolResult { fault: Some(Box::new(mark(FaultEffect::Delay))), ..unknown }.failed(), None);
}

fn program() -> Program {
    let entry = TimelineEntry {
        duration_ms: Some(7),
        ms: 3,
        server: Some("docs".into()),
        side: Counterpart::Mcp,
        status: "ok".into(),
        what: "tools/call find".into(),
    };
    Program {
        exit: Some(0),
        failed: Some("it timed out".into()),
        faults: Some(vec![ProgramFault {
            duration_ms: 5,
            effect: FaultEffect::Error,
            kind: FaultKind::ModelError,
            ms: 9,
            name: "f".into(),
        }]),
        incomplete: Some("interrupted".into()),
        notes: Some(vec!["a call is missing".into()]),
        output: Some("bye".into()),
        timeline: Some(vec![entry]),
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a trace with every field")]
fn a_full_trace_round_trips() {
    let trace = ConversationTrace {
        tool_calls: Some(vec![
            ToolCall {
                name: "find".into(),
                server: Some("docs".into()),
                args: Some(json!({ "q": "å", "n": 1.5 })),
                asked_args: Some(json!({ "q": "å" })),
                caller: Some(json!({ "type": "code" })),
                id: Some("c1".into()),
                retry_of: None,
                turn: Some(1),
                witness: Some(Witness::Both),
            },
            ToolCall { name: "open".into(), retry_of: Some(0), ..ToolCall::default() },
        ]),
        tool_results: Some(vec![
            Some(ToolResult {
                is_error: Some(true),
                content: Some(vec![json!({ "type": "text", "text": "no" }).into()]),
                structured_content: Some(json!({ "k": [1] }).into()),
                error: Some(Box::new(CallError {
                    kind: ErrorKind::Timeout,
                    code: Some(-32001),
                    message: "late".into(),
                })),
                fault: Some(Box::new(FaultMark {
                    name: "f".into(),
                    kind: FaultKind::RecoverAfter,
                    effect: FaultEffect::Timeout,
                    ms: 3000,
                })),
                duration_ms: Some(4),
                shown: Some(Shown::Differs),
            }),
            None,
        ]),
        answer_source: Some(AnswerSource::Program),
        program: Some(Box::new(program())),
        final_response: Some("done".into()),
        conversation: Conversation {
            model: Some("m".into()),
            turns: Some(vec![
                Turn { role: Role::User, content: Some("go".into()) },
                Turn { role: Role::Assistant, content: None },
                Turn { role: Role::Tool, content: Some("".into()) },
            ]),
            tokens: Tokens { input: Some(1), output: Some(2), cached: Some(3), total: Some(4) },
            stop_reason: Some(StopReason::MaxTurns),
            duration_ms: Some(17),
        },
        ..Trace::default()
    };
    let envelope = trace.to_envelope();
    assert_eq!(
        envelope,
        json!({
            "tool_calls": [
                {
                    "name": "find", "server": "docs", "args": { "q": "å", "n": 1.5 },
                    "asked_args": { "q": "å" }, "caller": { "type": "code" }, "id": "c1", "turn": 1, "witness": "both",
                },
                { "name": "open", "retry_of": 0 },
            ],
            "answer_source": "program",
            "program": json!({
                "exit": 0, "failed": "it timed out",
                "faults": [{ "duration_ms": 5, "effect": "error", "kind": "model_error", "ms": 9, "name": "f" }],
                "incomplete": "interrupted", "notes": ["a call is missing"],
                "output": "bye",
                "timeline": [{
                    "duration_ms": 7, "ms": 3, "server": "docs", "side": "mcp", "status": "ok", "what": "tools/call find",
                }],
            }),
            "tool_names": ["find", "open"],
            "tool_results": [
                {
                    "is_error": true,
                    "content": [{ "type": "text", "text": "no" }],
                    "structured_content": { "k": [1] },
                    "error": { "kind": "timeout", "code": -32001, "message": "late" },
                    "fault": { "name": "f", "kind": "recover_after", "effect": "timeout", "ms": 3000 },
                    "duration_ms": 4,
                    "shown": "differs",
                },
                null,
            ],
            "final_response": "done",
            "conversation": {
                "model": "m",
                "turns": [
                    { "role": "user", "content": "go" },
                    { "role": "assistant", "content": null },
                    { "role": "tool", "content": "" },
                ],
                "tokens": { "input": 1, "output": 2, "cached": 3, "total": 4 },
                "stop_reason": "max_turns",
                "duration_ms": 17,
            },
        })
    );
    assert_eq!(Trace::from_envelope(&envelope), Ok(trace.clone()));
    assert_eq!(Trace::from_envelope(&json!({ "trace": envelope })), Ok(trace));
    assert_eq!(Trace::default().to_envelope(), json!({}));
}

#[test]
fn duplicate_keys_are_an_error_with_their_position() {
    let error = json::parse("{\n  \"tool_calls\": [{ \"name\": \"a\", \"name\": \"b\" }]\n}").unwrap_err();
    assert_eq!(error.to_string(), "line 2, column 38: tool_calls[0]: duplicate key \"name\"");
    assert_eq!(
        json::parse("{\"a\": {\"x\": 1}, \"b\": {\"x\": 1}}").unwrap(),
        json!({ "a": { "x": 1 }, "b": { "x": 1 } })
    );
    assert_eq!(json::parse("[1,]").unwrap_err().to_string(), "line 1, column 4: trailing comma");
    assert!(json::parse("").is_err());
    assert!(json::parse("{} {}").is_err());
    assert!(json::parse(&"[".repeat(100_000)).is_err());
}

#[test]
fn canonical_text_decides_equality() {
    for (a, b, same) in [
        ("1", "1.0", true),
        ("0", "-0.0", true),
        ("-3", "-3.0", true),
        ("9007199254740991", "9007199254740991.0", true),
        ("9007199254740993", "9007199254740992", false),
        ("1", "true", false),
        ("0", "false", false),
        ("0", "null", false),
        ("1", "\"1\"", false),
        ("0.1", "0.10", true),
        ("1e2", "100", true),
        ("[1, 2]", "[2, 1]", false),
        ("{\"a\": 1, \"b\": [1.0]}", "{\"b\": [1], \"a\": 1}", true),
        ("{\"a\": null}", "{}", false),
        ("\"\\u00e5\"", "\"å\"", true),
    ] {
        let (left, right) = (json::parse(a).unwrap(), json::parse(b).unwrap());
        assert_eq!(json::equal(&left, &right), same, "{a} and {b}");
        assert_eq!(json::canonical(&left) == json::canonical(&right), same, "text of {a} and {b}");
    }
    let value = json::parse("{\"b\": [1.0, -0.0, 2.50, 1e300], \"a\": \"\\n\\u0007\"}").unwrap();
    assert_eq!(json::canonical(&value), "{\"a\":\"\\n\\u0007\",\"b\":[1,0,2.5,1e+300]}");
}

#[test]
fn traces_deeper_than_the_limit_are_refused_and_those_at_it_are_read() {
    let at = |levels: usize| json!({ "tool_calls": [{ "name": "a", "args": nested(levels) }] });
    assert!(Trace::from_envelope(&at(json::MAX_DEPTH - 3)).is_ok());
    refuses(at(json::MAX_DEPTH - 2), "the trace is nested more than 128 levels deep");
}

#[test]
fn the_lenient_reader_keeps_arguments_too_deep_to_compare_distinct() {
    let deep = |leaf: u32| (0..1_000).fold(json!(leaf), |inner, _| json!([inner]));
    let envelope = json!({ "tool_calls": [
        { "name": "a", "args": deep(1) }, { "name": "a", "args": deep(2) }, { "name": "a", "args": deep(1) },
    ] });
    let calls = tool_calls_from_envelope(&envelope);
    assert!(calls.iter().all(|call| call.args.as_ref().is_some_and(Value::is_string)));
    assert_eq!(mcptest_core::eval::agent_stability(&envelope).redundancy, 2.0 / 3.0);
}

#[test]
fn a_turn_says_whether_it_carries_text() {
    let error = Trace::from_envelope(&json!({ "conversation": { "turns": [{ "role": "assistant" }] } })).unwrap_err();
    assert_eq!(error.to_string(), "conversation.turns[0]: missing field `content`");
}

#[test]
fn half_a_surrogate_pair_is_an_error_with_its_position_and_a_full_one_is_text() {
    for half in [r#"{"final_response": "\ud83d"}"#, r#"{"final_response": "\ude00 x"}"#, r#"{"\udfff": 1}"#] {
        let error = json::parse(half).unwrap_err();
        assert_eq!(error.line, 1, "{half}");
        assert!(error.column > 1 && !error.message.is_empty(), "{half}: {error}");
    }
    let whole = json::parse(r#"{"final_response": "\ud83d\ude00"}"#).unwrap();
    assert_eq!(Trace::from_envelope(&whole).unwrap().final_response.as_deref(), Some("😀"));
}
