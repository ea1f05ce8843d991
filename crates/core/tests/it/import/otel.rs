//! Flat spans of OpenTelemetry.

use mcptest_core::import::{Format, Unit};
use serde_json::{Value, json};

use super::{check_fixtures, read, refusal, sniffed};

#[test]
fn fixtures() {
    check_fixtures(Format::Otel);
}

#[test]
fn a_status_is_an_error_in_every_spelling() {
    for (status, expected) in [
        (json!({ "status": { "code": "ERROR" } }), true),
        (json!({ "status": { "code": "STATUS_CODE_ERROR" } }), true),
        (json!({ "status": { "status_code": "StatusCode.ERROR" } }), true),
        (json!({ "status": { "code": 2 } }), true),
        (json!({ "status": "ERROR" }), true),
        (json!({ "status_code": "ERROR" }), true),
        (json!({ "status": { "code": 1 } }), false),
        (json!({ "status": { "code": "UNSET" } }), false),
        (json!({}), false),
    ] {
        let mut span =
            json!({ "traceId": "ab", "spanId": "1", "name": "execute_tool t", "startTime": 1, "endTime": 2 });
        span.as_object_mut().unwrap().extend(status.as_object().unwrap().clone());
        let one = read(Format::Otel, &span.to_string()).unwrap().remove(0).trace;
        assert_eq!(one.result(0).unwrap().failed(), Some(expected), "{status}");
    }
}

#[test]
fn a_list_of_spans_in_one_value_is_as_many_pieces() {
    let span =
        |trace: &str, id: &str| json!({ "trace_id": trace, "span_id": id, "name": "execute_tool t", "start_time": 1 });
    let text = json!([span("ab", "1"), span("cd", "2"), span("ab", "3")]).to_string();
    assert_eq!(sniffed(&text), Some((Format::Otel, Unit::Piece)));
    let ids: Vec<Option<String>> = read(Format::Otel, &text).unwrap().into_iter().map(|one| one.id).collect();
    assert_eq!(ids, [Some("ab".to_owned()), Some("cd".to_owned())]);
}

#[test]
fn only_spans_are_taken_for_spans() {
    let cases: [(Value, bool); 6] = [
        (json!({ "trace_id": "a", "span_id": "b", "name": "n", "start_time": 1 }), true),
        (json!({ "context": { "trace_id": "a", "span_id": "b" }, "name": "n", "start_time": "x" }), true),
        (json!({ "trace_id": "a", "span_id": "b", "body": "a log", "timestamp": 1 }), false),
        (json!({ "object": "trace.span", "id": "s", "trace_id": "t", "span_data": {}, "started_at": "x" }), false),
        (json!({ "traceId": "a", "spanId": "b", "name": "n", "startTimeUnixNano": "1", "attributes": [] }), false),
        (json!({ "trace_id": "a", "name": "a run", "start_time": 1, "run_type": "tool" }), false),
    ];
    for (value, expected) in cases {
        assert_eq!(sniffed(&value.to_string()).is_some(), expected, "{value}");
    }
}

#[test]
fn a_span_without_a_trace_is_refused() {
    assert_eq!(
        refusal(Format::Otel, r#"{"span_id": "1", "name": "n"}"#),
        "the span has no trace id / it stands in `trace_id`, `traceId` or `context.trace_id`, and tells which spans belong \
         together"
    );
    assert_eq!(
        refusal(Format::Otel, r#"{"trace_id": "a", "span_id": "1", "name": "n", "start_time": "soon"}"#),
        "\"soon\" is no time"
    );
    let flat = json!({ "trace_id": "a", "span_id": "1", "name": "llm", "start_time": 1, "attributes": {
        "openinference.span.kind": "LLM", "llm.output_messages.0.message.tool_calls.0.tool_call.id": "x",
    } });
    assert_eq!(
        refusal(Format::Otel, &flat.to_string()),
        "span \"llm\" (1): llm.output_messages.0: tool_calls.0: it is a call without a name"
    );
}
