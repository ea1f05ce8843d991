//! Exports of OpenTelemetry in protobuf.

use mcptest_core::import::{Format, otlp_json};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{folder, outcome, read};

const MOST: usize = 1 << 20;

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap());
    out
}

/// A field with bytes, a text or a message.
fn bytes(number: u64, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    [varint(number << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

fn integer(number: u64, value: i64) -> Vec<u8> {
    [varint(number << 3), varint(value.cast_unsigned())].concat()
}

fn fixed(number: u64, value: u64) -> Vec<u8> {
    [varint(number << 3 | 1), value.to_le_bytes().to_vec()].concat()
}

/// An export of one span with these fields.
fn export(span: &[Vec<u8>]) -> Vec<u8> {
    let scope = bytes(2, span.concat());
    bytes(1, bytes(2, scope))
}

fn attribute(number: u64, key: &str, value: &[u8]) -> Vec<u8> {
    bytes(number, [bytes(1, key), bytes(2, value)].concat())
}

#[track_caller]
fn check(export: &[u8], expected: &Value) {
    let text = otlp_json(export, MOST).unwrap();
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found, *expected, "{text}");
}

/// The error of an export: its place and its message.
#[track_caller]
fn refusal(export: &[u8]) -> String {
    let error = otlp_json(export, MOST).unwrap_err();
    format!("{}: {}", error.place.map_or_else(|| "nowhere".to_owned(), |at| at.to_string()), error.message)
}

#[test]
fn the_recording_of_two_exporters_gives_the_same_traces() {
    let path = folder().join("otlp/langchain-of-both-exporters");
    let text = std::fs::read_to_string(path.with_extension("jsonl")).unwrap();
    let export = std::fs::read(path.with_extension("binpb")).unwrap();
    let found = otlp_json(&export, MOST).unwrap();
    assert_eq!(outcome(Format::Otlp, &found), outcome(Format::Otlp, &text));
}

#[test]
fn every_field_that_is_read_is_written_as_otlp_json_has_it() {
    let nested = bytes(6, attribute(1, "inner", &integer(3, -1)));
    let list = bytes(5, [bytes(1, bytes(1, "a")), bytes(1, []), bytes(1, &nested)].concat());
    let span = [
        bytes(1, [0xab; 16]),
        bytes(2, [1, 2, 3, 4, 5, 6, 7, 0xff]),
        bytes(4, []),
        bytes(5, "chat \"é\" \u{1}"),
        fixed(7, u64::MAX),
        fixed(8, 0),
        attribute(9, "text", &bytes(1, "")),
        attribute(9, "no", &integer(2, 0)),
        attribute(9, "int", &integer(3, i64::MIN)),
        attribute(9, "double", &fixed(4, 1.5_f64.to_bits())),
        // A repeated field need not be in one place, and what is not known is skipped.
        bytes(11, [fixed(1, 7), bytes(2, "exception"), attribute(3, "k", &bytes(1, "v"))].concat()),
        integer(6, 3),
        bytes(13, b"a link"),
        [varint(16 << 3 | 5), vec![0; 4]].concat(),
        bytes(99, "a later field"),
        attribute(9, "nan", &fixed(4, f64::NAN.to_bits())),
        attribute(9, "infinity", &fixed(4, f64::NEG_INFINITY.to_bits())),
        attribute(9, "list", &list),
        attribute(9, "fields", &nested),
        attribute(9, "bytes", &bytes(7, [0xff, 0xfe, 0x00, 0x01])),
        attribute(9, "empty", &[]),
        bytes(15, [bytes(2, "no such order"), integer(3, 2)].concat()),
    ];
    let inner = json!({ "kvlistValue": { "values": [{ "key": "inner", "value": { "intValue": "-1" } }] } });
    let expected = json!({
        "traceId": "ab".repeat(16),
        "spanId": "01020304050607ff",
        "parentSpanId": "",
        "name": "chat \"é\" \u{1}",
        "startTimeUnixNano": u64::MAX.to_string(),
        "endTimeUnixNano": "0",
        "status": { "message": "no such order", "code": 2 },
        "attributes": [
            { "key": "text", "value": { "stringValue": "" } },
            { "key": "no", "value": { "boolValue": false } },
            { "key": "int", "value": { "intValue": i64::MIN.to_string() } },
            { "key": "double", "value": { "doubleValue": 1.5 } },
            { "key": "nan", "value": { "doubleValue": "NaN" } },
            { "key": "infinity", "value": { "doubleValue": "-Infinity" } },
            { "key": "list", "value": { "arrayValue": { "values": [{ "stringValue": "a" }, {}, inner] } } },
            { "key": "fields", "value": inner },
            { "key": "bytes", "value": { "bytesValue": "//4AAQ==" } },
            { "key": "empty", "value": {} },
        ],
        "events": [{
            "timeUnixNano": "7",
            "name": "exception",
            "attributes": [{ "key": "k", "value": { "stringValue": "v" } }],
        }],
    });
    check(&export(&span), &json!({ "resourceSpans": [{ "scopeSpans": [{ "spans": [expected] }] }] }));
}

#[test]
fn resources_and_the_scopes_of_older_versions_are_read() {
    let resource = bytes(1, attribute(1, "service.name", &bytes(1, "shop")));
    let older = bytes(1000, bytes(2, bytes(5, "b")));
    let scopes = [bytes(2, bytes(2, bytes(5, "a"))), older, bytes(2, bytes(1, bytes(1, "a scope")))].concat();
    let expected = json!({ "resourceSpans": [
        {
            "resource": { "attributes": [{ "key": "service.name", "value": { "stringValue": "shop" } }] },
            "scopeSpans": [{ "spans": [{ "name": "a" }] }, {}],
            "instrumentationLibrarySpans": [{ "spans": [{ "name": "b" }] }],
        },
        {},
    ]});
    check(&[bytes(1, [resource, scopes].concat()), bytes(1, [])].concat(), &expected);
    check(&[], &json!({}));
}

#[test]
fn what_is_not_an_export_of_traces_is_refused_where_it_is_wrong() {
    let wrong = |message: &str, at: usize| format!("{at}: not an OTLP export of traces in protobuf: {message}");
    let head = export(&[]).len();
    let id = |size: usize| export(&[bytes(1, vec![7; size])]);
    assert_eq!(refusal(&id(5)), wrong("span: `traceId` must have 16 bytes, found 5", head));
    assert_eq!(refusal(&export(&[bytes(2, [1; 16])])), wrong("span: `spanId` must have 8 bytes, found 16", head));
    assert_eq!(refusal(&export(&[bytes(5, "a"), bytes(5, "b")])), wrong("span: `name` occurs twice", head + 3));
    let text = export(&[bytes(5, b"ab\xffc")]);
    assert_eq!(refusal(&text), wrong("span: `name` has the byte 0xff, which is not UTF-8", text.len() - 2));
    // A log record begins with its time.
    assert_eq!(refusal(&export(&[fixed(1, 9)])), wrong("span: `traceId` has another type", head));
    assert_eq!(refusal(&export(&[integer(9, 9)])), wrong("span: `attributes` has another type", head));
    let value = export(&[attribute(9, "k", &integer(8, 1))]);
    assert_eq!(refusal(&value), wrong("value of an unknown kind, field 8", value.len() - 2));
    let both = export(&[attribute(9, "k", &[bytes(1, "a"), integer(3, 1)].concat())]);
    assert_eq!(refusal(&both), wrong("value: `intValue` comes after another value", both.len() - 2));
    assert_eq!(refusal(&[0x03]), wrong("export: 0 is not the number of a field", 0));
    assert_eq!(refusal(&[0x0b]), wrong("export: field 1 has the wire type 3, which is not used", 0));
    assert_eq!(refusal(&[0x0a, 5, 1]), wrong("export: a field of 5 bytes is longer than what is left, 1 bytes", 0));
    assert_eq!(refusal(&[0x10, 0x80]), wrong("export: a number ends too early", 1));
    assert_eq!(refusal(&[[0x10].as_slice(), &[0xff; 10]].concat()), wrong("export: a number has more than 64 bits", 1));
}

#[test]
fn depth_and_size_have_limits() {
    let mut value = bytes(1, "deep");
    for _ in 0..1000 {
        value = bytes(5, bytes(1, value));
    }
    let deep = refusal(&export(&[attribute(9, "k", &value)]));
    assert!(deep.ends_with("not an OTLP export of traces in protobuf: nested more than 128 levels deep"), "{deep}");
    let many: Vec<u8> = std::iter::repeat_n(bytes(2, []), 100_000).flatten().collect();
    let error = otlp_json(&bytes(1, bytes(2, many)), 1000).unwrap_err();
    assert_eq!(error.message, "the record has more than 1000 bytes as JSON, the limit");
    assert_eq!(error.hint.as_deref(), Some("raise it with --max-record"));
}

/// Bytes that can be read are valid JSON, which importers read or refuse.
fn check_any(export: &[u8]) {
    match otlp_json(export, MOST) {
        Ok(text) => {
            serde_json::from_str::<Value>(&text).unwrap();
            let _ = read(Format::Otlp, &text);
        }
        Err(error) => assert!(error.place.is_none_or(|at| at <= export.len()), "{error:?}"),
    }
}

#[test]
fn every_beginning_of_a_recording_is_read_or_refused_and_none_is_the_whole() {
    let export = std::fs::read(folder().join("otlp/langchain-of-both-exporters.binpb")).unwrap();
    for end in (0..export.len()).step_by(7) {
        check_any(&export[..end]);
        assert!(end == 0 || otlp_json(&export[..end], MOST).is_err(), "{end}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_bytes_are_read_or_refused(export in proptest::collection::vec(any::<u8>(), 0..200)) {
        check_any(&export);
    }

    #[test]
    fn a_changed_recording_is_read_or_refused(changes in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..6)) {
        let mut export = std::fs::read(folder().join("otlp/langchain-of-both-exporters.binpb")).unwrap();
        for (at, byte) in changes {
            let at = usize::from(at) % export.len();
            export[at] = byte;
        }
        check_any(&export);
    }
}
