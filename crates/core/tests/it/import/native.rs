//! Envelopes and cassettes of this project.

use mcptest_core::import::{Format, sniff};

use super::{check_fixtures, read, refusal};

#[test]
fn fixtures() {
    check_fixtures(Format::Envelope);
    check_fixtures(Format::Cassette);
}

#[test]
fn a_record_may_carry_its_name_and_its_group() {
    let text = r#"{"id": 7, "group": "refunds", "tool_calls": []}"#;
    let one = read(Format::Envelope, text).unwrap().remove(0);
    assert_eq!((one.id.as_deref(), one.group.as_deref(), &*one.fields), (Some("7"), Some("refunds"), text));
}

#[test]
fn what_is_no_envelope_is_refused_with_its_place() {
    assert_eq!(refusal(Format::Envelope, r#"{"tool_calls": 3}"#), "tool_calls: expected a list, found a number");
    assert_eq!(
        refusal(Format::Envelope, r#"{"group": [], "tool_calls": []}"#),
        "group: expected a string or a number, found a list of 0"
    );
    let error = read(Format::Envelope, "{\"tool_calls\": [],\n \"id\": 1, \"id\": 2}").unwrap_err();
    assert_eq!((error.message.as_str(), error.offset), ("duplicate key \"id\"", Some(32)));
    assert_eq!(
        refusal(Format::Cassette, r#"{"mcptest": 1}"#),
        "it has no `trace` / a bare envelope is `--from envelope`"
    );
}

#[test]
fn a_run_that_is_told_in_two_ways_is_refused() {
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
