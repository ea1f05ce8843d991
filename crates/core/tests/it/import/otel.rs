//! Flat spans of OpenTelemetry.

use mcptest_core::import::{Format, Unit};
use mcptest_core::trace::{ErrorKind, ToolResult};
use serde_json::{Value, json};

use super::{check_fixtures, read, refusal, sniffed};

#[test]
fn fixtures() {
    check_fixtures(Format::Otel);
}

#[test]
fn a_status_is_read_in_every_spelling_or_unknown() {
    for (status, expected) in [
        (json!({ "status": { "code": "ERROR" } }), Some(true)),
        (json!({ "status": { "code": "Error" } }), Some(true)),
        (json!({ "status": { "code": "STATUS_CODE_ERROR" } }), Some(true)),
        (json!({ "status": { "status_code": "StatusCode.ERROR" } }), Some(true)),
        (json!({ "status": { "statusCode": "ERROR" } }), Some(true)),
        (json!({ "status": { "statusCode": 2 } }), Some(true)),
        (json!({ "status": { "code": 2 } }), Some(true)),
        (json!({ "status": { "code": "2" } }), Some(true)),
        (json!({ "status": "ERROR" }), Some(true)),
        (json!({ "status_code": "ERROR" }), Some(true)),
        (json!({ "statusCode": "STATUS_CODE_ERROR" }), Some(true)),
        (json!({ "status": { "code": 2.0 } }), Some(true)),
        (json!({ "status": { "code": "2.0" } }), Some(true)),
        (json!({ "status": { "Code": "Error" } }), Some(true)),
        (json!({ "StatusCode": "Error" }), Some(true)),
        (json!({ "status.code": "ERROR" }), Some(true)),
        (json!({ "otel.status_code": "ERROR" }), Some(true)),
        (json!({ "attributes": { "otel.status_code": "ERROR" } }), Some(true)),
        (json!({ "attributes": { "error": true } }), Some(true)),
        (json!({ "attributes": { "error": "true" } }), Some(true)),
        (json!({ "status": { "code": 1 }, "attributes": { "error": true } }), Some(true)),
        (json!({ "status": { "code": 1 }, "status_code": "ERROR" }), Some(true)),
        (json!({ "status": { "code": 1 }, "StatusCode": 2 }), Some(true)),
        (json!({ "status": { "code": 1 } }), Some(false)),
        (json!({ "status": { "code": "Ok" } }), Some(false)),
        (json!({ "status": { "code": 1.0 } }), Some(false)),
        (json!({ "status": { "code": "STATUS_CODE_OK" } }), Some(false)),
        (json!({ "attributes": { "otel.status_code": "OK" } }), Some(false)),
        (json!({ "attributes": { "error": false } }), Some(false)),
        (json!({ "status": { "message": "" } }), Some(false)),
        (json!({ "status": { "code": "UNSET" } }), Some(false)),
        (json!({ "status": { "code": null } }), Some(false)),
        (json!({ "status": {} }), Some(false)),
        (json!({}), Some(false)),
        (json!({ "status": { "code": 3 } }), None),
        (json!({ "status": { "code": -1 } }), None),
        (json!({ "status": { "code": "cancelled" } }), None),
        (json!({ "status": { "code": true } }), None),
        (json!({ "status": ["OK"] }), None),
        (json!({ "status": { "code": "NOT_OK" } }), None),
        (json!({ "status": { "code": "NO_ERROR" } }), None),
        (json!({ "status": { "code": "STATUS_CODE_NOT_OK" } }), None),
        (json!({ "status": { "code": "STATUS_CODE_" } }), None),
        (json!({ "status": { "code": "StatusCode.1" } }), None),
        (json!({ "status": { "code": "1.2" } }), None),
        (json!({ "status": { "state": "ERROR" } }), None),
        (json!({ "attributes": { "otel.status_code": "NOT_OK" } }), None),
        (json!({ "attributes": { "error": "no such order" } }), None),
        (json!({ "status_code": 200 }), None),
        (json!({ "status": { "code": 1 }, "status_code": "aborted" }), None),
    ] {
        let mut span =
            json!({ "traceId": "ab", "spanId": "1", "name": "execute_tool t", "startTime": 1, "endTime": 2 });
        span.as_object_mut().unwrap().extend(status.as_object().unwrap().clone());
        let one = read(Format::Otel, &span.to_string()).unwrap().remove(0).trace;
        assert_eq!(one.result(0).and_then(ToolResult::failed), expected, "{status}");
    }
}

