//! The same record has the same verdict with every output: lines or none, any reporter, on standard output or in a file.
//! Whether it can be read does not depend on the gates.
//!
//! `SAME_VERDICTS=5000` tries that many records.

use std::process::ExitCode;

use serde_json::Value;

use super::{Folder, Random};

const REPORTERS: [&str; 7] = ["pretty", "json", "ndjson", "junit", "github", "markdown", "html"];

/// Gates that look at different parts of a trace.
const GATES: [&str; 8] = [
    "narrative: {}\n",
    "trajectory: { mode: superset, calls: [{ name: find }] }\n",
    "trajectory: { calls: [{ name: find, args: { subset: { q: 1 } }, status: ok }] }\n",
    "golden_path: { calls: [find, send] }\n",
    "trajectory_axes: { dependencies: [{ producer: find, consumer: send, via: id }] }\n",
    "stability: {}\n",
    "recovery: {}\n",
    "expect:\n  - { target: final_response, matcher: { contains: done } }\n",
];

fn args(random: &mut Random) -> String {
    match random.below(8) {
        0 => "{\"q\":12345678901234567890123}".to_owned(),
        1 => "{\"q\":1e999}".to_owned(),
        2 => "{\"q\":1,\"q\":2}".to_owned(),
        3 => "[1]".to_owned(),
        4 => format!("{{\"q\":{}1{}}}", "[".repeat(20 * random.below(8)), "]".repeat(20 * random.below(8))),
        _ => format!("{{\"q\":{}}}", random.below(3)),
    }
}

fn call(random: &mut Random) -> String {
    let mut keys = vec![format!("\"name\":\"{}\"", ["find", "send", "delete"][random.below(3)])];
    match random.below(4) {
        0 => {}
        1 => keys.push(format!("\"arguments\":{}", args(random))),
        _ => keys.push(format!("\"args\":{}", args(random))),
    }
    rare(random, &mut keys, &["\"turn\":\"x\"", "\"turn\":0", "\"server\":5", "\"name\":\"find\"", "\"caller\":[]"]);
    object(&keys)
}

/// Contents of a result; the first two are good.
const BLOCKS: [&str; 8] = [
    "[]",
    "[{\"type\":\"text\",\"text\":\"done 1\"}]",
    "[\"x\"]",
    "[1]",
    "{}",
    "[{\"type\":\"text\",\"text\":5}]",
    "[{\"type\":\"text\",\"text\":\"a\",\"text\":\"b\"}]",
    "[{\"type\":\"text\",\"text\":\"\\udc00\"}]",
];

const IN_RESULT: [&str; 7] = [
    "\"is_error\":true",
    "\"structured_content\":{\"a\":1,\"a\":2}",
    "\"structured_content\":[1,2]",
    "\"duration_ms\":-1",
    "\"error\":\"x\"",
    "\"fault\":5",
    "\"x\":{\"a\":1,\"a\":2}",
];

fn result(random: &mut Random) -> String {
    if random.below(6) == 0 {
        return "null".to_owned();
    }
    let mut keys = vec![format!("\"is_error\":{}", random.below(2) == 0)];
    keys.push(format!("\"content\":{}", mostly_good(random, &BLOCKS)));
    rare(random, &mut keys, &IN_RESULT);
    object(&keys)
}

/// Turns of a conversation; the first two are good.
const TURNS: [&str; 7] = [
    "[]",
    "[{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":\"assistant\",\"content\":\"done\"}]",
    "[{\"role\":\"user\",\"content\":\"\\ud800\"}]",
    "[{\"role\":\"wizard\",\"content\":\"x\"}]",
    "[{\"role\":\"user\",\"content\":5}]",
    "[{\"role\":\"user\",\"role\":\"user\"}]",
    "{}",
];

const IN_CONVERSATION: [&str; 7] = [
    "\"model\":5",
    "\"tokens\":{\"input\":\"x\"}",
    "\"tokens\":{\"input\":1,\"input\":2}",
    "\"tokens\":{\"input\":18446744073709551616}",
    "\"stop_reason\":\"unheard of\"",
    "\"duration_ms\":1.5",
    "\"turns\":[]",
];

const IN_RECORD: [&str; 11] = [
    "\"x\":{\"a\":1,\"a\":2}",
    "\"x\":1,\"x\":2",
    "\"x\":\"\\ud800\"",
    "\"x\":123456789012345678901234567890",
    "\"x\":1e999",
    "\"id\":7",
    "\"id\":\"a\",\"id\":\"b\"",
    "\"group\":[]",
    "\"tool_names\":\"x\"",
    "\"final_response\":5",
    "\"tool_calls\":[]",
];

/// A text of JSON that is a good record, or one that is broken in a place that not every gate reads.
fn record(random: &mut Random) -> String {
    let calls = random.below(4);
    let mut keys = Vec::new();
    if random.below(10) > 0 {
        let all: Vec<String> = (0..calls).map(|_| call(random)).collect();
        keys.push(format!("\"tool_calls\":[{}]", all.join(",")));
    }
    if random.below(5) > 0 {
        let all: Vec<String> = (0..calls).map(|_| result(random)).collect();
        keys.push(format!("\"tool_results\":[{}]", all.join(",")));
    }
    if random.below(6) > 0 {
        let answers = ["done", "I sent the mail.", "I deleted the file.", "\\ud800", "a\\u0000b", ""];
        keys.push(format!("\"final_response\":\"{}\"", answers[random.below(answers.len())]));
    }
    if random.below(3) > 0 {
        let mut inner = vec![format!("\"turns\":{}", mostly_good(random, &TURNS))];
        rare(random, &mut inner, &IN_CONVERSATION);
        keys.push(format!("\"conversation\":{}", object(&inner)));
    }
    rare(random, &mut keys, &IN_RECORD);
    if random.below(12) == 0 {
        let depth = 30 + random.below(150);
        keys.push(format!("\"deep\":{}{}", "[".repeat(depth), "]".repeat(depth)));
    }
    let mut text = object(&keys);
    match random.below(40) {
        0 => text.push_str(" x"),
        1 => text = text.replacen('{', "{\"a\":NaN,", 1),
        2 => text = text.replacen(':', ": ", 3),
        3 => drop(text.pop()),
        4 => text = text.replacen("done", "do\u{7f}ne\\q", 1),
        _ => {}
    }
    text
}

