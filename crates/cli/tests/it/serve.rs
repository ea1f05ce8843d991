//! `mcptest serve-json` as a process: a reply per request, in order, for any requests.

use std::io::Write as _;
use std::process::Stdio;

use super::Folder;

const GATES: &str = r#""gates":{"text":"{\"narrative\":{}}"}"#;

/// What is replied to these lines, and the exit code.
fn served(here: &Folder, lines: &[u8]) -> (String, Option<i32>) {
    let mut command = here.command(&["serve-json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines = lines.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&lines));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

#[test]
fn a_score_in_several_requests_has_the_lines_of_the_command_line() {
    let records = [
        r#"{"id":"a","tool_calls":[],"final_response":"I deleted the note."}"#,
        r#"{"id":"b", "tool_calls":[],"final_response":"Nothing to do."}"#,
        r#"{"id":"c"}"#,
    ];
    let here = Folder::with(&[("t.jsonl", &(records.join("\n") + "\n")), ("gates.yml", "narrative: {}\n")]);
    let typed = ["score", "t.jsonl", "--gates", "gates.yml", "--output", "jsonl"];
    let alone = here.command(&typed).output().unwrap();
    let requests = format!(
        "{{\"id\":1,\"method\":\"score.start\",\"params\":{{{GATES},\"name\":\"t.jsonl\"}}}}\n\
         {{\"id\":2,\"method\":\"score.add\",\"params\":{{\"session\":1,\"records\":[{}]}}}}\n\
         {{\"id\":3,\"method\":\"score.add\",\"params\":{{\"session\":1,\"records\":[{},{}]}}}}\n\
         {{\"id\":4,\"method\":\"score.finish\",\"params\":{{\"session\":1}}}}\n",
        records[0],
        // A text with a line break is one record.
        serde_json::to_string(&records[1].replacen(", ", ",\n", 1)).unwrap(),
        records[2],
    );
    let (replies, code) = served(&here, requests.as_bytes());
    assert_eq!(code, Some(0));
    let mut lines = String::new();
    let mut last = serde_json::Value::Null;
    for reply in replies.lines() {
        last = serde_json::from_str(reply).unwrap();
        if last.get("line").is_some() {
            let at = reply.find("\"line\":").unwrap() + "\"line\":".len();
            lines.push_str(&reply[at..reply.len() - 1]);
            lines.push('\n');
        }
    }
    assert_eq!(lines, String::from_utf8(alone.stdout).unwrap());
    assert_eq!(last["result"]["code"], alone.status.code().unwrap());
    assert_eq!(last["result"]["messages"], String::from_utf8(alone.stderr).unwrap());
}

/// A blank text is a missing record. In a file, it would be a blank line.
#[test]
fn a_blank_record_is_an_error() {
    let here = Folder::with(&[]);
    let requests = format!(
        "{{\"id\":1,\"method\":\"score.start\",\"params\":{{{GATES}}}}}\n\
         {{\"id\":2,\"method\":\"score.add\",\"params\":{{\"session\":1,\"records\":[\"\",{{\"tool_calls\":[],\
         \"final_response\":\"Done.\"}},\" \\r\\n\",\"\\ufeff\"]}}}}\n\
         {{\"id\":3,\"method\":\"score.finish\",\"params\":{{\"session\":1}}}}\n",
    );
    let (replies, _) = served(&here, requests.as_bytes());
    let replies: Vec<serde_json::Value> = replies.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let verdicts: Vec<&str> = replies.iter().filter_map(|reply| reply["line"]["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["error", "pass", "error", "error"]);
    assert_eq!(replies.last().unwrap()["result"]["code"], 2);
}

#[test]
fn an_invalid_request_gets_an_error_and_the_next_line_is_answered() {
    let here = Folder::with(&[]);
    let requests = b"nonsense\n\n[]\n{\"id\":1}\n{\"id\":2,\"method\":\"nothing\"}\n\xff\xfe\n\
        {\"id\":3,\"method\":\"score.add\",\"params\":{\"session\":9,\"records\":[]}}\n\
        {\"id\":4,\"method\":\"score.add\",\"params\":{\"sessions\":9}}\n\
        {\"id\":5,\"method\":\"hello\",\"params\":{\"protocol\":2}}\n\
        {\"id\":6,\"method\":\"score.start\",\"params\":{\"options\":[\"--nothing\"]}}\n\
        {\"id\":7,\"method\":\"score.start\",\"params\":{\"options\":[\"--help\"]}}\n\
        {\"id\":8,\"method\":\"gates\",\"params\":{\"text\":\"narativ: {}\"}}\n\
        {\"id\":9,\"method\":\"record.start\",\"params\":{\"servers\":[\"x\"],\"environment\":{}}}\n\
        {\"id\":10,\"method\":\"hello\"}";
    let (replies, code) = served(&here, requests);
    assert_eq!(code, Some(0));
    let replies: Vec<serde_json::Value> = replies.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let message = |at: usize| replies[at]["error"]["message"].as_str().unwrap();
    assert_eq!(replies.len(), 14);
    for (at, id) in [(3, 1), (4, 2), (6, 3), (7, 4), (8, 5), (9, 6), (10, 7), (11, 8), (12, 9), (13, 10)] {
        assert_eq!(replies[at]["id"], id);
    }
    assert_eq!(message(4), "error[bad-argument]: this request cannot be read: there is no method \"nothing\"");
    assert_eq!(message(6), "error[bad-argument]: there is no session 9");
    assert!(message(8).contains("supports version 1 of its protocol, not version 2"));
    assert!(message(9).starts_with("error[bad-argument]: unexpected argument '--nothing' found"), "{}", message(9));
    assert!(message(11).starts_with("gates:1:1: error[unknown-key]: unknown key `narativ`"), "{}", message(11));
    assert!(message(12).starts_with("error[bad-argument]: --server: `x` has no `=`"), "{}", message(12));
    assert_eq!(replies[13]["result"]["protocol"], 1);
}

#[test]
fn a_session_that_is_left_open_ends_with_the_input() {
    let here = Folder::with(&[]);
    let requests = format!(
        "{{\"id\":1,\"method\":\"score.start\",\"params\":{{{GATES}}}}}\n\
         {{\"id\":2,\"method\":\"score.add\",\"params\":{{\"session\":1,\"records\":[{{\"tool_calls\":[]}}]}}}}\n\
         {{\"id\":3,\"method\":\"record.start\",\"params\":{{\"environment\":{{}}}}}}\n"
    );
    let (replies, code) = served(&here, requests.as_bytes());
    assert_eq!((replies.lines().count(), code), (3, Some(0)));
}

/// Recordings of tests that are code: written together, read together, and guarded like those of suites.
#[test]
fn recordings_of_code_are_cassettes() {
    let here = Folder::with(&[("test_shop.py", "")]);
    let file = here.0.join("test_shop.py");
    let of = serde_json::json!({ "file": file, "test": "refund", "program": "pytest", "record": "record it" });
    let trace =
        |answer: &str| serde_json::json!({ "tool_calls": [], "final_response": answer, "answer_source": "program" });
    let inputs = serde_json::json!({ "code_sha256": "a", "servers": { "shop": {} } });
    let run = |answer: &str| serde_json::json!({ "trace": trace(answer), "observed": {} });
    let call = |method: &str, params: serde_json::Value| {
        let request = serde_json::json!({ "id": 1, "method": method, "params": params });
        let (reply, code) = served(&here, format!("{request}\n").as_bytes());
        assert_eq!(code, Some(0));
        let mut reply: serde_json::Value = serde_json::from_str(&reply).unwrap();
        match reply.get_mut("error") {
            Some(error) => Err(error["message"].as_str().unwrap().to_owned()),
            None => Ok(reply["result"].take()),
        }
    };
    let load = |runs: u64, inputs: &serde_json::Value| {
        call("cassettes.load", serde_json::json!({ "of": of, "inputs": inputs, "runs": runs })).map(|loaded| {
            let text = |run: &serde_json::Value| -> serde_json::Value {
                serde_json::from_str(run["text"].as_str().unwrap()).unwrap()
            };
            let runs = loaded["runs"].as_array().unwrap().iter();
            runs.map(|run| (text(run)["trace"]["final_response"].clone(), run["edited"].clone())).collect::<Vec<_>>()
        })
    };
    let folder = here.0.join("cassettes/test_shop.py/refund/pytest");
    let shown = |run: u64| folder.join(format!("{run}.json")).display().to_string();

    assert_eq!(call("cassettes.start", of.clone()), Ok(serde_json::json!({})));
    let missing = format!("error[no-recording]: there is no recording of this run: {}\nhint: record it", shown(1));
    assert_eq!(load(1, &inputs), Err(missing));
    for runs in [vec![run("one"), run("two"), run("three")], vec![run("first"), run("second")]] {
        let params = serde_json::json!({ "of": of, "inputs": inputs, "runs": runs });
        assert_eq!(call("cassettes.save", params), Ok(serde_json::json!({})));
    }
    let is_edited = |edited: bool| Ok(vec![("first".into(), edited.into()), ("second".into(), false.into())]);
    assert_eq!(load(2, &inputs), is_edited(false));
    let stale =
        |run: u64, why: &str| Err(format!("error[stale-cassette]: {}: stale: {why}\nhint: record it", shown(run)));
    assert_eq!(load(1, &inputs), stale(2, "it is one of more recorded runs than the 1 of the test"));
    let mut changed = inputs.clone();
    changed["code_sha256"] = "b".into();
    assert_eq!(load(2, &changed), stale(1, "the code of the test has changed"));

    let first = folder.join("1.json");
    let text = std::fs::read_to_string(&first).unwrap();
    std::fs::write(&first, text.replace("\"first\"", "\"forged\"")).unwrap();
    assert_eq!(
        load(2, &inputs),
        Err(format!(
            "error[edited-cassette]: {0}: was edited after it was recorded: its digest does not match\n\
             hint: restore the file, or record it; to keep the edit: mcptest cassette accept {0}",
            shown(1)
        ))
    );
    std::fs::write(&first, text.replace("\"observed\": {}", "\"observed\": {\"servers\": {}}")).unwrap();
    let accepted = here.command(&["cassette", "accept", &shown(1)]).output().unwrap();
    assert_eq!(accepted.status.code(), Some(0));
    assert_eq!(load(2, &inputs), is_edited(true));
}
