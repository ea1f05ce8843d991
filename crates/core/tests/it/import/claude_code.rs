//! Sessions and streams of Claude Code.

use mcptest_core::import::{Format, Options, Piece, Unit};

use super::{check_fixtures, folder, read, refusal, sniffed};

#[test]
fn fixtures() {
    check_fixtures(Format::ClaudeCode);
}

#[test]
fn lines_are_recognized_by_their_session_or_type() {
    let piece = Some((Format::ClaudeCode, Unit::Piece));
    let cases = [
        (r#"{"type":"user","sessionId":"s","message":{}}"#, piece),
        (r#"{"type":"system","subtype":"init","session_id":"s"}"#, piece),
        (r#"{"type":"rate_limit_event","session_id":"s","uuid":"u"}"#, piece),
        (r#"{"type":"summary","summary":"x","leafUuid":"u"}"#, piece),
        (r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{}}"#, piece),
        (r#"[{"type":"system","subtype":"init","session_id":"s"}]"#, piece),
        (r#"{"type":"event","session_id":"s"}"#, None),
        (r#"{"type":"system","content":"x"}"#, None),
        (r#"{"sessionId":"s"}"#, None),
    ];
    for (text, expected) in cases {
        let found = sniffed(text).filter(|(format, _)| *format == Format::ClaudeCode);
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn bookkeeping_lines_are_not_pieces_and_an_unnamed_sidechain_keeps_its_links() {
    let piece = |key: &'static str, text: &'static str| Piece { key: key.into(), text: text.into() };
    let user = r#"{"type":"user","sessionId":"s","message":{"content":"x"}}"#;
    let cases = [
        (user, vec![piece("s", user)]),
        (r#"{"type":"result"}"#, vec![piece("", r#"{"type":"result"}"#)]),
        (r#"{"type":"system","subtype":"local_command","sessionId":"s","uuid":"u"}"#, vec![]),
        (r#"{"type":"progress","sessionId":"s","uuid":"u","data":{"type":"hook_progress","message":"x"}}"#, vec![]),
        (r#"{"type":"error","message":"x"}"#, vec![]),
        (r#"{"type":"system","sessionId":"s","uuid":"u","isSidechain":true,"agentId":"a"}"#, vec![]),
        (
            r#"{"type":"system","sessionId":"s","uuid":"u","isSidechain":true}"#,
            vec![piece("s", r#"{"isSidechain":true,"parentUuid":null,"type":"link","uuid":"u"}"#)],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(Format::ClaudeCode.split(text).unwrap(), expected, "{text}");
    }
}

#[test]
fn fields_are_those_on_which_all_lines_agree() {
    let text = std::fs::read_to_string(folder().join("claude-code/sub_agents.jsonl")).unwrap();
    let moved = text.replacen("/srv/garden", "/srv/shed", 1);
    let pieces: Vec<&str> = moved.lines().filter(|line| !line.contains("hook_progress")).collect();
    let traces = Format::ClaudeCode.join("s-2", &pieces, &Options::default()).unwrap();
    let fields: Vec<&str> = traces.iter().map(|one| &*one.fields).collect();
    let side = r#"{"cwd":"/srv/garden","gitBranch":"main","sessionId":"s-2","version":"2.1.0"}"#;
    let scout = r#"{"agentId":"scout","cwd":"/srv/garden","gitBranch":"main","sessionId":"s-2","version":"2.1.0"}"#;
    let main = r#"{"gitBranch":"main","sessionId":"s-2","version":"2.1.0"}"#;
    // Without the hook line the two lines around it are no longer connected.
    assert_eq!(fields, [main, scout, side, side, side, side]);
    let stream = r#"[{"type":"system","subtype":"init","session_id":"t","cwd":"/w"},
        {"type":"assistant","session_id":"t","parent_tool_use_id":"c","message":{"content":[]}}]"#;
    let fields: Vec<String> =
        read(Format::ClaudeCode, stream).unwrap().into_iter().map(|one| one.fields.into_owned()).collect();
    assert_eq!(fields, [r#"{"cwd":"/w","session_id":"t"}"#, r#"{"parent_tool_use_id":"c","session_id":"t"}"#]);
}

#[test]
fn anything_that_could_be_a_call_is_refused_with_its_line() {
    let cases = [
        (
            r#"{"type":"robot","sessionId":"s","message":{"content":[]}}"#,
            "type \"robot\" is not known, and the line has a message / the message may hold calls; a trace without them could pass by mistake",
        ),
        (
            r#"{"sessionId":"s"}"#,
            "type must be a text, but the key is missing / every line of a session or a stream of Claude Code has a type",
        ),
        (r#"{"type":"user","sessionId":"s"}"#, "message must be an object, but the key is missing"),
        (
            r#"{"type":"user","uuid":"u","message":{"role":"user"}}"#,
            "message.content must be a text or a list of blocks, but the key is missing, in the line with the uuid \"u\"",
        ),
        (
            r#"{"type":"assistant","uuid":"u","message":{"content":[{"type":"robot_call"}]}}"#,
            "message.content[0].type \"robot_call\" is not known, and could be a call or an answer, in the line with the uuid \"u\" / a trace without it could pass by mistake",
        ),
        (
            r#"{"type":"assistant","isApiErrorMessage":true,"message":{"content":[{"type":"tool_use","name":"f"}]}}"#,
            "message.content[0] is a call or an answer in a message of the system",
        ),
        (
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t"}]}}"#,
            "message.content[0] answers the call \"t\", but no earlier call waits for that answer / the beginning of the record may be missing; a trace must be complete",
        ),
        (
            r#"{"type":"progress","data":{"message":{"type":"progress","uuid":"u","data":{"message":{}}}}}"#,
            "data.message is a line of type `progress` itself, in the line with the uuid \"u\" / sub-agents of sub-agents are not read; a trace without their calls could pass by mistake",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(Format::ClaudeCode, text), expected, "{text}");
    }
}
