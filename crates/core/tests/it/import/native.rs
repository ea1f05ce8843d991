//! Envelopes and cassettes of this project.

use mcptest_core::import::{Format, sniff};

use super::{check_fixtures, read, refusal};

#[test]
fn fixtures() {
    check_fixtures(Format::Envelope);
    check_fixtures(Format::Cassette);
}

#[test]
fn a_record_may_have_a_name_and_a_group() {
    let text = r#"{"id": 7, "group": "refunds", "tool_calls": []}"#;
    let one = read(Format::Envelope, text).unwrap().remove(0);
    assert_eq!((one.id.as_deref(), one.group.as_deref(), &*one.fields), (Some("7"), Some("refunds"), text));
}

#[test]
fn an_invalid_envelope_is_refused_with_its_place() {
    assert_eq!(refusal(Format::Envelope, r#"{"tool_calls": 3}"#), "tool_calls: expected a list, found a number");
    assert_eq!(
        refusal(Format::Envelope, r#"{"group": [], "tool_calls": []}"#),
        "group: expected a string or a number, found a list of 0"
    );
    let step = r#"{"tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": {}}}], "timing": {}}"#;
    assert_eq!(
        refusal(Format::Envelope, step),
        "tool_calls[0]: missing field `name` / a call of an envelope has a `name` and `args`; score messages as a whole \
         list, and runs of smolagents as spans"
    );
    let error = read(Format::Envelope, "{\"tool_calls\": [],\n \"id\": 1, \"id\": 2}").unwrap_err();
    assert_eq!((error.message.as_str(), error.place), ("duplicate key \"id\"", Some(32)));
    // The error is at the first byte of the value, regardless of what comes before it.
    for (text, place) in [
        (r#"{"tool_calls": [{"name": "book", "args": {"seats": 2}}], "tool_results": {}}"#, 73),
        (r#"{"tool_calls":{"a": 1}}"#, 14),
        ("{\"tool_calls\":\n{}}", 15),
        ("{\"tool_calls\":\n  {}}", 17),
        (r#"{"tool_calls": [[]]}"#, 16),
        (r#"{"final_response": ["x"]}"#, 19),
    ] {
        assert_eq!(read(Format::Envelope, text).unwrap_err().place, Some(place), "{text}");
    }
    assert_eq!(
        refusal(Format::Cassette, r#"{"mcptest": 1}"#),
        "it has no `trace` / a bare envelope is `--from envelope`"
    );
}

#[test]
fn a_cassette_that_was_edited_or_contradicts_itself_is_refused() {
    let text = include_str!("cassette/digest.json");
    let edited = "it was edited after it was recorded: its digest does not match / restore the file or record it again; \
                  `mcptest cassette accept` keeps an edit";
    assert_eq!(refusal(Format::Cassette, &text.replace("\"is_error\": false", "\"is_error\": true")), edited);
    assert_eq!(refusal(Format::Cassette, &text.replace("lost", "found")), edited);
    let restore = "restore the file, or record it again";
    assert_eq!(
        refusal(Format::Cassette, &text.replace("\"turn\": 1", "\"turn\": 0")),
        format!("it contradicts itself: `trace.tool_calls[0].turn` is 0, a turn of the user / {restore}")
    );
    let bare: String = text.lines().filter(|line| !line.contains("\"digest\"")).collect();
    assert_eq!(
        refusal(Format::Cassette, &bare),
        format!("it lacks `digest`, which recordings have from format version 2 on / {restore}")
    );
    assert_eq!(
        refusal(Format::Cassette, &text.replace("\"mcptest\": 2", "\"mcptest\": 3")),
        format!("it has format version 3, this program reads versions 1 to 2 / {restore}")
    );
    assert_eq!(
        refusal(Format::Cassette, r#"{"trace": {}}"#),
        format!("it lacks `mcptest`, the version: this is not a cassette / {restore}")
    );
}

#[test]
fn calls_that_an_envelope_does_not_read_are_refused() {
    let call = r#"{"name": "find"}"#;
    for key in ["toolCalls", "toolInvocations", "functionCall", "function_calls", "tool_uses", "intermediate_steps"] {
        assert_eq!(
            refusal(Format::Envelope, &format!(r#"{{"tool_calls": [{call}], "{key}": [{call}]}}"#)),
            format!(
                "record.{key} is not a key of this format, and could hold calls / a trace without those calls could pass by \
                 mistake; write them as this format does"
            )
        );
        for empty in ["null", "[]"] {
            let text = format!(r#"{{"tool_calls": [{call}], "{key}": {empty}}}"#);
            assert_eq!(read(Format::Envelope, &text).unwrap().len(), 1);
        }
    }
    let names = |names: &str| format!(r#"{{"tool_calls": [{call}], "tool_names": {names}}}"#);
    for wrong in ["[]", r#"["refund"]"#, r#"["find", "refund"]"#] {
        assert_eq!(
            refusal(Format::Envelope, &names(wrong)),
            "`tool_names` are not the names in `tool_calls` / a call may be missing; correct `tool_calls`, or leave \
             `tool_names` out"
        );
    }
    for right in [r#"["find"]"#, "null"] {
        assert_eq!(read(Format::Envelope, &names(right)).unwrap().len(), 1);
    }
}

#[test]
fn a_run_that_is_described_twice_is_refused() {
    for other in ["messages", "traj", "values", "simulations", "trace"] {
        let text = format!(r#"{{"tool_calls": [], "final_response": "Hi", "{other}": []}}"#);
        assert_eq!(
            refusal(Format::Envelope, &text),
            format!(
                "it describes its run twice: in `tool_calls`, as envelopes do, and in `{other}` / keep one of them, or name \
                 the format to read with --from"
            )
        );
        let nothing = format!(r#"{{"tool_calls": [], "final_response": "Hi", "{other}": null}}"#);
        assert_eq!(read(Format::Envelope, &nothing).unwrap().len(), 1);
    }
    let text = r#"{"tool_calls": [], "messages": [{"role": "user", "content": "Hi"}]}"#;
    assert_ne!(sniff(text).map(|found| found.format), Some(Format::Envelope));
}
