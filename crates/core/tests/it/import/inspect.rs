//! Logs of Inspect.

use mcptest_core::import::{Format, Options, Record};
use mcptest_core::trace::StopReason;

use super::{check_fixtures, read, refusal};

#[test]
fn fixtures() {
    check_fixtures(Format::Inspect);
}

#[test]
fn a_single_sample_takes_the_model_from_the_header_of_its_log() {
    let text = r#"{"id": 1, "epoch": 3, "input": "", "target": "", "messages": [], "output": {"model": "m-1"}}"#;
    let header = Some(r#"{"version": 2, "eval": {"model": "vendor/m"}}"#);
    for (header, model) in [(header, "vendor/m"), (None, "m-1")] {
        let one = Format::Inspect.read(Record { text, header }, &Options::default()).unwrap().remove(0);
        assert_eq!(one.trace.conversation.model.as_deref(), Some(model));
        assert_eq!((one.id.as_deref(), &*one.fields), (Some("1/3"), text));
    }
}

#[test]
fn the_fields_of_a_sample_are_its_own_text() {
    let text =
        r#"{"eval": {}, "status": "success", "samples": [{"id": 1, "messages": []}, {"id": 2,  "messages": []}]}"#;
    let all = read(Format::Inspect, text).unwrap();
    let fields: Vec<&str> = all.iter().map(|one| &*one.fields).collect();
    assert_eq!(fields, [r#"{"id": 1, "messages": []}"#, r#"{"id": 2,  "messages": []}"#]);
}

#[test]
fn a_limit_is_the_stop_reason_unless_the_operator_stopped_the_run() {
    for (kind, expected) in [
        ("message", Some("max_turns")),
        ("token", Some("max_tokens")),
        ("context", Some("max_tokens")),
        ("time", Some("error")),
        ("working", Some("error")),
        ("operator", None),
    ] {
        let text = format!(r#"{{"id": 1, "messages": [], "limit": {{"type": "{kind}", "limit": 1}}}}"#);
        let one = read(Format::Inspect, &text).unwrap().remove(0);
        assert_eq!(one.trace.conversation.stop_reason.map(StopReason::as_str), expected, "{kind}");
    }
}

#[test]
fn a_reference_to_a_missing_attachment_is_kept() {
    let text = r#"{"id": 1, "attachments": {}, "messages": [{"role": "user", "content": "attachment://00"}]}"#;
    let one = read(Format::Inspect, text).unwrap().remove(0);
    assert_eq!(one.trace.conversation.turns.unwrap()[0].content.as_deref(), Some("attachment://00"));
}

#[test]
fn anything_that_could_be_a_call_is_refused_with_its_place() {
    let of = |message: &str| refusal(Format::Inspect, &format!(r#"{{"id": 1, "messages": [{message}]}}"#));
    assert_eq!(
        of(r#"{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "tool_thing"}]}"#),
        "messages[0].content[1]: type \"tool_thing\" is not known, and could be a call or an answer / blocks are `text`, \
         `reasoning`, `tool_use`, `data` and media"
    );
    assert_eq!(
        of(r#"{"role": "assistant", "content": [{"type": "tool_use", "id": "x"}]}"#),
        "messages[0].content[0]: a tool_use has no `name`"
    );
    assert_eq!(
        of(r#"{"role": "robot", "content": "a"}"#),
        "messages[0].role must be system, user, assistant or tool, found \"robot\""
    );
    assert_eq!(
        of(r#"{"role": "assistant", "content": "", "tool_calls": [{"id": "x", "function": {"name": "f"}}]}"#),
        "messages[0]: tool_calls[0].function: expected a text, found an object"
    );
    assert_eq!(
        of(r#"{"role": "tool", "content": "a", "tool_call_id": "x"}"#),
        "messages[0] answers the call \"x\", but no earlier call waits for that answer / the beginning of the record may be \
         missing; a trace must be complete"
    );
    assert_eq!(
        refusal(Format::Inspect, r#"{"id": 1}"#),
        "the sample has no `messages` / a log without conversations cannot be evaluated"
    );
    assert_eq!(
        refusal(Format::Inspect, r#"{"eval": {}, "status": "success"}"#),
        "the log has no samples / a log without samples cannot be evaluated"
    );
    assert_eq!(
        refusal(Format::Inspect, r#"{"eval": {}, "samples": [{"id": [], "messages": []}]}"#),
        "samples[0]: id must be a text or a number, found a list of 0"
    );
}
