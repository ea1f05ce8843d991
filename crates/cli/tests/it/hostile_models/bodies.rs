//! Bodies of a success that are endless, silent, empty, packed, torn, doubled or lie about what they cost.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::models::dialect::Dialect;
use super::super::models::provider::{Answer, Loopback, Rest};
use super::super::models::{TOOLS, finish};
use super::{CLOSES, KEY, Reply, Scene, WIRES, body_of, measured, suite};
use crate::Folder;

/// The hint about a response that is not an answer.
const HINT: &str = "hint: check that `base_url:` points to a server that speaks WIRE";

/// Records with models that answer with these bytes.
#[track_caller]
fn body(bytes: impl Fn(Dialect) -> Vec<u8> + Send + Sync + 'static) -> Scene {
    Scene::record(CLOSES, move |dialect| Answer::status(200, "", bytes(dialect)))
}

/// Every model's run is an error that starts with this text.
#[track_caller]
fn check_start(scene: &Scene, start: &str) {
    for (model, ..) in WIRES {
        let reported = scene.verdict(model);
        assert!(
            reported.starts_with(start) && reported.ends_with(HINT) && reported.len() < 1200,
            "{model}: {reported}"
        );
    }
    scene.check_rest(2);
}

#[test]
fn an_answer_without_end_is_read_up_to_a_limit() {
    let scene = Scene::record(CLOSES, |_| Answer::status(200, "", vec![b' '; 1 << 20]).then(Rest::Endless));
    scene.check(2, &format!("error[unreadable-reply]: AT the response has more than 16777216 bytes\n{HINT}"));
    // It was not requested a second time.
    assert_eq!(scene.server.requests().len(), 4);
}

#[test]
fn an_endless_compressed_answer_is_decompressed_up_to_a_limit() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..100 {
        packed.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 1 << 20);
    let scene = Scene::record(CLOSES, move |_| Answer::status(200, "content-encoding: gzip\r\n", packed.clone()));
    scene.check(2, &format!("error[unreadable-reply]: AT the response has more than 16777216 bytes\n{HINT}"));
}

#[test]
fn millions_of_small_values_do_not_become_gigabytes() {
    // An object with one key takes a hundred times its text.
    for piece in ["{\"\":0},", "["] {
        let scene = body(move |_| format!("{{\"content\":[{}", piece.repeat(400_000)).into_bytes());
        check_start(&scene, "error[unreadable-reply]: AT cannot read the response: it has more than 200000 values: ");
    }
    // Nor do they inside a text that is read as JSON.
    let args = format!("\"{{\\\"q\\\":[{}0]}}\"", "0\\u002c".repeat(200_000));
    let scene = body(move |dialect| {
        let calls = [super::Call { id: "\"a\"", name: "\"desk__search\"", args: &args }];
        body_of(dialect, &Reply { calls: &calls, ..Reply::default() }).into_bytes()
    });
    check_start(&scene, "error[unreadable-reply]: AT cannot read the response: it has more than 200000 values: ");
}

#[test]
fn a_huge_reply_that_is_not_json_is_truncated() {
    let scene = body(|_| b"a ".repeat(1 << 20));
    let words = "a ".repeat(200);
    scene.check(
        2,
        &format!(
            "error[unreadable-reply]: AT cannot read the response: it is not JSON (line 1, column 1: expected value): {words}…\n{HINT}"
        ),
    );
}

/// Everybody is reported to stop with Ctrl-C.
#[cfg(unix)]
#[test]
fn a_stalled_answer_is_abandoned_when_the_user_stops_the_run() {
    let server = Loopback::start(|_, _| Answer::status(200, "", "{\"content\":").then(Rest::Silence));
    let here = Folder::with(&[("suite.yml", &suite(&server.base(), CLOSES)), ("tools.yml", TOOLS)]);
    let mut command = here.command(&["run", "suite.yml", "--record", "--jobs", "4", "--filter", "hostile"]);
    let child = command.env("MODEL_KEY", KEY).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while server.requests().len() < 4 && begun.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(server.requests().len(), 4, "all of them are stalled");
    let reported = Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let (output, _) = measured(child);
    assert!(reported.elapsed() < Duration::from_secs(2), "{:?}", reported.elapsed());
    let lines: String =
        WIRES.iter().map(|(model, ..)| format!("- SKIPPED   hostile [{model}]\n")).collect::<Vec<_>>().concat();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with(&format!("suite.yml\n{lines}note: stopped before the end\n")), "{text}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn an_empty_reply_has_no_text_and_an_empty_response_is_an_error() {
    let scene = body(|dialect| body_of(dialect, &Reply::default()).into_bytes());
    scene.check(0, "pass");
    for (model, ..) in WIRES {
        let trace = scene.trace(model);
        assert_eq!((&trace["final_response"], &trace["tool_calls"]), (&json!(""), &json!([])), "{model}");
    }
    let missing = [
        "it has no `content` list",
        "it has no `output` list",
        "it has no `choices[0].message`",
        "it has no `candidates[0]`",
    ];
    let empty = ["{\"content\":null}", "{\"output\":null}", "{\"choices\":[]}", "{\"candidates\":[]}"];
    for bodies in [["null"; 4], ["{}"; 4], ["[]"; 4], empty] {
        let scene = Scene::record(CLOSES, move |dialect| {
            let at = WIRES.iter().position(|(_, known, _)| *known == dialect).unwrap();
            Answer::status(200, "", bodies[at])
        });
        for ((model, ..), (body, why)) in WIRES.into_iter().zip(bodies.into_iter().zip(missing)) {
            assert_eq!(
                scene.verdict(model),
                format!("error[unreadable-reply]: AT cannot read the response: {why}: {body}\n{HINT}")
            );
        }
        scene.check_rest(2);
    }
    let scene = body(|_| Vec::new());
    scene.check(
        2,
        &format!(
            "error[unreadable-reply]: AT cannot read the response: it is not JSON (line 1, column 0: EOF while parsing a value)\n{HINT}"
        ),
    );
}