#[test]
fn an_exception_is_a_failure_unless_the_status_is_ok() {
    let exception = json!([{ "name": "exception", "attributes": { "exception.message": "no such order" } }]);
    for (status, expected) in
        [(json!({}), Some(true)), (json!({ "code": 1 }), Some(false)), (json!({ "code": 9 }), None)]
    {
        let span = json!({ "trace_id": "ab", "span_id": "1", "name": "execute_tool t", "start_time": 1, "end_time": 2,
            "status": status, "events": exception });
        let one = read(Format::Otel, &span.to_string()).unwrap().remove(0).trace;
        let result = one.result(0);
        assert_eq!(result.and_then(ToolResult::failed), expected, "{status}");
        let message = result.and_then(|result| Some(result.error.as_ref()?.message.as_str()));
        assert_eq!(message, (expected == Some(true)).then_some("no such order"), "{status}");
    }
}

/// The names and arguments of the calls of spans in one trace.
fn called(spans: &[Value]) -> Vec<(String, Option<Value>)> {
    let trace = read(Format::Otel, &json!(spans).to_string()).unwrap().remove(0).trace;
    trace.tool_calls.unwrap().into_iter().map(|call| (call.name, call.args)).collect()
}

/// A span of the tool `t` with an id, a parent and arguments.
fn tool(id: &str, parent: &str, args: &str) -> Value {
    json!({ "trace_id": "ab", "span_id": id, "parent_span_id": parent, "name": "execute_tool t", "start_time": 1,
        "end_time": 9, "attributes": { "gen_ai.tool.call.arguments": args } })
}

