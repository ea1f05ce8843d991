//! Inputs of `mcptest score` that are not plain lines: archives of Inspect, exports in protobuf, sessions in several files,
//! broken sessions, and spans that are not understood.

use std::io::{BufRead as _, Write};
use std::process::Stdio;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use serde_json::{Value, json};

use super::Folder;

/// How a file of an archive is compressed.
#[derive(Clone, Copy)]
enum Method {
    Stored = 0,
    Deflate = 8,
    Zstd = 93,
}

/// A zip archive of files.
fn zip(files: &[(&str, &str, Method)]) -> Vec<u8> {
    let (mut out, mut list) = (Vec::new(), Vec::new());
    for (name, text, method) in files {
        let packed = match method {
            Method::Stored => text.as_bytes().to_vec(),
            Method::Deflate => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(text.as_bytes()).unwrap();
                encoder.finish().unwrap()
            }
            Method::Zstd => zstd::encode_all(text.as_bytes(), 3).unwrap(),
        };
        let mut crc = Crc::new();
        crc.update(text.as_bytes());
        let mut about = Vec::new();
        for number in [20_u16, 0, *method as u16, 0, 0] {
            about.extend(number.to_le_bytes());
        }
        for number in [crc.sum(), u32::try_from(packed.len()).unwrap(), u32::try_from(text.len()).unwrap()] {
            about.extend(number.to_le_bytes());
        }
        about.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        about.extend(0_u16.to_le_bytes());
        let offset = u32::try_from(out.len()).unwrap();
        list.extend(b"PK\x01\x02\x14\x00");
        list.extend(&about);
        list.extend([0; 10]);
        list.extend(offset.to_le_bytes());
        list.extend(name.as_bytes());
        out.extend(b"PK\x03\x04");
        out.extend(&about);
        out.extend(name.as_bytes());
        out.extend(packed);
    }
    let start = u32::try_from(out.len()).unwrap();
    out.extend(&list);
    out.extend(b"PK\x05\x06\x00\x00\x00\x00");
    out.extend(u16::try_from(files.len()).unwrap().to_le_bytes());
    out.extend(u16::try_from(files.len()).unwrap().to_le_bytes());
    out.extend(u32::try_from(list.len()).unwrap().to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend(0_u16.to_le_bytes());
    out
}

const HEADER: &str =
    r#"{"version": 2, "status": "success", "eval": {"task": "t", "model": "openai/scripted-1"}, "plan": {}}"#;

fn sample(id: &str, tool: &str) -> String {
    json!({ "id": id, "epoch": 1, "input": "Hi", "target": "", "messages": [
        { "role": "user", "content": "Hi" },
        { "role": "assistant", "content": "", "tool_calls": [{ "id": "c", "function": tool, "arguments": { "n": 1 }, "type": "function" }] },
        { "role": "tool", "content": "ok", "tool_call_id": "c", "function": tool },
        { "role": "assistant", "content": "Done." },
    ], "output": { "model": "m", "choices": [] } })
    .to_string()
}