/// One of these, mostly one of the first two.
fn mostly_good<'a>(random: &mut Random, all: &[&'a str]) -> &'a str {
    let among = if random.below(3) == 0 { all.len() } else { 2 };
    all[random.below(among)]
}

fn object(keys: &[String]) -> String {
    format!("{{{}}}", keys.join(","))
}

/// Adds one of these now and then.
fn rare(random: &mut Random, keys: &mut Vec<String>, some: &[&str]) {
    if random.below(5) == 0 {
        let at = random.below(keys.len() + 1);
        keys.insert(at, some[random.below(some.len())].to_owned());
    }
}

/// Runs the program in this process.
fn run(words: &[&str]) -> (ExitCode, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let line = ["mcptest"].iter().chain(words).map(Into::into);
    let code = mcptest::run(line, &|_| None, &[], &mut out, &mut err);
    (code, String::from_utf8(out).unwrap())
}

/// The verdict of each record, in order.
fn verdicts(lines: &str) -> Vec<Value> {
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line.get("index").is_some()).map(|line| line["verdict"].clone()).collect()
}

#[expect(clippy::disallowed_methods, reason = "a switch for whoever wants to try more")]
fn count() -> u64 {
    std::env::var("SAME_VERDICTS").ok().map_or(100, |count| count.parse().unwrap())
}

#[test]
fn a_record_has_one_verdict_for_every_output_and_gate() {
    let here = Folder::with(&[]);
    let path = |name: &str| here.0.join(name).to_str().unwrap().to_owned();
    for (at, gates) in GATES.iter().enumerate() {
        here.write(&format!("gates-{at}.yml"), gates.as_bytes());
    }
    let input = path("records.jsonl");
    let (mut unread, mut known) = (0, std::collections::BTreeSet::new());
    for seed in 0..count() {
        let random = &mut Random::new(seed);
        let records: Vec<String> = (0..=random.below(3)).map(|_| record(random)).collect();
        let text = records.join("\n") + "\n";
        here.write("records.jsonl", text.as_bytes());
        let read_as = ["--jobs", "1", "--from", "envelope"];
        let what = format!("records {seed}:\n{text}");
        let (converted, _) = run(&[&["convert", &input], &read_as[..]].concat());
        let mut refused: Option<Vec<bool>> = None;
        for at in [random.below(GATES.len()), random.below(GATES.len())] {
            let gates = path(&format!("gates-{at}.yml"));
            let line = [&["score", &input, "--gates", &gates], &read_as[..]].concat();
            let what = format!("{what}{}", GATES[at]);
            let (code, lines) = run(&line);
            let found = verdicts(&lines);
            // What can be read does not depend on the gates.
            let errors: Vec<bool> = found.iter().map(|verdict| verdict == "error").collect();
            assert_eq!(*refused.get_or_insert_with(|| errors.clone()), errors, "{what}");
            let is_broken = errors.contains(&true);
            assert_eq!((converted == ExitCode::SUCCESS, is_broken), (!is_broken, is_broken), "{what}");
            unread += errors.iter().filter(|error| **error).count();
            known.extend(found.iter().map(ToString::to_string));

            assert_eq!(run(&[&line[..], &["--output", "none"]].concat()), (code, String::new()), "{what}");
            // Reports in files, all at once and next to the lines.
            let files = REPORTERS.map(|name| format!("{name}={}", path(name)));
            let files: Vec<&str> = files.iter().flat_map(|file| ["--reporter", file]).collect();
            assert_eq!(run(&[&line[..], &files].concat()), (code, lines.clone()), "{what}");
            let saved: Value = serde_json::from_slice(&std::fs::read(path("json")).unwrap()).unwrap();
            let rows = saved["suites"].as_array().unwrap().iter().flat_map(|suite| suite["rows"].as_array().unwrap());
            let rows: Vec<Value> =
                rows.filter(|row| row["family"] == "RUN").map(|row| row["verdict"].clone()).collect();
            assert_eq!(rows, found, "{what}");
            // Each on standard output.
            let reporter = REPORTERS[random.below(REPORTERS.len())];
            let (alone, text) = run(&[&line[..], &["--output", "none", "--reporter", reporter]].concat());
            assert_eq!(alone, code, "{reporter}: {what}");
            assert_eq!(text, std::fs::read_to_string(path(reporter)).unwrap(), "{reporter}: {what}");
            if reporter == "json" {
                let exit = saved["exit_code"].as_u64().unwrap();
                assert_eq!(code, ExitCode::from(u8::try_from(exit).unwrap()), "{what}");
            }
        }
    }
    assert!(unread > 10, "{unread}");
    for verdict in ["\"pass\"", "\"fail\"", "\"unassessable\"", "\"error\"", "null"] {
        assert!(known.contains(verdict) || verdict == "null", "{verdict} is not met: {known:?}");
    }
}