#[test]
fn invalid_token_counts_are_unknown_and_huge_ones_do_not_overflow() {
    for usage in [
        ["-5", "20"],
        ["\"100\"", "20"],
        ["1e400", "20"],
        ["1.5", "20"],
        ["null", "20"],
        ["18446744073709551616", "20"],
    ] {
        let scene =
            body(move |dialect| body_of(dialect, &Reply { text: "\"Done.\"", usage, ..Reply::default() }).into_bytes());
        if usage[0] == "1e400" {
            check_start(
                &scene,
                "error[unreadable-reply]: AT cannot read the response: it is not JSON (line 1, column ",
            );
            continue;
        }
        scene.check(0, "pass");
        for (model, ..) in WIRES {
            let tokens = &scene.trace(model)["conversation"]["tokens"];
            assert_eq!((&tokens["input"], &tokens["total"]), (&Value::Null, &Value::Null), "{model}: {usage:?}");
        }
    }
    let most = "18446744073709551615";
    let scene = body(move |dialect| {
        body_of(dialect, &Reply { text: "\"Done.\"", usage: [most, most], ..Reply::default() }).into_bytes()
    });
    scene.check(0, "pass");
    for (model, ..) in WIRES {
        let tokens = &scene.trace(model)["conversation"]["tokens"];
        assert_eq!((&tokens["input"], &tokens["total"]), (&json!(u64::MAX), &json!(u64::MAX)), "{model}");
    }
    // The budget uses the provider's count, and is exceeded at once.
    let mut command =
        scene.here.command(&["run", "suite.yml", "--live", "--max-tokens-total", "1000000", "--jobs", "1"]);
    command.args(["--reporter", "json=spent.json", "--filter", "hostile"]).env("MODEL_KEY", KEY);
    assert_eq!(finish(command).status.code(), Some(2));
    let reported: Value = serde_json::from_slice(&std::fs::read(scene.here.0.join("spent.json")).unwrap()).unwrap();
    let verdicts: Vec<&Value> =
        reported["suites"][0]["rows"].as_array().unwrap().iter().map(|row| &row["verdict"]).collect();
    assert_eq!(verdicts, ["pass", "skipped", "skipped", "skipped"]);
}

#[test]
fn a_reply_with_the_wrong_content_type_or_model_is_judged_by_its_content() {
    let scene = Scene::record(CLOSES, |dialect| {
        let text = body_of(dialect, &Reply { text: "\"Done.\"", ..Reply::default() });
        let text = text.replacen('{', "{\"model\":\"another\",\"modelVersion\":\"another\",", 1);
        Answer::status(200, "content-type: text/html; charset=latin1\r\n", text)
    });
    scene.check(0, "pass");
    for (model, ..) in WIRES {
        let trace = scene.trace(model);
        assert_eq!((&trace["final_response"], &trace["conversation"]["model"]), (&json!("Done."), &json!(model)));
    }
}

#[test]
fn invalid_utf_8_and_duplicate_keys_are_errors() {
    let scene = body(|dialect| {
        let text = body_of(dialect, &Reply { text: "\"Done?\"", ..Reply::default() });
        text.bytes().map(|byte| if byte == b'?' { 0xff } else { byte }).collect()
    });
    check_start(&scene, "error[unreadable-reply]: AT cannot read the response: it is not UTF-8 (byte ");
    let scene = body(|dialect| {
        let text = body_of(dialect, &Reply { text: "\"Done.\"", ..Reply::default() });
        text.replacen("\"Done.\"", "\"Done.\",\"text\":\"Not\",\"text\":\"done.\",\"content\":0,\"content\":0", 1)
            .into_bytes()
    });
    for (model, ..) in WIRES {
        let reported = scene.verdict(model);
        assert!(
            reported.contains("it is not JSON (line 1, column ") && reported.contains(": duplicate key \""),
            "{reported}"
        );
    }
    scene.check_rest(2);
}

#[test]
fn an_unknown_stop_reason_is_an_error() {
    let reason = "tired\\u001b[2J\\u202e of it";
    let scene = body(move |dialect| {
        body_of(dialect, &Reply { text: "\"Done.\"", stop: reason, ..Reply::default() }).into_bytes()
    });
    scene.check(
        2,
        "error[reply-cut-off]: AT the reply ended with `tired [2J\\u{202e} of it`\nhint: re-record; the model did not finish its reply",
    );
}