/// The id, the tools and the model of every trace that `convert` prints.
fn converted(folder: &Folder, input: &str) -> (Vec<Value>, String, Option<i32>) {
    let output = folder.command(&["convert", input]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let traces = text.lines().map(|line| {
        let trace: Value = serde_json::from_str(line).unwrap();
        let tools: Vec<&Value> =
            trace["tool_calls"].as_array().into_iter().flatten().map(|call| &call["name"]).collect();
        json!([trace["id"], tools, trace["conversation"]["model"]])
    });
    (traces.collect(), String::from_utf8(output.stderr).unwrap(), output.status.code())
}

#[test]
fn an_archive_of_inspect_is_read_however_it_is_compressed() {
    let (a, b, c) = (sample("a", "f"), sample("b", "g"), sample("c", "h"));
    let files = [
        ("_journal/start.json", "{}", Method::Stored),
        ("samples/b_epoch_1.json", b.as_str(), Method::Zstd),
        ("samples/a_epoch_1.json", a.as_str(), Method::Deflate),
        ("samples/c_epoch_1.json", c.as_str(), Method::Stored),
        ("summaries.json", "[]", Method::Stored),
        ("header.json", HEADER, Method::Zstd),
    ];
    let folder = Folder::with(&[]);
    folder.write("logs/run.eval", &zip(&files));
    let model = "openai/scripted-1";
    let expected = vec![json!(["a/1", ["f"], model]), json!(["b/1", ["g"], model]), json!(["c/1", ["h"], model])];
    for input in ["logs", "logs/run.eval"] {
        assert_eq!(converted(&folder, input), (expected.clone(), String::new(), Some(0)));
    }
    // A log that was not finished begins in its journal.
    let start = r#"{"version": 2, "eval": {"task": "t", "model": "openai/scripted-1"}}"#;
    folder.write("open.eval", &zip(&[("_journal/start.json", start, Method::Deflate), files[2]]));
    assert_eq!(converted(&folder, "open.eval"), (expected[..1].to_vec(), String::new(), Some(0)));
}

#[test]
fn a_damaged_archive_and_a_foreign_archive_are_refused() {
    let a = sample("a", "f");
    let whole = zip(&[("samples/a_epoch_1.json", &a, Method::Deflate), ("header.json", HEADER, Method::Deflate)]);
    let folder = Folder::with(&[]);
    folder.write("cut.eval", &whole[..whole.len() - 30]);
    let mut bad = whole.clone();
    bad[60] ^= 0xff;
    folder.write("bad.eval", &bad);
    folder.write("other.eval", &zip(&[("a.json", "{}", Method::Stored)]));
    let first_error = |name: &str| {
        let (traces, stderr, code) = converted(&folder, name);
        assert_eq!((traces, code), (Vec::new(), Some(2)), "{name}: {stderr}");
        stderr.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        first_error("cut.eval"),
        "error[damaged-archive]: cut.eval: it is a zip archive without its list of files: it was truncated, or is still being written"
    );
    assert_eq!(
        first_error("other.eval"),
        "error[unknown-format]: other.eval: it is a zip archive, but not an Inspect log: it has no `header.json`"
    );
    let damaged = first_error("bad.eval");
    assert!(damaged.starts_with("error[damaged-archive]: bad.eval"), "{damaged}");

    let mut child = folder.command(&["score", "-"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&whole).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr.contains("it is a zip archive, which cannot be read from a pipe"), "{stderr}");
}

/// An export of one span in protobuf: a call of this tool.
fn call_in_protobuf(tool: &str) -> Vec<u8> {
    // All of it is shorter than 128 bytes.
    let field = |number: u8, bytes: &[u8]| [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat();
    let attribute =
        |key: &str, value: &str| field(9, &[field(1, key.as_bytes()), field(2, &field(1, value.as_bytes()))].concat());
    let span = [
        field(1, &[7; 16]),
        field(2, &[9; 8]),
        attribute("gen_ai.operation.name", "execute_tool"),
        attribute("gen_ai.tool.name", tool),
    ];
    field(1, &field(2, &field(2, &span.concat())))
}

#[test]
fn an_export_in_protobuf_is_read_from_files_and_folders() {
    let folder = Folder::with(&[]);
    let message = call_in_protobuf("find");
    let framed = [&u32::try_from(message.len()).unwrap().to_be_bytes(), &message[..]].concat();
    folder.write("in/a.binpb", &message);
    folder.write("in/b.binpb", &framed);
    folder.write("in/c.binpb.zst", &zstd::encode_all(&framed[..], 3).unwrap());
    folder.write("spans", &framed);
    let call = json!(["07".repeat(16), ["find"], null]);
    assert_eq!(converted(&folder, "in"), (vec![call.clone(); 3], String::new(), Some(0)));
    assert_eq!(converted(&folder, "spans"), (vec![call], String::new(), Some(0)));
}

#[test]
fn an_export_in_protobuf_that_ends_too_early_is_never_a_pass() {
    let message = call_in_protobuf("find");
    let folder = Folder::with(&[("gates.yml", "trajectory: { calls: [{ name: find }] }\n")]);
    folder.write("whole.binpb", &message);
    folder.write("cut.binpb", &[&message[..], &message[..40]].concat());
    let whole = folder.command(&["score", "whole.binpb", "--gates", "gates.yml"]).output().unwrap();
    assert_eq!(whole.status.code(), Some(0));
    let cut = folder.command(&["score", "cut.binpb", "--gates", "gates.yml"]).output().unwrap();
    assert_eq!(cut.status.code(), Some(2));
    let lines = String::from_utf8(cut.stdout).unwrap();
    let verdicts: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["verdict"].clone()).collect();
    assert_eq!(verdicts, [json!("error"), json!("unassessable")]);
    let length = message.len();
    let expected = format!(
        "error[invalid-record]: cut.binpb: byte {length}: the message ends too early, after 40 of its {length} bytes\n\
         hint: what came before was read; the file was truncated when it was written or copied\n\
         1 trace: 1 unassessable\n1 record or input could not be read\n"
    );
    assert_eq!(String::from_utf8(cut.stderr).unwrap(), expected);
}

fn line(session: &str, uuid: &str, extra: &Value) -> String {
    let mut line =
        json!({ "sessionId": session, "uuid": uuid, "parentUuid": null, "timestamp": "2026-01-01T00:00:00Z" });
    line.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    line.to_string()
}

fn message(role: &str, content: &Value) -> Value {
    json!({ "type": role, "message": { "role": role, "id": "m", "content": content } })
}

#[test]
fn a_session_with_a_broken_line_is_never_a_pass() {
    let ask = line("s", "1", &message("user", &json!("Hi")));
    let reply = line("s", "2", &message("assistant", &json!([{ "type": "text", "text": "It rains." }])));
    let folder = Folder::with(&[
        ("whole.jsonl", &format!("{ask}\n{reply}\n")),
        ("broken.jsonl", &format!("{ask}\n{{\"type\": \"assistant\", \"sess\n{reply}\n")),
        ("narrative.yml", "narrative: {}\n"),
    ]);
    let verdict = |file: &str| {
        let output =
            folder.command(&["score", file, "--gates", "narrative.yml", "--output", "jsonl"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["verdict"].clone());
        (lines.collect::<Vec<_>>(), output.status.code())
    };
    assert_eq!(verdict("whole.jsonl"), (vec![json!("pass")], Some(0)));
    assert_eq!(verdict("broken.jsonl"), (vec![json!("error"), json!("unassessable")], Some(2)));
}

#[test]
fn the_format_of_a_file_does_not_depend_on_how_much_is_read_at_a_time() {
    let ask = line("s", "1", &message("user", &json!("Hi")));
    let reply = line("s", "2", &message("assistant", &json!([{ "type": "text", "text": "It rains." }])));
    let session = format!("{ask}\n{reply}\n");
    let folder = Folder::with(&[("narrative.yml", "narrative: {}\n")]);
    for unknown in [1, 100, 1_000] {
        folder.write(
            "session.jsonl",
            format!("{}{session}", "{\"note\": \"no line of a session\"}\n".repeat(unknown)).as_bytes(),
        );
        let output = folder
            .command(&["score", "session.jsonl", "--gates", "narrative.yml", "--output", "jsonl"])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!((&last["verdict"], output.status.code()), (&json!("unassessable"), Some(2)), "{unknown}: {text}");
        assert!(!text.contains("unknown format"), "{unknown}: {text}");
    }
}

#[test]
fn a_sub_agent_that_is_in_two_files_is_one_trace() {
    let call = |id: &str| json!([{ "type": "tool_use", "id": id, "name": "Read", "input": {} }]);
    let answer = |id: &str| json!([{ "type": "tool_result", "tool_use_id": id, "content": "ok" }]);
    let side = |uuid: &str, message: Value| {
        let mut message = message;
        message
            .as_object_mut()
            .unwrap()
            .extend([("isSidechain".to_owned(), json!(true)), ("agentId".to_owned(), json!("x"))]);
        line("s1", uuid, &message)
    };
    let ask = line("s1", "1", &message("user", &json!("Go.")));
    let done = line("s1", "2", &message("assistant", &json!([{ "type": "text", "text": "Done." }])));
    let inner = [side("3", message("user", &json!("Look."))), side("4", message("assistant", &call("t1")))];
    let more = side("5", message("user", &answer("t1")));
    let session = format!("{ask}\n{}\n{}\n{done}\n", inner[0], inner[1]);
    let agent = format!("{}\n{}\n{more}\n", inner[0], inner[1]);
    for path in ["p/s1/subagents/agent-x.jsonl", "p/agent-x.jsonl"] {
        let folder = Folder::with(&[("p/s1.jsonl", &session), (path, &agent)]);
        let (traces, stderr, code) = converted(&folder, "p");
        assert_eq!(traces, [json!(["s1", [], null]), json!(["s1/x", ["Read"], null])], "{path}: {stderr}");
        assert_eq!(code, Some(0), "{stderr}");
    }
    // Alone it is read as before.
    let folder = Folder::with(&[("p/agent-x.jsonl", &agent)]);
    assert_eq!(converted(&folder, "p").0, [json!(["s1/x", ["Read"], null])]);
}

#[test]
fn spans_in_an_unknown_vocabulary_are_reported() {
    let span = |attributes: Value| {
        json!({ "trace_id": "ab", "span_id": "cd", "name": "n", "start_time": 1, "end_time": 2, "attributes": attributes })
            .to_string()
    };
    let folder = Folder::with(&[
        ("all/known.jsonl", &span(json!({ "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f" }))),
        ("all/unknown.jsonl", &span(json!({ "acme.kind": "tool" }))),
    ]);
    let (traces, stderr, code) = converted(&folder, "all");
    assert_eq!((traces, code), (vec![json!(["ab", ["f"], null])], Some(2)));
    assert_eq!(
        stderr,
        "\
error[unknown-format]: all/unknown.jsonl: byte 0: no span in it is of a model, an agent or a tool in a known vocabulary
hint: known vocabularies: OpenTelemetry GenAI, MCP, OpenInference, Traceloop (OpenLLMetry), Vercel AI SDK, Langfuse, MLflow; leave the file out if no agent ran in it
"
    );
    // Next to traces of an agent they are left out, and counted.
    let known = std::fs::read_to_string(folder.0.join("all/known.jsonl")).unwrap();
    let unknown = std::fs::read_to_string(folder.0.join("all/unknown.jsonl")).unwrap();
    let other = |id: &str| unknown.replace("\"ab\"", &format!("{id:?}"));
    folder.write("mixed/one.jsonl", [&*known, &other("0a"), &other("0b"), &other("0a")].join("\n").as_bytes());
    folder.write("mixed/two.jsonl", [&*known, &other("0c")].join("\n").as_bytes());
    let (traces, stderr, code) = converted(&folder, "mixed");
    assert_eq!((traces.len(), code), (2, Some(0)));
    assert_eq!(stderr, "note: 3 traces of spans without a model, an agent or a tool were left out\n");
    let output = folder.command(&["score", "mixed", "--output", "none"]).output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains(&stderr));
}

#[test]
fn an_edited_cassette_is_an_error_in_every_format_that_reads_it() {
    let path = "examples/cassettes/quickstart/says-what-it-did-3d5fbb7e/liar/1.json";
    let text = std::fs::read_to_string(crate::root().join(path)).unwrap();
    let edited = text.replace("I refunded order 1042 and sent an email to the customer.", "I looked order 1042 up.");
    let folder = Folder::with(&[("g.yml", "narrative: {}\n"), ("c.json", &text), ("edited.json", &edited)]);
    for from in ["auto", "cassette", "envelope"] {
        let code = |file: &str| {
            let line = ["score", file, "--from", from, "--gates", "g.yml"];
            folder.command(&line).output().unwrap().status.code()
        };
        assert_eq!((code("c.json"), code("edited.json")), (Some(1), Some(2)), "{from}");
    }
}

#[test]
fn a_trace_with_only_an_answer_is_an_envelope_anywhere() {
    let folder = Folder::with(&[("a.jsonl", "{\"id\":\"r\",\"final_response\":\"I sent the mail.\"}\n")]);
    let output = folder.command(&["score", "a.jsonl"]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.lines().count()), (Some(0), 1), "{output:?}");
}
