//! Exports of OpenTelemetry.

use mcptest_core::import::{Format, Options, Unit};
use mcptest_core::trace::{StopReason, ToolResult};
use serde_json::{Value, json};

use super::{check_fixtures, read, read_with, refusal, sniffed};

#[test]
fn fixtures() {
    check_fixtures(Format::Otlp);
}

/// A span: its name, plain texts as attributes, and its start.
type Sketch<'a> = (&'a str, &'a [(&'a str, &'a str)], u64);

/// An export of spans.
fn export(spans: &[Sketch<'_>]) -> String {
    let spans: Vec<Value> = spans
        .iter()
        .enumerate()
        .map(|(at, (name, attributes, start))| {
            let attributes: Vec<Value> = attributes
                .iter()
                .map(|(key, value)| json!({ "key": key, "value": { "stringValue": value } }))
                .collect();
            json!({
                "traceId": "0123456789abcdef0123456789abcdef",
                "spanId": format!("{:016x}", at + 1),
                "name": name,
                "startTimeUnixNano": start.to_string(),
                "endTimeUnixNano": (start + 1).to_string(),
                "attributes": attributes,
            })
        })
        .collect();
    json!({ "resourceSpans": [{ "scopeSpans": [{ "spans": spans }] }] }).to_string()
}

const CHAT: (&str, &str) = ("gen_ai.operation.name", "chat");
const TOOL: (&str, &str) = ("gen_ai.operation.name", "execute_tool");

#[test]
fn fields_are_the_id_the_attributes_of_the_first_span_and_the_resource() {
    let text = json!({ "resourceSpans": [{
        "resource": { "attributes": [{ "key": "service.name", "value": { "stringValue": "desk" } }] },
        "scopeSpans": [{ "spans": [
            { "traceId": "0123456789ABCDEF0123456789ABCDEF", "spanId": "2222222222222222", "name": "execute_tool t",
              "parentSpanId": "1111111111111111", "startTimeUnixNano": "5", "attributes": [] },
            { "traceId": "0123456789abcdef0123456789abcdef", "spanId": "1111111111111111", "name": "run",
              "startTimeUnixNano": "1", "attributes": [
                { "key": "tenant", "value": { "stringValue": "no\"rth" } },
                { "key": "try", "value": { "intValue": "3" } },
                { "key": "ok", "value": { "boolValue": true } },
                { "key": "tags", "value": { "arrayValue": { "values": [{ "stringValue": "a" }] } } },
            ] },
        ] }],
    }] })
    .to_string();
    let one = read(Format::Otlp, &text).unwrap().remove(0);
    assert_eq!(
        serde_json::from_str::<Value>(&one.fields).unwrap(),
        json!({
            "trace_id": "0123456789abcdef0123456789abcdef",
            "attributes": { "tenant": "no\"rth", "try": 3, "ok": true, "tags": ["a"] },
            "resource": { "service.name": "desk" },
        })
    );
}

#[test]
fn the_pieces_of_a_trace_are_its_spans_each_after_its_resource() {
    let text = export(&[("a", &[], 1), ("b", &[], 2)]);
    let pieces = Format::Otlp.split(&text).unwrap();
    assert_eq!(pieces.len(), 3);
    assert!(pieces.iter().all(|piece| piece.key == "0123456789abcdef0123456789abcdef"));
    assert!(pieces[0].text.starts_with('['));
    assert!(pieces[1..].iter().all(|piece| piece.text.starts_with('{') && text.contains(&*piece.text)));
    assert_eq!(Format::Otlp.split(r#"{"resourceSpans": []}"#).unwrap(), []);
}

#[test]
fn the_spans_of_a_trace_follow_each_other_so_that_others_do_not_close_it() {
    let span = |trace: &str| json!({ "traceId": trace, "spanId": "1", "name": "x", "startTimeUnixNano": "1" });
    let text = json!({ "resourceSpans": [{ "scopeSpans": [
        { "spans": [span("ab"), span("cd")] },
        { "spans": [span("ab")] },
    ] }] });
    let text = text.to_string();
    let pieces = Format::Otlp.split(&text).unwrap();
    let keys: Vec<&str> = pieces.iter().map(|piece| &*piece.key).collect();
    assert_eq!(keys, ["ab", "ab", "ab", "cd", "cd"]);
}

#[test]
fn a_span_has_the_resource_of_its_own_export() {
    let span = |id: &str| json!({ "traceId": "ab", "spanId": id, "name": "execute_tool t", "startTimeUnixNano": id });
    let of = |name: &str| json!({ "attributes": [{ "key": "service.name", "value": { "stringValue": name } }] });
    let export = |resource: Value, id: &str| {
        json!({ "resourceSpans": [{ "resource": resource, "scopeSpans": [{ "spans": [span(id)] }] }] }).to_string()
    };
    // The attributes of the first root span are those of the trace, with its resource.
    for (first, second, resource) in [
        (export(of("one"), "1"), export(of("two"), "2"), json!({ "service.name": "one" })),
        (export(of("two"), "2"), export(of("one"), "1"), json!({ "service.name": "one" })),
        (export(of("two"), "2"), export(Value::Null, "1"), Value::Null),
        (export(of("two"), "2"), span("1").to_string().replace("\"name\"", "\"attributes\":[],\"name\""), Value::Null),
    ] {
        let texts: Vec<String> = [&first, &second]
            .into_iter()
            .flat_map(|text| Format::Otlp.split(text).unwrap())
            .map(|piece| piece.text.into_owned())
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let one = Format::Otlp.join("ab", &texts, &Options::default()).unwrap().remove(0);
        let fields: Value = serde_json::from_str(&one.fields).unwrap();
        assert_eq!(fields["resource"], resource, "{first} {second}");
    }
}

#[test]
fn spans_without_agents_models_and_tools_are_left_out() {
    let text =
        export(&[("GET /", &[("http.request.method", "GET")], 1), ("mcp", &[("mcp.method.name", "initialize")], 2)]);
    assert_eq!(read(Format::Otlp, &text).unwrap(), []);
}

#[test]
fn servers_are_found_by_the_given_prefixes() {
    let text = export(&[("x", &[TOOL, ("gen_ai.tool.name", "mail_send")], 1)]);
    let call =
        |text: &str| read_with(Format::Otlp, text, &["mail_"]).unwrap().remove(0).trace.tool_calls.unwrap().remove(0);
    assert_eq!((call(&text).server.as_deref(), call(&text).name.as_str()), (Some("mail"), "send"));
}

#[test]
fn spans_without_any_time_keep_the_order_of_the_file() {
    let text = export(&[("execute_tool b", &[], 1), ("execute_tool a", &[], 1)]);
    let text = text.replace("startTimeUnixNano", "unknown");
    let one = read(Format::Otlp, &text).unwrap().remove(0);
    let names: Vec<String> = one.trace.tool_calls.unwrap().into_iter().map(|call| call.name).collect();
    assert_eq!(names, ["b", "a"]);
}

#[test]
fn a_cycle_of_parents_is_read() {
    let text = json!({ "resourceSpans": [{ "scopeSpans": [{ "spans": [
        { "traceId": "ab", "spanId": "1", "parentSpanId": "2", "name": "execute_tool t", "startTimeUnixNano": "1" },
        { "traceId": "ab", "spanId": "2", "parentSpanId": "1", "name": "execute_tool u", "startTimeUnixNano": "2" },
        { "traceId": "ab", "spanId": "3", "parentSpanId": "3", "name": "execute_tool v", "startTimeUnixNano": "3" },
    ] }] }] });
    let text = text.to_string();
    let one = read(Format::Otlp, &text).unwrap().remove(0);
    assert_eq!(one.trace.tool_calls.unwrap().len(), 3);
}

#[test]
fn rewritten_history_is_not_repeated_and_hides_no_call() {
    let reply = |name: &str| {
        format!(r#"[{{"role":"assistant","parts":[{{"type":"tool_call","id":"{name}","name":"{name}"}}]}}]"#)
    };
    let past = r#"[{"role":"user","parts":[{"type":"text","content":"a summary"}]},
        {"role":"assistant","parts":[{"type":"tool_call","id":"lost","name":"lost"}]},
        {"role":"assistant","parts":[{"type":"text","content":"shortened"},{"type":"tool_call","id":"one","name":"one"}]},
        {"role":"user","parts":[{"type":"text","content":"go on"}]}]"#;
    let first = r#"[{"role":"user","parts":[{"type":"text","content":"go"}]}]"#;
    let (one, two) = (reply("one"), reply("two"));
    let text = export(&[
        ("chat", &[CHAT, ("gen_ai.input.messages", first), ("gen_ai.output.messages", &one)], 1),
        ("chat", &[CHAT, ("gen_ai.input.messages", past), ("gen_ai.output.messages", &two)], 5),
    ]);
    let trace = read(Format::Otlp, &text).unwrap().remove(0).trace;
    let names: Vec<String> = trace.tool_calls.unwrap().into_iter().map(|call| call.name).collect();
    assert_eq!(names, ["one", "lost", "two"]);
    let turns: Vec<Option<String>> =
        trace.conversation.turns.unwrap().into_iter().map(|turn| turn.content.map(|text| text.to_string())).collect();
    assert_eq!(turns, [Some("go".to_owned()), None, None, Some("go on".to_owned()), None]);
}

#[test]
fn a_failed_reply_costs_nothing_and_breaks_the_run_if_it_is_the_last() {
    let good = [CHAT, ("gen_ai.usage.input_tokens", "3"), ("gen_ai.usage.output_tokens", "4")];
    let failed = |text: String| text.replacen(r#""name":"lost""#, r#""name":"lost","status":{"code":2}"#, 1);
    let text = failed(export(&[("chat", &good, 1), ("lost", &[CHAT], 5)]));
    let conversation = read(Format::Otlp, &text).unwrap().remove(0).trace.conversation;
    assert_eq!((conversation.tokens.input, conversation.tokens.output), (Some(3), Some(4)));
    assert_eq!(conversation.stop_reason.map(StopReason::as_str), Some("error"));
    let text = failed(export(&[("lost", &[CHAT], 1), ("chat", &good, 5)]));
    assert_eq!(read(Format::Otlp, &text).unwrap().remove(0).trace.conversation.stop_reason, None);
}

#[test]
fn a_status_is_read_as_in_flat_spans() {
    for (status, attributes, expected) in [
        (r#"{"code": 2}"#, &[][..], Some(true)),
        (r#"{"code": 2.0}"#, &[], Some(true)),
        (r#"{"code": "STATUS_CODE_ERROR", "message": "lost"}"#, &[], Some(true)),
        ("null", &[("otel.status_code", "ERROR")], Some(true)),
        ("{}", &[("error", "true")], Some(true)),
        (r#"{"code": "STATUS_CODE_OK"}"#, &[], Some(false)),
        ("{}", &[], Some(false)),
        (r#"{"code": "NOT_OK"}"#, &[], None),
        (r#"{"state": "ERROR"}"#, &[], None),
    ] {
        let text = export(&[("execute_tool t", attributes, 1)]);
        let text =
            text.replacen(r#""name":"execute_tool t""#, &format!(r#""name":"execute_tool t","status":{status}"#), 1);
        let trace = read(Format::Otlp, &text).unwrap().remove(0).trace;
        assert_eq!(trace.result(0).and_then(ToolResult::failed), expected, "{text}");
    }
}

#[test]
fn an_export_is_recognized_by_its_list_of_resources() {
    assert_eq!(sniffed(r#"{"resourceSpans": {}}"#), None);
    assert_eq!(sniffed(r#"{"resourceLogs": []}"#), None);
}

#[test]
fn anything_that_could_be_a_call_is_refused_with_its_place() {
    let out = |messages: &str| {
        let text = export(&[("chat m", &[CHAT, ("gen_ai.output.messages", messages)], 1)]);
        refusal(Format::Otlp, &text)
    };
    let place = "span \"chat m\" (0000000000000001): gen_ai.output.messages";
    assert_eq!(
        out(r#"[{"role": "assistant", "parts": [{"type": "text", "content": "a"}, {"type": "function_thing"}]}]"#),
        format!(
            "{place}[0]: parts[1]: type \"function_thing\" is not known, and could be a call or an answer / parts are \
             `text`, `tool_call`, `tool_call_response`, `reasoning` and media"
        )
    );
    assert_eq!(
        out(r#"[{"role": "assistant", "parts": [{"type": "tool_call", "id": "x"}]}]"#),
        format!("{place}[0]: parts[0]: it is a call and has no `name`")
    );
    assert_eq!(
        out(r#"[{"role": "assistant", "par"#),
        format!(
            "{place}: it is not JSON: EOF while parsing a string / a recorder that cuts long values may have cut it: raise its \
             limits"
        )
    );
    assert_eq!(
        out(r#"[{"role": "robot"}]"#),
        format!("{place}[0]: role must be user, assistant, tool or system, found \"robot\"")
    );
    assert_eq!(
        out(r#"[{"role": "tool", "parts": [{"type": "tool_call_response", "id": "x", "response": 1}]}]"#),
        "a message answers the call \"x\", but no span and no message has that call / spans of the trace may be missing; a trace \
         must be complete"
    );
    assert_eq!(
        refusal(Format::Otlp, &export(&[("", &[TOOL], 1)])),
        "span \"\" (0000000000000001): it is a span of a tool and does not name the tool / set the attribute `gen_ai.tool.name`"
    );
    assert_eq!(
        refusal(Format::Otlp, &export(&[("chat", &[CHAT, ("gen_ai.usage.input_tokens", "many")], 1)])),
        "span \"chat\" (0000000000000001): attribute `gen_ai.usage.input_tokens` must be a whole number"
    );
    let some =
        export(&[("execute_tool a", &[], 1), ("execute_tool b", &[], 2)]).replacen("startTimeUnixNano", "unknown", 1);
    assert_eq!(
        refusal(Format::Otlp, &some),
        "span \"execute_tool a\" (0000000000000001) has no start time, so its order is unknown / spans of \
         calls and of replies need a start time, or none of them may have one"
    );
    let spans = |span: &str| format!(r#"{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{span}]}}]}}]}}"#);
    assert_eq!(refusal(Format::Otlp, &spans("{}")), "resourceSpans[0].scopeSpans[0].spans[0]: missing field `traceId`");
    assert_eq!(
        refusal(Format::Otlp, &spans(r#"{"traceId": ""}"#)),
        "resourceSpans[0].scopeSpans[0].spans[0].traceId is empty"
    );
    let error = Format::Otlp.join("ab", &[r#"{"name": 1}"#], &Options::default()).unwrap_err();
    assert_eq!(error.message, "a span: name: expected a text, found a number");
}

/// An export of one span with these attributes.
fn one_span(attributes: &str) -> String {
    format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","spanId":"1111111111111111","name":"x","startTimeUnixNano":"1000","endTimeUnixNano":"2000","attributes":[{attributes}]}}]}}]}}]}}"#
    )
}

#[test]
fn calls_are_unknown_without_recorded_tools_and_messages() {
    let text = one_span(r#"{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}}"#);
    let trace = read(Format::Otlp, &text).unwrap().remove(0).trace;
    assert_eq!((trace.tool_calls, trace.tool_results), (None, None));
}

#[test]
fn a_tool_in_an_unknown_format_is_refused() {
    let text = one_span(
        r#"{"key":"gen_ai.operation.name","value":{"stringValue":"tool_call"}},{"key":"gen_ai.tool.name","value":{"stringValue":"f"}}"#,
    );
    assert_eq!(
        refusal(Format::Otlp, &text),
        "span \"x\" (1111111111111111): it names a tool, but does not say that the tool ran / tools run in spans with \
         `gen_ai.operation.name` of `execute_tool` or `openinference.span.kind` of `TOOL`"
    );
}

#[test]
fn the_closing_message_is_unknown_when_a_call_follows_the_last_reply() {
    let said = r#"[{"role":"assistant","parts":[{"type":"text","content":"Done."}]}]"#;
    let called =
        r#"[{"role":"assistant","parts":[{"type":"text","content":"Now."},{"type":"tool_call","id":"a","name":"t"}]}]"#;
    for (output, expected) in [(said, None), (called, Some("Now."))] {
        let text = export(&[
            ("chat", &[CHAT, ("gen_ai.input.messages", "[]"), ("gen_ai.output.messages", output)], 1),
            ("execute_tool t", &[TOOL], 7),
        ]);
        let trace = read(Format::Otlp, &text).unwrap().remove(0).trace;
        assert_eq!(trace.final_response.as_deref(), expected);
        assert_eq!(trace.tool_calls.unwrap().len(), 1);
    }
}

#[test]
fn a_recorded_reply_counts_even_if_its_span_failed() {
    let reply = r#"[{"role":"assistant","parts":[{"type":"tool_call","id":"a","name":"t"}]}]"#;
    let attributes = [CHAT, ("gen_ai.input.messages", "[]"), ("gen_ai.output.messages", reply)];
    let text =
        export(&[("chat", &attributes, 1)]).replacen(r#""name":"chat""#, r#""name":"chat","status":{"code":2}"#, 1);
    assert!(text.contains("status"));
    let trace = read(Format::Otlp, &text).unwrap().remove(0).trace;
    let names: Vec<String> = trace.tool_calls.unwrap().into_iter().map(|call| call.name).collect();
    assert_eq!(names, ["t"]);
}

#[test]
fn spans_without_their_export_are_read_alone_and_in_lists_but_not_from_one_page_of_several() {
    let path = super::folder().join("otlp/phoenix-page.json");
    let page: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let traces = read(Format::Otlp, &page.to_string()).unwrap().remove(0).trace;
    let list = page["data"].to_string();
    assert_eq!(sniffed(&list), Some((Format::Otlp, Unit::Piece)));
    assert_eq!(read(Format::Otlp, &list).unwrap().remove(0).trace, traces);
    let span = page["data"][0].to_string();
    assert_eq!(sniffed(&span), Some((Format::Otlp, Unit::Piece)));
    assert_eq!(read(Format::Otlp, &span).unwrap()[0].trace.tool_calls, traces.tool_calls);
    let mut about = page["data"][0].clone();
    about["name"] = json!("explain resourceSpans");
    assert_eq!(read(Format::Otlp, &about.to_string()).unwrap()[0].trace.tool_calls, traces.tool_calls);

    let mut first = page.clone();
    first["next_cursor"] = json!("abc");
    let message = "it is one page of several: `next_cursor` says that more spans follow / \
                   join the spans of all pages: `jq -c '.data[]' page-*.json > spans.jsonl`";
    assert_eq!(refusal(Format::Otlp, &first.to_string()), message);
    assert_eq!(refusal(Format::Otlp, "{}"), "missing field `resourceSpans`");
}