#[test]
fn a_span_that_is_delivered_twice_is_one() {
    let one = vec![("t".to_owned(), Some(json!({ "n": 1 })))];
    let span = tool("1", "", r#"{"n": 1}"#);
    assert_eq!(called(&[span.clone(), span.clone()]), one);
    let mut open = span.clone();
    open.as_object_mut().unwrap().remove("end_time");
    open["attributes"] = json!({});
    assert_eq!(called(&[open.clone(), span.clone()]), one);
    assert_eq!(called(&[span.clone(), open]), one);
    // What only one of them has is kept.
    let mut answered = span.clone();
    answered["attributes"] = json!({ "gen_ai.tool.call.result": "done" });
    for spans in [[&span, &answered], [&answered, &span]] {
        assert_eq!(called(&spans.map(Clone::clone)), one);
    }
}

#[test]
fn messages_that_only_one_delivery_of_a_span_has_are_read() {
    let said = json!({ "name": "gen_ai.client.inference.operation.details", "attributes": { "gen_ai.output.messages":
        r#"[{"role": "assistant", "parts": [{"type": "tool_call", "id": "a", "name": "t", "arguments": {}}]}]"# } });
    let span = |events: &[&Value]| {
        json!({ "trace_id": "ab", "span_id": "1", "name": "chat", "start_time": 1, "end_time": 9,
        "attributes": { "gen_ai.operation.name": "chat" }, "events": events })
    };
    let one = vec![("t".to_owned(), Some(json!({})))];
    assert_eq!(called(&[span(&[&said])]), one);
    assert_eq!(called(&[span(&[&said]), span(&[])]), one);
    assert_eq!(called(&[span(&[]), span(&[&said])]), one);
}

#[test]
fn a_failure_in_one_delivery_of_a_span_stays() {
    let span = tool("1", "", "{}");
    let good = {
        let mut span = span.clone();
        span["status"] = json!({ "code": 1 });
        span
    };
    let raised = json!([{ "name": "exception", "attributes": { "exception.message": "lost" } }]);
    let cases = [
        (json!({ "status": { "code": 2, "message": "lost" } }), ErrorKind::Tool, "lost"),
        (json!({ "status": { "code": 2 } }), ErrorKind::Tool, ""),
        (json!({ "events": raised }), ErrorKind::Tool, "lost"),
        (json!({ "attributes": { "error.type": "TimeoutError" } }), ErrorKind::Timeout, "TimeoutError"),
        (json!({ "attributes": { "error": true } }), ErrorKind::Tool, ""),
        (json!({ "end_time": null, "events": raised }), ErrorKind::Tool, "lost"),
    ];
    for (reported, kind, message) in cases {
        let mut failed = span.clone();
        failed.as_object_mut().unwrap().extend(reported.as_object().unwrap().clone());
        for spans in [[&failed, &span], [&span, &failed], [&failed, &good], [&good, &failed]] {
            let text = json!(spans).to_string();
            let trace = read(Format::Otel, &text).unwrap().remove(0).trace;
            assert_eq!(trace.tool_calls.as_ref().map(Vec::len), Some(1), "{text}");
            let error = trace.result(0).and_then(|result| result.error.as_deref());
            let error = error.map(|error| (error.kind, error.message.as_str()));
            assert_eq!(error, Some((kind, message)), "{text}");
        }
    }
}

#[test]
fn the_name_of_an_error_says_which_layer_raised_it() {
    for (name, kind) in [
        ("ConnectionError", ErrorKind::Transport),
        ("builtins.ConnectionRefusedError", ErrorKind::Transport),
        ("httpx.ConnectError", ErrorKind::Transport),
        ("httpx.ReadError", ErrorKind::Transport),
        ("RemoteProtocolError", ErrorKind::Transport),
        ("ECONNRESET", ErrorKind::Transport),
        ("httpx.ConnectTimeout", ErrorKind::Timeout),
        ("McpError", ErrorKind::Jsonrpc),
        ("mcp.shared.exceptions.McpError", ErrorKind::Jsonrpc),
        ("JSONRPCError", ErrorKind::Jsonrpc),
        ("tarfile.ReadError", ErrorKind::Tool),
        ("connection.ValueError", ErrorKind::Tool),
        ("tool_error", ErrorKind::Tool),
    ] {
        let mut span = tool("1", "", "{}");
        span["attributes"]["error.type"] = json!(name);
        let trace = read(Format::Otel, &json!([span]).to_string()).unwrap().remove(0).trace;
        let error = trace.result(0).and_then(|result| result.error.as_deref());
        assert_eq!(error.map(|error| error.kind), Some(kind), "{name}");
    }
}

#[test]
fn different_spans_with_the_same_id_are_rejected_or_kept_separate() {
    let span = tool("1", "", r#"{"n": 1}"#);
    let open = {
        let mut span = span.clone();
        span["end_time"] = Value::Null;
        span
    };
    let hint = "which of them is the parent of other spans is unclear, so calls could be mixed up";
    for (other, name) in [
        (json!({ "name": "execute_tool u" }), "execute_tool u"),
        (json!({ "start_time": 2 }), "execute_tool t"),
        (json!({ "attributes": { "gen_ai.tool.call.arguments": "{\"n\": 2}" } }), "execute_tool t"),
        (json!({ "attributes": { "gen_ai.tool.name": "u" } }), "execute_tool t"),
    ] {
        for first in [&span, &open] {
            let mut second = span.clone();
            second["attributes"]["gen_ai.tool.name"] = json!("t");
            let mut first = first.clone();
            first["attributes"]["gen_ai.tool.name"] = json!("t");
            second.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
            assert_eq!(
                refusal(Format::Otel, &json!([first, second]).to_string()),
                format!("span \"execute_tool t\" (1) and span {name:?} (1) have the same id / {hint}"),
                "{other}"
            );
        }
    }
    // Other spans are kept apart.
    let aside = |name: &str| json!({ "trace_id": "ab", "span_id": "2", "name": name, "start_time": 1 });
    let one = vec![("t".to_owned(), Some(json!({ "n": 1 })))];
    assert_eq!(called(&[aside("a"), span, aside("b")]), one);
}

#[test]
fn a_tool_inside_itself_is_another_call_when_its_arguments_differ() {
    let outer = tool("1", "", r#"{"n": 1}"#);
    let (one, two) = (("t".to_owned(), Some(json!({ "n": 1 }))), ("t".to_owned(), Some(json!({ "n": 2 }))));
    assert_eq!(called(&[outer.clone(), tool("2", "1", r#"{"n": 2}"#)]), [one.clone(), two.clone()]);
    assert_eq!(called(&[outer.clone(), tool("2", "1", r#"{"n":1}"#)]), std::slice::from_ref(&one));
    let below = tool("3", "2", r#"{"n": 3}"#);
    let three = ("t".to_owned(), Some(json!({ "n": 3 })));
    assert_eq!(called(&[outer.clone(), tool("2", "1", r#"{"n": 2}"#), below]), [one.clone(), two, three]);
    // Another layer may record the arguments of the same call differently.
    let mut layer = tool("2", "1", "{}");
    layer["attributes"] =
        json!({ "openinference.span.kind": "TOOL", "tool.name": "t", "input.value": "{\"input\": 1}" });
    assert_eq!(called(&[outer, layer]), [one]);
}

#[test]
fn sibling_spans_are_one_call_only_at_the_same_time_with_the_same_arguments() {
    let span = |id: &str, (start, end): (u64, u64), args: Option<&str>| {
        let mut span = tool(id, "", "{}");
        (span["start_time"], span["end_time"]) = (json!(start), json!(end));
        span["attributes"] = json!({ "gen_ai.tool.call.id": "c", "gen_ai.tool.call.arguments": args });
        span
    };
    let (one, two) = (Some(r#"{"n": 1}"#), Some(r#"{"n": 2}"#));
    let cases = [
        // Other arguments are another call at any time.
        ((1, 9), one, (1, 9), two, 2),
        ((1, 9), one, (3, 5), two, 2),
        ((1, 5), one, (3, 9), two, 2),
        ((1, 5), one, (5, 9), two, 2),
        ((5, 5), one, (5, 5), two, 2),
        ((1, 9), Some("n=1"), (3, 5), Some("n=2"), 2),
        // The same arguments are the same call where the times overlap.
        ((1, 9), one, (1, 9), one, 1),
        ((1, 9), one, (3, 5), Some(r#"{"n":1}"#), 1),
        ((3, 5), one, (1, 9), one, 1),
        ((1, 5), one, (3, 9), one, 1),
        ((5, 5), one, (5, 5), one, 1),
        ((1, 5), one, (5, 9), one, 2),
        ((1, 5), one, (6, 9), one, 2),
        // Missing arguments do not contradict.
        ((1, 9), one, (3, 5), None, 1),
        ((1, 5), None, (5, 9), None, 2),
    ];
    for (first, args, second, other_args, expected) in cases {
        let spans = [span("1", first, args), span("2", second, other_args)];
        assert_eq!(called(&spans).len(), expected, "{} {}", spans[0], spans[1]);
    }
    // Another layer may print arguments; otherwise they must be the same.
    for (printed, expected) in [("n=1", 1), (r#"{"n": 1}"#, 1), (r#"{"n": 2}"#, 2)] {
        let mut layer = span("2", (3, 5), None);
        layer["attributes"] = json!({ "openinference.span.kind": "TOOL", "tool.name": "t", "tool.id": "c",
            "input.value": printed });
        assert_eq!(called(&[span("1", (1, 9), one), layer]).len(), expected, "{printed}");
    }
}

#[test]
fn a_list_of_spans_is_one_piece_per_span() {
    let span =
        |trace: &str, id: &str| json!({ "trace_id": trace, "span_id": id, "name": "execute_tool t", "start_time": 1 });
    let text = json!([span("ab", "1"), span("cd", "2"), span("ab", "3")]).to_string();
    assert_eq!(sniffed(&text), Some((Format::Otel, Unit::Piece)));
    let ids: Vec<Option<String>> = read(Format::Otel, &text).unwrap().into_iter().map(|one| one.id).collect();
    assert_eq!(ids, [Some("ab".to_owned()), Some("cd".to_owned())]);
}

#[test]
fn only_spans_are_recognized_as_spans() {
    let cases: [(Value, bool); 6] = [
        (json!({ "trace_id": "a", "span_id": "b", "name": "n", "start_time": 1 }), true),
        (json!({ "context": { "trace_id": "a", "span_id": "b" }, "name": "n", "start_time": "x" }), true),
        (json!({ "trace_id": "a", "span_id": "b", "body": "a log", "timestamp": 1 }), false),
        (json!({ "object": "trace.span", "id": "s", "trace_id": "t", "span_data": {}, "started_at": "x" }), false),
        (json!({ "traceId": "a", "spanId": "b", "name": "n", "startTimeUnixNano": "1", "attributes": [] }), false),
        (json!({ "trace_id": "a", "name": "a run", "start_time": 1, "run_type": "tool" }), false),
    ];
    for (value, expected) in cases {
        let is_span = sniffed(&value.to_string()).is_some_and(|(format, _)| format == Format::Otel);
        assert_eq!(is_span, expected, "{value}");
    }
}

#[test]
fn a_span_without_a_trace_is_refused() {
    assert_eq!(
        refusal(Format::Otel, r#"{"span_id": "1", "name": "n"}"#),
        "the span has no trace id / set `trace_id`, `traceId` or `context.trace_id`; it shows which spans belong together"
    );
    assert_eq!(
        refusal(Format::Otel, r#"{"trace_id": "a", "span_id": "1", "name": "n", "start_time": "soon"}"#),
        "start_time: expected a time in nanoseconds or a date, found a string (\"soon\")"
    );
    let flat = json!({ "trace_id": "a", "span_id": "1", "name": "llm", "start_time": 1, "attributes": {
        "openinference.span.kind": "LLM", "llm.output_messages.0.message.tool_calls.0.tool_call.id": "x",
    } });
    assert_eq!(
        refusal(Format::Otel, &flat.to_string()),
        "span \"llm\" (1): llm.output_messages.0: tool_calls.0: it is a call without a name"
    );
}

#[test]
fn ids_may_be_numbers_and_the_parent_an_object() {
    let span = |id: u64, parent: Value, attributes: Value| {
        json!({
            "context": { "trace_id": 7, "span_id": id }, "parent": parent, "name": "n",
            "start_time": id, "end_time": id + 1, "attributes": attributes,
        })
    };
    let tool = |args: &str| json!({ "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find", "gen_ai.tool.args": args, "gen_ai.output": "ok" });
    // The second span is that of the same call, seen by its client.
    let spans = json!({ "spans": [
        span(1, Value::Null, tool("{\"q\": 1}")),
        span(2, json!({ "trace_id": 7, "span_id": 1 }), json!({ "mcp.method.name": "tools/call", "gen_ai.tool.name": "find" })),
        span(3, Value::Null, tool("{\"q\": 2}")),
    ] })
    .to_string();
    assert_eq!(sniffed(&spans), Some((Format::Otel, Unit::Piece)));
    let traces = read(Format::Otel, &spans).unwrap();
    assert_eq!(traces.len(), 1);
    assert_eq!(traces[0].id.as_deref(), Some("7"));
    assert_eq!(
        traces[0].trace.to_envelope()["tool_calls"],
        json!([{ "args": { "q": 1 }, "name": "find" }, { "args": { "q": 2 }, "name": "find" }])
    );
    assert_eq!(
        refusal(Format::Otel, r#"{"trace_id": [7], "span_id": "a", "name": "n", "start_time": 1}"#),
        "trace_id: expected a text"
    );
}

#[test]
fn a_page_of_several_is_refused() {
    let page = |next: Value| {
        let span = json!({
            "context": { "trace_id": "7a", "span_id": "1b" }, "name": "find", "span_kind": "TOOL", "start_time": 1,
            "attributes": { "tool.name": "find" },
        });
        json!({ "data": [span], "next_cursor": next }).to_string()
    };
    assert_eq!(read(Format::Otel, &page(Value::Null)).unwrap().len(), 1);
    assert_eq!(
        refusal(Format::Otel, &page(json!("U3Bhbjox"))),
        "it is one page of several: `next_cursor` says that more spans follow / join the spans of all pages: `jq -c '.data[]' page-*.json > spans.jsonl`"
    );
}

#[test]
fn columns_of_a_table_are_attributes() {
    let row = |columns: Value| {
        let mut row = json!({
            "context.trace_id": "7a", "context.span_id": "1b", "name": "find", "span_kind": "TOOL", "parent_id": null,
            "start_time": 1_794_984_849_629_u64, "end_time": 1_794_984_849_635_u64, "events": [], "attributes.tool.name": null,
        });
        row.as_object_mut().unwrap().extend(columns.as_object().unwrap().clone());
        row.to_string()
    };
    let found = row(json!({ "attributes.openinference.span.kind": "TOOL", "attributes.input.value": "{\"q\": 1}" }));
    assert_eq!(sniffed(&found), Some((Format::Otel, Unit::Piece)));
    let trace = read(Format::Otel, &found).unwrap()[0].trace.to_envelope();
    assert_eq!(trace["tool_calls"], json!([{ "args": { "q": 1 }, "name": "find" }]));
    assert_eq!(trace["tool_results"], json!([{ "duration_ms": 6, "is_error": false }]));
    // A long name with many parts would be copied once for each.
    let parts: Vec<Value> = (0..2_000).map(|part| json!({ "k": part })).collect();
    let long = row(json!({ format!("attributes.{}", "x".repeat(20_000)): parts }));
    let error = refusal(Format::Otel, &long);
    assert!(error.ends_with("split the record, or remove what is repeated"), "{error}");
}

#[test]
fn a_kind_of_opentelemetry_hides_no_vocabulary() {
    let span = |kind: &str| {
        json!({
            "trace_id": "aa", "span_id": "01", "name": "find.tool", "start_time": 1, "end_time": 2, "span_kind": kind,
            "attributes": { "traceloop.span.kind": "tool", "traceloop.entity.name": "find" },
        })
        .to_string()
    };
    for kind in ["INTERNAL", "Client", "SPAN_KIND_INTERNAL", "1", "UNKNOWN"] {
        let text = span(kind);
        let traces = read(Format::Otel, &text).unwrap();
        let calls = traces[0].trace.tool_calls.as_ref().unwrap();
        assert_eq!(calls.iter().map(|call| &*call.name).collect::<Vec<_>>(), ["find"], "{kind}");
    }
}

#[test]
fn a_child_that_cannot_be_read_is_refused_with_its_place() {
    let tree = json!({
        "trace_id": "aa", "span_id": "01", "span_name": "run", "timestamp": "2026-01-02T03:04:05Z",
        "child_spans": [{ "span_id": "02", "span_name": "f", "timestamp": "never" }],
    });
    assert_eq!(sniffed(&tree.to_string()), Some((Format::Otel, Unit::Piece)));
    let message = "child_spans[0]: timestamp: expected a time in nanoseconds or a date, found a string (\"never\")";
    assert_eq!(refusal(Format::Otel, &tree.to_string()), message);
}

#[test]
fn a_span_that_has_a_list_under_a_key_of_pages_is_still_a_span() {
    let span = |id: &str, name: &str, more: &str| {
        format!(
            r#"{{"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","span_id":"{id}","name":"{name}","start_time":1,"end_time":2,"attributes":{{"gen_ai.operation.name":"execute_tool","gen_ai.tool.name":"{name}"}}{more}}}"#
        )
    };
    let inner = span("03", "send", "");
    for (more, expected) in [
        (String::new(), &["delete"][..]),
        (r#","data":[]"#.to_owned(), &["delete"]),
        (r#","data":[{"x":1}],"spans":null"#.to_owned(), &["delete"]),
        (format!(r#","spans":[{inner}]"#), &["delete", "send"]),
    ] {
        let trace = read(Format::Otel, &span("02", "delete", &more)).unwrap().remove(0).trace;
        let names: Vec<String> = trace.tool_calls.unwrap().into_iter().map(|call| call.name).collect();
        assert_eq!(names, expected, "{more}");
    }
}
